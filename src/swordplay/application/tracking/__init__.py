"""From a table to predictions: each row is predicted before it is learned, beside baselines that
people trust.
"""

from swordplay.application.tracking.accounts import Outcome, Progress
from swordplay.application.tracking.errors import TrackingError
from swordplay.application.tracking.figures import figures
from swordplay.application.tracking.job import Job
from swordplay.application.tracking.run import run
from swordplay.application.tracking.settings import Settings
from swordplay.application.tracking.story import Column, Course, Moment, Story, Task
from swordplay.application.tracking.tracker import Tracked, Tracker

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
