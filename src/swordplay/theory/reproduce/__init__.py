"""The paper's experiment: every learner on both instances, regret beside the bounds.

References
----------
Zhao et al. (2020), Instances 1 and 2, and Theorems 3, 5 and 7 (Sword_var, Sword_small, Sword_best).
"""

from swordplay.theory.reproduce.entries import Tuning
from swordplay.theory.reproduce.experiment import (
    DEFAULT_ROUNDS,
    FEWEST_ROUNDS,
    INSTANCES,
    Row,
    horizons,
    reproduce,
)
from swordplay.theory.reproduce.meter import Progress
from swordplay.theory.reproduce.paper import paper_tuned

__all__ = [
    "DEFAULT_ROUNDS",
    "FEWEST_ROUNDS",
    "INSTANCES",
    "Progress",
    "Row",
    "Tuning",
    "horizons",
    "paper_tuned",
    "reproduce",
]
