"""Rows that are asked many at a time, before the truths of the last ones are known."""

import copy
import math

import numpy as np
import pytest

from swordplay.intervals import SwordIntervals
from swordplay.intervals.late_truths import LATE_ROWS, LateTruths
from swordplay.intervals.layout import BALANCE_LIMIT
from swordplay.late import LateModel


def world(rows, seed=0):
    """A target that wanders, so that a forecast from before a batch is the worse the later its
    row comes.
    """
    return np.cumsum(np.random.default_rng(seed).normal(size=rows))


def in_batches(intervals, truths, size):
    """Ask the rows of a batch around the last truth before it, then learn them.

    Returns all intervals.
    """
    bounds = []
    for first in range(0, len(truths), size):
        forecast = float(truths[first - 1]) if first else 0.0
        asked = forecast + 1e-9 * np.arange(
            len(truths[first : first + size])
        )  # so that each is found by its forecast
        bounds += [intervals.interval(one) for one in asked.tolist()]
        for one, truth in zip(asked.tolist(), truths[first : first + size].tolist(), strict=True):
            intervals.learn(one, truth)
    return np.array(bounds)


@pytest.mark.parametrize("size", [3, 10, 100])
def test_rows_that_are_asked_together_get_intervals_with_ends(size):
    truths = world(6000)
    bounds = in_batches(SwordIntervals(0.9), truths, size)
    late = slice(max(200, 2 * size), None)
    assert np.isinf(bounds[late]).any(axis=1).mean() < 0.05
    assert np.mean(
        (bounds[late, 0] <= truths[late]) & (truths[late] <= bounds[late, 1])
    ) == pytest.approx(0.9, abs=0.02)


def test_so_do_tickets():
    truths, model = np.sin(np.arange(3000) / 300) + world(3000) / 100, LateModel("regression")
    infinite = []
    for first in range(0, 3000, 100):
        tickets = model.ask_many([{"x": float(k % 7)} for k in range(100)])
        infinite += [ticket.lower is None or math.isinf(ticket.lower) for ticket in tickets]
        model.tell_many(tickets, truths[first : first + 100].tolist())
    assert np.mean(infinite[:100]) == 1.0  # nothing was known
    assert np.mean(infinite[200:]) < 0.1


def test_when_truths_come_at_once_again_so_do_the_usual_intervals():
    truths = world(3000)
    intervals = SwordIntervals(0.9)
    in_batches(intervals, truths[:1000], 20)
    assert intervals._late.lateness > LATE_ROWS
    other = copy.deepcopy(intervals)
    forecasts = truths[999:-1]
    told = intervals.interval_then_learn(forecasts, truths[1000:])
    alone = np.array(
        [
            (other.interval(p), other.learn(p, y))[0]
            for p, y in zip(forecasts, truths[1000:], strict=True)
        ]
    )
    assert np.array_equal(told, alone)
    assert intervals._late.lateness == 0.0
    assert (
        np.mean(told[1500:, 1] - told[1500:, 0]) < 5.0
    )  # of a standard normal step, and not of twenty


def test_many_at_once_are_learned_as_one_after_the_other():
    truths, forecasts, late = world(400), np.zeros(400), np.tile(np.arange(40.0), 10)
    given = np.tile([-5.0, 5.0], (400, 1))
    together, alone = SwordIntervals((0.9,)), SwordIntervals((0.9,))
    together.learn_checked(forecasts, truths, None, given[:, None], late)
    for k in range(400):
        alone.learn(0.0, truths[k], given=([-5.0], [5.0]), late=int(late[k]))
    one, other = together.state(), alone.state()
    assert one.keys() == other.keys()
    assert all(np.array_equal(one[name], other[name]) for name in one)
    assert np.array_equal(together.intervals(forecasts[:3]), alone.intervals(forecasts[:3]))


def test_a_saved_one_goes_on_bit_by_bit(tmp_path):
    truths = world(600)
    one = SwordIntervals((0.5, 0.9))
    in_batches(one, truths[:300], 30)
    asked = [one.interval(float(k)) for k in range(20)]
    one.save(tmp_path / "late.ckpt")
    other = SwordIntervals((0.5, 0.9))
    other.load(tmp_path / "late.ckpt")
    for k in range(20):
        one.learn(float(k), truths[300 + k])
        other.learn(float(k), truths[300 + k])
    assert len(asked) == 20
    assert one._late.lateness == other._late.lateness > LATE_ROWS
    assert np.array_equal(in_batches(one, truths[320:], 30), in_batches(other, truths[320:], 30))


def test_a_higher_level_holds_the_lower_ones_and_few_rows_are_everything():
    late = LateTruths(50.0, np.arange(1.0, 101.0))
    alphas = np.array([0.5, 0.1])
    bounds = late.bounds(np.zeros(3), alphas, np.zeros(2))
    assert bounds[0].tolist() == [[-51.0, 51.0], [-91.0, 91.0]]
    assert late.limit == BALANCE_LIMIT + 100.0
    bounds = late.bounds(np.zeros(40), alphas, np.array([0.0, late.limit + 1.0]))
    assert np.isinf(bounds[:, 1, 1]).sum() == 11  # as many as bring the balance below its limit
    bounds = late.bounds(np.zeros(40), alphas, np.array([-late.limit - 1.0, 0.0]))
    assert (bounds[:, 0, 1] == 0.0).sum() == 3
    assert (bounds[:, 0, 1] <= bounds[:, 1, 1]).all()


def test_lateness_sizes_and_balances_by_hand():
    late = LateTruths()
    balances = late.learn(
        np.array([0.0, 100.0]),
        np.array([3.0, -4.0]),
        np.array([[True], [False]]),
        np.array([0.1]),
        np.zeros(1),
    )
    assert (late.lateness, late.sizes.tolist()) == (
        1.0,
        [4.0],
    )  # a hundredth of the way; the first truth came at once
    assert balances == pytest.approx([0.8])
    late.learn(np.array([0.0]), np.array([5.0]), np.array([[False]]), np.array([0.1]), balances)
    assert (late.lateness, late.sizes.tolist()) == (0.99, [4.0, 5.0])  # it is late on average
    frozen = late.learn(
        np.zeros(1), np.ones(1), np.array([[False]]), np.array([0.1]), np.array([-late.limit])
    )
    assert frozen.tolist() == [-BALANCE_LIMIT - 2.0 * 0.99]
    counted = late.learn(
        np.zeros(1),
        np.ones(1),
        np.array([[False]]),
        np.array([0.1]),
        np.array([-BALANCE_LIMIT - 0.5]),
    )
    assert counted == pytest.approx(
        [-BALANCE_LIMIT - 0.6]
    )  # not at the limit, which is farther off
    late.lateness = 0.00102
    late.learn(np.zeros(1), np.ones(1), np.array([[False]]), np.array([0.1]), np.zeros(1))
    assert late.lateness == pytest.approx(0.00102 * 0.99)
    late.learn(np.zeros(1), np.ones(1), np.array([[False]]), np.array([0.1]), np.zeros(1))
    assert late.lateness == 0.0


def test_too_few_truths_tell_nothing():
    assert not LateTruths(50.0, np.ones(8)).is_active(np.array([0.1]))
    assert LateTruths(50.0, np.ones(9)).is_active(np.array([0.1]))
    assert not LateTruths(0.4, np.ones(9)).is_active(np.array([0.1]))


FORGED = [
    ({"late.lateness": -1.0}, "lateness"),
    ({"late.lateness": math.nan}, "lateness"),
    ({"late.sizes": np.array([-1.0])}, "sizes"),
    ({"late.sizes": np.ones(1001)}, "sizes"),
    ({"late.sizes": np.ones((2, 2))}, "sizes"),
    ({"pending.rows": np.array([1, 2])}, "rows"),
    ({"pending.rows": np.array([-1])}, "rows"),
]


@pytest.mark.parametrize(("forged", "words"), FORGED)
def test_forged_states_are_refused(forged, words):
    intervals = SwordIntervals(0.9)
    in_batches(intervals, world(60), 20)
    intervals.interval(1.0)
    saved = intervals.state()
    with pytest.raises(ValueError, match=words):
        intervals.load_state(saved | forged)
    lacking = {name: value for name, value in saved.items() if name != "late.sizes"}
    with pytest.raises(ValueError, match=r"late\.sizes"):
        intervals.load_state(lacking)


@pytest.mark.parametrize("late", [-1, 0.5, "1"])
def test_a_bad_lateness_is_refused(late):
    with pytest.raises((ValueError, TypeError), match="late"):
        SwordIntervals(0.9).learn(0.0, 1.0, given=(0.0, 1.0), late=late)


def one_after_the_other(lateness, late, residuals, missed, alphas, balances):
    """``LateTruths.learn`` row by row: mean lateness, balances and kept residuals afterwards."""
    balances, sizes = list(balances), []
    for rows, residual, outside in zip(late, residuals, missed, strict=True):
        for i, alpha in enumerate(alphas):
            if outside[i]:
                balances[i] += 1.0 - alpha
            elif balances[i] > -(BALANCE_LIMIT + 2.0 * lateness):
                balances[i] -= alpha
        lateness += 0.01 * (rows - lateness)
        if rows > 0.0 or lateness >= 0.5:
            sizes.append(abs(residual))
        if lateness < 0.001:
            lateness = 0.0
    return lateness, balances, sizes


@pytest.mark.parametrize("seed", range(12))
def test_learning_many_is_learning_one_after_the_other(seed):
    rng = np.random.default_rng(seed)
    count, alphas = 60, np.array([0.5, 0.1])
    often = 0.1 if seed % 4 == 1 else 0.5  # or no lateness would become none in between
    late = rng.integers(0, [1, 2, 100, 3][seed % 4], size=count).astype(np.float64) * (
        rng.random(count) < often
    )
    residuals, missed = rng.normal(size=count), rng.random((count, 2)) < [0.1, 0.02]
    first = [0.0, 0.00101, 0.6, 0.49][seed % 4]
    # From the fifth on there are hits that are free, at once or after some rows.
    lowest = 0.0 if seed < 4 else -BALANCE_LIMIT - 2.0 * first + (0.25 if seed % 2 else 0.0)
    parts, balances = LateTruths(first), np.array([0.0, lowest])
    for stop in range(
        1, count + 1
    ):  # wherever it ends: a balance that went astray comes back to its limit
        whole, told = (
            LateTruths(first),
            (late[:stop], residuals[:stop], missed[:stop], alphas, balances),
        )
        after = whole.learn(*told)
        lateness, counted, sizes = one_after_the_other(first, *told)
        assert (whole.lateness, after.tolist(), whole.sizes.tolist()) == (lateness, counted, sizes)
    for k in range(0, count, 7):
        some = slice(k, k + 7)
        balances = parts.learn(late[some], residuals[some], missed[some], alphas, balances)
    assert (parts.lateness, balances.tolist(), parts.sizes.tolist()) == (lateness, counted, sizes)
    assert seed % 4 == 0 or len(sizes) > 0
