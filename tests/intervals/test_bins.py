"""Bins of columns: the bin of a value, spreads that are no lines, and saved states."""

import numpy as np
import pytest

from swordplay.intervals import SwordIntervals, bins, layout, memory
from swordplay.intervals.hedge import halved
from swordplay.intervals.shape import middle_of_five, middle_of_newest


def test_where_a_column_lies_by_hand():
    row = np.array([-5.0, -2.0, -1.84, -1.83, -0.01, 0.0, 0.01, 1.83, 1.84, 2.0, 5.0])
    places = np.empty(len(row))
    assert bins.find(row, 24, places) == 10  # the 0 is in none
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
    assert bins.find(row, 0, places) == 0
    assert (places == -1).all()


def test_numbers_of_bins_are_added_and_moved():
    numbers, places, answers = np.zeros((2, 4, 8)), np.array([3.0, -1.0]), np.arange(8.0)
    bins.move(numbers, places, np.full(8, 0.5))
    assert numbers.sum() == 4.0
    assert (numbers[0, 3] == 0.5).all()
    bins.add(numbers, places, answers)
    assert answers.tolist() == [0.5 + k for k in range(8)]


def test_halves_and_the_middle_of_five():
    assert [halved(k) for k in range(10)] == [0.5**k for k in range(10)]
    rng = np.random.default_rng(0)
    for _ in range(200):
        live = np.zeros(layout.LIVE)
        live[layout.NEWEST : layout.NEWEST + 5] = rng.integers(0, 4, size=5)
        assert (
            middle_of_five(live)
            == middle_of_newest(live, 5)
            == np.median(live[layout.NEWEST : layout.NEWEST + 5])
        )


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
    assert other.state()["bins"].shape == (2, columns, layout.BINS, layout.STEPS)
    assert np.array_equal(
        one.interval_then_learn(forecasts, truths, rows),
        other.interval_then_learn(forecasts, truths, rows),
    )


def test_bins_of_another_number_are_refused():
    saved = memory.Memory.fresh(1, 2).state()
    with pytest.raises(ValueError, match="bins"):
        memory.Memory.of_state(saved | {"bins": np.zeros((2, 2, 5, layout.STEPS))}, 1)
