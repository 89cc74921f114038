"""Plain gradient descent at many step sizes at once, to choose from in hindsight.

Each step is divided by the smoothness of its row, so that no step size up to 1 overshoots. Scores
of several classes are learned side by side, one point per class and step size.
"""

from __future__ import annotations

from typing import Any

from swordplay.compile import expert_loop, inline, kernel
from swordplay.core.types import Matrix, Vector
from swordplay.engine.layout import HUBER, LOGISTIC
from swordplay.engine.scalar_functions import add_scaled, slope

SMALLEST_NORM = 1e-12
"""Rows shorter than this carry nothing to learn from."""


@inline
def look(points: Any, row: Vector, scores: Matrix) -> None:
    """<row, x> of every class and rung.

    ``points`` has shape ``(K, d, S)``, ``scores`` ``(K, S)``.
    """
    for k in range(scores.shape[0]):
        scores[k] = 0.0
        for j in range(len(row)):
            add_scaled(scores.shape[1], scores[k], points[k, j], row[j])


@inline
def move(points: Any, row: Vector, slopes: Matrix) -> None:
    """Every point goes down its slope along the row, x <- x - slope * row."""
    for k in range(slopes.shape[0]):
        for j in range(len(row)):
            add_scaled(slopes.shape[1], points[k, j], slopes[k], -row[j])


@expert_loop
def judge_values(rungs: int, scores: Vector, target: float, losses: Vector) -> None:
    """Add the squared errors of all rungs."""
    for s in range(rungs):
        losses[s] += (scores[s] - target) * (scores[s] - target)


@expert_loop
def lean(
    rungs: int,
    loss: int,
    threshold: float,
    scores: Vector,
    target: float,
    steps: Vector,
    factor: float,
) -> None:
    """Each rung's step times the slope of its loss, in place of its score."""
    for s in range(rungs):
        scores[s] = factor * steps[s] * slope(loss, threshold, scores[s], target)


@inline
def leader(scores: Matrix, s: int) -> int:
    """The class with the largest score, the first one of several.

    Of a single score, whether it is positive.
    """
    if scores.shape[0] == 1:
        return 1 if scores[0, s] > 0.0 else 0
    best = 0
    for k in range(1, scores.shape[0]):
        if scores[k, s] > scores[best, s]:
            best = k
    return best


@kernel
def climb_values(
    rows: Matrix, norms: Vector, targets: Vector, thresholds: Vector, steps: Vector, points: Any, scores: Matrix,  # noqa: E501
    losses: Matrix, open: int, width: int,
) -> None:  # fmt: skip
    """Predict and learn rows of a regression.

    Squared errors are added to ``losses``, shape ``(n, S)``, S a multiple of 8.

    ``norms`` are the squared norms of the rows; residuals beyond a row's threshold pull no harder.
    ``points`` has shape ``(1, d, S)``; ``scores``, shape ``(1, S)``, is scratch. The first sums
    have ``open`` rows already; after ``width`` rows the next ones begin.
    """
    rungs, here, left = len(steps), 0, width - open
    for t in range(len(rows)):
        if left == 0:
            here, left = here + 1, width
        left -= 1
        look(points, rows[t], scores)
        judge_values(rungs, scores[0], targets[t], losses[here])
        lean(
            rungs,
            HUBER,
            thresholds[t],
            scores[0],
            targets[t],
            steps,
            1.0 / max(norms[t], SMALLEST_NORM),
        )
        move(points, rows[t], scores)


@kernel
def climb_labels(
    rows: Matrix, norms: Vector, labels: Vector, steps: Vector, points: Any, scores: Matrix,
    losses: Matrix, open: int, width: int,
) -> None:  # fmt: skip
    """Predict and learn rows of a classification, labels 0..K-1.

    Mistakes are added to ``losses``, shape ``(n, S)``, as there.

    One point per class, ``(K, d, S)``, or one in all, ``(1, d, S)``, that tells label 1 from label
    0.
    """
    rungs, classes, here, left = len(steps), scores.shape[0], 0, width - open
    for t in range(len(rows)):
        if left == 0:
            here, left = here + 1, width
        left -= 1
        look(points, rows[t], scores)
        for s in range(rungs):
            losses[here, s] += 1.0 if leader(scores, s) != labels[t] else 0.0
        for k in range(classes):
            wanted = 1.0 if labels[t] == (1.0 if classes == 1 else k) else 0.0
            # The logistic loss of a row has smoothness norm / 4.
            lean(rungs, LOGISTIC, 1.0, scores[k], wanted, steps, 4.0 / max(norms[t], SMALLEST_NORM))
        move(points, rows[t], scores)
