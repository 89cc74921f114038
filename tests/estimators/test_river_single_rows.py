"""One row at a time is the same model as whole arrays, bit by bit, and columns may join at any
time.
"""

import copy
import pickle
from collections import OrderedDict

import numpy as np
import pytest

from swordplay.estimators.class_model import ClassModel
from swordplay.estimators.linear_model import LinearModel
from tolerances import DRIVEN

ROWS, DIM = 400, 5

MAKES = {
    "squared": {},
    "huber": {"loss": "huber"},
    "logistic": {"loss": "logistic"},
    "lags": {"lags": 3},
    "raw columns": {"standardize": False},
    "no intercept": {"intercept": False},
    "logistic, lags, raw, no intercept": {
        "loss": "logistic",
        "lags": 2,
        "standardize": False,
        "intercept": False,
    },
}

every_make = pytest.mark.parametrize("make", MAKES)


def stream(make, seed=4):
    """Rows with holes and an outlier, and targets that fit the loss."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(ROWS, DIM)) * [1.0, 100.0, 1e-3, 1.0, 1.0] + [0.0, 1e4, 0.0, 0.0, 3.0]
    targets = rows[:, 0] - rows[:, 3] + 0.1 * rng.normal(size=ROWS)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    rows[ROWS // 2, 0] = 1e6
    targets = np.nan_to_num(targets)
    return rows, (targets > 0).astype(float) if "logistic" in make else targets


def bits(model):
    return {name: np.asarray(value).tobytes() for name, value in model.state().items()}


@every_make
def test_rows_one_by_one_give_the_bits_of_whole_arrays(make):
    rows, targets = stream(make)
    whole, single = LinearModel(DIM, **MAKES[make]), LinearModel(DIM, **MAKES[make])
    whole.predict_then_learn(rows, targets)
    for row, target in zip(rows, targets.tolist(), strict=True):
        single.predict_then_learn(row[None], np.array([target]))
    assert bits(single) == bits(whole)
    assert single.rounds == ROWS


@every_make
def test_a_row_alone_is_predicted_with_the_bits_it_gets_among_others(make):
    rows, targets = stream(make)
    model = LinearModel(DIM, **MAKES[make])
    model.predict_then_learn(rows[:300], targets[:300])
    before = bits(model)
    together = model.predict(rows[300:])
    assert [model.predict(row[None])[0] for row in rows[300:]] == together.tolist()
    assert bits(model) == before  # and predictions leave no trace
    assert len(np.unique(together)) > 90


@every_make
def test_a_prediction_is_that_of_predict_then_learn(make):
    rows, targets = stream(make)
    model, other = LinearModel(DIM, **MAKES[make]), LinearModel(DIM, **MAKES[make])
    ahead = []
    for row, target in zip(rows, targets.tolist(), strict=True):
        ahead.append(model.predict(row[None])[0])
        model.predict_then_learn(row[None], np.array([target]))
    played = other.predict_then_learn(rows, targets)
    np.testing.assert_allclose(ahead, played, rtol=DRIVEN, atol=DRIVEN * np.abs(played).max())


@every_make
def test_a_column_that_joins_is_one_that_was_missing_so_far(make):
    rows, targets = stream(make)
    rows[:200, 3:] = np.nan
    wide, widened = LinearModel(DIM, **MAKES[make]), LinearModel(3, **MAKES[make])
    expected = wide.predict_then_learn(rows, targets)
    narrow = widened.predict_then_learn(np.ascontiguousarray(rows[:200, :3]), targets[:200])
    widened.predict(rows[:1, :3])  # arrays at hand are of the old width now
    widened.widen(DIM)
    played = np.concatenate([narrow, widened.predict_then_learn(rows[200:], targets[200:])])
    np.testing.assert_allclose(played, expected, rtol=DRIVEN, atol=DRIVEN * np.abs(expected).max())
    assert widened.predict(rows[-1:])[0] == pytest.approx(wide.predict(rows[-1:])[0], rel=DRIVEN)


@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))],
    ids=["deepcopy", "pickle"],
)
def test_a_copy_goes_its_own_way(copied):
    rows, targets = stream("squared")
    model = LinearModel(DIM)
    for row, target in zip(rows[:50], targets[:50].tolist(), strict=True):
        model.predict_then_learn(row[None], np.array([target]))
    twin, before = copied(model), bits(model)
    twin.predict_then_learn(rows[50:51], targets[50:51])
    assert bits(model) == before
    model.predict_then_learn(rows[50:51], targets[50:51])
    assert bits(model) == bits(twin)


@pytest.mark.parametrize("classes", [1, 2, 3])
def test_classes_row_by_row(classes):
    rows, _ = stream("logistic")
    labels = np.random.default_rng(1).integers(classes, size=ROWS)
    whole, single = (
        ClassModel(lambda: LinearModel(DIM, loss="logistic"), classes) for _ in range(2)
    )
    whole.predict_then_learn(rows, labels)
    for row, label in zip(rows, labels.tolist(), strict=True):
        single.predict_then_learn(row[None], np.array([label]))
    assert bits(single) == bits(whole)
    np.testing.assert_allclose(
        [single.predict(row[None])[0] for row in rows], whole.predict(rows), rtol=DRIVEN
    )


def test_scores_of_any_size_are_probabilities():
    model = ClassModel(lambda: LinearModel(1, loss="logistic", radius=1e6, standardize=False), 2)
    rows = np.array([[1.0], [-1.0]] * 30)
    model.predict_then_learn(rows, (rows[:, 0] > 0).astype(int))
    for size in (1.0, 1e3, 1e50):
        for sign in (-1.0, 1.0):
            one = model.predict(np.array([[sign * size]]))[0]
            assert sum(one) == pytest.approx(1.0)
            assert min(one) >= 0.0
            assert (one[1] > 0.5) == (sign > 0)


@pytest.mark.parametrize(
    "settings", [{}, {"curves": None}, {"lags": 2}, {"standardize": False, "curves": None}], ids=str
)
@pytest.mark.parametrize("labels", [False, True], ids=["numbers", "labels"])
def test_the_fast_path_leaves_the_bits_of_the_other(settings, labels):
    """Plain dictionaries take the fast path (``DictColumns.fill``), other mappings do not.

    Some dictionaries have other names or types, and do not either.
    """
    import swordplay.river as ours

    rng = np.random.default_rng(0)
    rows = [dict(zip("abc", row, strict=True)) for row in rng.normal(size=(120, 3)).tolist()]
    targets = [row["a"] - row["b"] for row in rows]
    rows[30] = {"a": 1, "b": True, "c": np.float64(0.5)}
    rows[40] = {"a": 1.0, "c": 2.0}
    rows[50] = dict(reversed(rows[50].items()))
    for row in rows[60:]:
        row["d"] = 1.0
    make = ours.SwordClassifier if labels else ours.SwordRegressor
    short, long = make(**settings), make(**settings)
    for t, (row, target) in enumerate(zip(rows, targets, strict=True)):
        if t == 80:
            short = pickle.loads(pickle.dumps(short))
        said = [
            (model.predict_proba_one if labels else model.predict_one)(x)
            for model, x in ((short, row), (long, OrderedDict(row)))
        ]
        assert said[0] == said[1]
        short.learn_one(row, target > 0 if labels else target)
        long.learn_one(OrderedDict(row), target > 0 if labels else target)
    assert bits(short._model) == bits(long._model)
    model = short._model.groups[0] if labels else short._model
    assert short._columns.write_if_plain(rows[-1], model.workspace)
    assert not long._columns.write_if_plain(OrderedDict(rows[-1]), model.workspace)
    for bad in (
        {"a": float("nan"), "b": 0.0, "c": 0.0, "d": 0.0},
        {"a": 10**400, "b": 0.0, "c": 0.0, "d": 0.0},
    ):
        before = bits(short._model)
        with pytest.raises(ValueError, match="finite"):
            short.learn_one(bad, True)
        assert bits(short._model) == before
    if labels:
        short.learn_one(rows[0], "third")
        assert set(short.predict_proba_one(rows[0])) == {False, True, "third"}
