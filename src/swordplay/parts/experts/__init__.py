"""Experts: all step sizes of a pool move at once, one row of an ``(N, d)`` array each."""

from swordplay.parts.experts.curved import CurvedExperts, CurvedState
from swordplay.parts.experts.expert import Experts, ExpertState, Move
from swordplay.parts.experts.gauge import Gauge, GaugedSteps
from swordplay.parts.experts.oegd import OEGDExperts
from swordplay.parts.experts.ogd import OGDExperts
from swordplay.parts.experts.optimistic import OptimisticExperts
from swordplay.parts.experts.standing import from_center
from swordplay.parts.experts.steady import is_steady
from swordplay.parts.experts.steps import AdaGradNorm, Constant, Steps

__all__ = [
    "AdaGradNorm",
    "Constant",
    "CurvedExperts",
    "CurvedState",
    "ExpertState",
    "Experts",
    "Gauge",
    "GaugedSteps",
    "Move",
    "OEGDExperts",
    "OGDExperts",
    "OptimisticExperts",
    "Steps",
    "from_center",
    "is_steady",
]
