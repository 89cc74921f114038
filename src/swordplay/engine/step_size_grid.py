"""Plain gradient descent with many step sizes at once, to choose the best of them in hindsight.

The step of a row is its step size divided by the smoothness of the row's loss, so that no step size
up to 1 overshoots. The scores of several classes are learned side by side, with one point for each
class and step size.
"""

from __future__ import annotations

from typing import Any

from swordplay.compile import expert_loop, inline, kernel
from swordplay.core.types import Matrix, Vector
from swordplay.engine.layout import HUBER, LOGISTIC
from swordplay.engine.scalar_functions import add_scaled, loss_slope

SMALLEST_NORM = 1e-12
"""Squared norms of rows are at least this as divisors."""


@kernel
def learn_numbers(
    rows: Matrix,
    squared_norms: Vector,
    targets: Vector,
    thresholds: Vector,
    step_sizes: Vector,
    points: Any,
    scores: Matrix,
    losses: Matrix,
    rows_in_first: int,
    rows_per_sum: int,
) -> None:
    """Predict and learn rows of a regression with S step sizes, S a multiple of 8.

    Parameters
    ----------
    rows, squared_norms, targets
        T rows, their squared norms, and their targets.
    thresholds
        Of the Huber loss, one for each row.
    step_sizes
        Shape ``(S,)``.
    points
        Coefficients, shape ``(1, d, S)``.
    scores
        Scratch, shape ``(1, S)``.
    losses
        Sums of squared errors over consecutive rows, to which those of the rows are added, shape
        ``(n, S)``.
    rows_in_first
        Rows that the first sum has already.
    rows_per_sum
        Rows after which the next sum begins.
    """
    place, left = 0, rows_per_sum - rows_in_first
    for t in range(len(rows)):
        if left == 0:
            place, left = place + 1, rows_per_sum
        left -= 1
        score(points, rows[t], scores)
        add_squared_errors(scores[0], targets[t], losses[place])
        factor = 1.0 / max(squared_norms[t], SMALLEST_NORM)
        scores_to_steps(HUBER, thresholds[t], targets[t], step_sizes, factor, scores[0])
        move(points, rows[t], scores)


@kernel
def learn_labels(
    rows: Matrix,
    squared_norms: Vector,
    labels: Vector,
    step_sizes: Vector,
    points: Any,
    scores: Matrix,
    losses: Matrix,
    rows_in_first: int,
    rows_per_sum: int,
) -> None:
    """Predict and learn rows of a classification with S step sizes; mistakes are added to losses.

    ``labels`` are 0 to K - 1. ``points`` has shape ``(K, d, S)``, or ``(1, d, S)`` if one score
    distinguishes label 1 from label 0. The other parameters are those of :func:`learn_numbers`.
    """
    classes, place, left = scores.shape[0], 0, rows_per_sum - rows_in_first
    for t in range(len(rows)):
        if left == 0:
            place, left = place + 1, rows_per_sum
        left -= 1
        score(points, rows[t], scores)
        for s in range(len(step_sizes)):
            losses[place, s] += 1.0 if best_class(scores, s) != labels[t] else 0.0
        # The logistic loss of a row has smoothness |row|^2 / 4.
        factor = 4.0 / max(squared_norms[t], SMALLEST_NORM)
        for k in range(classes):
            target = 1.0 if labels[t] == (1.0 if classes == 1 else k) else 0.0
            scores_to_steps(LOGISTIC, 1.0, target, step_sizes, factor, scores[k])
        move(points, rows[t], scores)


@inline
def score(points: Any, row: Vector, scores: Matrix) -> None:
    """scores[k, s] = <row, x_{k,s}> for every class k and step size s."""
    for k in range(scores.shape[0]):
        scores[k] = 0.0
        for j in range(len(row)):
            add_scaled(scores.shape[1], scores[k], points[k, j], row[j])


@inline
def move(points: Any, row: Vector, steps: Matrix) -> None:
    """x_{k,s} -= steps[k, s] * row."""
    for k in range(steps.shape[0]):
        for j in range(len(row)):
            add_scaled(steps.shape[1], points[k, j], steps[k], -row[j])


@expert_loop
def add_squared_errors(scores: Vector, target: float, losses: Vector) -> None:
    """losses += (scores - target)^2."""
    for s in range(len(scores)):
        losses[s] += (scores[s] - target) * (scores[s] - target)


@expert_loop
def scores_to_steps(
    kind: int, threshold: float, target: float, step_sizes: Vector, factor: float, scores: Vector
) -> None:
    """scores = factor * step_sizes * (slope of the loss at the scores)."""
    for s in range(len(scores)):
        slope = loss_slope(kind, threshold, scores[s], target)
        scores[s] = factor * step_sizes[s] * slope


@inline
def best_class(scores: Matrix, s: int) -> int:
    """The first class with the largest score; of a single score, whether it is positive."""
    if scores.shape[0] == 1:
        return 1 if scores[0, s] > 0.0 else 0
    best = 0
    for k in range(1, scores.shape[0]):
        if scores[k, s] > scores[best, s]:
            best = k
    return best
