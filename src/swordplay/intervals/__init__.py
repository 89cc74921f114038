"""How far off a forecast may be: intervals that keep their promise while the world drifts.

>>> from swordplay.intervals import SwordIntervals
>>> intervals = SwordIntervals(level=0.9)
>>> forecast, truth = 10.0, 10.5  # of any forecaster
>>> lower, upper = intervals.interval(forecast)  # before the truth is known
>>> intervals.learn(forecast, truth)

A row goes through three parts: the ``shape`` says where its residual is likely to lie, and how far
from there; the ``scale`` how many times that it takes for a level; the ``integrator`` counts misses
and makes the level hold on every window of rows.
"""

from swordplay.intervals.sword_intervals import SwordIntervals

__all__ = ["SwordIntervals"]
