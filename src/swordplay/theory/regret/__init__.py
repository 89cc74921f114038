"""Regret: the record of a game, the quantities that bounds are made of, the bounds, and
hindsight.
"""

from swordplay.theory.regret import bounds, hindsight
from swordplay.theory.regret.constants import gradient_bound, smoothness
from swordplay.theory.regret.curve import RegretCurve
from swordplay.theory.regret.ledger import Ledger
from swordplay.theory.regret.quantities import (
    Quantity,
    comparator_loss,
    empirical_gradient_variation,
    path_length,
    squared_gradients,
    squared_path_length,
)
from swordplay.theory.regret.variation import function_variation, gradient_variation

__all__ = [
    "Ledger",
    "Quantity",
    "RegretCurve",
    "bounds",
    "comparator_loss",
    "empirical_gradient_variation",
    "function_variation",
    "gradient_bound",
    "gradient_variation",
    "hindsight",
    "path_length",
    "smoothness",
    "squared_gradients",
    "squared_path_length",
]
