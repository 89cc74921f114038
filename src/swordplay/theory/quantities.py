"""Quantities and constants of a stream: path lengths, losses, gradients, G and L."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import singledispatch
from itertools import islice, pairwise
from typing import Any

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Domain, Loss, Matrix, Vector
from swordplay.parts.domains import reach
from swordplay.parts.losses import LinearLoss, WeightedLoss, gradient_of
from swordplay.parts.streams import LinearStream
from swordplay.parts.streams.linear import LinearRounds, row_products
from swordplay.theory.variation_linear import LinearChange
from swordplay.theory.variation_quadratic import QuadraticChange, as_quadratic


class Quantity(float):
    """A number that is exact or a certified upper bound, as its attribute ``exact`` says."""

    exact: bool
    """Whether the number is exact."""

    def __new__(cls, value: float, exact: bool) -> Quantity:
        """A float with a flag; arithmetic on it gives plain floats without a flag."""
        number = super().__new__(cls, value)
        number.exact = exact
        return number

    # Called by copy and pickle; float's own method returns the number without the flag.
    def __getnewargs__(self) -> tuple[float, bool]:  # type: ignore[override]
        return float(self), self.exact

    def __repr__(self) -> str:
        return f"Quantity({float(self)!r}, exact={self.exact})"


def path_length(comparators: Any) -> float:
    r""":math:`P_T = \sum_{t \ge 2} \|u_t - u_{t-1}\|` of comparators of shape ``(T, d)``."""
    return float(np.linalg.norm(_moves(comparators), axis=1).sum())


def squared_path_length(comparators: Any) -> float:
    r""":math:`S_T = \sum_{t \ge 2} \|u_t - u_{t-1}\|^2` of comparators of shape ``(T, d)``."""
    return float(np.square(_moves(comparators)).sum())


def comparator_loss(stream: Iterable[Loss], comparators: Any, rounds: int | None = None) -> float:
    r""":math:`F_T = \sum_t f_t(u_t)`.

    Parameters
    ----------
    stream
        The losses; an iterator is exhausted.
    comparators
        u_t, shape ``(T, d)``, or one point ``(d,)`` for all rounds.
    rounds
        Number of rounds of the stream that count; all by default.
    """
    points = arguments.array("comparators", comparators)
    if points.ndim not in (1, 2):
        raise ValueError(f"comparators must have shape (T, d) or (d,), got {points.shape}.")
    if isinstance(stream, LinearStream):
        counted_stream = stream if rounds is None or rounds == len(stream) else stream[:rounds]
        _require_shape("comparators", points, len(counted_stream), counted_stream.dim)
        return float(counted_stream.values(points).sum())
    losses = list(islice(arguments.stream(stream), rounds))
    _require_shape("comparators", points, len(losses))
    point_per_round = np.broadcast_to(points, (len(losses), points.shape[-1]))
    return float(
        sum(float(loss.value(point)) for loss, point in zip(losses, point_per_round, strict=True))
    )


def squared_gradients(stream: Iterable[Loss], decisions: Any) -> float:
    r"""Sum :math:`\bar F_T = \sum_t \|\nabla f_t(x_t)\|^2` at decisions of shape ``(T, d)``."""
    points = arguments.array("decisions", decisions, ndim=2)
    if isinstance(stream, LinearStream):
        _require_shape("decisions", points, len(stream), stream.dim)
        if not len(stream):
            return 0.0
        rows = LinearRounds.of_stream(stream)
        return float(
            np.square(rows.slopes(rows.predictions(points)))
            @ row_products(rows.features, rows.features)
        )
    losses = list(arguments.stream(stream))
    _require_shape("decisions", points, len(losses))
    return float(
        sum(np.square(loss.gradient(x)).sum() for loss, x in zip(losses, points, strict=True))
    )


def empirical_gradient_variation(stream: Iterable[Loss], decisions: Any) -> float:
    r"""Gradient variation at the decisions: without a supremum, for any loss and domain.

    .. math:: \hat V_T = \sum_{t \ge 2} \|\nabla f_t(x_t) - \nabla f_{t-1}(x_t)\|^2 \le V_T

    Parameters
    ----------
    stream
        The losses; a finite stream.
    decisions
        x_t, shape ``(T, d)``.
    """
    points = arguments.array("decisions", decisions, ndim=2)
    if isinstance(stream, LinearStream):
        _require_shape("decisions", points, len(stream), stream.dim)
        return (
            float(LinearChange(LinearRounds.of_stream(stream)).squared_gradients(points[1:]).sum())
            if len(stream) > 1
            else 0.0
        )
    losses = list(arguments.stream(stream))
    _require_shape("decisions", points, len(losses))
    pairs = zip(pairwise(losses), points[1:], strict=True) if losses else ()
    return float(
        sum(
            np.square(loss.gradient(x) - loss_before.gradient(x)).sum()
            for (loss_before, loss), x in pairs
        )
    )


def smoothness(stream: Iterable[Loss]) -> float:
    """L: the largest smoothness of a loss of a finite stream.

    Raises
    ------
    ValueError
        If the smoothness of a loss is None.

    Examples
    --------
    >>> from swordplay.parts.losses import LogisticLoss, SquaredLoss
    >>> smoothness([SquaredLoss([3.0, 4.0], 1.0), LogisticLoss([2.0, 0.0], 1)])
    25.0
    """
    if isinstance(stream, LinearStream):
        return stream.smoothness
    return max(
        (_known_smoothness(t, loss) for t, loss in enumerate(arguments.stream(stream))), default=0.0
    )


def gradient_bound(stream: Iterable[Loss], domain: Domain) -> Quantity:
    r"""G: the norm of the longest gradient of a finite stream on a domain.

    .. math:: \max_t \sup_{x \in X} \|\nabla f_t(x)\|

    Exact for losses of a linear prediction on every domain, and for quadratics on a ball, on a
    simplex, on a box if the Hessians are diagonal or d <= 10, and in one dimension. Otherwise the
    certified bound :math:`\|\nabla f(c)\| + L r`, with c the centre and r the largest distance of a
    point of the domain from it.

    Parameters
    ----------
    stream
        The losses, of any classes, weighted or not.
    domain
        X.

    Returns
    -------
    Quantity
        A float whose ``exact`` says whether it is G or an upper bound on it.

    Raises
    ------
    ValueError
        If a loss is neither of a linear prediction nor quadratic, and its smoothness is None.
    """
    domain = arguments.domain(domain)
    if isinstance(stream, LinearStream):
        return Quantity(stream.gradient_bound(domain), exact=True)
    largest, exact = 0.0, True
    for t, loss in enumerate(arguments.stream(stream)):
        norm = _max_gradient_norm(loss, t, domain)
        if norm > largest:
            largest, exact = float(norm), norm.exact
    return Quantity(largest, exact)


def _moves(comparators: Any) -> Matrix:
    """u_t - u_{t-1} for t = 2..T, shape ``(T - 1, d)``."""
    points = arguments.array("comparators", comparators)
    if points.ndim != 2:
        raise ValueError(
            f"comparators must have shape (T, d), got {points.shape}. Give one row per round."
        )
    return np.asarray(np.diff(points, axis=0))


def _require_shape(name: str, points: Vector | Matrix, rounds: int, dim: int | None = None) -> None:
    """Refuse points that are not one per round, or that do not have ``dim`` coordinates."""
    if points.ndim == 2 and len(points) != rounds:
        raise ValueError(f"{name} must have one row per round ({rounds}), got {len(points)}.")
    if dim is not None and points.shape[-1] != dim:
        raise ValueError(
            f"{name} must have the stream's {dim} coordinate(s), got {points.shape[-1]}."
        )


@singledispatch
def _max_gradient_norm(loss: Any, t: int, domain: Domain) -> Quantity:
    """Norm of the longest gradient of loss number t on the domain, or a bound on it."""
    quadratic = as_quadratic(loss)
    if quadratic is not None:
        # The gradient of f is that of the change from the zero loss to f.
        change = QuadraticChange(
            quadratic.matrix[None], quadratic.vector[None], np.array([quadratic.constant])
        )
        squared_norms, exact = change.gradient_suprema(domain)
        return Quantity(math.sqrt(float(squared_norms[0])), exact)
    # Gradients are Lipschitz with constant L: |g(x)| <= |g(c)| + L |x - c|, and
    # reach(domain) is the largest |x - c|.
    norm_at_center = float(np.linalg.norm(gradient_of(loss)(domain.center)))
    return Quantity(norm_at_center + _known_smoothness(t, loss) * reach(domain), exact=False)


@_max_gradient_norm.register
def _(loss: LinearLoss, t: int, domain: Domain) -> Quantity:
    # phi is convex: |phi'| is largest at an end of the range of predictions.
    prediction_range = np.array([-domain.support(-loss.features), domain.support(loss.features)])
    return Quantity(
        float(np.abs(loss.slope(prediction_range)).max() * np.linalg.norm(loss.features)),
        exact=True,
    )


@_max_gradient_norm.register
def _(loss: WeightedLoss, t: int, domain: Domain) -> Quantity:
    unweighted = _max_gradient_norm(loss.loss, t, domain)
    return Quantity(loss.weight * unweighted, unweighted.exact)


def _known_smoothness(t: int, loss: Any) -> float:
    """Smoothness of loss number t; an error if it is None."""
    L = loss.smoothness
    if L is None:
        raise ValueError(
            f"stream holds a loss whose smoothness is None, number {t}: "
            f"{arguments.short_repr(loss)}. Give FunctionLoss(value, gradient, smoothness=L)."
        )
    return float(L)
