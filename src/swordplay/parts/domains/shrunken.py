"""A domain made smaller around its centre, so that a step in any direction stays inside."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from swordplay.core import arguments
from swordplay.core.types import Array, Domain, Vector
from swordplay.parts.domains.ball import Ball
from swordplay.parts.domains.box import Box
from swordplay.parts.domains.simplex import Simplex


@final
class Shrunken:
    r"""All points :math:`c + s (x - c)` for x in a domain of centre c.

    Parameters
    ----------
    domain
        What is made smaller.
    share
        s in (0, 1].
    """

    def __init__(self, domain: Domain, share: float) -> None:
        self.domain = arguments.domain(domain)
        self.share = arguments.positive("share", share)
        if self.share > 1:
            raise ValueError(f"share must be at most 1, got {self.share}.")

    def __repr__(self) -> str:
        return f"Shrunken({self.domain!r}, {self.share})"

    def settings(self) -> Mapping[str, Any]:
        """What is made smaller, and how much."""
        return {"domain": self.domain, "share": self.share}

    @property
    def dim(self) -> int:
        """Number of coordinates d."""
        return self.domain.dim

    @property
    def diameter(self) -> float:
        """s times that of the domain."""
        return self.share * self.domain.diameter

    @property
    def center(self) -> Vector:
        """The domain's."""
        return self.domain.center

    def project(self, points: Array) -> Array:
        """Nearest point to each of the points: grow, project, shrink."""
        c = self.center
        return np.asarray(
            c + self.share * (self.domain.project(c + (np.asarray(points) - c) / self.share) - c)
        )

    def contains(self, points: Array, atol: float = 1e-9) -> NDArray[np.bool_]:
        """Whether each point, grown, lies in the domain."""
        c = self.center
        return self.domain.contains(
            c + (np.asarray(points) - c) / self.share, atol=atol / self.share
        )

    def support(self, directions: Array) -> Array:
        """Largest inner product of each direction with a point."""
        at_center = np.asarray(directions) @ self.center
        return np.asarray(at_center + self.share * (self.domain.support(directions) - at_center))


@singledispatch
def inner_radius(domain: Domain) -> float:
    """Radius of a ball around the centre that lies in the domain.

    Raises
    ------
    ValueError
        If none is known.
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
    return 0.0  # flat: its coordinates have one sum
