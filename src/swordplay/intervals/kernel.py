"""Compiled prediction intervals: the kernel that computes and learns them row by row.

One kernel serves all calls, so that a row has the same bits alone or among others, and whether its
interval is computed before or while the row is learned. The interval of a row comes from the
residuals r = target - prediction of the rows before it, in three steps.

**Location and spread.** A row of features is a = (1, last residual, two recent sizes, last target -
prediction, its size, prediction, columns): residuals, sizes and differences in typical sizes, the
prediction and the columns scaled as in ``engine.column_stats``. Experts with coefficients w and
step size eta predict <w, a> and move towards the observed value v,

    w <- w + eta (v - <w, a>) a / norm(a)^2,        eta = 1/2, 1/4, ..., 1/256,

for each of three sets of features: the 1 alone, the features made here, all of them. Experts of the
last set also have one coefficient for each of ``BINS`` bins of each column, so that they need not
be linear in it. Location experts observe v = r, spread experts v = abs(r - location). Exponential
weights on discounted squared errors mix them. A fourth set of experts never moves: it predicts a
location of 0 and a spread of one typical size, which is best where no feature has information.

**Quantile.** The score of a row is e = abs(r - location) / spread. A level that allows a share
alpha of misses follows the (1 - alpha)-quantile of the scores by subgradient steps on the pinball
loss (``parts.losses.PinballLoss``): with step sizes eta = s/(32 alpha), s/(64 alpha), ..., where s
is the mean score, experts q move by

    q <- max(q + eta (1 - alpha), 0) if e > q,        q <- max(q - eta alpha, 0) if e < q.

Exponential weights on discounted pinball losses mix them as well. Their first value is
log(1 / alpha), the quantile of exponential scores of mean 1.

**Balance of misses.** The balance c of a level starts at 0 and changes by (1 if missed, else 0) -
alpha. At C = BALANCE_LIMIT or above, the interval is infinite and cannot miss. At -C or below, it
is the prediction alone; a hit then leaves the balance as it is. In between, c widens or narrows the
interval. So c never leaves [-C - alpha, C + 1 - alpha], and no window of rows has more than 2 C + 1
misses beyond its share, whatever the first two steps compute (docs/theory.md).
"""

from __future__ import annotations

import math
from typing import Any

from swordplay.compile import (
    bits_to_float,
    expert_loop,
    inline,
    inline_ordered,
    kernel,
    uncompiled,
    unrolled_loop,
)
from swordplay.core.types import Matrix, Vector
from swordplay.engine.column_stats import ColumnArrays, scale_row, update_stats
from swordplay.engine.scalar_functions import exp_negative
from swordplay.intervals.layout import (
    BALANCE_CURVATURE,
    BALANCE_GAIN,
    BALANCE_LIMIT,
    BINS,
    EXPERT_SETS,
    FIRST_ROWS,
    INTERVAL,
    LEARN,
    MAX_LOSS,
    MAX_SCORE,
    MEMORY_ROWS,
    MIN_SCORE,
    OWN_FEATURES,
    PREDICTION_FEATURE,
    RECENT_PACES,
    SCALAR,
    STEPS,
)

FEATURE_CLIP = 5.0
"""Features are clipped at this many typical sizes, or spreads of their column."""
BIN_RANGE = 2.0
"""Bins have equal widths from -BIN_RANGE to BIN_RANGE spreads around the centre of a column.

Values beyond lie in the first or the last bin.
"""
NO_BIN = -1.0
"""Stands for the bin of a column that is missing or lies exactly at its centre."""
SLOW_PACE = 1.0 / 500.0
"""Smallest weight of the newest value in the typical size and the mean score."""
OUTLIER_RATIO = 20.0
"""Residuals are clipped at this many typical sizes before they are learned, scores at this many
mean scores."""
NEWEST_RATIO = 2.0
"""A residual below this many medians of the newest sizes is not clipped, so that a jump of the
forecaster is followed at once."""
MAX_TYPICAL_RATIO = 20.0
"""The typical size is at most this many slow recent sizes, so that it falls with the residuals."""
MIN_SPREAD_RATIO = 0.2
"""The spread is at least this share of the typical size."""
MAX_WIDTH_RATIO = 1.5
"""Half the width of a finite interval is at most this many largest recent sizes."""
WEIGHT_RATE = 0.1
"""Rate of the exponential weights per squared loss unit (see ``learn_residual``).

For the quantiles of a level the unit is mean score / alpha.
"""
FIRST_MEAN_SCORE = 1.0
"""The spread is a mean distance from the location, so scores have a mean of 1 at first."""
FIRST_QUANTILE_STEP = 1.0 / 32.0
"""Largest step of quantile experts, in mean scores / alpha; the others are halves of it."""
NARROWING = 16.0
"""A negative balance narrows more than a positive one widens: 1 + NARROWING alpha^2 times as much.

Rows whose targets equal their predictions are always hits. With alpha = 1/2 a few of them bring the
balance to its lower limit, so it must be brought back quickly.
"""
TINY = 1e-300
"""Residuals of this size or below count as 0."""
POINT_INTERVAL = -1.0
"""Stands for the radius of an interval that is the prediction alone."""


@kernel
def play(
    mode: int,
    state: Any,
    alphas: Vector,
    columns: Matrix,
    predictions: Vector,
    targets: Vector,
    scratch: Any,
    bounds: Any,
) -> None:
    """Compute the intervals of rows in their order, learn the rows, or both.

    Parameters
    ----------
    mode
        ``INTERVAL``: ``targets`` are not read, and nothing but ``bounds`` changes. ``LEARN``:
        ``bounds`` hold the intervals that were given. ``INTERVAL_THEN_LEARN``: both in turn.
    state
        The :class:`~swordplay.intervals.state.IntervalState`, changed in place.
    alphas
        Share of misses that each level allows, the largest first.
    columns
        The caller's columns, shape ``(T, d)``.
    scratch
        A :class:`~swordplay.intervals.layout.Scratch` for these columns.
    bounds
        Lower and upper ends, shape ``(T, levels, 2)``.
    """
    row = scratch.row
    scalars = state.scalars
    # In each of these four, entry 0 belongs to the prediction, the others to the columns.
    centers = state.centers
    spreads = state.spreads
    counts = state.counts
    first_values = state.first_values
    for t in range(len(predictions)):
        prediction = predictions[t : t + 1]
        residual_features(predictions[t], state, row)
        scale_row(
            prediction, centers[:1], spreads[:1], FEATURE_CLIP, row[PREDICTION_FEATURE:OWN_FEATURES]
        )
        scale_row(columns[t], centers[1:], spreads[1:], FEATURE_CLIP, row[OWN_FEATURES:])
        found_bins = find_bins(row[OWN_FEATURES:], scratch.bins)
        location = predict(
            state.location,
            state.location_bins,
            state.location_losses,
            0.0,
            scratch,
            scratch.location_predictions,
        )
        mixed_spread = predict(
            state.spread,
            state.spread_bins,
            state.spread_losses,
            scalars[SCALAR.typical_size],
            scratch,
            scratch.spread_predictions,
        )
        spread = max(mixed_spread, MIN_SPREAD_RATIO * scalars[SCALAR.typical_size])
        if mode != LEARN:
            compute_bounds(predictions[t], location, spread, state, alphas, scratch, bounds[t])
        if mode != INTERVAL:
            count_misses(targets[t], alphas, state.balances, bounds[t])
            residual = targets[t] - predictions[t]
            learn_residual(residual, location, spread, state, alphas, scratch, found_bins)
            scalars[SCALAR.last_target] = targets[t]
            own = ColumnArrays(centers[:1], spreads[:1], counts[:1], first_values[:, :1])
            update_stats(prediction, own, FEATURE_CLIP)
            others = ColumnArrays(centers[1:], spreads[1:], counts[1:], first_values[:, 1:])
            update_stats(columns[t], others, FEATURE_CLIP)


play_rows = inline(uncompiled(play))
"""The function of :func:`play` for other kernels, which can call inline functions only.

The kernel does not call it as well: with one more call in between LLVM makes it 20 % slower.
"""


@inline
def compute_bounds(
    prediction: float,
    location: float,
    spread: float,
    state: Any,
    alphas: Vector,
    scratch: Any,
    bounds: Any,
) -> None:
    """Compute the interval of each level; it contains the prediction and the narrower levels."""
    scalars = state.scalars
    widest = POINT_INTERVAL
    for i in range(len(alphas)):
        alpha, balance = alphas[i], state.balances[i]
        quantile = mixed_quantile(
            alpha, state.quantiles[i], state.quantile_losses[i], scratch.weights
        )
        widest = max(widest, radius(alpha, quantile, balance, scalars))
        if widest == math.inf:
            bounds[i, 0], bounds[i, 1] = -math.inf, math.inf
        elif widest == POINT_INTERVAL:
            bounds[i, 0] = bounds[i, 1] = prediction
        else:
            half = min(widest * spread, MAX_WIDTH_RATIO * scalars[SCALAR.largest_size])
            middle = prediction + narrowed_location(location, alpha, balance)
            bounds[i, 0] = min(prediction, middle - half)
            bounds[i, 1] = max(prediction, middle + half)
            if i > 0:
                bounds[i, 0] = min(bounds[i - 1, 0], bounds[i, 0])
                bounds[i, 1] = max(bounds[i - 1, 1], bounds[i, 1])


@inline
def learn_residual(
    residual: float,
    location: float,
    spread: float,
    state: Any,
    alphas: Vector,
    scratch: Any,
    found_bins: float,
) -> None:
    """Learn quantiles, location and spread from a residual.

    ``location`` and ``spread`` were predicted for it; the first FIRST_ROWS residuals only set the
    typical size.
    """
    scalars = state.scalars
    row = scratch.row
    is_warm_up = scalars[SCALAR.rows] < FIRST_ROWS
    has_begun = not is_warm_up and scalars[SCALAR.typical_size] > TINY
    keep_size(residual, state)
    if not is_warm_up:
        clipped = clip_residual(residual, state)
        typical, mean_score = scalars[SCALAR.typical_size], scalars[SCALAR.mean_score]
        score = score_of(clipped - location, spread)
        if mean_score > 0.0:
            score = clip_score(score, mean_score)
            for i in range(len(alphas)):
                update_quantiles(
                    alphas[i], score, mean_score, state.quantiles[i], state.quantile_losses[i]
                )
            update_mean_score(score, scalars)
        if typical > TINY:
            own_squared_norm = sum_of_squares(row, 0, OWN_FEATURES)
            # a column's bin is one more feature, of value 1
            column_squared_norm = sum_of_squares(row, OWN_FEATURES, len(row)) + found_bins
            # Between typical size and spread: errors where much spread was expected count less.
            loss_unit = math.sqrt(typical * spread)
            learn_observed(
                clipped,
                loss_unit,
                own_squared_norm,
                column_squared_norm,
                state.location,
                state.location_bins,
                state.location_losses,
                scratch,
                scratch.location_predictions,
            )
            learn_observed(
                abs(clipped - location),
                loss_unit,
                own_squared_norm,
                column_squared_norm,
                state.spread,
                state.spread_bins,
                state.spread_losses,
                scratch,
                scratch.spread_predictions,
            )
        update_sizes(clipped, state)
    scalars[SCALAR.rows] += 1.0
    is_known = scalars[SCALAR.rows] >= FIRST_ROWS and scalars[SCALAR.typical_size] > TINY
    if is_known and not has_begun:
        begin_spread(state.spread, scalars)
        begin_quantiles(alphas, state)


# ------------------------------------------------------------------- features and bins of a row


@inline
def residual_features(prediction: float, state: Any, row: Vector) -> None:
    """Write the features made of past residuals and the last target to ``row[:6]``."""
    scalars = state.scalars
    unit = scalars[SCALAR.typical_size]
    row[0] = 1.0
    if not unit > TINY:
        row[1] = row[2] = row[3] = row[4] = row[5] = 0.0
        return
    row[1] = min(max(scalars[SCALAR.last_residual] / unit, -FEATURE_CLIP), FEATURE_CLIP)
    for k in range(len(RECENT_PACES)):
        row[2 + k] = min(state.recent_sizes[k] / unit, FEATURE_CLIP) - 1.0
    change = (scalars[SCALAR.last_target] - prediction) / unit
    row[4] = min(max(change, -FEATURE_CLIP), FEATURE_CLIP)
    row[5] = abs(row[4]) - 1.0


@inline
def find_bins(scaled: Vector, bins: Vector) -> float:
    """Write the bin of each scaled column to ``bins``; return how many columns lie in one.

    A column at exactly 0 is missing or at its centre, as one that never moves: it is in no bin.
    """
    found = 0.0
    for j in range(len(scaled)):
        bins[j] = NO_BIN
        if scaled[j] != 0.0:
            # int() rounds towards 0, so values just below -BIN_RANGE lie in the first bin as well
            index = int((scaled[j] + BIN_RANGE) * (BINS / (2.0 * BIN_RANGE)))
            bins[j] = min(max(index, 0), BINS - 1)
            found += 1.0
    return found


# ------------------------------------------------------------------- location and spread


@inline
def feature_count(which: int, width: int) -> int:
    """Number of features that a set of experts uses: the first ones of the row."""
    return 1 if which == 0 else OWN_FEATURES if which == 1 else width


@inline
def predict(
    coefficients: Any,
    bin_coefficients: Any,
    losses: Matrix,
    still: float,
    scratch: Any,
    predictions: Matrix,
) -> float:
    """Mix the predictions of all experts of location or spread.

    ``predictions[i]`` receives those of set i; the last set predicts ``still``.
    """
    for i in range(EXPERT_SETS):
        dot(coefficients[i], scratch.row, feature_count(i, len(scratch.row)), predictions[i])
    add_bins(bin_coefficients, scratch.bins, predictions[EXPERT_SETS - 1])
    predictions[EXPERT_SETS] = still
    return mixed(losses, predictions, scratch.weights)


@inline
def learn_observed(
    observed: float,
    unit: float,
    own_squared_norm: float,
    column_squared_norm: float,
    coefficients: Any,
    bin_coefficients: Any,
    losses: Matrix,
    scratch: Any,
    predictions: Matrix,
) -> None:
    """Add the losses of all experts of location or spread, and move their coefficients.

    The two squared norms are those of the features made here, and of the columns with their bins.
    ``predictions`` are overwritten.
    """
    row = scratch.row
    for i in range(EXPERT_SETS):
        add_losses(losses[i], predictions[i], observed, unit)
        squared_norm = 1.0 if i == 0 else own_squared_norm
        if i == 2:
            squared_norm += column_squared_norm
        update(
            coefficients[i],
            row,
            feature_count(i, len(row)),
            observed,
            squared_norm,
            predictions[i],
        )
    update_bins(bin_coefficients, scratch.bins, predictions[EXPERT_SETS - 1])
    add_losses(losses[EXPERT_SETS], predictions[EXPERT_SETS], observed, unit)


@unrolled_loop
def dot(coefficients: Any, row: Vector, width: int, predictions: Vector) -> None:
    """``predictions[:] = row[:width] @ coefficients[:width]``."""
    for k in range(STEPS):
        predictions[k] = 0.0
    for j in range(width):
        for k in range(STEPS):
            predictions[k] += coefficients[j, k] * row[j]


@unrolled_loop
def update(
    coefficients: Any,
    row: Vector,
    width: int,
    observed: float,
    squared_norm: float,
    predictions: Vector,
) -> None:
    """w <- w + eta (v - <w, a>) a / norm(a)^2; ``predictions`` become the factors of a."""
    for k in range(STEPS):
        # eta = 1/2, 1/4, ...
        predictions[k] = power_of_half(k + 1) * ((observed - predictions[k]) / squared_norm)
    for j in range(width):
        for k in range(STEPS):
            coefficients[j, k] += predictions[k] * row[j]


@unrolled_loop
def add_bins(coefficients: Any, bins: Vector, predictions: Vector) -> None:
    """Add the coefficients of the row's bins, ``coefficients[j, bins[j]]``, to the predictions."""
    for j in range(len(bins)):
        if bins[j] >= 0.0:
            of_bin = coefficients[j, int(bins[j])]
            for k in range(STEPS):
                predictions[k] += of_bin[k]


@unrolled_loop
def update_bins(coefficients: Any, bins: Vector, factors: Vector) -> None:
    """Add the factors of :func:`update` to the coefficients of the row's bins."""
    for j in range(len(bins)):
        if bins[j] >= 0.0:
            of_bin = coefficients[j, int(bins[j])]
            for k in range(STEPS):
                of_bin[k] += factors[k]


@inline
def begin_spread(coefficients: Any, scalars: Vector) -> None:
    """Let all spread experts predict the typical size, which has just become known."""
    for i in range(EXPERT_SETS):
        for k in range(STEPS):
            coefficients[i, 0, k] = scalars[SCALAR.typical_size]


@inline_ordered
def sum_of_squares(row: Vector, start: int, stop: int) -> float:
    """``row[start:stop] @ row[start:stop]``, summed in order.

    Columns of 0 that are added later therefore change no bit.
    """
    total = 0.0
    for j in range(start, stop):
        total += row[j] * row[j]
    return total


# ------------------------------------------------------------------- sizes of residuals


@inline
def keep_size(residual: float, state: Any) -> None:
    """Keep the size of a residual among the newest; the first ones are measured by their median."""
    scalars = state.scalars
    sizes = state.newest_sizes
    rows = int(scalars[SCALAR.rows])
    sizes[rows % FIRST_ROWS] = abs(residual)
    if rows < FIRST_ROWS:
        median = median_of_first(sizes, rows + 1)
        limit = OUTLIER_RATIO * median
        scalars[SCALAR.typical_size] = median
        for k in range(len(RECENT_PACES)):
            state.recent_sizes[k] = median
        scalars[SCALAR.last_residual] = min(max(residual, -limit), limit)
        scalars[SCALAR.largest_size] = limit
    else:
        faded = (1.0 - 1.0 / MEMORY_ROWS) * scalars[SCALAR.largest_size]
        scalars[SCALAR.largest_size] = max(abs(residual), faded)


@inline
def clip_residual(residual: float, state: Any) -> float:
    """Clip a residual at ``OUTLIER_RATIO`` typical sizes or ``NEWEST_RATIO`` newest medians.

    It may be as large as the one before: one alone is an outlier, two in a row are none.
    """
    scalars = state.scalars
    sizes = state.newest_sizes
    if not scalars[SCALAR.typical_size] > TINY:  # all residuals were 0 so far
        return residual
    limit = max(OUTLIER_RATIO * scalars[SCALAR.typical_size], NEWEST_RATIO * median_of_five(sizes))
    limit = max(limit, sizes[(int(scalars[SCALAR.rows]) - 1) % FIRST_ROWS])
    return float(min(max(residual, -limit), limit))


@inline
def update_sizes(residual: float, state: Any) -> None:
    """Update the typical and recent sizes by a clipped residual.

    A residual of 0 says nothing about the size of others and changes none of them.
    """
    scalars = state.scalars
    size = abs(residual)
    scalars[SCALAR.last_residual] = residual
    if not size > TINY:
        return
    if not scalars[SCALAR.typical_size] > TINY:  # all residuals were 0 so far
        scalars[SCALAR.typical_size] = size
        for k in range(len(RECENT_PACES)):
            state.recent_sizes[k] = size
        return
    pace = max(1.0 / (scalars[SCALAR.rows] + 1.0), SLOW_PACE)
    scalars[SCALAR.typical_size] += pace * (size - scalars[SCALAR.typical_size])
    for k in range(len(RECENT_PACES)):
        state.recent_sizes[k] += RECENT_PACES[k] * (size - state.recent_sizes[k])
    scalars[SCALAR.typical_size] = min(
        scalars[SCALAR.typical_size], MAX_TYPICAL_RATIO * state.recent_sizes[1]
    )


@inline_ordered
def median_of_first(sizes: Vector, count: int) -> float:
    """Lower median of ``sizes[:count]``."""
    median = 0.0
    for i in range(count):
        below = same = 0
        for j in range(count):
            below += 1 if sizes[j] < sizes[i] else 0
            same += 1 if sizes[j] == sizes[i] else 0
        if below <= (count - 1) // 2 < below + same:
            median = float(sizes[i])
    return median


@inline_ordered
def median_of_five(sizes: Vector) -> float:
    """Median of five numbers without a branch.

    Of four numbers in two pairs, the smaller of the lower ends and the larger of the upper ends are
    not the median of the five.
    """
    a, b, c, d, e = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]
    low, high = max(min(a, b), min(c, d)), min(max(a, b), max(c, d))
    return float(max(min(low, high), min(max(low, high), e)))


# ------------------------------------------------------------------- quantiles of the scores


@inline
def score_of(distance: float, spread: float) -> float:
    """abs(distance) / spread, at most MAX_SCORE; 0 below MIN_SCORE."""
    score = min(abs(distance) / spread, MAX_SCORE) if spread > 0.0 else 0.0
    return score if score >= MIN_SCORE else 0.0


@inline
def clip_score(score: float, mean_score: float) -> float:
    """Clip a score at ``OUTLIER_RATIO`` mean scores."""
    return min(score, OUTLIER_RATIO * mean_score)


@inline
def mixed_quantile(alpha: float, quantiles: Vector, losses: Vector, weights: Vector) -> float:
    """``exp(-WEIGHT_RATE / alpha * losses) @ quantiles``, with weights that sum to 1."""
    weigh(losses, smallest(losses), WEIGHT_RATE / alpha, weights)
    return dot_product(weights, quantiles) / total(weights)


@expert_loop
def update_quantiles(
    alpha: float, score: float, mean_score: float, quantiles: Vector, losses: Vector
) -> None:
    """Add the pinball losses of a level's experts in mean scores, then move the experts."""
    step = FIRST_QUANTILE_STEP / alpha * mean_score
    for k in range(len(quantiles)):
        gap = score - quantiles[k]
        pinball = max((1.0 - alpha) * gap, -alpha * gap)
        losses[k] = (1.0 - 1.0 / MEMORY_ROWS) * losses[k] + pinball / mean_score
        slope = 1.0 - alpha if gap > 0.0 else (-alpha if gap < 0.0 else 0.0)
        quantiles[k] = max(quantiles[k] + step * power_of_half(k) * slope, 0.0)


@inline
def update_mean_score(score: float, scalars: Vector) -> None:
    """Update the mean and the largest score; a score of 0 changes neither."""
    if score > 0.0:
        pace = max(1.0 / (scalars[SCALAR.rows] + 1.0), SLOW_PACE)
        scalars[SCALAR.mean_score] += pace * (score - scalars[SCALAR.mean_score])
        scalars[SCALAR.largest_score] = max(scalars[SCALAR.largest_score], score)


@inline
def begin_quantiles(alphas: Vector, state: Any) -> None:
    """Set all quantiles as if scores were exponential, and the largest score from newest sizes."""
    scalars = state.scalars
    scalars[SCALAR.mean_score] = FIRST_MEAN_SCORE
    for j in range(FIRST_ROWS):
        score = clip_score(state.newest_sizes[j] / scalars[SCALAR.typical_size], FIRST_MEAN_SCORE)
        scalars[SCALAR.largest_score] = max(scalars[SCALAR.largest_score], score)
    for i in range(len(alphas)):
        for k in range(STEPS):
            state.quantiles[i, k] = FIRST_MEAN_SCORE * math.log(1.0 / alphas[i])


# ------------------------------------------------------------------- balance of misses


@inline
def count_misses(target: float, alphas: Vector, balances: Vector, bounds: Any) -> None:
    """Update the balance of each level; a hit at the lower limit leaves it as it is."""
    for i in range(len(alphas)):
        if target < bounds[i, 0] or target > bounds[i, 1]:
            balances[i] += 1.0 - alphas[i]
        elif balances[i] > -BALANCE_LIMIT:
            balances[i] -= alphas[i]


@inline
def radius(alpha: float, quantile: float, balance: float, scalars: Vector) -> float:
    """Half the width of an interval in spreads: infinity, or POINT_INTERVAL, at a limit."""
    if scalars[SCALAR.rows] < FIRST_ROWS or balance >= BALANCE_LIMIT:
        return math.inf
    if balance <= -BALANCE_LIMIT:
        return POINT_INTERVAL
    response = balance_response(balance) * (1.0 + narrowing(alpha, balance))
    wide = quantile + max(quantile, scalars[SCALAR.mean_score]) * response
    # The score after n others exceeds the largest with probability 1 / (n + 1). While this is above
    # alpha, the quantile lies beyond all scores seen.
    if (scalars[SCALAR.rows] + 1.0) * alpha < 1.0:
        wide = max(wide, scalars[SCALAR.largest_score])
    return float(max(wide, 0.0))


@inline
def narrowed_location(location: float, alpha: float, balance: float) -> float:
    """Middle of the interval relative to the prediction, which it must contain.

    A negative balance moves it towards the prediction: the interval narrows from there, too.
    """
    return location * max(1.0 + narrowing(alpha, balance) * balance_response(balance), 0.0)


@inline
def balance_response(balance: float) -> float:
    """Relative widening BALANCE_GAIN c (1 + BALANCE_CURVATURE (c / BALANCE_LIMIT)^2)."""
    near = balance / BALANCE_LIMIT
    return BALANCE_GAIN * balance * (1.0 + BALANCE_CURVATURE * near * near)


@inline
def narrowing(alpha: float, balance: float) -> float:
    """Additional response to a negative balance, relative to the plain one."""
    return NARROWING * alpha * alpha if balance < 0.0 else 0.0


# ------------------------------------------------------------------- exponential weights


@inline
def mixed(losses: Matrix, predictions: Matrix, weights: Vector) -> float:
    """Mean of predictions, weighted by exp(-WEIGHT_RATE losses) over all sets of experts."""
    lowest = math.inf
    for i in range(len(losses)):
        lowest = min(lowest, smallest(losses[i]))
    weight_sum = weighted_sum = 0.0
    for i in range(len(losses)):
        weigh(losses[i], lowest, WEIGHT_RATE, weights)
        weight_sum += total(weights)
        weighted_sum += dot_product(weights, predictions[i])
    return weighted_sum / weight_sum


@expert_loop
def add_losses(losses: Vector, predictions: Vector, observed: float, unit: float) -> None:
    """Discount the losses, and add squared errors in units of ``unit``, at most MAX_LOSS each."""
    for k in range(len(losses)):
        error = (observed - predictions[k]) / unit
        losses[k] = (1.0 - 1.0 / MEMORY_ROWS) * losses[k] + min(error * error, MAX_LOSS)


@expert_loop
def weigh(losses: Vector, lowest: float, rate: float, weights: Vector) -> None:
    """``weights[:] = exp(-rate * (losses - lowest))``."""
    for k in range(len(losses)):
        weights[k] = exp_negative(rate * (lowest - losses[k]))


@inline_ordered
def smallest(losses: Vector) -> float:
    """``losses.min()`` of STEPS numbers."""
    least = math.inf
    for k in range(STEPS):
        least = min(least, losses[k])
    return least


@inline_ordered
def total(weights: Vector) -> float:
    """``weights.sum()``, in two sums that do not wait for each other."""
    even = odd = 0.0
    for k in range(0, STEPS, 2):
        even += weights[k]
        odd += weights[k + 1]
    return even + odd


@inline_ordered
def dot_product(weights: Vector, predictions: Vector) -> float:
    """``weights @ predictions``, in two sums that do not wait for each other."""
    even = odd = 0.0
    for k in range(0, STEPS, 2):
        even += weights[k] * predictions[k]
        odd += weights[k + 1] * predictions[k + 1]
    return even + odd


@inline_ordered
def power_of_half(times: int) -> float:
    """2.0 ** -times, written into the exponent bits: a power would be a call per expert."""
    return bits_to_float((1023 - times) << 52)
