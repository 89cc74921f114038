"""Robust centre and spread of columns, followed row by row, and rows scaled by them.

Each row is scaled by what the rows before it say. The first rows are kept, and measured by their
median and clipped deviation, so that an outlier among them does no harm, not even the very first.
From then on centre and spread follow slowly, and no row moves them by more than ``clip`` spreads. A
column that stays constant most of the time, such as a rare indicator, is measured by its first rows
until it has changed often enough: otherwise a first change that is an outlier would set the spread
for a long time. NaN stands for a missing entry: it scales to 0, the centre, and changes no
statistic.
"""

from __future__ import annotations

import math
from typing import Any

from swordplay.compile import inline, inline_ordered, kernel, unrolled_loop
from swordplay.core.types import Matrix, Vector

WARM_UP = 32
"""Rows that are measured together before the slow pursuit begins."""
LONGEST_REST = 128
"""A column that mostly stands still is taken to do so for this many rows at the most: one that
wakes up after years of rest
would else seem to move enormously."""
SETTLED = 1e300
"""Written over one of the first values of a column when these are no longer needed: no column holds
so large a number, so
one comparison tells whether a column is still being measured by its first values or already
followed."""
AT_REST = 1e-3
"""Values closer to the centre than so many spreads do not narrow the spread: it would vanish
while a column is at rest.
"""
TRUSTED = 5
"""Values of a target that have to be known before any is learned from: of five, two may be
outliers.
"""
PACE = 1.0 / 2000.0
"""How fast centre and spread follow in the long run: a column that changes its scale is caught
up with in some hundred rows.
"""
MAD_TO_SPREAD = 1.4826
"""The standard deviation of a normal variable in units of its median absolute deviation."""
TINY = 1e-300
"""Spreads below this are no spread."""


@inline
def scaled(value: float, center: float, spread: float, clip: float) -> float:
    """(value - center) / spread, clipped.

    0 where the column has not spread yet or the entry is missing.
    """
    if not spread > TINY or value != value:
        return 0.0
    return min(max((value - center) / spread, -clip), clip)


@inline
def scale_row(row: Vector, centers: Vector, spreads: Vector, clip: float, answer: Vector) -> float:
    """A row scaled, with an intercept of 1 behind it where ``answer`` has room.

    Returns its squared norm.
    """
    norm = 0.0
    for j in range(len(row)):
        answer[j] = scaled(row[j], centers[j], spreads[j], clip)
    # A loop of its own: where a loop also stores, the order of its sum depends on where the arrays
    # happen to lie.
    for j in range(len(row)):
        norm += answer[j] * answer[j]
    if len(answer) > len(row):
        answer[len(row)] = 1.0
        norm += 1.0
    return norm


@inline
def follow_row(
    row: Vector, centers: Vector, spreads: Vector, counts: Vector, first: Matrix, clip: float
) -> None:
    """Let every column's centre and spread learn from a row.

    ``first`` holds the first rows, shape ``(WARM_UP, d)``.
    """
    settled = 0
    for j in range(len(row)):
        settled += 1 if first[WARM_UP // 2, j] == SETTLED else 0
    if settled == len(row):
        pursue_row(row, centers, spreads, counts, clip)
        return
    for j in range(len(row)):
        value = row[j]
        if value == value:
            seen = int(counts[j])
            counts[j] = seen + 1.0
            if seen < WARM_UP:
                insert(first[:, j], seen, value)
                centers[j], spreads[j] = measure(first[:, j], seen + 1, seen + 1, clip)
            elif not is_still(first[:, j]):
                first[WARM_UP // 2, j] = SETTLED
                pursue(value, j, centers, spreads, max(1.0 / (seen + 1.0), PACE), clip)
            elif replace_usual(first[:, j], value):
                centers[j], spreads[j] = measure(
                    first[:, j], WARM_UP, min(seen + 1, LONGEST_REST), clip
                )


@unrolled_loop
def pursue_row(row: Vector, centers: Vector, spreads: Vector, counts: Vector, clip: float) -> None:
    """:func:`pursue` for a row whose columns are all past their first values, bit by bit the same.

    All columns take one way, and what is not wanted is not stored, so that several of them go
    through one instruction.
    """
    for j in range(len(row)):
        value, center, spread = row[j], centers[j], spreads[j]
        known, wide = value == value, spread > TINY
        pace = max(1.0 / (counts[j] + 1.0), PACE)
        off = min(max((value - center) / spread, -clip), clip)
        grown = spread * math.sqrt(1.0 + pace * (off * off - 1.0))
        grown = grown if abs(off) > AT_REST else spread
        grown = grown if wide else abs(value - center)
        centers[j] = center + pace * spread * off if known & wide else center
        spreads[j] = grown if known else spread
        counts[j] = counts[j] + 1.0 if known else counts[j]


@inline
def insert(values: Any, count: int, value: float) -> None:
    """Put a value among sorted ones."""
    place = count
    while place > 0 and values[place - 1] > value:
        values[place] = values[place - 1]
        place -= 1
    values[place] = value


@inline
def is_still(values: Any) -> bool:
    """Whether one value fills more than half of a full set of sorted ones, and would do so with
    one place less.
    """
    first = last = WARM_UP // 2  # a value that fills more than half is the one in the middle
    while first > 0 and values[first - 1] == values[last]:
        first -= 1
    while last < WARM_UP - 1 and values[last + 1] == values[first]:
        last += 1
    return last - first > WARM_UP // 2


@inline
def replace_usual(values: Any, value: float) -> bool:
    """Put a value in the place of one of the usual ones, which fill the middle.

    False if it is the usual value itself.
    """
    place = WARM_UP // 2
    usual = values[place]
    if value == usual:
        return False
    step = 1 if value > usual else -1
    while 0 <= place + step < WARM_UP and step * (value - values[place + step]) > 0.0:
        values[place] = values[place + step]
        place += step
    values[place] = value
    return True


@inline
def measure(values: Any, count: int, rows: int, clip: float) -> tuple[float, float]:
    """Median and clipped standard deviation of so many rows, of which these sorted values are
    those that differ most.
    """
    center = 0.5 * (values[(count - 1) // 2] + values[count // 2])
    spread = MAD_TO_SPREAD * middle_deviation(values, count, center)
    if not spread > TINY:
        # More than half of the values are the same, as in a column of indicators: the plain
        # deviation has to do.
        spread = middle_of_others(values, count, center)
    return center, deviation(values, count, rows, center, clip * spread)


@inline
def middle_deviation(values: Any, count: int, center: float) -> float:
    """Median of the distances from the centre, the upper one of two.

    The farther half of sorted values lies at both ends. How much of it at the lower one is found by
    halving, without a branch that depends on the values: a processor guesses each such branch wrong
    half of the time.
    """
    half = count - count // 2
    low, left = 0, half
    while left > 0:
        step = left // 2
        # The value at this place belongs to the farther half if it lies farther off than the one
        # that it would push out.
        more = 1 if center - values[low + step] > values[count - half + low + step] - center else 0
        low += (step + 1) * more
        left = (left - step - 1) * more + step * (1 - more)
    below, above = (
        center - values[max(low - 1, 0)],
        values[min(count - half + low, count - 1)] - center,
    )
    return float(above if low == 0 else below if low == half else min(below, above))


@inline
def middle_of_others(values: Any, count: int, center: float) -> float:
    """Lower median of the distances from the centre that are not 0: of a rare indicator and an
    outlier, the indicator.
    """
    low, high = 0, count - 1
    others = 0
    for k in range(count):
        others += 1 if values[k] != center else 0
    nearest = math.inf
    for _ in range(others // 2 + 1):
        if center - values[low] > values[high] - center:
            nearest = center - values[low]
            low += 1
        else:
            nearest = values[high] - center
            high -= 1
    return nearest


@inline
def deviation(values: Any, count: int, rows: int, center: float, limit: float) -> float:
    """Root of the mean squared distance from the centre, no distance counting for more than the
    limit.
    """
    total = 0.0
    for k in range(count):
        far = min(abs(values[k] - center), limit)
        total += far * far
    return math.sqrt(total / rows)


@inline_ordered
def pursue(
    value: float, j: int, centers: Vector, spreads: Vector, pace: float, clip: float
) -> None:
    """One step of centre and spread towards a value."""
    spread = spreads[j]
    if not spread > TINY:
        spreads[j] = abs(
            value - centers[j]
        )  # the values so far lie too close together for their squares
        return
    off = min(max((value - centers[j]) / spread, -clip), clip)
    centers[j] += pace * spread * off
    if abs(off) > AT_REST:
        spreads[j] = spread * math.sqrt(1.0 + pace * (off * off - 1.0))


@inline
def scale_each(rows: Matrix, centers: Vector, spreads: Vector, clip: float, answer: Matrix) -> None:
    """Rows scaled by what is known now; nothing is learned."""
    for t in range(len(rows)):
        scale_row(rows[t], centers, spreads, clip, answer[t])


@inline
def scale_and_follow_each(
    rows: Matrix,
    centers: Vector,
    spreads: Vector,
    counts: Vector,
    first: Matrix,
    clip: float,
    answer: Matrix,
    norms: Vector,
) -> None:
    """Each row scaled by what was known before it, and then learned from.

    ``norms`` are the squared norms of the answers.
    """
    for t in range(len(rows)):
        norms[t] = scale_row(rows[t], centers, spreads, clip, answer[t])
        follow_row(rows[t], centers, spreads, counts, first, clip)


@inline
def locate_and_follow_each(
    values: Vector,
    centers: Vector,
    spreads: Vector,
    counts: Vector,
    first: Matrix,
    clip: float,
    where: Matrix,
) -> None:
    """Centre, spread and largest spread so far of one column before each value, which is then
    learned from.

    ``where`` has shape ``(T, 3)``; the largest spread is kept in ``spreads[1]``.
    """
    for t in range(len(values)):
        where[t, 0], where[t, 1], where[t, 2] = centers[0], spreads[0], spreads[1]
        if counts[0] < TRUSTED:
            where[t, 1] = where[t, 2] = 0.0
        follow_row(values[t : t + 1], centers[:1], spreads[:1], counts[:1], first, clip)
        spreads[1] = spreads[0] if counts[0] <= WARM_UP else max(spreads[1], spreads[0])


@kernel
def scale_rows(rows: Matrix, centers: Vector, spreads: Vector, clip: float, answer: Matrix) -> None:
    """``scale_each`` for Python."""
    scale_each(rows, centers, spreads, clip, answer)


@kernel
def scale_and_follow(
    rows: Matrix,
    centers: Vector,
    spreads: Vector,
    counts: Vector,
    first: Matrix,
    clip: float,
    answer: Matrix,
    norms: Vector,
) -> None:
    """``scale_and_follow_each`` for Python."""
    scale_and_follow_each(rows, centers, spreads, counts, first, clip, answer, norms)


@kernel
def locate_and_follow(
    values: Vector,
    centers: Vector,
    spreads: Vector,
    counts: Vector,
    first: Matrix,
    clip: float,
    where: Matrix,
) -> None:
    """``locate_and_follow_each`` for Python."""
    locate_and_follow_each(values, centers, spreads, counts, first, clip, where)


@kernel
def middles_of_rows(
    rows: Matrix,
    centers: Vector,
    spreads: Vector,
    counts: Vector,
    first: Matrix,
    clip: float,
    answer: Matrix,
) -> None:
    """Where each column lies before each row, which is then learned from.

    NaN before its first value.
    """
    for t in range(len(rows)):
        for j in range(rows.shape[1]):
            answer[t, j] = centers[j] if counts[j] > 0.0 else math.nan
        follow_row(rows[t], centers, spreads, counts, first, clip)
