"""Prediction intervals around the forecasts of any forecaster, with coverage under drift.

>>> from swordplay.intervals import SwordIntervals
>>> intervals = SwordIntervals(level=0.9)
>>> forecast, target = 10.0, 10.5  # of any forecaster
>>> lower, upper = intervals.interval(forecast)  # before the target is known
>>> intervals.learn(forecast, target)
"""

from swordplay.intervals.sword_intervals import SwordIntervals

__all__ = ["SwordIntervals"]
