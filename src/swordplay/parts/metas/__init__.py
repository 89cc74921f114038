"""Metas: weights of experts from their losses, with optimism and priors."""

from swordplay.parts.metas.meta import (
    Composition,
    Meta,
    MetaState,
    NoLearningRate,
    telescoping,
    telescoping_with_tail,
    uniform,
)
from swordplay.parts.metas.optimism import (
    LastGradientOptimism,
    LearnedOptimism,
    NullOptimism,
    Optimism,
    OptimismState,
    VariationOptimism,
)
from swordplay.parts.metas.optimistic_hedge import HedgeState, OptimisticHedge
from swordplay.parts.metas.other_metas import AdaNormalHedge, AdaptMLProd, FixedShare, Squint

__all__ = [
    "AdaNormalHedge",
    "AdaptMLProd",
    "Composition",
    "FixedShare",
    "HedgeState",
    "LastGradientOptimism",
    "LearnedOptimism",
    "Meta",
    "MetaState",
    "NoLearningRate",
    "NullOptimism",
    "Optimism",
    "OptimismState",
    "OptimisticHedge",
    "Squint",
    "VariationOptimism",
    "telescoping",
    "telescoping_with_tail",
    "uniform",
]
