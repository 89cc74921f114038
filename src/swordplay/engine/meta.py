"""What a round's loss says about every expert: gradients, adaptive steps, the certificate's sums and the meta's losses.

Twin of ``parts.experts.steps``, ``parts.learners.certificate`` and the sums of ``parts.metas.hedge``. All gradients of a
round are multiples of its features a, so vectors become numbers: g_t = h a, M_t = w a', with a' the features of the round
before.
"""

from __future__ import annotations

import math

from swordplay.base.compiling import expert_loop, part
from swordplay.base.types import Vector
from swordplay.engine.blocks import columns_of, largest, least
from swordplay.engine.gauge import adaptive_step, cap, known, measure
from swordplay.engine.layout import CONFIG, EXPERT, LINEAR, LIVE, SQUARED, Arrays, Products
from swordplay.engine.rates import retune
from swordplay.engine.scalar import level, slope


@part
def distance(now: float, before: float, of: Products) -> float:
    """norm(now * a - before * a')^2, by whichever of two forms cancels less.

    Expanding the square is right unless the two gradients are nearly the same. Then
    now a - before a' = (now - before) a + before (a - a') loses nothing, because turn = <a, a - a'> and
    gap = norm(a - a')^2 were summed entry by entry.
    """
    change = now - before
    apart = now * now * of.norm + before * before * of.last_norm
    close = change * change * of.norm + before * before * of.gap
    expanded = apart - 2.0 * now * before * of.cross
    nearby = close + 2.0 * change * before * of.turn
    return max(nearby if close < apart else expanded, 0.0)


@part
def judge(me: Arrays, of: Products, prediction: float, target: float) -> float:
    """Gradients, the certificate's sums, and the meta's losses. Returns h, with g_t = h a the gradient at the decision."""
    numbers, live, config = me.numbers, me.live, me.config
    n = columns_of(numbers)
    loss, threshold = int(config[CONFIG.loss]), config[CONFIG.threshold]
    weight = live[LIVE.weight]
    h = weight * slope(loss, threshold, prediction + of.offset, target)
    if config[CONFIG.shared] == 1.0:
        numbers[EXPERT.slope] = h
    else:
        slopes(n, loss, threshold, weight, numbers[EXPERT.played], of.offset, target, numbers[EXPERT.slope])
    if config[CONFIG.adaptive] == 1.0:
        adapt_all(me, of, h)
    if config[CONFIG.adaptive] == 1.0 or live[LIVE.rounds] == 0.0:
        follow(me)
    told, said, late = h, numbers[EXPERT.played], live[LIVE.late]
    if late > 0.0:
        told, said = weight * slope(loss, threshold, live[LIVE.asked] + of.offset, target), numbers[EXPERT.asked]
        live[LIVE.late] = 0.0
    account(
        n,
        of,
        h,
        prediction,
        told,
        said,
        live[LIVE.smallest],
        config[CONFIG.retention],
        numbers[EXPERT.played],
        numbers[EXPERT.slope],
        numbers[EXPERT.replay],
        numbers[EXPERT.eta],
        numbers[EXPERT.inverse],
        numbers[EXPERT.lead],
        numbers[EXPERT.guess],
        numbers[EXPERT.energy],
        numbers[EXPERT.advantage],
        numbers[EXPERT.drift],
        numbers[EXPERT.cumulative],
        numbers[EXPERT.scratch],
    )
    if config[CONFIG.shared] != 1.0:
        bend(me, of, h, prediction, target)
    settle(me, of, h, late)
    return float(h)


@part
def settle(me: Arrays, of: Products, h: float, late: float) -> None:
    """The meta's learning rate, from by how much losses and gradient were misjudged; a new epoch forgets its losses."""
    numbers, live, config = me.numbers, me.live, me.config
    n = columns_of(numbers)
    spread = largest(n, numbers[EXPERT.scratch]) - least(n, numbers[EXPERT.scratch])
    live[LIVE.smallest] = least(n, numbers[EXPERT.cumulative])
    guess = live[LIVE.trust] * live[LIVE.candidate]
    # Losses that are late by m rounds cost exponential weights (1/2 + m) where others cost 1/2 (docs/theory.md).
    mismatch = 0.25 * spread * spread * (1.0 + 2.0 * late)
    if retune(live, config, mismatch, distance(h, guess, of)):
        numbers[EXPERT.cumulative] = 0.0
        live[LIVE.smallest] = 0.0


@expert_loop
def slopes(
    n: int, loss: int, threshold: float, weight: float, at: Vector, offset: float, target: float, answer: Vector
) -> None:
    """Derivative of the loss at every expert's prediction."""
    for i in range(n):
        answer[i] = weight * slope(loss, threshold, at[i] + offset, target)


@part
def adapt_all(me: Arrays, of: Products, h: float) -> None:
    """Adaptive steps of this round, by what was measured before it and is measured now."""
    numbers, live, config = me.numbers, me.live, me.config
    slope_, replay = numbers[EXPERT.slope], numbers[EXPERT.replay]
    before = known(live, config)
    if config[CONFIG.capped] == 1.0:
        measure(me, of, h)
    now = known(live, config)
    adapt(
        columns_of(numbers),
        of,
        before.width,
        now.width,
        slope_,
        replay,
        numbers[EXPERT.step],
        numbers[EXPERT.extra],
        numbers[EXPERT.energy],
        numbers[EXPERT.eta],
    )
    if config[CONFIG.capped] == 1.0:
        cap(me, before, now, distance(slope_[0], replay[0], of), distance(slope_[1], replay[1], of))


@expert_loop
def adapt(
    n: int,
    of: Products,
    before: float,
    now: float,
    slope_: Vector,
    replay: Vector,
    multiplier: Vector,
    extra: Vector,
    energy: Vector,
    eta: Vector,
) -> None:
    """Adaptive steps of this round, for the widths that were known before it and are known now."""
    for i in range(n):
        surprise = distance(slope_[i], replay[i], of)
        # Extra-gradient experts step with what they knew before the round, unless they knew nothing.
        met = energy[i] + (1.0 - extra[i]) * surprise
        width = before if extra[i] == 1.0 and met > 0.0 else now
        eta[i] = adaptive_step(multiplier[i], width, met if met > 0.0 else energy[i] + surprise)


@part
def follow(me: Arrays) -> None:
    """The certificate's account of the steps of this round."""
    follow_steps(
        columns_of(me.numbers),
        me.numbers[EXPERT.eta],
        me.numbers[EXPERT.norm],
        me.numbers[EXPERT.inverse],
        me.numbers[EXPERT.growth],
        me.numbers[EXPERT.largest],
        me.numbers[EXPERT.swing],
        me.numbers[EXPERT.turning],
    )


@expert_loop
def follow_steps(
    n: int, eta: Vector, base_norm: Vector, inverse: Vector, growth: Vector, largest: Vector, swing: Vector, turning: Vector
) -> None:
    """The certificate's account of 1/eta: increases, largest value, and changes times norm(w)^2 / 2 and times norm(w)."""
    for i in range(n):
        now = 1.0 / eta[i]
        turning[i] += abs(now - inverse[i]) * math.sqrt(base_norm[i])
        swing[i] += 0.5 * (now - inverse[i]) * base_norm[i]
        growth[i] += max(now - inverse[i], 0.0)
        largest[i] = max(largest[i], now)
        inverse[i] = now


@part
def bend(me: Arrays, of: Products, h: float, prediction: float, target: float) -> None:
    """Take off the certificate how far the loss lies above its tangent at every expert's prediction: a linear one nowhere."""
    n, loss, threshold = columns_of(me.numbers), int(me.config[CONFIG.loss]), me.config[CONFIG.threshold]
    weight, played, drift = me.live[LIVE.weight], me.numbers[EXPERT.played], me.numbers[EXPERT.drift]
    if loss == SQUARED:
        curve_squared(n, weight, prediction, played, drift)
    elif loss != LINEAR:
        at = prediction + of.offset
        curve(n, loss, threshold, weight, h, at, level(loss, threshold, at, target), played, of.offset, target, drift)


@expert_loop
def curve_squared(n: int, weight: float, prediction: float, played: Vector, drift: Vector) -> None:
    """Half the squared difference of two predictions: by so much a squared loss lies above its tangent."""
    for i in range(n):
        away = played[i] - prediction
        drift[i] -= 0.5 * weight * away * away


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
    """By how much the loss at every expert's prediction lies above its tangent at the decision's, which has slope h."""
    for i in range(n):
        there = played[i] + offset
        above = weight * (level(loss, threshold, there, target) - height) - h * (there - at)
        drift[i] -= max(above, 0.0)


@part
def venture(me: Arrays) -> None:
    """How far from the centre the base point of every expert has been, and how hard steps that change have pulled it."""
    numbers, n = me.numbers, columns_of(me.numbers)
    keep_larger(n, numbers[EXPERT.norm], numbers[EXPERT.farthest])
    if me.config[CONFIG.adaptive] == 1.0:
        keep_pull(n, numbers[EXPERT.inverse], numbers[EXPERT.norm], numbers[EXPERT.turning], numbers[EXPERT.pull])


@expert_loop
def keep_larger(n: int, values: Vector, largest_so_far: Vector) -> None:
    """The larger of two numbers, one by one."""
    for i in range(n):
        largest_so_far[i] = max(largest_so_far[i], values[i])


@expert_loop
def keep_pull(n: int, inverse: Vector, base_norm: Vector, turning: Vector, pull: Vector) -> None:
    """The largest norm(w) / eta + turning so far."""
    for i in range(n):
        pull[i] = max(pull[i], inverse[i] * math.sqrt(base_norm[i]) + turning[i])


@expert_loop
def account(
    n: int,
    of: Products,
    h: float,
    prediction: float,
    told: float,
    said: Vector,
    off: float,
    retention: float,
    played: Vector,
    slope_: Vector,
    replay: Vector,
    eta: Vector,
    inverse: Vector,
    lead: Vector,
    guess: Vector,
    energy: Vector,
    advantage: Vector,
    drift: Vector,
    cumulative: Vector,
    wrong: Vector,
) -> None:
    """All sums of a round, in one pass over the experts.

    The certificate's <g_t, x_t - x_i> and eta/2 surprise - lead/(2 eta), the surprises, and the meta's losses
    l_i = <g_t, x_i> = h <a, x_i>, added to what is retained of the past, less ``off``, which was their smallest sum;
    ``wrong`` is by how much they were misjudged. The meta's slope and products are ``told`` and ``said``: h and <a, x_i>, or
    those of the round in which a late row was asked.
    """
    for i in range(n):
        surprise = distance(slope_[i], replay[i], of)
        price = eta[i] * surprise if surprise > 0.0 else 0.0  # an infinite step has met no gradient
        energy[i] += surprise
        advantage[i] += h * (prediction - played[i])
        drift[i] += 0.5 * (price - inverse[i] * lead[i])
        loss = told * said[i]
        wrong[i] = loss - guess[i]
        cumulative[i] = retention * (cumulative[i] - off) + loss
