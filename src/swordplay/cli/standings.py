"""A contest as a table that fits in 80 columns."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from swordplay.cli.tables import number
from swordplay.cli.words import counted
from swordplay.contest import Contest, Standing

LEGEND = (
    "regret: loss beyond that of the best coefficients of hindsight, fixed or moving\n"
    "as far as the column says; below 0 the learner did better. told: what it had\n"
    "to be told that only hindsight knows (T rounds, G steepest, L smoothest).\n"
    "SwordRegressor and SwordClassifier are what swordplay track runs."
)


def show(contest: Contest, out: Console) -> None:
    """Print the standings, and what the columns mean."""
    out.print(table(contest))
    out.print(Text(LEGEND, style="dim"))


def table(contest: Contest) -> Table:
    """Rank, error, regrets and cost of every contestant."""
    title = f"{counted(contest.rows, 'row')}, {counted(contest.columns, 'column')}"
    grid = Table(
        title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0)
    )
    grid.add_column("#", justify="right", no_wrap=True)
    grid.add_column("learner", no_wrap=True)
    grid.add_column("told", no_wrap=True, style="dim")
    grid.add_column(contest.measure.replace(" ", "\n"), justify="right", no_wrap=True)
    for mark in contest.benchmarks:
        grid.add_column(f"regret to\n{mark.name}", justify="right", no_wrap=True)
    grid.add_column("µs\n/row", justify="right", no_wrap=True)
    for one in contest.standings:
        regrets = [number(one.regrets[mark.name]) for mark in contest.benchmarks]
        style = "bold" if one.rank == 1 else ""
        grid.add_row(
            str(one.rank), Text(one.name, style=style), _told(one), error(contest, one), *regrets, f"{one.microseconds:.2f}"
        )
    return grid


def error(contest: Contest, one: Standing) -> str:
    """A share of rows in per cent, or an RMSE in the target's units."""
    return f"{100 * one.error:.2f} %" if contest.measure == "error rate" else f"{one.error:.4g}"


def _told(one: Standing) -> str:
    return f"step {one.setting}" if one.setting else one.told
