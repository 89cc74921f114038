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

What holds the comparators: the price of moving, the boundary of the domain, the caps on slopes.

In a Newton step each part adds to the Hessian of its rounds (or, for moves, says how far they
yield), adds to the right-hand side, and answers the comparators' step with one of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import final

import numpy as np

from swordplay.core.types import Array, Matrix, Vector
from swordplay.theory.hindsight.chain import Chain, Hessians
from swordplay.theory.hindsight.cones import ConePairs, ConePoints, NumberPairs, inner
from swordplay.theory.hindsight.duality import Answer, balance, lower_bound, objective
from swordplay.theory.hindsight.losses_in_domain import Frame, Rounds, SlopedRows

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


@final
class Moves(ConePairs):
    r"""The price of moving, λ times the length: cone points :math:`(\tau_t, u_t - u_{t-1})` and
    :math:`(\lambda, -z_t)`.

    All rounds start at one point.
    """

    def __init__(self, penalty: float, moves: int, dim: int, mu: float) -> None:
        nowhere = np.zeros((moves, dim))
        super().__init__(
            ConePoints(np.full(moves, mu / penalty), nowhere),
            ConePoints(np.full(moves, penalty), nowhere),
        )

    @property
    def forces(self) -> Matrix:
        """z, shape ``(T - 1, n)``, always shorter than λ: what the two ends of a move pull each
        other with.
        """
        return -self.dual.tail

    @property
    def compliance(self) -> tuple[Vector, Matrix]:
        r"""How far a move yields to a force: :math:`c_t I + p_t p_t^\top`, as c and p."""
        eta = self.scaling.size
        return eta**2, (math.sqrt(2.0) * eta)[:, None] * self.scaling.w.tail

    def look(self, points: Matrix) -> None:
        """How far the comparators' moves have strayed from those kept here, by rounding."""
        self._strayed = np.diff(points, axis=0) - self.primal.tail

    def aim(self, mu: float) -> Matrix:
        """The moves that are wanted on top of what the forces make; shape ``(T - 1, n)``."""
        scaling = self.scaling
        self._goal = (
            self.primal.opposite
            if self._steps is None
            else scaling.up(scaling.corrected(mu, self._steps[1]))
        )
        return self._goal.tail - self._strayed

    def follow(self, forces: Matrix) -> float:
        """Answer a step of the forces; the longest share of it that can be taken."""
        answer = self.scaling.twice_up(forces)
        primal = ConePoints(self._goal.head + answer.head, self._goal.tail + answer.tail)
        return self._plan(primal, ConePoints(np.zeros(len(forces)), -forces))


@final
class Rim(ConePairs):
    r"""A ball around the origin, where all rounds start: cone points :math:`(r, u_t)` and
    :math:`(\kappa_t, -y_t)`.
    """

    def __init__(self, radius: float, rounds: int, dim: int, mu: float) -> None:
        nowhere = np.zeros((rounds, dim))
        super().__init__(
            ConePoints(np.full(rounds, radius), nowhere),
            ConePoints(np.full(rounds, mu / radius), nowhere),
        )

    @property
    def push(self) -> Matrix:
        """y, shape ``(T, n)``: outwards, as a constraint's gradient."""
        return -self.dual.tail

    @property
    def stiffness(self) -> tuple[Vector, Matrix]:
        r"""Its Hessians :math:`\rho_t I + q_t q_t^\top`, as ρ and q."""
        eta = self.scaling.size
        return 1.0 / eta**2, (math.sqrt(2.0) / eta)[:, None] * self.scaling.w.tail

    def aim(self, mu: float) -> Matrix:
        """What it adds to the right-hand side."""
        scaling = self.scaling
        self._goal = (
            self.dual.opposite
            if self._steps is None
            else scaling.down(scaling.corrected(mu, self._steps[1]))
        )
        return self._goal.tail

    def follow(self, step: Matrix) -> float:
        """Answer a step of the comparators; the longest share of it that can be taken."""
        answer = self.scaling.twice_down(step)
        dual = ConePoints(self._goal.head - answer.head, self._goal.tail - answer.tail)
        return self._plan(ConePoints(np.zeros(len(step)), step), dual)


@final
class Walls(NumberPairs):
    r"""Half-spaces around the origin, where all rounds start: slacks :math:`g - G u_t` and
    pressures, shape ``(T, m)``.
    """

    def __init__(self, normals: Matrix, distances: Vector, rounds: int, mu: float) -> None:
        self._normals = normals
        slacks = np.tile(distances, (rounds, 1))
        super().__init__(slacks, mu / slacks)

    @property
    def push(self) -> Matrix:
        """Pressures along the normals, shape ``(T, n)``."""
        return self.pressures @ self._normals

    @property
    def stiffness(self) -> Matrix:
        r"""k of the Hessians :math:`\sum_i k_{ti} G_i G_i^\top`, shape ``(T, m)``."""
        return self.pressures / self.slacks

    def aim(self, mu: float) -> Matrix:
        """What they add to the right-hand side."""
        self._goal = self._missing(mu)
        return -self._goal @ self._normals

    def follow(self, step: Matrix) -> float:
        """Answer a step of the comparators; the longest share of it that can be taken."""
        return self._plan(-step @ self._normals.T, self._goal)


SATURATED = 1e-3
"""Slopes that are usually smaller, as a share of what they may be, begin next to their caps: the
middle is too far off.
"""


@final
class Caps(NumberPairs):
    r"""Slopes that are capped, :math:`\underline\varpi < \varpi < \overline\varpi`: slacks to both
    caps, multipliers ν.

    .. math:: f(r) = \max_\varpi \varpi r - f^*(\varpi), \qquad r = (f^*)'(\varpi) + \nu_+ - \nu_-

    The slope is a variable of its own, so that a residual crosses Huber's threshold, or the steep
    part of a logistic loss, without the Hessian jumping.
    """

    def __init__(self, rows: SlopedRows, points: Matrix, mu: float, usual: float) -> None:
        self._rows = rows
        self._where, self._lowest, self._largest = rows.caps
        slacks = self._begun(points, usual)
        super().__init__(slacks, mu / slacks)
        self.look(points)

    def _begun(self, points: Matrix, usual: float) -> Array:
        """Slacks to begin with: slopes in the middle, or as near to a cap as is usual where
        theirs are nearer to that.
        """
        half = 0.5 * (self._largest - self._lowest)
        near = np.where(usual < SATURATED * half, usual, half)
        starts = np.array(
            [[half, half], [near, 2.0 * half - near], [2.0 * half - near, near]]
        ).transpose(0, 2, 1)
        residuals = self._rows.residuals(self._rows.spread(points))[self._where]
        off = np.array([np.abs(self._rows.at_slopes(slacks)[0] - residuals) for slacks in starts])
        return np.asarray(starts[off.argmin(axis=0), np.arange(len(half))])

    def look(self, points: Matrix) -> None:
        """Residuals and slopes here; where nothing caps a slope, it is that of the residual."""
        self._residuals = self._rows.residuals(self._rows.spread(points))
        self._slopes = self._rows.uncapped() * self._residuals
        above, below = self.slacks[:, 0], self.slacks[:, 1]
        self._slopes[self._where] = np.where(
            below < above, self._lowest + below, self._largest - above
        )

    @property
    def gradients(self) -> Matrix:
        """The slopes along the features, shape ``(T, n)``."""
        return self._rows.gather(self._slopes[:, None] * self._rows.features)

    @property
    def intercepts(self) -> Vector:
        """At the origin, of the lines under the losses that have these slopes, shape ``(T,)``."""
        each = self._slopes * self._rows.shifts - self._rows.conjugates(self._slopes)
        return self._rows.gather(each[:, None])[:, 0]

    @property
    def curvature(self) -> tuple[Vector, Array]:
        """As that of the rounds."""
        return self._rows.stacked(self._bends)

    def aim(self, mu: float) -> Matrix:
        """What they add to the right-hand side."""
        self._goal = self._missing(mu)
        ahead, wanted = self.pressures + self._goal, self._rows.at_slopes(self.slacks)[0]
        self._lead = np.zeros(len(self._residuals))
        self._lead[self._where] = self._residuals[self._where] - wanted - ahead[:, 0] + ahead[:, 1]
        return self._rows.gather(-(self._bends * self._lead)[:, None] * self._rows.features)

    def follow(self, step: Matrix) -> float:
        """Answer a step of the comparators; the longest share of it that can be taken."""
        along = inner(self._rows.features, self._rows.spread(step))
        slopes = (self._bends * (along + self._lead))[self._where]
        return self._plan(slopes[:, None] * np.array([-1.0, 1.0]), self._goal)

    @property
    def _bends(self) -> Vector:
        bends = self._rows.uncapped().copy()
        bends[self._where] = 1.0 / (
            self._rows.at_slopes(self.slacks)[1] + (self.pressures / self.slacks).sum(axis=1)
        )
        return bends
