"""Metas: the weights of the experts, and the guesses that sharpen them."""

from swordplay.metas.hedge import HedgeState, OptimisticHedge
from swordplay.metas.optimism import LearnedOptimism, NullOptimism, Optimism, OptimismState, VariationOptimism
from swordplay.metas.parts import Parts
from swordplay.metas.priors import telescoping, telescoping_with_tail, uniform

__all__ = [
    "HedgeState",
    "LearnedOptimism",
    "NullOptimism",
    "Optimism",
    "OptimismState",
    "OptimisticHedge",
    "Parts",
    "VariationOptimism",
    "telescoping",
    "telescoping_with_tail",
    "uniform",
]
