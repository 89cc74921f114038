"""Everybody on one table: the estimator, baselines, other packages and all learners; who errs least, and at what cost."""

from swordplay.contest.contestants import Contestant, contestants
from swordplay.contest.field import FEWEST_ROWS, Field, field
from swordplay.contest.perspective import LeftOut, Perspective, perspective
from swordplay.contest.standings import Benchmark, Contest, Progress, Standing, UnknownLearner, contest

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
    "UnknownLearner",
    "contest",
    "contestants",
    "field",
    "perspective",
]
