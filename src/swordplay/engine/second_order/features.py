r"""Fixed scaling of columns, and fixed nonlinear features of the scaled columns.

A column has one scaling, fixed by its first values: matrices of the past would be wrong in a basis
that moves.

A feature is :math:`|z_a|`, or :math:`\sqrt 2 \cos(\omega_a z_a + \omega_b z_b + \varphi)` of one or
two columns (random Fourier features, Rahimi and Recht 2007, of few columns each). Features are
fixed, so the losses of the experts that use them stay convex. These experts learn by how much the
mixture of all others has to be corrected along the features, and start with little weight. While
they do not improve the mixture, they are evaluated only once in a while.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from swordplay.compile import inline_ordered
from swordplay.compile.simd4 import broadcast, store_row
from swordplay.core.types import Matrix, Vector
from swordplay.engine.second_order.approximations import cos_all
from swordplay.engine.second_order.layout import (
    COLUMN,
    COLUMN_ROWS,
    COUNTER,
    FEATURE_NUMBERS,
    UNCURVED,
    WARM_UP,
    LayerState,
)

MIN_DIFFERING = 3
"""Values that differ from the centre, at least, for a spread: of three, one may be an outlier."""
MEDIAN_TO_SPREAD = 2.0
"""The spread in lower medians of eight distances, roughly: it only scales the ridge."""
MIN_RELATIVE_SPREAD = 1e-9
"""Spreads below this share of the centre are rounding."""
MIN_SPREAD = 1e-80
"""Smallest spread: the largest values, 1e60, in units of it still have finite squares."""


@inline_ordered
def update_column(columns: Matrix, j: int, value: float, intercept: bool) -> None:
    """Count a value of a column, and fix its scaling once enough values are known that differ.

    The first values are kept in order. If most of them are equal, a new value that differs replaces
    one of these. Centre and spread are medians, so that an outlier does no harm. A column begins
    with its first value other than 0: one that joins late has the past of a column of zeros.
    """
    is_fixed = columns[COLUMN.spread, j] > 0.0
    if is_fixed or value != value or (columns[COLUMN.counted, j] == 0.0 and value == 0.0):
        return
    count = int(columns[COLUMN.counted, j])
    if count == WARM_UP:
        common = columns[COLUMN.first_value + WARM_UP // 2, j]
        if value == common:
            return
        count -= 1  # the last of the common ones is removed
        place = COLUMN.first_value + WARM_UP // 2
        while place < COLUMN_ROWS - 1 and columns[place + 1, j] == common:
            place += 1
        while place < COLUMN_ROWS - 1:
            columns[place, j] = columns[place + 1, j]
            place += 1
    place = COLUMN.first_value + count
    while place > COLUMN.first_value and columns[place - 1, j] > value:
        columns[place, j] = columns[place - 1, j]
        place -= 1
    columns[place, j] = value
    columns[COLUMN.counted, j] = count + 1.0
    if count + 1 == WARM_UP:
        fix_column(columns, j, intercept)


@inline_ordered
def fix_column(columns: Matrix, j: int, intercept: bool) -> None:
    """Fix the centre, the median, and the spread: lower median of distances that are not 0."""
    center = columns[COLUMN.first_value + WARM_UP // 2, j] if intercept else 0.0
    differing = 0
    for i in range(COLUMN.first_value, COLUMN_ROWS):
        differing += 1 if columns[i, j] != center else 0
    if differing < MIN_DIFFERING:
        return
    # The (differing + 1) // 2 nearest of them, one after the other: eight values are few.
    spread = 0.0
    for _ in range((differing + 1) // 2):
        nearest = math.inf
        for i in range(COLUMN.first_value, COLUMN_ROWS):
            distance = abs(columns[i, j] - center)
            if spread < distance < nearest:
                nearest = distance
        if nearest == math.inf:
            break
        spread = nearest
    if spread > MIN_RELATIVE_SPREAD * abs(center) and MEDIAN_TO_SPREAD * spread >= MIN_SPREAD:
        columns[COLUMN.center, j] = center
        columns[COLUMN.spread, j] = MEDIAN_TO_SPREAD * spread


MAX_ENTRY = 4.0
"""Scaled entries are clipped here: a curve predicts nothing about values so far out."""
EARLY_ROUNDS = 500.0
"""Rounds in which all experts with curves are evaluated and learn."""
MIN_ADVANTAGE = 0.1
"""After them, where targets are numbers, experts with curves are evaluated in every round only if
one is ahead of all others by this much: 1/500 less squared error over the rounds remembered.
"""
MAX_LABEL_LAG = 7.0
"""The same where targets are labels: all with curves are behind by more. Their weight is below a
thousandth then.
"""
CHECK_EVERY = 8.0
"""Rounds between two evaluations else."""
LEARN_EVERY, LEARN_LABELS_EVERY = 4, 2
"""Rounds from one that the correcting experts learn to the next, after the early rounds, where
curves are evaluated in every round. A label tells less than a number, so fewer are left out.
"""
FREQUENCY, HIGH_FREQUENCY = 1.5, 3.0
"""Standard deviations of the frequencies of waves, per spread, in turn."""
SEED = 20
SQRT2 = math.sqrt(2.0)
"""Factor of a cosine: a wave has a mean square of 1."""


@inline_ordered
def clipped_entry(rows: Matrix, column: float, first: int) -> float:
    """Return a scaled column of a row, clipped."""
    return float(min(max(rows[first + int(column), 0], -MAX_ENTRY), MAX_ENTRY))


@inline_ordered
def write_features(
    rows: Matrix, first: int, features: Matrix, angles: Vector, feature_rows: Matrix
) -> None:
    """Write one, and every curve of a row whose scaled columns begin at ``rows[first]``.

    ``angles`` is scratch.
    """
    count, kinks = len(features), 0
    store_row(feature_rows, 0, broadcast(1.0))
    while kinks < count and features[kinks, 2] == 0.0:  # |z_a|
        size = abs(clipped_entry(rows, features[kinks, 0], first))
        store_row(feature_rows, 1 + kinks, broadcast(size))
        kinks += 1
    for k in range(kinks, count):
        one = clipped_entry(rows, features[k, 0], first)
        other = clipped_entry(rows, features[k, 1], first)
        angles[k] = features[k, 2] * one + features[k, 3] * other + features[k, 4]
    waves = angles[count : 2 * count]
    cos_all(angles[kinks:count], waves[kinks:])
    for k in range(kinks, count):
        size = abs(clipped_entry(rows, features[k, 0], first))
        value = SQRT2 * waves[k] if features[k, 2] != 0.0 else size
        store_row(feature_rows, 1 + k, broadcast(value))


@inline_ordered
def active_corrected(state: LayerState, is_logistic: bool) -> int:
    """Return how many corrected forecasts are evaluated in this round.

    It is all of them, or those without curves in rounds in which curves are left out.
    """
    count, active = len(state.corrected_lag_behind), state.counters[COUNTER.active]
    if count == UNCURVED or active < EARLY_ROUNDS or active % CHECK_EVERY == 0.0:
        return count
    # In plain loops, as Python calls this function, too.
    uncurved, curved = state.corrected_lag_behind[0], state.corrected_lag_behind[UNCURVED]
    for k in range(count):
        if k < UNCURVED:
            uncurved = min(uncurved, state.corrected_lag_behind[k])
        else:
            curved = min(curved, state.corrected_lag_behind[k])
    limit = MAX_LABEL_LAG if is_logistic else -MIN_ADVANTAGE
    return count if curved < uncurved + limit else UNCURVED


@inline_ordered
def skips_learning(state: LayerState, count: int) -> bool:
    """Return whether no correcting expert learns this round, with ``count`` forecasts evaluated."""
    active = state.counters[COUNTER.active]
    is_between = active >= EARLY_ROUNDS and active % state.counters[COUNTER.learn_every] != 0.0
    return count > UNCURVED and is_between


@functools.cache  # a table of many keys makes a model for each of them
def draw_features(dim: int, count: int) -> Any:
    """Draw the parameters of curves of ``dim`` columns.

    Half of them, or one for each column, are kinks |z_a|; the others are waves of two columns.
    """
    rng = np.random.default_rng((SEED, dim, count))
    features = np.zeros((count, FEATURE_NUMBERS))
    kinks = min(dim, count // 2)
    features[:kinks, 0] = rng.permutation(dim)[:kinks]
    for k in range(kinks, count):
        some = rng.permutation(dim)[:2]
        speed = (FREQUENCY, HIGH_FREQUENCY)[k % 2] / math.sqrt(len(some))
        features[k, : len(some)], features[k, 2 : 2 + len(some)] = (
            some,
            speed * rng.normal(size=len(some)),
        )
        features[k, 4] = rng.uniform(0.0, 2.0 * math.pi)
    features.flags.writeable = False
    return features
