r"""From one loss of a linear prediction to the next, many rounds at once.

Everything happens in the plane spanned by :math:`a = a_t` and :math:`\delta = a_t - a_{t-1}`. With
the slopes :math:`u = \varphi'_t`, :math:`v = \varphi'_{t-1}` and :math:`e = u - v`,

.. math:: \nabla f_t - \nabla f_{t-1} = u\, a_t - v\, a_{t-1} = e\, a + v\, \delta .

The differences e and δ are carried as such, not as differences of large numbers: on a slow drift
they are all there is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from swordplay.core.types import Array, Domain, Vector
from swordplay.parts.domains import Ball, Box, Simplex, enclosing_ball, enclosing_box, reach
from swordplay.parts.losses import HuberLoss, LinearLoss, LogisticLoss, SquaredLoss
from swordplay.parts.streams.linear import Rows, inner
from swordplay.theory.plane_projection import Pairs, Plane, plane_of, shadow
from swordplay.theory.variation_quadratic import (
    Suprema,
    largest_magnitude,
    largest_squared_gradient,
)
from swordplay.theory.variation_search import gradients_on_rims


@dataclass(frozen=True)
class LinearChange:
    """The changes from each of B + 1 rounds to the next."""

    rows: Rows

    @property
    def dim(self) -> int:
        """Number of coordinates d."""
        return self.rows.dim

    @property
    def steps(self) -> Any:
        """δ, shape ``(B, d)``, dense or sparse."""
        return self.rows.features[1:] - self.rows.features[:-1]

    @property
    def shifts(self) -> Vector:
        """What moving targets add to the residuals, y_{t-1} - y_t."""
        return -np.diff(self.rows.targets)

    @property
    def plane(self) -> Plane:
        """The plane of each change."""
        return plane_of(self.rows.features[1:], self.steps)

    def squared_gradients(self, points: Array) -> Vector:
        """Squared norm of the gradients' change at one point ``(d,)``, or at each change's own,
        shape ``(B, d)``.
        """
        u, v = self._sides(points, Rows.slopes)
        return self.plane.squared_norms(u - v, v)

    def values(self, point: Vector) -> Vector:
        """f_t(x) - f_{t-1}(x)."""
        now, before = self._sides(point, Rows.values)
        return np.asarray(now - before)

    def gradient_suprema(self, domain: Domain) -> Suprema:
        """Largest squared norm of the gradients' change over the domain."""
        if isinstance(self.rows.family, SquaredLoss):
            return _squared_gradient(domain, self)
        found = gradients_on_rims(domain, self.rows)
        return (
            found
            if found.exact
            else Suprema(np.minimum(found.values, _any_gradient(domain, self).values), exact=False)
        )

    def function_suprema(self, domain: Domain) -> Suprema:
        """Largest change of value over the domain."""
        return (
            _squared_value(domain, self)
            if isinstance(self.rows.family, SquaredLoss)
            else _any_value(domain, self)
        )

    def _sides(self, points: Array, what: Any) -> tuple[Vector, Vector]:
        now, before = self.rows[1:], self.rows[:-1]
        return what(now, now.predictions(points)), what(before, before.predictions(points))


# Squared losses: u and v are the residuals, affine in x, so that the shadow of the domain in the
# plane tells all.


@singledispatch
def _squared_gradient(domain: Domain, change: LinearChange) -> Suprema:
    by_ball, by_box = (
        _squared_gradient(enclosing_ball(domain), change),
        _squared_gradient(enclosing_box(domain), change),
    )
    by_slopes = _any_gradient(domain, change)
    return Suprema(
        np.minimum(np.minimum(by_ball.values, by_box.values), by_slopes.values),
        exact=domain.dim == 1,
    )


@_squared_gradient.register
def _(domain: Ball, change: LinearChange) -> Suprema:
    hessians, gradients, _ = _at_center(domain, change)
    return Suprema(largest_squared_gradient(hessians, gradients, domain.radius), exact=True)


@_squared_gradient.register(Box)
@_squared_gradient.register(Simplex)
def _(domain: Box | Simplex, change: LinearChange) -> Suprema:
    return Suprema(
        change.plane.squared_norms(*shadow(domain, Pairs.of_rows(change.rows))).max(axis=0),
        exact=True,
    )


@singledispatch
def _squared_value(domain: Domain, change: LinearChange) -> Suprema:
    by_ball, by_box = (
        _squared_value(enclosing_ball(domain), change),
        _squared_value(enclosing_box(domain), change),
    )
    return Suprema(np.minimum(by_ball.values, by_box.values), exact=domain.dim == 1)


@_squared_value.register
def _(domain: Ball, change: LinearChange) -> Suprema:
    return Suprema(largest_magnitude(*_at_center(domain, change), domain.radius), exact=True)


@_squared_value.register
def _(domain: Box, change: LinearChange) -> Suprema:
    e, v = shadow(domain, Pairs.of_rows(change.rows))
    return Suprema(
        _largest_on_edges(e, v, np.roll(e, -1, axis=0), np.roll(v, -1, axis=0)), exact=True
    )


@_squared_value.register
def _(domain: Simplex, change: LinearChange) -> Suprema:
    # The shadow's edges are among the segments between any two of its vertices' images, and all of
    # these lie inside.
    e, v = shadow(domain, Pairs.of_rows(change.rows))
    largest = np.zeros(e.shape[1])
    for apart in range(1, domain.dim):
        largest = np.maximum(
            largest, _largest_on_edges(e[apart:], v[apart:], e[:-apart], v[:-apart])
        )
    return Suprema(largest, exact=True)


def _at_center(domain: Ball, change: LinearChange) -> tuple[Array, Array, Vector]:
    """Hessian a a' - b b' in the plane, gradient and value of f_t - f_{t-1} at the centre."""
    length, along, across = change.plane
    before = change.rows[:-1]
    e = np.asarray(change.steps @ domain.center) + change.shifts
    v = before.slopes(before.predictions(domain.center))
    shadow = length - along  # the first coordinate of b = a_{t-1}; its second is `across`
    hessians = np.empty((len(e), 2, 2))
    hessians[:, 0, 0] = along * (length + shadow)  # length^2 - shadow^2
    hessians[:, 0, 1] = hessians[:, 1, 0] = -shadow * across
    hessians[:, 1, 1] = -np.square(across)
    gradients = np.stack([e * length + v * along, -v * across], axis=1)
    return hessians, gradients, 0.5 * e * (e + 2.0 * v)


def _largest_on_edges(e0: Array, v0: Array, e1: Array, v1: Array) -> Vector:
    """Largest |u^2 - v^2| / 2 = |e (e + 2 v)| / 2 over segments: a saddle, so on a polygon's
    edges all is decided.
    """
    de, dv = e1 - e0, v1 - v0
    curved, sloped = de * (de + 2.0 * dv), e0 * (de + dv) + v0 * de
    turn = np.divide(
        -sloped, curved, out=np.zeros_like(sloped), where=np.abs(curved) > np.abs(sloped)
    )
    largest = np.zeros(e0.shape[1])
    for along in (0.0, 1.0, np.clip(turn, 0.0, 1.0)):
        e, v = e0 + along * de, v0 + along * dv
        largest = np.maximum(largest, 0.5 * np.abs(e * (e + 2.0 * v)).max(axis=0))
    return largest


# Any family: what the ranges of u, v and e allow.


def _any_gradient(domain: Domain, change: LinearChange) -> Suprema:
    now, before = change.rows[1:].dense(), change.rows[:-1].dense()
    u_low, u_high = (
        now.slopes(-domain.support(-now.features)),
        now.slopes(domain.support(now.features)),
    )
    v_low, v_high = (
        before.slopes(-domain.support(-before.features)),
        before.slopes(domain.support(before.features)),
    )
    steps = now.features - before.features
    e_low, e_high = _slope_change(
        now.family, -domain.support(-steps), domain.support(steps), change.shifts
    )
    # (u, v) lies in a rectangle cut by the strip e_low <= u - v <= e_high; a convex function is
    # largest at a corner.
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
    by_slopes = np.max([plane.squared_norms(u - v, v) for u, v in corners], axis=0)
    by_smoothness = np.square(
        np.sqrt(change.squared_gradients(domain.center)) + _smoothness(change) * reach(domain)
    )
    return Suprema(np.minimum(by_slopes, by_smoothness), exact=False)


def _any_value(domain: Domain, change: LinearChange) -> Suprema:
    far, at_center = reach(domain), np.abs(change.values(domain.center))
    by_slopes = np.sqrt(_any_gradient(domain, change).values) * far
    by_smoothness = (
        np.sqrt(change.squared_gradients(domain.center)) * far + 0.5 * _smoothness(change) * far**2
    )
    # No loss of these families is negative, so two of them differ by no more than the larger;
    # convex, at an end.
    rows = change.rows.dense()
    ends = rows.values(-domain.support(-rows.features)), rows.values(domain.support(rows.features))
    largest = np.maximum(*ends)
    return Suprema(
        np.minimum(
            at_center + np.minimum(by_slopes, by_smoothness), np.maximum(largest[1:], largest[:-1])
        ),
        False,
    )


def _smoothness(change: LinearChange) -> Vector:
    """max{L_t, L_{t-1}}: how fast the gradient of a difference of convex functions can change."""
    norms = change.rows.family.curvature * inner(change.rows.features, change.rows.features)
    return np.maximum(norms[1:], norms[:-1])


@singledispatch
def _slope_change(
    family: LinearLoss, low: Vector, high: Vector, shifts: Vector
) -> tuple[Vector, Vector]:
    """Range of e = φ'(z, y) - φ'(z', y') when z - z' is between low and high, and y' - y is the
    shift.
    """
    raise NotImplementedError(type(family))


@_slope_change.register
def _(family: SquaredLoss, low: Vector, high: Vector, shifts: Vector) -> tuple[Vector, Vector]:
    return low + shifts, high + shifts  # the slope is the residual itself


@_slope_change.register
def _(family: HuberLoss, low: Vector, high: Vector, shifts: Vector) -> tuple[Vector, Vector]:
    return np.minimum(low + shifts, 0.0), np.maximum(
        high + shifts, 0.0
    )  # clipping keeps signs and shrinks distances


@_slope_change.register
def _(family: LogisticLoss, low: Vector, high: Vector, shifts: Vector) -> tuple[Vector, Vector]:
    # The slope is sigmoid(z) - y, and a sigmoid rises by at most a quarter of any distance.
    return 0.25 * np.minimum(low, 0.0) + shifts, 0.25 * np.maximum(high, 0.0) + shifts
