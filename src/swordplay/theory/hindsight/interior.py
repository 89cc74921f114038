r"""The best sequence for a penalty in any dimension: a primal-dual interior-point method on the
chain of rounds.

.. math:: \min_{u_1, \dots, u_T \in X} \sum_t f_t(u_t) + \lambda \sum_{t \ge 2} \|u_t - u_{t-1}\|

Comparators stay strictly inside the domain and forces strictly shorter than λ, so every step has a
certified gap. A step costs :math:`T n^3`, and a dozen or two are enough whatever the penalty, the
conditioning or the length of the stream.

References
----------
Mehrotra (1992), "On the implementation of a primal-dual interior point method"; Vandenberghe
(2010), the solvers of CVXOPT.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from swordplay.core.types import Matrix
from swordplay.theory.hindsight.chain import Chain, Hessians
from swordplay.theory.hindsight.cones import inner
from swordplay.theory.hindsight.dual import Answer, balance, lower_bound, objective
from swordplay.theory.hindsight.frame import Frame
from swordplay.theory.hindsight.parts import Caps, Moves, Rim, Walls
from swordplay.theory.hindsight.rounds import Rounds, SlopedRows

STEPS = 120
"""Newton steps before a gap is given up; 10 to 30 are usual."""
PATIENCE = 12
"""Steps without a smaller gap before it is given up."""
BOLDNESS = 0.99
"""Share of the way to the boundary that a step may go."""
ENOUGH = 0.05
"""Share of the target below which products need not go: beyond, they drown in rounding."""
HALVINGS = 12
"""Of a step along which gradients change too much; a step that needs more leads nowhere."""


class InteriorPoint:
    """One problem on its way to its solution, from the origin.

    Parameters
    ----------
    rounds, frame
        The losses and the domain.
    penalty
        λ > 0.
    mu
        Where to start: the product of each slack with its multiplier, in units of the losses.
    target
        The gap that is asked for.
    """

    def __init__(
        self, rounds: Rounds, frame: Frame, penalty: float, mu: float, target: float
    ) -> None:
        self._rounds, self._frame, self._penalty, self._target = rounds, frame, penalty, target
        T, n = rounds.features.shape
        self.points: Matrix = np.zeros((T, n))
        self._moves = Moves(penalty, T - 1, n, mu)
        self._rim = Rim(frame.radius, T, n, mu) if math.isfinite(frame.radius) else None
        self._walls = Walls(frame.normals, frame.distances, T, mu) if len(frame.normals) else None
        self._caps = (
            None
            if rounds.capped is None
            else Caps(rounds.capped, self.points, mu, usual_slope(rounds.capped, frame, mu))
        )
        self._holders = [part for part in (self._rim, self._walls, self._caps) if part is not None]
        self._chain = Chain(T, n)
        self._look()

    def certify(self) -> Answer:
        """Where it stands, with its gap."""
        forces = self._moves.forces
        answer = tangent(self._rounds, self._frame, self._penalty, self.points, forces)
        if self._caps is None:
            return answer
        bound = lower_bound(self._frame, self._gradients, self._caps.intercepts, forces)
        return answer.or_better(answer._replace(bound=bound))

    def step(self) -> None:
        """One step: look where the boundary is, then aim for the middle of the way that is left."""
        parts = (self._moves, *self._holders)
        for part in parts:
            part.scale()
        self._products, count = (
            sum(part.products for part in parts),
            sum(part.count for part in parts),
        )
        self._eliminate()
        _, room = self._direction(0.0, refined=False)
        goal = max((1.0 - min(1.0, room)) ** 3 * self._products, ENOUGH * self._target)
        step, room = self._direction(goal / count, refined=True)
        if np.isfinite(
            step
        ).all():  # else rounding has eaten the system: stay, and let patience run out
            self._take(step, min(1.0, BOLDNESS * room))

    def _eliminate(self) -> None:
        T, n = self.points.shape
        bends, matrices = (
            self._rounds.curvature(self.points) if self._caps is None else self._caps.curvature
        )
        ridges, rims = (np.zeros(T), np.zeros((T, n))) if self._rim is None else self._rim.stiffness
        walls = np.empty((T, 0)) if self._walls is None else self._walls.stiffness
        hessians = Hessians(
            self._rounds.features, bends, matrices, ridges, rims, self._frame.normals, walls
        )
        self._chain.eliminate(hessians, self._moves.compliance)

    def _direction(self, mu: float, refined: bool) -> tuple[Matrix, float]:
        """The step towards products of mu, corrected by the last one, and how often it fits."""
        wanted = self._moves.aim(mu)
        sides = sum((part.aim(mu) for part in self._holders), start=-self._residuals)
        step, forces = self._chain.solve(sides, wanted, refined)
        return step, min(
            [self._moves.follow(forces), *(part.follow(step) for part in self._holders)]
        )

    def _take(self, step: Matrix, share: float) -> None:
        """Go a share of the step.

        Less where the gradients change so fast that the pushes come out of balance.
        """
        before = self._imbalance
        self._move(step, share)
        for _ in range(0 if self._rounds.affine else HALVINGS):
            if self._imbalance <= max((1.0 - 0.1 * share) * before, self._products):
                break
            share /= 2
            self._move(step, -share)

    def _move(self, step: Matrix, share: float) -> None:
        self.points = self.points + share * step
        for part in (self._moves, *self._holders):
            part.take(share)
        self._look()

    def _look(self) -> None:
        """Gradients here, and what is left of all pushes."""
        self._moves.look(self.points)
        if self._caps is None:
            self._gradients = self._rounds.gradients(self.points)
        else:
            self._caps.look(self.points)
            self._gradients = self._caps.gradients
        pushes = [part.push for part in (self._rim, self._walls) if part is not None]
        self._residuals = sum(pushes, start=balance(self._gradients, self._moves.forces))

    @property
    def _imbalance(self) -> float:
        """What the residuals may be worth, in units of the losses."""
        return float(
            self._frame.domain.diameter * np.sqrt(inner(self._residuals, self._residuals)).sum()
        )


def usual_slope(rows: SlopedRows, frame: Frame, mu: float) -> float:
    """What leads to products of mu, for features of the usual length.

    Infinite where there are none.
    """
    length = float(np.sqrt(inner(rows.features, rows.features)).mean())
    return mu / frame.domain.diameter / length if length else math.inf


def tangent(rounds: Rounds, frame: Frame, penalty: float, points: Matrix, forces: Matrix) -> Answer:
    """Points and what forces prove about them, by the losses' tangents there."""
    gradients = rounds.gradients(points)
    intercepts = rounds.values(points) - inner(gradients, points)
    return Answer(
        points,
        objective(rounds, points, penalty),
        lower_bound(frame, gradients, intercepts, forces),
        forces,
    )


def standing(rounds: Rounds, frame: Frame, penalty: float) -> Answer:
    """All at the centre: what is known without a step, from no forces at all and from those that
    pass all gradients on.
    """
    center = np.zeros(rounds.features.shape)
    quiet = tangent(rounds, frame, penalty, center, center[1:])
    passed = np.cumsum(rounds.gradients(center) - rounds.gradients(center).mean(axis=0), axis=0)[
        :-1
    ]
    lengths = np.sqrt(inner(passed, passed))
    passed *= np.minimum(1.0, penalty / np.maximum(lengths, penalty))[:, None]
    return quiet.or_better(tangent(rounds, frame, penalty, center, passed))


def minimize(
    rounds: Rounds,
    frame: Frame,
    penalty: float,
    target: float,
    progress: Callable[[int, int, str], None] | None = None,
) -> Answer:
    """Step until the certified gap is within the target, or no step makes it smaller.

    The best of all steps.
    """
    center = np.zeros(rounds.features.shape)
    gradients = rounds.gradients(center)
    steepness = float(np.sqrt(inner(gradients, gradients)).mean())
    if steepness == 0.0:  # the centre is best in every round
        value = objective(rounds, center, penalty)
        return Answer(center, value, value, center[1:])
    problem = InteriorPoint(rounds, frame, penalty, steepness * frame.domain.diameter, target)
    best, idle = standing(rounds, frame, penalty).or_better(problem.certify()), 0
    for number in range(1, STEPS + 1):
        if best.gap <= target or idle > PATIENCE:
            break
        problem.step()
        better = best.or_better(problem.certify())
        idle = 0 if better.gap < best.gap else idle + 1
        best = better
        if progress is not None:
            progress(number, STEPS, f"gap {best.gap:.1e}")
    return best
