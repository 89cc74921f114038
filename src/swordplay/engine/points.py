"""Experts on a simplex or a box, their points written out: for the few dimensions of a combination of forecasts.

``coords`` has shape ``(2 C, d)`` here: the base points xhat of all experts, then their points x.
"""

from __future__ import annotations

import math

from swordplay.base.compiling import part
from swordplay.base.types import Matrix, Vector
from swordplay.engine.layout import (
    AHEAD,
    BOX,
    CENTER,
    CONFIG,
    ENERGY,
    ETA,
    EXTRA,
    LEAD,
    LIVE,
    PLAYED,
    REPLAY,
    SLOPE,
    STEP,
    UNDER_WAY,
    UPPER,
    WEIGHT,
)
from swordplay.engine.meta import adaptive_step, dot
from swordplay.engine.scalar import slope


@part
def predict(coords: Matrix, rows: Matrix, live: Vector, features: Vector) -> None:
    """<a, x_i> and their weighted sum."""
    capacity = coords.shape[0] // 2
    prediction = 0.0
    for i in range(rows.shape[1]):
        rows[PLAYED, i] = dot(len(features), coords[capacity + i], features)
        prediction += rows[WEIGHT, i] * rows[PLAYED, i]
    live[LIVE.prediction] = prediction


@part
def move(coords: Matrix, rows: Matrix, vectors: Matrix, live: Vector, config: Vector, features: Vector, target: float) -> None:
    """Both projected steps of every expert."""
    for i in range(rows.shape[1]):
        stride = rows[ETA, i] * rows[SLOPE, i] if rows[ETA, i] < math.inf else 0.0
        base = coords[i]
        for j in range(len(features)):
            base[j] -= stride * features[j]
        project(base, vectors, config)
    for i in range(rows.shape[1]):
        look_ahead(coords, rows, vectors, i, live, config, features, target)


@part
def look_ahead(
    coords: Matrix, rows: Matrix, vectors: Matrix, i: int, live: Vector, config: Vector, features: Vector, target: float
) -> None:
    """x = Proj[xhat - eta m a] of expert i; gradient descent stays at xhat."""
    base, point = coords[i], coords[coords.shape[0] // 2 + i]
    replay = 0.0
    if rows[EXTRA, i] == 1.0:
        replay = live[LIVE.weight] * slope(
            int(config[CONFIG.loss]), config[CONFIG.threshold], dot(len(features), base, features), target
        )
    rows[REPLAY, i] = replay
    eta = rows[STEP, i]
    if config[CONFIG.adaptive] == 1.0:
        eta = adaptive_step(rows[STEP, i], config[CONFIG.diameter], rows[ENERGY, i])
    stride = eta * replay if eta < math.inf else 0.0
    for j in range(len(features)):
        point[j] = base[j] - stride * features[j]
    if stride != 0.0:
        project(point, vectors, config)
    lead = 0.0
    for j in range(len(features)):
        lead += (point[j] - base[j]) * (point[j] - base[j])
    rows[LEAD, i] = lead
    rows[AHEAD, i] = dot(len(features), point, features)


@part
def project(point: Vector, vectors: Matrix, config: Vector) -> None:
    """The nearest point of the domain, in place."""
    if config[CONFIG.domain] == BOX:
        for j in range(len(point)):
            point[j] = min(max(point[j], vectors[CENTER, j]), vectors[UPPER, j])
        return
    # max{x - theta, 0}, theta from the k largest coordinates for the largest k that leaves them all positive.
    highest = -math.inf
    for j in range(len(point)):
        highest = max(highest, point[j])
    descending = vectors[UNDER_WAY]  # scratch: rows are not prepared ahead where points are written out
    for j in range(len(point)):
        descending[j] = point[j] - highest
    sort_descending(descending)
    excess, threshold = -config[CONFIG.size], 0.0
    for k in range(len(point)):
        excess += descending[k]
        if descending[k] - excess / (k + 1) > 0.0:
            threshold = excess / (k + 1)
    for j in range(len(point)):
        point[j] = max(point[j] - highest - threshold, 0.0)


@part
def sort_descending(values: Vector) -> None:
    """Insertion sort: quickest for a few numbers, and it allocates nothing."""
    for k in range(1, len(values)):
        value, j = values[k], k
        while j > 0 and values[j - 1] < value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value


@part
def decide(coords: Matrix, rows: Matrix, experts: int, decision: Vector) -> None:
    """x_t = sum of p_i x_i."""
    capacity = coords.shape[0] // 2
    for j in range(len(decision)):
        decision[j] = 0.0
        for i in range(experts):
            decision[j] += rows[WEIGHT, i] * coords[capacity + i, j]
