"""Kernels over rows of many keys: sort by key, add up errors of predictions and of intervals."""

from __future__ import annotations

import math
from typing import Any

from swordplay.compile import inline_ordered, kernel
from swordplay.core.types import Matrix, Vector


@inline_ordered
def follow(
    numbers: Any,
    predictions: Vector,
    targets: Vector,
    last: Vector,
    total: Vector,
    counts: Any,
    sums: Matrix,
    scored: Any,
) -> None:
    """Add errors row by row, so that sums do not depend on where a batch ends."""
    for t in range(len(numbers)):
        k, y = numbers[t], targets[t]
        scored[t] = counts[k] > 0
        if counts[k] > 0:
            model, repeated, mean = predictions[t] - y, last[k] - y, total[k] / counts[k] - y
            sums[k, 0] += model * model
            sums[k, 1] += repeated * repeated
            sums[k, 2] += mean * mean
        last[k] = y
        total[k] += y
        counts[k] += 1


@kernel
def judge(
    numbers: Any,
    predictions: Vector,
    targets: Vector,
    last: Vector,
    total: Vector,
    counts: Any,
    sums: Matrix,
    scored: Any,
) -> None:
    """Add squared errors of model, last value and mean to ``sums``; the baselines learn.

    Parameters
    ----------
    numbers, predictions, targets
        The number of each row's key, its prediction and its target, shape ``(T,)``; rows of a key
        in their order.
    last, total, counts
        Of each key: its last target, the sum of its targets, and how many there were.
    scored
        Written: whether the row has a prediction. The first row of a key, before which nothing is
        known, has none.
    """
    follow(numbers, predictions, targets, last, total, counts, sums, scored)


@kernel
def sort_by_key(numbers: Any, starts: Any, places: Any) -> None:
    """Stable counting sort of rows by key: the rows of each key, in their order.

    Parameters
    ----------
    numbers
        Number of each row's key, from 0, shape ``(T,)``.
    starts
        A zero for each key; receives where the rows of that key start in ``places``.
    places
        Receives the row numbers, sorted by key, shape ``(T,)``.
    """
    for t in range(len(numbers)):
        starts[numbers[t]] += 1
    for k in range(1, len(starts)):
        starts[k] += starts[k - 1]  # here still the end of each key's rows
    for t in range(len(numbers) - 1, -1, -1):
        starts[numbers[t]] -= 1
        places[starts[numbers[t]]] = t


@inline_ordered
def add_figures(numbers: Any, targets: Vector, found: Matrix, figures: Matrix) -> None:
    """Add figures row by row, so that sums do not depend on where a batch ends."""
    for t in range(len(numbers)):
        k, low, high = numbers[t], found[t, 0], found[t, 1]
        if low <= targets[t] <= high:
            figures[k, 0] += 1.0
        if -math.inf < low and high < math.inf:
            figures[k, 1] += high - low
            figures[k, 2] += 1.0


@kernel
def hold(numbers: Any, targets: Vector, found: Matrix, figures: Matrix) -> None:
    """Add to each key's figures those of its rows, as ``band.judged`` computes them.

    Parameters
    ----------
    numbers, targets, found
        The number of each row's key, its target, and the ends of its interval, shape ``(T, 2)``.
    figures
        Of all keys, shape ``(K, 3)``: targets inside, sum of widths, intervals with two ends.
    """
    add_figures(numbers, targets, found, figures)
