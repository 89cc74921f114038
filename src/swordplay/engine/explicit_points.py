"""Rounds of experts on a simplex or a box, whose points are stored explicitly.

For the few dimensions of a combination of forecasts. ``coords`` has shape ``(2 C, d)`` here: the
base points xhat of all experts, then their points x.
"""

from __future__ import annotations

import math

from swordplay.compile import inline
from swordplay.core.types import Matrix, Vector
from swordplay.engine.certificate_sum import lean_by, note_pull
from swordplay.engine.layout import BOX, EXPERT, SCALAR, SETTING, VECTOR, LearnerArrays, RowProducts
from swordplay.engine.meta import normalise_weights
from swordplay.engine.scalar_functions import dot, slope


@inline
def predict(me: LearnerArrays, of: RowProducts, features: Vector) -> float:
    """<a, x_i> of every expert; returns their weighted sum."""
    normalise_weights(me)
    coords, numbers = me.coordinates, me.experts
    capacity = coords.shape[0] // 2
    prediction = 0.0
    for i in range(numbers.shape[1]):
        numbers[EXPERT.prediction, i] = dot(len(features), coords[capacity + i], features)
        prediction += numbers[EXPERT.weight, i] * numbers[EXPERT.prediction, i]
    return prediction


@inline
def move(me: LearnerArrays, of: RowProducts, features: Vector, target: float) -> float:
    """Both projected steps of every expert.

    Returns the smallest scale, as on a ball: there are none here.
    """
    numbers = me.experts
    for i in range(numbers.shape[1]):
        stride = (
            numbers[EXPERT.eta, i] * numbers[EXPERT.slope, i]
            if numbers[EXPERT.eta, i] < math.inf
            else 0.0
        )
        base = me.coordinates[i]
        lean_by(numbers, i, base, -1.0)
        for j in range(len(features)):
            base[j] -= stride * features[j]
        project(base, me.vectors, me.settings)
        lean_by(numbers, i, base, 1.0)
        note_pull(numbers, i)
        numbers[EXPERT.squared_norm, i] = from_center(base, me.vectors, me.settings)
    for i in range(numbers.shape[1]):
        lookahead_step(me, i, features, target)
    return math.inf


@inline
def fork(me: LearnerArrays, of: RowProducts, features: Vector, target: float) -> None:
    """Put the two experts that have just joined, and the padding behind them, where the fastest
    of their kind are.
    """
    coords, columns, experts = (
        me.coordinates,
        me.experts.shape[1],
        int(me.scalars[SCALAR.expert_count]),
    )
    for j in range(len(features)):
        coords[experts - 2, j] = coords[experts - 4, j]
        for row in range(experts - 1, columns):
            coords[row, j] = coords[experts - 3, j]
    for child in range(experts - 2, columns):
        lookahead_step(me, child, features, target)


@inline
def lookahead_step(me: LearnerArrays, i: int, features: Vector, target: float) -> None:
    """x = Proj[xhat - eta m a] of expert i; gradient descent stays at xhat."""
    coords, numbers, config = me.coordinates, me.experts, me.settings
    base, point = coords[i], coords[coords.shape[0] // 2 + i]
    replay = 0.0
    if numbers[EXPERT.extra_gradient, i] == 1.0:
        replay = me.scalars[SCALAR.loss_weight] * slope(
            int(config[SETTING.loss]),
            config[SETTING.threshold],
            dot(len(features), base, features),
            target,
        )
    numbers[EXPERT.field_slope, i] = replay
    eta = numbers[EXPERT.next_eta, i]
    stride = eta * replay if eta < math.inf else 0.0
    for j in range(len(features)):
        point[j] = base[j] - stride * features[j]
    if stride != 0.0:
        project(point, me.vectors, config)
    lead = 0.0
    for j in range(len(features)):
        lead += (point[j] - base[j]) * (point[j] - base[j])
    numbers[EXPERT.squared_lookahead, i] = lead
    numbers[EXPERT.next_prediction, i] = dot(len(features), point, features)


@inline
def from_center(point: Vector, vectors: Matrix, config: Vector) -> float:
    """The squared distance of a point from the domain's centre."""
    total = 0.0
    for j in range(len(point)):
        center = vectors[VECTOR.center, j]
        if config[SETTING.domain] == BOX:
            center = 0.5 * (center + vectors[VECTOR.upper, j])
        total += (point[j] - center) * (point[j] - center)
    return total


@inline
def project(point: Vector, vectors: Matrix, config: Vector) -> None:
    """The nearest point of the domain, in place."""
    if config[SETTING.domain] == BOX:
        for j in range(len(point)):
            point[j] = min(max(point[j], vectors[VECTOR.center, j]), vectors[VECTOR.upper, j])
        return
    # max{x - theta, 0}, theta from the k largest coordinates for the largest k that leaves them all
    # positive.
    highest = -math.inf
    for j in range(len(point)):
        highest = max(highest, point[j])
    descending = vectors[
        VECTOR.predicted_row
    ]  # scratch: rows are not prepared ahead where points are written out
    for j in range(len(point)):
        descending[j] = point[j] - highest
    sort_descending(descending)
    excess, threshold = -config[SETTING.domain_size], 0.0
    for k in range(len(point)):
        excess += descending[k]
        if descending[k] - excess / (k + 1) > 0.0:
            threshold = excess / (k + 1)
    for j in range(len(point)):
        point[j] = max(point[j] - highest - threshold, 0.0)


@inline
def sort_descending(values: Vector) -> None:
    """Insertion sort: quickest for a few numbers, and it allocates nothing."""
    for k in range(1, len(values)):
        value, j = values[k], k
        while j > 0 and values[j - 1] < value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value


@inline
def keep(me: LearnerArrays, of: RowProducts, features: Vector, smallest: float) -> None:
    """The features become the last ones."""
    last = me.vectors[VECTOR.last_row]
    for j in range(len(features)):
        last[j] = features[j]
    me.scalars[SCALAR.last_squared_norm] = of.squared_norm


@inline
def decide(me: LearnerArrays, decision: Vector) -> None:
    """x_t = sum of p_i x_i."""
    normalise_weights(me)
    coords = me.coordinates
    capacity = coords.shape[0] // 2
    for j in range(len(decision)):
        decision[j] = 0.0
        for i in range(int(me.scalars[SCALAR.expert_count])):
            decision[j] += me.experts[EXPERT.weight, i] * coords[capacity + i, j]
