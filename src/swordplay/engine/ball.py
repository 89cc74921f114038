"""Experts on a ball: predictions from one pass a round, and both projected steps.

Coordinates are relative to the ball's centre. With a the features of the round, a' those of the
round before:

- xhat = s (W + c a'). The scale s and the rank-one change c a' are not applied to W at once: the
  pass of the next round applies the change, ``flush`` the scale;
- x = alpha xhat - gamma a', because x = Proj[xhat - eta m a'] scales by alpha and gamma = alpha eta
  m.

A projection on the ball is a scaling, and norm(x - k a)^2 = norm(x)^2 - 2 k <a, x> + k^2 norm(a)^2:
the steps need inner products only, and no pass over the coordinates. A round with a sparse row
costs in proportion to its entries that are not 0.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from swordplay.compile import expert_loop, inline, larger, smaller, tail_view
from swordplay.core.types import Vector
from swordplay.engine.certificate_sum import is_kept
from swordplay.engine.layout import (
    BLOCK,
    EXPERT,
    SCALAR,
    SETTING,
    VECTOR,
    LearnerArrays,
    RowProducts,
)
from swordplay.engine.meta import normalise_weights, normalised, take_weight_factor
from swordplay.engine.scalar_functions import add_scaled, columns_of, dot, least, slope

TILE, FEWEST = 2048, 8
"""Numbers that all blocks of experts go through before the next ones, and coordinates at the least:
where experts are many,
the same column of many coordinates would drive itself out of the nearest cache."""
SHRUNK = 1e-4
"""A squared norm below this share of the largest since it was measured is measured afresh.

Each round adds a rounding error relative to the largest: of a small square, its root would show it.
"""


@inline
def measure(me: LearnerArrays, features: Vector) -> RowProducts:
    """Norms and products of the features with the last ones and with the centre."""
    norm, cross, turn, gap = compare(features, me.vectors[VECTOR.last_row])
    offset = 0.0
    if me.settings[SETTING.has_center] == 1.0:
        offset = dot(len(features), features, me.vectors[VECTOR.center])
    return RowProducts(norm, me.scalars[SCALAR.last_squared_norm], cross, turn, gap, offset)


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
def predict(me: LearnerArrays, of: RowProducts, features: Vector) -> float:
    """<a, x_i> of every expert; returns their weighted sum."""
    sweep(me, features)
    return float(mix_all(me, of))


@inline
def sweep(me: LearnerArrays, features: Vector) -> None:
    """Apply the pending change W += c a' and form <a, W> for every expert: one read and one
    write of W.
    """
    coords, numbers, last, dim = (
        me.coordinates,
        me.experts,
        me.vectors[VECTOR.last_row],
        len(features),
    )
    columns, changes, sums, odd = (
        columns_of(numbers),
        numbers[EXPERT.pending_update],
        numbers[EXPERT.base_prediction],
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
def mix_all(me: LearnerArrays, of: RowProducts) -> float:
    """<a, x_i> = alpha <a, xhat_i> - gamma <a, a'> from <a, W>; returns their weighted sum."""
    numbers = me.experts
    return float(
        mix(
            columns_of(numbers),
            of.dot_last,
            take_weight_factor(me.scalars),
            numbers[EXPERT.scale],
            numbers[EXPERT.lookahead_scale],
            numbers[EXPERT.lookahead_step],
            numbers[EXPERT.weight],
            numbers[EXPERT.base_prediction],
            numbers[EXPERT.prediction],
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
    """RowProducts with base and played points from those with W, which the pass has brought up to
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
def keep(me: LearnerArrays, of: RowProducts, features: Vector, smallest: float) -> None:
    """The features become the last ones."""
    last = me.vectors[VECTOR.last_row]
    for j in range(len(features)):
        last[j] = features[j]
    me.scalars[SCALAR.last_squared_norm] = of.squared_norm
    tidy(me, smallest)


@inline
def tidy(me: LearnerArrays, smallest: float) -> None:
    """Rescale before a scale gets too small; measure shrunken norms, and all every so often."""
    live, config, numbers = me.scalars, me.settings, me.experts
    left = 0.0
    if config[SETTING.adaptive_steps] == 1.0 and not is_kept(
        numbers
    ):  # the certificate takes roots
        left = margin(
            columns_of(numbers),
            numbers[EXPERT.squared_norm],
            numbers[EXPERT.refresh_max_squared_norm],
        )
    if (
        left < 0.0
        or smallest < config[SETTING.min_scale]
        or live[SCALAR.rounds] >= live[SCALAR.refresh_at]
    ):
        flush(me)
        live[SCALAR.refresh_at] = live[SCALAR.rounds] + config[SETTING.refresh_rounds]


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
def flush(me: LearnerArrays) -> None:
    """Apply what is pending and bring every scale back to 1, and measure the norms afresh:
    rounding adds up in both.
    """
    coords, numbers, last = me.coordinates, me.experts, me.vectors[VECTOR.last_row]
    numbers[EXPERT.squared_norm] = 0.0
    for j in range(coords.shape[0]):
        for i in range(columns_of(numbers)):
            w = numbers[EXPERT.scale, i] * (
                coords[j, i] + numbers[EXPERT.pending_update, i] * last[j]
            )
            coords[j, i] = w
            numbers[EXPERT.squared_norm, i] += w * w
    for i in range(columns_of(numbers)):
        numbers[EXPERT.refresh_max_squared_norm, i] = numbers[EXPERT.squared_norm, i]
    numbers[EXPERT.pending_update] = 0.0
    numbers[EXPERT.scale] = 1.0
    numbers[EXPERT.inverse_scale] = 1.0
    me.scalars[SCALAR.steps_ready] = 0.0  # norms are others now, by rounding


@inline
def decide(me: LearnerArrays, decision: Vector) -> None:
    """x_t = centre + sum of p_i (alpha_i xhat_i - gamma_i a')."""
    normalise_weights(me)
    coords, numbers, experts = me.coordinates, me.experts, int(me.scalars[SCALAR.expert_count])
    share = numbers[EXPERT.scratch]  # scratch between rounds
    pending = 0.0
    for i in range(experts):
        share[i] = (
            numbers[EXPERT.weight, i]
            * numbers[EXPERT.lookahead_scale, i]
            * numbers[EXPERT.scale, i]
        )
        pending += (
            share[i] * numbers[EXPERT.pending_update, i]
            - numbers[EXPERT.weight, i] * numbers[EXPERT.lookahead_step, i]
        )
    for j in range(coords.shape[0]):
        coordinate = me.vectors[VECTOR.center, j] + pending * me.vectors[VECTOR.last_row, j]
        for i in range(experts):
            coordinate += share[i] * coords[j, i]
        decision[j] = coordinate


class Entries(NamedTuple):
    """A sparse row, and where the row before it had its entries."""

    values: Any
    indices: Any
    before: Any


@inline
def measure_sparse(me: LearnerArrays, features: Entries) -> RowProducts:
    """Norms and products of the features with the last ones, which lie dense in ``vectors``, and
    with the centre.
    """
    vectors = me.vectors
    norm = cross = offset = 0.0
    for position in range(len(features.indices)):
        a, j = features.values[position], features.indices[position]
        norm += a * a
        cross += a * vectors[VECTOR.last_row, j]
        if me.settings[SETTING.has_center] == 1.0:
            offset += a * vectors[VECTOR.center, j]
    last_norm = me.scalars[SCALAR.last_squared_norm]
    return RowProducts(
        norm, last_norm, cross, norm - cross, max(norm - 2.0 * cross + last_norm, 0.0), offset
    )


@inline
def predict_sparse(me: LearnerArrays, of: RowProducts, features: Entries) -> float:
    """<a, x_i> from the rows of W that the features touch; sparse rounds leave no pending change.

    Returns the weighted sum.
    """
    products = me.experts[EXPERT.base_prediction]
    columns = columns_of(me.experts)
    products[:] = 0.0
    for position in range(len(features.indices)):
        add_scaled(
            columns, products, me.coordinates[features.indices[position]], features.values[position]
        )
    return float(mix_all(me, of))


@inline
def keep_sparse(me: LearnerArrays, of: RowProducts, features: Entries, smallest: float) -> None:
    """The features become the last ones, and the round's own change W += c a is applied, while
    its rows are still near.
    """
    last = me.vectors[VECTOR.last_row]
    for position in range(len(features.before)):
        last[features.before[position]] = 0.0
    for position in range(len(features.indices)):
        last[features.indices[position]] = features.values[position]
    me.scalars[SCALAR.last_squared_norm] = of.squared_norm
    # A change that is to be scaled down far may be too large for single precision: flush() applies
    # it in double.
    if smallest >= me.settings[SETTING.min_scale]:
        columns, change = columns_of(me.experts), me.experts[EXPERT.pending_update]
        for position in range(len(features.indices)):
            add_scaled(
                columns,
                me.coordinates[features.indices[position]],
                change,
                features.values[position],
            )
        change[:] = 0.0
    tidy(me, smallest)


@inline
def move(me: LearnerArrays, of: RowProducts, features: Any, target: float) -> float:
    """Take both projected steps of every expert; return the smallest scale."""
    numbers, radius = me.experts, me.settings[SETTING.domain_size]
    n = columns_of(numbers)
    farthest = base_step(
        n,
        of.squared_norm,
        numbers[EXPERT.eta],
        numbers[EXPERT.slope],
        numbers[EXPERT.inverse_scale],
        numbers[EXPERT.pending_update],
        numbers[EXPERT.base_prediction],
        numbers[EXPERT.squared_norm],
    )
    smallest = math.inf
    if farthest > radius * radius:
        project_base(
            n,
            radius,
            numbers[EXPERT.scale],
            numbers[EXPERT.inverse_scale],
            numbers[EXPERT.base_prediction],
            numbers[EXPERT.squared_norm],
            numbers[EXPERT.projection_push],
        )
        smallest = least(n, numbers[EXPERT.scale])
    lookahead_step(me, of, target)
    return smallest


@inline
def fork(me: LearnerArrays, of: RowProducts, features: Any, target: float) -> None:
    """Copy the points of the fastest expert of each kind to the two that have joined."""
    coords, experts = me.coordinates, int(me.scalars[SCALAR.expert_count])
    for j in range(coords.shape[0]):
        coords[j, experts - 2] = coords[j, experts - 4]
        for column in range(experts - 1, coords.shape[1]):
            coords[j, column] = coords[j, experts - 3]
    lookahead_step(me, of, target)


@expert_loop
def base_step(
    n: int,
    norm: float,
    eta: Vector,
    slope_: Vector,
    unscale: Vector,
    change: Vector,
    at_base: Vector,
    base_norm: Vector,
) -> float:
    """xhat - eta k a, before it is projected; returns the largest squared norm."""
    farthest = 0.0
    for i in range(n):
        stride = eta[i] * slope_[i] if eta[i] < math.inf else 0.0
        square = larger(base_norm[i] - 2.0 * stride * at_base[i] + stride * stride * norm, 0.0)
        base_norm[i] = square
        farthest = larger(farthest, square)
        change[i] = -stride * unscale[i]
        at_base[i] -= stride * norm
    return farthest


@expert_loop
def project_base(
    n: int,
    radius: float,
    scale: Vector,
    unscale: Vector,
    at_base: Vector,
    base_norm: Vector,
    push: Vector,
) -> None:
    """Project base points on the ball: a scaling."""
    limit = radius * radius
    for i in range(n):
        # A point inside stays: with a radius of 0, or one whose square underflows, the quotient
        # would be NaN.
        shrink = radius / math.sqrt(base_norm[i]) if base_norm[i] > limit else 1.0
        before = scale[i]
        scale[i] = before * shrink
        unscale[i] = 1.0 / scale[i]
        push[i] = before * unscale[i] - 1.0 if shrink < 1.0 else 0.0
        at_base[i] *= shrink
        base_norm[i] = min(base_norm[i], limit)


@inline
def lookahead_step(me: LearnerArrays, of: RowProducts, target: float) -> None:
    """x = Proj[xhat - eta m a] of every expert, for the field m a replayed at xhat.

    Gradient descent stays at xhat.
    """
    numbers, config = me.experts, me.settings
    n, loss, threshold = columns_of(numbers), int(config[SETTING.loss]), config[SETTING.threshold]
    replays(
        n,
        loss,
        threshold,
        me.scalars[SCALAR.loss_weight],
        numbers[EXPERT.extra_gradient],
        numbers[EXPERT.base_prediction],
        of.offset,
        target,
        numbers[EXPERT.field_slope],
    )
    farthest = step_ahead(
        n,
        of.squared_norm,
        numbers[EXPERT.next_eta],
        numbers[EXPERT.field_slope],
        numbers[EXPERT.base_prediction],
        numbers[EXPERT.squared_norm],
        numbers[EXPERT.lookahead_scale],
        numbers[EXPERT.lookahead_step],
        numbers[EXPERT.next_prediction],
        numbers[EXPERT.squared_lookahead],
        numbers[EXPERT.max_squared_norm],
    )
    project_lookahead(me, of, farthest)


@inline
def project_lookahead(me: LearnerArrays, of: RowProducts, farthest: float) -> None:
    """Project lookahead points on the ball, given the largest squared norm among them."""
    numbers, radius = me.experts, me.settings[SETTING.domain_size]
    if farthest > radius * radius:
        shrink_ahead(
            columns_of(numbers),
            radius,
            of.squared_norm,
            numbers[EXPERT.base_prediction],
            numbers[EXPERT.squared_norm],
            numbers[EXPERT.lookahead_scale],
            numbers[EXPERT.lookahead_step],
            numbers[EXPERT.next_prediction],
            numbers[EXPERT.squared_lookahead],
        )


@expert_loop
def replays(
    n: int,
    loss: int,
    threshold: float,
    weight: float,
    extra: Vector,
    at: Vector,
    offset: float,
    target: float,
    answer: Vector,
) -> None:
    """Slope of the loss at every extra-gradient expert's base point, 0 for the others."""
    for i in range(n):
        answer[i] = extra[i] * weight * slope(loss, threshold, at[i] + offset, target)


@expert_loop
def step_ahead(
    n: int,
    norm: float,
    eta: Vector,
    replay: Vector,
    at_base: Vector,
    base_norm: Vector,
    alpha: Vector,
    gamma: Vector,
    ahead: Vector,
    lead: Vector,
    farthest_base: Vector,
) -> float:
    """alpha, gamma, <a, x> and norm(x - xhat)^2 for x = xhat - eta m a, before it is projected.

    Returns the largest norm(x)^2.

    How far xhat has been is noted on the way.
    """
    farthest = 0.0
    for i in range(n):
        stride = eta[i] * replay[i] if eta[i] < math.inf else 0.0
        moved = stride * stride * norm
        # A base point on the sphere may lie outside it by rounding; where nothing moved, nothing is
        # to be projected.
        reached = base_norm[i] - 2.0 * stride * at_base[i] + moved if stride != 0.0 else 0.0
        farthest = larger(farthest, reached)
        alpha[i] = 1.0
        gamma[i] = stride
        ahead[i] = at_base[i] - stride * norm
        lead[i] = moved
        farthest_base[i] = larger(farthest_base[i], base_norm[i])
    return farthest


@expert_loop
def shrink_ahead(
    n: int,
    radius: float,
    norm: float,
    at_base: Vector,
    base_norm: Vector,
    alpha: Vector,
    gamma: Vector,
    ahead: Vector,
    lead: Vector,
) -> None:
    """Project lookahead points on the ball.

    norm(x - xhat)^2 = norm((alpha - 1) xhat - gamma a)^2.
    """
    limit = radius * radius
    for i in range(n):
        stride = gamma[i]
        reached = base_norm[i] - 2.0 * stride * at_base[i] + stride * stride * norm
        shrink = radius / math.sqrt(reached) if reached > limit and stride != 0.0 else 1.0
        gone, back = shrink * stride, shrink - 1.0
        alpha[i] = shrink
        gamma[i] = gone
        ahead[i] = shrink * at_base[i] - gone * norm
        lead[i] = max(
            back * back * base_norm[i] - 2.0 * back * gone * at_base[i] + gone * gone * norm, 0.0
        )
