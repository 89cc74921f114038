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
    CONFIG,
    DOUBLING,
    EXPERT,
    FIXED,
    LEARNED,
    LIVE,
    NO_OPTIMISM,
    SQUARED,
    Arrays,
    Products,
)
from swordplay.engine.scalar_functions import columns_of, dot, fading, level, slope
from swordplay.engine.step_sizes import adapt, begin
from swordplay.parts.metas.optimism import TIED_TRUST
from swordplay.parts.metas.optimistic_hedge import SMALLEST_WEIGHT
from swordplay.parts.rates import TIE_TOLERANCE


@inline
def distance(now: float, before: float, of: Products) -> float:
    """norm(now * a - before * a')^2, by whichever of two forms cancels less.

    Expanding the square is right unless the two gradients are nearly the same. Then
    now a - before a' = (now - before) a + before (a - a') loses nothing, because turn = <a, a - a'>
    and gap = norm(a - a')^2 were summed entry by entry. Both forms have one shape: numbers are
    chosen, and no branch is taken.
    """
    change = now - before
    apart = now * now * of.norm + before * before * of.last_norm
    close = change * change * of.norm + before * before * of.gap
    mixed = change * of.turn if close < apart else -now * of.cross
    return larger(smaller(close, apart) + 2.0 * before * mixed, 0.0)


@inline
def judge(me: Arrays, of: Products, prediction: float, target: float) -> float:
    """Gradients, the certificate's sums, and the meta's losses.

    Returns h, with g_t = h a the gradient at the decision.
    """
    numbers, live, config = me.numbers, me.live, me.config
    n = columns_of(numbers)
    loss, threshold = int(config[CONFIG.loss]), config[CONFIG.threshold]
    weight = live[LIVE.weight]
    h = weight * slope(loss, threshold, prediction + of.offset, target)
    shared = config[CONFIG.shared] == 1.0
    slope_, replay, surprise = (
        numbers[EXPERT.slope],
        numbers[EXPERT.replay],
        numbers[EXPERT.surprise],
    )
    if shared:
        slope_[:] = h
    else:
        slopes(n, loss, threshold, weight, numbers[EXPERT.played], of.offset, target, slope_)
    surprises(n, of, slope_, replay, surprise, numbers[EXPERT.peak])
    if config[CONFIG.adaptive] == 1.0:
        adapt(me, of, h)
    elif live[LIVE.rounds] == 0.0:
        begin(me)
    told, said, late = h, numbers[EXPERT.played], live[LIVE.late]
    if late > 0.0:
        told, said = (
            weight * slope(loss, threshold, live[LIVE.asked] + of.offset, target),
            numbers[EXPERT.asked],
        )
        live[LIVE.late] = 0.0
    seen = account(
        n,
        h,
        prediction,
        told,
        said,
        live[LIVE.smallest],
        config[CONFIG.retention],
        weight if loss == SQUARED and not shared else 0.0,
        numbers[EXPERT.played],
        numbers[EXPERT.surprise],
        numbers[EXPERT.eta],
        numbers[EXPERT.inverse],
        numbers[EXPERT.lead],
        numbers[EXPERT.guess],
        numbers[EXPERT.energy],
        numbers[EXPERT.advantage],
        numbers[EXPERT.drift],
        numbers[EXPERT.cumulative],
    )
    if loss != SQUARED and not shared:
        bend(me, of, h, prediction, target)
    settle(me, of, h, late, seen)
    return float(h)


@inline
def watch(live: Vector, of: Products) -> None:
    """Take note of the longest row, and of the longest gradient that was replayed for the meta.

    Experts note theirs.

    That of the decision is not longer than the longest of the experts, as slopes grow with
    predictions. Where experts share it, it is the one that is replayed, or theirs.
    """
    live[LIVE.peak] = larger(live[LIVE.peak], live[LIVE.candidate] * live[LIVE.candidate] * of.norm)
    live[LIVE.longest] = larger(live[LIVE.longest], of.norm)


@inline
def peak_of(now: float, before: float, of: Products, peak: float) -> float:
    """The longest gradient that an expert has met, as a square: also now * a, and before * a',
    replayed a round ago.
    """
    return larger(peak, larger(now * now * of.norm, before * before * of.last_norm))


@inline
def settle(me: Arrays, of: Products, h: float, late: float, seen: tuple[float, float]) -> None:
    """The meta's learning rate, from by how much losses and gradient were misjudged.

    A new epoch forgets its losses.
    """
    numbers, live, config = me.numbers, me.live, me.config
    spread, live[LIVE.smallest] = seen
    guess = live[LIVE.trust] * live[LIVE.candidate]
    # Losses that are late by m rounds cost exponential weights (1/2 + m) where others cost 1/2
    # (docs/theory.md).
    mismatch = 0.25 * spread * spread * (1.0 + 2.0 * late)
    if update_learning_rate(live, config, mismatch, distance(h, guess, of)):
        numbers[EXPERT.cumulative] = 0.0
        live[LIVE.smallest] = 0.0


@expert_loop
def surprises(
    n: int, of: Products, slope_: Vector, replay: Vector, answer: Vector, peak: Vector
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
def bend(me: Arrays, of: Products, h: float, prediction: float, target: float) -> None:
    """Take off the certificate how far a loss that is not squared lies above its tangent at
    every expert's prediction.
    """
    n, loss, threshold = (
        columns_of(me.numbers),
        int(me.config[CONFIG.loss]),
        me.config[CONFIG.threshold],
    )
    at = prediction + of.offset
    height, weight = level(loss, threshold, at, target), me.live[LIVE.weight]
    curve(
        n,
        loss,
        threshold,
        weight,
        h,
        at,
        height,
        me.numbers[EXPERT.played],
        of.offset,
        target,
        me.numbers[EXPERT.drift],
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
def weigh(me: Arrays, of: Products, target: float) -> None:
    """Replay the field at old weights and new points, then weigh the experts for the coming
    round.
    """
    numbers, live, config = me.numbers, me.live, me.config
    n = columns_of(numbers)
    guess = 0.0
    if config[CONFIG.optimism] != NO_OPTIMISM:
        mean = dot(n, numbers[EXPERT.weight], numbers[EXPERT.ahead])
        loss, threshold = int(config[CONFIG.loss]), config[CONFIG.threshold]
        live[LIVE.candidate] = live[LIVE.weight] * slope(loss, threshold, mean + of.offset, target)
        guess = live[LIVE.trust] * live[LIVE.candidate]
    ahead, cumulative, guesses, rate = (
        numbers[EXPERT.ahead],
        numbers[EXPERT.cumulative],
        numbers[EXPERT.guess],
        live[LIVE.rate],
    )
    # No guess is farther from 0 than the farthest point says.
    if rate < math.inf and rate * abs(guess) * config[CONFIG.size] * math.sqrt(of.norm) < STEADY:
        prior, weights, pull = numbers[EXPERT.log_prior], numbers[EXPERT.weight], rate * guess
        live[LIVE.share] = 1.0 / fade(
            n, rate, pull, guess, live[LIVE.smallest], prior, cumulative, ahead, guesses, weights
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
def share(me: Arrays, least: float, rate: float) -> None:
    """p_i in proportion to prior times exp(-rate (loss so far + guess)), given the least of
    these sums; to be normalised.
    """
    numbers = me.numbers
    n = columns_of(numbers)
    prior, cumulative, guesses, weights = (
        numbers[EXPERT.log_prior],
        numbers[EXPERT.cumulative],
        numbers[EXPERT.guess],
        numbers[EXPERT.weight],
    )
    if rate < math.inf:
        total = exponentials(n, rate, least, prior, cumulative, guesses, weights)
    else:
        total = follow_the_leader(n, prior, cumulative, guesses, weights)
    me.live[LIVE.share] = 1.0 / total


@inline
def normalise_weights(me: Arrays) -> None:
    """Normalise the weights, unless a prediction has done so since they were computed."""
    if me.live[LIVE.share] > 0.0:
        normalise(columns_of(me.numbers), me.numbers[EXPERT.weight], me.live[LIVE.share])
        me.live[LIVE.share] = 0.0


@inline
def take_weight_factor(live: Vector) -> float:
    """Return the factor that normalises the weights; the caller applies it now."""
    share = live[LIVE.share] if live[LIVE.share] > 0.0 else 1.0
    live[LIVE.share] = 0.0
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
    if config[CONFIG.rate] == FIXED:
        return False
    lam = live[LIVE.entropy]
    diameter = config[CONFIG.diameter]
    if config[CONFIG.rate] == DOUBLING:
        live[LIVE.total] += surprise
        if live[LIVE.total] <= live[LIVE.level] * (1.0 + TIE_TOLERANCE):
            return False
        doublings = math.ceil(
            math.log2(live[LIVE.total]) - math.log2(live[LIVE.level]) - TIE_TOLERANCE
        )
        live[LIVE.level] = math.ldexp(live[LIVE.level], int(doublings))
        live[LIVE.rate] = min(
            config[CONFIG.cap], math.sqrt((2.0 + lam) / (diameter * diameter * live[LIVE.level]))
        )
        return True
    retention = config[CONFIG.retention]
    live[LIVE.total] = retention * live[LIVE.total] + mismatch
    live[LIVE.level] = max(retention * live[LIVE.level], surprise)
    blur = config[CONFIG.floor] * diameter
    denominator = config[CONFIG.offset] + live[LIVE.total] + blur * blur * live[LIVE.level]
    if denominator > 0.0:
        ceiling = live[LIVE.rate] if retention == 1.0 else config[CONFIG.cap]
        live[LIVE.rate] = min(ceiling, math.sqrt(config[CONFIG.factor] * lam / denominator))
    return False


@inline
def update_trust(live: Vector, config: Vector, of: Products, h: float) -> None:
    """Judge the replayed gradient v a' against a guess of 0, and set the trust for the next one."""
    if config[CONFIG.optimism] == LEARNED:
        v, by_zero = live[LIVE.candidate], h * h * of.norm
        change = v * v * of.last_norm - 2.0 * h * v * of.cross  # norm(h a - v a')^2 - norm(h a)^2
        live[LIVE.difference] += change
        live[LIVE.magnitude] += change + 2.0 * by_zero
        live[LIVE.trust] = trust(config[CONFIG.kappa], live[LIVE.difference], live[LIVE.magnitude])


@inline
def trust(kappa: float, difference: float, magnitude: float) -> float:
    """1 / (1 + exp(kappa * difference)), 1/2 on a tie, as in ``metas.optimism``."""
    if abs(difference) <= TIE_TOLERANCE * magnitude:
        return TIED_TRUST
    score = kappa * difference
    small = fading(-abs(score))
    return (small if score >= 0.0 else 1.0) / (1.0 + small)
