"""Exponentials, cosines and log losses of the second-order layer, beside those of numpy."""

import numpy as np
import pytest

from swordplay.engine.second_order import approximations
from tolerances import ROUNDING


def of(function, values):
    """A function of one number at each of some; Python calls what kernels contain."""
    return np.array([function(float(value)) for value in values])


@pytest.mark.parametrize(
    ("ours", "theirs", "edge"),
    [
        (approximations.exp, np.exp, 700.0),
        (approximations.cosine, np.cos, 400.0),
        (approximations.log_loss, lambda s: np.logaddexp(0.0, -s), 30.0),
    ],
    ids=["exp", "cos", "log loss"],
)
def test_to_the_last_bits(ours, theirs, edge):
    values = np.concatenate(
        [
            np.linspace(-edge, edge, 2001),
            np.linspace(-1, 1, 401),
            [0.0, -0.0, 1e-300, 0.3465735902799726],
        ]
    )
    wanted = theirs(values)
    scale = 1.0 if theirs is np.cos else wanted
    assert np.max(np.abs(of(ours, values) - wanted) / scale) < ROUNDING
