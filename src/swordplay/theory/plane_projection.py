r"""Projection of a domain onto the plane spanned by two consecutive rows of features.

The change between two losses of linear predictions depends on x only through two inner products,
with the row :math:`a = a_t` and with the difference :math:`\delta = a_t - a_{t-1}`. With slow drift
:math:`\langle a_t, x \rangle - \langle a_{t-1}, x \rangle` would lose its digits to cancellation,
so :math:`\langle \delta, x \rangle` is computed instead.

For squared losses the change of the gradient at x is :math:`e a + v \delta`, with e the change of
the residual at x and v the previous residual.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from swordplay.core.types import Array, Matrix, Vector
from swordplay.parts.domains import Box, Simplex
from swordplay.parts.streams.linear import LinearRounds, row_products


class Plane(NamedTuple):
    r"""Orthonormal coordinates in the planes of B pairs of rows, shape ``(B,)`` each.

    In them :math:`a = (\text{length}, 0)` and :math:`\delta = (\text{along}, -\text{across})`.
    """

    length: Vector
    along: Vector
    across: Vector

    def squared_norms(self, e: Array, v: Array) -> Array:
        r""":math:`\|e a + v \delta\|^2` for values e and v of shape ``(..., B)``."""
        return np.asarray(np.square(e * self.length + v * self.along) + np.square(v * self.across))


class RowPairs(NamedTuple):
    """B pairs of consecutive rows of features, dense, with their targets."""

    rows: Matrix
    """Rows a, shape ``(B, d)``."""
    rows_before: Matrix
    """Previous rows, shape ``(B, d)``."""
    targets: Vector
    """Targets of the rows, shape ``(B,)``."""
    targets_before: Vector
    """Targets of the previous rows, shape ``(B,)``."""

    @classmethod
    def of_rounds(cls, rounds: LinearRounds) -> RowPairs:
        """All pairs of a round's row and the row of the round before."""
        dense = rounds.dense()
        return cls(dense.features[1:], dense.features[:-1], dense.targets[1:], dense.targets[:-1])

    @property
    def differences(self) -> Matrix:
        """δ, shape ``(B, d)``."""
        return self.rows - self.rows_before

    @property
    def target_decreases(self) -> Vector:
        """y_{t-1} - y_t, the part of the residuals' change that the targets cause, ``(B,)``."""
        return self.targets_before - self.targets


def plane_of(rows: Any, differences: Any) -> Plane:
    """The plane of rows a and differences δ, shape ``(B, d)``, both dense or both sparse."""
    length = np.sqrt(row_products(rows, rows))
    inverse_length = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
    along = row_products(rows, differences) * inverse_length
    perpendicular = differences - _scale_rows(rows, along * inverse_length)
    return Plane(length, along, np.sqrt(row_products(perpendicular, perpendicular)))


@singledispatch
def project_corners(domain: Any, pairs: RowPairs) -> tuple[Array, Array]:
    r"""Values (e, v) at V points, whose convex hull is the set of (e, v) over a box or simplex.

    e is the change of the residual at x, v the previous residual:

    .. math:: e = \langle \delta, x \rangle + y_{t-1} - y_t, \qquad v = \langle a_{t-1}, x \rangle -
        y_{t-1}

    Returns
    -------
    tuple
        e and v, shape ``(V, B)`` each. For a box they are in order around the polygon.
    """
    raise NotImplementedError(type(domain))


@project_corners.register
def _(domain: Simplex, pairs: RowPairs) -> tuple[Array, Array]:
    return (
        domain.total * pairs.differences.T + pairs.target_decreases,
        domain.total * pairs.rows_before.T - pairs.targets_before,
    )


@project_corners.register
def _(domain: Box, pairs: RowPairs) -> tuple[Array, Array]:
    # A box has 2^d corners, but its projection onto a plane is a polygon with 2d corners (a
    # zonogon): its sides are the projected sides of the box, sorted by angle, and their negatives.
    differences, rows_before = pairs.differences, pairs.rows_before
    half_sides = (domain.upper - domain.lower) / 2
    e_center = differences @ domain.center + pairs.target_decreases
    v_center = rows_before @ domain.center - pairs.targets_before
    e_sides, v_sides = (differences * half_sides).T, (rows_before * half_sides).T
    is_downward = (v_sides < 0) | ((v_sides == 0) & (e_sides < 0))
    # A side may be replaced by its negative: all are turned upward, to angles from 0 to pi.
    e_sides = np.where(is_downward, -e_sides, e_sides)
    v_sides = np.where(is_downward, -v_sides, v_sides)
    by_angle = np.argsort(np.arctan2(_normalize(v_sides), _normalize(e_sides)), axis=0)
    e_offsets = _half_of_corners(np.take_along_axis(e_sides, by_angle, axis=0))
    v_offsets = _half_of_corners(np.take_along_axis(v_sides, by_angle, axis=0))
    return np.concatenate([e_center + e_offsets, e_center - e_offsets]), np.concatenate(
        [v_center + v_offsets, v_center - v_offsets]
    )


def _half_of_corners(half_sides: Array) -> Array:
    """For each zonogon, one coordinate of d of its corners, relative to its centre, ``(d, B)``."""
    # Corner k is sum_{j < k} h_j - sum_{j >= k} h_j; the other d corners are the negatives.
    sums = np.cumsum(half_sides, axis=0)
    return np.asarray(2.0 * (sums - half_sides) - sums[-1])


def _normalize(half_sides: Array) -> Array:
    """Divide one coordinate by its largest magnitude, so that angles of tiny vectors stay distinct.

    Scaling a coordinate does not change the order of the angles.
    """
    largest = np.abs(half_sides).max(axis=0)
    return np.asarray(half_sides / np.where(largest > 0, largest, 1.0))


def _scale_rows(rows: Any, factors: Vector) -> Any:
    """Each row times its factor, dense or sparse."""
    return (
        rows * factors[:, None]
        if isinstance(rows, np.ndarray)
        else rows.multiply(factors[:, None]).tocsr()
    )
