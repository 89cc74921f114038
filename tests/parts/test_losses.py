"""Properties of all losses, values by hand, and the logistic loss at huge margins."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import swordplay as sp
from strategies import losses, numbers, tables, vectors
from tolerances import ROUNDING

STEP = 1e-5
"""Half the length of the segments over which slopes are measured, per unit of the point."""


@st.composite
def losses_and_points(draw: st.DrawFn):
    dim = draw(st.integers(1, 5))
    return draw(losses(dim)), draw(tables(6, dim)), draw(tables(6, dim))


def size(loss, *points):
    """The largest number that a value is computed from: rounding is relative to it."""
    far = max(np.linalg.norm(x, axis=-1).max() for x in points)
    at_zero = float(abs(loss.value(np.zeros(points[0].shape[-1])))) + float(
        np.linalg.norm(loss.gradient(np.zeros(points[0].shape[-1])))
    )
    return 1 + at_zero * (1 + far) + (loss.smoothness or 0.0) * (1 + far) ** 2


@given(losses_and_points())
def test_gradients_match_finite_differences(drawn):
    loss, points, directions = drawn
    norms = np.linalg.norm(directions, axis=1, keepdims=True)
    v = np.divide(directions, norms, out=np.zeros_like(directions), where=norms > 0)
    slopes = (loss.value(points + STEP * v) - loss.value(points - STEP * v)) / (2 * STEP)
    # A central difference is the mean slope over the segment: off by at most L * STEP, plus
    # cancellation.
    room = loss.smoothness * STEP + 1e-15 * size(loss, points) / STEP
    np.testing.assert_allclose(
        np.einsum("ij,ij->i", loss.gradient(points), v), slopes, rtol=0, atol=room
    )


@given(losses_and_points(), st.floats(0.0, 1.0))
def test_values_are_convex_along_segments(drawn, share):
    loss, x, y = drawn
    between = loss.value((1 - share) * x + share * y)
    assert (
        between <= (1 - share) * loss.value(x) + share * loss.value(y) + ROUNDING * size(loss, x, y)
    ).all()


@given(losses_and_points())
def test_smoothness_bounds_how_fast_gradients_change(drawn):
    loss, x, y = drawn
    change = np.linalg.norm(loss.gradient(x) - loss.gradient(y), axis=1)
    assert (
        change <= loss.smoothness * np.linalg.norm(x - y, axis=1) + ROUNDING * size(loss, x, y)
    ).all()


@given(losses_and_points())
def test_a_batch_is_its_rows(drawn):
    loss, x, _ = drawn
    assert loss.value(x[0]).shape == ()
    assert loss.value(x.reshape(2, 3, -1)).shape == (2, 3)
    assert loss.gradient(x.reshape(2, 3, -1)).shape == (2, 3, x.shape[1])
    room = ROUNDING * size(loss, x)
    np.testing.assert_allclose(loss.value(x), [loss.value(p) for p in x], rtol=0, atol=room)
    np.testing.assert_allclose(loss.gradient(x), [loss.gradient(p) for p in x], rtol=0, atol=room)


@given(vectors(3), numbers(), vectors(3))
def test_values_are_their_formulas(a, y, x):
    z = math.fsum(float(p * q) for p, q in zip(a, x, strict=True))
    room = ROUNDING * (1 + float(np.abs(a) @ np.abs(x)) + abs(y)) ** 2
    assert sp.SquaredLoss(a, y).value(x) == pytest.approx(0.5 * (z - y) ** 2, abs=room)
    r = abs(z - y)
    assert sp.HuberLoss(a, y, 0.7).value(x) == pytest.approx(
        0.5 * r * r if r <= 0.7 else 0.7 * r - 0.245, abs=room
    )
    outer = sp.QuadraticLoss(np.outer(a, a), y * a, 0.5 * y * y)
    assert outer.value(x) == pytest.approx(float(sp.SquaredLoss(a, y).value(x)), abs=room)


def exact_softplus(margin: float) -> Decimal:
    with localcontext() as context:
        context.prec = 400  # 1 + exp(-700) needs 305 digits to differ from 1
        return (1 + (-Decimal(margin)).exp()).ln()


@pytest.mark.parametrize(
    "margin", [0.0, 1e-12, 0.3, 1.0, 5.0, 17.0, 36.0, 37.0, 40.0, 100.0, 700.0]
)
@pytest.mark.parametrize("sign", [-1, 1])
def test_the_logistic_loss_is_exact_where_decimals_can_check_it(margin, sign):
    loss = sp.LogisticLoss([1.0], target=1)
    exact = exact_softplus(sign * margin)
    assert float(loss.value([sign * margin])) == pytest.approx(float(exact), rel=ROUNDING, abs=0.0)
    with localcontext() as context:
        context.prec = 60
        slope = -1 / (1 + Decimal(sign * margin).exp())
    assert float(loss.gradient([sign * margin])[0]) == pytest.approx(
        float(slope), rel=ROUNDING, abs=0.0
    )


@pytest.mark.parametrize("margin", [1e3, 1e6, 1e300])
def test_the_logistic_loss_does_not_overflow(margin):
    one, zero = sp.LogisticLoss([1.0], target=1), sp.LogisticLoss([1.0], target=0)
    assert float(one.value([-margin])) == margin == float(zero.value([margin]))
    assert 0.0 <= float(one.value([margin])) <= math.exp(-700)
    assert float(one.gradient([-margin])[0]) == -1.0
    assert float(zero.gradient([margin])[0]) == 1.0
    assert -math.exp(-700) <= float(one.gradient([margin])[0]) <= 0.0


def test_a_function_of_one_point_is_looped_over():
    loss = sp.FunctionLoss(lambda x: float(x[0] ** 2), lambda x: [2 * x[0], 0.0], batched=False)
    points = np.arange(12.0).reshape(2, 3, 2)
    np.testing.assert_array_equal(loss.value(points), points[..., 0] ** 2)
    np.testing.assert_array_equal(loss.gradient(points)[..., 0], 2 * points[..., 0])


def test_losses_keep_their_own_copy_of_the_features():
    features = np.array([1.0, 2.0])
    loss = sp.SquaredLoss(features, 1.0)
    features[:] = 0.0
    assert loss.value([1.0, 0.0]) == 0.0
    assert loss.value([0.0, 0.0]) == 0.5


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: sp.SquaredLoss([[1.0]], 1.0),
            r"features must have 1 dimension\(s\), got shape \(1, 1\)",
        ),
        (lambda: sp.SquaredLoss([], 1.0), "features must not be empty"),
        (lambda: sp.SquaredLoss([1.0, np.nan], 1.0), "features must be finite, got nan at index 1"),
        (lambda: sp.SquaredLoss(["a"], 1.0), "features must hold real numbers"),
        (lambda: sp.SquaredLoss([1.0], np.inf), "target must be finite, got inf"),
        (lambda: sp.SquaredLoss([1.0], "1"), "target must be a real number, got '1'"),
        (
            lambda: sp.LogisticLoss([1.0], -1),
            "target must be 0 or 1 for the logistic loss, got -1.0",
        ),
        (lambda: sp.HuberLoss([1.0], 1.0, 0.0), "threshold must be greater than 0, got 0.0"),
        (lambda: sp.QuadraticLoss([[1.0, 0.0]], [1.0, 0.0]), r"matrix must have shape \(2, 2\)"),
        (
            lambda: sp.QuadraticLoss([[1.0, 2.0], [0.0, 1.0]], [0.0, 0.0]),
            "matrix must be symmetric",
        ),
        (
            lambda: sp.QuadraticLoss([[-1.0]], [0.0]),
            "matrix must be positive semi-definite, got an eigenvalue of -1.0",
        ),
        (lambda: sp.QuadraticLoss([[1.0]], [0.0], np.nan), "constant must be finite, got nan"),
        (lambda: sp.FunctionLoss(1.0, lambda x: x), "value must be callable, got 1.0"),
        (lambda: sp.FunctionLoss(lambda x: x, None), "gradient must be callable, got None"),
        (
            lambda: sp.FunctionLoss(lambda x: x, lambda x: x, -1.0),
            "smoothness must be at least 0, got -1.0",
        ),
    ],
)
def test_bad_losses_are_refused_in_words(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make()


@pytest.mark.parametrize(
    "loss", [sp.SquaredLoss([1.0, 2.0], 0.0), sp.QuadraticLoss(np.eye(2), [0.0, 0.0])], ids=repr
)
@pytest.mark.parametrize("method", ["value", "gradient"])
def test_points_of_another_width_are_refused(loss, method):
    with pytest.raises(ValueError, match=r"points must have shape \(\.\.\., 2\), got \(3,\)"):
        getattr(loss, method)(np.zeros(3))


def test_answers_of_the_wrong_shape_are_refused():
    loss = sp.FunctionLoss(lambda x: x, lambda x: x.sum(-1))
    with pytest.raises(ValueError, match=r"value must return shape \(4,\).*batched=False"):
        loss.value(np.zeros((4, 2)))
    with pytest.raises(ValueError, match=r"gradient must return shape \(4, 2\)"):
        loss.gradient(np.zeros((4, 2)))


@pytest.mark.parametrize(
    ("prediction", "value", "slope"),
    [(1.0, 0.9 * 2.0, -0.9), (3.0, 0.0, 0.0), (5.0, 0.1 * 2.0, 0.1), (-1.0, 0.9 * 4.0, -0.9)],
)
def test_pinball_loss_by_hand(prediction, value, slope):
    loss = sp.PinballLoss([1.0], target=3.0, level=0.9)
    assert float(loss.value([prediction])) == pytest.approx(value)
    assert loss.gradient([prediction]).tolist() == [pytest.approx(slope)]
    assert sp.PinballLoss([2.0], 3.0, 0.9).gradient([prediction / 2]).tolist() == [
        pytest.approx(2 * slope)
    ]
    assert loss.smoothness is None


def test_pinball_level_is_0_5_by_default_and_must_lie_between_0_and_1():
    assert sp.PinballLoss([1.0], 0.0).level == 0.5
    for bad in (0.0, 1.0, -0.1, 90.0):
        with pytest.raises(ValueError, match=f"level must lie between 0 and 1, got {bad}"):
            sp.PinballLoss([1.0], 0.0, bad)


def test_the_sum_of_pinball_losses_is_smallest_at_the_quantile():
    targets = np.random.default_rng(0).normal(size=1001)
    points = np.linspace(-3.0, 3.0, 601)
    for level in (0.1, 0.5, 0.9):
        sums = sum(sp.PinballLoss([1.0], y, level).value(points[:, None]) for y in targets.tolist())
        assert points[np.argmin(sums)] == pytest.approx(np.quantile(targets, level), abs=0.02)
