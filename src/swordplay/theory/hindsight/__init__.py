"""The best comparators in hindsight: fixed, by block, by round, and for every path length."""

from swordplay.theory.hindsight.duality import Progress
from swordplay.theory.hindsight.fixed import best_fixed, block_minimizers, gap, minimizers
from swordplay.theory.hindsight.sequence import (
    BestSequence,
    Frontier,
    OutOfTime,
    best_sequence,
    frontier,
)

__all__ = [
    "BestSequence",
    "Frontier",
    "OutOfTime",
    "Progress",
    "best_fixed",
    "best_sequence",
    "block_minimizers",
    "frontier",
    "gap",
    "minimizers",
]
