"""Arrays that are not what they seem, at every door: refused with nothing changed, or the same
as their plain twins.
"""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import swordplay as sp
from swordplay import river, sklearn
from swordplay.core import checkpoint
from swordplay.intervals import SwordIntervals
from swordplay.keyed import Keyed
from swordplay.late import LateModel

X = np.random.default_rng(0).normal(size=(40, 3))
Y = (X[:, 0] > 0).astype(float)


def doors():
    """Everybody who takes rows and targets, and how to look at what they know."""
    for kind in (sklearn.SwordRegressor, sklearn.SwordClassifier, sklearn.SwordAggregator):
        model = kind().fit(X, Y)
        yield kind.__name__, model.partial_fit, model.model_.state
        yield f"{kind.__name__}.predict_then_learn", model.predict_then_learn, model.model_.state
    for make in (sklearn.SwordRegressor(curves="auto"), sklearn.SwordClassifier(curves="auto")):
        model = make.fit(X, Y)
        yield f"{type(make).__name__}, curves", model.partial_fit, model.model_.state
    engine = sp.engine.online(sp.Sword(sp.Ball(3)))
    yield "engine", engine.play, engine.state
    yield "stream", lambda X, y: sp.LinearStream(X, y), dict


def services():
    """Those who take rows of numbers as arrays only: sparse ones are refused."""
    for task in ("regression", "classification"):
        keys, keyed = np.repeat(["a", "b"], 20), Keyed(task, threads=1)
        keyed.predict_then_learn(keys, X, Y)
        yield (
            f"Keyed, {task}",
            lambda X, y, keys=keys, keyed=keyed: keyed.predict_then_learn(keys, X, y),
            lambda keyed=keyed: {key: keyed.model(key).coef_ for key in "ab"},
        )
    for model in (sklearn.SwordRegressor(), sklearn.SwordClassifier(), sklearn.SwordAggregator()):
        late = LateModel(model)
        late.tell_many(late.ask_many(list(X)), Y.tolist())
        yield (
            f"LateModel of {type(model).__name__}",
            lambda X, y, late=late: late.tell_many(late.ask_many(X), y),
            model.state,
        )
    intervals = SwordIntervals([0.5, 0.9])
    intervals.interval_then_learn(Y, Y, X)
    yield "SwordIntervals", lambda X, y: intervals.interval_then_learn(y, y, X), intervals.state


def spoiled(indices=None, indptr=None, kind=sparse.csr_array):
    table = kind(np.where(X > 0.5, X, 0.0))
    table = table.copy()
    if indices is not None:
        table.indices[3] = indices
    if indptr is not None:
        table.indptr[5] = indptr
    return table


def coordinates(row=0, column=0):
    table = sparse.coo_array(np.where(X > 0.5, X, 0.0))
    rows, columns = (where.copy() for where in table.coords)
    rows[2], columns[2] = rows[2] + row, columns[2] + column
    table.coords = (rows, columns)
    return table


REFUSED = {
    "masked": lambda: (np.ma.masked_array(X, mask=X > 1.0), Y),
    "masked, without a mask": lambda: (np.ma.masked_array(X), Y),
    "masked targets": lambda: (X, np.ma.masked_array(Y, mask=Y > 0.5)),
    "an index beyond": lambda: (spoiled(indices=3), Y),
    "an index far beyond": lambda: (spoiled(indices=2_000_000_000), Y),
    "an index below 0": lambda: (spoiled(indices=-1), Y),
    "indptr beyond": lambda: (spoiled(indptr=10_000_000), Y),
    "indptr that falls": lambda: (spoiled(indptr=0), Y),
    "columns, an index beyond": lambda: (spoiled(indices=40, kind=sparse.csc_array), Y),
    "coordinates, a row beyond": lambda: (coordinates(row=1_000_000), Y),
    "coordinates, a column beyond": lambda: (coordinates(column=1_000_000), Y),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_nothing_changed(case):
    for name, take, state in itertools.chain(doors(), services()):
        rows, targets = REFUSED[case]()
        before = checkpoint.dumps(state(), kind="x")
        with pytest.raises((ValueError, TypeError)) as caught:
            take(rows, targets)
        assert str(caught.value), name
        assert checkpoint.dumps(state(), kind="x") == before


def read_only(values):
    values = values.copy()
    values.flags.writeable = False
    return values


def mapped(values, folder):
    file = np.memmap(folder / f"{values.ndim}", dtype=values.dtype, mode="w+", shape=values.shape)
    file[:] = values
    return file


SAME = {
    "read-only": lambda folder: (read_only(X), read_only(Y)),
    "negative strides": lambda folder: (X[::-1].copy()[::-1], Y[::-1].copy()[::-1]),
    "every other column": lambda folder: (np.repeat(X, 2, axis=1)[:, ::2], np.repeat(Y, 2)[::2]),
    "Fortran order": lambda folder: (np.asfortranarray(X), Y),
    "a memory map": lambda folder: (mapped(X, folder), mapped(Y, folder)),
    "the other order of bytes": lambda folder: (X.astype(">f8"), Y.astype(">f8")),
    "CSR": lambda folder: (sparse.csr_array(X), Y),
    "CSC": lambda folder: (sparse.csc_array(X), Y),
    "COO": lambda folder: (sparse.coo_array(X), Y),
}


@pytest.mark.parametrize("case", SAME)
def test_the_same_as_a_plain_array(case, tmp_path):
    sparse_rows = case in ("CSR", "CSC", "COO")
    everybody = doors if sparse_rows else lambda: itertools.chain(doors(), services())
    for (name, take, state), (_, plain, wanted) in zip(everybody(), everybody(), strict=True):
        rows, targets = SAME[case](tmp_path)
        take(rows, targets)
        plain(X, Y)
        ours, theirs = state(), wanted()
        for key in ours:
            if isinstance(ours[key], str):
                assert ours[key] == theirs[key]
            else:
                np.testing.assert_allclose(
                    ours[key], theirs[key], rtol=1e-9, atol=1e-9, err_msg=f"{name}: {key}"
                )
        if isinstance(rows, np.ndarray):
            np.testing.assert_array_equal(rows, X)
    for name, take, state in services() if sparse_rows else ():
        before = checkpoint.dumps(state(), kind="x")
        with pytest.raises(TypeError, match=r"real numbers|sparse"):
            take(*SAME[case](tmp_path))
        assert checkpoint.dumps(state(), kind="x") == before, name


@pytest.mark.parametrize("kind", ["Float64", "Int64", "boolean"])
def test_nullable_columns(kind):
    values = pd.array([1, 0, 1, 1], dtype=kind)
    frame = pd.DataFrame({"a": values, "b": [1.0, 2.0, 3.0, 4.0]})
    y = pd.Series([0, 1, 0, 1])
    good = frame.astype(float)
    for make in (river.SwordRegressor, river.SwordClassifier):
        one, other = make(), make()
        one.learn_many(frame, y)
        other.learn_many(good, y)
        assert one.predict_one({"a": 1.0, "b": 2.0}) == other.predict_one({"a": 1.0, "b": 2.0})
    for make in (sklearn.SwordRegressor, sklearn.SwordClassifier):
        np.testing.assert_array_equal(
            make().fit(frame, y).predict(good), make().fit(good, y).predict(good)
        )
    frame.loc[2, "a"] = pd.NA
    for learn in (
        river.SwordRegressor().learn_many,
        sklearn.SwordRegressor().fit,
        sklearn.SwordClassifier().fit,
    ):
        with pytest.raises((ValueError, TypeError)):
            learn(frame, y)
    with pytest.raises((ValueError, TypeError)):
        river.SwordClassifier().learn_many(
            good, pd.Series(pd.array([1, 0, None, 1], dtype="Int64"))
        )
    with pytest.raises((ValueError, TypeError)):
        river.SwordRegressor().learn_many(
            good, np.ma.masked_array([1.0, 2.0, 3.0, 4.0], mask=[0, 1, 0, 0])
        )


def test_labels_beyond_what_a_double_counts(tmp_path):
    near = np.array([2**53, 2**53 + 1], dtype=np.uint64)
    y = near[(X[:, 0] > 0).astype(int)]
    model = sklearn.SwordClassifier().fit(X, y)
    assert model.classes_.tolist() == near.tolist()
    model.save(tmp_path / "x")
    assert sklearn.SwordClassifier.load(tmp_path / "x").classes_.tolist() == near.tolist()
    other = sklearn.SwordClassifier().fit(X, (X[:, 0] > 0).astype(np.int64))
    with pytest.raises(
        ValueError, match="labels of uint64 would be rounded beside classes of int64"
    ):
        other.predict_then_learn(X, y)
    assert other.classes_.tolist() == [0, 1]
