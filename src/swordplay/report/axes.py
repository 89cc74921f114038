"""Axes of charts, and the round numbers at which they end."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from swordplay.core.types import Vector

Format = Literal["number", "percent"]

LONG = 20.0
"""Path lengths beyond this want a logarithmic axis."""
ROUND = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0)
"""Where an axis may end, times a power of ten."""
AIR = 1.02
"""How much higher than the highest value."""


class Axis(NamedTuple):
    """One direction of a chart."""

    low: float
    high: float
    title: str = ""
    scale: Literal["linear", "log", "symlog", "utc"] = "linear"
    format: Format = "number"
    ticks: tuple[float, ...] = ()
    """Where ticks stand, unless Vega shall choose."""
    names: tuple[str, ...] = ()
    """What the ticks are called, unless by their number."""

    def place(self, value: float) -> float:
        """Where a value lies between the ends, as a share: 0 at ``low``, 1 at ``high``."""
        turn = math.log if self.scale == "log" else float
        low, high = turn(self.low), turn(self.high)
        return min(1.0, max(0.0, (turn(min(max(value, self.low), self.high)) - low) / (high - low)))


def path_axis(paths: Vector) -> Axis:
    """Logarithmic beyond 1 where paths are long: one looks at 0, 10, 100 and 1000 units
    together.
    """
    low, high = float(paths[0]), max(float(paths[-1]), float(paths[0]) + 1.0)
    axis = Axis(low, high, title="path length of the comparators")
    return (
        axis
        if high < LONG
        else axis._replace(scale="symlog", ticks=(low, *tens(max(1.0, 2.0 * low), high)))
    )


def powers(low: float, high: float) -> tuple[float, float]:
    """The powers of ten around two positive numbers."""
    below, above = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return 10.0**below, 10.0 ** max(above, below + 1)


def tens(low: float, high: float) -> tuple[float, ...]:
    """The powers of ten between two positive numbers."""
    return tuple(
        10.0**k for k in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)
    )


def top(values: Sequence[Vector], *, after: int = 0) -> float:
    """A round number just above all values, of which the first few may stick out."""
    rest = np.concatenate([value[min(after, len(value) - 1) :] for value in values])
    rest = rest[np.isfinite(rest)]
    highest = float(rest.max()) if len(rest) else 0.0
    if highest < sys.float_info.min:
        return 1.0
    unit = 10.0 ** math.floor(math.log10(highest))
    return unit * next(number for number in ROUND if unit * number >= AIR * highest)
