"""What would have been best, seen from the end: comparators for static, worst-case, piecewise
and every dynamic regret.
"""

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
    "best_fixed",
    "best_sequence",
    "block_minimizers",
    "frontier",
    "gap",
    "minimizers",
]
