"""Intervals as they were before bins and haste: those of many keys still are, as their records
cannot tell how they began.
"""

from swordplay.intervals import SwordIntervals
from swordplay.intervals.layout import HASTE, SETS
from swordplay.intervals.memory import Memory


def before_bins(level: float) -> SwordIntervals:
    """Intervals of one level, without columns."""
    intervals = SwordIntervals(level)
    intervals.load_state(
        intervals.state() | Memory.fresh(1, 0, bins=0, kinds=SETS, live=HASTE).state()
    )
    return intervals
