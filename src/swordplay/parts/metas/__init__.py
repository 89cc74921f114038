"""Metas: the weights of the experts, and the guesses that sharpen them."""

from swordplay.parts.metas.hedge import HedgeState, OptimisticHedge
from swordplay.parts.metas.optimism import LearnedOptimism, NullOptimism, Optimism, OptimismState, VariationOptimism
from swordplay.parts.metas.parts import Parts
from swordplay.parts.metas.priors import telescoping, telescoping_with_tail, uniform

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
