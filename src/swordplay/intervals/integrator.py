"""The integrator: it counts misses and holds every window of rows to its level, whatever the shape
and the scale say.

The balance of a level that allows a share alpha of misses starts at 0 and changes by (1 if missed,
else 0) - alpha. From LIMIT on the interval is everything, and cannot miss. From -LIMIT down it is
the prediction alone, and misses unless the truth is just that: such a hit leaves the balance as it
is. In between the balance widens and narrows the interval. So it never leaves [-LIMIT - alpha,
LIMIT + 1 - alpha], and no window of rows has more than 2 LIMIT + 1 misses beyond its share
(docs/theory.md).
"""

from __future__ import annotations

import math

from swordplay.compile import inline
from swordplay.core.types import Vector
from swordplay.intervals.layout import BEND, FEW, GAIN, HASTE, LARGEST_SCORE, LIMIT, ROWS, SCORE

POINT = -1.0
"""A radius that stands for an interval of the prediction alone."""


@inline
def answer(balance: float) -> float:
    """How much wider than the scale says, relatively."""
    near = balance / LIMIT
    return GAIN * balance * (1.0 + BEND * near * near)


@inline
def haste(alpha: float, balance: float, live: Vector) -> float:
    """How much more than that an interval narrows, where there were hits too many."""
    return float(live[HASTE] * alpha * alpha) if balance < 0.0 else 0.0


@inline
def nearer(location: float, alpha: float, balance: float, live: Vector) -> float:
    """Where the middle of an interval lies beside the prediction, which it has to hold: it
    narrows from there, too.
    """
    return location * max(1.0 + haste(alpha, balance, live) * answer(balance), 0.0)


@inline
def radius(alpha: float, quantile: float, balance: float, live: Vector) -> float:
    """How many spreads wide the interval is on either side: infinite for everything,
    :data:`POINT` for the prediction alone.
    """
    if live[ROWS] < FEW or balance >= LIMIT:
        return math.inf
    if balance <= -LIMIT:
        return POINT
    own = quantile + max(quantile, live[SCORE]) * (
        answer(balance) * (1.0 + haste(alpha, balance, live))
    )
    # Of n scores the next one exceeds the largest with a chance of 1/(n + 1): before that is below
    # alpha, no quantile is known.
    if (live[ROWS] + 1.0) * alpha < 1.0:
        own = max(own, live[LARGEST_SCORE])
    return float(max(own, 0.0))


@inline
def settled(alpha: float, balance: float, missed: bool) -> float:
    """The balance after a row."""
    if missed:
        return balance + (1.0 - alpha)
    return balance if balance <= -LIMIT else balance - alpha
