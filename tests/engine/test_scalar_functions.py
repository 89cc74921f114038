"""The engine's functions of numbers against numpy's, the loss classes and ``math``."""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest

import swordplay as sp
from swordplay.engine import meta, scalar_functions
from swordplay.engine.layout import HUBER, LOGISTIC, SQUARED
from swordplay.parts.metas import optimism
from tolerances import FADING, LAST_BIT, ROUNDING

MARGINS = np.concatenate(
    [
        sign
        * np.array(
            [
                0.0,
                1e-300,
                1e-17,
                1e-8,
                0.3,
                1.0,
                5.0,
                30.0,
                36.8,
                40.0,
                600.0,
                708.0,
                745.0,
                1e4,
                1e8,
            ]
        )
        for sign in (1, -1)
    ]
)
KINDS = {
    "squared": (SQUARED, sp.SquaredLoss),
    "logistic": (LOGISTIC, sp.LogisticLoss),
    "huber": (HUBER, sp.HuberLoss),
}


@numba.njit
def faded(exponents: np.ndarray) -> np.ndarray:
    """Through a compiled caller, as in the kernels."""
    answer = np.empty_like(exponents)
    for i in range(len(exponents)):
        answer[i] = scalar_functions.exp_negative(exponents[i])
    return answer


def test_fading_is_the_exponential() -> None:
    grid = np.concatenate(
        [np.linspace(-500.0, 0.0, 500_001), -np.logspace(-320, 2, 20_001), [0.0, -0.0]]
    )
    expected = np.array([math.exp(x) for x in grid.tolist()])
    relative = np.abs(faded(grid) / expected - 1.0)
    assert relative.max() <= FADING, f"at {grid[relative.argmax()]}"


def test_fading_at_the_joints_of_its_pieces() -> None:
    """Where the nearest multiple of ln 2 changes, and right at the multiples themselves."""
    joints = -math.log(2.0) * np.arange(0.0, 1009.5, 0.5)
    near = np.concatenate([joints, np.nextafter(joints, 1.0), np.nextafter(joints, -np.inf)])
    near = near[(near >= -500.0) & (near <= 0.0)]
    expected = np.array([math.exp(x) for x in near.tolist()])
    assert np.abs(faded(near) / expected - 1.0).max() <= FADING


def test_fading_never_reaches_zero() -> None:
    deep = np.array([-500.0, -501.0, -745.0, -1e6, -1e300, -np.inf])
    np.testing.assert_array_equal(faded(deep), faded(np.full(6, -500.0)))
    assert faded(deep)[0] == pytest.approx(math.exp(-500.0), rel=FADING)
    assert faded(np.zeros(1))[0] == 1.0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target", [0.0, 1.0])
@pytest.mark.parametrize("threshold", [0.3, 2.0])
def test_losses_and_slopes_are_those_of_the_classes(
    kind: str, target: float, threshold: float
) -> None:
    code, family = KINDS[kind]
    loss = family([1.0], target, threshold) if kind == "huber" else family([1.0], target)
    with np.errstate(under="ignore"):
        values, slopes = loss.phi(MARGINS), loss.slope(MARGINS)
    for z, value, slope in zip(MARGINS.tolist(), values.tolist(), slopes.tolist(), strict=True):
        # A slope below exp(-500) is as good as none: the engine's exponential stops there.
        assert scalar_functions.loss_value(code, threshold, z, target) == pytest.approx(
            value, rel=ROUNDING, abs=1e-200
        )
        assert scalar_functions.loss_slope(code, threshold, z, target) == pytest.approx(
            slope, rel=ROUNDING, abs=1e-200
        )


@pytest.mark.parametrize("target", [0.0, 1.0])
def test_logistic_slopes_are_slopes(target: float) -> None:
    """Between -1 and 1, against the margin, and never the wrong sign."""
    slopes = np.array(
        [
            scalar_functions.loss_slope(LOGISTIC, 1.0, z, target)
            for z in np.linspace(-1e3, 1e3, 4001).tolist()
        ]
    )
    assert (np.abs(slopes) <= 1.0).all()
    assert (np.sign(slopes) == (1.0 if target == 0.0 else -1.0)).all()
    assert (np.diff(slopes) >= 0.0).all()  # convex


@pytest.mark.parametrize("kappa", [1e-3, 2.0, math.inf])
def test_trust_is_the_readable_one(kappa: float) -> None:
    for difference in (0.0, 1e-20, -1e-20, 1e-13, 1e-11, -1e-11, 0.5, -0.5, 40.0, -40.0, 1e4, -1e4):
        expected = optimism.trust(kappa, difference, 1.0)
        assert meta.trust(kappa, difference, 1.0) == pytest.approx(
            expected, rel=ROUNDING, abs=1e-200
        )


def explicit(now: float, before: float, a: np.ndarray, b: np.ndarray) -> float:
    """norm(now a - before b)^2 in the longest floats there are."""
    difference = np.longdouble(now) * a.astype(np.longdouble) - np.longdouble(before) * b.astype(
        np.longdouble
    )
    return float(difference @ difference)


@pytest.mark.parametrize("length", [0.0, 1e-8, 1e-3, 1.0, 1e3, 1e8])
@pytest.mark.parametrize(
    ("now", "before"), [(1.0, 1.0), (1e-9, 0.5), (0.5, 1e-9), (-3.0, 2.0), (0.0, 0.5), (0.5, 0.0)]
)
def test_the_surprise_of_a_gradient_loses_no_digits(
    length: float, now: float, before: float
) -> None:
    """Wherever one of the two gradients is much the longer, their distance is as exact as they
    are.
    """
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=4), length * rng.normal(size=4)
    first, then = energies(now, before, a, b)
    # Sums of squares only see what is not lost beside the first one.
    assert then - first == pytest.approx(
        explicit(now, before, a, b), rel=ROUNDING, abs=LAST_BIT * first
    )


def energies(now: float, before: float, a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """An OEGD expert's sums of squared surprises: after a round with gradient ``before * b``, and
    after ``now * a``.

    A step that moves nothing keeps x at 0, where slopes are minus the targets.
    """
    model = sp.engine.online(sp.OEGD(sp.Ball(4, radius=1e9), 1e-30))
    found = []
    for row, target in ((b, -before), (a, -now)):
        model.learn(row, target)
        found.append(float(model.state()["experts.0.squared_error_sum"][0]))
    return found[0], found[1]
