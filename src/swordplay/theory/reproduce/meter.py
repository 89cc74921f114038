"""How far a long experiment has come."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int, str], None]
"""Called with rounds done, rounds to do, and what is being played."""

STRIDE = 100
"""Rounds between two reports: often enough to look alive, rare enough to cost nothing."""


class Meter:
    """Counts the rounds of many runs, and now and then reports.

    Parameters
    ----------
    report
        Who is told; nobody if None.
    planned
        How many rounds all runs will have at the most.
    """

    def __init__(self, report: Progress | None = None, planned: int = 0) -> None:
        self.label = ""
        """What is being played."""
        self._report = report
        self._planned = planned
        self._done = 0

    def run(self, rounds: int) -> Callable[[int], None] | None:
        """The ``progress`` of ``play`` for a run of so many rounds."""
        if self._report is None:
            return None
        report, before, said = self._report, self._done, 0
        self._done += rounds

        def played(number: int) -> None:
            nonlocal said
            # The engine comes by every few thousand rounds, the readable loop after each one.
            if number - said >= STRIDE or number == rounds:
                said = number
                report(before + number, self._planned, self.label)

        return played

    def spare(self, rounds: int) -> None:
        """Strike rounds that were planned but are not needed."""
        self._planned -= rounds
