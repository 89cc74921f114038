"""Which experts have one step size for ever."""

from __future__ import annotations

from swordplay.parts.experts.expert import Experts
from swordplay.parts.experts.oegd import OEGDExperts
from swordplay.parts.experts.ogd import OGDExperts
from swordplay.parts.experts.optimistic import OptimisticExperts
from swordplay.parts.experts.steps import Constant


def is_steady(experts: Experts) -> bool:
    """Whether these are known to step with the same sizes in all rounds.

    Of a stranger's nobody knows.
    """
    return isinstance(experts, OGDExperts | OEGDExperts | OptimisticExperts) and isinstance(
        experts.steps, Constant
    )
