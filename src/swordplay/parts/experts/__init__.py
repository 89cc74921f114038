"""Experts: one algorithm run with all step sizes of a pool, one row of an ``(N, d)`` array each."""

from typing import TYPE_CHECKING

from swordplay.core.lazy import lazy_attributes

if TYPE_CHECKING:
    from swordplay.parts.experts.expert import Experts, ExpertState, ExpertStep, base_offset
    from swordplay.parts.experts.newton import NewtonExperts, NewtonState
    from swordplay.parts.experts.ogd_oegd import (
        OEGDExperts,
        OGDExperts,
        OptimisticExperts,
        has_constant_steps,
    )
    from swordplay.parts.experts.step_sizes import (
        AdaGradNorm,
        CappedAdaGrad,
        Constant,
        DomainScale,
        StepRule,
    )
else:
    __getattr__, __dir__ = lazy_attributes(
        __name__,
        {
            "expert": "Experts ExpertState ExpertStep base_offset",
            "newton": "NewtonExperts NewtonState",
            "ogd_oegd": "OEGDExperts OGDExperts OptimisticExperts has_constant_steps",
            "step_sizes": "AdaGradNorm CappedAdaGrad Constant DomainScale StepRule",
        },
    )

__all__ = [
    "AdaGradNorm",
    "CappedAdaGrad",
    "Constant",
    "DomainScale",
    "ExpertState",
    "ExpertStep",
    "Experts",
    "NewtonExperts",
    "NewtonState",
    "OEGDExperts",
    "OGDExperts",
    "OptimisticExperts",
    "StepRule",
    "base_offset",
    "has_constant_steps",
]
