"""Domains, the sets of decisions: ball, box, simplex; their enclosing balls and boxes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import singledispatch
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from swordplay.core import arguments
from swordplay.core.types import Array, Domain, Vector

OUTSIDE_TOLERANCE = 1e-12
"""Distance up to which a point outside counts as inside, relative to diameter + norm(centre)."""


def checked_points(name: str, value: Any, dim: int) -> Array:
    """Check that a value is an array of points, shape ``(..., dim)``; it may hold NaN."""
    points = value if isinstance(value, np.ndarray) else arguments.without_mask(name, value)
    if points.dtype != np.float64:
        points = arguments.array(name, points)
    if points.ndim == 0 or points.shape[-1] != dim:
        raise ValueError(
            f"{name} must have shape (..., {dim}), got {points.shape}. The last axis holds the "
            f"{dim} coordinate(s)."
        )
    return points


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
        self.radius = arguments.positive_with_safe_square("radius", radius)
        self.center: Vector = (
            np.zeros(self.dim)
            if center is None
            else arguments.vector("center", center, self.dim).copy()
        )
        self.center.flags.writeable = False

    def __repr__(self) -> str:
        center = f", center={self.center.tolist()}" if self.center.any() else ""
        return f"Ball({self.dim}, radius={self.radius}{center})"

    @property
    def diameter(self) -> float:
        """D = 2r."""
        return 2.0 * self.radius

    def project(self, points: Array) -> Array:
        r"""Nearest point of the ball: :math:`c + (x - c) \min\{1, r / \|x - c\|\}`."""
        points = checked_points("points", points, self.dim)
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
        # A point inside is returned unchanged: center + (x - center) would round it.
        is_inside = (distance <= self.radius)[..., None]
        return np.where(is_inside, points, self.center + offset * shrink[..., None])

    def project_offset(self, offsets: Array) -> Array:
        r"""Project offsets w = x - c instead of points: :math:`w \min\{1, r / \|w\|\}`."""
        distance = _norms(offsets)
        if not np.isfinite(distance).all():
            arguments.check_finite("points", offsets)
            raise ValueError("points lie too far from the ball for double precision. Rescale them.")
        is_outside = distance > self.radius
        shrink = np.where(is_outside, self.radius / np.where(is_outside, distance, 1.0), 1.0)
        return np.asarray(offsets * shrink[..., None])

    def contains(self, points: Array, atol: float = 1e-9) -> NDArray[np.bool_]:
        """Whether the distance to the centre is at most the radius plus ``atol``."""
        points = checked_points("points", points, self.dim)
        return np.asarray(_norms(points - self.center) <= self.radius + atol)

    def support(self, directions: Array) -> Array:
        r""":math:`\max_{x \in X} \langle a, x \rangle = \langle a, c \rangle + r \|a\|`."""
        directions = checked_points("directions", directions, self.dim)
        return np.asarray(directions @ self.center + self.radius * _norms(directions))


class Box:
    r"""All points between two corners.

    .. math:: X = \{x : l_j \le x_j \le u_j\}, \qquad D = \|u - l\|

    Parameters
    ----------
    lower, upper
        The corners l and u, shape ``(d,)``, l <= u in each coordinate and l < u in at least one.

    Examples
    --------
    >>> Box([0.0, 0.0], [1.0, 2.0]).project([-1.0, 5.0])
    array([0., 2.])
    """

    def __init__(self, lower: Any, upper: Any) -> None:
        self.lower: Vector = arguments.vector(
            "lower", np.atleast_1d(arguments.without_mask("lower", lower))
        ).copy()
        self.upper: Vector = arguments.vector(
            "upper", np.atleast_1d(arguments.without_mask("upper", upper)), len(self.lower)
        ).copy()
        reversed_axes = np.flatnonzero(self.lower > self.upper)
        if reversed_axes.size:
            j = int(reversed_axes[0])
            raise ValueError(
                f"lower must not exceed upper, got lower[{j}] = {self.lower[j]} > upper[{j}] = "
                f"{self.upper[j]}. Swap or correct them."
            )
        self.dim = len(self.lower)
        if (self.lower == self.upper).all():
            raise ValueError(
                f"upper must exceed lower in at least one coordinate, got lower = upper = "
                f"{self.lower}. Widen the box."
            )
        self.diameter = arguments.positive_with_safe_square(
            "upper - lower", float(np.linalg.norm(self.upper / 2 - self.lower / 2)) * 2
        )
        """D, the length of the diagonal."""
        self.center: Vector = self.lower / 2 + self.upper / 2
        for corner in (self.lower, self.upper, self.center):
            corner.flags.writeable = False

    def __repr__(self) -> str:
        return f"Box({self.lower.tolist()}, {self.upper.tolist()})"

    def settings(self) -> Mapping[str, Any]:
        """Both corners, saved with a state; centre and diameter do not determine a box."""
        return {"lower": self.lower, "upper": self.upper}

    def project(self, points: Array) -> Array:
        r"""Nearest point of the box: each coordinate clipped to its interval."""
        points = checked_points("points", points, self.dim)
        if not np.isfinite(points).all():
            arguments.check_finite("points", points)
        return np.clip(points, self.lower, self.upper)

    def contains(self, points: Array, atol: float = 1e-9) -> NDArray[np.bool_]:
        """Whether every coordinate lies between the corners, up to ``atol``."""
        points = checked_points("points", points, self.dim)
        return np.asarray(
            ((points >= self.lower - atol) & (points <= self.upper + atol)).all(axis=-1)
        )

    def support(self, directions: Array) -> Array:
        r""":math:`\max_{x \in X} \langle a, x \rangle = \sum_j \max\{a_j l_j, a_j u_j\}`."""
        directions = checked_points("directions", directions, self.dim)
        return np.asarray(np.maximum(directions * self.lower, directions * self.upper).sum(axis=-1))


class Simplex:
    r"""Non-negative coordinates with a given sum.

    .. math:: X = \{x \ge 0 : \textstyle\sum_j x_j = s\}, \qquad D = \sqrt{2}\, s

    Parameters
    ----------
    dim
        Number of coordinates d >= 2.
    total
        s > 0.

    Examples
    --------
    >>> Simplex(3).project([1.0, 1.0, -5.0])
    array([0.5, 0.5, 0. ])
    """

    def __init__(self, dim: int, total: float = 1.0) -> None:
        self.dim = arguments.dimension("dim", dim, least=2)
        self.total = arguments.positive_with_safe_square("total", total)
        self.center: Vector = np.full(self.dim, self.total / self.dim)
        self.center.flags.writeable = False

    def __repr__(self) -> str:
        return f"Simplex({self.dim}, total={self.total})"

    @property
    def diameter(self) -> float:
        """D, the distance between two corners."""
        return float(np.sqrt(2.0) * self.total)

    def project(self, points: Array) -> Array:
        r"""Nearest point of the simplex: :math:`\max\{x - \theta, 0\}`, θ such that the sum is s.

        References
        ----------
        Duchi, Shalev-Shwartz, Singer, Chandra (2008), "Efficient projections onto the l1-ball".
        """
        points = checked_points("points", points, self.dim)
        if not np.isfinite(points).all():
            arguments.check_finite("points", points)
        # Adding a constant to all coordinates does not change the projection. With the largest
        # coordinate at 0 all terms of the cumulative sum have one sign and do not cancel.
        shifted = points - points.max(axis=-1, keepdims=True)
        descending = -np.sort(-shifted, axis=-1)
        excess = np.cumsum(descending, axis=-1) - self.total
        ranks = np.arange(1, self.dim + 1)
        # Number of positive coordinates of the projection, at least 1; they are the largest of x.
        count = (descending - excess / ranks > 0).sum(axis=-1, keepdims=True)
        threshold = np.take_along_axis(excess, count - 1, axis=-1) / count  # θ
        return np.asarray(np.maximum(shifted - threshold, 0.0))

    def contains(self, points: Array, atol: float = 1e-9) -> NDArray[np.bool_]:
        """Whether all coordinates are at least ``-atol`` and the sum is s up to ``d * atol``."""
        points = checked_points("points", points, self.dim)
        has_total = np.abs(points.sum(axis=-1) - self.total) <= self.dim * atol
        return np.asarray((points >= -atol).all(axis=-1) & has_total)

    def support(self, directions: Array) -> Array:
        r""":math:`\max_{x \in X} \langle a, x \rangle = s \max_j a_j`."""
        directions = checked_points("directions", directions, self.dim)
        return np.asarray(self.total * directions.max(axis=-1))


@final
class Shrunken:
    r"""A domain X scaled towards its centre c: all points :math:`c + s (x - c)` with x in X.

    Parameters
    ----------
    domain
        The domain that is scaled.
    factor
        Scale factor s in (0, 1].
    """

    def __init__(self, domain: Domain, factor: float) -> None:
        self.domain = arguments.domain(domain)
        self.factor = arguments.positive("factor", factor)
        if self.factor > 1:
            raise ValueError(f"factor must be at most 1, got {self.factor}.")

    def __repr__(self) -> str:
        return f"Shrunken({self.domain!r}, {self.factor})"

    def settings(self) -> Mapping[str, Any]:
        """Constructor arguments, saved with a learner's state."""
        return {"domain": self.domain, "factor": self.factor}

    @property
    def dim(self) -> int:
        """Number of coordinates d."""
        return self.domain.dim

    @property
    def diameter(self) -> float:
        """s times the diameter of the domain."""
        return self.factor * self.domain.diameter

    @property
    def center(self) -> Vector:
        """Centre of the domain."""
        return self.domain.center

    def project(self, points: Array) -> Array:
        """Nearest point to each of the points: scale up by 1/s, project, scale down by s."""
        c = self.center
        return np.asarray(
            c + self.factor * (self.domain.project(c + (np.asarray(points) - c) / self.factor) - c)
        )

    def contains(self, points: Array, atol: float = 1e-9) -> NDArray[np.bool_]:
        """Whether each point, scaled up by 1/s, lies in the domain."""
        c = self.center
        return self.domain.contains(
            c + (np.asarray(points) - c) / self.factor, atol=atol / self.factor
        )

    def support(self, directions: Array) -> Array:
        """Largest inner product of each direction with a point of the set."""
        at_center = np.asarray(directions) @ self.center
        return np.asarray(at_center + self.factor * (self.domain.support(directions) - at_center))


@singledispatch
def reach(domain: Domain) -> float:
    r"""Upper bound on the distance of a point from the centre, :math:`\max_{x \in X} \|x - c\|`."""
    box = enclosing_box(domain)
    # norm of the vector to the farthest corner of the box
    box_reach = np.linalg.norm(np.maximum(box.upper - domain.center, domain.center - box.lower))
    return min(float(domain.diameter), float(box_reach))


@reach.register
def _(domain: Ball) -> float:
    return domain.radius


@reach.register
def _(domain: Box) -> float:
    return domain.diameter / 2


@reach.register
def _(domain: Simplex) -> float:
    return domain.total * math.sqrt(1.0 - 1.0 / domain.dim)


def enclosing_ball(domain: Domain) -> Ball:
    """Ball around the domain's centre that contains the domain."""
    return Ball(domain.dim, reach(domain), domain.center)


def enclosing_box(domain: Domain) -> Box:
    """Smallest box that contains the domain; in one dimension the domain itself."""
    axes = np.eye(domain.dim)
    lower, upper = -domain.support(-axes), domain.support(axes)
    # np.minimum: where the domain is flat, rounding can put lower above upper.
    return Box(np.minimum(lower, upper), upper)


@singledispatch
def inner_radius(domain: Domain) -> float:
    """Radius of a ball around the centre that lies in the domain.

    Raises
    ------
    ValueError
        If the domain is not a ball, box or simplex: no formula is known.
    """
    raise ValueError(
        f"inner_radius must be given for {domain!r}: the radius of a ball around its centre that "
        "lies inside."
    )


@inner_radius.register
def _(domain: Ball) -> float:
    return domain.radius


@inner_radius.register
def _(domain: Box) -> float:
    return float((domain.upper - domain.lower).min()) / 2


@inner_radius.register
def _(domain: Simplex) -> float:
    return 0.0  # the coordinates have a fixed sum, so that no ball lies in the simplex


def _norms(offsets: Array) -> Array:
    """Euclidean norms along the last axis, without overflow of squares of huge entries."""
    norms = np.sqrt(np.einsum("...i,...i->...", offsets, offsets))
    if np.isinf(norms).any():
        scale = np.abs(offsets).max(axis=-1, keepdims=True)
        scale = np.where((scale > 0) & np.isfinite(scale), scale, 1.0)
        norms = scale[..., 0] * np.sqrt(np.square(offsets / scale).sum(axis=-1))
    return np.asarray(norms)
