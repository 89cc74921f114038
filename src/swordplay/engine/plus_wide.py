"""Sword++ on wide rows: coordinates that are read in every round, and written only when somebody was projected.

All experts descend along the same gradients. With theta the sum of these, since it was last 0,

    xhat_i = s_i W_i - eta_i theta,

so that a step changes theta alone. A projection xhat' = sigma (s W - eta theta) keeps the form, with s' = sigma s and
W' = W + eta (1/s' - 1/s) theta: that change waits for the next round's pass, as changes do in ``ball``. The kernel below brings
its learner to the form of ``ball`` when it ends, so that nobody else knows of theta, which lies where a row under way would.
"""

from __future__ import annotations

import math
from typing import Any

from swordplay.base.compiling import expert_loop, kernel, part
from swordplay.base.types import Matrix, Vector
from swordplay.engine import ball, plus_plus
from swordplay.engine.ball import sweep_four, sweep_one
from swordplay.engine.blocks import columns_of, dot
from swordplay.engine.layout import CONFIG, EXPERT, LIVE, VECTOR, Arrays, Products
from swordplay.engine.plus_rounds import learn_one, play_fleet, play_sparse, predict_one
from swordplay.engine.rounds import make_round
from swordplay.engine.succession import make_rows

__all__ = ["learn_one", "play_dense", "play_fleet", "play_sparse", "predict_one"]

SUM = VECTOR.under_way
"""theta, relative to nothing: a sum of gradients."""


@part
def predict(me: Arrays, of: Products, features: Vector) -> float:
    """<a, x_i> of every expert; returns their weighted sum."""
    coords, numbers, common = me.coords, me.numbers, me.vectors[SUM]
    products, dim, columns = numbers[EXPERT.at_base], coords.shape[0], columns_of(numbers)
    products[:] = 0.0
    whole = dim - dim % 4
    if me.live[LIVE.pending] == 1.0:
        change = numbers[EXPERT.coefficient]
        for j in range(0, whole, 4):
            u, v, w, x = coords[j], coords[j + 1], coords[j + 2], coords[j + 3]
            sweep_four(columns, u, v, w, x, change, common[j : j + 4], features[j : j + 4], products)
        for j in range(whole, dim):
            sweep_one(columns, coords[j], change, common[j], features[j], products)
        me.live[LIVE.pending] = 0.0
    else:
        whole = dim - dim % 8
        for j in range(0, whole, 8):
            read_eight(
                columns,
                coords[j],
                coords[j + 1],
                coords[j + 2],
                coords[j + 3],
                coords[j + 4],
                coords[j + 5],
                coords[j + 6],
                coords[j + 7],
                features[j : j + 8],
                products,
            )
        for j in range(whole, dim):
            read_one(columns, coords[j], features[j], products)
    lean(columns, dot(dim, features, common), numbers[EXPERT.unscale], numbers[EXPERT.eta], products)
    return float(ball.mix_all(me, of))


@expert_loop
def read_eight(
    columns: int, p: Any, q: Any, r: Any, s: Any, u: Any, v: Any, w: Any, x: Any, a: Vector, products: Vector
) -> None:
    """Eight coordinates at a time: with nothing to write the products would be what is waited for."""
    a0, a1, a2, a3, a4, a5, a6, a7 = a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]
    for i in range(columns):
        first = (p[i] * a0 + q[i] * a1) + (r[i] * a2 + s[i] * a3)
        products[i] += first + ((u[i] * a4 + v[i] * a5) + (w[i] * a6 + x[i] * a7))


@expert_loop
def read_one(columns: int, line: Any, a: float, products: Vector) -> None:
    """The coordinate that is left over."""
    for i in range(columns):
        products[i] += line[i] * a


@expert_loop
def lean(columns: int, product: float, unscale: Vector, eta: Vector, products: Vector) -> None:
    """<a, W> - (eta / s) <a, theta>: what ``ball.mix`` multiplies by s."""
    for i in range(columns):
        products[i] -= eta[i] * unscale[i] * product


@part
def move(me: Arrays, of: Products, features: Vector, target: float) -> float:
    """As ``plus_plus.move``; what is pending is what a projection changes, and nothing where there was none."""
    numbers = me.numbers
    n, before = columns_of(numbers), numbers[EXPERT.slope]  # scratch: there is one slope for all
    for i in range(n):
        before[i] = numbers[EXPERT.unscale, i]
    smallest = plus_plus.move(me, of, features, target)
    if smallest == math.inf:
        numbers[EXPERT.coefficient] = 0.0
    else:
        shift(n, before, numbers[EXPERT.unscale], numbers[EXPERT.eta], numbers[EXPERT.coefficient])
        me.live[LIVE.pending] = 1.0
    return smallest


@expert_loop
def shift(n: int, before: Vector, unscale: Vector, eta: Vector, change: Vector) -> None:
    """eta (1/s' - 1/s)."""
    for i in range(n):
        change[i] = eta[i] * (unscale[i] - before[i])


@part
def keep(me: Arrays, of: Products, features: Vector, smallest: float) -> None:
    """The gradient joins the sum, and the features become the last ones."""
    last, common, h = me.vectors[VECTOR.last], me.vectors[SUM], me.live[LIVE.candidate]
    for j in range(len(features)):
        common[j] += h * features[j]
        last[j] = features[j]
    live, config = me.live, me.config
    live[LIVE.last_norm] = of.norm
    if smallest < config[CONFIG.smallest_scale] or live[LIVE.rounds] >= live[LIVE.refresh_at]:
        settle(me)
        ball.flush(me)
        live[LIVE.refresh_at] = live[LIVE.rounds] + config[CONFIG.refresh]


@part
def begin(me: Arrays) -> None:
    """From the form of ``ball``: nothing pending, and a sum of nothing."""
    fold(me, me.numbers[EXPERT.coefficient], me.vectors[VECTOR.last])
    me.vectors[SUM] = 0.0
    me.live[LIVE.pending], me.live[LIVE.prepared] = 0.0, 0.0


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
        for i in range(columns_of(me.numbers)):
            me.coords[j, i] += change[i] * direction[j]
    change[:] = 0.0


@part
def decide(me: Arrays, decision: Vector) -> None:
    """x_t = centre + sum of p_i (alpha_i xhat_i - gamma_i a')."""
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


wide_round = make_round(ball.measure, predict, move, plus_plus.stay, keep, judge=plus_plus.judge, weigh=plus_plus.weigh)
wide_rows = make_rows(decide, wide_round)


@kernel
def play_dense(
    coords: Matrix,
    numbers: Matrix,
    vectors: Matrix,
    live: Vector,
    config: Vector,
    features: Matrix,
    targets: Vector,
    schedule: Matrix,
    predictions: Vector,
    losses: Vector,
    decisions: Matrix,
    weights: Matrix,
) -> int:
    """Dense rows. ``decisions`` and ``weights`` are filled as far as they have rows."""
    me = Arrays(coords, numbers, vectors, live, config)
    begin(me)
    count = wide_rows(me, features, targets, schedule, predictions, losses, decisions, weights)
    settle(me)
    return int(count)
