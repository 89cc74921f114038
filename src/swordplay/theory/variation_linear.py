r"""Changes between losses of linear predictions, many rounds at once.

A change is a function on the plane spanned by :math:`a = a_t` and :math:`\delta = a_t - a_{t-1}`
(see :mod:`swordplay.theory.plane_projection`). With the slopes :math:`u = \varphi'_t`, :math:`v =
\varphi'_{t-1}` and :math:`e = u - v`,

.. math:: \nabla f_t - \nabla f_{t-1} = u\, a_t - v\, a_{t-1} = e\, a + v\, \delta .

For squared losses the suprema are exact: u and v are the residuals, affine in x, and the projection
of the domain onto the plane determines them. For logistic and Huber losses a search finds the
supremum of the gradient's change (:mod:`swordplay.theory.variation_search`); where it fails, the
ranges of u, v and e bound it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from swordplay.core.types import Array, Domain, Vector
from swordplay.parts.domains import Ball, Box, Simplex, enclosing_ball, enclosing_box, reach
from swordplay.parts.losses import HuberLoss, LinearLoss, LogisticLoss, SquaredLoss
from swordplay.parts.streams.linear import LinearRounds, row_products
from swordplay.theory.plane_projection import Plane, RowPairs, plane_of, project_corners
from swordplay.theory.variation_quadratic import (
    Suprema,
    largest_magnitude,
    largest_squared_gradient,
)
from swordplay.theory.variation_search import search_gradient_suprema


@dataclass(frozen=True)
class LinearChange:
    """The changes from each of B + 1 rows to the next.

    Attributes
    ----------
    rows
        The B + 1 losses.
    """

    rows: LinearRounds

    @property
    def dim(self) -> int:
        """Number of coordinates d."""
        return self.rows.dim

    @property
    def differences(self) -> Any:
        """δ, shape ``(B, d)``, dense or sparse."""
        return self.rows.features[1:] - self.rows.features[:-1]

    @property
    def target_decreases(self) -> Vector:
        """y_{t-1} - y_t, the part of the residuals' change that the targets cause, ``(B,)``."""
        return -np.diff(self.rows.targets)

    @property
    def plane(self) -> Plane:
        """The plane of each change."""
        return plane_of(self.rows.features[1:], self.differences)

    def squared_gradients(self, points: Array) -> Vector:
        """Squared norm of each change's gradient, shape ``(B,)``.

        At one point, shape ``(d,)``, or at a point for each change, shape ``(B, d)``.
        """
        u, v = self._new_and_previous(points, LinearRounds.slopes)
        return self.plane.squared_norms(u - v, v)

    def values(self, point: Vector) -> Vector:
        """f_t(x) - f_{t-1}(x) at one point, shape ``(B,)``."""
        values, values_before = self._new_and_previous(point, LinearRounds.values)
        return np.asarray(values - values_before)

    def gradient_suprema(self, domain: Domain) -> Suprema:
        """Largest squared norm of each change's gradient over the domain."""
        if isinstance(self.rows.loss, SquaredLoss):
            return _squared_gradient_suprema(domain, self)
        search_result = search_gradient_suprema(domain, self.rows)
        if search_result.is_exact:
            return search_result
        bounds = _gradient_bounds(domain, self)
        return Suprema(np.minimum(search_result.values, bounds.values), is_exact=False)

    def function_suprema(self, domain: Domain) -> Suprema:
        """Largest absolute value of each change over the domain."""
        return (
            _squared_function_suprema(domain, self)
            if isinstance(self.rows.loss, SquaredLoss)
            else _function_bounds(domain, self)
        )

    def _new_and_previous(self, points: Array, evaluate: Any) -> tuple[Vector, Vector]:
        """``evaluate(rows, predictions)`` for the new rows and for the previous rows."""
        rows, rows_before = self.rows[1:], self.rows[:-1]
        return (
            evaluate(rows, rows.predictions(points)),
            evaluate(rows_before, rows_before.predictions(points)),
        )


@singledispatch
def _squared_gradient_suprema(domain: Domain, change: LinearChange) -> Suprema:
    # Domains of other kinds: the best of the bounds for an enclosing ball, an enclosing box and the
    # ranges of the slopes.
    ball_bounds = _squared_gradient_suprema(enclosing_ball(domain), change)
    box_bounds = _squared_gradient_suprema(enclosing_box(domain), change)
    slope_bounds = _gradient_bounds(domain, change)
    return Suprema(
        np.minimum(np.minimum(ball_bounds.values, box_bounds.values), slope_bounds.values),
        is_exact=domain.dim == 1,
    )


@_squared_gradient_suprema.register
def _(domain: Ball, change: LinearChange) -> Suprema:
    hessians, gradients, _ = _quadratic_in_plane(domain, change)
    return Suprema(largest_squared_gradient(hessians, gradients, domain.radius), is_exact=True)


@_squared_gradient_suprema.register(Box)
@_squared_gradient_suprema.register(Simplex)
def _(domain: Box | Simplex, change: LinearChange) -> Suprema:
    # Convex in (e, v), so largest at a corner of the projection.
    e, v = project_corners(domain, RowPairs.of_rounds(change.rows))
    return Suprema(change.plane.squared_norms(e, v).max(axis=0), is_exact=True)


@singledispatch
def _squared_function_suprema(domain: Domain, change: LinearChange) -> Suprema:
    # Domains of other kinds: the better of the bounds for an enclosing ball and an enclosing box.
    ball_bounds = _squared_function_suprema(enclosing_ball(domain), change)
    box_bounds = _squared_function_suprema(enclosing_box(domain), change)
    return Suprema(np.minimum(ball_bounds.values, box_bounds.values), is_exact=domain.dim == 1)


@_squared_function_suprema.register
def _(domain: Ball, change: LinearChange) -> Suprema:
    return Suprema(
        largest_magnitude(*_quadratic_in_plane(domain, change), domain.radius), is_exact=True
    )


@_squared_function_suprema.register
def _(domain: Box, change: LinearChange) -> Suprema:
    e, v = project_corners(domain, RowPairs.of_rounds(change.rows))
    return Suprema(
        _largest_on_segments(e, v, np.roll(e, -1, axis=0), np.roll(v, -1, axis=0)), is_exact=True
    )


@_squared_function_suprema.register
def _(domain: Simplex, change: LinearChange) -> Suprema:
    # The edges of the projection are among the segments between any two projected corners, and all
    # of these segments lie in the projection.
    # Corner i is joined with corner i + index_gap.
    e, v = project_corners(domain, RowPairs.of_rounds(change.rows))
    largest = np.zeros(e.shape[1])
    for index_gap in range(1, domain.dim):
        largest = np.maximum(
            largest,
            _largest_on_segments(e[index_gap:], v[index_gap:], e[:-index_gap], v[:-index_gap]),
        )
    return Suprema(largest, is_exact=True)


def _quadratic_in_plane(domain: Ball, change: LinearChange) -> tuple[Array, Array, Vector]:
    """Hessian, gradient and value at the centre of f_t - f_{t-1}, in coordinates of the plane.

    Shapes ``(B, 2, 2)``, ``(B, 2)`` and ``(B,)``. With b = a_{t-1} the Hessian is a a' - b b'.
    """
    length, along, across = change.plane
    rows_before = change.rows[:-1]
    e = np.asarray(change.differences @ domain.center) + change.target_decreases
    v = rows_before.slopes(rows_before.predictions(domain.center))
    b_along = length - along  # the first coordinate of b; its second is `across`
    hessians = np.empty((len(e), 2, 2))
    hessians[:, 0, 0] = along * (length + b_along)  # length^2 - b_along^2, without cancellation
    hessians[:, 0, 1] = hessians[:, 1, 0] = -b_along * across
    hessians[:, 1, 1] = -np.square(across)
    gradients = np.stack([e * length + v * along, -v * across], axis=1)
    return hessians, gradients, 0.5 * e * (e + 2.0 * v)


def _largest_on_segments(e0: Array, v0: Array, e1: Array, v1: Array) -> Vector:
    """For each change, the largest |u^2 - v^2| / 2 = |e (e + 2 v)| / 2 over its segments, ``(B,)``.

    The arguments have shape ``(S, B)``: starts (e0, v0) and ends (e1, v1) of S segments for each of
    B changes. The function is a saddle in (e, v), so that over a polygon it is largest on an edge.
    """
    de, dv = e1 - e0, v1 - v0
    # On a segment e (e + 2 v) / 2 is a parabola in the fraction of the way from start to end, with
    # these derivatives at the start. It is largest at an end or at its vertex, if that lies inside.
    second_derivatives, first_derivatives = de * (de + 2.0 * dv), e0 * (de + dv) + v0 * de
    vertex = np.divide(
        -first_derivatives,
        second_derivatives,
        out=np.zeros_like(first_derivatives),
        where=np.abs(second_derivatives) > np.abs(first_derivatives),
    )
    largest = np.zeros(e0.shape[1])
    for fraction in (0.0, 1.0, np.clip(vertex, 0.0, 1.0)):
        e, v = e0 + fraction * de, v0 + fraction * dv
        largest = np.maximum(largest, 0.5 * np.abs(e * (e + 2.0 * v)).max(axis=0))
    return largest


def _gradient_bounds(domain: Domain, change: LinearChange) -> Suprema:
    """Upper bounds on squared gradients of the changes, for any family and domain.

    The smaller of a bound from the ranges of the slopes and one from the smoothness of the losses.
    """
    rows, rows_before = change.rows[1:].dense(), change.rows[:-1].dense()
    u_low = rows.slopes(-domain.support(-rows.features))
    u_high = rows.slopes(domain.support(rows.features))
    v_low = rows_before.slopes(-domain.support(-rows_before.features))
    v_high = rows_before.slopes(domain.support(rows_before.features))
    differences = rows.features - rows_before.features
    e_low, e_high = _slope_change_range(
        rows.loss,
        -domain.support(-differences),
        domain.support(differences),
        change.target_decreases,
    )
    # (u, v) lies in a rectangle intersected with the strip e_low <= u - v <= e_high. The squared
    # gradient is convex in (u, v), so it is largest at a corner. The list holds all corners of the
    # intersection, and may hold points outside of it.
    corners = [
        (u, v)
        for u in (u_low, u_high)
        for v in (np.maximum(v_low, u - e_high), np.minimum(v_high, u - e_low))
    ]
    corners += [
        (u, v)
        for v in (v_low, v_high)
        for u in (np.maximum(u_low, v + e_low), np.minimum(u_high, v + e_high))
    ]
    plane = change.plane
    slope_bounds = np.max([plane.squared_norms(u - v, v) for u, v in corners], axis=0)
    smoothness_bounds = np.square(
        np.sqrt(change.squared_gradients(domain.center)) + _smoothness(change) * reach(domain)
    )
    return Suprema(np.minimum(slope_bounds, smoothness_bounds), is_exact=False)


def _function_bounds(domain: Domain, change: LinearChange) -> Suprema:
    """Upper bounds on absolute values of the changes, for any family and domain."""
    r, values_at_center = reach(domain), np.abs(change.values(domain.center))
    slope_bounds = np.sqrt(_gradient_bounds(domain, change).values) * r
    smoothness_bounds = (
        np.sqrt(change.squared_gradients(domain.center)) * r + 0.5 * _smoothness(change) * r**2
    )
    # Losses are non-negative, so |f - g| <= max(f, g); each is convex in the prediction, so its
    # maximum is at an end of the range.
    rows = change.rows.dense()
    values_at_ends = (
        rows.values(-domain.support(-rows.features)),
        rows.values(domain.support(rows.features)),
    )
    values_at_worse_end = np.maximum(*values_at_ends)
    value_bounds = np.maximum(values_at_worse_end[1:], values_at_worse_end[:-1])
    return Suprema(
        np.minimum(values_at_center + np.minimum(slope_bounds, smoothness_bounds), value_bounds),
        is_exact=False,
    )


def _smoothness(change: LinearChange) -> Vector:
    """max{L_t, L_{t-1}}: smoothness of the difference of two convex functions, shape ``(B,)``."""
    smoothness = change.rows.loss.curvature * row_products(
        change.rows.features, change.rows.features
    )
    return np.maximum(smoothness[1:], smoothness[:-1])


@singledispatch
def _slope_change_range(
    family: LinearLoss, low: Vector, high: Vector, target_decreases: Vector
) -> tuple[Vector, Vector]:
    """Lower and upper bound on e = φ'(z_t, y_t) - φ'(z_{t-1}, y_{t-1}), shape ``(B,)`` each.

    ``low`` and ``high`` bound z_t - z_{t-1}, the change of the prediction.
    """
    raise NotImplementedError(type(family))


@_slope_change_range.register
def _(
    family: SquaredLoss, low: Vector, high: Vector, target_decreases: Vector
) -> tuple[Vector, Vector]:
    # The slope is the residual.
    return low + target_decreases, high + target_decreases


@_slope_change_range.register
def _(
    family: HuberLoss, low: Vector, high: Vector, target_decreases: Vector
) -> tuple[Vector, Vector]:
    # The slope is the clipped residual; clipping keeps the signs of differences and shrinks them.
    return np.minimum(low + target_decreases, 0.0), np.maximum(high + target_decreases, 0.0)


@_slope_change_range.register
def _(
    family: LogisticLoss, low: Vector, high: Vector, target_decreases: Vector
) -> tuple[Vector, Vector]:
    # The slope is sigmoid(z) - y, and the sigmoid increases by at most a quarter of any distance.
    return (
        0.25 * np.minimum(low, 0.0) + target_decreases,
        0.25 * np.maximum(high, 0.0) + target_decreases,
    )
