r"""The state of a pool of experts, the interface of all kinds of experts, and the projected step.

Experts over a ball whose centre c is not the origin keep the offset :math:`w = \hat x - c` beside
the point :math:`\hat x = c + w`. The certificate divides distances from the centre by
:math:`\eta`: with steps of 1e-8 the last bit of a coordinate of 25 counts for 1e-7, and every round
adds such an error. The offset has no such rounding error.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from swordplay.core.types import Domain, Gradient, Matrix, State, Vector
from swordplay.parts.domains import Ball
from swordplay.parts.experts.step_sizes import too_short


class ExpertState(NamedTuple):
    """What N experts need for their next round, a row each."""

    points: Matrix
    """x_t, shape ``(N, d)``: where the experts stand in the coming round."""
    base: Matrix
    """xhat_t, shape ``(N, d)``: where they step from (the points themselves for OGD)."""
    replay: Matrix
    """M_t, shape ``(N, d)``: the gradient they expect (0 for OGD)."""
    energy: Vector
    """Sum of the squared surprises so far, shape ``(N,)``."""
    offset: Any = ()
    """xhat_t - c, shape ``(N, d)``, in a ball whose centre is not the origin: to more digits
    than ``base`` has there.
    """


class Move(NamedTuple):
    """What a round showed about each expert, for the certificate.

    Shapes ``(N,)`` but for the last.
    """

    step_sizes: Vector
    """The steps this round was played with; inf if no gradient was ever met."""
    surprise: Vector
    """Squared distance of gradient and expectation, norm(g_t - M_t)^2."""
    lead: Vector
    """Squared distance that optimism moved the points ahead, norm(x_t - xhat_t)^2."""
    change: Any = ()
    """xhat_{t+1} - xhat_t, shape ``(N, d)``, from whoever knows it better than the difference of
    the two does.
    """


class Experts(Protocol):
    """A pool of experts over one domain."""

    def start(self) -> ExpertState:
        """All at the domain's centre."""
        ...

    def step(self, state: ExpertState, gradient: Gradient) -> tuple[ExpertState, Move]:
        """Move all experts along a gradient field."""
        ...

    def fork(self, state: ExpertState) -> ExpertState:
        """Copy the last expert; the copy goes on with the next step size of the pool."""
        ...

    def step_sizes(self, state: ExpertState) -> Vector:
        """Step sizes of the coming round, shape ``(N,)``."""
        ...


def copied_last(rows: Any) -> Any:
    """The rows, and the last one again; nothing where nothing is kept."""
    return np.concatenate([rows, rows[-1:]]) if len(rows) else rows


def strides(step_sizes: Vector, gradients: Matrix) -> Matrix:
    """Step size times gradient, row by row.

    An infinite step means no gradient was ever met: stand still.

    Raises
    ------
    ValueError
        If a gradient was met, but is so short that its square vanished.
    """
    endless = np.isinf(step_sizes)
    if endless.any() and (longest := float(np.abs(gradients[endless]).max())) > 0:
        raise ValueError(too_short(longest))
    return np.where(endless, 0.0, step_sizes)[:, None] * gradients


def squared_norms(rows: Matrix) -> Vector:
    """Squared Euclidean norm of each row."""
    return np.asarray(np.einsum("ij,ij->i", rows, rows))


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
