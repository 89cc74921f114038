"""From a table to predictions: each row is predicted before it is learned, beside baselines that
people trust.
"""

from swordplay.tracking.accounts import Outcome, Progress
from swordplay.tracking.errors import TrackingError
from swordplay.tracking.figures import figures
from swordplay.tracking.job import Job
from swordplay.tracking.run import run
from swordplay.tracking.settings import Settings
from swordplay.tracking.story import Column, Course, Moment, Story, Task
from swordplay.tracking.tracker import Tracked, Tracker

__all__ = [
    "Column",
    "Course",
    "Job",
    "Moment",
    "Outcome",
    "Progress",
    "Settings",
    "Story",
    "Task",
    "Tracked",
    "Tracker",
    "TrackingError",
    "figures",
    "run",
]
