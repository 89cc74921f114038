r"""Domains of which only a projection and a support function are known, by augmented Lagrangians.

A stranger's domain X joins the losses as :math:`\tfrac{\sigma}{2} \operatorname{dist}^2(u_t + y_t /
\sigma, X)`, a smooth convex function whose gradient is a projection, inside a ball that holds X.
The multipliers y learn what the domain has to push.

References
----------
Rockafellar (1976), "Augmented Lagrangians and applications of the proximal point algorithm in
convex programming".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from swordplay.core.types import Array, Matrix, Vector
from swordplay.parts.domains import enclosing_ball
from swordplay.theory.hindsight import interior_point
from swordplay.theory.hindsight.cones import inner
from swordplay.theory.hindsight.duality import Answer, lower_bound, objective
from swordplay.theory.hindsight.losses_in_domain import Frame, Rounds, frame_of, positive

TURNS = 40
"""Updates of the multipliers before a gap is given up."""
STIFFENING = 4.0
"""Factor of σ where an update has not halved the distance to the domain."""
NUDGE = 1e-6
"""Of the diameter: how far apart the projections are that make the derivative of a projection."""


@dataclass(frozen=True)
class HeldRounds:
    """Losses, plus half the squared distance to the domain of shifted points."""

    losses: Rounds
    frame: Frame
    stiffness: float
    pushes: Matrix
    capped = None
    affine = False

    @property
    def features(self) -> Matrix:
        """Those of the losses."""
        return self.losses.features

    def values(self, points: Matrix) -> Vector:
        """The losses, and what the distance costs."""
        off = self.push(points)
        return np.asarray(self.losses.values(points) + inner(off, off) / (2.0 * self.stiffness))

    def gradients(self, points: Matrix) -> Matrix:
        """Those of the losses, and the push of the domain."""
        return np.asarray(self.losses.gradients(points) + self.push(points))

    def curvature(self, points: Matrix) -> tuple[Vector, Array]:
        """Those of the losses, and σ (I - J) with the derivative J of the projection."""
        bends, matrices = self.losses.curvature(points)
        n, nudge = points.shape[1], NUDGE * self.frame.domain.diameter
        shifted = points + self.pushes / self.stiffness
        around = nudge * np.concatenate([np.eye(n), -np.eye(n)])
        moved = self.frame.domain.project(self.frame.domain.center + shifted[:, None] + around)
        slopes = (moved[:, :n] - moved[:, n:]) / (2.0 * nudge)
        stiff = self.stiffness * positive(np.eye(n) - slopes)
        return bends, stiff + matrices if len(matrices) else stiff

    def push(self, points: Matrix) -> Matrix:
        """σ times the way from the domain to the shifted points: the multipliers of the next
        turn.
        """
        shifted = points + self.pushes / self.stiffness
        return np.asarray(
            self.stiffness * (shifted - self.frame.inward(self.frame.outward(shifted)))
        )


def minimize(
    rounds: Rounds,
    frame: Frame,
    penalty: float,
    target: float,
    progress: Callable[[int, int, str], None] | None = None,
) -> Answer:
    """As :func:`interior_point.minimize`, for a frame that knows no more than a ball around its
    domain.
    """
    around = frame_of(enclosing_ball(frame.domain))
    center = np.zeros((len(rounds.features), frame.dim))
    at_center = rounds.gradients(center)
    stiffness = float(np.sqrt(inner(at_center, at_center)).mean()) / frame.domain.diameter or 1.0
    held = HeldRounds(rounds, frame, stiffness, center)
    best, distance = _projected(rounds, frame, penalty, center, center[1:]), np.inf
    for turn in range(1, TURNS + 1):
        if best.gap <= target:
            break
        found = interior_point.minimize(held, around, penalty, target / 4, progress)
        now = _projected(rounds, frame, penalty, found.points, found.forces)
        best, before = best.or_better(now), distance
        distance = float(np.abs(now.points - found.points).sum())
        stiffer = STIFFENING if distance > before / 2 else 1.0
        held = HeldRounds(rounds, frame, stiffer * held.stiffness, held.push(found.points))
        if progress is not None:
            progress(turn, TURNS, f"gap {best.gap:.1e}")
    return best


def _projected(
    rounds: Rounds, frame: Frame, penalty: float, points: Matrix, forces: Matrix
) -> Answer:
    """The answer that points become once they are moved into the domain."""
    points = frame.inward(frame.outward(points))
    gradients = rounds.gradients(points)
    intercepts = rounds.values(points) - inner(gradients, points)
    bound = lower_bound(frame, gradients, intercepts, forces)
    return Answer(points, objective(rounds, points, penalty), bound, forces)
