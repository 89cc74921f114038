"""Experts who expect nothing, residuals that come in pairs, and states of before either."""

from pathlib import Path

import numpy as np
import pytest

from intervals.test_bins import LEVELS, golden_world
from swordplay.intervals import SwordIntervals, layout, shape
from swordplay.intervals.memory import Memory
from tolerances import ANOTHER_MACHINE

GOLDEN = Path(__file__).parent / "golden"


def width_and_misses(intervals, truths, columns):
    """The mean Winkler score at 90 %, the first rows left out."""
    lower, upper = intervals.interval_then_learn(np.zeros(len(truths)), truths, columns)[50:].T
    outside = np.maximum(lower - truths[50:], 0.0) + np.maximum(truths[50:] - upper, 0.0)
    return np.mean(upper - lower + 20.0 * outside)


def where_all_learn(columns):
    """Intervals as they were before: every expert of the shape learns."""
    intervals = SwordIntervals()
    intervals.load_state(intervals.state() | Memory.fresh(1, columns, kinds=layout.SETS).state())
    return intervals


def test_where_there_is_nothing_to_learn_less_is_lost():
    ratios = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        truths, columns = rng.uniform(-1.0, 1.0, size=1000), rng.normal(size=(1000, 6))
        ratios.append(
            width_and_misses(SwordIntervals(), truths, columns)
            / width_and_misses(where_all_learn(6), truths, columns)
        )
    assert np.mean(ratios) < 0.99


def test_one_is_an_outlier_and_two_in_a_row_are_none():
    live = np.zeros(layout.LIVE)
    live[layout.TYPICAL], live[layout.ROWS] = 1.0, 7.0
    live[layout.NEWEST : layout.NEWEST + 5] = (
        1.0,
        90.0,
        100.0,
        1.0,
        1.0,
    )  # this residual has place 7 mod 5, the one before 6 mod 5
    assert shape.clipped(100.0, live, True) == 90.0
    assert shape.clipped(-100.0, live, True) == -90.0
    assert shape.clipped(80.0, live, True) == 80.0
    assert shape.clipped(100.0, live, False) == layout.OUTLIER
    live[layout.NEWEST + 1] = 1.0
    assert shape.clipped(100.0, live, True) == layout.OUTLIER


@pytest.mark.parametrize("saved_again", [False, True])
def test_a_state_in_which_all_learn_goes_on_as_it_began(tmp_path, saved_again):
    """Written by the version before (commit 8878ff7) after 300 rows, one interval of which waits
    for its truth.
    """
    forecasts, truths, columns = golden_world()
    truths[50:53] += 1000.0
    intervals = SwordIntervals(LEVELS)
    intervals.load(GOLDEN / "all-learn.ckpt")
    wanted = np.loadtxt(GOLDEN / "all-learn.csv", delimiter=",").reshape(-1, 2, 2)
    first = intervals.interval_then_learn(forecasts[:80], truths[:80], columns[:80])
    if saved_again:
        intervals.save(tmp_path / "again.ckpt")
        intervals = SwordIntervals(LEVELS)
        intervals.load(tmp_path / "again.ckpt")
    rest = intervals.interval_then_learn(forecasts[80:], truths[80:], columns[80:])
    np.testing.assert_allclose(
        np.concatenate([first, rest]), wanted, rtol=ANOTHER_MACHINE, atol=ANOTHER_MACHINE
    )
    assert intervals.state()["losses"].shape == (2, layout.SETS, layout.STEPS)


def test_columns_that_join_leave_a_state_in_which_all_learn_as_it_is():
    intervals = where_all_learn(1)
    intervals.interval_then_learn(np.zeros(20), np.arange(20.0), np.arange(20.0)[:, None])
    intervals.widen(2)
    assert intervals.state()["losses"].shape == (2, layout.SETS, layout.STEPS)


def test_losses_of_another_number_of_kinds_are_refused():
    saved = Memory.fresh(1, 2).state()
    with pytest.raises(ValueError, match="losses"):
        Memory.of_state(saved | {"losses": np.zeros((2, 2, layout.STEPS))}, 1)
