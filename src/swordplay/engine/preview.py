"""Predictions for raw rows that leave no trace: the state before is the state after, bit by bit."""

from __future__ import annotations

from typing import Any

from swordplay.compile import inline, kernel
from swordplay.core.types import Matrix, Vector
from swordplay.engine.layout import EXPERT, LIVE, VECTOR
from swordplay.engine.scaling import scale_row


@inline
def decide_aside(
    coords: Any, numbers: Matrix, vectors: Matrix, live: Vector, share: Vector, decision: Vector
) -> None:
    """x_t = centre + sum of p_i (alpha_i xhat_i - gamma_i a'), with scratch of the caller's
    instead of the learner's.
    """
    experts = int(live[LIVE.experts])
    pending = 0.0
    for i in range(experts):
        share[i] = numbers[EXPERT.weight, i] * numbers[EXPERT.alpha, i] * numbers[EXPERT.scale, i]
    # A loop of its own: where a loop also stores, the order of its sum may depend on where the
    # arrays lie in memory.
    for i in range(experts):
        pending += (
            share[i] * numbers[EXPERT.coefficient, i]
            - numbers[EXPERT.weight, i] * numbers[EXPERT.gamma, i]
        )
    for j in range(coords.shape[0]):
        coordinate = vectors[VECTOR.center, j] + pending * vectors[VECTOR.last, j]
        for i in range(experts):
            coordinate += share[i] * coords[j, i]
        decision[j] = coordinate


@kernel
def predict_rows(
    coords: Any,
    numbers: Any,
    vectors: Any,
    live: Matrix,
    raw: Matrix,
    centers: Vector,
    spreads: Vector,
    clip: float,
    share: Vector,
    decisions: Matrix,
    scaled: Vector,
    answer: Matrix,
) -> None:
    """<scaled row, x_t> of every learner of a stack for raw rows of shape ``(T, d)``: a row gets
    the same bits alone.

    ``share`` ``(C,)``, ``decisions`` ``(H, w)`` and ``scaled`` ``(w,)``, as long as a scaled row,
    are scratch; ``answer`` has shape ``(T, H)``.
    """
    heads = len(decisions)
    for h in range(heads):
        decide_aside(coords[h][: len(scaled)], numbers[h], vectors[h], live[h], share, decisions[h])
    for t in range(len(raw)):
        scale_row(raw[t], centers, spreads, clip, scaled)
        for h in range(heads):
            answer[t, h] = product(scaled, decisions[h])


@kernel
def ask_experts(
    coords: Any,
    numbers: Any,
    vectors: Any,
    live: Matrix,
    raw: Matrix,
    centers: Vector,
    spreads: Vector,
    clip: float,
    scaled: Vector,
    answer: Any,
) -> None:
    """<scaled row, x_t> and <scaled row, x_i> of every expert of every learner of a stack,
    ``answer`` ``(T, H, 1 + N)``.
    """
    width, experts = len(scaled), answer.shape[2] - 1
    for t in range(len(raw)):
        scale_row(raw[t], centers, spreads, clip, scaled)
        for h in range(len(live)):
            center, last = vectors[h][VECTOR.center], vectors[h][VECTOR.last]
            before = product(scaled, last[:width])
            offset = product(scaled, center[:width])
            answer[t, h, 0] = 0.0
            for i in range(experts):
                base = numbers[h][EXPERT.coefficient, i] * before
                for j in range(width):
                    base += coords[h][j, i] * scaled[j]
                share = numbers[h][EXPERT.alpha, i] * numbers[h][EXPERT.scale, i]
                answer[t, h, 1 + i] = offset + share * base - numbers[h][EXPERT.gamma, i] * before
                answer[t, h, 0] += numbers[h][EXPERT.weight, i] * answer[t, h, 1 + i]


@inline
def product(one: Vector, other: Vector) -> float:
    """<one, other>."""
    total = 0.0
    for j in range(len(other)):
        total += one[j] * other[j]
    return total
