"""Experts on a ball, where a projection is a scaling: a whole round in one pass over the coordinates.

Coordinates are relative to the ball's centre. With a the features of the round, a' those of the round before:

- xhat = s (W + c a'), the scale s lazy, the rank-one change c a' pending: it is applied by the next round's pass;
- x = alpha xhat - gamma a', because x = Proj[xhat - eta m a'] scales by alpha and gamma = alpha eta m;
- norm(x - k a)^2 = norm(x)^2 - 2 k <a, x> + k^2 norm(a)^2, so that no projection needs a pass of its own.
"""

from __future__ import annotations

import math
from typing import Any

from swordplay.base.compiling import expert_loop, part
from swordplay.base.types import Matrix, Vector
from swordplay.engine.layout import (
    AHEAD,
    ALPHA,
    AT_BASE,
    CENTER,
    COEFFICIENT,
    CONFIG,
    ENERGY,
    ETA,
    EXTRA,
    GAMMA,
    LAST,
    LEAD,
    LIVE,
    NORM,
    PLAYED,
    REPLAY,
    SCALE,
    SCRATCH,
    SLOPE,
    STEP,
    UNDER_WAY,
    UNSCALE,
    WEIGHT,
)
from swordplay.engine.meta import adaptive_step, columns_of, dot, largest, least
from swordplay.engine.scalar import slope


@part
def sweep(coords: Any, rows: Matrix, vectors: Matrix, features: Vector) -> None:
    """Apply the pending change W += c a' and form <a, W> for every expert: one read and one write of W."""
    products, last = rows[AT_BASE], vectors[LAST]
    dim, columns = coords.shape[0], columns_of(rows)
    products[:] = 0.0
    whole = dim - dim % 4
    for j in range(0, whole, 4):
        sweep_four(
            columns,
            coords[j],
            coords[j + 1],
            coords[j + 2],
            coords[j + 3],
            rows[COEFFICIENT],
            last[j : j + 4],
            features[j : j + 4],
            products,
        )
    for j in range(whole, dim):
        sweep_one(columns, coords[j], rows[COEFFICIENT], last[j], features[j], products)


@expert_loop
def sweep_four(
    columns: int, u: Any, v: Any, w: Any, x: Any, change: Vector, before: Vector, a: Vector, products: Vector
) -> None:
    """Four coordinates at a time, so that the products are loaded and stored a quarter as often."""
    b0, b1, b2, b3 = before[0], before[1], before[2], before[3]
    a0, a1, a2, a3 = a[0], a[1], a[2], a[3]
    for i in range(columns):
        c = change[i]
        u[i] += c * b0
        v[i] += c * b1
        w[i] += c * b2
        x[i] += c * b3
        products[i] += (u[i] * a0 + v[i] * a1) + (w[i] * a2 + x[i] * a3)


@expert_loop
def sweep_one(columns: int, line: Any, change: Vector, before: float, a: float, products: Vector) -> None:
    """The coordinate that is left over."""
    for i in range(columns):
        w = line[i] + change[i] * before
        line[i] = w
        products[i] += w * a


@part
def sweep_sparse(coords: Any, rows: Matrix, values: Vector, indices: Any) -> None:
    """<a, W> from the rows of W that the features touch; sparse rounds leave no pending change."""
    products = rows[AT_BASE]
    columns = columns_of(rows)
    products[:] = 0.0
    for position in range(len(indices)):
        add_scaled(columns, products, coords[indices[position]], values[position])


@part
def scatter(coords: Any, rows: Matrix, values: Vector, indices: Any) -> None:
    """Apply the round's own change W += c a at once, while its rows of W are still near."""
    columns = columns_of(rows)
    for position in range(len(indices)):
        add_scaled(columns, coords[indices[position]], rows[COEFFICIENT], values[position])
    rows[COEFFICIENT] = 0.0


@expert_loop
def add_scaled(columns: int, total: Any, more: Any, factor: float) -> None:
    """total += factor * more."""
    for i in range(columns):
        total[i] += factor * more[i]


@part
def measure(live: Vector, config: Vector, vectors: Matrix, features: Vector) -> None:
    """Norms and products of the features with the last ones and with the centre."""
    norm, cross, turn, gap = compare(features, vectors[LAST])
    live[LIVE.norm], live[LIVE.cross], live[LIVE.turn], live[LIVE.gap] = norm, cross, turn, gap
    if config[CONFIG.centered] == 1.0:
        live[LIVE.offset] = dot(len(features), features, vectors[CENTER])


@part
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


@part
def measure_sparse(live: Vector, config: Vector, vectors: Matrix, values: Vector, indices: Any) -> None:
    """The same for sparse features; the last ones lie dense in ``vectors``."""
    norm = cross = offset = 0.0
    for position in range(len(indices)):
        a, j = values[position], indices[position]
        norm += a * a
        cross += a * vectors[LAST, j]
        if config[CONFIG.centered] == 1.0:
            offset += a * vectors[CENTER, j]
    live[LIVE.norm], live[LIVE.cross], live[LIVE.offset] = norm, cross, offset
    live[LIVE.turn] = norm - cross
    live[LIVE.gap] = max(norm - 2.0 * cross + live[LIVE.last_norm], 0.0)


@part
def predict(rows: Matrix, live: Vector) -> None:
    """<a, x_i> = alpha <a, xhat_i> - gamma <a, a'>, and their weighted sum."""
    live[LIVE.prediction] = mix(
        columns_of(rows),
        live[LIVE.cross],
        rows[SCALE],
        rows[ALPHA],
        rows[GAMMA],
        rows[WEIGHT],
        rows[COEFFICIENT],
        rows[AT_BASE],
        rows[PLAYED],
    )


@expert_loop
def mix(
    n: int,
    cross: float,
    scale: Vector,
    alpha: Vector,
    gamma: Vector,
    weight: Vector,
    change: Vector,
    at_base: Vector,
    played: Vector,
) -> float:
    """Products with base and played points from those with W, which the pass has brought up to date; returns their mean."""
    total = 0.0
    for i in range(n):
        base = scale[i] * at_base[i]
        point = alpha[i] * base - gamma[i] * cross
        at_base[i] = base
        played[i] = point
        change[i] = 0.0
        total += weight[i] * point
    return total


@part
def move(rows: Matrix, live: Vector, config: Vector, target: float) -> float:
    """Both projected steps of every expert, in numbers. Returns the smallest scale."""
    n, radius, norm = columns_of(rows), config[CONFIG.size], live[LIVE.norm]
    step_base(
        n,
        norm,
        rows[ETA],
        rows[SLOPE],
        rows[UNSCALE],
        rows[COEFFICIENT],
        rows[AT_BASE],
        rows[NORM],
    )
    smallest = math.inf
    if largest(n, rows[NORM]) > radius * radius:
        shrink_base(n, radius, rows[SCALE], rows[UNSCALE], rows[AT_BASE], rows[NORM])
        smallest = least(n, rows[SCALE])
    look_ahead(rows, live, config, target)
    return smallest


@expert_loop
def step_base(
    n: int, norm: float, eta: Vector, slope_: Vector, unscale: Vector, change: Vector, at_base: Vector, base_norm: Vector
) -> None:
    """xhat - eta k a, before it is projected."""
    for i in range(n):
        stride = eta[i] * slope_[i] if eta[i] < math.inf else 0.0
        base_norm[i] = max(base_norm[i] - 2.0 * stride * at_base[i] + stride * stride * norm, 0.0)
        change[i] = -stride * unscale[i]
        at_base[i] -= stride * norm


@expert_loop
def shrink_base(n: int, radius: float, scale: Vector, unscale: Vector, at_base: Vector, base_norm: Vector) -> None:
    """Project on the ball whoever left it: a scaling."""
    limit = radius * radius
    for i in range(n):
        shrink = radius / math.sqrt(max(base_norm[i], limit))  # exactly 1 inside the ball
        scale[i] *= shrink
        unscale[i] = 1.0 / scale[i]
        at_base[i] *= shrink
        base_norm[i] = min(base_norm[i], limit)


@part
def look_ahead(rows: Matrix, live: Vector, config: Vector, target: float) -> None:
    """x = Proj[xhat - eta m a] of every expert, for the field m a replayed at xhat; gradient descent stays at xhat."""
    n, loss, threshold = columns_of(rows), int(config[CONFIG.loss]), config[CONFIG.threshold]
    replays(n, loss, threshold, live[LIVE.weight], rows[EXTRA], rows[AT_BASE], live[LIVE.offset], target, rows[REPLAY])
    if config[CONFIG.adaptive] == 1.0:
        # The step of the coming round stands in the row of steps until judge() uses it: the same for both halves of a round.
        for i in range(n):
            rows[ETA, i] = adaptive_step(rows[STEP, i], config[CONFIG.diameter], rows[ENERGY, i])
    norm, radius = live[LIVE.norm], config[CONFIG.size]
    step_ahead(
        n,
        norm,
        rows[ETA],
        rows[REPLAY],
        rows[AT_BASE],
        rows[NORM],
        rows[ALPHA],
        rows[GAMMA],
        rows[AHEAD],
        rows[LEAD],
        rows[SCRATCH],
    )
    if largest(n, rows[SCRATCH]) > radius * radius:
        shrink_ahead(
            n,
            radius,
            norm,
            rows[AT_BASE],
            rows[NORM],
            rows[ALPHA],
            rows[GAMMA],
            rows[AHEAD],
            rows[LEAD],
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
    reached: Vector,
) -> None:
    """alpha, gamma, <a, x>, norm(x - xhat)^2 and norm(x)^2 for x = xhat - eta m a, before it is projected."""
    for i in range(n):
        stride = eta[i] * replay[i] if eta[i] < math.inf else 0.0
        moved = stride * stride * norm
        # A base point on the sphere may lie outside it by rounding; where nothing moved, nothing is to be projected.
        reached[i] = base_norm[i] - 2.0 * stride * at_base[i] + moved if stride != 0.0 else 0.0
        alpha[i] = 1.0
        gamma[i] = stride
        ahead[i] = at_base[i] - stride * norm
        lead[i] = moved


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
    """Project on the ball whoever left it; norm(x - xhat)^2 = norm((alpha - 1) xhat - gamma a)^2."""
    limit = radius * radius
    for i in range(n):
        stride = gamma[i]
        reached = base_norm[i] - 2.0 * stride * at_base[i] + stride * stride * norm
        shrink = radius / math.sqrt(max(reached, limit)) if stride != 0.0 else 1.0  # exactly 1 inside the ball
        gone, back = shrink * stride, shrink - 1.0
        alpha[i] = shrink
        gamma[i] = gone
        ahead[i] = shrink * at_base[i] - gone * norm
        lead[i] = max(back * back * base_norm[i] - 2.0 * back * gone * at_base[i] + gone * gone * norm, 0.0)


@part
def flush(coords: Any, rows: Matrix, vectors: Matrix) -> None:
    """Apply what is pending and bring every scale back to 1, and measure the norms afresh: rounding adds up in both."""
    last = vectors[LAST]
    rows[NORM] = 0.0
    for j in range(coords.shape[0]):
        for i in range(columns_of(rows)):
            w = rows[SCALE, i] * (coords[j, i] + rows[COEFFICIENT, i] * last[j])
            coords[j, i] = w
            rows[NORM, i] += w * w
    rows[COEFFICIENT] = 0.0
    rows[SCALE] = 1.0
    rows[UNSCALE] = 1.0


@part
def decide(coords: Any, rows: Matrix, vectors: Matrix, experts: int, decision: Vector) -> None:
    """x_t = centre + sum of p_i (alpha_i xhat_i - gamma_i a')."""
    share = rows[SCRATCH]  # scratch between rounds
    pending = 0.0
    for i in range(experts):
        share[i] = rows[WEIGHT, i] * rows[ALPHA, i] * rows[SCALE, i]
        pending += share[i] * rows[COEFFICIENT, i] - rows[WEIGHT, i] * rows[GAMMA, i]
    for j in range(coords.shape[0]):
        coordinate = vectors[CENTER, j] + pending * vectors[LAST, j]
        for i in range(experts):
            coordinate += share[i] * coords[j, i]
        decision[j] = coordinate


@part
def keep_features(live: Vector, vectors: Matrix, features: Vector) -> None:
    """The features become the last ones."""
    last = vectors[LAST]
    for j in range(len(features)):
        last[j] = features[j]
    live[LIVE.last_norm] = live[LIVE.norm]


@part
def take_under_way(vectors: Matrix, features: Vector) -> None:
    """Remember the features that products were made for."""
    kept = vectors[UNDER_WAY]
    for j in range(len(features)):
        kept[j] = features[j]


@part
def same_as_under_way(vectors: Matrix, features: Vector) -> bool:
    """Whether the products in the scratch rows belong to these features."""
    kept = vectors[UNDER_WAY]
    same = True
    for j in range(len(features)):
        same = same and kept[j] == features[j]
    return same
