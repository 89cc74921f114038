r"""Best comparator sequence, with moves penalised, by a primal-dual interior-point method.

.. math:: \min_{u_1, \dots, u_T \in X} \sum_t f_t(u_t) + \lambda \sum_{t \ge 2} \|u_t - u_{t-1}\|

Comparators stay strictly inside the domain, and dual variables of the moves have norms below λ, so
that every step has a certified gap. A step costs :math:`T n^3`; 10 to 30 steps are usual, for
any penalty, conditioning and length of the stream.

The conditions that hold at the minimum, with complementarity products of μ instead of 0, are

.. math::
    & \nabla f_t(u_t) + z_t - z_{t+1} + y_t + G^\top \nu_t = 0 , \\
    & (\tau_t, u_t - u_{t-1}) \circ (\lambda, -z_t) = \mu e , \quad
      (r, u_t) \circ (\kappa_t, -y_t) = \mu e , \quad
      (g_i - \langle G_i, u_t \rangle) \, \nu_{t,i} = \mu

with the Jordan product of second-order cones and its identity e. Here :math:`\tau_t` bounds the
length of a move and :math:`z_t` is its dual variable; the domain is :math:`\|u\| \le r, \; G u \le
g` in coordinates around its centre, with the multipliers :math:`(\kappa_t, -y_t)` and
:math:`\nu_t`. Each product in the second line is a complementarity pair. A Newton step linearises
the equations. Eliminating the pairs leaves a chain in the comparators and the dual variables z:
each constraint contributes to the Hessians and to the right-hand side, the costs of moves
contribute to the matrices C of the chain (:class:`swordplay.theory.hindsight.chain.Chain`). Each
pair then computes its step from the solution of the chain.

References
----------
Mehrotra (1992), "On the implementation of a primal-dual interior point method", for predictor and
corrector; Vandenberghe (2010), the solvers of CVXOPT.
"""

from __future__ import annotations

import math
from typing import final

import numpy as np

from swordplay.core.types import Array, Matrix, Vector
from swordplay.parts.streams.linear import row_products
from swordplay.theory.hindsight.chain import Chain, Hessians, MoveMatrices
from swordplay.theory.hindsight.cones import (
    ConePairs,
    ConePoints,
    NumberPairs,
    row_norms,
)
from swordplay.theory.hindsight.duality import (
    Progress,
    Solution,
    clip_duals,
    lower_bound,
    penalised_loss,
    solution_of_points,
    stationarity_residuals,
)
from swordplay.theory.hindsight.losses_in_domain import (
    LOWER,
    UPPER,
    Curvature,
    DomainCoordinates,
    Losses,
    SlopeLimitedRows,
)

MAX_STEPS = 120
"""Most Newton steps; 10 to 30 are usual."""
MAX_IDLE_STEPS = 12
"""Most consecutive steps without a smaller gap."""
STEP_TO_BOUNDARY = 0.99
"""Longest step, as a fraction of the way to the boundary."""
SMALLEST_PRODUCTS = 0.05
"""Smallest sum of complementarity products to aim for, as a fraction of the target gap.

Smaller sums would be below rounding error.
"""
MAX_HALVINGS = 12
"""Most halvings of a step along which gradients change too much."""
SATURATED_SLOPE = 1e-3
"""Slopes may start near a limit if the estimated slope is below this fraction of half the range."""


def solve(
    losses: Losses,
    coordinates: DomainCoordinates,
    penalty: float,
    target_gap: float,
    progress: Progress | None = None,
) -> Solution:
    """Minimise the losses plus λ times the path length, with a certified gap.

    Parameters
    ----------
    losses, coordinates
        The losses and the domain.
    penalty
        λ > 0.
    target_gap
        Gap at which to stop. The method also stops, with a larger gap, after :data:`MAX_STEPS`
        steps or if :data:`MAX_IDLE_STEPS` steps do not make the gap smaller.
    progress
        Called after each step.
    """
    center = np.zeros(losses.features.shape)
    gradients = losses.gradients(center)
    mean_gradient_norm = float(row_norms(gradients).mean())
    if mean_gradient_norm == 0.0:  # the centre minimises every loss
        value = penalised_loss(losses, center, penalty)
        return Solution(center, value, value, center[1:])
    mu = mean_gradient_norm * coordinates.domain.diameter
    method = InteriorPoint(losses, coordinates, penalty, mu, target_gap)
    best = solution_at_center(losses, coordinates, penalty).with_best_parts_of(method.solution())
    idle_steps = 0
    for step_number in range(1, MAX_STEPS + 1):
        if best.gap <= target_gap or idle_steps > MAX_IDLE_STEPS:
            break
        method.step()
        improved = best.with_best_parts_of(method.solution())
        idle_steps = 0 if improved.gap < best.gap else idle_steps + 1
        best = improved
        if progress is not None:
            progress(step_number, MAX_STEPS, f"gap {best.gap:.1e}")
    return best


def solution_at_center(losses: Losses, coordinates: DomainCoordinates, penalty: float) -> Solution:
    """All comparators at the centre, with the better of two lower bounds that need no step.

    One bound is from dual variables of 0. The other is from sums of gradients, which would balance
    the gradients, shortened to the penalty.
    """
    center = np.zeros(losses.features.shape)
    without_duals = solution_of_points(losses, coordinates, penalty, center, center[1:])
    # z_{t+1} = z_t + g_t - mean(g) balances all gradients up to their mean.
    deviations = losses.gradients(center) - losses.gradients(center).mean(axis=0)
    duals = clip_duals(np.cumsum(deviations, axis=0)[:-1], penalty)
    return without_duals.with_best_parts_of(
        solution_of_points(losses, coordinates, penalty, center, duals)
    )


class InteriorPoint:
    """State of the method: comparators, and complementarity pairs, which hold the dual variables.

    Parameters
    ----------
    losses, coordinates
        The losses and the domain. Comparators start at the origin.
    penalty
        λ > 0.
    mu
        Complementarity product of every pair at the start, in units of the losses.
    target_gap
        The gap at which the caller stops.
    """

    def __init__(
        self,
        losses: Losses,
        coordinates: DomainCoordinates,
        penalty: float,
        mu: float,
        target_gap: float,
    ) -> None:
        self._losses, self._coordinates = losses, coordinates
        self._penalty, self._target_gap = penalty, target_gap
        T, n = losses.features.shape
        self.points: Matrix = np.zeros((T, n))
        self._moves = MoveCosts(penalty, T - 1, n, mu)
        radius, normals = coordinates.radius, coordinates.normals
        self._ball = BallConstraint(radius, T, n, mu) if math.isfinite(radius) else None
        self._half_spaces = (
            HalfSpaces(normals, coordinates.offsets, T, mu) if len(normals) else None
        )
        rows = losses.slope_limited_rows
        self._slope_limits = (
            None
            if rows is None
            else SlopeLimits(rows, self.points, mu, estimate_slope(rows, coordinates, mu))
        )
        self._constraints = [
            constraint
            for constraint in (self._ball, self._half_spaces, self._slope_limits)
            if constraint is not None
        ]
        self._chain = Chain(T, n)
        self._update()

    def solution(self) -> Solution:
        """The present comparators with a lower bound from the present dual variables."""
        duals = self._moves.duals
        tangent_solution = solution_of_points(
            self._losses, self._coordinates, self._penalty, self.points, duals
        )
        if self._slope_limits is None:
            return tangent_solution
        # Bounded slopes are variables of their own. The lines with these slopes that lie below the
        # losses give a second bound.
        bound = lower_bound(
            self._coordinates, self._gradients, self._slope_limits.intercepts, duals
        )
        return tangent_solution.with_best_parts_of(tangent_solution._replace(bound=bound))

    def step(self) -> None:
        """Take one predictor-corrector step.

        The predictor aims for complementarity products of 0. The corrector aims for larger products
        if only a small fraction of the predictor stays inside the cones.
        """
        pair_groups = (self._moves, *self._constraints)
        for group in pair_groups:
            group.start_step()
        self._product_sum = sum(group.product_sum for group in pair_groups)
        pair_count = sum(group.pair_count for group in pair_groups)
        self._factorize()
        _, largest_multiple = self._newton_step(0.0, refine=False)
        # Mehrotra's rule: the shorter the predictor, the larger the products to aim for.
        wanted_product_sum = max(
            (1.0 - min(1.0, largest_multiple)) ** 3 * self._product_sum,
            SMALLEST_PRODUCTS * self._target_gap,
        )
        step, largest_multiple = self._newton_step(wanted_product_sum / pair_count, refine=True)
        # A step that is not finite comes from a system lost to rounding. It is not taken, and the
        # caller counts an idle step.
        if np.isfinite(step).all():
            self._take_step(step, min(1.0, STEP_TO_BOUNDARY * largest_multiple))

    def _factorize(self) -> None:
        """Factorize the Newton system of the present pairs."""
        T, n = self.points.shape
        feature_weights, loss_matrices = (
            self._losses.curvature(self.points)
            if self._slope_limits is None
            else self._slope_limits.curvature
        )
        identity_weights, ball_directions = (
            (np.zeros(T), np.zeros((T, n))) if self._ball is None else self._ball.hessians
        )
        normal_weights = (
            np.empty((T, 0)) if self._half_spaces is None else self._half_spaces.normal_weights
        )
        hessians = Hessians(
            self._losses.features,
            feature_weights,
            loss_matrices,
            identity_weights,
            ball_directions,
            self._coordinates.normals,
            normal_weights,
        )
        self._chain.factorize(hessians, self._moves.matrices)

    def _newton_step(self, mu: float, refine: bool) -> tuple[Matrix, float]:
        """Compute a step of everything towards complementarity products of ``mu``.

        Returns the step of the comparators, and its largest multiple that stays in the cones.
        """
        # The chain solves H Δu + D'Δz = linear_terms and D Δu - C Δz = wanted_moves, where D maps a
        # sequence to its moves.
        wanted_moves = self._moves.right_hand_side(mu)
        linear_terms = sum(
            (constraint.right_hand_side(mu) for constraint in self._constraints),
            start=-self._stationarity_residuals,
        )
        step, dual_steps = self._chain.solve(linear_terms, wanted_moves, refine)
        largest_multiples = [constraint.set_step(step) for constraint in self._constraints]
        return step, min([self._moves.set_step(dual_steps), *largest_multiples])

    def _take_step(self, step: Matrix, fraction: float) -> None:
        """Take a fraction of the step, halved until the residuals have not grown too much.

        With affine gradients a step of any length reduces the residuals.
        """
        stationarity_gap_before = self._stationarity_gap
        self._add_to_state(step, fraction)
        for _ in range(0 if self._losses.has_affine_gradients else MAX_HALVINGS):
            if self._stationarity_gap <= max(
                (1.0 - 0.1 * fraction) * stationarity_gap_before, self._product_sum
            ):
                break
            fraction /= 2
            self._add_to_state(step, -fraction)

    def _add_to_state(self, step: Matrix, fraction: float) -> None:
        """Add a fraction, possibly negative, of the step to the comparators and to all pairs."""
        self.points = self.points + fraction * step
        for group in (self._moves, *self._constraints):
            group.take_step(fraction)
        self._update()

    def _update(self) -> None:
        """Recompute gradients and residuals at the present comparators."""
        self._moves.update(self.points)
        if self._slope_limits is None:
            self._gradients = self._losses.gradients(self.points)
        else:
            self._slope_limits.update(self.points)
            self._gradients = self._slope_limits.gradients
        # ∇f_t(u_t) + z_t - z_{t+1} + y_t + G'ν_t
        domain_gradients = [
            constraint.gradients
            for constraint in (self._ball, self._half_spaces)
            if constraint is not None
        ]
        self._stationarity_residuals = sum(
            domain_gradients, start=stationarity_residuals(self._gradients, self._moves.duals)
        )

    @property
    def _stationarity_gap(self) -> float:
        """Bound on the part of the gap that the stationarity residuals cause."""
        return float(
            self._coordinates.domain.diameter * row_norms(self._stationarity_residuals).sum()
        )


def estimate_slope(rows: SlopeLimitedRows, coordinates: DomainCoordinates, mu: float) -> float:
    """Slope that changes a loss by ``mu`` over the diameter, for features of mean length.

    Infinite if all features are 0.
    """
    mean_length = float(row_norms(rows.features).mean())
    return mu / coordinates.domain.diameter / mean_length if mean_length else math.inf


@final
class MoveCosts(ConePairs):
    r"""The cost of moves, λ times their length.

    Pairs of :math:`(\tau_t, u_t - u_{t-1})` and :math:`(\lambda, -z_t)`. All comparators start at
    one point.
    """

    def __init__(self, penalty: float, move_count: int, dim: int, mu: float) -> None:
        zeros = np.zeros((move_count, dim))
        super().__init__(
            primal=ConePoints(np.full(move_count, mu / penalty), zeros),
            dual=ConePoints(np.full(move_count, penalty), zeros),
        )

    @property
    def duals(self) -> Matrix:
        """z, shape ``(T - 1, n)``, always of norms below λ."""
        return -self.dual.tail

    @property
    def matrices(self) -> MoveMatrices:
        """Derivative of the moves by the dual variables: the lower right block of W^2."""
        eta = self.scaling.eta
        return MoveMatrices(eta**2, (math.sqrt(2.0) * eta)[:, None] * self.scaling.w.tail)

    def update(self, points: Matrix) -> None:
        """Compute the rounding errors between the comparators' moves and the pairs' moves."""
        self._move_errors = np.diff(points, axis=0) - self.primal.tail

    def right_hand_side(self, mu: float) -> Matrix:
        """Wanted steps of the moves if the dual variables do not change, shape ``(T - 1, n)``."""
        # The part of the step that does not depend on the solution of the chain: of the predictor
        # if there is no step yet, else of the corrector.
        self._fixed_step = (
            self.primal.negated
            if self._last_step is None
            else self.scaling.multiply(self.scaling.corrector(mu, self._last_step.dual))
        )
        return self._fixed_step.tail - self._move_errors

    def set_step(self, dual_steps: Matrix) -> float:
        """Set the pairs' step from a step of the dual variables; return its largest multiple."""
        change = self.scaling.multiply_twice(dual_steps)
        primal_step = ConePoints(
            self._fixed_step.head + change.head, self._fixed_step.tail + change.tail
        )
        return self._store_step(primal_step, ConePoints(np.zeros(len(dual_steps)), -dual_steps))


@final
class BallConstraint(ConePairs):
    r"""The constraint that comparators lie in a ball of radius r around the origin.

    Pairs of :math:`(r, u_t)` and :math:`(\kappa_t, -y_t)`. All comparators start at the origin.
    """

    def __init__(self, radius: float, rounds: int, dim: int, mu: float) -> None:
        zeros = np.zeros((rounds, dim))
        super().__init__(
            primal=ConePoints(np.full(rounds, radius), zeros),
            dual=ConePoints(np.full(rounds, mu / radius), zeros),
        )

    @property
    def gradients(self) -> Matrix:
        """Gradients y of the constraint in the Lagrangian, shape ``(T, n)``."""
        return -self.dual.tail

    @property
    def hessians(self) -> tuple[Vector, Matrix]:
        r"""ρ and q of the Hessians :math:`\rho_t I + q_t q_t^\top`, a block of :math:`W^{-2}`."""
        eta = self.scaling.eta
        return 1.0 / eta**2, (math.sqrt(2.0) / eta)[:, None] * self.scaling.w.tail

    def right_hand_side(self, mu: float) -> Matrix:
        """Part of the Newton system's right-hand side, shape ``(T, n)``."""
        # The part of the step that does not depend on the solution of the chain: of the predictor
        # if there is no step yet, else of the corrector.
        self._fixed_step = (
            self.dual.negated
            if self._last_step is None
            else self.scaling.solve(self.scaling.corrector(mu, self._last_step.dual))
        )
        return self._fixed_step.tail

    def set_step(self, step: Matrix) -> float:
        """Set the pairs' step from a step of the comparators; return its largest multiple."""
        change = self.scaling.solve_twice(step)
        dual_step = ConePoints(
            self._fixed_step.head - change.head, self._fixed_step.tail - change.tail
        )
        return self._store_step(ConePoints(np.zeros(len(step)), step), dual_step)


@final
class HalfSpaces(NumberPairs):
    r"""The constraint that comparators lie in half-spaces, :math:`G u_t \le g`.

    Pairs of the slacks :math:`g - G u_t` and multipliers, shape ``(T, m)``. All comparators start
    at the origin.
    """

    def __init__(self, normals: Matrix, offsets: Vector, rounds: int, mu: float) -> None:
        self._normals = normals
        slacks = np.tile(offsets, (rounds, 1))
        super().__init__(slacks, multipliers=mu / slacks)

    @property
    def gradients(self) -> Matrix:
        """Gradients of the constraints in the Lagrangian, shape ``(T, n)``."""
        return self.multipliers @ self._normals

    @property
    def normal_weights(self) -> Matrix:
        r"""k of the Hessians :math:`\sum_i k_{ti} G_i G_i^\top`, shape ``(T, m)``."""
        return self.multipliers / self.slacks

    def right_hand_side(self, mu: float) -> Matrix:
        """Part of the Newton system's right-hand side, shape ``(T, n)``."""
        self._fixed_steps = self._multiplier_steps(mu)
        return -self._fixed_steps @ self._normals

    def set_step(self, step: Matrix) -> float:
        """Set the pairs' step from a step of the comparators; return its largest multiple."""
        return self._store_step(-step @ self._normals.T, self._fixed_steps)


@final
class SlopeLimits(NumberPairs):
    r"""The limits of bounded slopes, :math:`\underline\varpi < \varpi < \overline\varpi`.

    Pairs of the slacks to both limits and multipliers ν, shape ``(C, 2)``, with the columns UPPER
    and LOWER of :mod:`~swordplay.theory.hindsight.losses_in_domain`.

    .. math:: f(r) = \max_\varpi \varpi r - f^*(\varpi), \qquad r = (f^*)'(\varpi) + \nu_+ - \nu_-

    The slope ϖ is a variable of its own, so that a residual can cross Huber's threshold, or the
    steep part of a logistic loss, without a jump of the Hessian.

    Parameters
    ----------
    rows
        The rows with bounded slopes.
    points
        Comparators to start with, shape ``(T, n)``.
    mu
        Complementarity product of every pair at the start.
    slope_estimate
        The result of :func:`estimate_slope`.
    """

    def __init__(
        self, rows: SlopeLimitedRows, points: Matrix, mu: float, slope_estimate: float
    ) -> None:
        self._rows = rows
        self._limited_indices, self._lower_limits, self._upper_limits = rows.slope_limits
        slacks = self._first_slacks(points, slope_estimate)
        super().__init__(slacks, multipliers=mu / slacks)
        self.update(points)

    def _first_slacks(self, points: Matrix, slope_estimate: float) -> Array:
        """Slacks of slopes half-way between the limits, or near a limit if that fits better.

        A slope fits if its residual is close to the residual at the points.
        """
        half_width = 0.5 * (self._upper_limits - self._lower_limits)
        near_limit = np.where(
            slope_estimate < SATURATED_SLOPE * half_width, slope_estimate, half_width
        )
        # Three candidates for each row, shape (3, C, 2).
        candidates = np.array(
            [
                [half_width, half_width],
                [near_limit, 2.0 * half_width - near_limit],
                [2.0 * half_width - near_limit, near_limit],
            ]
        ).transpose(0, 2, 1)
        residuals = self._rows.residuals(self._rows.spread_to_rows(points))[self._limited_indices]
        errors = np.array(
            [
                np.abs(self._rows.invert_slopes(slacks).residuals - residuals)
                for slacks in candidates
            ]
        )
        return np.asarray(candidates[errors.argmin(axis=0), np.arange(len(half_width))])

    def update(self, points: Matrix) -> None:
        """Recompute residuals and slopes; unbounded slopes follow from the residuals."""
        self._residuals = self._rows.residuals(self._rows.spread_to_rows(points))
        self._slopes = self._rows.secant_curvatures * self._residuals
        upper_slacks, lower_slacks = self.slacks[:, UPPER], self.slacks[:, LOWER]
        # From the nearer limit, so that a small slack keeps its digits.
        self._slopes[self._limited_indices] = np.where(
            lower_slacks < upper_slacks,
            self._lower_limits + lower_slacks,
            self._upper_limits - upper_slacks,
        )

    @property
    def gradients(self) -> Matrix:
        """Gradients of the losses for the present slopes, shape ``(T, n)``."""
        return self._rows.sum_rows(self._slopes[:, None] * self._rows.features)

    @property
    def intercepts(self) -> Vector:
        """Values at the origin of the lines below the losses with these slopes, ``(T,)``."""
        row_intercepts = self._slopes * self._rows.shifts - self._rows.conjugates(self._slopes)
        return self._rows.sum_rows(row_intercepts[:, None])[:, 0]

    @property
    def curvature(self) -> Curvature:
        """Curvature of the losses after elimination of the slopes."""
        return self._rows.curvature_of(self._second_derivatives)

    def right_hand_side(self, mu: float) -> Matrix:
        """Part of the Newton system's right-hand side, shape ``(T, n)``."""
        self._fixed_steps = self._multiplier_steps(mu)
        multipliers = self.multipliers + self._fixed_steps
        # How far the residuals are from r = (f*)'(slope) + nu_+ - nu_-, with the new multipliers.
        self._residual_errors = np.zeros(len(self._residuals))
        self._residual_errors[self._limited_indices] = (
            self._residuals[self._limited_indices]
            - self._rows.invert_slopes(self.slacks).residuals
            - multipliers[:, UPPER]
            + multipliers[:, LOWER]
        )
        return self._rows.sum_rows(
            -(self._second_derivatives * self._residual_errors)[:, None] * self._rows.features
        )

    def set_step(self, step: Matrix) -> float:
        """Set the pairs' step from a step of the comparators; return its largest multiple."""
        residual_steps = row_products(self._rows.features, self._rows.spread_to_rows(step))
        slope_steps = (self._second_derivatives * (residual_steps + self._residual_errors))[
            self._limited_indices
        ]
        # A slope that rises by 1 changes its slacks to the upper and lower limit by -1 and 1.
        return self._store_step(slope_steps[:, None] * np.array([-1.0, 1.0]), self._fixed_steps)

    @property
    def _second_derivatives(self) -> Vector:
        """Derivative of each slope by its residual, through the multipliers where it is bounded."""
        # From r = (f*)'(slope) + nu_+ - nu_-: dr/dslope = (f*)'' + nu_+ / s_+ + nu_- / s_-.
        derivatives = self._rows.secant_curvatures.copy()
        derivatives[self._limited_indices] = 1.0 / (
            self._rows.invert_slopes(self.slacks).derivatives
            + (self.multipliers / self.slacks).sum(axis=1)
        )
        return derivatives
