"""Per-expert gradients, certificate sums, meta losses, learning rate and weights of one round.

Twin of ``parts.learners.certificate``, ``parts.metas.optimistic_hedge``, ``parts.metas.optimism``
and ``parts.rates``. All gradients of a round are multiples of its features a, so vectors become
numbers: g_t = h a, M_t = w a', with a' the features of the round before.
"""

from __future__ import annotations

import math

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
    LearnerArrays,
    RowProducts,
)
from swordplay.engine.scalar_functions import columns_of, dot, fading, level, slope
from swordplay.engine.step_sizes import adapt, begin
from swordplay.parts.metas.optimism import TIED_TRUST
from swordplay.parts.metas.optimistic_hedge import SMALLEST_WEIGHT
from swordplay.parts.rates import TIE_TOLERANCE


@inline
def distance(now: float, before: float, of: RowProducts) -> float:
    """norm(now * a - before * a')^2, by whichever of two forms cancels less.

    Expanding the square is right unless the two gradients are nearly the same. Then
    now a - before a' = (now - before) a + before (a - a') loses nothing, because turn = <a, a - a'>
    and gap = norm(a - a')^2 were summed entry by entry. Both forms have one shape: numbers are
    chosen, and no branch is taken.
    """
    change = now - before
    apart = now * now * of.squared_norm + before * before * of.last_squared_norm
    close = change * change * of.squared_norm + before * before * of.squared_change
    mixed = change * of.dot_change if close < apart else -now * of.dot_last
    return larger(smaller(close, apart) + 2.0 * before * mixed, 0.0)


@inline
def judge(me: LearnerArrays, of: RowProducts, prediction: float, target: float) -> float:
    """Gradients, the certificate's sums, and the meta's losses.

    Returns h, with g_t = h a the gradient at the decision.
    """
    numbers, live, config = me.experts, me.scalars, me.settings
    n = columns_of(numbers)
    loss, threshold = int(config[SETTING.loss]), config[SETTING.threshold]
    weight = live[SCALAR.loss_weight]
    h = weight * slope(loss, threshold, prediction + of.offset, target)
    shared = config[SETTING.shared_gradient] == 1.0
    slope_, replay, surprise = (
        numbers[EXPERT.slope],
        numbers[EXPERT.field_slope],
        numbers[EXPERT.squared_error],
    )
    if shared:
        slope_[:] = h
    else:
        slopes(n, loss, threshold, weight, numbers[EXPERT.prediction], of.offset, target, slope_)
    surprises(n, of, slope_, replay, surprise, numbers[EXPERT.max_squared_gradient])
    if config[SETTING.adaptive_steps] == 1.0:
        adapt(me, of, h)
    elif live[SCALAR.rounds] == 0.0:
        begin(me)
    told, said, late = h, numbers[EXPERT.prediction], live[SCALAR.rounds_late]
    if late > 0.0:
        told, said = (
            weight * slope(loss, threshold, live[SCALAR.deferred_prediction] + of.offset, target),
            numbers[EXPERT.deferred_prediction],
        )
        live[SCALAR.rounds_late] = 0.0
    seen = account(
        n,
        h,
        prediction,
        told,
        said,
        live[SCALAR.least_cumulative],
        config[SETTING.decay],
        weight if loss == SQUARED and not shared else 0.0,
        numbers[EXPERT.prediction],
        numbers[EXPERT.squared_error],
        numbers[EXPERT.eta],
        numbers[EXPERT.inverse_step],
        numbers[EXPERT.squared_lookahead],
        numbers[EXPERT.optimism],
        numbers[EXPERT.squared_error_sum],
        numbers[EXPERT.linear_regret],
        numbers[EXPERT.step_cost],
        numbers[EXPERT.cumulative],
    )
    if loss != SQUARED and not shared:
        bend(me, of, h, prediction, target)
    settle(me, of, h, late, seen)
    return float(h)


@inline
def watch(live: Vector, of: RowProducts) -> None:
    """Take note of the longest row, and of the longest gradient that was replayed for the meta.

    Experts note theirs.

    That of the decision is not longer than the longest of the experts, as slopes grow with
    predictions. Where experts share it, it is the one that is replayed, or theirs.
    """
    live[SCALAR.max_squared_gradient] = larger(
        live[SCALAR.max_squared_gradient],
        live[SCALAR.field_slope] * live[SCALAR.field_slope] * of.squared_norm,
    )
    live[SCALAR.max_squared_row] = larger(live[SCALAR.max_squared_row], of.squared_norm)


@inline
def peak_of(now: float, before: float, of: RowProducts, peak: float) -> float:
    """The longest gradient that an expert has met, as a square: also now * a, and before * a',
    replayed a round ago.
    """
    return larger(peak, larger(now * now * of.squared_norm, before * before * of.last_squared_norm))


@inline
def settle(
    me: LearnerArrays, of: RowProducts, h: float, late: float, seen: tuple[float, float]
) -> None:
    """The meta's learning rate, from by how much losses and gradient were misjudged.

    A new epoch forgets its losses.
    """
    numbers, live, config = me.experts, me.scalars, me.settings
    spread, live[SCALAR.least_cumulative] = seen
    guess = live[SCALAR.trust] * live[SCALAR.field_slope]
    # Losses that are late by m rounds cost exponential weights (1/2 + m) where others cost 1/2
    # (docs/theory.md).
    mismatch = 0.25 * spread * spread * (1.0 + 2.0 * late)
    if update_learning_rate(live, config, mismatch, distance(h, guess, of)):
        numbers[EXPERT.cumulative] = 0.0
        live[SCALAR.least_cumulative] = 0.0


@expert_loop
def surprises(
    n: int, of: RowProducts, slope_: Vector, replay: Vector, answer: Vector, peak: Vector
) -> None:
    """norm(g_t - M_t)^2 of every expert."""
    for i in range(n):
        answer[i] = distance(slope_[i], replay[i], of)
        peak[i] = peak_of(slope_[i], replay[i], of, peak[i])


@expert_loop
def slopes(
    n: int,
    loss: int,
    threshold: float,
    weight: float,
    at: Vector,
    offset: float,
    target: float,
    answer: Vector,
) -> None:
    """Derivative of the loss at every expert's prediction."""
    for i in range(n):
        answer[i] = weight * slope(loss, threshold, at[i] + offset, target)


@inline
def bend(me: LearnerArrays, of: RowProducts, h: float, prediction: float, target: float) -> None:
    """Take off the certificate how far a loss that is not squared lies above its tangent at
    every expert's prediction.
    """
    n, loss, threshold = (
        columns_of(me.experts),
        int(me.settings[SETTING.loss]),
        me.settings[SETTING.threshold],
    )
    at = prediction + of.offset
    height, weight = level(loss, threshold, at, target), me.scalars[SCALAR.loss_weight]
    curve(
        n,
        loss,
        threshold,
        weight,
        h,
        at,
        height,
        me.experts[EXPERT.prediction],
        of.offset,
        target,
        me.experts[EXPERT.step_cost],
    )


@expert_loop
def curve(
    n: int,
    loss: int,
    threshold: float,
    weight: float,
    h: float,
    at: float,
    height: float,
    played: Vector,
    offset: float,
    target: float,
    drift: Vector,
) -> None:
    """By how much the loss at every expert's prediction lies above its tangent at the
    decision's, which has slope h.
    """
    for i in range(n):
        there = played[i] + offset
        above = weight * (level(loss, threshold, there, target) - height) - h * (there - at)
        drift[i] -= max(above, 0.0)


@expert_loop
def account(
    n: int,
    h: float,
    prediction: float,
    told: float,
    said: Vector,
    off: float,
    retention: float,
    bent: float,
    played: Vector,
    surprise: Vector,
    eta: Vector,
    inverse: Vector,
    lead: Vector,
    guess: Vector,
    energy: Vector,
    advantage: Vector,
    drift: Vector,
    cumulative: Vector,
) -> tuple[float, float]:
    """All sums of a round, in one pass over the experts.

    Returns how far apart they were misjudged, and the smallest loss.

    The certificate's <g_t, x_t - x_i> and eta/2 surprise - lead/(2 eta), the surprises, and the
    meta's losses l_i = <g_t, x_i> = h <a, x_i>, added to what is retained of the past, less
    ``off``, which was their smallest sum. The meta's slope and products are ``told`` and ``said``:
    h and <a, x_i>, or those of the round in which a late row was asked. ``bent`` is the weight of a
    squared loss, which lies half the squared difference of two predictions above its tangent, and 0
    of others (see ``bend``).
    """
    high, low, least = -math.inf, math.inf, math.inf
    for i in range(n):
        away = prediction - played[i]
        price = (
            eta[i] * surprise[i] if surprise[i] > 0.0 else 0.0
        )  # an infinite step has met no gradient
        energy[i] += surprise[i]
        advantage[i] += h * away
        drift[i] += 0.5 * (price - inverse[i] * lead[i] - bent * away * away)
        loss = told * said[i]
        wrong = loss - guess[i]
        high, low = larger(high, wrong), smaller(low, wrong)
        so_far = retention * (cumulative[i] - off) + loss
        cumulative[i] = so_far
        least = smaller(least, so_far)
    return high - low, least


STEADY = 100.0
"""Guesses that change no exponent by more: it may be positive then, and still no exponential is
large.
"""


@inline
def weigh(me: LearnerArrays, of: RowProducts, target: float) -> None:
    """Replay the field at old weights and new points, then weigh the experts for the coming
    round.
    """
    numbers, live, config = me.experts, me.scalars, me.settings
    n = columns_of(numbers)
    guess = 0.0
    if config[SETTING.optimism_rule] != NO_OPTIMISM:
        mean = dot(n, numbers[EXPERT.weight], numbers[EXPERT.next_prediction])
        loss, threshold = int(config[SETTING.loss]), config[SETTING.threshold]
        live[SCALAR.field_slope] = live[SCALAR.loss_weight] * slope(
            loss, threshold, mean + of.offset, target
        )
        guess = live[SCALAR.trust] * live[SCALAR.field_slope]
    ahead, cumulative, guesses, rate = (
        numbers[EXPERT.next_prediction],
        numbers[EXPERT.cumulative],
        numbers[EXPERT.optimism],
        live[SCALAR.learning_rate],
    )
    # No guess is farther from 0 than the farthest point says.
    if (
        rate < math.inf
        and rate * abs(guess) * config[SETTING.domain_size] * math.sqrt(of.squared_norm) < STEADY
    ):
        prior, weights, pull = numbers[EXPERT.log_prior], numbers[EXPERT.weight], rate * guess
        live[SCALAR.weight_factor] = 1.0 / fade(
            n,
            rate,
            pull,
            guess,
            live[SCALAR.least_cumulative],
            prior,
            cumulative,
            ahead,
            guesses,
            weights,
        )
    else:
        share(me, expect(n, guess, ahead, cumulative, guesses), rate)


@expert_loop
def fade(
    n: int,
    rate: float,
    pull: float,
    guess: float,
    smallest: float,
    log_prior: Vector,
    cumulative: Vector,
    ahead: Vector,
    guesses: Vector,
    answer: Vector,
) -> float:
    """``expect`` and ``exponentials`` in one pass, where guesses move no exponent far: less the
    least loss so far will do.

    That is known long before the guess is, and any number may be taken off as long as no exponent
    gets large. ``pull`` is rate times guess.
    """
    total = 0.0
    for i in range(n):
        guesses[i] = guess * ahead[i]
        answer[i] = fading((log_prior[i] - rate * (cumulative[i] - smallest)) - pull * ahead[i])
        total += answer[i]
    return total


@expert_loop
def expect(n: int, guess: float, ahead: Vector, cumulative: Vector, guesses: Vector) -> float:
    """m_i = <M, x_i> = w <a, x_i> of every expert; returns the least of loss so far + guess."""
    least = math.inf
    for i in range(n):
        m = guess * ahead[i]
        guesses[i] = m
        least = smaller(least, cumulative[i] + m)
    return least


@inline
def share(me: LearnerArrays, least: float, rate: float) -> None:
    """p_i in proportion to prior times exp(-rate (loss so far + guess)), given the least of
    these sums; to be normalised.
    """
    numbers = me.experts
    n = columns_of(numbers)
    prior, cumulative, guesses, weights = (
        numbers[EXPERT.log_prior],
        numbers[EXPERT.cumulative],
        numbers[EXPERT.optimism],
        numbers[EXPERT.weight],
    )
    if rate < math.inf:
        total = exponentials(n, rate, least, prior, cumulative, guesses, weights)
    else:
        total = follow_the_leader(n, prior, cumulative, guesses, weights)
    me.scalars[SCALAR.weight_factor] = 1.0 / total


@inline
def normalise_weights(me: LearnerArrays) -> None:
    """Normalise the weights, unless a prediction has done so since they were computed."""
    if me.scalars[SCALAR.weight_factor] > 0.0:
        normalise(
            columns_of(me.experts), me.experts[EXPERT.weight], me.scalars[SCALAR.weight_factor]
        )
        me.scalars[SCALAR.weight_factor] = 0.0


@inline
def take_weight_factor(live: Vector) -> float:
    """Return the factor that normalises the weights; the caller applies it now."""
    share = live[SCALAR.weight_factor] if live[SCALAR.weight_factor] > 0.0 else 1.0
    live[SCALAR.weight_factor] = 0.0
    return float(share)


@expert_loop
def exponentials(
    n: int,
    rate: float,
    least: float,
    log_prior: Vector,
    cumulative: Vector,
    guesses: Vector,
    answer: Vector,
) -> float:
    """prior * exp(-rate * (loss so far + guess, less the least)); returns their sum.

    No prior is above 1, so no exponent is positive; the expert with the least sum keeps its prior,
    so the total does not vanish. The least is known before the rate is.
    """
    total = 0.0
    for i in range(n):
        answer[i] = fading(log_prior[i] - rate * (cumulative[i] + guesses[i] - least))
        total += answer[i]
    return total


@expert_loop
def follow_the_leader(
    n: int, log_prior: Vector, cumulative: Vector, guesses: Vector, answer: Vector
) -> float:
    """The limit of an infinite rate: the prior for experts with the least sum, 0 for the others.

    Returns their sum.
    """
    least, total = math.inf, 0.0
    for i in range(n):
        least = smaller(least, cumulative[i] + guesses[i])
    for i in range(n):
        answer[i] = fading(log_prior[i] if cumulative[i] + guesses[i] <= least else -math.inf)
        total += answer[i]
    return total


@inline
def normalised(weight: float, share: float) -> float:
    """One weight."""
    return float(larger(weight * share, SMALLEST_WEIGHT))


@expert_loop
def normalise(n: int, weights: Vector, share: float) -> None:
    """Weights with a sum of 1, none of them 0.

    ``share`` is given, as a quotient in here would be formed for every expert.
    """
    for i in range(n):
        weights[i] = normalised(weights[i], share)


@inline
def update_learning_rate(live: Vector, config: Vector, mismatch: float, surprise: float) -> bool:
    """One step of ``rates.Fixed``, ``SelfConfident`` or ``Doubling``.

    True if the meta has to start afresh.
    """
    if config[SETTING.rate_rule] == FIXED:
        return False
    lam = live[SCALAR.prior_cost]
    diameter = config[SETTING.diameter]
    if config[SETTING.rate_rule] == DOUBLING:
        live[SCALAR.rate_total] += surprise
        if live[SCALAR.rate_total] <= live[SCALAR.rate_level] * (1.0 + TIE_TOLERANCE):
            return False
        doublings = math.ceil(
            math.log2(live[SCALAR.rate_total]) - math.log2(live[SCALAR.rate_level]) - TIE_TOLERANCE
        )
        live[SCALAR.rate_level] = math.ldexp(live[SCALAR.rate_level], int(doublings))
        live[SCALAR.learning_rate] = min(
            config[SETTING.rate_cap],
            math.sqrt((2.0 + lam) / (diameter * diameter * live[SCALAR.rate_level])),
        )
        return True
    retention = config[SETTING.decay]
    live[SCALAR.rate_total] = retention * live[SCALAR.rate_total] + mismatch
    live[SCALAR.rate_level] = max(retention * live[SCALAR.rate_level], surprise)
    blur = config[SETTING.rate_floor] * diameter
    denominator = (
        config[SETTING.rate_offset]
        + live[SCALAR.rate_total]
        + blur * blur * live[SCALAR.rate_level]
    )
    if denominator > 0.0:
        ceiling = live[SCALAR.learning_rate] if retention == 1.0 else config[SETTING.rate_cap]
        live[SCALAR.learning_rate] = min(
            ceiling, math.sqrt(config[SETTING.rate_factor] * lam / denominator)
        )
    return False


@inline
def update_trust(live: Vector, config: Vector, of: RowProducts, h: float) -> None:
    """Judge the replayed gradient v a' against a guess of 0, and set the trust for the next one."""
    if config[SETTING.optimism_rule] == LEARNED:
        v, by_zero = live[SCALAR.field_slope], h * h * of.squared_norm
        change = (
            v * v * of.last_squared_norm - 2.0 * h * v * of.dot_last
        )  # norm(h a - v a')^2 - norm(h a)^2
        live[SCALAR.difference] += change
        live[SCALAR.magnitude] += change + 2.0 * by_zero
        live[SCALAR.trust] = trust(
            config[SETTING.trust_rate], live[SCALAR.difference], live[SCALAR.magnitude]
        )


@inline
def trust(kappa: float, difference: float, magnitude: float) -> float:
    """1 / (1 + exp(kappa * difference)), 1/2 on a tie, as in ``metas.optimism``."""
    if abs(difference) <= TIE_TOLERANCE * magnitude:
        return TIED_TRUST
    score = kappa * difference
    small = fading(-abs(score))
    return (small if score >= 0.0 else 1.0) / (1.0 + small)
