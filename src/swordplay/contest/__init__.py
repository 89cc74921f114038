"""All learners of the package on one table: who errs least, at what cost, and how far from the best of hindsight."""

from swordplay.contest.contestants import Contestant, contestants
from swordplay.contest.field import FEWEST_ROWS, Field, field
from swordplay.contest.perspective import LeftOut, Perspective, perspective
from swordplay.contest.standings import Benchmark, Contest, Progress, Standing, contest

__all__ = [
    "FEWEST_ROWS",
    "Benchmark",
    "Contest",
    "Contestant",
    "Field",
    "LeftOut",
    "Perspective",
    "Progress",
    "Standing",
    "contest",
    "contestants",
    "field",
    "perspective",
]
