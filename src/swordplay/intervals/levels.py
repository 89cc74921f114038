"""Levels of intervals, checked: what share of the truths an interval is to hold."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Vector


def level_or_levels(level: Any) -> float | tuple[float, ...]:
    """One level, or several different ones in the caller's order.

    Raises
    ------
    ValueError
        If one is not between 0 and 1, or stands twice.
    """
    if isinstance(level, numbers.Real) or arguments.without_mask("level", level).ndim == 0:
        return _level(level)
    several = tuple(_level(each) for each in level)
    if not several:
        raise ValueError("level must name a level such as 0.9, or several, got none.")
    if len(set(several)) < len(several):
        raise ValueError(
            f"level must name each level once, got {arguments.short_repr(several)}. Drop the one "
            "that stands twice."
        )
    return several


def _level(value: Any) -> float:
    level = arguments.real("level", value)
    if not 0.0 < level < 1.0:
        remedy = (
            f" Give {level / 100:g} for {level:g} %."
            if 1.0 < level < 100.0
            else " Give 0.9 for nine truths of ten."
        )
        raise ValueError(f"level must lie between 0 and 1, got {level}.{remedy}")
    return level


def narrow_to_wide(levels: tuple[float, ...]) -> tuple[Vector, Any]:
    """Shares of misses that the levels allow, those of the narrowest interval first, and where
    each level stands there.
    """
    order = np.argsort(levels, kind="stable")
    places = np.empty(len(levels), dtype=np.int64)
    places[order] = np.arange(len(levels))
    return 1.0 - np.array(levels)[order], places
