"""From a table to predictions: each row is predicted before it is learned, beside baselines that
people trust.
"""

from swordplay.tracking.accounts import Outcome, Progress
from swordplay.tracking.errors import TrackingError
from swordplay.tracking.figures import figures
from swordplay.tracking.job import Job
from swordplay.tracking.run import run
from swordplay.tracking.settings import Settings
from swordplay.tracking.story import Column, Course, Story, Task, WorstRow
from swordplay.tracking.tracker import Tracked, Tracker

__all__ = [
    "Column",
    "Course",
    "Job",
    "Outcome",
    "Progress",
    "Settings",
    "Story",
    "Task",
    "Tracked",
    "Tracker",
    "TrackingError",
    "WorstRow",
    "figures",
    "run",
]
