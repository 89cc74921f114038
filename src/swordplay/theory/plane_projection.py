r"""Projection of a domain onto the plane spanned by two consecutive rows of features.

The change between two losses of linear predictions depends on x only through two inner products,
with the row :math:`a = a_t` and with the difference :math:`\delta = a_t - a_{t-1}`. Everything is
computed from :math:`\delta` itself, and not from the difference of two inner products that nearly
cancel: with slow drift only :math:`\delta` matters.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from swordplay.core.types import Array, Matrix, Vector
from swordplay.parts.domains import Box, Simplex
from swordplay.parts.streams.linear import LinearRounds, inner


class Plane(NamedTuple):
    r"""Coordinates of the plane of B pairs of rows, shape ``(B,)`` each.

    In them :math:`a = (\text{length}, 0)` and :math:`\delta = (\text{along}, -\text{across})`.
    """

    length: Vector
    along: Vector
    across: Vector

    def squared_norms(self, e: Array, v: Array) -> Array:
        r""":math:`\|e a + v \delta\|^2` for e and v of shape ``(..., B)``."""
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
    def of_rows(cls, rows: LinearRounds) -> RowPairs:
        """All pairs of a row and the row before it."""
        rows = rows.dense()
        return cls(rows.features[1:], rows.features[:-1], rows.targets[1:], rows.targets[:-1])

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
    length = np.sqrt(inner(rows, rows))
    inverse = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
    along = inner(rows, differences) * inverse
    perpendicular = differences - _scale_rows(rows, along * inverse)
    return Plane(length, along, np.sqrt(inner(perpendicular, perpendicular)))


@singledispatch
def project_corners(domain: Any, pairs: RowPairs) -> tuple[Array, Array]:
    r"""Coordinates (e, v) of corners whose convex hull is the projection of a box or simplex.

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
    # A box has 2^d corners, but its projection onto a plane is a zonogon of 2d: the path along the
    # projected axes in the order of their angles, and the opposite path back.
    differences, rows_before = pairs.differences, pairs.rows_before
    half_sides = (domain.upper - domain.lower) / 2
    e_center = differences @ domain.center + pairs.target_decreases
    v_center = rows_before @ domain.center - pairs.targets_before
    e_axes, v_axes = (differences * half_sides).T, (rows_before * half_sides).T
    points_down = (v_axes < 0) | ((v_axes == 0) & (e_axes < 0))
    e_axes, v_axes = np.where(points_down, -e_axes, e_axes), np.where(points_down, -v_axes, v_axes)
    order = np.argsort(np.arctan2(_normalize(v_axes), _normalize(e_axes)), axis=0)
    e_path = _corners_along(np.take_along_axis(e_axes, order, axis=0))
    v_path = _corners_along(np.take_along_axis(v_axes, order, axis=0))
    return np.concatenate([e_center + e_path, e_center - e_path]), np.concatenate(
        [v_center + v_path, v_center - v_path]
    )


def _corners_along(axes: Array) -> Array:
    """The first d corners of a zonogon, from minus the sum of all axes, along one side."""
    sums = np.cumsum(axes, axis=0)
    return np.asarray(2.0 * (sums - axes) - sums[-1])


def _normalize(axes: Array) -> Array:
    """Scale each coordinate to at most 1, so that angles of tiny vectors stay distinct.

    The order of the angles does not change.
    """
    largest = np.abs(axes).max(axis=0)
    return np.asarray(axes / np.where(largest > 0, largest, 1.0))


def _scale_rows(rows: Any, factors: Vector) -> Any:
    """Each row times its factor, dense or sparse."""
    return (
        rows * factors[:, None]
        if isinstance(rows, np.ndarray)
        else rows.multiply(factors[:, None]).tocsr()
    )
