"""Kernels for the robust centre and spread of columns, updated row by row, and for scaled rows.

Each row is scaled by the statistics of the rows before it. The first ``WARM_UP`` values of a column
are kept; centre and spread are their median and clipped deviation, so that an outlier among them
does no harm, even if it is the very first value. From then on centre and spread follow slowly, and
no row moves them by more than ``clip`` spreads.

A column that is constant most of the time, such as a rare indicator, keeps its first values until
it has changed often enough. Otherwise a first change that is an outlier would set the spread for a
long time. NaN stands for a missing entry: it scales to 0, the centre, and changes no statistic.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from swordplay.compile import inline, inline_ordered, kernel, unrolled_loop
from swordplay.core.types import Matrix, Vector

WARM_UP = 32
"""Number of values from which centre and spread are computed before they follow slowly."""
MAX_CONSTANT_ROWS = 128
"""Rows that a mostly constant column counts as at most.

Else its spread would be so small after years that the first change would seem enormous.
"""
WARMED_UP = 1e300
"""Overwrites one of the first values of a column once they are no longer needed.

No column holds a number this large, so one comparison tells the two phases of a column apart.
"""
MIN_DEVIATION = 1e-3
"""In spreads: values closer to the centre do not narrow the spread, which would vanish otherwise
while a column is constant.
"""
MIN_TARGETS = 5
"""Targets that have to be known before any is learned: of five, two may be outliers."""
MIN_RATE = 1.0 / 2000.0
"""Rate at which centre and spread follow in the long run: a change of scale is followed within
some hundred rows.
"""
MAD_TO_SPREAD = 1.4826
"""Standard deviation of a normal variable in units of its median absolute deviation."""
MIN_SPREAD = 1e-300
"""Smaller spreads count as 0."""


class ColumnArrays(NamedTuple):
    """Statistics of d columns, or of a target (d = 1)."""

    centers: Any
    spreads: Any
    """Shape ``(d,)``; of a target ``(2,)``: the present and the largest spread so far."""
    counts: Any
    """Values seen by each column."""
    first_values: Any
    """First values of each column, sorted, shape ``(WARM_UP, d)``."""


@inline
def scaled(value: float, center: float, spread: float, clip: float) -> float:
    """Return (value - center) / spread, clipped; 0 without a spread, or if the entry is missing."""
    if not spread > MIN_SPREAD or value != value:
        return 0.0
    return min(max((value - center) / spread, -clip), clip)


@inline
def scale_row(row: Vector, centers: Vector, spreads: Vector, clip: float, answer: Vector) -> float:
    """Scale a row, write an intercept of 1 behind it if ``answer`` has room; return |answer|^2."""
    squared_norm = 0.0
    for j in range(len(row)):
        answer[j] = scaled(row[j], centers[j], spreads[j], clip)
    # A loop of its own: where a loop also stores, the order of its sum depends on where the arrays
    # lie in memory, and a row alone would get other bits than among others.
    for j in range(len(row)):
        squared_norm += answer[j] * answer[j]
    if len(answer) > len(row):
        answer[len(row)] = 1.0
        squared_norm += 1.0
    return squared_norm


@inline
def update_stats(row: Vector, columns: ColumnArrays, clip: float) -> None:
    """Update centre and spread of every column by a row."""
    centers, spreads, counts, first_values = columns
    warmed_up = 0
    for j in range(len(row)):
        warmed_up += 1 if first_values[WARM_UP // 2, j] == WARMED_UP else 0
    if warmed_up == len(row):
        update_warm_columns(row, centers, spreads, counts, clip)
        return
    for j in range(len(row)):
        value = row[j]
        if value == value:
            seen = int(counts[j])
            counts[j] = seen + 1.0
            values = first_values[:, j]
            if seen < WARM_UP:
                insert(values, seen, value)
                centers[j], spreads[j] = warm_up_stats(values, seen + 1, seen + 1, clip)
            elif not is_mostly_constant(values):
                first_values[WARM_UP // 2, j] = WARMED_UP
                update_column(value, j, centers, spreads, max(1.0 / (seen + 1.0), MIN_RATE), clip)
            elif replace_common(values, value):
                rows = min(seen + 1, MAX_CONSTANT_ROWS)
                centers[j], spreads[j] = warm_up_stats(values, WARM_UP, rows, clip)


@unrolled_loop
def update_warm_columns(
    row: Vector, centers: Vector, spreads: Vector, counts: Vector, clip: float
) -> None:
    """Do what :func:`update_column` does for a row whose columns are all warmed up.

    There are no branches: all columns take one way and unwanted results are not stored, so that
    the compiler makes vector instructions of the loop. The results are identical.
    """
    for j in range(len(row)):
        value, center, spread = row[j], centers[j], spreads[j]
        is_known, has_spread = value == value, spread > MIN_SPREAD
        rate = max(1.0 / (counts[j] + 1.0), MIN_RATE)
        deviation = min(max((value - center) / spread, -clip), clip)
        new_spread = spread * math.sqrt(1.0 + rate * (deviation * deviation - 1.0))
        new_spread = new_spread if abs(deviation) > MIN_DEVIATION else spread
        new_spread = new_spread if has_spread else abs(value - center)
        centers[j] = center + rate * spread * deviation if is_known & has_spread else center
        spreads[j] = new_spread if is_known else spread
        counts[j] = counts[j] + 1.0 if is_known else counts[j]


@inline_ordered
def update_column(
    value: float, j: int, centers: Vector, spreads: Vector, rate: float, clip: float
) -> None:
    """Move centre and spread of one column towards a value.

    With z = (value - center)/spread, clipped: center += rate spread z, and
    spread^2 *= 1 + rate (z^2 - 1).
    """
    spread = spreads[j]
    if not spread > MIN_SPREAD:  # the values so far are too close together for their squares
        spreads[j] = abs(value - centers[j])
        return
    deviation = min(max((value - centers[j]) / spread, -clip), clip)
    centers[j] += rate * spread * deviation
    if abs(deviation) > MIN_DEVIATION:
        spreads[j] = spread * math.sqrt(1.0 + rate * (deviation * deviation - 1.0))


@inline
def insert(values: Any, count: int, value: float) -> None:
    """Insert a value into ``count`` sorted ones."""
    place = count
    while place > 0 and values[place - 1] > value:
        values[place] = values[place - 1]
        place -= 1
    values[place] = value


@inline
def is_mostly_constant(values: Any) -> bool:
    """Return whether one value fills more than half of the WARM_UP sorted ones, and one more."""
    first = last = WARM_UP // 2  # a value that fills more than half is the one in the middle
    while first > 0 and values[first - 1] == values[last]:
        first -= 1
    while last < WARM_UP - 1 and values[last + 1] == values[first]:
        last += 1
    return last - first > WARM_UP // 2


@inline
def replace_common(values: Any, value: float) -> bool:
    """Replace one occurrence of the common value, which fills the middle, by another value.

    Returns False if it is the common value itself.
    """
    place = WARM_UP // 2
    common = values[place]
    if value == common:
        return False
    step = 1 if value > common else -1
    while 0 <= place + step < WARM_UP and step * (value - values[place + step]) > 0.0:
        values[place] = values[place + step]
        place += step
    values[place] = value
    return True


@inline
def warm_up_stats(values: Any, count: int, rows: int, clip: float) -> tuple[float, float]:
    """Return median and clipped standard deviation of the first ``count`` values, sorted.

    They stand for ``rows`` rows, of which the others equal the median.
    """
    center = 0.5 * (values[(count - 1) // 2] + values[count // 2])
    spread = MAD_TO_SPREAD * median_deviation(values, count, center)
    if not spread > MIN_SPREAD:
        # More than half of the values are equal, as in a column of indicators.
        spread = median_of_others(values, count, center)
    return center, clipped_deviation(values, count, rows, center, clip * spread)


@inline
def median_deviation(values: Any, count: int, center: float) -> float:
    """Return the median of |values - center|, the upper one of two, of sorted values.

    The farther half of sorted values lies at both ends. How much of it lies at the lower end is
    found by bisection without a branch on the values, which the processor would mispredict half of
    the time.
    """
    half = count - count // 2
    low, left = 0, half
    while left > 0:
        step = left // 2
        # The value at this place belongs to the farther half if it is farther from the centre than
        # the one that it would replace at the upper end.
        more = 1 if center - values[low + step] > values[count - half + low + step] - center else 0
        low += (step + 1) * more
        left = (left - step - 1) * more + step * (1 - more)
    below = center - values[max(low - 1, 0)]
    above = values[min(count - half + low, count - 1)] - center
    return float(above if low == 0 else below if low == half else min(below, above))


@inline
def median_of_others(values: Any, count: int, center: float) -> float:
    """Return the lower median of the distances from the centre that are not 0.

    Of a rare indicator and one outlier it is the distance of the indicator.
    """
    low, high = 0, count - 1
    others = 0
    for k in range(count):
        others += 1 if values[k] != center else 0
    distance = math.inf
    for _ in range(others // 2 + 1):
        if center - values[low] > values[high] - center:
            distance = center - values[low]
            low += 1
        else:
            distance = values[high] - center
            high -= 1
    return distance


@inline
def clipped_deviation(values: Any, count: int, rows: int, center: float, limit: float) -> float:
    """Return sqrt(sum(min(|values - center|, limit)^2) / rows)."""
    total = 0.0
    for k in range(count):
        distance = min(abs(values[k] - center), limit)
        total += distance * distance
    return math.sqrt(total / rows)


@inline
def write_missing_centers(
    row: Vector, centers: Vector, counts: Vector, follows: bool, answer: Vector
) -> None:
    """Write the present centre of every column that is missing in a row.

    It is the centre of the last columns, as many as ``answer`` has; NaN before a first value.
    """
    first = len(row) - len(answer)
    for j in range(len(answer)):
        if row[first + j] != row[first + j]:
            is_known = counts[first + j] > 0.0 or not follows
            answer[j] = centers[first + j] if is_known else math.nan


@inline
def scale_and_update_each(
    rows: Matrix,
    columns: ColumnArrays,
    clip: float,
    follows: bool,
    answer: Matrix,
    squared_norms: Vector,
    column_centers: Matrix,
) -> None:
    """Scale each row by the statistics before it, which then learn from it.

    Without ``follows`` the statistics stay as they are. ``column_centers`` takes the centres of
    missing entries; it may have no rows.
    """
    for t in range(len(rows)):
        if len(column_centers) > 0:
            write_missing_centers(
                rows[t], columns.centers, columns.counts, follows, column_centers[t]
            )
        squared_norms[t] = scale_row(rows[t], columns.centers, columns.spreads, clip, answer[t])
        if follows:
            update_stats(rows[t], columns, clip)


@inline
def track_target_each(
    targets: Vector, target: ColumnArrays, clip: float, target_place: Matrix
) -> None:
    """Write centre, spread and largest spread so far before each target, then learn from it.

    ``target_place`` has shape ``(T, 3)``; the largest spread is kept in ``target.spreads[1]``.
    """
    centers, spreads, counts = target.centers, target.spreads, target.counts
    column = ColumnArrays(centers[:1], spreads[:1], counts[:1], target.first_values)
    for t in range(len(targets)):
        target_place[t, 0] = centers[0]
        target_place[t, 1], target_place[t, 2] = spreads[0], spreads[1]
        if counts[0] < MIN_TARGETS:
            target_place[t, 1] = target_place[t, 2] = 0.0
        update_stats(targets[t : t + 1], column, clip)
        spreads[1] = spreads[0] if counts[0] <= WARM_UP else max(spreads[1], spreads[0])


@kernel
def scale_rows(rows: Matrix, centers: Vector, spreads: Vector, clip: float, answer: Matrix) -> None:
    """Scale rows by the present statistics."""
    for t in range(len(rows)):
        scale_row(rows[t], centers, spreads, clip, answer[t])


@kernel
def scale_and_update(
    rows: Matrix, columns: ColumnArrays, clip: float, answer: Matrix, squared_norms: Vector
) -> None:
    """Scale each row by the statistics before it, which then learn from it."""
    scale_and_update_each(rows, columns, clip, True, answer, squared_norms, answer[:0])


@kernel
def track_target(targets: Vector, target: ColumnArrays, clip: float, target_place: Matrix) -> None:
    """Write the statistics of a target before each value, which they then learn from."""
    track_target_each(targets, target, clip, target_place)
