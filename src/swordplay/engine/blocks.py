"""Sums and extremes over experts, whole blocks of them at a time."""

from __future__ import annotations

from typing import Any

from swordplay.base.compiling import expert_loop, larger, part
from swordplay.base.types import Matrix, Vector
from swordplay.engine.layout import BLOCK


@part
def columns_of(numbers: Matrix) -> int:
    """How many columns a loop over experts runs over, in a form that shows that they make whole blocks."""
    return int(BLOCK * (numbers.shape[1] // BLOCK))


@expert_loop
def largest(n: int, values: Vector) -> float:
    """The largest of whole blocks of values.

    Four maxima side by side: one alone would wait for itself, and a maximum within a loop that does something else would
    keep that loop from becoming vector instructions.
    """
    a, b, c, d = values[0], values[1], values[2], values[3]
    for i in range(0, n, 4):
        a, b = max(a, values[i]), max(b, values[i + 1])
        c, d = max(c, values[i + 2]), max(d, values[i + 3])
    return float(max(max(a, b), max(c, d)))


@expert_loop
def least(n: int, values: Vector) -> float:
    """The least of whole blocks of values."""
    a, b, c, d = values[0], values[1], values[2], values[3]
    for i in range(0, n, 4):
        a, b = min(a, values[i]), min(b, values[i + 1])
        c, d = min(c, values[i + 2]), min(d, values[i + 3])
    return float(min(min(a, b), min(c, d)))


@expert_loop
def dot(n: int, left: Vector, right: Vector) -> float:
    """<left, right>."""
    total = 0.0
    for i in range(n):
        total += left[i] * right[i]
    return total


@expert_loop
def add_scaled(columns: int, total: Any, more: Any, factor: float) -> None:
    """total += factor * more."""
    for i in range(columns):
        total[i] += factor * more[i]


@expert_loop
def keep_larger(n: int, values: Vector, largest_so_far: Vector) -> None:
    """The larger of two numbers, one by one."""
    for i in range(n):
        largest_so_far[i] = larger(largest_so_far[i], values[i])
