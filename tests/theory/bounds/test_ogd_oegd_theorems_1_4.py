"""Bounds of OGD and OEGD at numbers computed by hand, and the best steps by search.

With D = 2 and P = 3, A = D^2 + 2 D P is 16; with D = 1 and P = 0.5 it is 2.
"""

import math
from math import inf

import numpy as np
import pytest

from swordplay import bounds
from tolerances import ROUNDING


def is_close(number):
    return pytest.approx(number, rel=ROUNDING)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        # (16 / 0.5 + 0.25 * 2 * 8) / (1 - 0.5)
        (
            {
                "diameter": 2.0,
                "path_length": 3.0,
                "step_size": 0.25,
                "smoothness": 2.0,
                "comparator_loss": 8.0,
            },
            72.0,
        ),
        # (1 / 0.2 + 0.1 * 5 * 20) / (1 - 0.5)
        (
            {
                "diameter": 1.0,
                "path_length": 0.0,
                "step_size": 0.1,
                "smoothness": 5.0,
                "comparator_loss": 20.0,
            },
            30.0,
        ),
        # 16 / 0.5 + 0.25 * 9 * 50 / 2
        (
            {
                "diameter": 2.0,
                "path_length": 3.0,
                "step_size": 0.25,
                "gradient_bound": 3.0,
                "horizon": 50,
            },
            88.25,
        ),
        # 1 / 0.2 + 0.1 * 16 * 100 / 2
        (
            {
                "diameter": 1.0,
                "path_length": 0.0,
                "step_size": 0.1,
                "gradient_bound": 4.0,
                "horizon": 100,
            },
            85.0,
        ),
    ],
)
def test_ogd(given, expected):
    assert bounds.ogd(**given) == is_close(expected)


def test_ogd_is_the_smaller_form_and_the_first_needs_steps_below_one_over_smoothness():
    step = {"diameter": 1.0, "path_length": 0.0, "step_size": 0.1}
    gradient = {"gradient_bound": 1.0, "horizon": 10}  # 5 + 0.1 * 10 / 2 = 5.5
    assert bounds.ogd(**step, **gradient, smoothness=5.0, comparator_loss=20.0) == is_close(5.5)
    assert bounds.ogd(
        **step, gradient_bound=9.0, horizon=10, smoothness=5.0, comparator_loss=20.0
    ) == is_close(30.0)
    assert bounds.ogd(**step, **gradient, smoothness=10.0, comparator_loss=20.0) == is_close(5.5)
    assert bounds.ogd(**step, smoothness=10.0, comparator_loss=20.0) == math.inf
    assert bounds.ogd(**step, smoothness=9.999, comparator_loss=20.0) < math.inf


OEGD = [
    # 16 / 0.5 + 0.25 * 6 / (2 * (1 - 0.25)) + 0.25 * 9 / 2
    (
        "safe",
        {"diameter": 2.0, "path_length": 3.0, "step_size": 0.25, "smoothness": 2.0},
        6.0,
        3.0,
        34.125,
    ),
    # 2 / 0.2 + 0.1 * 30 / (2 * (1 - 0.64)) + 0.1 * 4 / 2
    (
        "safe",
        {"diameter": 1.0, "path_length": 0.5, "step_size": 0.1, "smoothness": 8.0},
        30.0,
        2.0,
        10.2 + 3 / 0.72,
    ),
    # 16 / 0.25 + 0.125 * 6 + 3 * 2
    (
        "paper",
        {"diameter": 2.0, "path_length": 3.0, "step_size": 0.125, "smoothness": 2.0},
        6.0,
        3.0,
        70.75,
    ),
    # 2 / 0.2 + 0.1 * 30 + 2 * 1
    (
        "paper",
        {"diameter": 1.0, "path_length": 0.5, "step_size": 0.1, "smoothness": 2.0},
        30.0,
        2.0,
        15.0,
    ),
]


@pytest.mark.parametrize(("tuning", "given", "variation", "gradient_bound", "expected"), OEGD)
def test_oegd(tuning, given, variation, gradient_bound, expected):
    assert bounds.oegd(
        **given, variation=variation, gradient_bound=gradient_bound, tuning=tuning
    ) == is_close(expected)


@pytest.mark.parametrize(("tuning", "limit"), [("safe", 1.0), ("paper", 0.25)])
def test_oegd_is_infinite_where_the_step_is_too_long(tuning, limit):
    given = {
        "diameter": 1.0,
        "path_length": 0.0,
        "variation": 1.0,
        "gradient_bound": 1.0,
        "tuning": tuning,
    }
    assert bounds.oegd(**given, step_size=limit * 1.001, smoothness=1.0) == math.inf
    assert bounds.oegd(**given, step_size=limit * 0.999, smoothness=1.0) < math.inf
    assert (bounds.oegd(**given, step_size=limit, smoothness=1.0) == math.inf) == (tuning == "safe")


class TestBestStep:
    @pytest.mark.parametrize("F", [0.0, 0.1, 50.0, 1e6])
    def test_no_other_step_of_ogd_has_a_smaller_bound(self, F):
        known = {"diameter": 2.0, "path_length": 3.0, "smoothness": 0.5, "comparator_loss": F}
        best = bounds.best_step_ogd(**known)
        least = bounds.ogd(**known, step_size=best)
        for other in best * np.geomspace(0.01, 100, 401):
            assert least <= bounds.ogd(**known, step_size=other) * (1 + ROUNDING)

    def test_without_a_loss_it_is_half_the_inverse_of_the_smoothness(self):
        assert (
            bounds.best_step_ogd(diameter=2.0, path_length=1.0, smoothness=4.0, comparator_loss=0.0)
            == 0.125
        )

    @pytest.mark.parametrize("V", [0.0, 0.3, 1e5])
    @pytest.mark.parametrize("G", [0.0, 2.0])
    def test_no_other_step_of_oegd_has_a_smaller_bound(self, V, G):
        known = {
            "diameter": 2.0,
            "path_length": 3.0,
            "smoothness": 0.5,
            "variation": V,
            "gradient_bound": G,
        }
        best = bounds.best_step_oegd(**known)
        least = bounds.oegd(**known, step_size=best)
        assert least < inf
        for other in best * np.geomspace(0.01, 100, 401):
            assert least <= bounds.oegd(**known, step_size=other) * (1 + 1e-9)
