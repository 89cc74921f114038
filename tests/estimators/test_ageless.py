"""Ageless: the time to re-adapt after a jump does not grow with the number of rows learned
before it.
"""

import functools
import pickle

import numpy as np
import pytest

from swordplay.estimators.linear_model import LinearModel

WORLDS = [(dim, noise) for dim in (3, 10) for noise in (0.03, 0.3)]
"""Columns, and deviation of the noise; the coefficients are of order 1."""
WINDOW = 50
"""Rows of the rolling root mean squared error."""
BACK = 1.5
"""Times the error before the jump: what counts as recovered."""
YOUNG = 1000
AGELESS = 1.3
"""How much longer an old model may take than a young one, which has less to get back to: its
error was still larger.
"""
SEEDS = {1000: 60, 10_000: 60}
"""Streams of each age: times scatter by a third, and so does a ratio of medians of few."""
AGES = 1000, 10_000, 100_000, 1_000_000, 10_000_000
LIVES, FUTURES = 2, 30
"""Models that grow that old, and how often the target of each is flipped at every age: each time
that of a copy.
"""
CHUNK, SETTLED, PATIENCE = 100_000, 500, 1000


def recovery(age, dim, noise, seed, **settings):
    """Rows until the rolling error is back, after the sign of the target flipped at this age.

    The rows after the flip are the same at every age: less is left to chance.
    """
    past, future = np.random.default_rng(seed).spawn(2)
    direction, model = future.normal(size=dim), LinearModel(dim, **settings)
    coefficients = direction / np.sqrt(np.mean(direction**2))

    def errors(rng, count, sign):
        rows = rng.normal(size=(count, dim))
        targets = sign * rows @ coefficients + noise * rng.normal(size=count)
        return model.predict_then_learn(rows, targets) - targets

    for first in range(0, age, CHUNK):
        last = errors(past, min(CHUNK, age - first), 1.0)
    before = np.sqrt(np.mean(last[-SETTLED:] ** 2))
    after = errors(future, PATIENCE, -1.0) ** 2
    assert np.sqrt(after[:WINDOW].mean()) > BACK * before  # the jump is seen,
    rolling = np.sqrt(np.convolve(after, np.ones(WINDOW) / WINDOW, "valid"))
    assert rolling.min() <= BACK * before  # and got over
    return int(np.argmax(rolling <= BACK * before)) + WINDOW


@functools.cache
def usual_recovery(age, dim, noise):
    return float(np.median([recovery(age, dim, noise, seed) for seed in range(SEEDS[age])]))


@pytest.mark.parametrize(("dim", "noise"), WORLDS)
def test_an_old_model_recovers_as_fast_as_a_young_one(dim, noise):
    assert usual_recovery(10_000, dim, noise) <= AGELESS * usual_recovery(YOUNG, dim, noise)


def ages(dim, noise, seed, oldest, **settings):
    """Rows until copies of one model are back, at every age of its life.

    The rows after the flip are the same at every age.
    """
    past, direction = np.random.default_rng((7, seed)).spawn(2)
    coefficients, model = direction.normal(size=dim), LinearModel(dim, **settings)
    coefficients /= np.sqrt(np.mean(coefficients**2))

    def errors(model, rng, count, sign):
        rows = rng.normal(size=(count, dim))
        targets = sign * rows @ coefficients + noise * rng.normal(size=count)
        return model.predict_then_learn(rows, targets) - targets

    times, age = {}, 0
    for wanted in (age for age in AGES if age <= oldest):
        while age < wanted:
            last, age = errors(model, past, min(CHUNK, wanted - age), 1.0), min(age + CHUNK, wanted)
        before = np.sqrt(np.mean(last[-SETTLED:] ** 2))
        kept, times[wanted] = pickle.dumps(model), []
        for future in range(FUTURES):
            after = (
                errors(pickle.loads(kept), np.random.default_rng((8, seed, future)), PATIENCE, -1.0)
                ** 2
            )
            rolling = np.sqrt(np.convolve(after, np.ones(WINDOW) / WINDOW, "valid"))
            assert rolling[0] > BACK * before >= rolling.min()
            times[wanted].append(int(np.argmax(rolling <= BACK * before)) + WINDOW)
    return times


@pytest.mark.deep
@pytest.mark.parametrize(
    "settings", [{}, {"lags": "auto", "curves": "auto"}], ids=["first order", "as it comes"]
)
@pytest.mark.parametrize(("dim", "noise"), WORLDS)
def test_ages_up_to_ten_million(dim, noise, settings):
    lives = [ages(dim, noise, seed, AGES[-1], **settings) for seed in range(LIVES)]
    usual = {age: float(np.median([time for life in lives for time in life[age]])) for age in AGES}
    print(dim, noise, settings, usual)
    assert max(usual.values()) <= AGELESS * usual[YOUNG], usual


def test_with_lags_and_curves_too():
    dim, noise = 3, 0.3
    rows = {
        age: np.median(
            [recovery(age, dim, noise, seed, lags="auto", curves="auto") for seed in range(20)]
        )
        for age in (YOUNG, 10_000)
    }
    assert rows[10_000] <= AGELESS * rows[YOUNG]
