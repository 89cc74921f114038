"""Predictions for raw rows that leave no trace: the state before is the state after, bit by bit."""

from __future__ import annotations

from typing import Any

from swordplay.base.compiling import kernel, part
from swordplay.base.types import Matrix, Vector
from swordplay.engine.layout import EXPERT, LIVE, VECTOR
from swordplay.engine.scaling import scale_row


@part
def decide_aside(coords: Any, numbers: Matrix, vectors: Matrix, live: Vector, share: Vector, decision: Vector) -> None:
    """x_t = centre + sum of p_i (alpha_i xhat_i - gamma_i a'), with scratch of the caller's instead of the learner's."""
    experts = int(live[LIVE.experts])
    pending = 0.0
    for i in range(experts):
        share[i] = numbers[EXPERT.weight, i] * numbers[EXPERT.alpha, i] * numbers[EXPERT.scale, i]
    # A loop of its own: where a loop also stores, the order of its sum may depend on where the arrays lie in memory.
    for i in range(experts):
        pending += share[i] * numbers[EXPERT.coefficient, i] - numbers[EXPERT.weight, i] * numbers[EXPERT.gamma, i]
    for j in range(coords.shape[0]):
        coordinate = vectors[VECTOR.center, j] + pending * vectors[VECTOR.last, j]
        for i in range(experts):
            coordinate += share[i] * coords[j, i]
        decision[j] = coordinate


@kernel
def predict_rows(
    coords: Any,
    numbers: Matrix,
    vectors: Matrix,
    live: Vector,
    raw: Matrix,
    centers: Vector,
    spreads: Vector,
    clip: float,
    share: Vector,
    decision: Vector,
    scaled: Vector,
    answer: Vector,
) -> None:
    """<scaled row, x_t> on a ball for raw rows of shape ``(T, d)``: one row gets the same bits alone and among others.

    ``share`` ``(C,)``, ``decision`` and ``scaled`` (as long as a scaled row) are scratch; ``answer`` has shape ``(T,)``.
    """
    decide_aside(coords, numbers, vectors, live, share, decision)
    for t in range(len(raw)):
        scale_row(raw[t], centers, spreads, clip, scaled)
        total = 0.0
        for j in range(len(decision)):
            total += scaled[j] * decision[j]
        answer[t] = total
