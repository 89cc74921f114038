"""Many keys at once: each learns as if it were alone, and can be taken out, saved and let go."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from estimators.bad_input import Lying
from swordplay.keyed import Keyed
from swordplay.sklearn import SwordClassifier, SwordRegressor

pytestmark = pytest.mark.xdist_group("keyed")  # one process compiles, and the others need not

CHEAP = {"lags": 0, "curves": None}
KINDS = [{}, {"loss": "huber"}, {"lags": 3}, {"lags": 0}, {"curves": "rich"}, CHEAP]


def world(seed, keys=9, batches=6, most=120, dim=3):
    """Batches of interleaved rows: normal numbers, a rare indicator, a column far from 0."""
    rng = np.random.default_rng(seed)
    for _ in range(batches):
        count = int(rng.integers(1, most))
        names = np.array([f"key {k}" for k in rng.integers(0, keys, count)])
        rows = rng.normal(size=(count, dim))
        rows[:, 1] = rng.random(count) < 0.05
        rows[:, 2] += 1e6
        yield names, rows, 3.0 * rows[:, 0] + rng.standard_t(2, count)


@pytest.mark.parametrize("settings", KINDS)
@pytest.mark.parametrize("threads", [1, 3])
def test_keys_predict_what_each_predicts_alone(monkeypatch, settings, threads):
    monkeypatch.setattr("swordplay.keyed.key_table.MIN_THREAD_ROWS", 10)
    keyed, alone = Keyed(**settings, threads=threads), {}
    for names, rows, targets in world(1, batches=12, most=300):
        said = keyed.predict_then_learn(names, rows, targets)
        for key in np.unique(names):
            mine = names == key
            model = alone.setdefault(key, SwordRegressor(**settings))
            assert np.array_equal(said[mine], model.predict_then_learn(rows[mine], targets[mine]))
        asked = keyed.predict(names, rows)
        for key in np.unique(names):
            assert np.array_equal(asked[names == key], alone[key].predict(rows[names == key]))
    assert sorted(keyed.keys()) == sorted(alone)
    for key, model in alone.items():
        taken = keyed.model(key)
        assert np.array_equal(taken.coef_, model.coef_)
        assert taken.intercept_ == model.intercept_
        assert taken.certificate_ == model.certificate_
        assert np.array_equal(taken.weights_, model.weights_)
        rows, targets = np.random.default_rng(5).normal(size=(80, 3)), np.arange(80.0)
        assert np.array_equal(
            taken.predict_then_learn(rows, targets), model.predict_then_learn(rows, targets)
        )
        assert taken.certificate_ == model.certificate_


@pytest.mark.parametrize("classes", [2, 4, 18])
@pytest.mark.parametrize("settings", [{}, {"lags": 2}, CHEAP])
def test_classes(classes, settings):
    labels = np.array([chr(ord("a") + k) for k in range(classes)])
    keyed, alone = Keyed("classification", classes=labels.tolist(), **settings), {}
    # The probabilities of three classes or more are calibrated in another loop: equal to rounding.
    rounding = 0.0 if classes == 2 or settings == CHEAP else 1e-12

    def same(one, other):
        np.testing.assert_allclose(one, other, rtol=0.0, atol=rounding)

    for names, rows, targets in world(2):
        y = labels[np.digitize(targets, [-2.0, 0.0, 2.0][: classes - 1])]
        said = keyed.predict_proba_then_learn(names, rows, y)
        for key in np.unique(names):
            mine = np.flatnonzero(names == key)
            asked = rows[mine]
            if key not in alone:
                alone[key] = SwordClassifier(**settings).partial_fit(
                    rows[mine][:1], y[mine][:1], classes=labels
                )
                mine = mine[1:]
            if len(mine):
                same(said[mine], alone[key].predict_proba_then_learn(rows[mine], y[mine]))
            same(keyed.predict_proba([key] * len(asked), asked), alone[key].predict_proba(asked))
    assert set(keyed.predict(names, rows)) <= set(labels)
    for key, model in alone.items():
        taken = keyed.model(key)
        assert taken.classes_.tolist() == labels.tolist()
        assert np.array_equal(taken.coef_, model.coef_)
        same(taken.predict_proba(rows), model.predict_proba(rows))
        y = labels[np.arange(len(rows)) % classes]
        same(taken.predict_proba_then_learn(rows, y), model.predict_proba_then_learn(rows, y))


@pytest.mark.parametrize("settings", [{}, CHEAP])
def test_every_key_may_begin_as_a_trained_model(settings):
    rng = np.random.default_rng(3)
    for count in (10, 200):  # young and grown
        rows = rng.normal(size=(count, 3))
        start = SwordRegressor(**settings)
        start.predict_then_learn(rows, rows @ [1.0, 2.0, 3.0])
        keyed = Keyed(start=start, **settings)
        assert np.array_equal(keyed.predict(["new"], rows[:1]), start.predict(rows[:1]))
        names, rows, targets = next(world(4))
        said = keyed.predict_then_learn(names, rows, targets)
        for key in np.unique(names):
            model = SwordRegressor(**settings)
            first = np.random.default_rng(3)
            for each in (10, 200)[: 1 if count == 10 else 2]:
                begun = first.normal(size=(each, 3))
            model.predict_then_learn(begun, begun @ [1.0, 2.0, 3.0])
            mine = names == key
            assert np.array_equal(said[mine], model.predict_then_learn(rows[mine], targets[mine]))
    with pytest.raises(ValueError, match="start must be a SwordRegressor with lags=2"):
        Keyed(start=start, **settings | {"lags": 2})
    with pytest.raises(TypeError, match="start must be a SwordRegressor"):
        Keyed(start=3)
    with pytest.raises(TypeError, match="start must be a SwordClassifier that has learned"):
        Keyed("classification", start=start)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("settings", [{}, {"lags": 2}, CHEAP, {"lags": 2, "curves": None}])
def test_every_key_may_begin_as_a_trained_classifier(tmp_path, classes, settings):
    rounding = 0.0 if classes == 2 or "curves" in settings else 1e-12

    def same(one, other):
        np.testing.assert_allclose(one, other, rtol=0.0, atol=rounding)

    rng, labels = np.random.default_rng(4), np.array(["a", "b", "c"])[:classes]
    for count in (10, 200):  # young and grown
        rows = rng.normal(size=(count, 3))
        told = labels[np.digitize(rows[:, 0], [-0.5, 0.5][: classes - 1])]
        start = SwordClassifier(**settings).partial_fit(rows, told, classes=labels)
        keyed = Keyed("classification", start=start, **settings)
        same(keyed.predict_proba(["new"], rows[:1]), start.predict_proba(rows[:1]))
        names, rows, targets = next(world(4))
        y = labels[np.digitize(targets, [-1.0, 1.0][: classes - 1])]
        said = keyed.predict_proba_then_learn(names, rows, y)
        for key in np.unique(names):
            model, mine = copy.deepcopy(start), names == key
            same(said[mine], model.predict_proba_then_learn(rows[mine], y[mine]))
            taken = keyed.model(key)
            assert np.array_equal(taken.coef_, model.coef_)
            assert np.array_equal(taken.model_.counts, model.model_.counts)
        keyed.save(tmp_path / str(count))
        again = Keyed.load(tmp_path / str(count))
        assert again.classes.tolist() == labels.tolist()
        same(again.predict_proba(["newer"], rows[:1]), start.predict_proba(rows[:1]))
        assert np.array_equal(again.predict_proba(names, rows), keyed.predict_proba(names, rows))


def test_a_classifier_whose_classes_joined_late_is_no_beginning():
    rows = np.random.default_rng(5).normal(size=(30, 2))
    late = SwordClassifier()
    late.predict_then_learn(rows[:20], np.where(rows[:20, 0] > 0, "b", "c"))
    late.predict_then_learn(rows[20:], np.where(rows[20:, 0] > 0, "a", "c"))
    with pytest.raises(ValueError, match=r"from its first row on, got \['b', 'c', 'a'\]"):
        Keyed("classification", start=late)
    fine = SwordClassifier().partial_fit(rows, rows[:, 0] > 0, classes=[False, True])
    with pytest.raises(ValueError, match="classes must be those of start"):
        Keyed("classification", start=fine, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="start must be a SwordClassifier with lags=1"):
        Keyed("classification", start=fine, lags=1)


def test_idle_keys_expire():
    keyed, row = Keyed(), np.ones((1, 1))
    for day, key in enumerate(["a", "b", "a", "c"]):
        keyed.predict_then_learn([key], row, [1.0], now=day)
    keyed.expire(1)
    assert sorted(keyed.keys()) == ["a", "c"]
    assert "b" not in keyed
    assert len(keyed) == 2
    with pytest.raises(KeyError, match="there is no key 'b'"):
        keyed.model("b")
    with pytest.raises(ValueError, match="now must not fall, got 2 after 3"):
        keyed.predict_then_learn(["a"], row, [1.0], now=2)
    assert keyed.predict_then_learn(["b"], row, [5.0], now=9).tolist() == [0.0]  # it begins again
    assert Keyed().predict(["x"], row).tolist() == [0.0]


def test_threads_of_the_caller_take_turns():
    """Keys join in every call, so that arrays move while another thread would write to them."""
    rng = np.random.default_rng(6)
    rows = rng.normal(size=(4, 30, 40, 3))
    shared = Keyed(threads=1)

    def learn(thread):
        said = []
        for turn, some in enumerate(rows[thread]):
            names = [f"{thread} {k}" for k in range(turn + 1)] * 40
            said.append(shared.predict_then_learn(names[:40], some, some[:, 0]))
        return np.concatenate(said)

    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(learn, range(4)))
    for thread in range(4):
        shared = Keyed(threads=1)
        assert np.array_equal(together[thread], learn(thread))


def test_copies_and_pickles_go_on_the_same():
    keyed = Keyed(threads=2)
    names, rows, targets = next(world(7, most=400))
    keyed.predict_then_learn(names, rows, targets)
    for twin in (copy.deepcopy(keyed), pickle.loads(pickle.dumps(keyed))):
        said = copy.deepcopy(keyed).predict_then_learn(names, rows, targets)
        assert np.array_equal(twin.predict_then_learn(names, rows, targets), said)


def test_keys_are_text_or_whole_numbers():
    keyed, rows = Keyed(), np.ones((2, 1))
    for keys in (
        [1, 2],
        np.array([1, 2]),
        pd.Series([1, 2]),
        pa.array([1, 2]),
        pd.Series([1, 2]).astype("category"),
    ):
        keyed.predict_then_learn(keys, rows, [1.0, 2.0])
    assert keyed.keys() == [1, 2]
    text = Keyed()
    for keys in (
        ["a", "b"],
        np.array(["a", "b"]),
        pd.Series(["a", "b"], dtype=object),
        pd.Categorical(["a", "b"]),
    ):
        text.predict_then_learn(keys, rows, [1.0, 2.0])
    assert text.keys() == ["a", "b"]


REFUSED = [
    ((["a", "b"], [[1.0]], [1.0]), ValueError, "keys must be one for each row, got 2 for 1 rows"),
    (
        ([None, "b"], [[1.0], [2.0]], [1.0, 2.0]),
        ValueError,
        "keys must not be missing, got 1 that are, the first in row 0",
    ),
    (
        ([1.5], [[1.0]], [1.0]),
        TypeError,
        "keys must be text or whole numbers, got double such as 1.5",
    ),
    (([1], [[1.0]], [1.0]), TypeError, "keys must be text, as before, got whole numbers"),
    (
        (["a", 1], [[1.0], [2.0]], [1.0, 2.0]),
        TypeError,
        "keys must be all text or all whole numbers",
    ),
    ((["a"], [[1.0, 2.0]], [1.0]), ValueError, r"X must have 1 column\(s\), got 2"),
    ((["a"], [[np.nan]], [1.0]), ValueError, "X"),
    ((["a"], [[1e61]], [1.0]), ValueError, r"X must not pass 1e\+60 in magnitude, got 1e\+61"),
    ((["a"], [[1.0]], [np.inf]), ValueError, "y"),
    ((["a"], [[1.0]], [-1e61]), ValueError, r"y must not pass 1e\+60"),
    ((["a"], [[1.0]], [1.0, 2.0]), ValueError, r"y must have shape \(1,\), got \(2,\)"),
    (
        (np.array([2**63], dtype=np.uint64), [[1.0]], [1.0]),
        ValueError,
        "keys must not pass 9223372036854775807",
    ),
    (([2**70], [[1.0]], [1.0]), TypeError, "keys must be all text or all whole numbers"),
    ((["\ud800"], [[1.0]], [1.0]), TypeError, "keys must be all text or all whole numbers"),
    (
        (np.ma.masked_array([1], mask=[True]), [[1.0]], [1.0]),
        ValueError,
        "keys must not be missing",
    ),
    ((pd.array([None], dtype="Int64"), [[1.0]], [1.0]), ValueError, "keys must not be missing"),
    (
        (["a"], pd.DataFrame({"x": pd.array([None], dtype="Float64")}), [1.0]),
        (TypeError, ValueError),
        "X must",
    ),
    ((["a"], [[1.0]], pd.array([None], dtype="Float64")), (TypeError, ValueError), "y must"),
    ((["a"], [[Lying(1e300)]], [1.0]), ValueError, "X must not pass"),
    ((["a"], [[1.0]], [Lying("nan")]), ValueError, "y must be finite"),
    (
        (["a"], pd.DataFrame({"z": [1.0]}), [1.0]),
        ValueError,
        r"X must have the columns \['x'\], got \['z'\]",
    ),
]


@pytest.mark.parametrize(("given", "error", "words"), REFUSED)
def test_what_makes_no_rows_is_refused_and_leaves_no_trace(given, error, words):
    keyed, twin = Keyed(), Keyed()
    for one in (keyed, twin):
        one.predict_then_learn(["a"], pd.DataFrame({"x": [1.0]}), [1.0])
    with pytest.raises(error, match=words):
        keyed.predict_then_learn(*given)
    assert keyed.keys() == twin.keys()
    assert np.array_equal(keyed.model("a").weights_, twin.model("a").weights_)


def test_labels_are_compared_exactly_and_never_lost():
    near, rows = [2**53, 2**53 + 1], np.ones((2, 1))
    keyed = Keyed("classification", classes=np.array(near, dtype=np.int64))
    keyed.predict_then_learn(["a", "a"], rows, np.array(near, dtype=np.uint64))
    assert keyed.model("a").classes_.tolist() == near
    assert keyed._table.class_counts[0].tolist() == [1, 1]
    for bad, words in (
        (np.ma.masked_array(near, mask=[False, True]), "y must not be masked"),
        ([None, None], "y must not be missing, got None at index 0"),
        (pd.array([near[0], None], dtype="Int64"), "y "),
        (np.array([2**63, 2**53], dtype=np.uint64), "y holds the label 9223372036854775808"),
    ):
        with pytest.raises((TypeError, ValueError), match=words):
            keyed.predict_then_learn(["a", "a"], rows, bad)
    assert keyed._table.class_counts[0].tolist() == [1, 1]


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(
        ValueError, match="task must be 'regression' or 'classification', got 'ranking'"
    ):
        Keyed("ranking")
    with pytest.raises(ValueError, match="loss must be"):
        Keyed(loss="logistic")
    with pytest.raises(ValueError, match="classes are for a classification"):
        Keyed(classes=[1, 2])
    with pytest.raises(ValueError, match=r"classes must be two or more labels, got \['a'\]"):
        Keyed("classification", classes=["a"])
    with pytest.raises(ValueError, match="label 'c', which is none of the classes"):
        Keyed("classification", classes=["a", "b"]).predict_then_learn(["k"], [[1.0]], ["c"])
    with pytest.raises(ValueError, match="probabilities are those of a classification"):
        Keyed().predict_proba(["k"], [[1.0]])
    with pytest.raises(ValueError, match="the classes are not known yet"):
        Keyed("classification").predict(["k"], [[1.0]])
    with pytest.raises(ValueError, match="nothing to save"):
        Keyed().save("nowhere")
