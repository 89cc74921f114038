r"""Where experts stand, kept so that a short step far from the origin is not rounded away.

A point x of a ball around c is kept to the last bit of x. Its distance from the centre enters the
certificate divided by :math:`\eta`: with steps of 1e-8 a bit of a point at 25 counts for 1e-7, and
every round adds one. So in a ball whose centre is not the origin experts keep :math:`w = \hat x -
c` itself, and :math:`\hat x = c + w` follows from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from swordplay.core.types import Domain, Matrix, State
from swordplay.parts.domains import Ball
from swordplay.parts.experts.expert import ExpertState

OFFSET = "offset"


def at_the_center(domain: Domain, experts: int) -> ExpertState:
    """So many experts before the first round, expecting nothing."""
    points = np.tile(domain.center, (experts, 1))
    nothing, away = np.zeros_like(points), type(domain) is Ball and domain.center.any()
    return ExpertState(points, points, nothing, np.zeros(experts), nothing if away else ())


class Moved(NamedTuple):
    """Where a projected step leads, shapes ``(N, d)``."""

    points: Matrix
    offset: Any
    """The same as seen from the centre, or () where that is not kept."""
    change: Matrix
    """By how much: the stride, and what the projection undid of it.

    A point keeps no more of a stride than its last bit shows, and the certificate sums these by
    1/eta."""


def moved(domain: Domain, points: Matrix, offset: Any, strides: Matrix) -> Moved:
    """Proj[x - stride] of every expert.

    Parameters
    ----------
    domain
        X.
    points
        x, shape ``(N, d)``.
    offset
        x - c, shape ``(N, d)``, or () where it is not kept.
    strides
        Step size times gradient, shape ``(N, d)``.
    """
    if not len(offset):
        reached = points - strides
        after = domain.project(reached)
        return Moved(after, (), (after - reached) - strides)
    assert isinstance(domain, Ball)
    reached = offset - strides
    offset = domain.project_offset(reached)
    return Moved(np.asarray(domain.center + offset), offset, (offset - reached) - strides)


def from_center(experts: Any, domain: Domain) -> Matrix:
    """w = xhat - c of experts of any kind, shape ``(N, d)``."""
    offset = getattr(experts, OFFSET, ())
    return np.asarray(offset if len(offset) else experts.base - domain.center)


def require_inside(experts: Any, domain: Domain, slack: float) -> None:
    """Refuse experts that do not stand in their domain, or whose offsets are not those of their
    points.

    Raises
    ------
    ValueError
        If either is off by more than ``slack``.
    """
    points = np.vstack([experts.points, experts.base])
    if not (np.isfinite(points).all() and domain.contains(points, atol=slack).all()):
        raise ValueError(
            "state has points outside the domain. Make the learner with the domain it was saved "
            "with."
        )
    if np.abs(from_center(experts, domain) + domain.center - experts.base).max() > slack:
        raise ValueError(
            "state has offsets that are not those of its points. The state is damaged: load an "
            "earlier one."
        )


def renewed(saved: Mapping[str, Any], wanted: State, domain: Domain) -> State:
    """A saved state, with the offsets that states of before did not hold: what their points say."""
    lacking = [name for name in wanted if name.rpartition(".")[2] == OFFSET and name not in saved]
    bases = {
        name: np.asarray(saved.get(name.removesuffix(OFFSET) + "base", ())) for name in lacking
    }
    known = {
        name: base
        for name, base in bases.items()
        if base.shape == wanted[name].shape and base.dtype.kind in "fiu"
    }
    return {**saved, **{name: base - domain.center for name, base in known.items()}}
