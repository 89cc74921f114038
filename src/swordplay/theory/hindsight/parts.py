"""What holds the comparators: the price of moving, the boundary of the domain, the caps on slopes.

In a Newton step each part adds to the Hessian of its rounds (or, for moves, says how far they
yield), adds to the right-hand side, and answers the comparators' step with one of its own.
"""

from __future__ import annotations

import math
from typing import final

import numpy as np

from swordplay.core.types import Array, Matrix, Vector
from swordplay.theory.hindsight.cones import ConePoints, inner
from swordplay.theory.hindsight.pairs import ConePairs, NumberPairs
from swordplay.theory.hindsight.rounds import SlopedRows


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
