"""One convex function f_t each: value, gradient, smoothness."""

from swordplay.parts.losses.function import FunctionLoss
from swordplay.parts.losses.huber import HuberLoss
from swordplay.parts.losses.linear import LinearLoss
from swordplay.parts.losses.logistic import LogisticLoss
from swordplay.parts.losses.pinball import PinballLoss
from swordplay.parts.losses.quadratic import QuadraticLoss
from swordplay.parts.losses.squared import SquaredLoss
from swordplay.parts.losses.weighted import WeightedLoss

__all__ = [
    "FunctionLoss",
    "HuberLoss",
    "LinearLoss",
    "LogisticLoss",
    "PinballLoss",
    "QuadraticLoss",
    "SquaredLoss",
    "WeightedLoss",
]
