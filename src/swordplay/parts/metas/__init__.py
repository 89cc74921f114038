"""Metas: weights of experts from their losses, with optimism and priors."""

from typing import TYPE_CHECKING

from swordplay.core.lazy import lazy_attributes

if TYPE_CHECKING:
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
else:
    __getattr__, __dir__ = lazy_attributes(
        __name__,
        {
            "meta": """Composition Meta MetaState NoLearningRate telescoping
                telescoping_with_tail uniform""",
            "optimism": """LastGradientOptimism LearnedOptimism NullOptimism Optimism
                OptimismState VariationOptimism""",
            "optimistic_hedge": "HedgeState OptimisticHedge",
            "other_metas": "AdaNormalHedge AdaptMLProd FixedShare Squint",
        },
    )

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
