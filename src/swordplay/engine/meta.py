"""What a round's loss says about every expert: gradients, the certificate's sums and the meta's
losses.

Twin of ``parts.learners.certificate`` and of the sums of ``parts.metas.optimistic_hedge``. All
gradients of a round are multiples of its features a, so vectors become numbers: g_t = h a,
M_t = w a', with a' the features of the round before.
"""

from __future__ import annotations

import math

from swordplay.compile import expert_loop, inline, larger, smaller
from swordplay.core.types import Vector
from swordplay.engine.adapting import adapt, begin
from swordplay.engine.blocks import columns_of
from swordplay.engine.layout import CONFIG, EXPERT, LIVE, SQUARED, Arrays, Products
from swordplay.engine.rates import update_learning_rate
from swordplay.engine.scalar import level, slope


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
