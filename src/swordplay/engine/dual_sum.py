"""The dual sum S of a certificate, the sum of (w_{t+1} - w_t) / eta_t, for adaptive steps.

The same update as in ``CertificateState.with_round``; w is the base point xhat relative to the
centre. Where S is kept, its coordinates are d further rows of ``LearnerArrays.experts`` behind
those of ``EXPERT``, so that code that copies the numbers of an expert copies S, too. Then
``EXPERT.max_dual_norm`` holds the largest |S| as a square: a root for each expert and round would
cost as much as the rest.
"""

from __future__ import annotations

import math
from typing import Any

from swordplay.compile import expert_loop, inline, larger, tail_view
from swordplay.core.types import Matrix, Vector
from swordplay.engine.layout import BLOCK, EXPERT, VECTOR, ExpertRows, LearnerArrays
from swordplay.engine.scalar_functions import columns_of, expert_rows

FIRST_ROW = len(EXPERT)
"""Row of the first coordinate of S."""


@inline
def keeps_dual_sum(learner: LearnerArrays) -> bool:
    """Whether the learner keeps S."""
    return bool(learner.experts.shape[0] > FIRST_ROW)


@inline
def no_op(learner: LearnerArrays, smallest_scale: float) -> None:
    """Do nothing: for rounds that have added to S before, or of learners that do not keep it."""


@inline
def add_dual_sum(learner: LearnerArrays, smallest_scale: float) -> None:
    """Add a round on a ball to S, after its row became the last row.

    ``smallest_scale`` is infinite if no base point was projected.

    A step without projection is w' = w - eta slope a, and S changes by -slope a. Projected by the
    factor f it is w' = f (w - eta slope a), and S changes by (w' - w) / eta =
    -slope a - (1/f - 1) w' / eta.
    """
    if not keeps_dual_sum(learner):
        return
    # the row of this round: it has become the last row
    experts, last_row = learner.experts, learner.vectors[VECTOR.last_row]
    dual_sum, columns = tail_view(experts, FIRST_ROW), columns_of(learner)
    if smallest_scale == math.inf:
        for i in range(0, columns, BLOCK):
            add_unprojected(
                i,
                dual_sum,
                last_row,
                tail_view(experts[EXPERT.slope], i),
                tail_view(experts[EXPERT.scratch], i),
                tail_view(experts[EXPERT.max_dual_norm], i),
            )
    else:
        # w' = scale (W + pending_update a): the update of this round is not applied to W yet
        scale_pushes(columns, expert_rows(learner))
        for i in range(0, columns, BLOCK):
            add_projected(
                i,
                dual_sum,
                last_row,
                learner.coordinates,
                tail_view(experts[EXPERT.slope], i),
                tail_view(experts[EXPERT.projection_push], i),
                tail_view(experts[EXPERT.pending_update], i),
                tail_view(experts[EXPERT.scratch], i),
                tail_view(experts[EXPERT.max_dual_norm], i),
            )


@expert_loop
def scale_pushes(n: int, e: ExpertRows) -> None:
    """(1/f - 1) scale / eta: w' is scale times the coordinates W."""
    for i in range(n):
        e.projection_push[i] *= e.inverse_step[i] * e.scale[i]


@expert_loop
def add_unprojected(
    i: int, S: Matrix, a: Vector, slope: Vector, square: Vector, max_square: Vector
) -> None:
    """S -= slope a for a block of experts from column i on, and max_square = max(|S|^2).

    The vectors begin at column i. The squares of a block stay in a register.
    """
    for k in range(BLOCK):
        square[k] = 0.0
    for j in range(len(a)):
        row, a_j = tail_view(S[j], i), a[j]
        for k in range(BLOCK):
            s = row[k] - slope[k] * a_j
            row[k] = s
            square[k] += s * s
    for k in range(BLOCK):
        max_square[k] = larger(max_square[k], square[k])


@expert_loop
def add_projected(
    i: int,
    S: Matrix,
    a: Vector,
    W: Any,
    slope: Vector,
    push: Vector,
    update: Vector,
    square: Vector,
    max_square: Vector,
) -> None:
    """S -= slope a + push (W + update a) for a block of experts, and max_square = max(|S|^2)."""
    for k in range(BLOCK):
        square[k] = 0.0
    for j in range(len(a)):
        row, point, a_j = tail_view(S[j], i), tail_view(W[j], i), a[j]
        for k in range(BLOCK):
            s = row[k] - (slope[k] + push[k] * update[k]) * a_j - push[k] * point[k]
            row[k] = s
            square[k] += s * s
    for k in range(BLOCK):
        max_square[k] = larger(max_square[k], square[k])


@inline
def add_point(learner: LearnerArrays, i: int, base: Vector, factor: float) -> None:
    """S_i += factor * base / eta_i: factor -1 before the step of an expert, 1 after it."""
    if keeps_dual_sum(learner):
        for j in range(len(base)):
            learner.experts[FIRST_ROW + j, i] += (
                factor * learner.experts[EXPERT.inverse_step, i] * base[j]
            )


@inline
def track_dual_norm_of(learner: LearnerArrays, i: int) -> None:
    """Track the largest |S_i|^2 of one expert."""
    if keeps_dual_sum(learner):
        experts, square = learner.experts, 0.0
        for j in range(FIRST_ROW, experts.shape[0]):
            square += experts[j, i] * experts[j, i]
        experts[EXPERT.max_dual_norm, i] = max(experts[EXPERT.max_dual_norm, i], square)
