"""Adaptive step sizes, their caps and terms of the certificate, and pools of experts that grow.

The same updates as in ``parts.experts.step_sizes``. An adaptive step is computed from its inverse,
which the certificate needs, too:

    1 / eta = max{sqrt(squared_error_sum) / (c W), min_inverse_step}

with the multiplier c of the expert and the width W of the part of the domain in use. The sum after
a round sets the step of gradient descent in that round and of extra-gradient experts in the next.
That step is computed once and kept in ``EXPERT.next_eta``.

In a growing pool, extra-gradient and gradient-descent experts take turns. One that measures the
scale of its domain starts with four: columns 0 and 1 hold the capped experts, whose W is the
diameter of the domain and whose steps are at most 1 / (2 L m): L is the largest smoothness so far,
m the number of averaged rounds (gradient descent) or ``SCALAR.step_shrink`` (extra-gradient).
"""

from __future__ import annotations

import math

from swordplay.compile import expert_loop, inline, larger
from swordplay.core.types import Vector
from swordplay.engine.dual_sum import keeps_dual_sum
from swordplay.engine.layout import (
    EXPERT,
    SCALAR,
    SETTING,
    ExpertRows,
    LearnerArrays,
    RowProducts,
)
from swordplay.engine.scalar_functions import (
    columns_of,
    curvature,
    expert_rows,
    track_maximum,
)
from swordplay.parts.experts.step_sizes import AVERAGED_ROUNDS, WIDE_DOMAIN_RATIO

CAPPED_OEGD, CAPPED_OGD = 0, 1
"""Columns of the capped experts: extra-gradient and gradient descent."""


# ------------------------------------------------------------------- steps of a round


@inline
def update_steps(learner: LearnerArrays, products: RowProducts, slope: float) -> None:
    """Set the steps of this round and the next, and their terms of the certificate.

    ``slope`` is that of the gradient at the decision, g_t = slope a.
    """
    if learner.scalars[SCALAR.steps_ready] == 0.0:
        restore_steps(learner)
    has_capped_experts = learner.settings[SETTING.uses_domain_scale] == 1.0
    if has_capped_experts and scale_changes(learner, products, slope):
        update_scale(learner, products, slope)
        update_limits(learner)
    set_steps(columns_of(learner), expert_rows(learner))


@expert_loop
def set_steps(n: int, e: ExpertRows) -> None:
    """Set eta, next_eta and the certificate's sums of changes of 1 / eta."""
    for i in range(n):
        squares = e.squared_error_sum[i] + e.squared_error[i]
        least_inverse = e.min_inverse_step[i] if squares > 0.0 else 0.0
        next_inverse = larger(math.sqrt(squares) * e.inverse_width[i], least_inverse)
        next_eta = step_of(next_inverse)
        # Extra-gradient experts use the sum before the round, unless it is 0.
        uses_old = e.extra_gradient[i] * e.squared_error_sum[i] > 0.0
        inverse = e.next_inverse_step[i] if uses_old else next_inverse
        e.eta[i] = e.next_eta[i] if uses_old else next_eta
        e.next_eta[i] = next_eta
        e.next_inverse_step[i] = next_inverse
        increase = inverse - e.inverse_step[i]
        # sums of (1/eta_t - 1/eta_{t-1}) |xhat|^2 / 2, and of the size of this change times |xhat|
        e.squared_norm_change[i] += 0.5 * increase * e.squared_norm[i]
        e.inverse_growth[i] += larger(increase, 0.0)
        e.inverse_largest[i] = larger(e.inverse_largest[i], inverse)
        e.weighted_norm_change[i] += abs(increase) * e.base_norm[i]
        e.inverse_step[i] = inverse


@inline
def step_of(inverse: float) -> float:
    """1 / inverse; infinite before the first gradient, when the inverse is 0."""
    return 1.0 / inverse if inverse > 0.0 else math.inf


@inline
def restore_steps(learner: LearnerArrays) -> None:
    """Compute the scratch numbers of steps after a load, or a change of the domain or the norms."""
    n, e = columns_of(learner), expert_rows(learner)
    learner.scalars[SCALAR.step_width] = 0.0
    update_limits(learner)
    set_next_steps(n, e)
    if keeps_dual_sum(learner):
        learner.experts[EXPERT.base_norm] = 0.0
    else:
        set_base_norms(n, e)
    learner.scalars[SCALAR.steps_ready] = 1.0


@expert_loop
def set_next_steps(n: int, e: ExpertRows) -> None:
    """next_eta and its inverse as :func:`set_steps` left them after the round before."""
    for i in range(n):
        squares = e.squared_error_sum[i]
        least_inverse = e.min_inverse_step[i] if squares > 0.0 else 0.0
        inverse = larger(math.sqrt(squares) * e.inverse_width[i], least_inverse)
        e.next_eta[i] = step_of(inverse)
        e.next_inverse_step[i] = inverse


@expert_loop
def set_base_norms(n: int, e: ExpertRows) -> None:
    """base_norm = sqrt(squared_norm)."""
    for i in range(n):
        e.base_norm[i] = math.sqrt(e.squared_norm[i])


@inline
def start_constant_steps(learner: LearnerArrays) -> None:
    """Add constant steps to the certificate in the first round; 1 / eta never changes after it."""
    e = expert_rows(learner)
    for i in range(columns_of(learner)):
        inverse = 1.0 / e.eta[i]
        increase = inverse - e.inverse_step[i]
        e.squared_norm_change[i] += 0.5 * increase * e.squared_norm[i]
        e.inverse_growth[i] += max(increase, 0.0)
        e.inverse_largest[i] = max(e.inverse_largest[i], inverse)
        e.inverse_step[i] = inverse


@inline
def track_distance(learner: LearnerArrays) -> None:
    """Track the largest distance of each base point from the centre, and the largest dual norm."""
    n, e = columns_of(learner), expert_rows(learner)
    track_maximum(n, e.squared_norm, e.max_squared_norm)
    track_dual_norm(learner)


@inline
def track_dual_norm(learner: LearnerArrays) -> None:
    """Track the largest bound on the norm of the dual sum S, for adaptive steps, if S is not kept.

    On a ball this replaces :func:`track_distance`, as ``ball.set_lookahead`` tracks the distances.
    """
    if learner.settings[SETTING.adaptive_steps] == 1.0 and not keeps_dual_sum(learner):
        bound_dual_norms(columns_of(learner), expert_rows(learner))


@expert_loop
def bound_dual_norms(n: int, e: ExpertRows) -> None:
    """|S| <= |xhat| / eta + weighted_norm_change; |xhat| is kept for the next round."""
    for i in range(n):
        norm = math.sqrt(e.squared_norm[i])
        e.base_norm[i] = norm
        bound = e.inverse_step[i] * norm + e.weighted_norm_change[i]
        e.max_dual_norm[i] = larger(e.max_dual_norm[i], bound)


# ------------------------------------------------------------------- scale of the domain in use


@inline
def scale_changes(learner: LearnerArrays, products: RowProducts, slope: float) -> bool:
    """Whether :func:`update_scale` and :func:`update_limits` would change anything.

    They rarely do after the first rounds, and both divide.
    """
    scalars, row_norm = learner.scalars, math.sqrt(products.squared_norm)
    L, width = scalars[SCALAR.smoothness], scalars[SCALAR.used_width]
    kind = int(learner.settings[SETTING.loss])
    smoothness = scalars[SCALAR.loss_weight] * curvature(kind) * products.squared_norm
    squared_distance = learner.experts[EXPERT.squared_norm, CAPPED_OGD]
    is_covered = (
        smoothness <= L
        and 4.0 * squared_distance <= width * width
        and abs(slope) * row_norm <= AVERAGED_ROUNDS * L * width
    )
    # In the first rounds the number m of averaged rounds still grows.
    return not is_covered or scalars[SCALAR.rounds] < float(AVERAGED_ROUNDS)


@inline
def update_scale(learner: LearnerArrays, products: RowProducts, slope: float) -> None:
    """One step of ``DomainScale.with_loss``: the largest smoothness L, and the used width."""
    scalars = learner.scalars
    kind = int(learner.settings[SETTING.loss])
    smoothness = scalars[SCALAR.loss_weight] * curvature(kind) * products.squared_norm
    L = max(scalars[SCALAR.smoothness], smoothness)
    scalars[SCALAR.smoothness] = L
    width = scalars[SCALAR.used_width]
    gradient_norm = abs(slope) * math.sqrt(products.squared_norm)
    if width == 0.0 and gradient_norm > 0.0:
        width = 2.0 * gradient_norm / L if L > 0.0 else math.inf
    # Squares are compared before a root is taken and products before a division: each would cost
    # more than the rest of this function.
    squared_distance = learner.experts[EXPERT.squared_norm, CAPPED_OGD]
    if 4.0 * squared_distance > width * width:
        width = max(width, 2.0 * math.sqrt(squared_distance))
    if gradient_norm > AVERAGED_ROUNDS * L * width and L > 0.0:
        width = max(width, gradient_norm / (L * AVERAGED_ROUNDS))
    scalars[SCALAR.used_width] = width


@inline
def update_limits(learner: LearnerArrays) -> None:
    """Set inverse_width = 1 / (c W) and min_inverse_step from the measured scale, if it changed."""
    scalars, settings = learner.scalars, learner.settings
    n, e = columns_of(learner), expert_rows(learner)
    diameter, has_capped_experts = (
        settings[SETTING.diameter],
        settings[SETTING.uses_domain_scale] == 1.0,
    )
    rho = scalars[
        SCALAR.step_shrink
    ]  # a divisor of steps, at least 1; unused without capped experts
    width = diameter
    if has_capped_experts and scalars[SCALAR.used_width] > 0.0:
        width = min(diameter, scalars[SCALAR.used_width] / (rho * rho))
    if width != scalars[SCALAR.step_width]:
        scalars[SCALAR.step_width] = width
        set_inverse_widths(n, width, e)
        learner.experts[EXPERT.min_inverse_step] = 0.0
        if has_capped_experts:  # c = 1/2, W = D
            e.inverse_width[CAPPED_OEGD] = e.inverse_width[CAPPED_OGD] = 2.0 / diameter
    if has_capped_experts:
        # 1 / eta >= 2 L m, with m = rho of extra-gradient and m = min{t, 8} of gradient descent
        double_smoothness = 2.0 * scalars[SCALAR.smoothness]
        averaged_rounds = min(scalars[SCALAR.rounds] + 1.0, float(AVERAGED_ROUNDS))
        limits = rho * double_smoothness, double_smoothness * averaged_rounds
        lowest = e.min_inverse_step
        if lowest[CAPPED_OEGD] != limits[0] or lowest[CAPPED_OGD] != limits[1]:
            lowest[CAPPED_OEGD], lowest[CAPPED_OGD] = limits


@expert_loop
def set_inverse_widths(n: int, width: float, e: ExpertRows) -> None:
    """inverse_width = 1 / (c W); c is the step_size of an adaptive expert."""
    for i in range(n):
        e.inverse_width[i] = 1.0 / (e.step_size[i] * width)


# ------------------------------------------------------------------- growing pools


@inline
def pool_too_slow(scalars: Vector, settings: Vector) -> bool:
    """Whether the largest multiplier is too small for a comparator that moves in every round."""
    # 1 + 2 t > 4^(n - 1) for n multipliers, each of which has two experts
    return bool(
        settings[SETTING.grows] == 1.0
        and 1.0 + 2.0 * scalars[SCALAR.rounds] > 2.0 ** (scalars[SCALAR.expert_count] - 2.0)
    )


@inline
def copy_fastest(learner: LearnerArrays) -> None:
    """Copy the fastest expert of each kind, with twice its step, and split its weight and prior.

    Coordinates are copied by ``copy_points`` of the module of the points.
    """
    experts, scalars = learner.experts, learner.scalars
    first_new = int(scalars[SCALAR.expert_count])
    count = first_new // 2  # multipliers so far
    for kind in range(2):
        parent, child = first_new - 2 + kind, first_new + kind
        for row in range(experts.shape[0]):
            experts[row, child] = experts[row, parent]
        experts[EXPERT.step_size, child] = 2.0 * experts[EXPERT.step_size, parent]
        for step in (EXPERT.eta, EXPERT.next_eta):
            experts[step, child] = 2.0 * experts[step, parent]
        for inverse in (EXPERT.next_inverse_step, EXPERT.inverse_width):
            experts[inverse, child] = 0.5 * experts[inverse, parent]
        limit_copied_step(learner, child)
        # The last prior 1/n splits into 1/(n (n + 1)) and 1/(n + 1), half of each for either kind.
        experts[EXPERT.log_prior, parent] = -math.log(2.0 * count * (count + 1.0))
        experts[EXPERT.log_prior, child] = -math.log(2.0 * (count + 1.0))
        experts[EXPERT.weight, child] = experts[EXPERT.weight, parent] * (count / (count + 1.0))
        experts[EXPERT.weight, parent] /= count + 1.0
    # the padding becomes copies of the last expert again
    for column in range(first_new + 2, experts.shape[1]):
        for row in range(experts.shape[0]):
            experts[row, column] = experts[row, first_new + 1]
        experts[EXPERT.log_prior, column], experts[EXPERT.weight, column] = -math.inf, 0.0
    scalars[SCALAR.expert_count] = first_new + 2.0
    scalars[SCALAR.prior_cost] = math.log(2.0 * count * (count + 1.0))  # ln(1 / the parent's prior)


@inline
def limit_copied_step(learner: LearnerArrays, child: int) -> None:
    """Limit the step of a copy to 1/L where the boundary is far: ``CappedAdaGrad.sum_of_copy``."""
    experts, scalars, settings = learner.experts, learner.scalars, learner.settings
    squares, width = experts[EXPERT.squared_error_sum, child], scalars[SCALAR.used_width]
    if not (
        settings[SETTING.uses_domain_scale] == 1.0
        and squares > 0.0
        and width > 0.0
        and settings[SETTING.diameter] > WIDE_DOMAIN_RATIO * width
    ):
        return
    # eta = c W / sqrt(sum) <= 1 / L
    least_root = (
        experts[EXPERT.step_size, child] * scalars[SCALAR.step_width] * scalars[SCALAR.smoothness]
    )
    if least_root * least_root > squares:
        experts[EXPERT.squared_error_sum, child] = least_root * least_root
        inverse = least_root * experts[EXPERT.inverse_width, child]
        experts[EXPERT.next_inverse_step, child] = inverse
        experts[EXPERT.next_eta, child] = 1.0 / inverse
