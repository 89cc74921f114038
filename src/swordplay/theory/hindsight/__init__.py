"""What would have been best, seen from the end: comparators for static, worst-case, piecewise
and every dynamic regret.
"""

from swordplay.theory.hindsight.fixed import best_fixed, block_minimizers, gap, minimizers
from swordplay.theory.hindsight.frontier import Frontier, frontier
from swordplay.theory.hindsight.problem import OutOfTime
from swordplay.theory.hindsight.sequence import BestSequence, best_sequence

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
