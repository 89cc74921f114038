"""Sums and extremes over experts, whole blocks of them at a time."""

from __future__ import annotations

import math
from typing import Any

from swordplay.compile import expert_loop, inline, larger, smaller
from swordplay.core.types import Matrix, Vector
from swordplay.engine.layout import BLOCK


@inline
def columns_of(numbers: Matrix) -> int:
    """How many columns a loop over experts runs over, in a form that shows that they make whole
    blocks.
    """
    return int(BLOCK * (numbers.shape[1] // BLOCK))


@expert_loop
def least(n: int, values: Vector) -> float:
    """The least of whole blocks of values."""
    fewest = math.inf
    for i in range(n):
        fewest = smaller(fewest, values[i])
    return float(fewest)


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
