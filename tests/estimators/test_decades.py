"""Targets over all decades that are taken, 1e-323 to 1e60: no prediction is NaN, and the learner
can be saved.
"""

import numpy as np
import pytest

from swordplay.estimators.linear_model import LinearModel

SMALLEST, LARGEST = -323.0, 59.9
"""Decades: that of the smallest double above 0, and nearly that of the largest target."""
ONCE_NAN = (138, 270, 343, 718, 782, 802, 806, 898)
"""Worlds in which experts at 0 were projected on a ball of radius 0, when the spread of the
first targets had underflowed.
"""


def world(seed):
    """Rows, and targets of either sign: through all decades upwards or downwards, at random, or
    some at a time.
    """
    rng = np.random.default_rng(seed)
    count = int(rng.integers(20, 600))
    rows = rng.normal(size=(count, 2))
    decades = [
        lambda: np.linspace(SMALLEST, LARGEST, count),
        lambda: np.linspace(LARGEST, SMALLEST, count),
        lambda: rng.uniform(SMALLEST, LARGEST, count),
        lambda: np.repeat(rng.uniform(SMALLEST, LARGEST, 20), count // 20 + 1)[:count],
    ][seed % 4]()
    return rows, 10.0**decades * (rng.choice([-1, 1], count) if rng.random() < 0.7 else 1.0)


@pytest.mark.parametrize("loss", ["squared", "huber"])
@pytest.mark.parametrize(
    "settings",
    [{}, {"lags": 2}, {"lags": "auto", "curves": "auto"}],
    ids=["plain", "lags", "as it comes"],
)
def test_no_prediction_is_nan(loss, settings):
    for seed in (*range(80), *ONCE_NAN):
        rows, targets = world(seed)
        model = LinearModel(2, loss=loss, **settings)
        assert np.isfinite(model.predict_then_learn(rows, targets)).all(), seed
        assert np.isfinite(model.predict(rows[:3])).all(), seed
        again = LinearModel(2, loss=loss, **settings)
        again.load_state(model.state())
        assert np.array_equal(again.predict(rows[:3]), model.predict(rows[:3])), seed
