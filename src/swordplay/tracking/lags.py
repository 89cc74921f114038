"""The last targets before each row: those that were learned, whatever came between."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from swordplay.core.types import Matrix, Vector


@final
class Lags:
    """Remembers the last targets.

    Parameters
    ----------
    count
        How many.
    """

    def __init__(self, count: int) -> None:
        self.recent: Vector = np.full(count, np.nan)
        """The oldest first; NaN where there was none yet."""

    def before(self, targets: Vector, learned: Any) -> Matrix:
        """The last targets before each row, the newest first, shape ``(T, count)``.

        Those of these rows are remembered.

        Parameters
        ----------
        targets
            Shape ``(T,)``.
        learned
            Which of them are known, shape ``(T,)``.
        """
        count = len(self.recent)
        if not count:
            return np.empty((len(targets), 0))
        history = np.concatenate([self.recent, targets[learned]])
        known = np.cumsum(learned) - learned  # targets that were learned before each row
        self.recent = history[len(history) - count :]
        return np.asarray(history[known[:, None] + np.arange(count - 1, -1, -1)])
