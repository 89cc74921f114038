"""Where decisions may live: sets that know their diameter, their centre and their nearest points."""

from swordplay.domains.ball import Ball
from swordplay.domains.box import Box
from swordplay.domains.simplex import Simplex

__all__ = ["Ball", "Box", "Simplex"]
