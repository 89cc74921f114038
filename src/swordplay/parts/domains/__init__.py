"""Where decisions may live: sets that know their diameter, their centre and their nearest
points.
"""

from swordplay.parts.domains.ball import Ball
from swordplay.parts.domains.box import Box
from swordplay.parts.domains.simplex import Simplex

__all__ = ["Ball", "Box", "Simplex"]
