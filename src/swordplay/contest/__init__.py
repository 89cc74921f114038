"""All learners of the package on one table: who errs least, at what cost, and how far from the best of hindsight."""

from swordplay.contest.contestants import Contestant, contestants
from swordplay.contest.field import Field, field
from swordplay.contest.standings import Benchmark, Contest, Progress, Standing, contest

__all__ = ["Benchmark", "Contest", "Contestant", "Field", "Progress", "Standing", "contest", "contestants", "field"]
