"""Learners: pools, experts, optimism and rates put together; no arithmetic of their own."""

from swordplay.parts.learners.ader import Ader
from swordplay.parts.learners.ageless import SwordAgeless
from swordplay.parts.learners.plus_plus import SwordPlusPlus
from swordplay.parts.learners.single import OEGD, OGD
from swordplay.parts.learners.sword import Sword
from swordplay.parts.learners.tuned import SwordBest, SwordSmall, SwordVar

__all__ = ["OEGD", "OGD", "Ader", "Sword", "SwordAgeless", "SwordBest", "SwordPlusPlus", "SwordSmall", "SwordVar"]
