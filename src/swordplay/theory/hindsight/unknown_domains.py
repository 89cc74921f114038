r"""Best comparator sequence in a domain known only by its projection and support function.

An augmented Lagrangian: the constraint that comparators lie in the domain X is replaced by a ball
that encloses X and by a distance term for each round,
:math:`\tfrac{\sigma}{2} \operatorname{dist}^2(w_t + y_t / \sigma, X)` with w_t the coordinates of
the comparator u_t. The distance term is smooth and convex, and its gradient is computed by a
projection. The vectors y converge to the Lagrange multipliers of the constraint.

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
from swordplay.parts.streams.linear import row_products
from swordplay.theory.hindsight import interior_point
from swordplay.theory.hindsight.cones import row_norms
from swordplay.theory.hindsight.duality import Progress, Solution, solution_of_points
from swordplay.theory.hindsight.losses_in_domain import (
    Curvature,
    DomainCoordinates,
    Losses,
    coordinates_of,
    nearest_semidefinite,
)

MAX_UPDATES = 40
"""Most updates of the multipliers y."""
WEIGHT_GROWTH = 4.0
"""Factor of σ after an update that does not halve the distance of the points to the domain."""
DIFFERENCE_STEP = 1e-6
"""Step of the finite differences for the derivative of a projection, in diameters of X."""


def solve(
    losses: Losses,
    coordinates: DomainCoordinates,
    penalty: float,
    target_gap: float,
    progress: Progress | None = None,
) -> Solution:
    """Minimise the losses plus λ times the path length, in a domain with only a projection.

    Stops at the target gap, or after :data:`MAX_UPDATES` updates with a larger gap.

    Parameters
    ----------
    losses, coordinates
        The losses, and the domain's coordinates, which describe an enclosing ball only
        (``describes_domain_exactly`` is False).
    penalty
        λ > 0.
    target_gap
        Certified gap at which to stop.
    progress
        Called after each update of the multipliers and each Newton step.
    """
    # Coordinates of the ball itself: the solver may use all of the ball, not only the domain.
    ball_coordinates = coordinates_of(enclosing_ball(coordinates.domain))
    # The initial points (all at the centre), multipliers and dual variables.
    zeros = np.zeros((len(losses.features), coordinates.dim))
    gradients = losses.gradients(zeros)
    distance_weight = float(row_norms(gradients).mean()) / coordinates.domain.diameter or 1.0
    losses_with_distance = LossesWithDistance(losses, coordinates, distance_weight, zeros)
    best = _projected_solution(losses, coordinates, penalty, zeros, zeros[1:])
    distance = np.inf
    for update in range(1, MAX_UPDATES + 1):
        if best.gap <= target_gap:
            break
        # Solved to a quarter of the target: projecting points onto the domain makes the gap larger.
        solution = interior_point.solve(
            losses_with_distance, ball_coordinates, penalty, target_gap / 4, progress
        )
        projected_solution = _projected_solution(
            losses, coordinates, penalty, solution.points, solution.duals
        )
        best, distance_before = best.with_best_parts_of(projected_solution), distance
        distance = float(np.abs(projected_solution.points - solution.points).sum())
        weight_factor = WEIGHT_GROWTH if distance > distance_before / 2 else 1.0
        losses_with_distance = LossesWithDistance(
            losses,
            coordinates,
            weight_factor * losses_with_distance.distance_weight,
            losses_with_distance.updated_multipliers(solution.points),
        )
        if progress is not None:
            progress(update, MAX_UPDATES, f"gap {best.gap:.1e}")
    return best


@dataclass(frozen=True)
class LossesWithDistance:
    r"""Losses plus :math:`\tfrac{\sigma}{2} \operatorname{dist}^2(w_t + y_t / \sigma, X)`.

    A family of losses (:class:`swordplay.theory.hindsight.losses_in_domain.Losses`) of the
    coordinates w_t.

    Attributes
    ----------
    losses, coordinates
        The losses and the domain X.
    distance_weight
        σ.
    multipliers
        y, shape ``(T, n)``.
    """

    losses: Losses
    coordinates: DomainCoordinates
    distance_weight: float
    multipliers: Matrix
    slope_limited_rows = None  # the solver then treats all losses by their curvature
    has_affine_gradients = False

    @property
    def features(self) -> Matrix:
        """Features of the losses."""
        return self.losses.features

    def values(self, points: Matrix) -> Vector:
        """Values of the losses plus the distance terms."""
        # With v = w + y / σ the updated multiplier is σ (v - Π[v]); the distance term is
        # σ/2 norm(v - Π[v])^2 = norm(updated multiplier)^2 / (2 σ).
        multipliers = self.updated_multipliers(points)
        distance_terms = row_products(multipliers, multipliers) / (2.0 * self.distance_weight)
        return np.asarray(self.losses.values(points) + distance_terms)

    def gradients(self, points: Matrix) -> Matrix:
        """Gradients of the losses plus those of the distance terms, the updated multipliers."""
        return np.asarray(self.losses.gradients(points) + self.updated_multipliers(points))

    def curvature(self, points: Matrix) -> Curvature:
        """Curvature of the losses plus σ (I - J), with J the derivative of the projection."""
        # Hessians h a a' + M: weights h of the features a; M has length 0 if all are 0.
        feature_weights, matrices = self.losses.curvature(points)
        domain, n = self.coordinates.domain, points.shape[1]
        step = DIFFERENCE_STEP * domain.diameter
        shifted_points = points + self.multipliers / self.distance_weight
        steps = step * np.concatenate([np.eye(n), -np.eye(n)])
        # Coordinates are points minus the centre: for a domain described by a ball the basis is
        # the identity.
        projected_points = domain.project(domain.center + shifted_points[:, None] + steps)
        derivatives = (projected_points[:, :n] - projected_points[:, n:]) / (2.0 * step)
        distance_hessians = self.distance_weight * nearest_semidefinite(np.eye(n) - derivatives)
        return Curvature(
            feature_weights, distance_hessians + matrices if len(matrices) else distance_hessians
        )

    def updated_multipliers(self, points: Matrix) -> Matrix:
        r""":math:`\sigma (v_t - \Pi_X[v_t])` with :math:`v_t = w_t + y_t / \sigma`."""
        shifted_points = points + self.multipliers / self.distance_weight
        return np.asarray(
            self.distance_weight * (shifted_points - self.coordinates.project(shifted_points))
        )


def _projected_solution(
    losses: Losses, coordinates: DomainCoordinates, penalty: float, points: Matrix, duals: Matrix
) -> Solution:
    """The points, projected onto the domain, as a solution with its lower bound."""
    return solution_of_points(losses, coordinates, penalty, coordinates.project(points), duals)
