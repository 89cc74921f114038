"""The quantities that regret bounds are made of: path lengths, variations, cumulative losses."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice, pairwise
from typing import Any

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Loss, Matrix, Vector
from swordplay.parts.streams import LinearStream
from swordplay.parts.streams.linear import Rows, inner
from swordplay.theory.variation_linear import LinearChange


class Quantity(float):
    """A number that says whether it is exact or a certified upper bound."""

    exact: bool

    def __new__(cls, value: float, exact: bool) -> Quantity:
        """A float with a flag; arithmetic on it gives plain floats, which claim nothing."""
        number = super().__new__(cls, value)
        number.exact = exact
        return number

    # because float's own has one entry
    def __getnewargs__(self) -> tuple[float, bool]:  # type: ignore[override]
        return float(self), self.exact

    def __repr__(self) -> str:
        return f"Quantity({float(self)!r}, exact={self.exact})"


def path_length(comparators: Any) -> float:
    r""":math:`P_T = \sum_{t \ge 2} \|u_t - u_{t-1}\|` of comparators of shape ``(T, d)``."""
    return float(np.linalg.norm(_steps(comparators), axis=1).sum())


def squared_path_length(comparators: Any) -> float:
    r""":math:`S_T = \sum_{t \ge 2} \|u_t - u_{t-1}\|^2` of comparators of shape ``(T, d)``."""
    return float(np.square(_steps(comparators)).sum())


def comparator_loss(stream: Iterable[Loss], comparators: Any, rounds: int | None = None) -> float:
    r""":math:`F_T = \sum_t f_t(u_t)`.

    Parameters
    ----------
    stream
        The losses; something that can be looped over again.
    comparators
        u_t, shape ``(T, d)``, or one point ``(d,)`` for all rounds.
    rounds
        How many rounds of the stream count; all unless given.
    """
    points = arguments.array("comparators", comparators)
    if points.ndim not in (1, 2):
        raise ValueError(f"comparators must have shape (T, d) or (d,), got {points.shape}.")
    if isinstance(stream, LinearStream):
        part = stream if rounds is None or rounds == len(stream) else stream[:rounds]
        _fits("comparators", points, len(part), part.dim)
        return float(part.values(points).sum())
    losses = list(islice(arguments.stream(stream), rounds))
    _fits("comparators", points, len(losses))
    each = np.broadcast_to(points, (len(losses), points.shape[-1]))
    return float(sum(float(loss.value(point)) for loss, point in zip(losses, each, strict=True)))


def squared_gradients(stream: Iterable[Loss], decisions: Any) -> float:
    r""":math:`\bar F_T = \sum_t \|\nabla f_t(x_t)\|^2` at decisions of shape ``(T, d)``."""
    points = arguments.array("decisions", decisions, ndim=2)
    if isinstance(stream, LinearStream):
        _fits("decisions", points, len(stream), stream.dim)
        if not len(stream):
            return 0.0
        rows = Rows.of_stream(stream)
        return float(
            np.square(rows.slopes(rows.predictions(points))) @ inner(rows.features, rows.features)
        )
    losses = list(arguments.stream(stream))
    _fits("decisions", points, len(losses))
    return float(
        sum(np.square(loss.gradient(x)).sum() for loss, x in zip(losses, points, strict=True))
    )


def empirical_gradient_variation(stream: Iterable[Loss], decisions: Any) -> float:
    r"""Gradient variation where the learner stood: no supremum, any loss, any domain.

    .. math:: \hat V_T = \sum_{t \ge 2} \|\nabla f_t(x_t) - \nabla f_{t-1}(x_t)\|^2 \le V_T

    Parameters
    ----------
    stream
        The losses; a finite one.
    decisions
        x_t, shape ``(T, d)``.
    """
    points = arguments.array("decisions", decisions, ndim=2)
    if isinstance(stream, LinearStream):
        _fits("decisions", points, len(stream), stream.dim)
        return (
            float(LinearChange(Rows.of_stream(stream)).squared_gradients(points[1:]).sum())
            if len(stream) > 1
            else 0.0
        )
    losses = list(arguments.stream(stream))
    _fits("decisions", points, len(losses))
    pairs = zip(pairwise(losses), points[1:], strict=True) if losses else ()
    return float(
        sum(np.square(now.gradient(x) - before.gradient(x)).sum() for (before, now), x in pairs)
    )


def _steps(comparators: Any) -> Matrix:
    points = arguments.array("comparators", comparators)
    if points.ndim != 2:
        raise ValueError(
            f"comparators must have shape (T, d), got {points.shape}. Give one row per round."
        )
    return np.asarray(np.diff(points, axis=0))


def _fits(name: str, points: Vector | Matrix, rounds: int, dim: int | None = None) -> None:
    """Refuse points that are not one per round, or of another width than the stream's where that
    is known.
    """
    if points.ndim == 2 and len(points) != rounds:
        raise ValueError(f"{name} must have one row per round ({rounds}), got {len(points)}.")
    if dim is not None and points.shape[-1] != dim:
        raise ValueError(
            f"{name} must have the stream's {dim} coordinate(s), got {points.shape[-1]}."
        )
