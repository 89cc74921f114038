"""Bins of the caller's columns: a number for each, so that location and spread need not be lines in
a column.

A scaled column between -EDGE and EDGE lies in one of ``BINS`` bins of the same width, beyond in the
first or the last. A row adds the numbers of its bins, one of each column, and moves these alone:
many bins cost no more time than one. A column that is missing, or that lies exactly at its centre,
as one does that never moves, is in none.
"""

from __future__ import annotations

from typing import Any

from swordplay.compile import inline, unrolled_loop
from swordplay.core.types import Vector
from swordplay.intervals.layout import EDGE, STEPS

NONE = -1.0
"""The place of a column that is in no bin."""


@inline
def find(row: Vector, count: int, places: Vector) -> float:
    """Write which of ``count`` bins each scaled column lies in; returns how many lie in one."""
    found = 0.0
    for j in range(len(row)):
        places[j] = NONE
        if count and row[j] != 0.0:
            below = int(
                (row[j] + EDGE) * (count / (2.0 * EDGE))
            )  # towards 0, so the first bin holds what lies beyond it
            places[j] = min(max(below, 0), count - 1)
            found += 1.0
    return found


@unrolled_loop
def add(bins: Any, places: Vector, answers: Vector) -> None:
    """Add the numbers of a row's bins to what each expert says."""
    for j in range(len(places)):
        if places[j] >= 0.0:
            numbers = bins[j, int(places[j])]
            for k in range(STEPS):
                answers[k] += numbers[k]


@unrolled_loop
def move(bins: Any, places: Vector, factors: Vector) -> None:
    """Let the numbers of a row's bins move as the coefficient of a column that is 1."""
    for j in range(len(places)):
        if places[j] >= 0.0:
            numbers = bins[j, int(places[j])]
            for k in range(STEPS):
                numbers[k] += factors[k]
