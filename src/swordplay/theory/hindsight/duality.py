"""Lower bounds on what any comparator sequence costs (losses plus a penalty for each move), by
convex duality.

Any dual vectors that are short enough, here called forces, give a valid bound, however they were
found; good ones give a bound close to the minimum, which proves how good a sequence is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swordplay.core.types import Matrix, Vector
from swordplay.theory.hindsight.cones import inner
from swordplay.theory.hindsight.losses_in_domain import Frame, Rounds


class Answer(NamedTuple):
    """A comparator sequence in a frame's coordinates, and what it is worth."""

    points: Matrix
    """Shape ``(T, n)``, all inside."""
    objective: float
    """Losses plus penalty times path length."""
    bound: float
    """No sequence has a smaller objective."""
    forces: Matrix
    """What proves the bound, shape ``(T - 1, n)``."""

    def or_better(self, other: Answer) -> Answer:
        """The better sequence of the two and the better bound of the two."""
        points, value = min((self[:2], other[:2]), key=lambda pair: pair[1])
        bound, forces = max((self[2:], other[2:]), key=lambda pair: pair[0])
        return Answer(points, value, bound, forces)

    @property
    def gap(self) -> float:
        """How far from the best the sequence may be; rounding may not make it negative."""
        return max(0.0, self.objective - self.bound)


def objective(rounds: Rounds, points: Matrix, penalty: float) -> float:
    r""":math:`\sum_t f_t(u_t) + \lambda \sum_t \|u_t - u_{t-1}\|`."""
    moves = np.diff(points, axis=0)
    return float(rounds.values(points).sum() + penalty * np.sqrt(inner(moves, moves)).sum())


def lower_bound(frame: Frame, gradients: Matrix, intercepts: Vector, forces: Matrix) -> float:
    r"""A bound from below for any forces no longer than the penalty.

    With lines under the losses, :math:`f_t(v) \ge i_t + \langle g_t, v \rangle`, and as
    :math:`\|z_t\| \le \lambda`,

    .. math:: \min_{v_1, \dots, v_T \in X} \sum_t f_t(v_t) + \lambda \sum_t \|v_t - v_{t-1}\|
        \ge \sum_t i_t - \sigma_X(-(g_t + z_t - z_{t+1})), \qquad z_1 = z_{T+1} = 0.

    Parameters
    ----------
    gradients, intercepts
        g, shape ``(T, n)``, and i, shape ``(T,)``.
    forces
        :math:`z_2, \dots, z_T`, shape ``(T - 1, n)``.
    """
    return float((intercepts - frame.support(-balance(gradients, forces))).sum())


def balance(pushes: Matrix, forces: Matrix) -> Matrix:
    r""":math:`g_t + z_t - z_{t+1}`: what is left of the pushes on each round once the moves have
    passed theirs on.
    """
    left = pushes.copy()
    left[1:] += forces
    left[:-1] -= forces
    return left
