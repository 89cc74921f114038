"""The scale of an interval: how many spreads wide it has to be for a level, followed at many step
sizes.

The score of a row is e = |residual - location| / spread. A level that allows a share alpha of
misses follows the (1 - alpha)-quantile of the scores by gradient descent on the pinball loss
(``parts.losses.PinballLoss``): experts q with steps eta = 1/32, 1/64, ... of s / alpha, s the usual
score,

    q <- q + eta (1 - alpha) if e > q,   q <- q - eta alpha if e < q,   never below 0,

weighed by a Hedge that forgets. They begin at log(1 / alpha), the quantile of exponential scores of
mean 1.
"""

from __future__ import annotations

import math

from swordplay.compile import expert_loop, inline
from swordplay.core.types import Matrix, Vector
from swordplay.intervals.hedge import dot, halved, least, summed, weigh
from swordplay.intervals.layout import (
    FEW,
    FIRST_RADIUS_STEP,
    FIRST_SCORE,
    LARGEST_RAW_SCORE,
    LARGEST_SCORE,
    MEMORY,
    NEWEST,
    OUTLIER,
    PACE,
    ROWS,
    SCORE,
    SHARPNESS,
    SMALLEST_SCORE,
    STEPS,
    TYPICAL,
)


@inline
def score_of(off: float, spread: float) -> float:
    """How many spreads a residual lies from its location."""
    score = min(abs(off) / spread, LARGEST_RAW_SCORE) if spread > 0.0 else 0.0
    return score if score >= SMALLEST_SCORE else 0.0


@inline
def quantile(alpha: float, radii: Vector, debts: Vector, shares: Vector) -> float:
    """Mean of a level's experts, weighted by exp(-SHARPNESS debt / alpha).

    ``shares`` is scratch.
    """
    weigh(debts, least(debts), SHARPNESS / alpha, shares)
    return dot(shares, radii) / summed(shares)


@expert_loop
def pursue(alpha: float, score: float, usual: float, radii: Vector, debts: Vector) -> None:
    """Let the experts of a level pay their pinball loss in usual scores, then move."""
    step = FIRST_RADIUS_STEP / alpha * usual
    for k in range(len(radii)):
        off = score - radii[k]
        debts[k] = (1.0 - 1.0 / MEMORY) * debts[k] + max((1.0 - alpha) * off, -alpha * off) / usual
        move = 1.0 - alpha if off > 0.0 else (-alpha if off < 0.0 else 0.0)
        radii[k] = max(radii[k] + step * halved(k) * move, 0.0)


@inline
def begin(alphas: Vector, radii: Matrix, live: Vector) -> None:
    """Let the experts of all levels begin as if scores were exponential.

    The largest so far is that of the newest residuals.
    """
    live[SCORE] = FIRST_SCORE
    for j in range(FEW):
        live[LARGEST_SCORE] = max(
            live[LARGEST_SCORE], clipped_score(live[NEWEST + j] / live[TYPICAL], FIRST_SCORE)
        )
    for i in range(len(alphas)):
        for k in range(STEPS):
            radii[i, k] = FIRST_SCORE * math.log(1.0 / alphas[i])


@inline
def follow_score(score: float, live: Vector) -> None:
    """Let the usual score follow a clipped one.

    One of 0 tells nothing about how large others will be.
    """
    if score > 0.0:
        live[SCORE] += max(1.0 / (live[ROWS] + 1.0), PACE) * (score - live[SCORE])
        live[LARGEST_SCORE] = max(live[LARGEST_SCORE], score)


@inline
def clipped_score(score: float, usual: float) -> float:
    """A score as it is learned from."""
    return min(score, OUTLIER * usual)
