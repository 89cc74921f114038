"""One convex function f_t each: value, gradient, smoothness."""

from swordplay.losses.function import FunctionLoss
from swordplay.losses.huber import HuberLoss
from swordplay.losses.linear import LinearLoss
from swordplay.losses.logistic import LogisticLoss
from swordplay.losses.quadratic import QuadraticLoss
from swordplay.losses.squared import SquaredLoss
from swordplay.losses.weighted import WeightedLoss

__all__ = ["FunctionLoss", "HuberLoss", "LinearLoss", "LogisticLoss", "QuadraticLoss", "SquaredLoss", "WeightedLoss"]
