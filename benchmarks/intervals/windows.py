"""The last scores, sorted: what adaptive conformal inference takes its quantiles from.

Compiled, as the peers are.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

LENGTH = 500
"""Scores that are kept, as Gibbs and Candès do."""


def fresh(length: int = LENGTH) -> tuple[Any, Any]:
    """Room for the scores in the order in which they came (a ring), and in order of size."""
    return np.zeros(length), np.zeros(length)


@njit(cache=True)
def add(newest: Any, by_size: Any, seen: int, score: float) -> None:
    """Let a score in after so many others, and the oldest out."""
    length = len(newest)
    count = min(seen, length)
    if seen >= length:
        place = np.searchsorted(by_size, newest[seen % length])
        for k in range(place, length - 1):
            by_size[k] = by_size[k + 1]
        count -= 1
    newest[seen % length] = score
    while count > 0 and by_size[count - 1] > score:
        by_size[count] = by_size[count - 1]
        count -= 1
    by_size[count] = score


@njit(cache=True)
def quantile(by_size: Any, seen: int, alpha: float) -> float:
    """The score that a share alpha of the next ones exceeds, as split conformal prediction has
    it.
    """
    if alpha >= 1.0:
        return 0.0
    count = min(seen, len(by_size))
    rank = math.ceil((1.0 - alpha) * (count + 1))
    if not alpha > 0.0 or rank > count:
        return math.inf
    return float(by_size[max(rank, 1) - 1])


@njit(cache=True)
def share_at_least(by_size: Any, seen: int, score: float) -> float:
    """The largest alpha whose interval holds the score (beta in the papers).

    1 before any is known.
    """
    count = min(seen, len(by_size))
    return float((count - np.searchsorted(by_size[:count], score)) / count) if count else 1.0
