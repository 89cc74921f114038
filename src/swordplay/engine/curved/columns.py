"""One scaling a column, fixed by its first values for ever: matrices of the past would be wrong
in a basis that moves.
"""

from __future__ import annotations

import math

from swordplay.compile import inline_exact
from swordplay.core.types import Matrix
from swordplay.engine.curved.layout import CENTER, COLUMN_ROWS, COUNT, FIRST, SPREAD, WARM_UP

FEWEST_AWAY = 3
"""Values away from the centre by which a spread is measured: of three, one may be an outlier."""
TO_SPREAD = 2.0
"""The spread in lower medians of eight distances.

Roughly, as it only tells how much the ridge weighs.
"""
SMALLEST_SPREAD = 1e-9
"""Spreads below this share of the centre are rounding."""
LEAST_SPREAD = 1e-80
"""Of any column: the largest values that there may be, 1e60, have squares in units of it that
are still numbers.
"""


@inline_exact
def follow_column(columns: Matrix, j: int, value: float, intercept: bool) -> None:
    """Count a value of a column whose scaling is not fixed.

    Fix it once enough are known that differ.

    The first values are kept in order. Where they are not enough, since most are the same, a new
    one that differs takes the place of a usual one. Centre and spread are medians, so that an
    outlier does no harm.
    """
    if columns[SPREAD, j] > 0.0 or value != value or (columns[COUNT, j] == 0.0 and value == 0.0):
        # a column begins with its first value that is not 0: one that joins late has the past of
        # one of zeros
        return
    count = int(columns[COUNT, j])
    if count == WARM_UP:
        usual = columns[FIRST + WARM_UP // 2, j]
        if value == usual:
            return
        count -= 1  # the last of the usual ones makes room
        place = FIRST + WARM_UP // 2
        while place < COLUMN_ROWS - 1 and columns[place + 1, j] == usual:
            place += 1
        while place < COLUMN_ROWS - 1:
            columns[place, j] = columns[place + 1, j]
            place += 1
    place = FIRST + count
    while place > FIRST and columns[place - 1, j] > value:
        columns[place, j] = columns[place - 1, j]
        place -= 1
    columns[place, j] = value
    columns[COUNT, j] = count + 1.0
    if count + 1 == WARM_UP:
        fix_column(columns, j, intercept)


@inline_exact
def fix_column(columns: Matrix, j: int, intercept: bool) -> None:
    """Centre and spread of a column from its first values.

    The lower median of the distances of those that are away.
    """
    center = columns[FIRST + WARM_UP // 2, j] if intercept else 0.0
    away = 0
    for i in range(FIRST, COLUMN_ROWS):
        away += 1 if columns[i, j] != center else 0
    if away < FEWEST_AWAY:
        return
    # The (away + 1) // 2 nearest of them, one after the other: eight values are few.
    spread = 0.0
    for _ in range((away + 1) // 2):
        nearest = math.inf
        for i in range(FIRST, COLUMN_ROWS):
            far = abs(columns[i, j] - center)
            if spread < far < nearest:
                nearest = far
        if nearest == math.inf:
            break
        spread = nearest
    if spread > SMALLEST_SPREAD * abs(center) and TO_SPREAD * spread >= LEAST_SPREAD:
        columns[CENTER, j] = center
        columns[SPREAD, j] = TO_SPREAD * spread
