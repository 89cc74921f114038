"""Words, dates, truths and missing values as columns of numbers: what a learner makes of a table.

Needs ``pyarrow``.
"""

from swordplay.data.encoding.encoder import Encoded, Encoder
from swordplay.data.encoding.plans import Plan, plan

__all__ = ["Encoded", "Encoder", "Plan", "plan"]
