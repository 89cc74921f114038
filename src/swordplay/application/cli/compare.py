"""``swordplay compare``: the estimator beside baselines, other packages and all learners, on one table."""

from __future__ import annotations

import json
import math
import os
from typing import Any

import click

from swordplay import __version__
from swordplay.application.cli import options
from swordplay.application.cli.words import echo
from swordplay.base import arguments

# click keeps the lines of a paragraph that begins with a backspace as they are.
EXAMPLES = """\b
Examples:
  swordplay compare prices.csv --target price
  swordplay compare prices.csv --target price --learners river,Sword --report comparison.html
  swordplay compare prices.csv --target price --rows 10000 --json --quiet > comparison.json
"""
SMALLEST_RADIUS, LARGEST_RADIUS = 1e-6, 1e6
MOST_ROWS = 200_000
"""Everybody goes over the table several times, so it is held in memory."""


def step_sizes(context: click.Context, option: click.Parameter, value: str | None) -> tuple[float, ...]:
    """Positive numbers between commas."""
    try:
        return tuple(arguments.positive("step", float(part)) for part in (value or "").split(",") if part.strip())
    except (TypeError, ValueError):
        raise click.BadParameter(f"must be positive numbers between commas, such as 0.1,0.01, got {value!r}.") from None


def radius_of_ball(context: click.Context, option: click.Parameter, value: float) -> float:
    """A radius that makes sense."""
    if not SMALLEST_RADIUS <= value <= LARGEST_RADIUS:  # NaN compares as false
        raise click.BadParameter(f"must be a radius from {SMALLEST_RADIUS:g} to {LARGEST_RADIUS:g}, got {value}.")
    return value


@click.command("compare", epilog=EXAMPLES)
@click.argument("file")
@click.option("--target", required=True, metavar="COLUMN", help="The column to predict.")
@click.option("--report", callback=options.report_path, metavar="PATH", help="Put the comparison on one HTML page here.")
@click.option(
    "--learners",
    callback=options.names,
    metavar="A,B",
    help="Who takes part beside the estimator, by the names in the table; all adds slow baselines of the literature.",
)
@click.option(
    "--hindsight/--no-hindsight",
    default=True,
    help="Whether the report looks back at what perfect tracking was worth (10 seconds at the most).  [default: hindsight]",
)
@click.option(
    "--step-sizes", callback=step_sizes, metavar="A,B", help="Let OGD with these steps take part, for scaled columns."
)
@click.option(
    "--radius", callback=radius_of_ball, type=float, default=8.0, show_default=True, help="Of the ball where coefficients live."
)
@click.option(
    "--task", type=click.Choice(["regression", "binary", "multi-class"]), help="Recognised from the target unless given."
)
@click.option("--lags", type=click.IntRange(0, 1000), default=0, metavar="K", help="Let the last K targets join the columns.")
@click.option("--features", callback=options.names, metavar="A,B", help="Columns to use; all others are left out.")
@click.option("--drop", callback=options.names, metavar="A,B", help="Columns not to use.")
@options.REVERSE
@options.SORT
@click.option("--on-bad", type=click.Choice(["stop", "skip"]), default="stop", help="skip leaves bad rows out and counts them.")
@click.option(
    "--types", callback=options.types, metavar="A=KIND,B=KIND", help="What columns are, such as price=number,day=date."
)
@click.option(
    "--missing", callback=options.missing, metavar="A,B", help="Further texts that stand for nothing, such as none,n.d."
)
@click.option(
    "--header", callback=options.header, type=click.Choice(["yes", "no"]), help="Whether CSV begins with names; recognised."
)
@click.option("--format", "format_", type=click.Choice(["csv", "ndjson", "parquet"]), help="Of FILE; recognised unless given.")
@click.option("--encoding", default="utf-8", metavar="NAME", help="Of text in FILE, such as latin-1.  [default: utf-8]")
@click.option(
    "--rows", type=click.IntRange(10), default=MOST_ROWS, show_default=True, metavar="N", help="Look at the first N rows only."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of the table.")
@click.option("--quiet", is_flag=True, help="No progress and no remarks, only the result.")
def compare_command(
    file: str,
    target: str,
    report: str | None,
    learners: tuple[str, ...] | None,
    hindsight: bool,
    step_sizes: tuple[float, ...],
    radius: float,
    task: Any,
    lags: int,
    features: tuple[str, ...] | None,
    drop: tuple[str, ...] | None,
    reverse: bool,
    sort: str | None,
    types: dict[str, str] | None,
    missing: tuple[str, ...],
    header: bool | None,
    on_bad: str,
    format_: str | None,
    encoding: str,
    rows: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Let everybody predict the table in FILE: the estimator, baselines, others.

    FILE is read as by swordplay track. SwordRegressor (or SwordClassifier) is what track runs, with the same error; beside
    it stand baselines, scikit-learn's SGD and river's linear models as they come (if installed), and the package's
    learners of the game on a ball, such as sp.Sword. All are ranked by the error of predictions made before each row was
    learned. Then come the regret, to the best coefficients that hindsight could have chosen, and the time per row.
    Learners that must be told something about the future are told it.
    """
    from swordplay.application.cli import console, standings
    from swordplay.application.cli.errors import Refused, in_words
    from swordplay.application.contest import FEWEST_ROWS, LeftOut, UnknownLearner, contest, field, perspective
    from swordplay.application.tracking import Settings
    from swordplay.application.tracking.whole import whole

    with in_words():
        table = whole(
            file,
            Settings(target, task, lags, features, drop or (), types=types, missing=missing, header=header),
            most=rows,
            format=format_,
            encoding=encoding,
            on_bad=on_bad,
            order=options.order(reverse, sort),
        )
    if not quiet:
        _say(table, target, rows)
    if len(table.rows) < FEWEST_ROWS:
        raise Refused(f"{file}: a comparison needs at least {FEWEST_ROWS} rows with a target, got {len(table.rows)}.")
    with console.progress(quiet, "All learners play the table, one after the other.") as progress:
        game = field(table.rows, table.targets, len(table.classes), radius=radius, widths=table.widths)
        try:
            found = contest(game, step_sizes=step_sizes, only=learners, progress=progress)
        except UnknownLearner as error:
            raise Refused(f"--learners: {error}") from error
        view = None if report is None else perspective(game, progress=progress) if hindsight else LeftOut(options.NOT_ASKED)
    name = "standard input" if file == "-" else os.path.basename(file)
    if as_json:
        click.echo(_json(found, name, target))
    else:
        standings.show(found, console.results())
    if report is not None:
        _write(found, view, f"{name}: {target}", report)
        if not quiet:
            echo(f"The report is in {report}.", err=True)


def _say(table: Any, target: str, rows: int) -> None:
    """What was made of the table, on standard error."""
    from swordplay.application.cli.words import LONGEST_NAME, columns, printable

    task = f"{printable(target, LONGEST_NAME)}: {table.recognised.task}, as {table.recognised.why}."
    refused = [f"{table.refused:,} bad row(s) left out."] if table.refused else []
    cut = [f"Only the first {rows:,} rows are looked at; --rows N takes more."] if table.cut else []
    for line in (*table.remarks, task, *columns(table.plans), *refused, *cut):
        click.echo(printable(line), err=True)


def _json(found: Any, name: str, target: str) -> str:
    answer = {
        "swordplay": __version__,
        "source": name,
        "target": target,
        "rows": found.rows,
        "measure": found.measure,
        "radius": found.radius,
        "benchmarks": [mark._asdict() for mark in found.benchmarks],
        "standings": [_standing(one) for one in found.standings],
        "absent": dict(found.absent),
    }
    return json.dumps(answer, indent=2, allow_nan=False)


def _standing(one: Any) -> dict[str, Any]:
    """One contestant; null where it has no loss and no regret."""
    regrets = {name: known(regret) for name, regret in one.regrets.items()}
    return {k: v for k, v in one._asdict().items() if k != "course"} | {"loss": known(one.loss), "regrets": regrets}


def known(value: float) -> float | None:
    """A number, or None where there is none."""
    return None if math.isnan(value) else value


def _write(found: Any, view: Any, title: str, path: str) -> None:
    from swordplay.application.cli.errors import Failed
    from swordplay.application.report import perspective_section, write_compare

    try:
        write_compare(found, title, path, more=(perspective_section(view),))
    except OSError as error:
        raise Failed(f"could not write {path}: {error.strerror}. Everything else is done.") from error
