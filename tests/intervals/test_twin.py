"""The kernel beside plain Python from the formulas."""

import numpy as np
import pytest

from intervals import naive_intervals
from swordplay.intervals import SwordIntervals


def world(kind, rows, seed=0):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(rows, 3)) * [1.0, 100.0, 0.01]
    forecasts = rng.normal(size=rows).cumsum()
    noise = {
        "plain": rng.normal(size=rows),
        "columns": rng.normal(size=rows) * np.exp(features[:, 0]),
        "skew": rng.exponential(size=rows),
        "heavy": rng.standard_cauchy(size=rows),
        "jumps": rng.normal(size=rows) * np.where(np.arange(rows) // 100 % 2, 1e6, 1e-3),
        "autocorrelated": rng.normal(size=rows).cumsum() * 0.3,
        "mostly nothing": rng.normal(size=rows) * (rng.random(rows) < 0.15),
        "nothing first": rng.normal(size=rows) * (np.arange(rows) > 60),
    }[kind]
    return forecasts, forecasts + noise, features


@pytest.mark.parametrize(
    "kind",
    [
        "plain",
        "columns",
        "skew",
        "heavy",
        "jumps",
        "autocorrelated",
        "mostly nothing",
        "nothing first",
    ],
)
@pytest.mark.parametrize("with_features", [False, True])
def test_the_kernel_is_the_formulas(kind, with_features):
    forecasts, truths, features = world(kind, 400)
    given = features if with_features else None
    levels = (0.9, 0.5, 0.99)
    ours = SwordIntervals(levels).interval_then_learn(forecasts, truths, given)
    theirs = naive_intervals.bounds(levels, forecasts, truths, given)
    assert (np.isinf(ours) == np.isinf(theirs)).all()
    known = np.isfinite(theirs)
    size = np.abs(truths - forecasts).max() + np.abs(truths).max()
    np.testing.assert_allclose(ours[known], theirs[known], rtol=1e-8, atol=1e-10 * size)


def test_missing_values_count_as_usual():
    forecasts, truths, features = world("columns", 300)
    features[::7, 1] = np.nan
    ours = SwordIntervals(0.8).interval_then_learn(forecasts, truths, features)
    theirs = naive_intervals.bounds((0.8,), forecasts, truths, features)[:, 0]
    np.testing.assert_allclose(ours[5:], theirs[5:], rtol=1e-8)
