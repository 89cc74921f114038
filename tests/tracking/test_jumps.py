"""Jumps are told where they are, slopes as slopes, and neither seasons nor noise are told.

All seeds are fixed.
"""

import numpy as np
import pytest

from swordplay.tracking.jumps import (
    BACK,
    CLEAR,
    FEWEST_BLOCKS,
    MOSTLY,
    NEIGHBOURHOOD,
    PARTS,
    REACH,
    SHORTEST,
    SWINGS,
    _step,
    cuts,
    jumps,
    long_run_variance,
    slope,
)

SERIES = 150
RARE = 0.01
"""Share of series without a jump that may be cut, as the module promises."""


@pytest.mark.parametrize("blocks", [FEWEST_BLOCKS, 40, 128])
def test_noise_is_hardly_ever_cut(blocks):
    rng = np.random.default_rng(blocks)
    assert np.mean([bool(cuts(rng.normal(size=blocks))) for _ in range(SERIES)]) <= RARE
    # the logarithm of a mean squared error over 64 rows
    assert (
        np.mean([bool(cuts(np.log(rng.chisquare(64, size=blocks)))) for _ in range(SERIES)]) <= RARE
    )


@pytest.mark.parametrize("alike", [0.5, 0.8])
def test_neighbours_that_resemble_one_another_are_seldom_cut(alike):
    rng = np.random.default_rng(7)
    found = 0
    for _ in range(60):
        values = rng.normal(size=328)
        for t in range(1, len(values)):
            values[t] += alike * values[t - 1]
        found += bool(cuts(values[200:]))
    assert found <= 4


def test_the_variance_counts_resemblance():
    rng = np.random.default_rng(8)
    noise = rng.normal(size=20_000)
    assert long_run_variance(noise) == pytest.approx(1.0, rel=0.1)
    jumped = noise + 50.0 * (np.arange(20_000) > 9_000)
    assert long_run_variance(jumped) == pytest.approx(1.0, rel=0.1)
    pairs = (noise[1:] + noise[:-1]) / np.sqrt(
        2.0
    )  # variance 1, neighbours share half: ρ = 1/2 and (1 + ρ)/(1 - ρ) = 3
    assert long_run_variance(pairs) == pytest.approx(3.0, rel=0.15)
    assert long_run_variance(np.ones(50)) == 0.0


@pytest.mark.parametrize("jump", [3.0, 6.0, 50.0])
def test_jumps_are_found_where_they_are(jump):
    rng = np.random.default_rng(int(jump))
    values = rng.normal(size=128) + jump * ((np.arange(128) >= 40) & (np.arange(128) < 90))
    first, second = cuts(values)
    assert abs(first - 40) <= 2
    assert abs(second - 90) <= 2


def test_a_cut_leaves_enough_on_both_sides():
    values = np.random.default_rng(9).normal(size=60)
    values[-1] += 100.0
    assert all(SHORTEST <= place <= 60 - SHORTEST for place in cuts(values))
    assert cuts(np.zeros(60)) == []
    assert cuts(np.arange(5.0)) == []


BLOCKS = 128
TIME = np.arange(BLOCKS)
PLANTED = 40
"""Series of each kind."""


def noisy(shape, seed):
    return np.random.default_rng(seed).normal(size=BLOCKS) + shape


def test_a_jump_is_told_with_the_levels_beside_it():
    for seed in range(PLANTED):
        values = noisy(6.0 * (TIME >= 70), seed)
        (jump,) = jumps(values, 1.0)
        assert abs(jump.place - 70) <= 1
        assert (jump.before, jump.after) == (
            slice(jump.place - 8, jump.place - 1),
            slice(jump.place + 1, jump.place + 8),
        )
        assert jumps(-values, 1.0) == [jump]
        assert jumps(values, 9.0) == []


def test_several_jumps_are_told():
    values = noisy(6.0 * ((TIME >= 30) & (TIME < 60)) - 6.0 * (TIME >= 90), 3)
    assert [
        abs(jump.place - place) <= 1
        for jump, place in zip(jumps(values, 1.0), (30, 60, 90), strict=True)
    ] == 3 * [True]


@pytest.mark.parametrize("height", [10.0, 40.0])
@pytest.mark.parametrize("length", [24, 48, 128])
def test_a_slope_is_no_jump(height, length):
    shape = height * np.clip((TIME - 64 + length / 2) / length, 0.0, 1.0)
    found = [noisy(shape, seed) for seed in range(PLANTED)]
    assert sum(bool(jumps(values, 1.0)) for values in found) <= 1
    for values in found[:5]:
        slow = slope(values, 1.0)
        assert slow.before == slice(0, 26)  # a fifth of 128 blocks
        assert slow.after.start >= 51
        assert np.median(values[slow.after]) - np.median(values[slow.before]) >= 0.7 * height - 1.0
        down = slope(-values, 1.0)
        assert (down.before, down.after) == (slow.before, slow.after)
        assert slope(values, 2.0 * height) is None


@pytest.mark.parametrize("period", [8, 16, 32, 64, 128])
def test_seasons_are_nothing(period):
    for seed in range(PLANTED):
        wave = np.sin(2.0 * np.pi * (TIME / period + seed / PLANTED))
        for shape in (6.0 * wave, *([6.0 * np.sign(wave)] if period <= 32 else [])):
            values = noisy(shape, seed)
            assert jumps(values, 1.0) == []
            assert slope(values, 1.0) is None


def test_a_season_on_a_slope_is_no_jump():
    for seed in range(PLANTED):
        values = noisy(
            4.0 * np.sin(2.0 * np.pi * (TIME / 16.0 + seed / PLANTED)) + 40.0 * TIME / BLOCKS, seed
        )
        assert jumps(values, 1.0) == []


def test_the_step_beside_a_slope():
    before, after = np.array([0.0, 1.1, 1.9, 3.0]), np.array([9.0, 9.9, 11.1, 12.0])
    shapes = np.column_stack([np.ones(8), np.arange(8), np.arange(8) >= 4])
    values = np.concatenate([before, after])
    fit, left, _, _ = np.linalg.lstsq(shapes, values, rcond=None)
    error = np.sqrt(left[0] / 5 * np.linalg.inv(shapes.T @ shapes)[2, 2])
    assert _step(before, after) == pytest.approx((fit[2], error))


def test_a_passing_bump_is_nothing():
    assert [
        jumps(noisy(6.0 * ((TIME >= 40) & (40 + length > TIME)), length), 1.0)
        for length in (3, 6, 12)
    ] == 3 * [[]]


def test_noise_is_nothing():
    for seed in range(PLANTED):
        assert jumps(noisy(0.0, seed), 0.0) == []
        assert slope(noisy(0.0, seed), 0.0) is None


def test_levels_without_noise_need_a_floor():
    values = np.where(TIME < 50, 1.0, 2.0)
    assert jumps(values, 0.5) == []
    assert [jump.place for jump in jumps(values, 0.5, floor=1e-4)] == [50]


def test_the_constants_of_the_rule():
    """Wherever a rule is just kept or just broken, without noise."""
    assert (NEIGHBOURHOOD, SWINGS, REACH, MOSTLY, CLEAR, PARTS, BACK) == (
        16,
        4.0,
        3,
        2.0 / 3.0,
        4.0,
        5,
        0.2,
    )
    step = np.where(TIME < 64, 0.0, 1.0)
    assert jumps(step, 0.5, 1e-4)
    # a level 2 to 3 neighbourhoods before the jump, beyond its middle or not; and farther away than
    # that
    early = (TIME >= 40) & (TIME < 48)
    assert not jumps(step + 0.6 * early, 0.5, 1e-4)
    assert [jump.place for jump in jumps(step + 0.4 * early, 0.5, 1e-4)] == [64]
    assert 64 in [
        jump.place for jump in jumps(step + 0.6 * ((TIME >= 24) & (TIME < 32)), 0.5, 1e-4)
    ]
    # the level does not stay
    assert not jumps(step * (TIME < 64 + REACH * 8 - 8), 0.5, 1e-4)
    stairs = np.repeat([0.0, 1.0, 1.0 - 1.01 * 2.0 * BACK, 1.5, 2.0], 40)
    assert slope(stairs, 0.5, 1e-4) is None
    stairs = np.repeat([0.0, 1.0, 1.0 - 0.99 * 2.0 * BACK, 1.5, 2.0], 40)
    assert slope(stairs, 0.5, 1e-4).after == slice(160, 200)
