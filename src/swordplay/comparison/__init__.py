"""Everybody on one table: the estimator, baselines, other packages and all learners.

Who errs least, and at what cost.
"""

from swordplay.comparison.compare import (
    Benchmark,
    Comparison,
    Progress,
    Result,
    UnknownLearner,
    compare,
)
from swordplay.comparison.field import FEWEST_ROWS, Contest, field
from swordplay.comparison.figures import figures
from swordplay.comparison.looking_back import perspective_of_run
from swordplay.comparison.participants import Participant, participants
from swordplay.comparison.perspective import LeftOut, Perspective, perspective

__all__ = [
    "FEWEST_ROWS",
    "Benchmark",
    "Comparison",
    "Contest",
    "LeftOut",
    "Participant",
    "Perspective",
    "Progress",
    "Result",
    "UnknownLearner",
    "compare",
    "field",
    "figures",
    "participants",
    "perspective",
    "perspective_of_run",
]
