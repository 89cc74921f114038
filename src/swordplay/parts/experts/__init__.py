"""Experts: all step sizes of a pool move at once, one row of an ``(N, d)`` array each."""

from swordplay.parts.experts.expert import Experts, ExpertState, Move, from_center
from swordplay.parts.experts.newton import CurvedExperts, CurvedState
from swordplay.parts.experts.ogd_oegd import OEGDExperts, OGDExperts, OptimisticExperts, is_steady
from swordplay.parts.experts.step_sizes import AdaGradNorm, Constant, Gauge, GaugedSteps, Steps

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
