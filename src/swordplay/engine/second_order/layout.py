"""Arrays of a second-order layer: every number of its state and scratch is declared here.

A layer has dim columns, some lags, competing experts or not, and curves. The sizes of all arrays
are functions of these four (``numbers_size``, ``newton.rows_of``, ``scratch_size``). ``parts_of``
and ``numbers_size``, and likewise ``scratch_of`` and ``scratch_size``, must agree on what an array
holds. The parts are saved by name, so their order may change; the order within a part may not.

There are LANES experts of each kind, side by side.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from swordplay.compile import inline
from swordplay.core.types import Matrix, Vector
from swordplay.engine.second_order.newton import LANES


class _Setting(NamedTuple):
    is_logistic: int = 0
    intercept: int = 1
    dim: int = 2  # columns of a row
    lags: int = 3  # last targets that experts have as columns
    # 1: three kinds of forecast compete: two experts without lags, two with lags, and "no change",
    # the last target; 0: all experts have lags
    competes: int = 4
    # numbers kept of the last rows: max(1, lags), plus the last error if experts compete
    recent: int = 5
    width: int = 6  # of the experts
    corrections: int = 7  # width of the experts that correct the mixture
    curves: int = 8  # curves of the columns, by which further experts correct it


SETTING = _Setting()
"""Places in the array ``settings``."""


class _Counter(NamedTuple):
    rounds: int = 0  # rows learned
    active: int = 1  # rows learned by the experts: the scaling of the target is fixed first
    stay_share: int = 2  # discounted share of labels that equal the label before
    gain: int = 3  # sum of the mixture's losses minus those of the first-order model
    learn_every: int = 4  # experts with curves learn in one of so many rounds


COUNTER = _Counter()
"""Places in ``LayerState.counters``."""
COUNTERS = len(COUNTER)


class _Column(NamedTuple):
    counted: int = 0  # values
    center: int = 1
    spread: int = 2  # 0 until it is fixed
    first_value: int = 3  # and those behind it: the first values, sorted


COLUMN = _Column()
"""Rows of ``LayerState.columns``."""
WARM_UP = 8
"""Values of a column before its scaling is fixed."""
COLUMN_ROWS = COLUMN.first_value + WARM_UP
UNCURVED = 1 + LANES
"""Corrected forecasts without curves: the plain mixture and those of the correcting experts.

Those of the experts with curves stand behind them.
"""
STATS = 4
"""Numbers of an expert in a round (see ``newton``)."""
FEATURE_NUMBERS = 5
"""Numbers of a curve: two columns, two frequencies and a phase (see ``features``)."""


class LayerArrays(NamedTuple):
    """All arrays of a layer, as its kernels take them."""

    settings: Any
    numbers: Any
    """State of the layer beside its experts: all of ``LayerState``, one part behind the other."""
    lanes: Any
    """State of three groups of experts (see ``newton``): those that forecast, those that correct
    the mixture, and those that correct it along curves; LANES columns.
    """
    scratch: Any
    """Matrices of ``LayerScratch``, LANES columns."""
    vector_scratch: Any
    """Vectors of ``LayerScratch``."""


class LayerState(NamedTuple):
    """State of a layer beside its experts; all are views of one array."""

    counters: Any
    target_range: Any
    """Usual range of the scaled target, shape ``(2,)``."""
    recent: Any
    """Last scaled targets, the newest first; if experts compete, then the last error without lags.
    """
    columns: Any
    """Scaling of the columns, the target last, shape ``(COLUMN_ROWS, d + 1)``."""
    lag_behind: Any
    """Discounted loss of each of N forecasts minus that of the best one (see ``mixing``)."""
    loss_sums: Any
    """Discounted losses of the forecasts, and last the discounted rounds, shape ``(N + 1,)``."""
    corrected_lag_behind: Any
    corrected_loss_sums: Any
    features: Any
    """Parameters of the curves, shape ``(curves, FEATURE_NUMBERS)``."""


class LayerScratch(NamedTuple):
    """Scratch of one round."""

    forecasts: Any
    """Of all forecasters: first order, LANES experts, and "no change" if experts compete."""
    weights: Any
    corrected: Any
    """The plain mixture and the corrected ones."""
    corrected_weights: Any
    angles: Any
    """Arguments of the curves that are waves, and behind them their cosines."""
    rows: Any
    """Columns of each expert: one, lags, scaled columns; shape ``(width, LANES)``."""
    factor_products: Any
    """U'a of every expert (see ``newton.ask``)."""
    stats: Any
    """Shape ``(STATS, LANES)``."""
    correction_rows: Any
    """Columns of each expert that corrects the mixture; the next two are as above, for these."""
    correction_factor_products: Any
    correction_stats: Any
    feature_rows: Any
    """Columns of each expert with curves: one and every curve; the next two are for these."""
    feature_factor_products: Any
    feature_stats: Any
    newton_scratch: Any
    """What ``newton.learn`` overwrites, as many rows as the widest expert has columns."""


def forecast_count(competes: float) -> int:
    """Return N: first order, LANES experts, and "no change" if experts compete."""
    return 2 + LANES if competes == 1.0 else 1 + LANES


forecast_count_inline = inline(forecast_count)
"""``forecast_count`` for kernels."""


def corrected_count(curves: float) -> int:
    """Return the number of corrected forecasts, the plain mixture included."""
    return UNCURVED + LANES if curves > 0.0 else UNCURVED


corrected_count_inline = inline(corrected_count)
"""``corrected_count`` for kernels."""


def parts_of(numbers: Vector, settings: Vector, N: int) -> LayerState:
    """Return the parts of the array of a layer with N forecasts."""
    dim = int(settings[SETTING.dim])
    recent = int(settings[SETTING.recent])
    curves = int(settings[SETTING.curves])
    corrected = UNCURVED + LANES if curves > 0 else UNCURVED
    a = COUNTERS
    b = a + 2
    c = b + recent
    d = c + COLUMN_ROWS * (dim + 1)
    e = d + N
    f = e + N + 1
    g = f + corrected
    h = g + corrected + 1
    i = h + FEATURE_NUMBERS * curves
    return LayerState(
        numbers[:a],
        numbers[a:b],
        numbers[b:c],
        numbers[c:d].reshape((COLUMN_ROWS, dim + 1)),
        numbers[d:e],
        numbers[e:f],
        numbers[f:g],
        numbers[g:h],
        numbers[h:i].reshape((curves, FEATURE_NUMBERS)),
    )


parts_of_inline = inline(parts_of)
"""``parts_of`` for kernels."""


def numbers_size(dim: int, recent: int, competes: bool, curves: int) -> int:
    """Return the length of ``LayerArrays.numbers``."""
    N, corrected = forecast_count(float(competes)), corrected_count(float(curves))
    counts = COUNTERS + 2 + recent + COLUMN_ROWS * (dim + 1)
    return counts + 2 * N + 1 + 2 * corrected + 1 + FEATURE_NUMBERS * curves


@inline
def scratch_of(scratch: Matrix, vector_scratch: Vector, settings: Vector) -> LayerScratch:
    """Return the parts of the two scratch arrays."""
    width, corrections = int(settings[SETTING.width]), int(settings[SETTING.corrections])
    curved = 1 + int(settings[SETTING.curves])
    N = forecast_count_inline(settings[SETTING.competes])
    corrected = corrected_count_inline(settings[SETTING.curves])
    a, b = N, 2 * N
    c, d = b + corrected, b + 2 * corrected
    one, two = 2 * width + STATS, 2 * corrections + STATS
    three = one + two + 2 * curved + STATS
    experts, correcting = scratch[:one], scratch[one : one + two]
    curving = scratch[one + two : three]
    return LayerScratch(
        vector_scratch[:a],
        vector_scratch[a:b],
        vector_scratch[b:c],
        vector_scratch[c:d],
        vector_scratch[d : d + 2 * curved],
        experts[:width],
        experts[width : 2 * width],
        experts[2 * width :],
        correcting[:corrections],
        correcting[corrections : 2 * corrections],
        correcting[2 * corrections :],
        curving[:curved],
        curving[curved : 2 * curved],
        curving[2 * curved :],
        scratch[three:],
    )


def scratch_size(
    width: int, corrections: int, competes: bool, curves: int
) -> tuple[tuple[int, int], int]:
    """Return the shape of ``LayerArrays.scratch`` and the length of ``vector_scratch``."""
    curved = 1 + curves
    rows = 2 * (width + corrections + curved) + 3 * STATS + max(width, corrections, curved)
    counts = forecast_count(float(competes)) + corrected_count(float(curves))
    return (rows, LANES), 2 * counts + 2 * curved
