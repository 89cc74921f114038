"""Figures into tables: on the terminal, and as ``results.md``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.timing import Timing

Row = Sequence[str]


@dataclass
class Table:
    """A titled table."""

    title: str
    header: Row
    rows: Sequence[Row]
    remark: str = ""

    def markdown(self) -> str:
        """As Markdown, the first column to the left and the others to the right."""
        lines = [f"## {self.title}", ""]
        if self.remark:
            lines += [self.remark, ""]
        lines += [
            _line(self.header),
            _line(["---"] + ["---:"] * (len(self.header) - 1)),
            *(_line(row) for row in self.rows),
            "",
        ]
        return "\n".join(lines)

    def plain(self) -> str:
        """As aligned text."""
        widths = [max(map(len, column)) for column in zip(self.header, *self.rows, strict=True)]
        lines = [self._aligned(row, widths) for row in (self.header, *self.rows)]
        rule = "-" * len(lines[0])
        return "\n".join(
            [
                "",
                self.title,
                rule,
                lines[0],
                rule,
                *lines[1:],
                *([self.remark] if self.remark else []),
            ]
        )

    @staticmethod
    def _aligned(row: Row, widths: Sequence[int]) -> str:
        first, *others = zip(row, widths, strict=True)
        return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)])


@dataclass
class Report:
    """Tables shown as they come and written once all are there."""

    preface: str
    tables: list[Table] = field(default_factory=list)

    def add(self, table: Table) -> None:
        """Show a table now, keep it for the file."""
        self.tables.append(table)
        print(table.plain(), flush=True)

    def markdown(self) -> str:
        """The whole file."""
        return "\n".join([self.preface, *(table.markdown() for table in self.tables)])


def comparison(title: str, timings: Sequence[Timing], reference: str, remark: str = "") -> Table:
    """Times per sample and their ratios to the reference row."""
    base = next(timing.microseconds for timing in timings if timing.name == reference)
    rows = [
        [timing.name, timing.learns, "missing", timing.note, "", ""]
        if timing.note
        else [
            timing.name,
            timing.learns,
            number(timing.microseconds),
            f"{number(timing.microseconds / base)} x",
            f"{timing.rounds:,}",
            number(timing.mean_loss),
        ]
        for timing in timings
    ]
    return Table(
        title,
        ["contender", "learns", "us a sample", "against the engine", "rounds", "mean loss"],
        rows,
        remark,
    )


def number(value: float) -> str:
    """Three figures, without an exponent where it can be helped."""
    if not math.isfinite(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _line(cells: Row) -> str:
    return "| " + " | ".join(cells) + " |"
