"""Words, dates, truths and missing values as columns of numbers: what a learner makes of a table. Needs ``pyarrow``."""

from swordplay.data.encoding.columns import Encoded, Encoder, Plan, plan

__all__ = ["Encoded", "Encoder", "Plan", "plan"]
