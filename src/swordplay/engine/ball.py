"""Experts on a ball: predictions and both projected steps, for dense and sparse rows.

Coordinates are relative to the centre of the ball. With a the row of the round and a' that of the
round before,

    xhat = scale (W + pending_update a')
    x = lookahead_scale xhat - lookahead_step a'

where W is the expert's column of ``coordinates``. A projection on a ball multiplies by a number,
and |xhat - eta slope a|^2 = |xhat|^2 - 2 eta slope <a, xhat> + (eta slope)^2 |a|^2. A step
therefore needs inner products only: it changes ``scale`` and ``pending_update``, and the pass over
W that computes <a, W> in the next round applies the update. A sparse row takes time in proportion
to its entries that are not 0.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from swordplay.compile import expert_loop, inline, larger, smaller, tail_view
from swordplay.core.types import Vector
from swordplay.engine.dual_sum import keeps_dual_sum
from swordplay.engine.layout import (
    BLOCK,
    EXPERT,
    SCALAR,
    SETTING,
    VECTOR,
    ExpertRows,
    LearnerArrays,
    RowProducts,
)
from swordplay.engine.meta import normalise_weights, normalised, take_weight_factor
from swordplay.engine.scalar_functions import (
    add_scaled,
    columns_of,
    dot,
    expert_rows,
    loss_slope,
    minimum,
)

TILE_NUMBERS, MIN_TILE_ROWS = 2048, 8
"""Entries of W that all blocks of experts pass before the next coordinates, and the fewest
coordinates of such a tile. Where there are many experts, the same column of many coordinates would
otherwise evict itself from the first-level cache."""
MIN_NORM_RATIO = 1e-4
"""A squared norm below this share of its largest value is computed from the coordinates again.

Each round adds a rounding error relative to the largest value, which the root of a small one would
show.
"""


# ------------------------------------------------------------------- dense rows


@inline
def row_products(learner: LearnerArrays, row: Vector) -> RowProducts:
    """Inner products of the row a with itself, with the last row a' and with the centre."""
    last_row = learner.vectors[VECTOR.last_row]
    squared_norm = dot_last = dot_change = squared_change = 0.0
    for j in range(len(row)):
        change = row[j] - last_row[j]
        squared_norm += row[j] * row[j]
        dot_last += row[j] * last_row[j]
        dot_change += row[j] * change
        squared_change += change * change
    offset = 0.0
    if learner.settings[SETTING.has_center] == 1.0:
        offset = dot(len(row), row, learner.vectors[VECTOR.center])
    last_squared_norm = learner.scalars[SCALAR.last_squared_norm]
    return RowProducts(
        squared_norm, last_squared_norm, dot_last, dot_change, squared_change, offset
    )


@inline
def predict(learner: LearnerArrays, products: RowProducts, row: Vector) -> float:
    """Set the predictions of all experts, and return <a, x_t>, all less that of the centre."""
    apply_pending_updates(learner, row)
    return float(weighted_prediction(learner, products))


@inline
def apply_pending_updates(learner: LearnerArrays, row: Vector) -> None:
    """W += pending_update a' and base_prediction = <a, W>, in one pass over W."""
    W, last_row, experts = learner.coordinates, learner.vectors[VECTOR.last_row], learner.experts
    updates, totals = experts[EXPERT.pending_update], experts[EXPERT.base_prediction]
    odd_totals = experts[EXPERT.scratch]
    dim, columns = len(row), columns_of(learner)
    tile = max(TILE_NUMBERS // columns, MIN_TILE_ROWS)
    for i in range(0, columns, BLOCK):
        zero_block(tail_view(totals, i))
        apply_to_block(
            i,
            min(tile, dim),
            W,
            last_row,
            row,
            tail_view(updates, i),
            tail_view(totals, i),
            tail_view(odd_totals, i),
        )
    for j in range(tile, dim, tile):
        for i in range(0, columns, BLOCK):
            apply_to_block(
                i,
                min(tile, dim - j),
                tail_view(W, j),
                tail_view(last_row, j),
                tail_view(row, j),
                tail_view(updates, i),
                tail_view(totals, i),
                tail_view(odd_totals, i),
            )
    for i in range(0, columns, BLOCK):
        zero_block(tail_view(updates, i))


@expert_loop
def zero_block(values: Vector) -> None:
    """values[:BLOCK] = 0, as one store; for a whole row LLVM would call memset."""
    for k in range(BLOCK):
        values[k] = 0.0


@expert_loop
def apply_to_block(
    i: int,
    dim: int,
    W: Any,
    last_row: Vector,
    row: Vector,
    update: Vector,
    total: Vector,
    odd_total: Vector,
) -> None:
    """W[:dim] += update a' and total += <a, W> for a block of experts from column i on.

    ``update`` and the totals begin at column i; the totals stay in registers. Even and odd
    coordinates have totals of their own, so that an addition need not wait for the one before.
    """
    for k in range(BLOCK):
        odd_total[k] = 0.0
    for half in range(dim // 2):
        j = 2 * half
        line, last, a = tail_view(W[j], i), last_row[j], row[j]
        for k in range(BLOCK):
            w = line[k] + update[k] * last
            line[k] = w
            total[k] += w * a
        line, last, a = tail_view(W[j + 1], i), last_row[j + 1], row[j + 1]
        for k in range(BLOCK):
            w = line[k] + update[k] * last
            line[k] = w
            odd_total[k] += w * a
    if dim % 2 == 1:
        line, last, a = tail_view(W[dim - 1], i), last_row[dim - 1], row[dim - 1]
        for k in range(BLOCK):
            w = line[k] + update[k] * last
            line[k] = w
            total[k] += w * a
    for k in range(BLOCK):
        total[k] += odd_total[k]


@inline
def weighted_prediction(learner: LearnerArrays, products: RowProducts) -> float:
    """Set the predictions of all experts from <a, W>, and return their weighted sum."""
    factor = take_weight_factor(learner.scalars)
    n, e = columns_of(learner), expert_rows(learner)
    return float(set_predictions(n, products.dot_last, factor, e))


@expert_loop
def set_predictions(n: int, dot_last: float, weight_factor: float, e: ExpertRows) -> float:
    """base_prediction = <a, xhat>, prediction = <a, x>, and normalise the weights on the way.

    Returns the weighted sum of the predictions. base_prediction holds <a, W> before, and W has no
    pending update.
    """
    total = 0.0
    for i in range(n):
        base_prediction = e.scale[i] * e.base_prediction[i]
        prediction = e.lookahead_scale[i] * base_prediction - e.lookahead_step[i] * dot_last
        e.base_prediction[i] = base_prediction
        e.prediction[i] = prediction
        weight = normalised(e.weight[i], weight_factor)
        e.weight[i] = weight
        total += weight * prediction
    return total


@inline
def keep_row(
    learner: LearnerArrays, products: RowProducts, row: Vector, smallest_scale: float
) -> None:
    """Make the row the last row."""
    last_row = learner.vectors[VECTOR.last_row]
    for j in range(len(row)):
        last_row[j] = row[j]
    learner.scalars[SCALAR.last_squared_norm] = products.squared_norm
    rescale_if_due(learner, smallest_scale)


# ------------------------------------------------------------------- sparse rows


class SparseRow(NamedTuple):
    """Entries of a sparse row, and the columns of the entries of the row before."""

    values: Any
    indices: Any
    last_indices: Any


@inline
def sparse_row_products(learner: LearnerArrays, row: SparseRow) -> RowProducts:
    """:func:`row_products` of a sparse row; the last row is stored with all its zeros."""
    last_row, center = learner.vectors[VECTOR.last_row], learner.vectors[VECTOR.center]
    has_center = learner.settings[SETTING.has_center] == 1.0
    squared_norm = dot_last = offset = 0.0
    for entry in range(len(row.indices)):
        a, j = row.values[entry], row.indices[entry]
        squared_norm += a * a
        dot_last += a * last_row[j]
        if has_center:
            offset += a * center[j]
    last_squared_norm = learner.scalars[SCALAR.last_squared_norm]
    dot_change = squared_norm - dot_last
    squared_change = max(squared_norm - 2.0 * dot_last + last_squared_norm, 0.0)
    return RowProducts(
        squared_norm, last_squared_norm, dot_last, dot_change, squared_change, offset
    )


@inline
def predict_sparse(learner: LearnerArrays, products: RowProducts, row: SparseRow) -> float:
    """:func:`predict` for a sparse row, from its own rows of W; no update is pending here."""
    base_prediction = learner.experts[EXPERT.base_prediction]
    columns = columns_of(learner)
    base_prediction[:] = 0.0
    for entry in range(len(row.indices)):
        add_scaled(
            columns, base_prediction, learner.coordinates[row.indices[entry]], row.values[entry]
        )
    return float(weighted_prediction(learner, products))


@inline
def keep_sparse_row(
    learner: LearnerArrays, products: RowProducts, row: SparseRow, smallest_scale: float
) -> None:
    """Make the row the last row, and apply its update while its rows of W are in the cache."""
    last_row = learner.vectors[VECTOR.last_row]
    for entry in range(len(row.last_indices)):
        last_row[row.last_indices[entry]] = 0.0
    for entry in range(len(row.indices)):
        last_row[row.indices[entry]] = row.values[entry]
    learner.scalars[SCALAR.last_squared_norm] = products.squared_norm
    # Unscaled, the update of a column with a small scale may overflow single precision: there
    # rescale() applies it, in double precision.
    if smallest_scale >= learner.settings[SETTING.min_scale]:
        update = learner.experts[EXPERT.pending_update]
        for entry in range(len(row.indices)):
            line = learner.coordinates[row.indices[entry]]
            add_scaled(columns_of(learner), line, update, row.values[entry])
        update[:] = 0.0
    rescale_if_due(learner, smallest_scale)


# ------------------------------------------------------------------- projected steps


@inline
def move(learner: LearnerArrays, products: RowProducts, row: Any, target: float) -> float:
    """Take both projected steps of every expert; return the smallest scale.

    It is infinite if no base point was projected.
    """
    n, e = columns_of(learner), expert_rows(learner)
    radius = learner.settings[SETTING.domain_size]
    smallest_scale = math.inf
    if base_step(n, products.squared_norm, e) > radius * radius:
        project_base(n, radius, e)
        smallest_scale = minimum(n, e.scale)
    lookahead_step(learner, products, target)
    return smallest_scale


@expert_loop
def base_step(n: int, row_square: float, e: ExpertRows) -> float:
    """xhat' = xhat - eta slope a, not projected yet; returns the largest |xhat'|^2."""
    largest = 0.0
    for i in range(n):
        step = e.eta[i] * e.slope[i] if e.eta[i] < math.inf else 0.0
        # |xhat'|^2 = |xhat|^2 - 2 step <a, xhat> + step^2 |a|^2
        moved = e.squared_norm[i] - 2.0 * step * e.base_prediction[i] + step * step * row_square
        square = larger(moved, 0.0)
        e.squared_norm[i] = square
        largest = larger(largest, square)
        e.pending_update[i] = -step * e.inverse_scale[i]
        e.base_prediction[i] -= step * row_square  # <a, xhat'>
    return largest


@expert_loop
def project_base(n: int, radius: float, e: ExpertRows) -> None:
    """xhat' = f xhat' with f = min{1, radius / |xhat'|}: the projection on the ball."""
    limit = radius * radius
    for i in range(n):
        # A point inside stays: with a radius of 0, or one whose square underflows, the quotient
        # would be NaN.
        shrink = radius / math.sqrt(e.squared_norm[i]) if e.squared_norm[i] > limit else 1.0
        old_scale = e.scale[i]
        e.scale[i] = old_scale * shrink
        e.inverse_scale[i] = 1.0 / e.scale[i]
        # 1/f - 1, for the dual sum
        e.projection_push[i] = old_scale * e.inverse_scale[i] - 1.0 if shrink < 1.0 else 0.0
        e.base_prediction[i] *= shrink
        e.squared_norm[i] = min(e.squared_norm[i], limit)


@inline
def lookahead_step(learner: LearnerArrays, products: RowProducts, target: float) -> None:
    """x' = Proj[xhat' - next_eta M'] of every expert, M' being the gradient of the loss at xhat'.

    M' is 0 for gradient descent, whose x' is xhat'.
    """
    settings, n, e = learner.settings, columns_of(learner), expert_rows(learner)
    kind, threshold = int(settings[SETTING.loss]), settings[SETTING.threshold]
    weight = learner.scalars[SCALAR.loss_weight]
    replay_slopes(n, kind, threshold, weight, products.offset, target, e)
    largest = set_lookahead(n, products.squared_norm, e)
    radius = settings[SETTING.domain_size]
    if largest > radius * radius:
        project_lookahead(n, radius, products.squared_norm, e)


@expert_loop
def replay_slopes(
    n: int, kind: int, threshold: float, weight: float, offset: float, target: float, e: ExpertRows
) -> None:
    """expected_slope: slope of the loss at the base point of extra-gradient experts, else 0."""
    for i in range(n):
        at = e.base_prediction[i] + offset
        slope = loss_slope(kind, threshold, at, target)
        e.expected_slope[i] = e.extra_gradient[i] * weight * slope


@expert_loop
def set_lookahead(n: int, row_square: float, e: ExpertRows) -> float:
    """x' = xhat' - step a with step = next_eta expected_slope, not projected yet.

    Returns the largest |x'|^2 of the points that moved, and tracks the largest |xhat'|^2.
    """
    largest = 0.0
    for i in range(n):
        step = e.next_eta[i] * e.expected_slope[i] if e.next_eta[i] < math.inf else 0.0
        squared_step = step * step * row_square  # |x' - xhat'|^2
        # A base point on the sphere may lie outside it by rounding; without a step it stays there.
        square = e.squared_norm[i] - 2.0 * step * e.base_prediction[i] + squared_step
        largest = larger(largest, square if step != 0.0 else 0.0)
        e.lookahead_scale[i] = 1.0
        e.lookahead_step[i] = step
        e.next_prediction[i] = e.base_prediction[i] - step * row_square  # <a, x'>
        e.squared_lookahead[i] = squared_step
        e.max_squared_norm[i] = larger(e.max_squared_norm[i], e.squared_norm[i])
    return largest


@expert_loop
def project_lookahead(n: int, radius: float, row_square: float, e: ExpertRows) -> None:
    """x' = f (xhat' - step a) with f = min{1, radius / |xhat' - step a|}."""
    limit = radius * radius
    for i in range(n):
        step, base_prediction, base_square = (
            e.lookahead_step[i],
            e.base_prediction[i],
            e.squared_norm[i],
        )
        square = base_square - 2.0 * step * base_prediction + step * step * row_square
        shrink = radius / math.sqrt(square) if square > limit and step != 0.0 else 1.0
        scaled_step, change = shrink * step, shrink - 1.0
        e.lookahead_scale[i] = shrink
        e.lookahead_step[i] = scaled_step
        e.next_prediction[i] = shrink * base_prediction - scaled_step * row_square
        # |x' - xhat'|^2 = |(f - 1) xhat' - f step a|^2
        e.squared_lookahead[i] = max(
            change * change * base_square
            - 2.0 * change * scaled_step * base_prediction
            + scaled_step * scaled_step * row_square,
            0.0,
        )


@inline
def copy_points(learner: LearnerArrays, products: RowProducts, row: Any, target: float) -> None:
    """Copy the coordinates of the fastest expert of each kind to the two that have joined."""
    W, experts = learner.coordinates, int(learner.scalars[SCALAR.expert_count])
    for j in range(W.shape[0]):
        W[j, experts - 2] = W[j, experts - 4]
        for column in range(experts - 1, W.shape[1]):  # with the padding
            W[j, column] = W[j, experts - 3]
    lookahead_step(learner, products, target)


# ------------------------------------------------------------------- scales and decisions


@inline
def rescale_if_due(learner: LearnerArrays, smallest_scale: float) -> None:
    """Rescale if a scale is nearly too small, a squared norm has lost digits, or regularly."""
    scalars, settings = learner.scalars, learner.settings
    norm_margin = 0.0
    # The certificate uses roots of squared norms if steps adapt and S is not kept.
    if settings[SETTING.adaptive_steps] == 1.0 and not keeps_dual_sum(learner):
        norm_margin = track_norm_peaks(columns_of(learner), expert_rows(learner))
    if (
        norm_margin < 0.0
        or smallest_scale < settings[SETTING.min_scale]
        or scalars[SCALAR.rounds] >= scalars[SCALAR.refresh_at]
    ):
        rescale(learner)
        scalars[SCALAR.refresh_at] = scalars[SCALAR.rounds] + settings[SETTING.refresh_rounds]


@expert_loop
def track_norm_peaks(n: int, e: ExpertRows) -> float:
    """Track squared_norm_peak; return min(squared_norm - MIN_NORM_RATIO * squared_norm_peak)."""
    margin = math.inf
    for i in range(n):
        peak = larger(e.squared_norm_peak[i], e.squared_norm[i])
        e.squared_norm_peak[i] = peak
        margin = smaller(margin, e.squared_norm[i] - MIN_NORM_RATIO * peak)
    return float(margin)


@inline
def rescale(learner: LearnerArrays) -> None:
    """W = xhat with scales of 1 and no pending updates, and norms computed from W.

    Rounding errors add up in scales and norms; this ends them.
    """
    W, last_row = learner.coordinates, learner.vectors[VECTOR.last_row]
    n, experts, e = columns_of(learner), learner.experts, expert_rows(learner)
    experts[EXPERT.squared_norm] = 0.0
    for j in range(W.shape[0]):
        for i in range(n):
            w = e.scale[i] * (W[j, i] + e.pending_update[i] * last_row[j])
            W[j, i] = w
            e.squared_norm[i] += w * w
    for i in range(n):
        e.squared_norm_peak[i] = e.squared_norm[i]
    experts[EXPERT.pending_update] = 0.0
    experts[EXPERT.scale] = 1.0
    experts[EXPERT.inverse_scale] = 1.0
    learner.scalars[SCALAR.steps_ready] = 0.0  # base norms changed by rounding


@inline
def decide(learner: LearnerArrays, decision: Vector) -> None:
    """Write the decision x_t of the next round."""
    normalise_weights(learner)
    write_decision(learner, learner.experts[EXPERT.scratch], decision)


@inline
def write_decision(learner: LearnerArrays, shares: Vector, decision: Vector) -> None:
    """x_t = c + sum_i p_i (lookahead_scale_i xhat_i - lookahead_step_i a'), weights normalised.

    ``shares`` is scratch of C numbers. The learner stays as it is.
    """
    e, experts = expert_rows(learner), int(learner.scalars[SCALAR.expert_count])
    center, last_row = learner.vectors[VECTOR.center], learner.vectors[VECTOR.last_row]
    for i in range(experts):
        shares[i] = e.weight[i] * e.lookahead_scale[i] * e.scale[i]
    # A separate loop: in a loop that also stores, the order of the sum may depend on where the
    # arrays lie in memory.
    last_share = 0.0
    for i in range(experts):
        last_share += shares[i] * e.pending_update[i] - e.weight[i] * e.lookahead_step[i]
    for j in range(len(decision)):
        coordinate = center[j] + last_share * last_row[j]
        for i in range(experts):
            coordinate += shares[i] * learner.coordinates[j, i]
        decision[j] = coordinate
