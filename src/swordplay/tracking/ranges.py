"""Ranges of numbers in the saved state of a run."""

from __future__ import annotations

from swordplay.core.state import Field
from swordplay.estimators.model_settings import LARGEST

VAST = 1e200
"""Sums of squared errors, each below 1e130."""
SUM = Field(0.0, VAST)
"""A sum of losses."""
TOTAL = Field(-VAST, VAST)
"""A sum of values."""
SHARE = Field(0.0, 1.0 + 1e-6)
"""A share, with rounding."""
VALUE = Field(-LARGEST, LARGEST, nan=True)
"""A target; NaN where it is missing."""
TIME = Field(-1e15, 1e15, nan=True)
"""Milliseconds since 1970, beyond any date; NaN where it is missing."""
