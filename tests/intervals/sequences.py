"""Forecasts and truths made to break intervals: heavy tails, sign games, jumps, constants,
truths that aim at an end.
"""

import numpy as np

HUGE = 1e6


def heavy_tails(rng, t, forecast, lower, upper):
    return float(rng.standard_cauchy())


def sign_game(rng, t, forecast, lower, upper):
    return forecast + (-1.0) ** t * (1.0 + t % 7)


def jumping_forecaster(rng, t, forecast, lower, upper):
    return float(rng.normal()) - (forecast if t // 40 % 2 else 0.0)


def constant(rng, t, forecast, lower, upper):
    return forecast


def mostly_constant(rng, t, forecast, lower, upper):
    return forecast + (float(rng.normal()) if rng.random() < 0.2 else 0.0)


def just_outside(rng, t, forecast, lower, upper):
    return (
        forecast if np.isinf(upper) else float(np.nextafter(upper, np.inf) + (upper - lower) * 1e-9)
    )


def just_inside(rng, t, forecast, lower, upper):
    return forecast + 1.0 if np.isinf(upper) else float(upper if t % 2 else lower)


def far_outside(rng, t, forecast, lower, upper):
    return (
        forecast if np.isinf(upper) else float(upper + rng.exponential(1e3) * (1.0 + upper - lower))
    )


def outside_now_and_then(rng, t, forecast, lower, upper):
    outside = not np.isinf(upper) and rng.random() < 0.3
    return float(upper + 1.0) if outside else forecast + float(rng.normal())


def growing(rng, t, forecast, lower, upper):
    return forecast + float(rng.normal()) * 1.3**t


def shrinking(rng, t, forecast, lower, upper):
    return forecast + float(rng.normal()) * 0.7**t


def quiet(rng, t, forecast, lower, upper):
    return forecast + float(rng.normal()) * (0.01 + (t // 30 % 3))


TRUTHS = [
    heavy_tails,
    sign_game,
    jumping_forecaster,
    constant,
    mostly_constant,
    just_outside,
    just_inside,
    far_outside,
    outside_now_and_then,
    growing,
    shrinking,
    quiet,
]


def forecast_at(rng, t):
    """A forecaster that jumps by a million now and then."""
    return float(rng.normal()) + (HUGE if t // 40 % 2 else 0.0)
