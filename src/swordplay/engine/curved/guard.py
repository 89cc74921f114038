"""Forecasts of anybody mixed so that none of them can ruin the mixture."""

from __future__ import annotations

from swordplay.compile import kernel
from swordplay.core.types import Matrix, Vector
from swordplay.engine.curved import mixing

MEMORY = 8000.0
"""Rounds that losses are remembered for: whoever is wild once in a thousand rows must not be
forgiven before.
"""
WILDEST = 1e4
"""Losses count in full up to so many mean losses of the best: whoever is wild now and then has
to be known for it.
"""


@kernel
def cut_rows(said: Matrix, targets: Vector, known: Vector, widths: Vector) -> None:
    """Cut the forecasts of each row to the usual range of the target, which then learns from its
    target; tame the targets.

    ``known`` holds the two ends of the range and the rows learned; how wide it was before each row
    goes to ``widths``.
    """
    ends = known[:2]
    for t in range(len(targets)):
        widths[t] = ends[1] - ends[0]
        if known[2] > 0.0:
            for i in range(said.shape[1]):
                said[t, i] = mixing.cut(said[t, i], ends)
        targets[t] = mixing.tamed(targets[t], ends) if known[2] > 1.0 else targets[t]
        if known[2] == 0.0:
            ends[0] = ends[1] = targets[t]
        mixing.follow_range(ends, targets[t])
        known[2] += 1.0


@kernel
def mix_rows(
    said: Matrix,
    targets: Vector,
    weights: Vector,
    widths: Vector,
    prior: float,
    numbers: Vector,
    shares: Vector,
    answer: Vector,
) -> None:
    """Mix the N forecasts of each row before its target is learned.

    The first of them has ``prior`` in the beginning.

    ``numbers`` holds how far behind each is, N, their discounted losses and the rounds of these, N
    + 1; ``shares`` is scratch.
    """
    count = said.shape[1]
    behind, sums = numbers[:count], numbers[count : 2 * count + 1]
    for t in range(len(targets)):
        mixing.weigh(behind, prior, shares)
        total = 0.0
        for i in range(count):
            total += shares[i] * said[t, i]
        answer[t] = total
        weight = weights[t] if len(weights) > 0 else 1.0
        mixing.judge_numbers(
            behind, sums, said[t], targets[t], weight, mixing.Cut(MEMORY, WILDEST, widths[t])
        )
