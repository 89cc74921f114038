"""Solutions of hindsight problems, and lower bounds by convex duality that certify them.

The problem is to minimise the losses of a comparator sequence plus a penalty for each move. Take
one dual variable per move, of norm at most the penalty. Any such choice gives a valid lower bound.
A good choice gives a bound close to the minimum, which proves how good a sequence is.

Points are given by their n coordinates in the affine hull of the domain
(:class:`~swordplay.theory.hindsight.losses_in_domain.DomainCoordinates`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from swordplay.core.types import Matrix, Vector
from swordplay.parts.streams.linear import row_products
from swordplay.theory.hindsight.cones import row_norms
from swordplay.theory.hindsight.losses_in_domain import DomainCoordinates, Losses

Progress = Callable[[int, int, str], None]
"""Called with steps done, the most steps that may be needed, and a label of the activity."""


class Solution(NamedTuple):
    """A comparator sequence in coordinates of the domain, its objective and its lower bound."""

    points: Matrix
    """Comparators, shape ``(T, n)``, all in the domain."""
    objective: float
    """Losses plus penalty times path length."""
    bound: float
    """No sequence has a smaller objective."""
    duals: Matrix
    """Dual variables of the moves, from which the bound is computed, shape ``(T - 1, n)``."""

    def with_best_parts_of(self, candidate: Solution) -> Solution:
        """Return the better of the two sequences with the better of the two lower bounds."""
        best_sequence = min(self, candidate, key=lambda solution: solution.objective)
        best_bound = max(self, candidate, key=lambda solution: solution.bound)
        return best_bound._replace(points=best_sequence.points, objective=best_sequence.objective)

    @property
    def gap(self) -> float:
        """Certified distance to the smallest objective; rounding cannot make it negative."""
        return max(0.0, self.objective - self.bound)


def penalised_loss(losses: Losses, points: Matrix, penalty: float) -> float:
    r"""Losses plus penalty, :math:`\sum_t f_t(u_t) + \lambda \sum_t \|u_t - u_{t-1}\|`."""
    moves = np.diff(points, axis=0)
    return float(losses.values(points).sum() + penalty * row_norms(moves).sum())


def lower_bound(
    coordinates: DomainCoordinates, gradients: Matrix, intercepts: Vector, duals: Matrix
) -> float:
    r"""Lower bound on the penalised loss of every sequence, from tangents and dual variables.

    With affine functions below the losses, :math:`f_t(v) \ge i_t + \langle g_t, v \rangle`, and
    :math:`\|z_t\| \le \lambda`,

    .. math:: \min_{v_1, \dots, v_T \in X} \sum_t f_t(v_t) + \lambda \sum_t \|v_t - v_{t-1}\|
        \ge \sum_t i_t - \sigma_X(-(g_t + z_t - z_{t+1})), \qquad z_1 = z_{T+1} = 0.

    Parameters
    ----------
    coordinates
        The domain X, in coordinates of its affine hull.
    gradients, intercepts
        g, shape ``(T, n)``, and i, shape ``(T,)``.
    duals
        :math:`z_2, \dots, z_T`, shape ``(T - 1, n)``, of norm at most the penalty λ.
    """
    residuals = stationarity_residuals(gradients, duals)
    return float((intercepts - coordinates.support(-residuals)).sum())


def stationarity_residuals(gradients: Matrix, duals: Matrix) -> Matrix:
    r""":math:`g_t + z_t - z_{t+1}`: the part of each gradient that the moves do not balance."""
    residuals = gradients.copy()
    residuals[1:] += duals
    residuals[:-1] -= duals
    return residuals


def solution_of_points(
    losses: Losses, coordinates: DomainCoordinates, penalty: float, points: Matrix, duals: Matrix
) -> Solution:
    """The points as a solution, with the lower bound from their tangents and the dual variables."""
    gradients = losses.gradients(points)
    intercepts = losses.values(points) - row_products(gradients, points)
    return Solution(
        points,
        penalised_loss(losses, points, penalty),
        lower_bound(coordinates, gradients, intercepts, duals),
        duals,
    )


def clip_duals(duals: Matrix, penalty: float) -> Matrix:
    """Shorten dual variables whose norms exceed the penalty to norms equal to it."""
    norms = row_norms(duals)
    return np.asarray(duals * np.minimum(1.0, penalty / np.maximum(norms, penalty))[:, None])
