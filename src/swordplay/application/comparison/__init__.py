"""Everybody on one table: the estimator, baselines, other packages and all learners.

Who errs least, and at what cost.
"""

from swordplay.application.comparison.compare import (
    Benchmark,
    Comparison,
    Progress,
    Result,
    UnknownLearner,
    compare,
)
from swordplay.application.comparison.field import FEWEST_ROWS, Field, field
from swordplay.application.comparison.figures import figures
from swordplay.application.comparison.looking_back import game_of_run, perspective_of_run
from swordplay.application.comparison.participants import Participant, participants
from swordplay.application.comparison.perspective import LeftOut, Perspective, perspective

__all__ = [
    "FEWEST_ROWS",
    "Benchmark",
    "Comparison",
    "Field",
    "LeftOut",
    "Participant",
    "Perspective",
    "Progress",
    "Result",
    "UnknownLearner",
    "compare",
    "field",
    "figures",
    "game_of_run",
    "participants",
    "perspective",
    "perspective_of_run",
]
