"""When the state of a run is saved: after so many rows or, unless that is said, after ten seconds."""

from __future__ import annotations

import time
from typing import final

BETWEEN_SAVES = 10.0
"""Seconds between two checkpoints."""


@final
class SaveClock:
    """Tells whether it is time to save.

    Parameters
    ----------
    every
        Rows between two saves; None for seconds.
    rows
        That are done already.
    """

    def __init__(self, every: int | None, rows: int) -> None:
        self.every, self.rows = every, rows
        """``rows`` were done at the last save."""
        self._last = time.monotonic()

    def is_time(self, rows: int) -> bool:
        """Whether to save after so many rows: never twice after the same."""
        if rows == self.rows:
            return False
        if self.every is not None:
            return rows >= self.rows + self.every
        return time.monotonic() >= self._last + BETWEEN_SAVES

    def saved(self, rows: int) -> None:
        """It was saved just now, after so many rows."""
        self._last, self.rows = time.monotonic(), rows
