"""Convex losses: of a linear prediction, quadratic, given by two functions, or weighted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from typing import Any, ClassVar, Literal, Self, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Array, Gradient, Loss, Vector
from swordplay.parts.domains import checked_points

PSD_TOLERANCE = 1e-10
"""Negative eigenvalues up to this size, relative to the largest, count as rounding errors."""


def gradient_of(loss: Any) -> Gradient:
    """Return the gradient of a loss as a function that checks its answers."""
    if not callable(getattr(loss, "gradient", None)):
        raise arguments.loss_type_error(loss)
    return lambda points: checked_answer(loss, "gradient", points)


def checked_answer(
    loss: Any,
    method: Literal["gradient", "value"],
    points: Array,
    largest: float = arguments.LARGEST_GRADIENT,
) -> Array:
    """Return the gradients or values of a loss at points, checked for kind, shape and size.

    Parameters
    ----------
    loss
        The loss that is evaluated.
    method
        ``"gradient"`` for an answer of shape ``(..., d)``, ``"value"`` for one of shape ``(...,)``.
    points
        Shape ``(..., d)``; the loss gets a read-only view.
    largest
        Entries of a larger magnitude are refused, as are NaN and infinity.
    """
    function = getattr(loss, method, None)
    if not callable(function):
        raise arguments.loss_type_error(loss)
    view = points.view()
    view.flags.writeable = False  # a loss must not change the points of the learner
    raw = function(view)
    try:
        answer = np.array(
            raw, dtype=np.float64
        )  # a copy, as the loss may overwrite its array later
    except (TypeError, ValueError):
        raise TypeError(
            f"loss.{method} must return numbers, got {arguments.short_repr(raw)}. Return one "
            f"{method} per point."
        ) from None
    expected = points.shape if method == "gradient" else points.shape[:-1]
    if answer.shape != expected:
        shape_hint = ": the same shape" if method == "gradient" else ""
        raise ValueError(
            f"loss.{method} returned shape {answer.shape} for points of shape {points.shape}. "
            f"It must return one {method} per point{shape_hint}."
        )
    if not (np.abs(answer) <= largest).all():  # written with "not", as NaN <= x is False
        arguments.check_finite(f"loss.{method}'s answer", answer)
        reason = ": its square overflows" if method == "gradient" else ""
        raise ValueError(
            f"loss.{method}'s answer must not pass {largest:g}{reason}. Rescale the loss."
        )
    return answer


class LinearLoss(ABC):
    r"""Base class of losses that depend on a linear prediction and a target.

    .. math:: f(x) = \varphi(\langle a, x \rangle, y), \qquad \nabla f(x) = \varphi'(\langle a, x
        \rangle, y)\, a

    A subclass defines :math:`\varphi`, its slope and its largest curvature. Values, gradients and
    smoothness are computed from these.

    Parameters
    ----------
    features
        a, shape ``(d,)``, finite.
    target
        y, a finite number.
    """

    __slots__ = ("features", "target")
    curvature: ClassVar[float]
    """Largest second derivative of φ in the prediction."""

    features: Vector
    target: float

    def __init__(self, features: Any, target: Any) -> None:
        self.features = arguments.vector("features", features).copy()
        self.features.flags.writeable = False
        self.target = arguments.real("target", target)

    @classmethod
    def trusted(cls, features: Vector, target: float, **settings: float) -> Self:
        """Make a loss without checks; a stream has checked the numbers of all its rows."""
        loss = cls.__new__(cls)
        loss.features, loss.target = features, target
        for name, value in settings.items():
            setattr(loss, name, value)
        return loss

    def with_targets(self, targets: Array) -> Self:
        """Return a copy whose φ and slope take one target per prediction.

        Only ``phi`` and ``slope`` of the copy may be called, with predictions of the shape of
        ``targets``. They then evaluate many rounds at once, because φ acts element by element.
        """
        loss = copy(self)
        loss.target = targets  # type: ignore[assignment]  # an array in place of a number
        return loss

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(features={arguments.short_repr(self.features.tolist())}, "
            f"target={self.target})"
        )

    @property
    def dim(self) -> int:
        """Number of coordinates d."""
        return len(self.features)

    @property
    def smoothness(self) -> float:
        r""":math:`L = \max \varphi'' \cdot \|a\|^2`."""
        return self.curvature * float(self.features @ self.features)

    def value(self, points: Array) -> Array:
        """f at points of shape ``(..., d)``; shape ``(...,)``."""
        return self.phi(checked_points("points", points, self.dim) @ self.features)

    def gradient(self, points: Array) -> Array:
        """Gradients at points of shape ``(..., d)``, in an array of that shape."""
        prediction = checked_points("points", points, self.dim) @ self.features
        return np.multiply.outer(self.slope(prediction), self.features)

    @abstractmethod
    def phi(self, prediction: Array) -> Array:
        """φ(z, y) at predictions z of any shape."""

    @abstractmethod
    def slope(self, prediction: Array) -> Array:
        """Derivative of φ(z, y) in z, at predictions z of any shape."""


@final
class SquaredLoss(LinearLoss):
    r"""Half the squared error of a linear prediction.

    .. math:: f(x) = \tfrac12 (\langle a, x \rangle - y)^2, \qquad L = \|a\|^2

    Examples
    --------
    >>> loss = SquaredLoss([1.0, 2.0], target=3.0)
    >>> float(loss.value([1.0, 0.0])), loss.gradient([1.0, 0.0])
    (2.0, array([-2., -4.]))
    """

    __slots__ = ()
    curvature = 1.0

    def phi(self, prediction: Array) -> Array:
        """Half the squared residual."""
        return np.asarray(0.5 * np.square(prediction - self.target))

    def slope(self, prediction: Array) -> Array:
        """The residual z - y."""
        return np.asarray(prediction - self.target)


@final
class LogisticLoss(LinearLoss):
    r"""Minus the log-likelihood of a label under a linear log-odds.

    .. math:: f(x) = \log(1 + e^{-s \langle a, x \rangle}), \quad s = 2y - 1, \qquad L = \tfrac14
        \|a\|^2

    Parameters
    ----------
    features
        a, shape ``(d,)``.
    target
        The label y, 0 or 1.

    Examples
    --------
    >>> loss = LogisticLoss([1.0], target=1)
    >>> float(loss.value([-1e6])), float(loss.value([1e6]))
    (1000000.0, 0.0)
    """

    __slots__ = ()
    curvature = 0.25

    def __init__(self, features: Any, target: Any) -> None:
        super().__init__(features, float(target) if isinstance(target, bool | np.bool_) else target)
        if self.target not in (0.0, 1.0):
            raise ValueError(
                f"target must be 0 or 1 for the logistic loss, got {self.target}. Encode the two "
                "labels as 0 and 1."
            )

    def phi(self, prediction: Array) -> Array:
        """log(1 + exp(-s z)), exact for margins of any size."""
        return np.asarray(np.logaddexp(0.0, -self._sign * prediction))

    def slope(self, prediction: Array) -> Array:
        """-s / (1 + exp(s z)), computed through the logarithm so that nothing overflows."""
        return np.asarray(-self._sign * np.exp(-np.logaddexp(0.0, self._sign * prediction)))

    @property
    def _sign(self) -> float:
        return 2.0 * self.target - 1.0


@final
class HuberLoss(LinearLoss):
    r"""Squared loss of small residuals, linear beyond a threshold: outliers have a bounded slope.

    .. math:: f(x) = h(\langle a, x \rangle - y), \quad
        h(r) = \tfrac12 r^2 \text{ if } |r| \le \delta, \text{ else } \delta |r| - \tfrac12
        \delta^2, \qquad L = \|a\|^2

    Parameters
    ----------
    features, target
        a, shape ``(d,)``, and y.
    threshold
        δ > 0, the residual at which the loss turns linear.
    """

    __slots__ = ("threshold",)
    curvature = 1.0
    threshold: float

    def __init__(self, features: Any, target: Any, threshold: float = 1.0) -> None:
        super().__init__(features, target)
        self.threshold = arguments.positive("threshold", threshold)

    def phi(self, prediction: Array) -> Array:
        """h of the residual, written with the clipped residual c: c (r - c/2)."""
        residual: Vector = np.asarray(prediction - self.target)
        clipped = np.clip(residual, -self.threshold, self.threshold)
        return np.asarray(clipped * (residual - 0.5 * clipped))

    def slope(self, prediction: Array) -> Array:
        """The residual, clipped at the threshold."""
        return np.asarray(np.clip(prediction - self.target, -self.threshold, self.threshold))


@final
class PinballLoss(LinearLoss):
    r"""Loss of a quantile forecast (quantile loss); its expectation is least at that quantile.

    .. math:: f(x) = \max\{\tau\,(y - \langle a, x \rangle),\; (1 - \tau)\,(\langle a, x \rangle -
        y)\}

    It has a kink at y, where the gradient is taken as 0, and therefore no smoothness.

    Parameters
    ----------
    features, target
        a, shape ``(d,)``, and y.
    level
        τ in (0, 1), such as 0.5 for a median, or 0.9 for a value above nine of ten targets.

    Examples
    --------
    >>> loss = PinballLoss([1.0], target=3.0, level=0.9)
    >>> float(loss.value([1.0])), float(loss.value([4.0])), loss.gradient([1.0])
    (1.8, 0.09999999999999998, array([-0.9]))

    References
    ----------
    Koenker and Bassett (1978).
    """

    __slots__ = ("level",)
    curvature = np.inf
    level: float

    def __init__(self, features: Any, target: Any, level: float = 0.5) -> None:
        super().__init__(features, target)
        self.level = arguments.fraction("level", level)

    @property
    # mypy: the base class returns a number, this class None.
    def smoothness(self) -> None:  # type: ignore[override]
        """None: the slope jumps at the kink."""
        return None

    def phi(self, prediction: Array) -> Array:
        """τ (y - z) where the prediction is below the target, (1 - τ)(z - y) where it is above."""
        residual = np.asarray(self.target - prediction)
        return np.asarray(np.maximum(self.level * residual, (self.level - 1.0) * residual))

    def slope(self, prediction: Array) -> Array:
        """-τ below the target, 1 - τ above it, 0 at it."""
        residual = np.asarray(self.target - prediction)
        above_target = np.where(residual < 0.0, 1.0 - self.level, 0.0)
        return np.where(residual > 0.0, -self.level, above_target)


@final
class QuadraticLoss:
    r"""A convex quadratic.

    .. math:: f(x) = \tfrac12 x^\top A x - b^\top x + c, \qquad \nabla f(x) = A x - b, \qquad L =
        \lambda_{\max}(A)

    Parameters
    ----------
    matrix
        A, shape ``(d, d)``, symmetric and positive semi-definite.
    vector
        b, shape ``(d,)``.
    constant
        c.
    """

    def __init__(self, matrix: Any, vector: Any, constant: float = 0.0) -> None:
        self.vector = arguments.vector("vector", vector).copy()
        self.matrix = arguments.array("matrix", matrix, ndim=2).copy()
        self.constant = arguments.real("constant", constant)
        if self.matrix.shape != (self.dim, self.dim):
            raise ValueError(
                f"matrix must have shape ({self.dim}, {self.dim}) to go with vector, got "
                f"{self.matrix.shape}."
            )
        if not np.allclose(self.matrix, self.matrix.T, rtol=1e-10, atol=0.0):
            raise ValueError(
                "matrix must be symmetric. Give (A + A.T) / 2, which defines the same function."
            )
        eigenvalues = np.linalg.eigvalsh(self.matrix)  # ascending
        lowest, highest = eigenvalues[0], eigenvalues[-1]
        if lowest < -PSD_TOLERANCE * max(abs(highest), abs(lowest)):
            raise ValueError(
                f"matrix must be positive semi-definite, got an eigenvalue of {lowest}. Give "
                "the matrix of a convex function."
            )
        self.smoothness = max(float(highest), 0.0)
        """L, the largest eigenvalue of A."""

    def __repr__(self) -> str:
        return f"QuadraticLoss(dim={self.dim}, smoothness={self.smoothness:.6g})"

    @property
    def dim(self) -> int:
        """Number of coordinates d."""
        return len(self.vector)

    def value(self, points: Array) -> Array:
        """f at points of shape ``(..., d)``; shape ``(...,)``."""
        points = checked_points("points", points, self.dim)
        quadratic_form = np.einsum("...i,...i->...", points @ self.matrix, points)  # x' A x
        return np.asarray(0.5 * quadratic_form - points @ self.vector + self.constant)

    def gradient(self, points: Array) -> Array:
        """A x - b at points of shape ``(..., d)``, in an array of that shape."""
        points = checked_points("points", points, self.dim)
        return np.asarray(points @ self.matrix - self.vector)


@final
class FunctionLoss:
    """A loss given by two functions: its value and its gradient.

    Parameters
    ----------
    value
        Maps points of shape ``(..., d)`` to values of shape ``(...,)``.
    gradient
        Maps points of shape ``(..., d)`` to gradients of the same shape.
    smoothness
        Lipschitz constant of the gradient; None where it is unknown.
    batched
        False if the functions take only one point of shape ``(d,)`` at a time.

    Examples
    --------
    >>> loss = FunctionLoss(lambda x: (x**2).sum(-1) / 2, lambda x: x, smoothness=1.0)
    >>> loss.gradient([[1.0, 2.0], [3.0, 4.0]])
    array([[1., 2.],
           [3., 4.]])
    """

    def __init__(
        self,
        value: Callable[[Array], Any],
        gradient: Callable[[Array], Any],
        smoothness: float | None = None,
        *,
        batched: bool = True,
    ) -> None:
        for name, function in (("value", value), ("gradient", gradient)):
            if not callable(function):
                raise TypeError(
                    f"{name} must be callable, got {arguments.short_repr(function)}. Give a "
                    "function of the points."
                )
        self.smoothness = (
            None if smoothness is None else arguments.nonnegative("smoothness", smoothness)
        )
        self._value = value if batched else _one_by_one(value)
        self._gradient = gradient if batched else _one_by_one(gradient)

    def __repr__(self) -> str:
        return f"FunctionLoss(smoothness={self.smoothness})"

    def value(self, points: Array) -> Array:
        """f at points of shape ``(..., d)``; shape ``(...,)``."""
        points = np.asarray(points, dtype=np.float64)
        return self._answer("value", self._value(points), points.shape[:-1], points.shape)

    def gradient(self, points: Array) -> Array:
        """Gradients at points of shape ``(..., d)``, in an array of that shape."""
        points = np.asarray(points, dtype=np.float64)
        return self._answer("gradient", self._gradient(points), points.shape, points.shape)

    @staticmethod
    def _answer(
        name: str, answer: Any, expected_shape: tuple[int, ...], points_shape: tuple[int, ...]
    ) -> Array:
        """Convert the answer of a user's function to doubles, and check its shape."""
        result = np.asarray(answer, dtype=np.float64)
        if result.shape != expected_shape:
            raise ValueError(
                f"{name} must return shape {expected_shape} for points of shape {points_shape}, "
                f"got {result.shape}. If it takes one point at a time, give batched=False."
            )
        return result


@final
class WeightedLoss:
    r"""A loss times a positive weight.

    .. math:: f(x) = \omega f_0(x), \qquad L = \omega L_0

    With :math:`\omega = 1/L_0` every loss has smoothness 1, so that one pool of step sizes fits
    rounds of any scale.

    Parameters
    ----------
    loss
        :math:`f_0`.
    weight
        :math:`\omega > 0`.
    """

    def __init__(self, loss: Loss, weight: Any) -> None:
        self.loss = loss
        self.weight = arguments.positive("weight", weight)

    def __repr__(self) -> str:
        return f"WeightedLoss({self.loss!r}, weight={self.weight})"

    @property
    def smoothness(self) -> float | None:
        """L, or None where the smoothness of the loss is unknown."""
        return None if self.loss.smoothness is None else self.weight * self.loss.smoothness

    def value(self, points: Array) -> Array:
        """f at points of shape ``(..., d)``; shape ``(...,)``."""
        return np.asarray(self.weight * self.loss.value(points))

    def gradient(self, points: Array) -> Array:
        """Gradients at points of shape ``(..., d)``, in an array of that shape."""
        return np.asarray(self.weight * self.loss.gradient(points))


def _one_by_one(function: Callable[[Array], Any]) -> Callable[[Array], Array]:
    """Wrap a function of one point as a function of many points, called once per point."""

    def call_for_each_point(points: Array) -> Array:
        answers = np.array(
            [function(point) for point in points.reshape(-1, points.shape[-1])], dtype=np.float64
        )
        return answers.reshape(points.shape[:-1] + answers.shape[1:])

    return call_for_each_point
