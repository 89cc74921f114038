"""Coordinates of experts on a ball: one pass a round over all of them.

Coordinates are relative to the ball's centre. With a the features of the round, a' those of the
round before:

- xhat = s (W + c a'), the scale s lazy, the rank-one change c a' pending: it is applied by the next
  round's pass;
- x = alpha xhat - gamma a', because x = Proj[xhat - eta m a'] scales by alpha and gamma = alpha eta
  m.
"""

from __future__ import annotations

import math
from typing import Any

from swordplay.compile import expert_loop, inline, larger, smaller, tail_view
from swordplay.core.types import Vector
from swordplay.engine.blocks import columns_of, dot
from swordplay.engine.heading import is_kept
from swordplay.engine.layout import BLOCK, CONFIG, EXPERT, LIVE, VECTOR, Arrays, Products
from swordplay.engine.weights import normalise_weights, normalised, take_weight_factor

TILE, FEWEST = 2048, 8
"""Numbers that all blocks of experts go through before the next ones, and coordinates at the least:
where experts are many,
the same column of many coordinates would drive itself out of the nearest cache."""
SHRUNK = 1e-4
"""A squared norm below this share of the largest since it was measured is measured afresh.

Each round adds a rounding error relative to the largest: of a small square, its root would show it.
"""


@inline
def measure(me: Arrays, features: Vector) -> Products:
    """Norms and products of the features with the last ones and with the centre."""
    norm, cross, turn, gap = compare(features, me.vectors[VECTOR.last])
    offset = 0.0
    if me.config[CONFIG.centered] == 1.0:
        offset = dot(len(features), features, me.vectors[VECTOR.center])
    return Products(norm, me.live[LIVE.last_norm], cross, turn, gap, offset)


@inline
def compare(features: Vector, last: Vector) -> tuple[float, float, float, float]:
    """norm(a)^2, <a, a'>, <a, a - a'> and norm(a - a')^2."""
    norm = cross = turn = gap = 0.0
    for j in range(len(features)):
        a = features[j]
        before = last[j]
        step = a - before
        norm += a * a
        cross += a * before
        turn += a * step
        gap += step * step
    return norm, cross, turn, gap


@inline
def predict(me: Arrays, of: Products, features: Vector) -> float:
    """<a, x_i> of every expert; returns their weighted sum."""
    sweep(me, features)
    return float(mix_all(me, of))


@inline
def sweep(me: Arrays, features: Vector) -> None:
    """Apply the pending change W += c a' and form <a, W> for every expert: one read and one
    write of W.
    """
    coords, numbers, last, dim = me.coords, me.numbers, me.vectors[VECTOR.last], len(features)
    columns, changes, sums, odd = (
        columns_of(numbers),
        numbers[EXPERT.coefficient],
        numbers[EXPERT.at_base],
        numbers[EXPERT.scratch],
    )
    tile = max(TILE // columns, FEWEST)
    for i in range(0, columns, BLOCK):
        forget(tail_view(sums, i))
        sweep_block(
            i,
            min(tile, dim),
            coords,
            tail_view(changes, i),
            last,
            features,
            tail_view(sums, i),
            tail_view(odd, i),
        )
    for j in range(tile, dim, tile):
        some, before, a = tail_view(coords, j), tail_view(last, j), tail_view(features, j)
        for i in range(0, columns, BLOCK):
            sweep_block(
                i,
                min(tile, dim - j),
                some,
                tail_view(changes, i),
                before,
                a,
                tail_view(sums, i),
                tail_view(odd, i),
            )
    for i in range(0, columns, BLOCK):
        forget(tail_view(changes, i))


@expert_loop
def forget(some: Vector) -> None:
    """Zeros for a block of experts: one store, where all at once would be a call."""
    for k in range(BLOCK):
        some[k] = 0.0


@expert_loop
def sweep_block(
    i: int,
    dim: int,
    coords: Any,
    change: Vector,
    last: Vector,
    features: Vector,
    products: Vector,
    odd: Vector,
) -> None:
    """Some coordinates of one block of experts, from column i on: their sums stay in registers.

    Even and odd coordinates have sums of their own, or each addition would wait for the one before.
    """
    for k in range(BLOCK):
        odd[k] = 0.0
    for half in range(dim // 2):
        j = 2 * half
        line, before, a = tail_view(coords[j], i), last[j], features[j]
        for k in range(BLOCK):
            w = line[k] + change[k] * before
            line[k] = w
            products[k] += w * a
        line, before, a = tail_view(coords[j + 1], i), last[j + 1], features[j + 1]
        for k in range(BLOCK):
            w = line[k] + change[k] * before
            line[k] = w
            odd[k] += w * a
    if dim % 2 == 1:
        line, before, a = tail_view(coords[dim - 1], i), last[dim - 1], features[dim - 1]
        for k in range(BLOCK):
            w = line[k] + change[k] * before
            line[k] = w
            products[k] += w * a
    for k in range(BLOCK):
        products[k] += odd[k]


@inline
def mix_all(me: Arrays, of: Products) -> float:
    """<a, x_i> = alpha <a, xhat_i> - gamma <a, a'> from <a, W>; returns their weighted sum."""
    numbers = me.numbers
    return float(
        mix(
            columns_of(numbers),
            of.cross,
            take_weight_factor(me.live),
            numbers[EXPERT.scale],
            numbers[EXPERT.alpha],
            numbers[EXPERT.gamma],
            numbers[EXPERT.weight],
            numbers[EXPERT.at_base],
            numbers[EXPERT.played],
        )
    )


@expert_loop
def mix(
    n: int,
    cross: float,
    share: float,
    scale: Vector,
    alpha: Vector,
    gamma: Vector,
    weight: Vector,
    at_base: Vector,
    played: Vector,
) -> float:
    """Products with base and played points from those with W, which the pass has brought up to
    date; returns their mean.

    Weights are normalised on the way: what they are to be multiplied by need not be waited for
    until here.
    """
    total = 0.0
    for i in range(n):
        base = scale[i] * at_base[i]
        point = alpha[i] * base - gamma[i] * cross
        at_base[i] = base
        played[i] = point
        sure = normalised(weight[i], share)
        weight[i] = sure
        total += sure * point
    return total


@inline
def keep(me: Arrays, of: Products, features: Vector, smallest: float) -> None:
    """The features become the last ones."""
    last = me.vectors[VECTOR.last]
    for j in range(len(features)):
        last[j] = features[j]
    me.live[LIVE.last_norm] = of.norm
    tidy(me, smallest)


@inline
def tidy(me: Arrays, smallest: float) -> None:
    """Rescale before a scale gets too small; measure shrunken norms, and all every so often."""
    live, config, numbers = me.live, me.config, me.numbers
    left = 0.0
    if config[CONFIG.adaptive] == 1.0 and not is_kept(numbers):  # the certificate takes roots
        left = margin(columns_of(numbers), numbers[EXPERT.norm], numbers[EXPERT.largest_norm])
    if (
        left < 0.0
        or smallest < config[CONFIG.smallest_scale]
        or live[LIVE.rounds] >= live[LIVE.refresh_at]
    ):
        flush(me)
        live[LIVE.refresh_at] = live[LIVE.rounds] + config[CONFIG.refresh]


@expert_loop
def margin(n: int, squares: Vector, largest: Vector) -> float:
    """Note the largest squares; return by how much the smallest exceed ``SHRUNK`` of them."""
    left = math.inf
    for i in range(n):
        most = larger(largest[i], squares[i])
        largest[i] = most
        left = smaller(left, squares[i] - SHRUNK * most)
    return float(left)


@inline
def flush(me: Arrays) -> None:
    """Apply what is pending and bring every scale back to 1, and measure the norms afresh:
    rounding adds up in both.
    """
    coords, numbers, last = me.coords, me.numbers, me.vectors[VECTOR.last]
    numbers[EXPERT.norm] = 0.0
    for j in range(coords.shape[0]):
        for i in range(columns_of(numbers)):
            w = numbers[EXPERT.scale, i] * (coords[j, i] + numbers[EXPERT.coefficient, i] * last[j])
            coords[j, i] = w
            numbers[EXPERT.norm, i] += w * w
    for i in range(columns_of(numbers)):
        numbers[EXPERT.largest_norm, i] = numbers[EXPERT.norm, i]
    numbers[EXPERT.coefficient] = 0.0
    numbers[EXPERT.scale] = 1.0
    numbers[EXPERT.unscale] = 1.0
    me.live[LIVE.stepped] = 0.0  # norms are others now, by rounding


@inline
def decide(me: Arrays, decision: Vector) -> None:
    """x_t = centre + sum of p_i (alpha_i xhat_i - gamma_i a')."""
    normalise_weights(me)
    coords, numbers, experts = me.coords, me.numbers, int(me.live[LIVE.experts])
    share = numbers[EXPERT.scratch]  # scratch between rounds
    pending = 0.0
    for i in range(experts):
        share[i] = numbers[EXPERT.weight, i] * numbers[EXPERT.alpha, i] * numbers[EXPERT.scale, i]
        pending += (
            share[i] * numbers[EXPERT.coefficient, i]
            - numbers[EXPERT.weight, i] * numbers[EXPERT.gamma, i]
        )
    for j in range(coords.shape[0]):
        coordinate = me.vectors[VECTOR.center, j] + pending * me.vectors[VECTOR.last, j]
        for i in range(experts):
            coordinate += share[i] * coords[j, i]
        decision[j] = coordinate
