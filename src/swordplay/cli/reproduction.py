"""``swordplay reproduce``: the paper's experiment."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path

import click

from swordplay import __version__
from swordplay.cli import options
from swordplay.theory.reproduce import DEFAULT_ROUNDS, Row, horizons, reproduce

# click keeps the lines of a paragraph that begins with a backspace as they are.
EXAMPLES = """\b
Examples:
  swordplay reproduce --rounds 1000
  swordplay reproduce --rounds 1000 --figure regret.png
  swordplay reproduce --rounds 1000 --json --quiet > regret.json
"""


@click.command("reproduce", epilog=EXAMPLES)
@options.of_rounds(
    DEFAULT_ROUNDS,
    "Largest number of rounds T. The powers of ten from 100 up to it are played, too.",
)
@click.option(
    "--figure",
    callback=options.figure_path,
    metavar="PATH",
    help="Draw regret against T into this file (.png or .svg).",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the results as one JSON object instead of tables.",
)
@click.option("--quiet", is_flag=True, help="Print the results only, no progress and no remarks.")
def reproduce_command(rounds: int, figure: Path | None, as_json: bool, quiet: bool) -> None:
    """Repeat the experiment of the paper: regret beside the bounds.

    Every learner plays both instances of "Dynamic Regret of Convex and Smooth Functions" (NeurIPS
    2020). The learners of the paper play them twice, with the paper's rates and with rates that
    tune themselves. The results go to standard output, progress to standard error. The environment
    variable NO_COLOR turns colours off.
    """
    from swordplay.cli import console, tables

    started = time.monotonic()
    with console.progress(quiet) as report:
        rows = reproduce(horizons(rounds), progress=report)
    if as_json:
        click.echo(_json(rows))
    else:
        tables.show(rows)
    if figure is not None:
        from swordplay.report import regret_figure, save

        try:
            save(regret_figure(rows), figure)
        except OSError as error:
            raise click.ClickException(f"could not write {figure}: {error.strerror}.") from error
    if not quiet:
        drawn = f" The figure is in {figure}." if figure is not None else ""
        click.echo(f"Done in {time.monotonic() - started:.0f} s.{drawn}", err=True)


def _json(rows: Sequence[Row]) -> str:
    return json.dumps(
        {"swordplay": __version__, "rows": [row._asdict() for row in rows]},
        indent=2,
        allow_nan=False,
    )
