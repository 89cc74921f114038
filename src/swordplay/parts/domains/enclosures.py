"""How far a domain reaches: balls and boxes that hold it, for domains with no formula of their
own.
"""

from __future__ import annotations

import math
from functools import singledispatch

import numpy as np

from swordplay.core.types import Domain
from swordplay.parts.domains import Ball, Box, Simplex

ON_THE_DOMAIN = 1e-12
"""Distance of a point from its projection that counts as none, relative to the numbers that
points are made of.
"""


@singledispatch
def reach(domain: Domain) -> float:
    r"""Largest distance from the centre, :math:`\max_{x \in X} \|x - c\|`, or a bound on it."""
    box = enclosing_box(domain)
    to_corner = np.linalg.norm(np.maximum(box.upper - domain.center, domain.center - box.lower))
    return min(float(domain.diameter), float(to_corner))


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
    """A ball around the domain's centre that holds the domain."""
    return Ball(domain.dim, reach(domain), domain.center)


def enclosing_box(domain: Domain) -> Box:
    """The smallest box that holds the domain; in one dimension the domain itself."""
    axes = np.eye(domain.dim)
    lower, upper = -domain.support(-axes), domain.support(axes)
    return Box(np.minimum(lower, upper), upper)
