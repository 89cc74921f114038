"""Per-expert gradients, certificate sums, meta losses, learning rate and weights of one round.

The same updates as in ``parts.learners.certificate``, ``parts.metas.optimistic_hedge``,
``parts.metas.optimism`` and ``parts.rates``. All gradients of a round are multiples of its row a,
and expected gradients are multiples of the row a' of the round before, so that vectors become
numbers: g_t = slope a, M_t = expected_slope a'.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from swordplay.compile import expert_loop, inline, larger, smaller
from swordplay.core.types import Vector
from swordplay.engine.layout import (
    DOUBLING,
    EXPERT,
    FIXED,
    LEARNED,
    NO_OPTIMISM,
    SCALAR,
    SETTING,
    SQUARED,
    ExpertRows,
    LearnerArrays,
    RowProducts,
)
from swordplay.engine.scalar_functions import (
    columns_of,
    dot,
    exp_negative,
    expert_rows,
    loss_slope,
    loss_value_in_loop,
)
from swordplay.engine.step_sizes import start_constant_steps, update_steps
from swordplay.parts.metas.meta import SMALLEST_WEIGHT
from swordplay.parts.metas.optimism import TIED_TRUST
from swordplay.parts.rates import TIE_TOLERANCE

MAX_BOUNDED_EXPONENT = 100.0
"""Largest exponent for which weights are computed without subtracting the least sum first."""


# ------------------------------------------------------------------- losses of a round


class RoundLoss(NamedTuple):
    """Loss of a round and what the loops over the experts read of it."""

    kind: int
    threshold: float
    weight: float
    offset: float
    """<a, c>: the prediction of the centre, which the predictions of the experts lack."""
    target: float
    slope: float
    """g_t = slope a."""
    prediction: float
    """<a, x_t>, less that of the centre."""
    meta_slope: float
    """l_{t,i} = meta_slope <a, x_{t,i}>; it is the slope unless the row was predicted earlier."""
    least_cumulative: float
    decay: float


@inline
def squared_distance(slope: float, last_slope: float, products: RowProducts) -> float:
    """|slope a - last_slope a'|^2, by the one of two forms in which less cancels.

    Expanding the square is exact unless the two gradients are nearly equal. For these it is
    computed from slope a - last_slope a' = (slope - last_slope) a + last_slope (a - a'): the
    products dot_change = <a, a - a'> and squared_change = |a - a'|^2 were summed entry by entry and
    have lost nothing.
    """
    # Both forms are a sum of squares plus 2 last_slope times a product, so that the smaller sum is
    # selected without a branch, which a loop over experts could not contain.
    change, squared_norm = slope - last_slope, products.squared_norm
    square, last_square = slope * slope, last_slope * last_slope
    expanded = square * squared_norm + last_square * products.last_squared_norm
    by_change = change * change * squared_norm + last_square * products.squared_change
    mixed = change * products.dot_change if by_change < expanded else -slope * products.dot_last
    return larger(smaller(by_change, expanded) + 2.0 * last_slope * mixed, 0.0)


@inline
def learn_losses(
    learner: LearnerArrays, products: RowProducts, prediction: float, target: float
) -> float:
    """Update gradients, certificate sums and steps of the experts, meta losses and learning rate.

    Returns the slope of the gradient at the decision, g_t = slope a.
    """
    scalars, settings = learner.scalars, learner.settings
    n, e = columns_of(learner), expert_rows(learner)
    kind, threshold = int(settings[SETTING.loss]), settings[SETTING.threshold]
    weight, offset = scalars[SCALAR.loss_weight], products.offset
    is_shared = settings[SETTING.shared_gradient] == 1.0
    slope = weight * loss_slope(kind, threshold, prediction + offset, target)
    # A row that was predicted in an earlier round is scored on what was predicted then.
    rounds_late = scalars[SCALAR.rounds_late]
    meta_slope, meta_predictions = slope, e.prediction
    if rounds_late > 0.0:
        asked = scalars[SCALAR.deferred_prediction] + offset
        meta_slope = weight * loss_slope(kind, threshold, asked, target)
        meta_predictions = e.deferred_prediction
        scalars[SCALAR.rounds_late] = 0.0
    loss = RoundLoss(
        kind,
        threshold,
        weight,
        offset,
        target,
        slope,
        prediction,
        meta_slope,
        scalars[SCALAR.least_cumulative],
        settings[SETTING.decay],
    )
    if is_shared:
        learner.experts[EXPERT.slope] = slope
    else:
        set_slopes(n, loss, e)
    set_squared_errors(n, products, e)
    if settings[SETTING.adaptive_steps] == 1.0:
        update_steps(learner, products, slope)
    elif scalars[SCALAR.rounds] == 0.0:
        start_constant_steps(learner)
    curved_weight = weight if kind == SQUARED and not is_shared else 0.0
    error_range, least = add_round(n, loss, curved_weight, meta_predictions, e)
    scalars[SCALAR.least_cumulative] = least
    if kind != SQUARED and not is_shared:
        at = prediction + offset
        subtract_linearisation_gap(n, loss, loss_value_in_loop(kind, threshold, at, target), e)
    update_rate(learner, products, slope, rounds_late, error_range)
    return float(slope)


@expert_loop
def set_slopes(n: int, loss: RoundLoss, e: ExpertRows) -> None:
    """Slope of the gradient at every expert's own point, g_{t,i} = slope_i a."""
    for i in range(n):
        at = e.prediction[i] + loss.offset
        e.slope[i] = loss.weight * loss_slope(loss.kind, loss.threshold, at, loss.target)


@expert_loop
def set_squared_errors(n: int, products: RowProducts, e: ExpertRows) -> None:
    """|g_{t,i} - M_{t,i}|^2, and the largest gradient each expert has met, as a square."""
    for i in range(n):
        slope, last_slope = e.slope[i], e.expected_slope[i]
        e.squared_error[i] = squared_distance(slope, last_slope, products)
        # also the replayed gradient, last_slope a', which was evaluated a round ago
        squared = slope * slope * products.squared_norm
        last_squared = last_slope * last_slope * products.last_squared_norm
        e.max_squared_gradient[i] = larger(e.max_squared_gradient[i], larger(squared, last_squared))


@expert_loop
def add_round(
    n: int, loss: RoundLoss, curved_weight: float, meta_predictions: Any, e: ExpertRows
) -> tuple[float, float]:
    """Add a round to the certificate sums, the squared errors and the meta losses of all experts.

    ``curved_weight`` is the weight of a squared loss, of which <g_t, x_t - x_{t,i}> falls short by
    half its weight times the squared difference of the predictions; 0 for other losses (see
    :func:`subtract_linearisation_gap`).

    Returns the range of l_{t,i} - m_{t,i} over the experts, and the least cumulative loss.
    """
    highest, lowest, least = -math.inf, math.inf, math.inf
    for i in range(n):
        apart = loss.prediction - e.prediction[i]  # <a, x_t - x_{t,i}>
        squared_error = e.squared_error[i]
        # eta |g - M|^2, where inf * 0 is 0: a step is infinite until the first gradient
        error_cost = e.eta[i] * squared_error if squared_error > 0.0 else 0.0
        lookahead_cost = e.inverse_step[i] * e.squared_lookahead[i]  # |x - xhat|^2 / eta
        e.squared_error_sum[i] += squared_error
        e.linear_regret[i] += loss.slope * apart  # <g_t, x_t - x_{t,i}>
        e.step_cost[i] += 0.5 * (error_cost - lookahead_cost - curved_weight * apart * apart)
        meta_loss = loss.meta_slope * meta_predictions[i]  # l_{t,i} = <g_t, x_{t,i}>
        error = meta_loss - e.optimism[i]  # l_{t,i} - m_{t,i}
        highest, lowest = larger(highest, error), smaller(lowest, error)
        # L_t = decay L_{t-1} + l_t, less a constant
        cumulative = loss.decay * (e.cumulative[i] - loss.least_cumulative) + meta_loss
        e.cumulative[i] = cumulative
        least = smaller(least, cumulative)
    return highest - lowest, least


@expert_loop
def subtract_linearisation_gap(n: int, loss: RoundLoss, value: float, e: ExpertRows) -> None:
    """Subtract B_{t,i} = f_t(x_{t,i}) - f_t(x_t) - <g_t, x_{t,i} - x_t> of losses not squared.

    ``value`` is the loss of the decision without its weight.
    """
    decision = loss.prediction + loss.offset
    for i in range(n):
        at = e.prediction[i] + loss.offset
        difference = loss_value_in_loop(loss.kind, loss.threshold, at, loss.target) - value
        gap = loss.weight * difference - loss.slope * (at - decision)
        e.step_cost[i] -= max(gap, 0.0)


@inline
def update_rate(
    learner: LearnerArrays,
    products: RowProducts,
    slope: float,
    rounds_late: float,
    error_range: float,
) -> None:
    """Update the learning rate from the errors of the optimism.

    A meta that restarts sets its cumulative losses to 0.
    """
    scalars = learner.scalars
    expected_slope = scalars[SCALAR.trust] * scalars[SCALAR.replayed_slope]  # M_t = it times a'
    gradient_error = squared_distance(slope, expected_slope, products)
    # hr(l - m)^2, the squared half range. Losses that are m rounds late cost exponential weights
    # (1/2 + m) times as much where others cost 1/2 (docs/theory.md).
    loss_error = 0.25 * error_range * error_range * (1.0 + 2.0 * rounds_late)
    if update_learning_rate(scalars, learner.settings, loss_error, gradient_error):
        learner.experts[EXPERT.cumulative] = 0.0
        scalars[SCALAR.least_cumulative] = 0.0


@inline
def update_learning_rate(
    scalars: Vector, settings: Vector, loss_error: float, gradient_error: float
) -> bool:
    """One step of ``rates.Fixed``, ``SelfConfident`` or ``Doubling``.

    Returns whether the meta restarts.
    """
    if settings[SETTING.rate_rule] == FIXED:
        return False
    prior_cost, diameter = scalars[SCALAR.prior_cost], settings[SETTING.diameter]
    if settings[SETTING.rate_rule] == DOUBLING:
        scalars[SCALAR.rate_total] += gradient_error
        total, level = scalars[SCALAR.rate_total], scalars[SCALAR.rate_level]
        if total <= level * (1.0 + TIE_TOLERANCE):
            return False
        doublings = math.ceil(math.log2(total) - math.log2(level) - TIE_TOLERANCE)
        level = math.ldexp(level, int(doublings))
        scalars[SCALAR.rate_level] = level
        scalars[SCALAR.learning_rate] = min(
            settings[SETTING.rate_cap],
            math.sqrt((2.0 + prior_cost) / (diameter * diameter * level)),
        )
        return True
    decay = settings[SETTING.decay]
    scalars[SCALAR.rate_total] = decay * scalars[SCALAR.rate_total] + loss_error
    scalars[SCALAR.rate_level] = max(decay * scalars[SCALAR.rate_level], gradient_error)
    floor = settings[SETTING.rate_floor] * diameter
    denominator = (
        settings[SETTING.rate_offset]
        + scalars[SCALAR.rate_total]
        + floor * floor * scalars[SCALAR.rate_level]
    )
    if denominator > 0.0:
        cap = scalars[SCALAR.learning_rate] if decay == 1.0 else settings[SETTING.rate_cap]
        scalars[SCALAR.learning_rate] = min(
            cap, math.sqrt(settings[SETTING.rate_factor] * prior_cost / denominator)
        )
    return False


@inline
def note_extremes(scalars: Vector, products: RowProducts) -> None:
    """Note the longest row, and the longest gradient that was replayed for the meta.

    The loop :func:`set_squared_errors` notes those of the experts. The gradient at the decision is
    no longer than the longest of them, as slopes increase with predictions.
    """
    slope, squared_norm = scalars[SCALAR.replayed_slope], products.squared_norm
    scalars[SCALAR.max_squared_gradient] = larger(
        scalars[SCALAR.max_squared_gradient], slope * slope * squared_norm
    )
    scalars[SCALAR.max_squared_row] = larger(scalars[SCALAR.max_squared_row], squared_norm)


# ------------------------------------------------------------------- optimism


@inline
def update_trust(learner: LearnerArrays, products: RowProducts, slope: float) -> None:
    """One step of ``LearnedOptimism``: compare the replayed gradient with a prediction of 0."""
    scalars, settings = learner.scalars, learner.settings
    if settings[SETTING.optimism_rule] == LEARNED:
        replayed = scalars[SCALAR.replayed_slope]
        zero_error = slope * slope * products.squared_norm  # |g_t|^2
        # |g_t - Mv_t|^2 - |g_t|^2
        change = (
            replayed * replayed * products.last_squared_norm
            - 2.0 * slope * replayed * products.dot_last
        )
        scalars[SCALAR.difference] += change
        scalars[SCALAR.magnitude] += change + 2.0 * zero_error
        scalars[SCALAR.trust] = trust(
            settings[SETTING.trust_rate], scalars[SCALAR.difference], scalars[SCALAR.magnitude]
        )


@inline
def trust(rate: float, difference: float, magnitude: float) -> float:
    """1 / (1 + exp(rate * difference)); 1/2 for equal errors, as in ``metas.optimism``."""
    if abs(difference) <= TIE_TOLERANCE * magnitude:
        return TIED_TRUST
    score = rate * difference
    small = exp_negative(-abs(score))
    return (small if score >= 0.0 else 1.0) / (1.0 + small)


# ------------------------------------------------------------------- weights


@inline
def update_weights(learner: LearnerArrays, products: RowProducts, target: float) -> None:
    """Replay the gradient field at old weights and new points, and set the weights p_{t+1}."""
    scalars, settings = learner.scalars, learner.settings
    n, e = columns_of(learner), expert_rows(learner)
    expected_slope = 0.0  # M_{t+1} = expected_slope a
    if settings[SETTING.optimism_rule] != NO_OPTIMISM:
        mean = dot(n, e.weight, e.next_prediction)  # <a, sum_i p_i x_{t+1,i}>
        scalars[SCALAR.replayed_slope] = scalars[SCALAR.loss_weight] * loss_slope(
            int(settings[SETTING.loss]), settings[SETTING.threshold], mean + products.offset, target
        )
        expected_slope = scalars[SCALAR.trust] * scalars[SCALAR.replayed_slope]
    rate = scalars[SCALAR.learning_rate]
    # No |m_i| exceeds the largest prediction of a point of the domain.
    max_optimism = (
        abs(expected_slope) * settings[SETTING.domain_size] * math.sqrt(products.squared_norm)
    )
    if rate < math.inf and rate * max_optimism < MAX_BOUNDED_EXPONENT:
        total = bounded_hedge_weights(n, rate, expected_slope, scalars[SCALAR.least_cumulative], e)
        scalars[SCALAR.weight_factor] = 1.0 / total
    else:
        hedge_weights(learner, set_optimism(n, expected_slope, e))


@expert_loop
def bounded_hedge_weights(
    n: int, rate: float, expected_slope: float, least_cumulative: float, e: ExpertRows
) -> float:
    """:func:`set_optimism` and :func:`exponential_weights` in one pass; returns the total.

    The exponents lack the least of the sums L + m, which is known only after a pass over all
    experts. Instead the least L is subtracted: exponents are then at most rate |m|, which is small.
    """
    total, rate_slope = 0.0, rate * expected_slope
    for i in range(n):
        e.optimism[i] = expected_slope * e.next_prediction[i]  # m_i = <M, x_i>
        penalty = rate * (e.cumulative[i] - least_cumulative)
        weight = exp_negative((e.log_prior[i] - penalty) - rate_slope * e.next_prediction[i])
        e.weight[i] = weight
        total += weight
    return total


@expert_loop
def set_optimism(n: int, expected_slope: float, e: ExpertRows) -> float:
    """m_i = <M, x_i> of every expert; returns the least L_i + m_i."""
    least = math.inf
    for i in range(n):
        optimism = expected_slope * e.next_prediction[i]
        e.optimism[i] = optimism
        least = smaller(least, e.cumulative[i] + optimism)
    return least


@inline
def hedge_weights(learner: LearnerArrays, least: float) -> None:
    """p_i ~ prior_i exp(-rate (L_i + m_i)), not normalised; ``least`` is the least L_i + m_i."""
    scalars, n, e = learner.scalars, columns_of(learner), expert_rows(learner)
    rate = scalars[SCALAR.learning_rate]
    total = exponential_weights(n, rate, least, e) if rate < math.inf else follow_the_leader(n, e)
    scalars[SCALAR.weight_factor] = 1.0 / total


@expert_loop
def exponential_weights(n: int, rate: float, least: float, e: ExpertRows) -> float:
    """prior_i exp(-rate (L_i + m_i - least)); returns the total.

    No exponent is positive, and the expert with the least sum keeps its prior, so that the total is
    not 0.
    """
    total = 0.0
    for i in range(n):
        weight = exp_negative(e.log_prior[i] - rate * (e.cumulative[i] + e.optimism[i] - least))
        e.weight[i] = weight
        total += weight
    return total


@expert_loop
def follow_the_leader(n: int, e: ExpertRows) -> float:
    """Limit of an infinite rate: the prior for experts with the least L_i + m_i, 0 for the others.

    Returns the total.
    """
    least, total = math.inf, 0.0
    for i in range(n):
        least = smaller(least, e.cumulative[i] + e.optimism[i])
    for i in range(n):
        is_leader = e.cumulative[i] + e.optimism[i] <= least
        weight = exp_negative(e.log_prior[i] if is_leader else -math.inf)
        e.weight[i] = weight
        total += weight
    return total


@inline
def normalise_weights(learner: LearnerArrays) -> None:
    """Normalise the weights, unless a prediction has done so since they were computed.

    Normalisation is deferred to the next prediction, which passes over all experts anyway.
    """
    factor = learner.scalars[SCALAR.weight_factor]
    if factor > 0.0:
        multiply_weights(columns_of(learner), factor, expert_rows(learner))
        learner.scalars[SCALAR.weight_factor] = 0.0


@inline
def take_weight_factor(scalars: Vector) -> float:
    """Return the factor that normalises the weights; the caller multiplies them by it."""
    factor = scalars[SCALAR.weight_factor] if scalars[SCALAR.weight_factor] > 0.0 else 1.0
    scalars[SCALAR.weight_factor] = 0.0
    return float(factor)


@expert_loop
def multiply_weights(n: int, factor: float, e: ExpertRows) -> None:
    """Normalise the weights by a factor, which costs less than a division for each expert."""
    for i in range(n):
        e.weight[i] = normalised(e.weight[i], factor)


@inline
def normalised(weight: float, factor: float) -> float:
    """max(factor * weight, SMALLEST_WEIGHT): no weight is 0."""
    return float(larger(weight * factor, SMALLEST_WEIGHT))
