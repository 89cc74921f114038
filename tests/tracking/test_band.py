"""Intervals of a run: what a plain loop says, wherever batches end and however often it is
saved.
"""

import numpy as np
import pyarrow as pa
import pytest

from swordplay.intervals import SwordIntervals
from swordplay.tracking import Settings
from swordplay.tracking.band import judged
from swordplay.tracking.tracker import Tracker
from tracking.worlds import column, tracked, world


def numeric(rows=600, seed=0):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(rows, 3))
    target = features @ [1.0, 0.5, -1.0] + np.exp(features[:, 0]) * rng.normal(size=rows)
    return (
        features,
        target,
        pa.record_batch([*features.T.copy(), target], names=["a", "b", "c", "y"]),
    )


def ends(found):
    return np.column_stack([column(found, name) for name in ("lower", "upper")])


def test_intervals_are_those_around_the_predictions_that_stand_beside_them():
    features, target, batch = numeric()
    tracker, found = tracked(batch, Settings("y", level=0.9), [len(batch)])
    said = np.array(column(found, "prediction"), dtype=float)
    bounds = SwordIntervals(0.9).interval_then_learn(
        said[1:], target[1:], features[1:]
    )  # the first row has no prediction
    expected = np.where(np.isfinite(bounds), bounds, np.nan)
    np.testing.assert_array_equal(np.array(ends(found), dtype=float)[1:], expected)
    told = tracker.story("here").intervals
    covered = (bounds[:, 0] <= target[1:]) & (target[1:] <= bounds[:, 1])
    assert told.level == 0.9
    assert told.coverage == pytest.approx(covered.mean())
    assert told.mean_width == pytest.approx(np.diff(bounds[5:]).mean())
    assert told.unbounded == 5
    assert found.schema.names == [
        "row",
        "prediction",
        "lower",
        "upper",
        "truth",
        "loss",
        "running_error",
    ]


def test_without_a_level_and_for_classes_there_are_none():
    _, _, batch = numeric(100)
    tracker, found = tracked(batch, Settings("y"), [100])
    assert "lower" not in found.schema.names
    assert tracker.story("here").intervals is None
    _, found = tracked(world("binary", 100, seed=0), Settings("y", level=0.9), [100])
    assert "lower" not in found.schema.names


@pytest.mark.parametrize("sizes", [[1, 2, 3, 500, 70], [397], [999, 100]])
def test_wherever_batches_end_and_however_often_it_is_saved(sizes):
    """With missing targets, missing values and categories that appear late."""
    batch = world("regression", 1200, seed=1)
    settings = Settings("y", lags=1, level=0.8)
    expected_tracker, expected = tracked(batch, settings, [len(batch)])
    tracker, found = tracked(batch, settings, sizes, save=True)
    assert found.equals(expected.cast(found.schema)) or found.combine_chunks().equals(
        expected.combine_chunks()
    )
    assert tracker.story("here").intervals == expected_tracker.story("here").intervals
    assert tracker.story("here").intervals.coverage == pytest.approx(0.8, abs=0.02)


def test_rows_without_a_target_have_an_interval_too():
    _, _, batch = numeric(300)
    gone = pa.array(np.arange(300) % 10 == 3)
    target = pa.array(batch.column("y").to_numpy(), mask=gone.to_numpy(zero_copy_only=False))
    holed = pa.record_batch([*batch.columns[:3], target], names=["a", "b", "c", "y"])
    tracker, found = tracked(holed, Settings("y", level=0.9), [300])
    assert (
        found.column("upper").null_count == 1 + 5 + 1
    )  # the first row, five that are learned, and one of them unlabelled
    assert tracker.band.intervals.rows == 300 - 30 - 1


def test_a_state_without_intervals_is_not_taken_for_one_with_them():
    _, _, batch = numeric(100)
    tracker, _ = tracked(batch, Settings("y", level=0.9), [100])
    saved = tracker.state()
    for damage in ({"band.balances": np.array([1e9])}, {"band.live": np.zeros(3)}):
        with pytest.raises(ValueError, match="state"):
            Tracker.resumed(saved | damage)
    without = {name: value for name, value in saved.items() if not name.startswith("band.")}
    with pytest.raises(ValueError, match="lacks"):
        Tracker.resumed(without)


def test_what_is_counted_by_hand():
    bounds = np.array([[0.0, 2.0], [-np.inf, np.inf], [1.0, 1.0], [0.0, 1.0]])
    assert judged(bounds, np.array([2.0, 5.0, 1.5, -0.1])).tolist() == [
        [1.0, 2.0, 1.0],
        [1.0, 0.0, 0.0],
        [0.0, 0.0, 1.0],
        [0.0, 1.0, 1.0],
    ]
