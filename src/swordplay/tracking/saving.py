"""When the state of a run is saved, after so many rows or, unless that is said, after ten seconds.

How long a run took.
"""

from __future__ import annotations

import sys
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


@final
class RunClock:
    """How long a run has taken over all its lives, and how long this life has spent compiling,
    which is none of the former.
    """

    def __init__(self) -> None:
        self._began, self._compiling = time.monotonic(), _compiling()

    @property
    def compiling(self) -> float:
        """Seconds of this life that went by while kernels were compiled."""
        return _compiling() - self._compiling

    def seconds(self, before: float) -> float:
        """Seconds that all else has taken, after so many in earlier lives."""
        return before + time.monotonic() - self._began - self.compiling


def _compiling() -> float:
    """Seconds that this process has spent compiling; none before numba was imported."""
    kernel_cache = sys.modules.get("swordplay.compile.kernel_cache")
    return 0.0 if kernel_cache is None else float(kernel_cache.compile_timer.seconds)
