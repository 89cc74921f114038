"""How narrow intervals are: columns, volatility and autocorrelation are made use of, and drift
is followed.
"""

import numpy as np
import pytest

from swordplay.intervals import SwordIntervals

LEVEL = 0.9


def winkler(bounds, truths, since=200):
    """Width, and 2 / alpha for what a truth lies outside by; the mean.

    Smallest in expectation for the quantiles themselves.
    """
    lower, upper, y = bounds[since:, 0], bounds[since:, 1], truths[since:]
    outside = np.maximum(lower - y, 0.0) + np.maximum(y - upper, 0.0)
    return float(np.mean(upper - lower + 2.0 / (1.0 - LEVEL) * outside))


def ideal(center, spread, truths, since=200):
    """The score of intervals from the known distribution, normal around the centre."""
    half = np.broadcast_to(1.6448536269514722 * spread, truths.shape)
    return winkler(np.column_stack([center - half, center + half]), truths, since)


def test_normal_noise_costs_few_per_cent_more_than_knowing_it():
    rng = np.random.default_rng(1)
    truths = rng.normal(size=8000)
    bounds = SwordIntervals(LEVEL).interval_then_learn(np.zeros(8000), truths)
    assert winkler(bounds, truths) < 1.05 * ideal(0.0, 1.0, truths)


def test_columns_say_how_unsure_a_row_is():
    rng = np.random.default_rng(2)
    columns = rng.normal(size=(8000, 3))
    spread = np.exp(columns[:, 1])
    truths = rng.normal(size=8000) * spread
    told = SwordIntervals(LEVEL).interval_then_learn(np.zeros(8000), truths, columns)
    untold = SwordIntervals(LEVEL).interval_then_learn(np.zeros(8000), truths)
    assert winkler(told, truths) < 0.75 * winkler(untold, truths)
    assert winkler(told, truths) < 1.25 * ideal(0.0, spread, truths)


def test_residuals_that_go_on_move_the_interval_to_their_side():
    rng = np.random.default_rng(3)
    noise = np.zeros(8000)
    for t in range(1, 8000):
        noise[t] = 0.95 * noise[t - 1] + rng.normal()
    bounds = SwordIntervals(LEVEL).interval_then_learn(np.zeros(8000), noise)
    assert winkler(bounds, noise) < 0.65 * ideal(0.0, noise.std(), noise)


@pytest.mark.parametrize("factor", [5.0, 0.2])
def test_a_world_that_becomes_noisier_or_calmer_is_followed_within_a_hundred_rows(factor):
    rng = np.random.default_rng(4)
    spread = np.where(np.arange(4000) < 2000, 1.0, factor)
    truths = rng.normal(size=4000) * spread
    bounds = SwordIntervals(LEVEL).interval_then_learn(np.zeros(4000), truths)
    width = bounds[:, 1] - bounds[:, 0]
    assert np.median(width[2100:2200]) / np.median(width[1500:2000]) == pytest.approx(
        factor, rel=0.35
    )


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95, 0.99])
def test_coverage_is_the_level_to_two_thousandths(level):
    rng = np.random.default_rng(5)
    truths = rng.standard_t(4, size=6000) * np.repeat([1.0, 3.0, 0.5], 2000)
    bounds = SwordIntervals(level).interval_then_learn(np.zeros(6000), truths)
    assert np.mean((bounds[:, 0] <= truths) & (truths <= bounds[:, 1])) == pytest.approx(
        level, abs=0.002
    )
