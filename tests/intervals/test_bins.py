"""Bins of columns: the bin of a value, spreads that are no lines, and saved states."""

import numpy as np
import pytest

from swordplay.intervals import SwordIntervals, layout
from swordplay.intervals.kernel import (
    add_bins,
    find_bins,
    median_of_first,
    median_of_five,
    power_of_half,
    update_bins,
)
from swordplay.intervals.state import IntervalState


def test_where_a_column_lies_by_hand():
    row = np.array([-5.0, -2.0, -1.84, -1.83, -0.01, 0.0, 0.01, 1.83, 1.84, 2.0, 5.0])
    places = np.empty(len(row))
    assert find_bins(row, places) == 10  # the 0 is in none
    assert places.tolist() == [
        0,
        0,
        0,
        1,
        11,
        -1,
        12,
        22,
        23,
        23,
        23,
    ]  # each is a sixth of a spread wide


def test_numbers_of_bins_are_added_and_moved():
    numbers, places, answers = np.zeros((2, 4, 8)), np.array([3.0, -1.0]), np.arange(8.0)
    update_bins(numbers, places, np.full(8, 0.5))
    assert numbers.sum() == 4.0
    assert (numbers[0, 3] == 0.5).all()
    add_bins(numbers, places, answers)
    assert answers.tolist() == [0.5 + k for k in range(8)]


def test_halves_and_the_median_of_five():
    assert [power_of_half(k) for k in range(10)] == [0.5**k for k in range(10)]
    rng = np.random.default_rng(0)
    for _ in range(200):
        sizes = rng.integers(0, 4, size=5).astype(np.float64)
        assert median_of_five(sizes) == median_of_first(sizes, 5) == np.median(sizes)


def test_a_spread_that_is_no_line_in_its_column_is_found():
    """Unsure at both ends of a column and in its middle, sure between: no line tells it."""
    rng = np.random.default_rng(1)
    column = rng.uniform(-1.0, 1.0, size=(6000, 1))
    truths = np.where(np.cos(3.0 * np.pi * column[:, 0]) > 0.0, 3.0, 0.3) * rng.normal(size=6000)
    told = SwordIntervals().interval_then_learn(np.zeros(6000), truths, column)
    untold = SwordIntervals().interval_then_learn(np.zeros(6000), truths)
    width, blind = (np.mean((bounds[:, 1] - bounds[:, 0])[1000:]) for bounds in (told, untold))
    assert width < 0.75 * blind


@pytest.mark.parametrize("columns", [0, 2])
def test_states_have_bins_even_without_columns(tmp_path, columns):
    rng = np.random.default_rng(2)
    rows, forecasts, truths = (
        rng.normal(size=(60, columns)),
        rng.normal(size=60),
        rng.normal(size=60),
    )
    one, other = SwordIntervals(), SwordIntervals()
    one.interval_then_learn(forecasts, truths, rows)
    one.save(tmp_path / "one.ckpt")
    other.load(tmp_path / "one.ckpt")
    for name in ("location_bins", "spread_bins"):
        assert other.state()[name].shape == (columns, layout.BINS, layout.STEPS)
    assert np.array_equal(
        one.interval_then_learn(forecasts, truths, rows),
        other.interval_then_learn(forecasts, truths, rows),
    )


def test_bins_of_another_number_are_refused():
    saved = IntervalState.new(1, 2).state()
    with pytest.raises(ValueError, match="location_bins"):
        IntervalState.from_state(saved | {"location_bins": np.zeros((2, 5, layout.STEPS))}, 1)
