"""A goal, the figure of this run, why it is what it is, and the measurement that says so."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from benchmarks.report import Row, Table, number


@dataclass(frozen=True)
class Section:
    """One goal."""

    what: str
    value: float
    goal: float
    unit: str
    why: str
    """Two to five lines, after the verdict."""
    header: Row
    rows: list[list[str]]
    at_most: bool = True
    """Whether the goal is the most that it may be, or the least."""

    @property
    def reached(self) -> bool:
        """Whether this run is within the goal."""
        return self.value <= self.goal if self.at_most else self.value >= self.goal

    def markdown(self) -> str:
        """The verdict in words, and the table."""
        bound = f"{'at most' if self.at_most else 'at least'} {self.goal:,g}{self.unit}"
        verdict = (
            f"Goal: {bound}. This run: {number(self.value)}{self.unit}, "
            f"{'reached' if self.reached else '**missed**'}."
        )
        text = textwrap.fill(
            f"{verdict} {' '.join(self.why.split())}",
            128,
            break_long_words=False,
            break_on_hyphens=False,
        )
        return Table(self.what, self.header, self.rows, text).markdown().replace("## ", "### ", 1)
