"""Labels that numpy would merge stay two classes, or are refused in words.

An array of strings of numpy cuts off NUL characters at the end, and a list of numbers and strings
becomes an array of strings.
"""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import swordplay as sp
from swordplay import river, sklearn
from swordplay.keyed import Keyed
from swordplay.late import LateModel

ROWS = 60
X = np.random.default_rng(0).normal(size=(ROWS, 2))
FIRST = X[:, 0] > 0
FRAME = pd.DataFrame(X, columns=["a", "b"])
NUL, MIXED = ("a\0", "a"), (1, "1")


def labels(pair):
    return [pair[1] if one else pair[0] for one in FIRST]


def test_scikit_learn_tells_a_nul_apart(tmp_path):
    y = labels(NUL)
    for targets in (y, tuple(y), np.array(y, dtype=object), pd.Series(y)):
        model = sklearn.SwordClassifier().fit(X, targets)
        assert set(model.classes_) == set(NUL)
        assert (model.predict(X) == np.array(y, dtype=object)).mean() > 0.9
    model = sklearn.SwordClassifier().partial_fit(X, y, classes=list(NUL))
    model.partial_fit(X, y)
    model.save(tmp_path / "model")
    again = sklearn.SwordClassifier.load(tmp_path / "model")
    assert list(again.classes_) == list(model.classes_) == sorted(NUL)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    late = sklearn.SwordClassifier().fit(X, ["a" if one else "b" for one in FIRST])
    late.predict_then_learn(X, y)
    assert set(late.classes_) == {"a", "b", "a\0"}


def test_scikit_learn_and_keyed_refuse_numbers_beside_words():
    model = sklearn.SwordClassifier().fit(X, FIRST.astype(int))
    for mixed in (
        labels(MIXED),
        np.array(labels(MIXED), dtype=object),
        pd.Series(labels(MIXED), dtype=object),
    ):
        for learn in (sklearn.SwordClassifier().fit, model.partial_fit, model.predict_then_learn):
            with pytest.raises(
                TypeError,
                match=r"^y must hold either numbers or strings, got 1 \(int\) beside '1' \(str\)",
            ):
                learn(X, mixed)
        with pytest.raises(TypeError, match="y must hold either numbers or strings"):
            Keyed("classification").predict_then_learn(["k"] * ROWS, X, mixed)
    with pytest.raises(TypeError, match="classes must hold either numbers or strings"):
        sklearn.SwordClassifier().partial_fit(X, FIRST.astype(int), classes=[1, "1"])
    with pytest.raises(TypeError, match="classes must hold either numbers or strings"):
        Keyed("classification", classes=[1, "1"])


def test_keyed_tells_a_nul_apart(tmp_path):
    model = Keyed("classification", classes=list(NUL))
    model.predict_then_learn(["k"] * ROWS, X, labels(NUL))
    model.save(tmp_path / "keys")
    again = Keyed.load(tmp_path / "keys")
    assert list(again.classes) == list(model.classes) == sorted(NUL)
    assert list(again.predict(["k"] * ROWS, X)) == list(model.predict(["k"] * ROWS, X))


@pytest.mark.parametrize("pair", [NUL, MIXED], ids=["NUL", "mixed"])
def test_river_and_rows_by_name_tell_both_apart(pair, tmp_path):
    y = labels(pair)
    one, many, named = river.SwordClassifier(), river.SwordClassifier(), river.SwordClassifier()
    for x, label in zip(FRAME.to_dict("records"), y, strict=True):
        one.learn_one(x, label)
    many.learn_many(FRAME, y)
    named.learn_many(FRAME, pd.Series(y, dtype=object))
    for model in (one, many, named):
        assert set(map(repr, model.classes_)) == set(map(repr, pair))
        model.save(tmp_path / "model")
        assert river.SwordClassifier.load(tmp_path / "model").classes_ == model.classes_
        predicted = model.predict_many(FRAME).tolist()
        assert (
            np.mean([type(a) is type(b) and a == b for a, b in zip(predicted, y, strict=True)])
            > 0.9
        )
        assert model.predict_proba_many(FRAME).shape == (ROWS, 2)


@pytest.mark.parametrize("pair", [NUL, MIXED], ids=["NUL", "mixed"])
def test_river_with_polars(pair):
    frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    model = river.SwordClassifier()
    model.learn_many(frame, labels(pair))
    assert set(map(repr, model.classes_)) == set(map(repr, pair))
    if pair is NUL:
        assert set(model.predict_many(frame)) == set(pair)
        assert model.predict_proba_many(frame).shape == (ROWS, 2)
    else:  # a series of polars has one type, and the names of its columns are strings
        with pytest.raises(TypeError, match="learn_one"):
            model.predict_many(frame)
        with pytest.raises(TypeError, match="learn_one"):
            model.predict_proba_many(frame)


@pytest.mark.parametrize("pair", [NUL, MIXED], ids=["NUL", "mixed"])
def test_late_answers_by_name_tell_both_apart(pair, tmp_path):
    model, y = LateModel("classification"), labels(pair)
    model.tell_many(model.ask_many(FRAME.to_dict("records")), y)
    model.save(tmp_path / "model")
    again = LateModel.load(tmp_path / "model")
    for one in (model, again):
        assert set(map(repr, one.ask({"a": 1.0, "b": 0.0}).probabilities)) == set(map(repr, pair))


def test_late_answers_of_arrays():
    model = LateModel(sklearn.SwordClassifier())
    model.tell_many(model.ask_many(list(X)), labels(NUL))
    assert set(model.model.classes_) == set(NUL)
    for answers in (["a", 1], [0, "a"], ["a", 0.5], ["a", 2**64]):
        tickets = model.ask_many(list(X[:2]))
        before = model.model.state()
        with pytest.raises((TypeError, ValueError), match=r"^y must"):
            model.tell_many(tickets, answers)
        assert repr(model.model.state()) == repr(before)
        assert set(model.model.classes_) == set(NUL)


def test_track_tells_a_nul_apart(tmp_path):
    y = labels(NUL)
    for table in (FRAME.assign(y=y), pa.table({"a": X[:, 0], "b": X[:, 1], "y": y})):
        found = sp.track(
            table, "y", state=tmp_path / "state", output=tmp_path / "out.parquet", force=True
        )
        assert set(found.predictions["truth"].to_pylist()) == set(NUL)
        assert found.summary["task"] == "binary"


def test_track_refuses_labels_that_are_the_same_in_text():
    for column in ("y", "a"):
        table = FRAME.assign(y=FIRST.astype(int)).assign(
            **{column: pd.Series(labels(MIXED), dtype=object)}
        )
        with pytest.raises(
            ValueError, match=rf"column '{column}' holds .* and .*, which are the same as text"
        ):
            sp.track(table, "y")
    found = sp.track(FRAME.assign(y=pd.Series(labels((1, "one")), dtype=object)), "y")
    assert set(found.predictions["truth"].to_pylist()) == {"1", "one"}
