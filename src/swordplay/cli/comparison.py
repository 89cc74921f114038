"""A comparison as a table that fits in 80 columns."""

from __future__ import annotations

import math
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from swordplay.cli.tables import number
from swordplay.cli.words import counted
from swordplay.comparison import Comparison, Result
from swordplay.comparison.rivals import block_size

SECTIONS = {
    "estimator": ("estimator", "bold cyan"),
    "baseline": ("baselines", "yellow"),
    "rival": ("other packages", "magenta"),
    "learner": ("game on a ball", ""),
}
"""What each kind of participant is called, and its colour in a terminal."""
LEGEND = (
    "estimator: what swordplay track runs, the one to use on rows and targets. other\n"
    "packages: as they come, untuned. game on a ball: learners of swordplay (import\n"
    "swordplay as sp) for convex losses on a domain; here the domain is a ball of\n"
    "coefficients, whose size and scaled columns they are given.\n"
    "told: what it had to be told that only hindsight knows (T rounds, G steepest,\n"
    "L smoothest). regret: loss beyond that of the best coefficients of hindsight,\n"
    "fixed or moving as far as the column says; below 0 the learner did better."
)
NUMBERS: dict[str, Any] = {"justify": "right", "no_wrap": True}
"""How columns of numbers are set."""
MOST_DIGITS = 8
"""Characters of a number in the table."""


def show(comparison: Comparison, out: Console) -> None:
    """Print the ranking, who won, and what the columns mean."""
    out.print(table(comparison))
    out.print(Text(verdict(comparison), style="bold"))
    for line in remarks(comparison):
        out.print(Text(line))
    out.print(Text(LEGEND, style="dim"))


def remarks(comparison: Comparison) -> list[str]:
    """Who did not take part, and who predicts several rows at a time."""
    lines = [f"{name} did not take part: {why}." for name, why in comparison.absent.items()]
    size = block_size(comparison.rows)
    if size > 1 and any(one.name.startswith("scikit-learn") for one in comparison.results):
        lines.append(
            f"scikit-learn SGD predicts and learns {size} rows at a time, as each of its calls is "
            "slow."
        )
    return lines


def table(comparison: Comparison) -> Table:
    """Rank, error, regrets and cost of every participant: the estimator first, then kind by
    kind.
    """
    title = f"{counted(comparison.rows, 'row')}, {counted(comparison.width, 'column')}"
    grid = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=0,
    )
    grid.add_column("#", **NUMBERS)
    grid.add_column("learner", no_wrap=True)
    grid.add_column("told", no_wrap=True, style="dim")
    grid.add_column(comparison.measure.replace(" ", "\n"), **NUMBERS)
    for place, mark in enumerate(comparison.benchmarks):
        grid.add_column(
            f"to {mark.name}".replace(" pieces", "\npieces")
            if place
            else f"regret\nto {mark.name}",
            **NUMBERS,
        )
    grid.add_column("µs\n/row", **NUMBERS)
    for kind, (heading, style) in SECTIONS.items():
        # because keys are plain strings
        lines = [_line(comparison, one, style) for one in comparison.of(kind)]  # type: ignore[arg-type]
        lines += [
            ["-", Text(f" {name}", style="dim"), "", "-"]
            for name in comparison.absent
            if kind == "rival"
        ]
        if lines:
            grid.add_row("", Text(heading, style=f"italic {style}".strip()))
        for line in lines:
            grid.add_row(*line)
    return grid


def verdict(comparison: Comparison) -> str:
    """Who erred least and, if it was not the estimator, where that stands.

    Two lines of 80 at most.
    """
    first, (ours,) = comparison.results[0], comparison.of("estimator")
    said = f"{first.name} erred least: {comparison.measure} {error(comparison, first)}"
    if first is not ours:
        told = f", told {_told(first)}" if first.told else ""
        ranked = f"{ours.name}, told nothing, is number {ours.rank} of {len(comparison.results)}"
        return f"{said}{told}.\n{ranked}: {error(comparison, ours)}."
    base = min(comparison.of("baseline"), key=lambda one: one.rank, default=None)
    return f"{said}." if base is None else f"{said}; {base.name} has {error(comparison, base)}."


def error(comparison: Comparison, one: Result) -> str:
    """A share of rows in per cent, or an RMSE in the target's units."""
    return f"{100 * one.error:.2f} %" if comparison.measure == "error rate" else f"{one.error:.4g}"


def short(value: float) -> str:
    """A number in few characters, with an exponent where it is long; a dash where there is none.

    >>> short(18.65), short(-123456.0), short(123456789.0), short(float("nan"))
    ('18.6', '-123,456', '1.2e+08', '-')
    """
    if math.isnan(value):
        return "-"
    plain = number(value)
    return plain if len(plain) <= MOST_DIGITS else f"{value:.1e}"


def _line(comparison: Comparison, one: Result, style: str) -> list[str | Text]:
    bold = f"bold {style}".strip() if one.rank == 1 else style
    regrets = [short(one.regrets[mark.name]) for mark in comparison.benchmarks]
    named = (Text(f" {one.name}", style=bold), _told(one), Text(error(comparison, one), style=bold))
    return [str(one.rank), *named, *regrets, short(one.microseconds)]


def _told(one: Result) -> str:
    return f"step {one.setting}" if one.setting else one.told
