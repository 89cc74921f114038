"""Coefficients as they were at the end of each stretch: always few numbers, whatever the table's
width.

A coefficient is one of the scaled columns: what the prediction changes by when the column rises by
one of its spreads (of classes: what the log-odds change by). NaN stands where a column or a class
was not there yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from swordplay.core.state import DAMAGED
from swordplay.core.types import State, Vector

CELLS = 512
"""Numbers that are kept of each stretch;"""
MOST_CLASSES = 6
"""of at most so many classes, the first ones."""

LARGEST = float(np.finfo(np.float32).max)
"""In single precision; targets may be larger."""

Now = Mapping[int, Vector]
"""Coefficients of each model by the code of its class (0 for a regression), shape ``(d,)`` each."""


@final
class Paths:
    """Coefficients of the closed stretches.

    Parameters
    ----------
    stretches
        How many there are at the most.
    """

    def __init__(self, stretches: int) -> None:
        self.kept: NDArray[np.float32] = np.full((stretches, 1, 0), np.nan, dtype=np.float32)
        """Shape ``(stretches, classes, columns)``. Single precision: no picture shows more."""

    def put(self, here: int, now: Now) -> None:
        """Remember the coefficients at the end of a stretch."""
        self._fit(now)
        self.kept[here] = np.nan
        width = self.kept.shape[2]
        for place, values in now.items():
            if place < self.kept.shape[1]:
                some = np.clip(values[:width], -LARGEST, LARGEST)
                self.kept[here, place, : len(some)] = some

    def _fit(self, now: Now) -> None:
        """Make room for classes and columns that have joined.

        With more classes fewer columns are kept.
        """
        stretches, classes, width = self.kept.shape
        wanted = min(MOST_CLASSES, max(classes, max(now, default=0) + 1))
        wider = min(
            CELLS // wanted, max(width, max((len(values) for values in now.values()), default=0))
        )
        if (wanted, wider) != (classes, width):
            kept = np.full((stretches, wanted, wider), np.nan, dtype=np.float32)
            both = min(width, wider)
            kept[:, :classes, :both] = self.kept[:, :, :both]
            self.kept = kept

    def merge(self, half: int) -> None:
        """Of two neighbours the later one counts."""
        self.kept[:half] = self.kept[1 : 2 * half : 2]

    def told(self, closed: int, now: Now) -> NDArray[np.float64]:
        """The closed stretches and, behind them, now; shape ``(closed + 1, classes, columns)``."""
        copy = Paths(closed + 1)
        copy.kept = np.concatenate([self.kept[:closed], np.full_like(self.kept[:1], np.nan)])
        copy.put(closed, now)
        return copy.kept.astype(np.float64)

    def state(self, closed: int) -> State:
        """Of the closed stretches."""
        return {"coefficients": self.kept[:closed].copy()}

    def load_state(self, saved: Mapping[str, Any], closed: int) -> None:
        """Go on from a saved state of so many closed stretches."""
        given = np.asarray(saved["coefficients"])
        if (
            given.ndim != 3
            or len(given) != closed
            or not 1 <= given.shape[1] <= MOST_CLASSES
            or given[:1].size > CELLS
        ):
            raise ValueError(f"coefficients have shape {given.shape}. {DAMAGED}")
        if given.dtype != np.float32:
            raise ValueError(f"coefficients are of type {given.dtype}. {DAMAGED}")
        kept = np.full((len(self.kept), *given.shape[1:]), np.nan, dtype=np.float32)
        kept[:closed] = given
        self.kept = kept
