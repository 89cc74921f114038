"""Everybody on one table: the estimator, baselines, other packages and all learners; who errs least, and at what cost."""

from swordplay.application.contest.contestants import Contestant, contestants
from swordplay.application.contest.field import FEWEST_ROWS, Field, field
from swordplay.application.contest.perspective import LeftOut, Perspective, perspective
from swordplay.application.contest.standings import Benchmark, Contest, Progress, Standing, UnknownLearner, contest

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
