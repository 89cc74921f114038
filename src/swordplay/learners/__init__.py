"""Learners: pools, experts, optimism and rates put together; no arithmetic of their own."""

from swordplay.learners.ader import Ader
from swordplay.learners.ageless import SwordAgeless
from swordplay.learners.single import OEGD, OGD
from swordplay.learners.sword import Sword
from swordplay.learners.tuned import SwordBest, SwordSmall, SwordVar

__all__ = ["OEGD", "OGD", "Ader", "Sword", "SwordAgeless", "SwordBest", "SwordSmall", "SwordVar"]
