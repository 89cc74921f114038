"""Experts that expect nothing, and residuals that come in pairs."""

import numpy as np
import pytest

from swordplay.intervals import SwordIntervals, kernel, layout
from swordplay.intervals.state import MAX_TOTAL_LOSS, IntervalState


def width_and_misses(intervals, truths, columns):
    """The mean Winkler score at 90 %, the first rows left out."""
    lower, upper = intervals.interval_then_learn(np.zeros(len(truths)), truths, columns)[50:].T
    outside = np.maximum(lower - truths[50:], 0.0) + np.maximum(truths[50:] - upper, 0.0)
    return np.mean(upper - lower + 20.0 * outside)


def where_all_learn(columns):
    """Intervals whose experts that expect nothing have no weight: their losses are the largest."""
    intervals = SwordIntervals()
    fresh = IntervalState.new(1, columns)
    for losses in (fresh.location_losses, fresh.spread_losses):
        losses[layout.EXPERT_SETS] = MAX_TOTAL_LOSS
    intervals.load_state(intervals.state() | fresh.state())
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
    state = IntervalState.new(1, 0)
    state.scalars[layout.SCALAR.typical_size] = 1.0
    state.scalars[layout.SCALAR.rows] = 7.0
    # this residual has index 7 mod 5, the one before 6 mod 5
    state.newest_sizes[:] = 1.0, 90.0, 100.0, 1.0, 1.0
    assert kernel.clip_residual(100.0, state) == 90.0
    assert kernel.clip_residual(-100.0, state) == -90.0
    assert kernel.clip_residual(80.0, state) == 80.0
    state.newest_sizes[1] = 1.0
    assert kernel.clip_residual(100.0, state) == kernel.OUTLIER_RATIO


def test_losses_of_another_number_of_kinds_are_refused():
    saved = IntervalState.new(1, 2).state()
    with pytest.raises(ValueError, match="spread_losses"):
        IntervalState.from_state(saved | {"spread_losses": np.zeros((2, layout.STEPS))}, 1)
