"""Sword++ on dense rows: experts share their gradients, and have coordinates of their own only
where they were projected.

All experts descend along the same gradients. With theta the sum of these, since it was last 0,

    xhat_i = s_i W_i - eta_i theta,

so that a step changes theta alone. W of whoever was not projected yet is 0: these stand on one line
through the centre, and cost nothing but theta, whatever their number. A projection xhat' = sigma (s
W - eta theta) keeps the form, with s' = sigma s and W' = W + eta (1/s' - 1/s) theta: that change
waits for the next round's pass, as changes do in ``ball``; where nothing waits W is read and not
written.

While all of them stand on that line, their numbers are shared as well (``plus_line``). Kernels
begin and end with the form of ``ball`` (``plus_form``), so that nobody else knows of theta, which
lies where a row under way would.
"""

from __future__ import annotations

import math

from swordplay.compile import expert_loop, inline, vector_loop
from swordplay.core.types import Vector
from swordplay.engine import ball, plus_line, plus_plus
from swordplay.engine.blocks import columns_of, dot, largest
from swordplay.engine.layout import BLOCK, CONFIG, EXPERT, LIVE, VECTOR, Arrays, Products
from swordplay.engine.plus_form import find_widest, gather, join, settle
from swordplay.engine.plus_own import OWN, SUM, change_all, read_all
from swordplay.engine.weights import normalised, settle_weights, taken_share


@inline
def measure(me: Arrays, features: Vector) -> Products:
    """As ``ball.measure``, and <a, theta>.

    The gradient of the last round joins theta on the way.
    """
    live, before = me.live, me.live[LIVE.unadded]
    norm, cross, turn, gap, product = pass_over(
        len(features), before, features, me.vectors[VECTOR.last], me.vectors[SUM]
    )
    live[LIVE.product], live[LIVE.unadded] = product + before * cross, 0.0
    offset = 0.0
    if me.config[CONFIG.centered] == 1.0:
        offset = dot(len(features), features, me.vectors[VECTOR.center])
    return Products(norm, live[LIVE.last_norm], cross, turn, gap, offset)


@vector_loop
def pass_over(
    n: int, before: float, features: Vector, last: Vector, common: Vector
) -> tuple[float, float, float, float, float]:
    """norm(a)^2, <a, a'>, <a, a - a'>, norm(a - a')^2, and <a, theta> with theta as it was.

    Then theta += h' a'.

    The product with h' a' is added afterwards: sums over coordinates need not wait for h', which
    the last round ended with.
    """
    norm = cross = turn = gap = product = 0.0
    for j in range(n):
        a, then, there = features[j], last[j], common[j]
        step = a - then
        norm += a * a
        cross += a * then
        turn += a * step
        gap += step * step
        product += a * there
        common[j] = there + before * then
    return norm, cross, turn, gap, product


@inline
def predict(me: Arrays, of: Products, features: Vector) -> float:
    """<a, x_i> of every expert, unless all stand on the line; returns their weighted sum."""
    live, numbers = me.live, me.numbers
    if live[LIVE.in_line] == 1.0:
        return float(plus_line.predict(me, of))
    if live[LIVE.pending] == 1.0:
        change_all(me, features)
        live[LIVE.pending] = 0.0
    elif live[LIVE.beyond] > 0.0:
        read_all(me, features)
    return float(
        mix(
            columns_of(numbers),
            of.cross,
            live[LIVE.product],
            taken_share(live),
            numbers[EXPERT.eta],
            numbers[EXPERT.scale],
            numbers[EXPERT.alpha],
            numbers[EXPERT.gamma],
            numbers[EXPERT.weight],
            numbers[OWN],
            numbers[EXPERT.at_base],
            numbers[EXPERT.played],
        )
    )


@expert_loop
def mix(
    n: int,
    cross: float,
    product: float,
    share: float,
    eta: Vector,
    scale: Vector,
    alpha: Vector,
    gamma: Vector,
    weight: Vector,
    own: Vector,
    at_base: Vector,
    played: Vector,
) -> float:
    """As ``ball.mix``, with <a, xhat> = s <a, W> - eta <a, theta>."""
    total = 0.0
    for i in range(n):
        base = scale[i] * own[i] - eta[i] * product
        point = alpha[i] * base - gamma[i] * cross
        at_base[i] = base
        played[i] = point
        sure = normalised(weight[i], share)
        weight[i] = sure
        total += sure * point
    return total


@inline
def judge(me: Arrays, of: Products, prediction: float, target: float) -> float:
    """As ``plus_plus.judge``.

    What is pending is what a projection changes, and nothing where there was none.
    """
    live = me.live
    if live[LIVE.in_line] == 1.0:
        if plus_line.judge(me, of, prediction, target):
            return float(live[LIVE.candidate])
        plus_line.leave(me, of.cross)
    freely, h = live[LIVE.freely], plus_plus.derivative(me, of, prediction, target)
    spread, far = plus_plus.look_at(me, h, of.norm)
    heard, rate, afresh = plus_plus.hear(me, of, h, prediction, spread)
    calm = live[LIVE.astray] == 0.0 and not plus_line.strays(me, of, h)
    hoped = plus_plus.advance(me, of, heard, far, calm, me.numbers[EXPERT.coefficient])
    live[LIVE.out] = plus_line.gone_out(live, of, h)
    if live[LIVE.shift] > 0.0:
        live[LIVE.pending] = 1.0
        widen(me)
    plus_plus.weigh(me, hoped, rate, afresh)
    if live[LIVE.beyond] == 0.0 and freely == 1.0 and live[LIVE.freely] == 1.0 and rate < math.inf:
        plus_line.enter(me, of, heard)
    return float(h)


@inline
def widen(me: Arrays) -> None:
    """The blocks of experts that have a change pending are from here on among those whose W is
    looked at.
    """
    live, change = me.live, me.numbers[EXPERT.coefficient]
    for block in range(0, columns_of(me.numbers), BLOCK):
        if (block < live[LIVE.first] or block >= live[LIVE.beyond]) and largest(
            BLOCK, change[block : block + BLOCK]
        ) > 0.0:
            live[LIVE.first] = (
                min(live[LIVE.first], float(block)) if live[LIVE.beyond] > 0.0 else float(block)
            )
            live[LIVE.beyond] = max(live[LIVE.beyond], float(block + BLOCK))
    find_widest(me)


@inline
def keep(me: Arrays, of: Products, features: Vector, smallest: float) -> None:
    """The features become the last ones, and the gradient is to join the sum."""
    live, config = me.live, me.config
    last = me.vectors[VECTOR.last]
    for j in range(len(features)):
        last[j] = features[j]
    live[LIVE.last_norm], live[LIVE.unadded] = of.norm, live[LIVE.candidate]
    if smallest < config[CONFIG.smallest_scale] or live[LIVE.rounds] >= live[LIVE.refresh_at]:
        settle(me)
        ball.flush(me)
        gather(me)
        live[LIVE.refresh_at] = live[LIVE.rounds] + config[CONFIG.refresh]


@inline
def decide(me: Arrays, decision: Vector) -> None:
    """x_t = centre + sum of p_i (alpha_i xhat_i - gamma_i a')."""
    settle_weights(me)
    join(me)
    numbers, experts = me.numbers, int(me.live[LIVE.experts])
    share, in_line = numbers[EXPERT.scratch], me.live[LIVE.in_line] == 1.0
    ahead = common = 0.0
    for i in range(experts):
        share[i] = numbers[EXPERT.weight, i] * numbers[EXPERT.alpha, i] * numbers[EXPERT.scale, i]
        common += share[i] * (
            numbers[EXPERT.coefficient, i] - numbers[EXPERT.eta, i] * numbers[EXPERT.unscale, i]
        )
        step = (
            numbers[EXPERT.eta, i] * me.live[LIVE.candidate]
            if in_line
            else numbers[EXPERT.gamma, i]
        )
        ahead -= numbers[EXPERT.weight, i] * step
    for j in range(me.coords.shape[0]):
        coordinate = (
            me.vectors[VECTOR.center, j]
            + common * me.vectors[SUM, j]
            + ahead * me.vectors[VECTOR.last, j]
        )
        for i in range(experts):
            coordinate += share[i] * me.coords[j, i]
        decision[j] = coordinate
