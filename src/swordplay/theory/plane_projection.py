"""What changes between two rows see of a domain: its shadow in the plane of the two."""

from __future__ import annotations

from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from swordplay.core.types import Array, Matrix, Vector
from swordplay.parts.domains import Box, Simplex
from swordplay.parts.streams.linear import Rows, inner


class Plane(NamedTuple):
    r"""Coordinates in which :math:`a = (\text{length}, 0)` and :math:`\delta = (\text{along},
    -\text{across})`.
    """

    length: Vector
    along: Vector
    across: Vector

    def squared_norms(self, e: Array, v: Array) -> Array:
        r""":math:`\|e a + v \delta\|^2` for e and v of shape ``(..., B)``."""
        return np.asarray(np.square(e * self.length + v * self.along) + np.square(v * self.across))


class Pairs(NamedTuple):
    """B pairs of rows that follow each other, dense."""

    now: Matrix
    """a, shape ``(B, d)``."""
    before: Matrix
    """b, shape ``(B, d)``."""
    targets: Vector
    targets_before: Vector

    @classmethod
    def of_rows(cls, rows: Rows) -> Pairs:
        """Each row with the one before it."""
        rows = rows.dense()
        return cls(rows.features[1:], rows.features[:-1], rows.targets[1:], rows.targets[:-1])

    @property
    def steps(self) -> Matrix:
        """δ, shape ``(B, d)``."""
        return self.now - self.before

    @property
    def shifts(self) -> Vector:
        """What moving targets add to the residuals."""
        return self.targets_before - self.targets


def plane_of(now: Any, steps: Any) -> Plane:
    """The plane of each change, for rows dense or sparse."""
    length = np.sqrt(inner(now, now))
    inverse = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
    along = inner(now, steps) * inverse
    rest = steps - _scaled(now, along * inverse)
    return Plane(length, along, np.sqrt(inner(rest, rest)))


@singledispatch
def shadow(domain: Any, pairs: Pairs) -> tuple[Array, Array]:
    r"""Images (e, v) of the domain's extreme points, shape ``(V, B)`` each.

    .. math:: e = \langle \delta, x \rangle + y_{t-1} - y_t, \qquad v = \langle a_{t-1}, x \rangle -
        y_{t-1}
    """
    raise NotImplementedError(type(domain))


@shadow.register
def _(domain: Simplex, pairs: Pairs) -> tuple[Array, Array]:
    return (
        domain.total * pairs.steps.T + pairs.shifts,
        domain.total * pairs.before.T - pairs.targets_before,
    )


@shadow.register
def _(domain: Box, pairs: Pairs) -> tuple[Array, Array]:
    # A box has 2^d corners, but its shadow in a plane is a zonogon of 2d: walk along the shadows of
    # the axes in the order of their angles, and back on the other side.
    steps, before = pairs.steps, pairs.before
    half = (domain.upper - domain.lower) / 2
    e_center, v_center = (
        steps @ domain.center + pairs.shifts,
        before @ domain.center - pairs.targets_before,
    )
    e_axes, v_axes = (steps * half).T, (before * half).T
    down = (v_axes < 0) | ((v_axes == 0) & (e_axes < 0))
    e_axes, v_axes = np.where(down, -e_axes, e_axes), np.where(down, -v_axes, v_axes)
    order = np.argsort(np.arctan2(_unit(v_axes), _unit(e_axes)), axis=0)
    e_path, v_path = (
        _walk(np.take_along_axis(e_axes, order, axis=0)),
        _walk(np.take_along_axis(v_axes, order, axis=0)),
    )
    return np.concatenate([e_center + e_path, e_center - e_path]), np.concatenate(
        [v_center + v_path, v_center - v_path]
    )


def _walk(axes: Array) -> Array:
    """From -sum of all axes, the first d corners along one side of the zonogon."""
    travelled = np.cumsum(axes, axis=0)
    return np.asarray(2.0 * (travelled - axes) - travelled[-1])


def _unit(axes: Array) -> Array:
    """Scaled so that tiny components still tell angles apart.

    The order of angles does not change.
    """
    largest = np.abs(axes).max(axis=0)
    return np.asarray(axes / np.where(largest > 0, largest, 1.0))


def _scaled(rows: Any, factors: Vector) -> Any:
    """Each row times its factor, dense or sparse."""
    return (
        rows * factors[:, None]
        if isinstance(rows, np.ndarray)
        else rows.multiply(factors[:, None]).tocsr()
    )
