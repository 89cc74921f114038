"""Learners: pools, experts, optimism and rates put together; no arithmetic of their own."""

from swordplay.parts.learners.ader import Ader
from swordplay.parts.learners.ageless import SwordAgeless
from swordplay.parts.learners.bandit import PBGD
from swordplay.parts.learners.covers import CBCE, SACS, SAOL
from swordplay.parts.learners.curved import Curved
from swordplay.parts.learners.descent import OMGD, RestartedOGD
from swordplay.parts.learners.forecasters import Aligator, Arrows
from swordplay.parts.learners.late import MildOGD
from swordplay.parts.learners.metagrad import MetaGrad
from swordplay.parts.learners.one_projection import OneProjection
from swordplay.parts.learners.optimistic import OptimisticOGD
from swordplay.parts.learners.plus_plus import SwordPlusPlus
from swordplay.parts.learners.single import OEGD, OGD
from swordplay.parts.learners.sword import Sword
from swordplay.parts.learners.true_losses import AderTrueLosses
from swordplay.parts.learners.tuned import SwordBest, SwordSmall, SwordVar

__all__ = [
    "CBCE",
    "OEGD",
    "OGD",
    "OMGD",
    "PBGD",
    "SACS",
    "SAOL",
    "Ader",
    "AderTrueLosses",
    "Aligator",
    "Arrows",
    "Curved",
    "MetaGrad",
    "MildOGD",
    "OneProjection",
    "OptimisticOGD",
    "RestartedOGD",
    "Sword",
    "SwordAgeless",
    "SwordBest",
    "SwordPlusPlus",
    "SwordSmall",
    "SwordVar",
]
