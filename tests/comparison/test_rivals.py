"""Baselines and rivals from outside predict what a loop written by hand predicts."""

import sys

import numpy as np
import pytest
from river import linear_model, multiclass, preprocessing
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.preprocessing import StandardScaler

from swordplay.comparison import baselines, compare, field, rivals
from tolerances import ROUNDING


@pytest.fixture(scope="module")
def rows():
    rows = np.random.default_rng(5).normal(size=(120, 3)) * [1.0, 30.0, 0.1] + [0.0, 5.0, 0.0]
    rows[:2, 2] = rows[50, 0] = np.nan
    return rows


@pytest.fixture(scope="module")
def targets(rows):
    return 3.0 + np.nan_to_num(rows) @ [2.0, -0.1, 1.0]


def labels(targets, classes):
    return np.digitize(targets, [2.0, 4.0][: classes - 1])


def test_baselines_by_hand():
    values, few = (
        np.array([3.0, 1.0, 5.0] + [2.0] * 9),
        np.array([1, 0, 0, 1, 1, 2, 0, 0, 0, 2, 2, 2]),
    )
    place, classes = field(np.zeros((12, 1)), values), field(np.zeros((12, 1)), few, 3)
    assert baselines.no_change(place).predictions[1:4].tolist() == [3.0, 1.0, 5.0]
    assert baselines.running_mean(place).predictions[1:5].tolist() == [3.0, 2.0, 3.0, 2.75]
    assert baselines.no_change(classes).predictions[1:].tolist() == few[:-1].tolist()
    # one each: the one that appeared first, which is class 1
    assert baselines.majority_class(classes).predictions[1:].tolist() == [
        1,
        1,
        0,
        1,
        1,
        1,
        1,
        0,
        0,
        0,
        0,
    ]
    # the first row is free, and everybody errs where 0 and 2 appear, even whoever says them
    assert classes.mistakes(few.astype(float)).tolist() == [1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]
    assert place.mistakes(values + 2.0).tolist() == [4.0] * 11


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_river_is_rivers_own_loop(rows, targets, classes):
    wanted = labels(targets, classes) if classes else targets
    model = linear_model.LogisticRegression() if classes else linear_model.LinearRegression()
    model = preprocessing.StandardScaler() | (
        multiclass.OneVsRestClassifier(model) if classes > 2 else model
    )
    said = []
    for row, target in zip(rows, wanted, strict=True):
        known = {f"column {k}": value for k, value in enumerate(row) if not np.isnan(value)}
        said.append(model.predict_one(known))
        model.learn_one(known, bool(target) if classes == 2 else target)
    ours = rivals.river(field(rows, wanted, classes))
    assert ours.predictions[1:] == pytest.approx(np.array(said[1:], dtype=float), rel=ROUNDING)
    assert (ours.scores is None) == bool(classes)


@pytest.mark.parametrize("classes", [0, 3])
@pytest.mark.parametrize("size", [1, 7])
def test_scikit_learn_is_its_own_loop(rows, targets, classes, size, monkeypatch):
    monkeypatch.setattr(rivals, "MOST_CALLS", len(rows) // size)
    wanted = labels(targets, classes) if classes else targets
    scaler, known = StandardScaler(), {"classes": range(3)} if classes else {}
    model = (
        SGDClassifier(loss="log_loss", random_state=0) if classes else SGDRegressor(random_state=0)
    )
    step, said = rivals.block_size(len(rows)), []
    assert step in (size, size + 1)
    for first in range(0, len(rows), step):
        block = rows[first : first + step]
        with np.errstate(all="ignore"):
            scaled = np.nan_to_num(scaler.partial_fit(block).transform(block))
        said += model.predict(scaled).tolist() if first else [0.0] * len(block)
        model.partial_fit(scaled, wanted[first : first + step], **known)
    assert rivals.scikit_learn(field(rows, wanted, classes)).predictions == pytest.approx(
        said, rel=ROUNDING
    )


def test_many_rows_are_learned_in_blocks():
    assert [rivals.block_size(rows) for rows in (10, 4000, 4001, 200_000)] == [1, 1, 2, 50]


def test_who_is_not_installed_is_absent_and_says_so(rows, targets, monkeypatch):
    monkeypatch.setitem(sys.modules, "river.linear_model", None)
    found = compare(field(rows, targets), only=["river", "no change"])
    assert found.absent == {"river linear": "not installed"}
    assert [one.rank for one in found.results] == [1, 2]


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan, 1e160])
def test_who_overflows_is_absent_and_says_where(bad):
    with pytest.raises(rivals.Absent, match="overflowed in row 3"):
        rivals._finite(np.array([0.0, 1e100, bad, 5.0]))


@pytest.mark.parametrize("rival", [rivals.scikit_learn, rivals.river])
def test_the_worst_tables_leave_a_number_behind(rival):
    rng = np.random.default_rng(0)
    spikes = np.where(rng.random((60, 3)) < 0.1, 1e60, rng.normal(size=(60, 3)))
    for rows in (spikes, 1e60 * np.sign(spikes), np.ones((60, 3)), np.full((60, 3), np.nan)):
        place = field(rows, np.nan_to_num(rows[:, 0]))
        assert np.isfinite(place.error(place.mistakes(rival(place).predictions)))
