"""Ageless: the time to re-adapt after a jump does not grow with the number of rows learned before it."""

import functools

import numpy as np
import pytest

from swordplay.estimators.model import LinearModel

DIM, NOISE = 10, 0.3
SEEDS = 20
WINDOW = 50
"""Rows of the rolling root mean squared error."""
BACK = 1.5
"""Times the error before the jump: what counts as recovered."""
YOUNG = 1000
AGELESS = 1.3
"""How much longer an old model may take than a young one."""
CHUNK, SETTLED, PATIENCE = 100_000, 500, 5000


def recovery(age, seed):
    """Rows until the rolling error is back, after the sign of the target flipped at this age."""
    rng = np.random.default_rng(seed)
    coefficients, model = rng.normal(size=DIM), LinearModel(DIM)

    def errors(count, sign):
        rows = rng.normal(size=(count, DIM))
        targets = sign * rows @ coefficients + NOISE * rng.normal(size=count)
        return model.predict_then_learn(rows, targets) - targets

    for first in range(0, age, CHUNK):
        last = errors(min(CHUNK, age - first), 1.0)
    before = np.sqrt(np.mean(last[-SETTLED:] ** 2))
    after = errors(PATIENCE, -1.0) ** 2
    assert np.sqrt(after[:WINDOW].mean()) > 2 * BACK * before  # the jump is seen,
    rolling = np.sqrt(np.convolve(after, np.ones(WINDOW) / WINDOW, "valid"))
    assert rolling.min() <= BACK * before  # and got over
    return int(np.argmax(rolling <= BACK * before)) + WINDOW


@functools.cache
def mean_recovery(age, seeds):
    return float(np.mean([recovery(age, seed) for seed in range(seeds)]))


@pytest.mark.parametrize(
    ("age", "seeds"),
    [
        (10_000, SEEDS),
        (100_000, SEEDS),
        pytest.param(1_000_000, SEEDS, marks=pytest.mark.deep),
        pytest.param(10_000_000, 5, marks=pytest.mark.deep),
    ],
)
def test_an_old_model_recovers_as_fast_as_a_young_one(age, seeds):
    assert mean_recovery(age, seeds) <= AGELESS * mean_recovery(YOUNG, SEEDS)
