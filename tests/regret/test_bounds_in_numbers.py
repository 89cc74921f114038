"""Every bound at hand-picked numbers: the formula written a second time, with the numbers in it.

With D = 2 and P = 3 the spread A = D^2 + 2 D P is 16; with D = 1 and P = 0.5 it is 2.
"""

import math
from math import log, sqrt

import pytest

from swordplay import bounds
from tolerances import ROUNDING

WIDE = {"diameter": 2.0, "path_length": 3.0, "gradient_bound": 3.0, "smoothness": 0.5}
NARROW = {"diameter": 1.0, "path_length": 0.5, "gradient_bound": 2.0, "smoothness": 4.0}
ROOT8 = 2.8284271247461903


def is_close(number):
    return pytest.approx(number, rel=ROUNDING)


def largest(c, a, F):
    """The largest R with R <= c + sqrt(a (F + R)), by repeating the right-hand side until it
    stands still.
    """
    R = c
    for _ in range(2000):
        R = c + sqrt(a * (F + R))
    return R


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


def test_ogd_takes_the_smaller_form_and_the_first_one_only_below_one_over_the_smoothness():
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


SWORD_VAR = [
    (
        "safe",
        WIDE,
        6.0,
        8,
        sqrt(1.5 * 16 * (6 + 0.75 * 9))
        + 0.5 * 16
        + 2 * 2 * sqrt(log(8) * (6 + 18))
        + 2 * 0.5 * 4 * log(8),
    ),
    (
        "safe",
        NARROW,
        10.0,
        5,
        sqrt(1.5 * 2 * (10 + 3)) + 4 * 2 + 2 * sqrt(log(5) * (10 + 8)) + 2 * 4 * log(5),
    ),
    # The rate is the cap 1 / (sqrt8 * 4 * 0.5) = 0.1768, below sqrt((2 + ln 8) / (4 * 12)) =
    # 0.2915.
    (
        "paper",
        WIDE,
        6.0,
        8,
        1.5 * sqrt(2 * 16 * 6)
        + 4 * 0.5 * 16
        + 3 * 2
        + (2 + log(8)) * ROOT8 * 2
        + (2 * 4 * 6 + 4 * 9) / (ROOT8 * 2),
    ),
    # The rate is sqrt((2 + ln 5) / 2000) = 0.0425, below the cap 1 / (sqrt8 * 4) = 0.0884.
    (
        "paper",
        NARROW,
        1000.0,
        5,
        1.5 * sqrt(2 * 2 * 1000)
        + 4 * 4 * 2
        + 2
        + 2 * sqrt((2 + log(5)) * 2000)
        + 4 * sqrt((2 + log(5)) / 2000),
    ),
    ("paper", NARROW, 0.0, 5, 4 * 4 * 2 + 2 + (2 + log(5)) * ROOT8 * 4 + 4 / (ROOT8 * 4)),
]


@pytest.mark.parametrize(("tuning", "given", "variation", "experts", "expected"), SWORD_VAR)
def test_sword_var(tuning, given, variation, experts, expected):
    assert bounds.sword_var(
        **given, variation=variation, experts=experts, tuning=tuning
    ) == is_close(expected)


SWORD_SMALL = [
    (
        "safe",
        WIDE,
        7.0,
        8,
        3 * sqrt(0.5 * 16 * 7) + 2 * 0.5 * 16 + 2 * 3 * sqrt(log(8)),
        2 * 0.5 * 4 * log(8),
    ),
    (
        "safe",
        NARROW,
        2.0,
        5,
        3 * sqrt(4 * 2 * 2) + 2 * 4 * 2 + 1 * 2 * sqrt(log(5)),
        2 * 4 * log(5),
    ),
    ("paper", WIDE, 7.0, 8, 3 * sqrt(2 * 0.5 * 16 * 7) + 6 * 0.5 * 16, 16 * 0.5 * 4 * (2 + log(8))),
    ("paper", NARROW, 2.0, 5, 3 * sqrt(2 * 4 * 2 * 2) + 6 * 4 * 2, 16 * 4 * (2 + log(5))),
]


@pytest.mark.parametrize(("tuning", "given", "loss", "experts", "c", "a"), SWORD_SMALL)
def test_sword_small(tuning, given, loss, experts, c, a):
    assert bounds.sword_small(
        **given, comparator_loss=loss, experts=experts, horizon=LONG, tuning=tuning
    ) == is_close(largest(c, a, loss))


LEARNING = 4.772588722239782
"""2 + 4 ln 2."""
SWORD_BEST_BY_VARIATION = [
    (
        "safe",
        WIDE,
        6.0,
        8,
        sqrt(1.5 * 16 * (6 + 0.75 * 9))
        + 0.5 * 16
        + 2 * 2 * sqrt(log(8) * (6 + LEARNING * 9))
        + 2 * 0.5 * 4 * log(8),
    ),
    (
        "safe",
        NARROW,
        10.0,
        5,
        sqrt(1.5 * 2 * 13) + 4 * 2 + 2 * sqrt(log(5) * (10 + LEARNING * 4)) + 2 * 4 * log(5),
    ),
    (
        "paper",
        WIDE,
        6.0,
        8,
        1.5 * sqrt(2 * 16 * 6)
        + 4 * 0.5 * 16
        + 3 * 2
        + (2 + log(8)) * ROOT8 * 2
        + 4 * (12 + log(2) + 9) / (ROOT8 * 2),
    ),
    (
        "paper",
        NARROW,
        1000.0,
        5,
        1.5 * sqrt(2 * 2 * 1000)
        + 4 * 4 * 2
        + 2
        + 2 * sqrt((2 + log(5)) * (2000 + log(2)))
        + 4 * sqrt((2 + log(5)) / (2000 + log(2))),
    ),
]
LONG = 10**30
"""So many rounds that no comparator loses more than G D T."""
MUCH = 1e9
"""A variation, or a comparators' loss, that makes the other form the smaller one."""


@pytest.mark.filterwarnings(
    "ignore:.*learned optimism:UserWarning"
)  # which tests/regret/test_meta_bounds.py looks at
@pytest.mark.parametrize(
    ("tuning", "given", "variation", "experts", "expected"), SWORD_BEST_BY_VARIATION
)
def test_sword_best_by_variation(tuning, given, variation, experts, expected):
    found = bounds.sword_best(
        **given,
        variation=variation,
        comparator_loss=MUCH,
        experts=experts,
        horizon=LONG,
        tuning=tuning,
    )
    assert found == is_close(expected)


SWORD_BEST_BY_LOSS = [
    (
        "safe",
        WIDE,
        7.0,
        8,
        3 * sqrt(0.5 * 16 * 7)
        + 2 * 0.5 * 16
        + 0.5 * 4 * log(8)
        + 2 * 2 * 3 * sqrt(LEARNING * log(8)),
        4 * 0.5 * 4 * log(8),
    ),
    (
        "safe",
        NARROW,
        2.0,
        5,
        3 * sqrt(4 * 2 * 2) + 2 * 4 * 2 + 4 * log(5) + 2 * 2 * sqrt(LEARNING * log(5)),
        4 * 4 * log(5),
    ),
    (
        "paper",
        WIDE,
        7.0,
        8,
        3 * sqrt(2 * 0.5 * 16 * 7)
        + 6 * 0.5 * 16
        + 2 * ROOT8 * 4 * 0.5 * (2 + log(8))
        + 2 * 2 * sqrt((2 + log(8)) * log(2)),
        16 * 0.5 * 4 * (2 + log(8)),
    ),
    (
        "paper",
        NARROW,
        2.0,
        5,
        3 * sqrt(2 * 4 * 2 * 2)
        + 6 * 4 * 2
        + 2 * ROOT8 * 4 * (2 + log(5))
        + 2 * sqrt((2 + log(5)) * log(2)),
        16 * 4 * (2 + log(5)),
    ),
]


@pytest.mark.filterwarnings(
    "ignore:.*learned optimism:UserWarning"
)  # which tests/regret/test_meta_bounds.py looks at
@pytest.mark.parametrize(("tuning", "given", "loss", "experts", "c", "a"), SWORD_BEST_BY_LOSS)
def test_sword_best_by_loss(tuning, given, loss, experts, c, a):
    found = bounds.sword_best(
        **given, variation=MUCH, comparator_loss=loss, experts=experts, horizon=LONG, tuning=tuning
    )
    assert found == is_close(largest(c, a, loss))


@pytest.mark.parametrize(
    ("diameter", "gradient_bound", "path_length", "horizon", "expected"),
    [
        (2.0, 3.0, 0.0, 50, 0.75 * 3 * sqrt(100 * 28) + 3 * 2 * 10 / 2 * (1 + 2 * log(2))),  # k = 1
        (
            2.0,
            1.0,
            14.0,
            8,
            0.75 * sqrt(16 * (28 + 112)) + 2 * 4 / 2 * (1 + 2 * log(3)),
        ),  # log2(5) / 2 = 1.16: k = 2
        (
            1.0,
            2.0,
            30.0,
            100,
            0.75 * 2 * sqrt(200 * 127) + 2 * sqrt(200) / 2 * (1 + 2 * log(4)),
        ),  # log2(18.1) / 2 = 2.1: k = 3
    ],
)
def test_ader(diameter, gradient_bound, path_length, horizon, expected):
    found = bounds.ader(
        diameter=diameter, gradient_bound=gradient_bound, path_length=path_length, horizon=horizon
    )
    assert found == is_close(expected)


def test_an_unknown_tuning_is_refused():
    with pytest.raises(ValueError, match="tuning must be 'safe' or 'paper', got 'best'"):
        bounds.sword_var(**WIDE, variation=1.0, experts=2, tuning="best")
