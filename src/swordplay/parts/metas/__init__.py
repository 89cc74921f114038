"""Metas: the weights of the experts, and the guesses that sharpen them."""

from swordplay.parts.metas.ada_normal_hedge import AdaNormalHedge
from swordplay.parts.metas.adapt_ml_prod import AdaptMLProd
from swordplay.parts.metas.fixed_share import FixedShare
from swordplay.parts.metas.hedge import HedgeState, OptimisticHedge
from swordplay.parts.metas.meta import Meta, MetaState, OwnRate
from swordplay.parts.metas.optimism import (
    LastGradientOptimism,
    LearnedOptimism,
    NullOptimism,
    Optimism,
    OptimismState,
    VariationOptimism,
)
from swordplay.parts.metas.parts import Parts
from swordplay.parts.metas.priors import telescoping, telescoping_with_tail, uniform
from swordplay.parts.metas.squint import Squint

__all__ = [
    "AdaNormalHedge",
    "AdaptMLProd",
    "FixedShare",
    "HedgeState",
    "LastGradientOptimism",
    "LearnedOptimism",
    "Meta",
    "MetaState",
    "NullOptimism",
    "Optimism",
    "OptimismState",
    "OptimisticHedge",
    "OwnRate",
    "Parts",
    "Squint",
    "VariationOptimism",
    "telescoping",
    "telescoping_with_tail",
    "uniform",
]
