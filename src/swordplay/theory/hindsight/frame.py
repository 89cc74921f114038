"""A domain in coordinates of its own: the centre is the origin, distances are kept, and no
direction is flat.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from swordplay.core.types import Array, Domain, Matrix, Vector
from swordplay.parts.domains import Ball, Box, Simplex, reach

FLAT = 1e-13
"""Sides of a box that are shorter than this share of the longest one count as flat: what happens
across them is rounding.
"""


@dataclass(frozen=True)
class Frame:
    r"""The domain as :math:`X = \{c + Bw : \|w\| \le r, \.

    Gw \le g\}` with orthonormal columns in B.

    Distances between points are those between their coordinates w, so path lengths are the same in
    both.

    Attributes
    ----------
    domain
        X itself.
    basis
        B, shape ``(d, n)``, n the dimension of the domain's affine hull.
    radius
        r, infinite if walls alone hold the domain.
    normals, distances
        G, shape ``(m, n)``, and g > 0, shape ``(m,)``.
    whole
        Whether radius and walls are all there is to the domain, or only a ball around a stranger's.
    """

    domain: Domain
    basis: Matrix
    radius: float
    normals: Matrix
    distances: Vector
    whole: bool = True

    @property
    def dim(self) -> int:
        """n, the number of coordinates."""
        return int(self.basis.shape[1])

    @property
    def depth(self) -> float:
        """Distance from the centre to the nearest boundary."""
        lengths = np.sqrt(np.einsum("ij,ij->i", self.normals, self.normals))
        return min(self.radius, float((self.distances / lengths).min(initial=np.inf)))

    def inward(self, points: Array) -> Array:
        """Coordinates w of points x."""
        return np.asarray((points - self.domain.center) @ self.basis)

    def outward(self, coordinates: Array) -> Array:
        """Points x of coordinates w, moved into the domain where rounding left them outside."""
        return self.domain.project(self.domain.center + coordinates @ self.basis.T)

    def support(self, directions: Array) -> Array:
        """Largest inner product of each direction with coordinates of the domain, shape
        ``(...,)``.
        """
        ambient = directions @ self.basis.T
        return self.domain.support(ambient) - ambient @ self.domain.center


@singledispatch
def frame_of(domain: Domain) -> Frame:
    """The coordinates of a domain; of a stranger's only a ball around it is known."""
    d = domain.dim
    return Frame(domain, np.eye(d), reach(domain), np.empty((0, d)), np.empty(0), whole=False)


@frame_of.register
def _(domain: Ball) -> Frame:
    d = domain.dim
    return Frame(domain, np.eye(d), domain.radius, np.empty((0, d)), np.empty(0))


@frame_of.register
def _(domain: Box) -> Frame:
    sides = domain.upper - domain.lower
    wide = sides > FLAT * sides.max()
    half, axes = sides[wide] / 2, np.eye(int(wide.sum()))
    return Frame(
        domain,
        np.eye(domain.dim)[:, wide],
        np.inf,
        np.vstack([axes, -axes]),
        np.concatenate([half, half]),
    )


@frame_of.register
def _(domain: Simplex) -> Frame:
    d = domain.dim
    # An orthonormal basis of the vectors whose entries sum to 0: all columns but the one along (1,
    # ..., 1).
    basis = np.linalg.qr(np.column_stack([np.ones(d), np.eye(d)[:, : d - 1]]))[0][:, 1:]
    return Frame(domain, basis, np.inf, -basis, np.full(d, domain.total / d))
