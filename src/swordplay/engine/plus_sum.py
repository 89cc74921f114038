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

from swordplay.base.compiling import expert_loop, lane_loop, larger, part
from swordplay.base.types import Vector
from swordplay.engine import ball, plus_plus
from swordplay.engine.ball import sweep_four
from swordplay.engine.blocks import columns_of, dot, largest
from swordplay.engine.layout import BLOCK, CONFIG, EXPERT, LIVE, VECTOR, Arrays, Products
from swordplay.engine.weights import normalised, settle_weights, taken_share

SUM = VECTOR.under_way
"""theta, relative to nothing: a sum of gradients."""
OWN = EXPERT.slope
"""<a, W>: 0 for whoever stands on the line."""
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


@part
def change_all(me: Arrays, features: Vector) -> None:
    """W += change theta and <a, W>, as in ``ball.sweep``."""
    common, dim = me.vectors[SUM], len(features)
    whole = dim - dim % 4
    for first in range(int(me.live[LIVE.first]), int(me.live[LIVE.beyond]), BLOCK):
        beyond = first + BLOCK
        products, change = me.numbers[OWN][first:beyond], me.numbers[EXPERT.coefficient][first:beyond]
        products[:] = 0.0
        columns = BLOCK * (len(change) // BLOCK)
        for j in range(0, whole, 4):
            u, v = me.coords[j][first:beyond], me.coords[j + 1][first:beyond]
            w, x = me.coords[j + 2][first:beyond], me.coords[j + 3][first:beyond]
            sweep_four(columns, u, v, w, x, change, common[j : j + 4], features[j : j + 4], products)
        change_rest(me.coords, first, whole, change, common, features, products)
        change[:] = 0.0


@lane_loop
def change_rest(
    coords: Any, first: int, whole: int, change: Vector, common: Vector, features: Vector, products: Vector
) -> None:
    """The coordinates that are left over, side by side as in ``read_block``."""
    a, b, c, d = products[0], products[1], products[2], products[3]
    e, f, g, h = products[4], products[5], products[6], products[7]
    for j in range(whole, len(features)):
        w, s, y = coords[j][first : first + BLOCK], common[j], features[j]
        k, o, m, n = w[0] + change[0] * s, w[1] + change[1] * s, w[2] + change[2] * s, w[3] + change[3] * s
        p, q, r, t = w[4] + change[4] * s, w[5] + change[5] * s, w[6] + change[6] * s, w[7] + change[7] * s
        w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7] = k, o, m, n, p, q, r, t
        a, b, c, d = a + k * y, b + o * y, c + m * y, d + n * y
        e, f, g, h = e + p * y, f + q * y, g + r * y, h + t * y
    products[0], products[1], products[2], products[3] = a, b, c, d
    products[4], products[5], products[6], products[7] = e, f, g, h


@part
def read_all(me: Arrays, features: Vector) -> None:
    """<a, W>."""
    for first in range(int(me.live[LIVE.first]), int(me.live[LIVE.beyond]), BLOCK):
        read_block(me.coords, first, features, me.numbers[OWN][first : first + BLOCK])


@lane_loop
def read_block(coords: Any, first: int, features: Vector, products: Vector) -> None:
    """Eight columns side by side: two vector registers, which stay what they are from one coordinate to the next."""
    a = b = c = d = e = f = g = h = 0.0
    dim = len(features)
    whole = dim - dim % 4
    for j in range(0, whole, 4):
        p, q = coords[j][first : first + BLOCK], coords[j + 1][first : first + BLOCK]
        r, s = coords[j + 2][first : first + BLOCK], coords[j + 3][first : first + BLOCK]
        w, x, y, z = features[j], features[j + 1], features[j + 2], features[j + 3]
        a += (p[0] * w + q[0] * x) + (r[0] * y + s[0] * z)
        b += (p[1] * w + q[1] * x) + (r[1] * y + s[1] * z)
        c += (p[2] * w + q[2] * x) + (r[2] * y + s[2] * z)
        d += (p[3] * w + q[3] * x) + (r[3] * y + s[3] * z)
        e += (p[4] * w + q[4] * x) + (r[4] * y + s[4] * z)
        f += (p[5] * w + q[5] * x) + (r[5] * y + s[5] * z)
        g += (p[6] * w + q[6] * x) + (r[6] * y + s[6] * z)
        h += (p[7] * w + q[7] * x) + (r[7] * y + s[7] * z)
    for j in range(whole, dim):
        p, w = coords[j][first : first + BLOCK], features[j]
        a, b, c, d = a + p[0] * w, b + p[1] * w, c + p[2] * w, d + p[3] * w
        e, f, g, h = e + p[4] * w, f + p[5] * w, g + p[6] * w, h + p[7] * w
    products[0], products[1], products[2], products[3] = a, b, c, d
    products[4], products[5], products[6], products[7] = e, f, g, h


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
