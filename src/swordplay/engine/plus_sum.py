"""Sword++ on dense rows: experts share their gradients, and have coordinates of their own only where they were projected.

All experts descend along the same gradients. With theta the sum of these, since it was last 0,

    xhat_i = s_i W_i - eta_i theta,

so that a step changes theta alone. W of whoever was not projected yet is 0: these stand on one line through the centre, and
cost nothing but theta, whatever their number. A projection
xhat' = sigma (s W - eta theta) keeps the form, with s' = sigma s and W' = W + eta (1/s' - 1/s) theta: that change waits for the
next round's pass, as changes do in ``ball``; where nothing waits W is read and not written.

A kernel brings its learner to the form of ``ball`` when it ends (``settle``), so that nobody else knows of theta, which lies
where a row under way would, and back when it begins (``begin``), if it finds that some stand on a line.
"""

from __future__ import annotations

from typing import Any

from swordplay.base.compiling import expert_loop, larger, part
from swordplay.base.types import Vector
from swordplay.engine import ball, plus_plus
from swordplay.engine.blocks import columns_of, dot, largest
from swordplay.engine.layout import BLOCK, CONFIG, EXPERT, LIVE, VECTOR, Arrays, Products
from swordplay.engine.plus_own import OWN, SUM, change_all, read_all
from swordplay.engine.weights import normalised, settle_weights, taken_share

LAST_BITS = 1e-15
"""Relative error of numbers on a line that were brought to the form of ``ball`` and back: three roundings."""


@part
def predict(me: Arrays, of: Products, features: Vector) -> float:
    """<a, x_i> of every expert; returns their weighted sum."""
    numbers = me.numbers
    columns, product = columns_of(numbers), dot(len(features), features, me.vectors[SUM])
    if me.live[LIVE.pending] == 1.0:
        change_all(me, features)
        me.live[LIVE.pending] = 0.0
    elif me.live[LIVE.beyond] > 0.0:
        read_all(me, features)
    return float(
        mix(
            columns,
            of.cross,
            product,
            taken_share(me.live),
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


@part
def judge(me: Arrays, of: Products, prediction: float, target: float) -> float:
    """As ``plus_plus.judge``; what is pending is what a projection changes, and nothing where there was none."""
    live = me.live
    heard, far, rate, afresh = plus_plus.hear(me, of, prediction, target)
    plus_plus.advance(me, of, heard, far, rate, afresh, me.numbers[EXPERT.coefficient])
    if live[LIVE.shift] > 0.0:
        live[LIVE.pending] = 1.0
        widen(me)
    return float(heard.h)


@part
def widen(me: Arrays) -> None:
    """The blocks of experts that have a change pending are from here on among those whose W is looked at."""
    live, change = me.live, me.numbers[EXPERT.coefficient]
    for block in range(0, columns_of(me.numbers), BLOCK):
        if (block < live[LIVE.first] or block >= live[LIVE.beyond]) and largest(BLOCK, change[block : block + BLOCK]) > 0.0:
            live[LIVE.first] = min(live[LIVE.first], float(block)) if live[LIVE.beyond] > 0.0 else float(block)
            live[LIVE.beyond] = max(live[LIVE.beyond], float(block + BLOCK))


@part
def keep(me: Arrays, of: Products, features: Vector, smallest: float) -> None:
    """The gradient joins the sum, and the features become the last ones."""
    live, config = me.live, me.config
    join(len(features), live[LIVE.candidate], features, me.vectors[SUM], me.vectors[VECTOR.last])
    live[LIVE.last_norm] = of.norm
    if smallest < config[CONFIG.smallest_scale] or live[LIVE.rounds] >= live[LIVE.refresh_at]:
        settle(me)
        ball.flush(me)
        gather(me)
        live[LIVE.refresh_at] = live[LIVE.rounds] + config[CONFIG.refresh]


@expert_loop
def join(n: int, h: float, features: Vector, common: Vector, last: Vector) -> None:
    """theta += h a, a' = a."""
    for j in range(n):
        common[j] += h * features[j]
        last[j] = features[j]


@part
def begin(me: Arrays) -> None:
    """From the form of ``ball``: nothing pending, and theta as far as it can be found again."""
    fold(me, me.numbers[EXPERT.coefficient], me.vectors[VECTOR.last])
    me.live[LIVE.prepared] = me.live[LIVE.freely] = 0.0
    gather(me)


@part
def gather(me: Arrays) -> None:
    """Find theta again, of a block of experts who stand on a line: those with the shortest steps, if any do."""
    numbers, live, common = me.numbers, me.live, me.vectors[SUM]
    n, eta = columns_of(numbers), numbers[EXPERT.eta]
    live[LIVE.pending], live[LIVE.first], live[LIVE.beyond] = 0.0, 0.0, float(n)
    common[:] = 0.0
    numbers[OWN] = 0.0
    block = 0 if eta[0] < eta[n - 1] else n - BLOCK
    shortest = 0 if block == 0 else n - 1
    for j in range(len(common)):
        common[j] = -numbers[EXPERT.scale, shortest] * me.coords[j, shortest] / eta[shortest]
    if not in_line(me, block):
        common[:] = 0.0
        return
    first, beyond = n, 0
    for begin in range(0, n, BLOCK):
        if not in_line(me, begin):
            first, beyond = min(first, begin), begin + BLOCK
    live[LIVE.first], live[LIVE.beyond] = float(first), float(beyond)
    take_out(me, first, beyond)


@part
def in_line(me: Arrays, begin: int) -> bool:
    """Whether all of a block have xhat = -eta theta, to rounding."""
    eta, scale = me.numbers[EXPERT.eta][begin : begin + BLOCK], me.numbers[EXPERT.scale][begin : begin + BLOCK]
    for j in range(me.coords.shape[0]):
        if strays(BLOCK, me.vectors[SUM, j], scale, eta, me.coords[j][begin : begin + BLOCK]) > 0.0:
            return False
    return True


@part
def take_out(me: Arrays, first: int, beyond: int) -> None:
    """W = (xhat + eta theta) / s of columns from ``first`` to before ``beyond``, and 0 of the others."""
    numbers, coords = me.numbers, me.coords
    for j in range(coords.shape[0]):
        for i in range(columns_of(numbers)):
            if first <= i < beyond:
                coords[j, i] += numbers[EXPERT.eta, i] * numbers[EXPERT.unscale, i] * me.vectors[SUM, j]
            else:
                coords[j, i] = 0.0


@expert_loop
def strays(n: int, along: float, scale: Vector, eta: Vector, line: Any) -> float:
    """By how much s W + eta theta differs from 0 beyond rounding, one coordinate of all experts."""
    most = 0.0
    for i in range(n):
        there = eta[i] * along
        most = larger(most, abs(scale[i] * line[i] + there) - LAST_BITS * abs(there))
    return most


@part
def settle(me: Arrays) -> None:
    """Back to the form of ``ball``: W + (change - eta / s) theta."""
    numbers = me.numbers
    change = numbers[EXPERT.coefficient]
    for i in range(columns_of(numbers)):
        change[i] -= numbers[EXPERT.eta, i] * numbers[EXPERT.unscale, i]
    fold(me, change, me.vectors[SUM])
    me.vectors[SUM] = 0.0
    me.live[LIVE.pending] = 0.0


@part
def fold(me: Arrays, change: Vector, direction: Vector) -> None:
    """W += change * direction, and the change is no longer pending."""
    for j in range(me.coords.shape[0]):
        add_change(columns_of(me.numbers), me.coords[j], change, direction[j])
    change[:] = 0.0


@expert_loop
def add_change(n: int, line: Any, change: Vector, along: float) -> None:
    """One coordinate of all experts."""
    for i in range(n):
        line[i] += change[i] * along


@part
def decide(me: Arrays, decision: Vector) -> None:
    """x_t = centre + sum of p_i (alpha_i xhat_i - gamma_i a')."""
    settle_weights(me)
    numbers, experts = me.numbers, int(me.live[LIVE.experts])
    share = numbers[EXPERT.scratch]
    ahead = common = 0.0
    for i in range(experts):
        share[i] = numbers[EXPERT.weight, i] * numbers[EXPERT.alpha, i] * numbers[EXPERT.scale, i]
        common += share[i] * (numbers[EXPERT.coefficient, i] - numbers[EXPERT.eta, i] * numbers[EXPERT.unscale, i])
        ahead -= numbers[EXPERT.weight, i] * numbers[EXPERT.gamma, i]
    for j in range(me.coords.shape[0]):
        coordinate = me.vectors[VECTOR.center, j] + common * me.vectors[SUM, j] + ahead * me.vectors[VECTOR.last, j]
        for i in range(experts):
            coordinate += share[i] * me.coords[j, i]
        decision[j] = coordinate
