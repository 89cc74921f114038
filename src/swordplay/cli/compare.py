"""``swordplay compare``: the estimator beside baselines, other packages and all learners, on one
table.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from swordplay.cli import options
from swordplay.cli.words import echo
from swordplay.core import arguments

if TYPE_CHECKING:  # with pyarrow and the engine, which --help does without
    from swordplay.comparison import Comparison
    from swordplay.report import Section
    from swordplay.tracking.whole import Whole

HELP = """Compare swordplay with baselines and other learners on the table in FILE.

FILE is read as by `swordplay track`. The participants are SwordRegressor or SwordClassifier (the
model of track, with the same error), baselines, untuned linear models of scikit-learn and river (if
installed), and the learners of this package that play convex losses on a ball, such as sp.Sword.
They are ranked by the error of predictions made before each row is learned. The table also has
their regret against the best coefficients in hindsight and the time per row. Learners that need to
know the horizon or bounds on the gradients get the true values.
"""
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


def step_sizes(
    context: click.Context, option: click.Parameter, value: str | None
) -> tuple[float, ...]:
    """Positive numbers between commas."""
    try:
        return tuple(
            arguments.positive("step", float(part))
            for part in (value or "").split(",")
            if part.strip()
        )
    except (TypeError, ValueError):
        raise click.BadParameter(
            f"must be positive numbers between commas, such as 0.1,0.01, got {value!r}."
        ) from None


def radius_of_ball(context: click.Context, option: click.Parameter, value: float) -> float:
    """A radius that makes sense."""
    if not SMALLEST_RADIUS <= value <= LARGEST_RADIUS:  # NaN compares as false
        raise click.BadParameter(
            f"must be a radius from {SMALLEST_RADIUS:g} to {LARGEST_RADIUS:g}, got {value}."
        )
    return value


class CompareRequest(NamedTuple):
    """What was typed, option by option."""

    file: str
    target: str
    report: str | None
    learners: tuple[str, ...] | None
    hindsight: bool
    step_sizes: tuple[float, ...]
    radius: float
    task: Any
    lags: int | str
    curves: str | None
    features: tuple[str, ...] | None
    drop: tuple[str, ...] | None
    reverse: bool
    sort: str | None
    types: dict[str, str] | None
    missing: tuple[str, ...]
    header: bool | None
    on_bad: str
    format_: str | None
    encoding: str
    rows: int
    as_json: bool
    quiet: bool


@click.command("compare", help=HELP, epilog=EXAMPLES)
@click.argument("file")
@options.TARGET
@click.option(
    "--report",
    callback=options.report_path,
    metavar="PATH",
    help="Write the comparison to this HTML file.",
)
@click.option(
    "--learners",
    callback=options.names,
    metavar="A,B",
    help="Participants beside the estimator, by their names in the table.  [default: all]",
)
@options.HINDSIGHT
@click.option(
    "--step-sizes",
    callback=step_sizes,
    metavar="A,B",
    help="Add OGD with these step sizes, for scaled columns.",
)
@click.option(
    "--radius",
    callback=radius_of_ball,
    type=float,
    default=8.0,
    show_default=True,
    help="Radius of the ball of coefficients.",
)
@options.of_learning
@options.REVERSE
@options.SORT
@click.option(
    "--on-bad",
    type=click.Choice(["stop", "skip"]),
    default="stop",
    help="What to do with a row that cannot be read: stop ends the command, skip leaves it out.",
)
@options.of_reading
@click.option(
    "--rows",
    type=click.IntRange(10),
    default=MOST_ROWS,
    show_default=True,
    metavar="N",
    help="Use the first N rows only.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the results as one JSON object instead of the table.",
)
@click.option("--quiet", is_flag=True, help="Print the results only, no progress and no remarks.")
def compare_command(**options_typed: Any) -> None:
    """Read the table, let everybody play it, and print who did how well."""
    from swordplay.cli import comparison, console
    from swordplay.comparison import figures

    asked = CompareRequest(**options_typed)
    if asked.hindsight and asked.report is None:
        raise click.UsageError("--hindsight adds a section to the report. Give --report as well.")
    table = _table(asked)
    with console.progress(
        asked.quiet, "All learners play the table, one after the other."
    ) as progress:
        found, more = _compared(table, asked, progress)
    name = "standard input" if asked.file == "-" else os.path.basename(asked.file)
    if asked.as_json:
        click.echo(json.dumps(figures(found, name, asked.target), indent=2, allow_nan=False))
    else:
        comparison.show(found, console.results())
    if asked.report is not None:
        _write(found, f"{name}: {asked.target}", asked.report, more)
        if not asked.quiet:
            echo(f"The report is in {asked.report}.", err=True)


def _model(asked: CompareRequest) -> dict[str, Any]:
    """What the estimator is told of lags and curves; a number of lags are columns of the table."""
    said = options.of_model(asked.lags, asked.curves)
    return said if said["lags"] == options.AUTO else said | {"lags": 0}


def _table(asked: CompareRequest) -> Whole:
    """The table in memory; what was made of it is said."""
    from swordplay.cli.errors import Refused, in_words
    from swordplay.comparison import FEWEST_ROWS
    from swordplay.tracking import Settings
    from swordplay.tracking.whole import whole

    settings = Settings(
        asked.target,
        asked.task,
        features=asked.features,
        drop=asked.drop or (),
        types=asked.types,
        missing=asked.missing,
        header=asked.header,
        **options.of_model(asked.lags, asked.curves),
    )
    order = options.order(asked.reverse, asked.sort)
    with in_words():
        table = whole(
            asked.file,
            settings,
            order,
            most=asked.rows,
            format=asked.format_,
            encoding=asked.encoding,
            on_bad=asked.on_bad,
        )
    if not asked.quiet:
        _say(table, asked.target, asked.rows)
    if len(table.rows) < FEWEST_ROWS:
        raise Refused(
            f"{asked.file}: a comparison needs at least {FEWEST_ROWS} rows with a target, got "
            f"{len(table.rows)}."
        )
    return table


def _compared(
    table: Whole, asked: CompareRequest, progress: Any
) -> tuple[Comparison, tuple[Section, ...]]:
    """The results of all participants, and the section that --hindsight adds to the report."""
    from swordplay.cli.errors import Refused
    from swordplay.comparison import (
        UnknownLearner,
        compare,
        field,
        perspective,
    )

    game = field(
        table.rows, table.targets, len(table.classes), radius=asked.radius, widths=table.widths
    )
    game = game._replace(start=table.start, model=_model(asked))
    try:
        found = compare(game, step_sizes=asked.step_sizes, only=asked.learners, progress=progress)
    except UnknownLearner as error:
        raise Refused(f"--learners: {error}") from error
    if not asked.hindsight:
        return found, ()
    from swordplay.report import perspective_section

    return found, (perspective_section(perspective(game, progress=progress)),)


def _say(table: Whole, target: str, rows: int) -> None:
    """What was made of the table, on standard error."""
    from swordplay.cli.words import LONGEST_NAME, columns, printable

    task = f"{printable(target, LONGEST_NAME)}: {table.recognised.task}, as {table.recognised.why}."
    refused = [f"{table.refused:,} bad row(s) left out."] if table.refused else []
    cut = [f"Only the first {rows:,} rows are looked at; --rows N takes more."] if table.cut else []
    for line in (*table.remarks, task, *columns(table.plans), *refused, *cut):
        click.echo(printable(line), err=True)


def _write(found: Comparison, title: str, path: str, more: Sequence[Section]) -> None:
    from swordplay.cli.errors import Failed
    from swordplay.report import write_compare

    try:
        write_compare(found, title, path, more=more)
    except OSError as error:
        raise Failed(
            f"could not write {path}: {error.strerror}. Everything else is done."
        ) from error
