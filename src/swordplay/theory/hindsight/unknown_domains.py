r"""The best sequence for a penalty in domains known only by a projection and a support function.

An augmented Lagrangian: the domain X is replaced by a ball that encloses it and a penalty
:math:`\tfrac{\sigma}{2} \operatorname{dist}^2(u_t + y_t / \sigma, X)` of each round, a smooth
convex function whose gradient is a projection. The multipliers y converge to those of the
constraint.

References
----------
Rockafellar (1976), "Augmented Lagrangians and applications of the proximal point algorithm in
convex programming".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from swordplay.core.types import Matrix, Vector
from swordplay.parts.domains import enclosing_ball
from swordplay.theory.hindsight import interior_point
from swordplay.theory.hindsight.cones import inner
from swordplay.theory.hindsight.duality import Progress, Solution, solution_of_points
from swordplay.theory.hindsight.losses_in_domain import (
    Curvature,
    DomainCoordinates,
    Losses,
    coordinates_of,
    nearest_semidefinite,
)

MAX_UPDATES = 40
"""Most updates of the multipliers."""
WEIGHT_GROWTH = 4.0
"""Factor of σ after an update that has not halved the distance to the domain."""
DIFFERENCE_STEP = 1e-6
"""Step of the differences that estimate the derivative of a projection, in diameters."""


def solve(
    losses: Losses,
    coordinates: DomainCoordinates,
    penalty: float,
    target: float,
    progress: Progress | None = None,
) -> Solution:
    """The best sequence for a penalty; the certified gap may be larger than the target.

    Parameters
    ----------
    losses, coordinates
        The losses and the domain, of which coordinates describe only an enclosing ball.
    penalty
        λ > 0.
    target
        The gap at which to stop.
    progress
        Called after each update of the multipliers and each Newton step.
    """
    enclosing = coordinates_of(enclosing_ball(coordinates.domain))
    center = np.zeros((len(losses.features), coordinates.dim))
    at_center = losses.gradients(center)
    weight = float(np.sqrt(inner(at_center, at_center)).mean()) / coordinates.domain.diameter or 1.0
    penalised = PenalisedLosses(losses, coordinates, weight, center)
    best = _projected_solution(losses, coordinates, penalty, center, center[1:])
    distance = np.inf
    for update in range(1, MAX_UPDATES + 1):
        if best.gap <= target:
            break
        found = interior_point.solve(penalised, enclosing, penalty, target / 4, progress)
        projected = _projected_solution(losses, coordinates, penalty, found.points, found.duals)
        best, distance_before = best.combine(projected), distance
        distance = float(np.abs(projected.points - found.points).sum())
        growth = WEIGHT_GROWTH if distance > distance_before / 2 else 1.0
        penalised = PenalisedLosses(
            losses,
            coordinates,
            growth * penalised.weight,
            penalised.updated_multipliers(found.points),
        )
        if progress is not None:
            progress(update, MAX_UPDATES, f"gap {best.gap:.1e}")
    return best


@dataclass(frozen=True)
class PenalisedLosses:
    r"""Losses plus :math:`\tfrac{\sigma}{2} \operatorname{dist}^2(w_t + y_t / \sigma, X)`.

    Attributes
    ----------
    losses, coordinates
        The losses and the domain X.
    weight
        σ.
    multipliers
        y, shape ``(T, n)``.
    """

    losses: Losses
    coordinates: DomainCoordinates
    weight: float
    multipliers: Matrix
    limited_rows = None
    has_affine_gradients = False

    @property
    def features(self) -> Matrix:
        """Those of the losses."""
        return self.losses.features

    def values(self, points: Matrix) -> Vector:
        """Values of the losses plus the penalty."""
        scaled = self.updated_multipliers(points)
        return np.asarray(self.losses.values(points) + inner(scaled, scaled) / (2.0 * self.weight))

    def gradients(self, points: Matrix) -> Matrix:
        """Gradients of the losses plus the updated multipliers."""
        return np.asarray(self.losses.gradients(points) + self.updated_multipliers(points))

    def curvature(self, points: Matrix) -> Curvature:
        """Curvature of the losses plus σ (I - J), with J the derivative of the projection."""
        feature_weights, matrices = self.losses.curvature(points)
        domain, n = self.coordinates.domain, points.shape[1]
        step = DIFFERENCE_STEP * domain.diameter
        shifted = points + self.multipliers / self.weight
        steps = step * np.concatenate([np.eye(n), -np.eye(n)])
        projected = domain.project(domain.center + shifted[:, None] + steps)
        derivatives = (projected[:, :n] - projected[:, n:]) / (2.0 * step)
        of_penalty = self.weight * nearest_semidefinite(np.eye(n) - derivatives)
        return Curvature(feature_weights, of_penalty + matrices if len(matrices) else of_penalty)

    def updated_multipliers(self, points: Matrix) -> Matrix:
        r""":math:`\sigma (v_t - \Pi_X[v_t])` with :math:`v_t = w_t + y_t / \sigma`."""
        shifted = points + self.multipliers / self.weight
        projected = self.coordinates.to_coordinates(self.coordinates.to_points(shifted))
        return np.asarray(self.weight * (shifted - projected))


def _projected_solution(
    losses: Losses, coordinates: DomainCoordinates, penalty: float, points: Matrix, duals: Matrix
) -> Solution:
    """The solution of points after projection onto the domain."""
    points = coordinates.to_coordinates(coordinates.to_points(points))
    return solution_of_points(losses, coordinates, penalty, points, duals)
