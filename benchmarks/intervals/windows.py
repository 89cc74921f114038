"""The last scores, sorted: what adaptive conformal inference takes its quantiles from."""

from __future__ import annotations

import bisect
import math
from collections import deque


class Window:
    """The last ``length`` scores, in order of size too."""

    def __init__(self, length: int = 500) -> None:
        self.length = length
        self._newest: deque[float] = deque()
        self._sorted: list[float] = []

    def add(self, score: float) -> None:
        """Let a score in, and the oldest out."""
        self._newest.append(score)
        bisect.insort(self._sorted, score)
        if len(self._newest) > self.length:
            oldest = self._newest.popleft()
            del self._sorted[bisect.bisect_left(self._sorted, oldest)]

    def quantile(self, alpha: float) -> float:
        """The score that a share alpha of the next ones exceeds, as split conformal prediction has it."""
        if alpha >= 1.0:
            return 0.0
        rank = math.ceil((1.0 - alpha) * (len(self._sorted) + 1))
        return self._sorted[max(rank, 1) - 1] if alpha > 0.0 and rank <= len(self._sorted) else math.inf

    def share_at_least(self, score: float) -> float:
        """The largest alpha whose interval holds the score (beta in the papers); 1 before any is known."""
        count = len(self._sorted)
        return (count - bisect.bisect_left(self._sorted, score)) / count if count else 1.0
