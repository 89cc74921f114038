"""The experiment as tables that fit in 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from swordplay.cli import console
from swordplay.theory.reproduce import INSTANCES, Row

TITLES = {
    "gradual": "Instance 1, gradual: V_T far below F_T",
    "alternating": "Instance 2, alternating: F_T = 0, V_T grows with T",
}
SECTIONS = {
    "paper": "paper's rates",
    "self-confident": "self-confident",
    "none": "nothing to set",
    "baseline": "baselines",
}
MOST_HORIZONS = 4
"""Columns that fit in a terminal of 80.

Of more horizons the largest are shown (JSON has them all).
"""
LEGEND = (
    "bound: what the learner's theorem promises at the largest T. certificate: what\n"
    "the run itself proves there, against every comparator that moves as far.\n"
    "-: there is none, or the learner is too slow for so many rounds.\n"
    "* takes the paper's claim about learned optimism at its word (G <= 1/4 only)."
)


def show(rows: Sequence[Row], out: Console | None = None) -> None:
    """Print one table per instance, and what the columns mean."""
    out = out or console.results()
    for instance in INSTANCES:
        out.print(table([row for row in rows if row.instance == instance]))
    out.print(Text(LEGEND, style="dim"))


def table(rows: Sequence[Row]) -> Table:
    """Regret at every horizon, then bound and certificate at the largest, for the rows of one
    instance.
    """
    horizons = sorted({row.horizon for row in rows})[-MOST_HORIZONS:]
    rows = [row for row in rows if row.horizon in horizons]
    smallest = {T: min(row.regret for row in rows if row.horizon == T) for T in horizons}
    grid = Table(
        title=TITLES[rows[0].instance],
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    grid.add_column("regret at T =", no_wrap=True)
    for T in horizons:
        grid.add_column(_horizon(T), justify="right", no_wrap=True)
    grid.add_column("bound", justify="right", no_wrap=True)
    grid.add_column("certificate", justify="right", no_wrap=True)
    for tuning, section in groupby(sorted(rows, key=_by_section), key=lambda row: row.tuning):
        grid.add_row(Text(SECTIONS[tuning], style="italic dim"))
        for learner, line in _lines(section):
            played = {row.horizon: row for row in line}
            regrets = [_regret(played.get(T), smallest[T]) for T in horizons]
            last = played.get(horizons[-1])
            bound = (
                "-"
                if last is None or last.bound is None
                else number(last.bound) + "*" * last.assumes_optimism_claim
            )
            certificate = (
                "-" if last is None or last.certificate is None else number(last.certificate)
            )
            grid.add_row(f"  {learner}", *regrets, bound, certificate)
    return grid


def _regret(row: Row | None, smallest: float) -> Text:
    """A regret, bold if it is the smallest; a dash where a learner did not play that long."""
    return (
        Text("-")
        if row is None
        else Text(number(row.regret), style="bold" if row.regret == smallest else "")
    )


def number(value: float) -> str:
    """Three digits that count, no exponent.

    >>> number(0.3812), number(18.66), number(1234.5)
    ('0.381', '18.7', '1,234')
    """
    size = abs(value)
    decimals = 0 if size >= 99.95 else 1 if size >= 9.995 else 2 if size >= 0.9995 else 3
    return f"{value:,.{decimals}f}"


def _horizon(T: int) -> str:
    return f"{T:,}" if T < 1_000_000 else f"{T / 1_000_000:g}M"


def _by_section(row: Row) -> int:
    return list(SECTIONS).index(row.tuning)


def _lines(rows: Iterable[Row]) -> Iterable[tuple[str, list[Row]]]:
    """The rows of each learner in the order of their horizons."""
    lines: dict[str, list[Row]] = {}
    for row in rows:
        lines.setdefault(row.learner, []).append(row)
    return [(learner, sorted(line, key=lambda row: row.horizon)) for learner, line in lines.items()]
