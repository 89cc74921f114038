"""Experts on a simplex or a box, whose points are stored explicitly and projected one by one.

For the few dimensions of a combination of forecasts. ``coordinates`` has shape ``(2 C, d)`` here:
the base points xhat of all experts, then their points x.
"""

from __future__ import annotations

import math

from swordplay.compile import inline
from swordplay.core.types import Vector
from swordplay.engine.dual_sum import add_point, track_dual_norm_of
from swordplay.engine.layout import BOX, EXPERT, SCALAR, SETTING, VECTOR, LearnerArrays, RowProducts
from swordplay.engine.meta import normalise_weights
from swordplay.engine.scalar_functions import dot, expert_rows, loss_slope


@inline
def predict(learner: LearnerArrays, products: RowProducts, row: Vector) -> float:
    """Set the predictions <a, x_i> of all experts; return their weighted sum."""
    normalise_weights(learner)
    points, e = learner.coordinates, expert_rows(learner)
    columns = learner.experts.shape[1]
    total = 0.0
    for i in range(columns):
        e.prediction[i] = dot(len(row), points[columns + i], row)
        total += e.weight[i] * e.prediction[i]
    return total


@inline
def move(learner: LearnerArrays, products: RowProducts, row: Vector, target: float) -> float:
    """Take both projected steps of every expert.

    Returns infinity, the smallest scale: explicit points have no scales.
    """
    e = expert_rows(learner)
    for i in range(learner.experts.shape[1]):
        step = e.eta[i] * e.slope[i] if e.eta[i] < math.inf else 0.0
        base = learner.coordinates[i]
        # S changes by (xhat' - xhat) / eta
        add_point(learner, i, base, -1.0)
        for j in range(len(row)):
            base[j] -= step * row[j]  # xhat' = Proj[xhat - eta slope a]
        project(learner, base)
        add_point(learner, i, base, 1.0)
        track_dual_norm_of(learner, i)
        e.squared_norm[i] = squared_distance_from_center(learner, base)
    for i in range(learner.experts.shape[1]):
        lookahead_step(learner, i, row, target)
    return math.inf


@inline
def copy_points(learner: LearnerArrays, products: RowProducts, row: Vector, target: float) -> None:
    """Copy the base points of the fastest expert of each kind to the two that have joined."""
    base_points, columns = learner.coordinates, learner.experts.shape[1]
    experts = int(learner.scalars[SCALAR.expert_count])
    for j in range(len(row)):
        base_points[experts - 2, j] = base_points[experts - 4, j]
        for i in range(experts - 1, columns):  # with the padding
            base_points[i, j] = base_points[experts - 3, j]
    for i in range(experts - 2, columns):
        lookahead_step(learner, i, row, target)


@inline
def lookahead_step(learner: LearnerArrays, i: int, row: Vector, target: float) -> None:
    """x' = Proj[xhat' - next_eta M'] of expert i, M' being the gradient of the loss at xhat'.

    M' is 0 for gradient descent, whose x' is xhat'.
    """
    settings, e = learner.settings, expert_rows(learner)
    base, point = learner.coordinates[i], learner.coordinates[learner.experts.shape[1] + i]
    slope = 0.0
    if e.extra_gradient[i] == 1.0:
        slope = learner.scalars[SCALAR.loss_weight] * loss_slope(
            int(settings[SETTING.loss]),
            settings[SETTING.threshold],
            dot(len(row), base, row),
            target,
        )
    e.expected_slope[i] = slope
    step = e.next_eta[i] * slope if e.next_eta[i] < math.inf else 0.0
    for j in range(len(row)):
        point[j] = base[j] - step * row[j]
    if step != 0.0:
        project(learner, point)
    squared_lookahead = 0.0
    for j in range(len(row)):
        squared_lookahead += (point[j] - base[j]) * (point[j] - base[j])
    e.squared_lookahead[i] = squared_lookahead
    e.next_prediction[i] = dot(len(row), point, row)


@inline
def squared_distance_from_center(learner: LearnerArrays, point: Vector) -> float:
    """Squared distance of a point from the centre of the domain."""
    low, high = learner.vectors[VECTOR.center], learner.vectors[VECTOR.upper]
    is_box = learner.settings[SETTING.domain] == BOX
    total = 0.0
    for j in range(len(point)):
        center = 0.5 * (low[j] + high[j]) if is_box else low[j]
        total += (point[j] - center) * (point[j] - center)
    return total


@inline
def project(learner: LearnerArrays, point: Vector) -> None:
    """Replace a point by the nearest point of the domain."""
    vectors, settings = learner.vectors, learner.settings
    if settings[SETTING.domain] == BOX:
        for j in range(len(point)):
            point[j] = min(max(point[j], vectors[VECTOR.center, j]), vectors[VECTOR.upper, j])
        return
    # The simplex: max{x - theta, 0}. With the coordinates in descending order, theta is the mean
    # excess of the k largest for the largest k that leaves all of these positive.
    highest = -math.inf
    for j in range(len(point)):
        highest = max(highest, point[j])
    descending = vectors[VECTOR.predicted_row]  # free: explicit points have no rows predicted ahead
    for j in range(len(point)):
        descending[j] = point[j] - highest
    sort_descending(descending)
    excess, theta = -settings[SETTING.domain_size], 0.0
    for k in range(len(point)):
        excess += descending[k]
        if descending[k] - excess / (k + 1) > 0.0:
            theta = excess / (k + 1)
    for j in range(len(point)):
        point[j] = max(point[j] - highest - theta, 0.0)


@inline
def sort_descending(values: Vector) -> None:
    """Sort in place by insertion, which is the fastest for a few numbers and allocates nothing."""
    for k in range(1, len(values)):
        value, j = values[k], k
        while j > 0 and values[j - 1] < value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value


@inline
def keep_row(
    learner: LearnerArrays, products: RowProducts, row: Vector, smallest_scale: float
) -> None:
    """Make the row the last row."""
    last_row = learner.vectors[VECTOR.last_row]
    for j in range(len(row)):
        last_row[j] = row[j]
    learner.scalars[SCALAR.last_squared_norm] = products.squared_norm


@inline
def decide(learner: LearnerArrays, decision: Vector) -> None:
    """x_t = sum_i p_i x_i, the decision of the next round."""
    normalise_weights(learner)
    points, weights = learner.coordinates, learner.experts[EXPERT.weight]
    columns = len(weights)
    for j in range(len(decision)):
        decision[j] = 0.0
        for i in range(int(learner.scalars[SCALAR.expert_count])):
            decision[j] += weights[i] * points[columns + i, j]
