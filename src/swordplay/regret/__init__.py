"""Regret: the record of a game, the quantities that bounds are made of, the bounds, and hindsight."""

from swordplay.regret import bounds, hindsight
from swordplay.regret.curve import RegretCurve
from swordplay.regret.ledger import Ledger
from swordplay.regret.quantities import (
    Quantity,
    comparator_loss,
    empirical_gradient_variation,
    path_length,
    squared_gradients,
    squared_path_length,
)
from swordplay.regret.variation import function_variation, gradient_variation

__all__ = [
    "Ledger",
    "Quantity",
    "RegretCurve",
    "bounds",
    "comparator_loss",
    "empirical_gradient_variation",
    "function_variation",
    "gradient_variation",
    "hindsight",
    "path_length",
    "squared_gradients",
    "squared_path_length",
]
