"""One projection a round: a learner of a ball, and decisions projected from there on a domain
inside it.

Twin of ``OneProjection``. The round of the learner inside is that of ``rounds``,
for the linear loss whose features are the bent gradient; they are known only after the decision was
formed and projected.
"""

from __future__ import annotations

import math
from typing import Any

from swordplay.compile import inline, kernel
from swordplay.core.types import Matrix, Vector
from swordplay.engine import ball
from swordplay.engine.blocks import dot
from swordplay.engine.layout import BOX, SIMPLEX, Arrays
from swordplay.engine.rounds import LARGEST_SQUARE, dense_round
from swordplay.engine.scalar import phi, slope
from swordplay.engine.weights import settle_weights

WITHIN = 2
"""Beside SIMPLEX and BOX: the domain is the ball itself."""
POINT, SHADOW, GRADIENT, SPARE = 0, 1, 2, 3
"""Rows of the scratch: y, x = Proj_X(y), the bent gradient, and what is left of a simplex's
coordinates.
"""
LONGEST, LOWEST = 0, 1
"""What is noted of the gradients that the learner inside was told: the longest norm, the lowest
value <g, y>.
"""


@inline
def project(kind: int, corners: Matrix, total: float, work: Matrix) -> None:
    """x = Proj_X(y)."""
    y, x = work[POINT], work[SHADOW]
    if kind == BOX:
        for j in range(len(y)):
            x[j] = min(max(y[j], corners[0, j]), corners[1, j])
    elif kind == SIMPLEX:
        onto_simplex(y, total, x, work[SPARE])
    else:
        for j in range(len(y)):
            x[j] = y[j]


@inline
def onto_simplex(y: Vector, total: float, x: Vector, left: Vector) -> None:
    """max{y - theta, 0}, theta such that the sum is the total.

    Michelot (1986): the mean excess of those that may be positive is too small a theta; whoever is
    below it is 0 and leaves. A round of this costs as much as there are left, and nobody comes
    back: d rounds at the most, a handful in practice.
    """
    count, highest = len(y), -math.inf
    for j in range(count):
        highest = max(highest, y[j])
    excess = -total
    for j in range(count):
        left[j] = y[j] - highest  # seen from the largest: nothing cancels
        excess += left[j]
    theta = excess / count
    for _ in range(len(y)):
        stay, excess = 0, -total
        for j in range(count):
            value = left[j]
            if value > theta:
                left[stay] = value
                excess += value
                stay += 1
        if stay == count:
            break
        count, theta = stay, excess / stay
    for j in range(len(y)):
        x[j] = max(y[j] - highest - theta, 0.0)


@inline
def bend(work: Matrix, features: Vector, steepness: float, none: float) -> float:
    """The gradient without its part that leads further away from the domain; returns its norm.

    What is nearer to the domain than ``none`` lies in it.
    """
    y, x, bent = work[POINT], work[SHADOW], work[GRADIENT]
    away = 0.0
    for j in range(len(y)):
        away += (y[j] - x[j]) * (y[j] - x[j])
    away = math.sqrt(away)
    along = 0.0
    for j in range(len(y)):
        bent[j] = steepness * features[j]
        along += bent[j] * (y[j] - x[j])
    back = along / (away * away) if away > none and along < 0.0 else 0.0
    square = 0.0
    for j in range(len(y)):
        bent[j] -= back * (y[j] - x[j])
        square += bent[j] * bent[j]
    return math.sqrt(square)


@inline
def learn_shadow(
    me: Arrays,
    features: Vector,
    target: float,
    loss: int,
    threshold: float,
    none: float,
    work: Matrix,
    noted: Vector,
) -> tuple[bool, float, float]:
    """The round after the projection: whether it was played, its prediction and its loss."""
    n = len(features)
    prediction, norm = dot(n, features, work[SHADOW]), dot(n, features, features)
    size = abs(target) + abs(prediction)
    if not (size * size * norm < LARGEST_SQUARE and norm < LARGEST_SQUARE):
        return False, math.nan, math.nan
    length = bend(work, features, slope(loss, threshold, prediction, target), none)
    played, value, _ = dense_round(me, work[GRADIENT], 0.0)
    settle_weights(me)
    if not played:
        return False, math.nan, math.nan
    noted[LONGEST], noted[LOWEST] = max(noted[LONGEST], length), min(noted[LOWEST], value)
    return True, prediction, phi(loss, threshold, prediction, target)


@kernel
def play_projected(
    coords: Matrix,
    numbers: Matrix,
    vectors: Matrix,
    live: Vector,
    config: Vector,
    features: Matrix,
    targets: Vector,
    kind: int,
    corners: Matrix,
    total: float,
    loss: int,
    threshold: float,
    none: float,
    work: Matrix,
    noted: Vector,
    predictions: Vector,
    losses: Vector,
    decisions: Matrix,
) -> int:
    """Dense rows on a simplex, a box or a ball of any dimension; returns how many were played."""
    me = Arrays(coords, numbers, vectors, live, config)
    for t in range(len(targets)):
        ball.decide(me, work[POINT])
        project(kind, corners, total, work)
        if t < len(decisions):
            for j in range(decisions.shape[1]):
                decisions[t, j] = work[SHADOW, j]
        played, predictions[t], losses[t] = learn_shadow(
            me, features[t], targets[t], loss, threshold, none, work, noted
        )
        if not played:
            return t
    return len(targets)


@kernel
def decide_projected(
    coords: Matrix,
    numbers: Matrix,
    vectors: Matrix,
    live: Vector,
    config: Vector,
    kind: int,
    corners: Matrix,
    total: float,
    work: Matrix,
) -> None:
    """The decision of the learner inside and its projection, into the scratch.

    With a stranger's domain only the first.
    """
    me: Any = Arrays(coords, numbers, vectors, live, config)
    ball.decide(me, work[POINT])
    project(kind, corners, total, work)


@kernel
def learn_projected(
    coords: Matrix,
    numbers: Matrix,
    vectors: Matrix,
    live: Vector,
    config: Vector,
    features: Vector,
    target: float,
    loss: int,
    threshold: float,
    none: float,
    work: Matrix,
    noted: Vector,
) -> float:
    """One round whose decision and projection are in the scratch; NaN if the row would overflow.

    Returns the loss.
    """
    me = Arrays(coords, numbers, vectors, live, config)
    return float(learn_shadow(me, features, target, loss, threshold, none, work, noted)[2])
