"""Kernels of the second-order layer: a row is scaled, forecast, mixed, corrected and learned.

Rows that are not learned, or not yet, are only forecast; what learning them later needs is noted.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from swordplay.compile import inline, inline_ordered, kernel, unrolled_loop
from swordplay.compile.simd4 import extract, pack, select
from swordplay.core.types import Matrix, Vector
from swordplay.engine.second_order import mixing, newton
from swordplay.engine.second_order.approximations import exp, log_loss, within
from swordplay.engine.second_order.features import (
    active_corrected,
    skips_learning,
    update_column,
    write_features,
)
from swordplay.engine.second_order.layout import (
    COLUMN,
    COUNTER,
    SETTING,
    UNCURVED,
    LayerArrays,
    LayerScratch,
    LayerState,
    forecast_count_inline,
    parts_of_inline,
    scratch_of,
)
from swordplay.engine.second_order.newton import LANES, LEVERAGE, SCORE

MAX_EXPERT_LOG_ODDS = 8.0
"""Log-odds of a second-order expert are clipped at this magnitude."""
MODERATION = math.pi / 8.0
"""Log-odds z of variance s become z / sqrt(1 + MODERATION s): the average over all coefficients
that agree with the data (MacKay 1992).
"""
MIN_STAY_SHARE = 0.01
"""Share of labels that equal, or differ from, the one before, at least."""
STAY_MEMORY = 200.0
"""Labels over which this share is a discounted mean."""
MAX_LOG_ODDS = 700.0
"""Beyond these log-odds the log loss is 0 or a straight line, as far as doubles can tell."""
MIN_SQUARED_ERROR = 1e-300
"""No smaller squared error is a divisor."""
STEADIEST = 2
"""Position of the forecast without lags that has the longer memory.

Its last error is a column of the experts with lags: residuals of a regression are seldom
independent from row to row.
"""
WITHOUT_LAGS = 3
"""Number of forecasts without lags if experts compete: first order, and two experts."""
PRIOR, CORRECTED_PRIOR = 0.3, 0.5
"""Initial weights of the first-order forecast among all, and of the plain mixture among the
corrected ones.
"""


class LayerSettings(NamedTuple):
    """Settings of a layer as numbers and truth values."""

    is_logistic: bool
    intercept: bool
    competes: bool
    lags: int
    width: int
    corrections: int
    curves: int


@inline
def settings_of(settings: Vector) -> LayerSettings:
    """Return the settings of a layer."""
    return LayerSettings(
        settings[SETTING.is_logistic] == 1.0,
        settings[SETTING.intercept] == 1.0,
        settings[SETTING.competes] == 1.0,
        int(settings[SETTING.lags]),
        int(settings[SETTING.width]),
        int(settings[SETTING.corrections]),
        int(settings[SETTING.curves]),
    )


@inline_ordered
def write_row(
    layer: LayerSettings, state: LayerState, raw: Vector, column_centers: Vector, rows: Matrix
) -> None:
    """Write the scaled row of every expert: one, lags, last error, columns.

    If experts compete, lags and last error are 0 for the first two. A missing entry gets the
    present centre of its column, or without ``column_centers`` the centre of the fixed scaling.
    """
    place = 0
    if layer.intercept:
        rows[0, 0] = rows[0, 1] = rows[0, 2] = rows[0, 3] = 1.0
        place = 1
    for j in range(layer.lags):
        rows[place, 2] = rows[place, 3] = state.recent[j]
        rows[place, 0] = rows[place, 1] = 0.0 if layer.competes else state.recent[j]
        place += 1
    if layer.competes and len(state.recent) > layer.lags:
        rows[place, 2] = rows[place, 3] = state.recent[layer.lags]
        rows[place, 0] = rows[place, 1] = 0.0
        place += 1
    for j in range(len(raw)):
        entry, value = raw[j], 0.0
        if entry != entry and len(column_centers) > 0:
            entry = column_centers[j]
        spread = state.columns[COLUMN.spread, j]
        if spread > 0.0 and entry == entry:
            value = (entry - state.columns[COLUMN.center, j]) / spread
        rows[place, 0] = rows[place, 1] = rows[place, 2] = rows[place, 3] = value
        place += 1


@inline_ordered
def persistence(counters: Vector, recent: Vector, is_logistic: bool) -> float:
    """Return the last target; of labels, the log-odds that the last one stays."""
    if not is_logistic:
        return float(recent[0])
    share = min(max(counters[COUNTER.stay_share], MIN_STAY_SHARE), 1.0 - MIN_STAY_SHARE)
    return float(recent[0] * math.log(share / (1.0 - share)))


@unrolled_loop
def moderate_log_odds(stats: Matrix, forecasts: Vector) -> None:
    """Write z / sqrt(1 + MODERATION s), clipped, for every expert."""
    for k in range(LANES):
        z = stats[SCORE, k] / math.sqrt(1.0 + MODERATION * stats[LEVERAGE, k])
        forecasts[k] = min(max(z, -MAX_EXPERT_LOG_ODDS), MAX_EXPERT_LOG_ODDS)


@inline
def forecast(
    layer: LayerSettings,
    state: LayerState,
    lanes: Matrix,
    scratch: LayerScratch,
    first: float,
    learns: bool,
) -> None:
    """Write all forecasts of the row that was written; ``learns``: the experts learn it next."""
    if learns or layer.is_logistic:
        newton.ask(lanes, scratch.rows, layer.width, scratch.factor_products, scratch.stats)
    else:
        newton.score(lanes, scratch.rows, layer.width, scratch.stats)
    scratch.forecasts[0] = first
    if layer.is_logistic:
        moderate_log_odds(scratch.stats, scratch.forecasts[1:])
    else:
        for k in range(LANES):
            scratch.forecasts[1 + k] = mixing.clip_forecast(
                scratch.stats[SCORE, k], state.target_range
            )
    if layer.competes:
        scratch.forecasts[1 + LANES] = persistence(state.counters, state.recent, layer.is_logistic)


@inline_ordered
def weighted_mean(values: Vector, weights: Vector, first: int, last: int) -> float:
    """Return sum(w_i v_i) / sum(w_i) over i from ``first`` to ``last - 1``."""
    total, weight = 0.0, 0.0
    for i in range(first, last):
        total += weights[i] * values[i]
        weight += weights[i]
    return total / weight


@inline_ordered
def fill_row(rows: Matrix, j: int, value: float) -> None:
    """Write one number for every expert."""
    rows[j, 0] = rows[j, 1] = rows[j, 2] = rows[j, 3] = value


@inline_ordered
def clip_corrected(value: float, layer: LayerSettings, target_range: Vector) -> float:
    """Clip a corrected forecast to the usual range, or to certain log-odds."""
    if layer.is_logistic:
        return min(max(value, -mixing.MAX_LOG_ODDS), mixing.MAX_LOG_ODDS)
    return mixing.clip_forecast(value, target_range)


@inline
def prepare(layer: LayerSettings, state: LayerState, scratch: LayerScratch) -> None:
    """Write all weights, and the curves of the row that was written.

    None of this waits for a forecast, so the processor does it while these are computed.
    """
    count = active_corrected(state, layer.is_logistic)
    mixing.write_weights(state.lag_behind, PRIOR, scratch.weights)
    mixing.write_weights(
        state.corrected_lag_behind[:count], CORRECTED_PRIOR, scratch.corrected_weights
    )
    if count > UNCURVED:
        columns = layer.width - (state.columns.shape[1] - 1)
        write_features(scratch.rows, columns, state.features, scratch.angles, scratch.feature_rows)


@inline
def mix(
    layer: LayerSettings, state: LayerState, lanes: Matrix, scratch: LayerScratch, learns: bool
) -> float:
    """Return the corrected mixture of all forecasts.

    Experts learn by how much the plain mixture is wrong. Their columns are how far single groups of
    forecasts are from it: first order, those without lags, those with. The plain mixture and the
    corrected ones are left in ``scratch.corrected``.
    """
    forecasts, weights = scratch.forecasts, scratch.weights
    everyone, count = len(state.lag_behind), active_corrected(state, layer.is_logistic)
    plain = weighted_mean(forecasts, weights, 0, everyone)
    rows, width = scratch.correction_rows, 1
    fill_row(rows, 0, forecasts[0] - plain)
    if layer.competes:
        fill_row(rows, 1, weighted_mean(forecasts, weights, 0, WITHOUT_LAGS) - plain)
        fill_row(rows, 2, weighted_mean(forecasts, weights, WITHOUT_LAGS, everyone) - plain)
        width = 3
    if layer.is_logistic:
        fill_row(rows, width, 1.0)
        fill_row(rows, width + 1, plain)
    group = lanes[newton.group_rows(layer.width) :]
    learns = learns and not skips_learning(state, count)
    if learns:
        newton.ask(
            group,
            rows,
            layer.corrections,
            scratch.correction_factor_products,
            scratch.correction_stats,
        )
    else:
        newton.score(group, rows, layer.corrections, scratch.correction_stats)
    scratch.corrected[0] = plain
    for k in range(LANES):
        scratch.corrected[1 + k] = clip_corrected(
            plain + scratch.correction_stats[SCORE, k], layer, state.target_range
        )
    if count > UNCURVED:
        correct_along_curves(layer, state, lanes, scratch, plain, learns)
    return weighted_mean(scratch.corrected, scratch.corrected_weights, 0, count)


@inline
def correct_along_curves(
    layer: LayerSettings,
    state: LayerState,
    lanes: Matrix,
    scratch: LayerScratch,
    plain: float,
    learns: bool,
) -> None:
    """Write the mixture corrected by the experts with curves into ``scratch.corrected``."""
    first, width = newton.group_rows(layer.width), 1 + layer.curves
    group = lanes[first + newton.group_rows(layer.corrections) :]
    if learns:
        newton.ask(
            group,
            scratch.feature_rows,
            width,
            scratch.feature_factor_products,
            scratch.feature_stats,
        )
    else:
        newton.score(group, scratch.feature_rows, width, scratch.feature_stats)
    for k in range(LANES):
        scratch.corrected[UNCURVED + k] = clip_corrected(
            plain + scratch.feature_stats[SCORE, k], layer, state.target_range
        )


@inline
def learn(
    layer: LayerSettings,
    state: LayerState,
    lanes: Matrix,
    scratch: LayerScratch,
    target: float,
    weight: float,
    plain: float,
    scored: int,
) -> None:
    """Score the forecasts of a round by its target, and let the experts learn.

    ``scored`` is how many of the corrected forecasts were made for this row.
    """
    group, count = (
        lanes[newton.group_rows(layer.width) :],
        active_corrected(state, layer.is_logistic),
    )
    corrects = not skips_learning(state, count)
    curves = corrects and count > UNCURVED
    curved_group = group[newton.group_rows(layer.corrections) :]
    before = mixing.smallest(state.corrected_lag_behind[:UNCURVED])
    if layer.is_logistic:
        mixing.score_labels(state.lag_behind, scratch.forecasts, target, weight)
        mixing.score_labels(state.corrected_lag_behind[:scored], scratch.corrected, target, weight)
        newton.logistic_residuals(target, weight, 0.0, scratch.stats)
        if corrects:
            newton.logistic_residuals(target, weight, plain, scratch.correction_stats)
        if curves:
            newton.logistic_residuals(target, weight, plain, scratch.feature_stats)
    else:
        range_width = state.target_range[1] - state.target_range[0]
        limits = mixing.LossLimits(mixing.MEMORY, mixing.MAX_LOSS_RATIO, range_width)
        mixing.score_numbers(
            state.lag_behind, state.loss_sums, scratch.forecasts, target, weight, limits
        )
        mixing.score_numbers(
            state.corrected_lag_behind[:scored],
            state.corrected_loss_sums,
            scratch.corrected,
            target,
            weight,
            limits,
        )
        newton.squared_residuals(lanes, layer.width, target, weight, scratch.stats)
        if corrects:
            # In units of the usual error, so that the ridge means the same whatever that is.
            mean = max(mixing.least_mean(state.loss_sums, len(state.lag_behind)), MIN_SQUARED_ERROR)
            newton.squared_residuals(
                group, layer.corrections, target - plain, weight / mean, scratch.correction_stats
            )
        if curves:
            newton.squared_residuals(
                curved_group, 1 + layer.curves, target - plain, weight, scratch.feature_stats
            )
    if scored < len(state.corrected_lag_behind):
        mixing.keep_unscored(state.corrected_lag_behind, scored, before)
    newton.learn(lanes, layer.width, scratch.factor_products, scratch.newton_scratch, scratch.stats)
    if corrects:
        newton.learn(
            group,
            layer.corrections,
            scratch.correction_factor_products,
            scratch.newton_scratch,
            scratch.correction_stats,
        )
    if curves:
        newton.learn(
            curved_group,
            1 + layer.curves,
            scratch.feature_factor_products,
            scratch.newton_scratch,
            scratch.feature_stats,
        )


@inline_ordered
def update_lags(
    layer: LayerSettings, state: LayerState, target: float, before: float, steadiest: float
) -> None:
    """Keep the target of a round among the last ones.

    ``before`` is the last target when the row was forecast, ``steadiest`` the forecast of the
    steadiest expert without lags.
    """
    counters, recent = state.counters, state.recent
    if layer.is_logistic:
        newest = 2.0 * target - 1.0
        if counters[COUNTER.active] > 0.0:
            stays = 1.0 if newest == before else 0.0
            counters[COUNTER.stay_share] += (stays - counters[COUNTER.stay_share]) / STAY_MEMORY
    else:
        newest = target
        mixing.update_range(state.target_range, target)
    for j in range(max(layer.lags, 1) - 1, 0, -1):
        recent[j] = recent[j - 1]
    recent[0] = newest
    if layer.competes and len(recent) > layer.lags:
        prediction = 1.0 / (1.0 + exp(-steadiest)) if layer.is_logistic else steadiest
        recent[layer.lags] = target - prediction
    counters[COUNTER.active] += 1.0


@inline_ordered
def loss_difference(
    mixed: float, first: float, target: float, threshold: float, is_logistic: bool
) -> float:
    """Return loss(mixed) - loss(first) as the first-order learner counts: logistic, or Huber."""
    if is_logistic:
        sign = 1.0 if target > 0.5 else -1.0
        losses = log_loss_of_any(pack(sign * mixed, sign * first, 0.0, 0.0))
        return extract(losses, 0) - extract(losses, 1)
    return huber(target - mixed, threshold) - huber(target - first, threshold)


@inline_ordered
def log_loss_of_any(margins: Any) -> Any:
    """Return ln(1 + e^-s) of any s: a straight line where it equals one."""
    near = within(margins, MAX_LOG_ODDS)
    return log_loss(near) + select(near, margins, near - margins, 0.0)


@inline_ordered
def huber(residual: float, threshold: float) -> float:
    """Return residual^2 / 2, and a straight line beyond the threshold."""
    size = abs(residual)
    return 0.5 * size * size if size <= threshold else threshold * (size - 0.5 * threshold)


@kernel
def learn_rows(
    rows: Matrix,
    column_centers: Matrix,
    targets: Vector,
    weights: Vector,
    first: Vector,
    plan: Matrix,
    notes: Matrix,
    layer: LayerArrays,
    answer: Vector,
) -> None:
    """Mix the first-order forecasts of rows, each before it is learned, with those of the experts.

    Parameters
    ----------
    rows, targets, weights
        Raw rows, shape ``(T, d)``, their targets, and weights of their losses or an empty array.
    column_centers
        Centre of each missing entry before its row, shape ``(T, d)``, or no rows.
    first
        First-order forecasts.
    plan
        Weight and threshold of each row's loss, shape ``(T, 2)``.
    notes
        What was noted of late rows (see :func:`note`), 0 for the others; may have no rows. It is
        overwritten.
    layer
        Arrays of the layer.
    answer
        Mixed forecasts; may be ``first``.
    """
    settings, lanes = settings_of(layer.settings), layer.lanes
    state = parts_of_inline(
        layer.numbers, layer.settings, forecast_count_inline(layer.settings[SETTING.competes])
    )
    scratch = scratch_of(layer.scratch, layer.vector_scratch, layer.settings)
    columns, last = state.columns, state.columns.shape[1] - 1
    is_logistic = settings.is_logistic
    for t in range(len(targets)):
        if is_logistic or columns[COLUMN.spread, last] > 0.0:
            center = 0.0 if is_logistic else columns[COLUMN.center, last]
            spread = 1.0 if is_logistic else columns[COLUMN.spread, last]
            target = (
                targets[t]
                if is_logistic
                else mixing.clip_target((targets[t] - center) / spread, state.target_range)
            )
            weight = weights[t] if len(weights) > 0 else 1.0
            is_late = len(notes) > 0 and notes[t, 0] > 0.0
            if is_late:
                swap_lags(state.recent, notes[t])
            centers = column_centers[t] if len(column_centers) > 0 else rows[t, :0]
            write_row(settings, state, rows[t], centers, scratch.rows)
            prepare(settings, state, scratch)
            forecast(settings, state, lanes, scratch, (first[t] - center) / spread, True)
            before = state.recent[0]
            if is_late:
                noted = notes[t, 1 + len(state.recent) :]
                restore_forecasts(scratch.forecasts, noted, len(scratch.forecasts))
                swap_lags(state.recent, notes[t])
            mixed = mix(settings, state, lanes, scratch, True) * spread + center
            plain, scored = scratch.corrected[0], active_corrected(state, is_logistic)
            if is_late:
                scored = min(scored, int(notes[t, 0]))
                noted = notes[t, 1 + len(state.recent) + len(scratch.forecasts) :]
                restore_forecasts(scratch.corrected, noted, scored)
            if state.counters[COUNTER.active] == 0.0:
                mixed = first[t]  # the experts have learned nothing yet
            difference = loss_difference(mixed, first[t], targets[t], plan[t, 1], is_logistic)
            state.counters[COUNTER.gain] += plan[t, 0] * difference
            answer[t] = mixed
            learn(settings, state, lanes, scratch, target, weight, plain, scored)
            update_lags(settings, state, target, before, scratch.forecasts[STEADIEST])
        else:
            answer[t] = first[t]
            update_column(columns, last, targets[t], settings.intercept)
        for j in range(last):
            update_column(columns, j, rows[t, j], settings.intercept)
        state.counters[COUNTER.rounds] += 1.0


@inline_ordered
def swap_lags(recent: Vector, note: Vector) -> None:
    """Exchange the last targets and those that were the last ones when a row was forecast."""
    for j in range(len(recent)):
        recent[j], note[1 + j] = note[1 + j], recent[j]


@inline_ordered
def restore_forecasts(forecasts: Vector, noted: Vector, count: int) -> None:
    """Replace ``count`` present forecasts by those that were made when the row was forecast."""
    for i in range(count):
        forecasts[i] = noted[i]


@inline
def mix_without_lags(
    layer: LayerSettings, state: LayerState, lanes: Matrix, scratch: LayerScratch
) -> float:
    """Return the mixture of the forecasts without lags, corrected along curves."""
    plain = weighted_mean(scratch.forecasts, scratch.weights, 0, WITHOUT_LAGS)
    count = active_corrected(state, layer.is_logistic)
    if count == UNCURVED:
        return plain
    correct_along_curves(layer, state, lanes, scratch, plain, False)
    weights = scratch.corrected_weights
    total, weight = weights[0] * plain, weights[0]
    for i in range(UNCURVED, count):
        total += weights[i] * scratch.corrected[i]
        weight += weights[i]
    return float(total / weight)


@inline
def note(state: LayerState, scratch: LayerScratch, count: int, noted: Vector) -> None:
    """Store what learning and scoring a row need when its target arrives.

    These are the number of corrected forecasts, the last targets, and the forecasts made for the
    row: of all experts, then of the mixture, plain and corrected.
    """
    place = 1
    noted[0] = count
    for j in range(len(state.recent)):
        noted[place + j] = state.recent[j]
    place += len(state.recent)
    for i in range(len(scratch.forecasts)):
        noted[place + i] = scratch.forecasts[i]
    place += len(scratch.forecasts)
    for i in range(count):
        noted[place + i] = scratch.corrected[i]


@kernel
def predict_rows(
    rows: Matrix,
    column_centers: Matrix,
    first: Vector,
    following: int,
    layer: LayerArrays,
    notes: Matrix,
    answer: Vector,
) -> None:
    """Mix the forecasts of rows that are not learned, or not yet.

    ``following`` rows follow the last one learned. Of the others no last targets are known; if
    experts with and without lags compete, those without predict them. ``notes``, shape ``(T, n)``,
    takes what has to be kept of rows that follow the last one (see :func:`note`; zeros where the
    experts have learned nothing); n is 0 if nothing is to be kept. Other arguments are as in
    :func:`learn_rows`.
    """
    settings, lanes = settings_of(layer.settings), layer.lanes
    state = parts_of_inline(
        layer.numbers, layer.settings, forecast_count_inline(layer.settings[SETTING.competes])
    )
    scratch = scratch_of(layer.scratch, layer.vector_scratch, layer.settings)
    columns, last = state.columns, state.columns.shape[1] - 1
    is_logistic = settings.is_logistic
    for t in range(len(rows)):
        answer[t] = first[t]
        notes[t] = 0.0
        is_scaled = is_logistic or columns[COLUMN.spread, last] > 0.0
        if is_scaled and state.counters[COUNTER.active] > 0.0:
            center = 0.0 if is_logistic else columns[COLUMN.center, last]
            spread = 1.0 if is_logistic else columns[COLUMN.spread, last]
            centers = column_centers[t] if len(column_centers) > 0 else rows[t, :0]
            write_row(settings, state, rows[t], centers, scratch.rows)
            prepare(settings, state, scratch)
            forecast(settings, state, lanes, scratch, (first[t] - center) / spread, False)
            if t < following or not settings.competes:
                mixed = mix(settings, state, lanes, scratch, False)
                if notes.shape[1] > 0:
                    note(state, scratch, active_corrected(state, is_logistic), notes[t])
            else:
                mixed = mix_without_lags(settings, state, lanes, scratch)
            answer[t] = mixed * spread + center
