"""The Euclidean ball."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from swordplay.core import arguments
from swordplay.core.types import Array, Vector


class Ball:
    r"""All points within ``radius`` of ``center``.

    .. math:: X = \{x \in \mathbb{R}^d : \|x - c\| \le r\}, \qquad D = 2r

    Parameters
    ----------
    dim
        Number of coordinates d.
    radius
        r > 0.
    center
        c, shape ``(d,)``; the origin unless given.

    Examples
    --------
    >>> Ball(2).project([3.0, 4.0])
    array([0.6, 0.8])
    """

    def __init__(self, dim: int, radius: float = 1.0, center: Any = None) -> None:
        self.dim = arguments.dimension("dim", dim)
        self.radius = arguments.safe_size("radius", radius)
        self.center: Vector = (
            np.zeros(self.dim)
            if center is None
            else arguments.vector("center", center, self.dim).copy()
        )
        self.center.flags.writeable = False

    def __repr__(self) -> str:
        at = f", center={self.center.tolist()}" if self.center.any() else ""
        return f"Ball({self.dim}, radius={self.radius}{at})"

    @property
    def diameter(self) -> float:
        """D = 2r."""
        return 2.0 * self.radius

    def project(self, points: Array) -> Array:
        r""":math:`\arg\min_{z \in X} \|z - x\| = c + (x - c) \min\{1, r / \|x - c\|\}`, for each
        point.
        """
        points = arguments.points("points", points, self.dim)
        offset = points - self.center
        distance = _norms(offset)
        if not (distance > self.radius).any():
            if not np.isfinite(distance).all():
                arguments.check_finite("points", points)
            return points.copy()
        shrink = self.radius / np.maximum(distance, self.radius)
        if not np.isfinite(distance).all():
            arguments.check_finite("points", points)
            raise ValueError("points lie too far from the ball for double precision. Rescale them.")
        # Points inside are returned as they came: center + (x - center) would round them.
        inside = (distance <= self.radius)[..., None]
        return np.where(inside, points, self.center + offset * shrink[..., None])

    def project_offset(self, offsets: Array) -> Array:
        r""":math:`w \min\{1, r / \|w\|\}`, for each w: points and what is nearest to them, both
        as seen from the centre.
        """
        distance = _norms(offsets)
        if not np.isfinite(distance).all():
            arguments.check_finite("points", offsets)
            raise ValueError("points lie too far from the ball for double precision. Rescale them.")
        outside = distance > self.radius
        return np.asarray(
            offsets
            * np.where(outside, self.radius / np.where(outside, distance, 1.0), 1.0)[..., None]
        )

    def contains(self, points: Array, atol: float = 1e-9) -> NDArray[np.bool_]:
        """Whether the distance to the centre is at most the radius plus ``atol``."""
        points = arguments.points("points", points, self.dim)
        return np.asarray(_norms(points - self.center) <= self.radius + atol)

    def support(self, directions: Array) -> Array:
        r""":math:`\max_{x \in X} \langle a, x \rangle = \langle a, c \rangle + r \|a\|`, for
        each direction.
        """
        directions = arguments.points("directions", directions, self.dim)
        return np.asarray(directions @ self.center + self.radius * _norms(directions))


def _norms(offsets: Array) -> Array:
    """Euclidean norms along the last axis, without overflow for huge entries."""
    norms = np.sqrt(np.einsum("...i,...i->...", offsets, offsets))
    if np.isinf(norms).any():
        scale = np.abs(offsets).max(axis=-1, keepdims=True)
        scale = np.where((scale > 0) & np.isfinite(scale), scale, 1.0)
        norms = scale[..., 0] * np.sqrt(np.square(offsets / scale).sum(axis=-1))
    return np.asarray(norms)
