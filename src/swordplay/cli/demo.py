"""``swordplay demo``: all there is to see, on a stream that comes with the package, in one
report.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from swordplay.cli import options

# click keeps the lines of a paragraph that begins with a backspace as they are.
EXAMPLES = """\b
Examples:
  swordplay demo
  swordplay demo --report out/report.html --rounds 1000
"""
ROUNDS = 100_000
"""The largest T of the paper's instances."""


@click.command("demo", epilog=EXAMPLES)
@click.option(
    "--report",
    default="swordplay-demo.html",
    show_default=True,
    callback=options.report_path,
    metavar="PATH",
    help="Write the report to this file.",
)
@options.of_rounds(ROUNDS, "Largest number of rounds of the paper's experiment.")
@click.option("--quiet", is_flag=True, help="Print the results only, no progress and no remarks.")
def demo_command(report: str, rounds: int, quiet: bool) -> None:
    """Run track, compare and reproduce on a sample stream, and write one report.

    The stream is "Elec2", which comes with the package: whether the price of electricity in New
    South Wales rises or falls, each half hour from 1996 to 1998. Nothing is downloaded.
    """
    from swordplay import datasets
    from swordplay.cli import comparison, console, outcome, tables
    from swordplay.comparison import compare, field, perspective
    from swordplay.theory.reproduce import horizons, reproduce

    started, out = time.monotonic(), console.results()
    stream = datasets.electricity()
    found, story = _track(stream.path, stream.target, quiet)
    outcome.show(found, story, {}, out)
    out.print()
    with console.progress(quiet, "All learners play the table, one after the other.") as progress:
        game = field(stream.features, stream.targets, 2)
        compared, view = compare(game, progress=progress), perspective(game, progress=progress)
    comparison.show(compared, out)
    out.print()
    with console.progress(quiet) as progress:
        rows = reproduce(horizons(rounds), progress=progress)
    tables.show(rows, out)
    _write(story, compared, view, rows, Path(report))
    click.echo(
        f"\nThe report is in {report}"
        + ("." if quiet else f" ({time.monotonic() - started:.0f} s in all).")
    )


def _track(path: Path, target: str, quiet: bool) -> tuple[Any, Any]:
    """What ``swordplay track`` would do."""
    from swordplay.cli import progress, warming
    from swordplay.tracking import Job, Settings, run

    warming.beside(["curves"])
    warming.beside(["steps"])  # the stream has classes, and no intervals
    with progress.shown(path.name, quiet) as watch:
        warming.say_before_compiling(watch.say)
        found = run(
            Job(str(path), Settings(target, lags=options.AUTO, curves=options.AUTO)), watch=watch
        )
    return found, found.tracker.story(path.name, refused=found.refused, seconds=found.seconds)


def _write(story: Any, compared: Any, view: Any, rows: Any, path: Path) -> None:
    from swordplay.cli.errors import Failed
    from swordplay.report import (
        HtmlPage,
        compare_section,
        perspective_section,
        reproduce_section,
        track_sections,
        write,
    )

    *tracked, columns, making = track_sections(story, command="swordplay demo")
    page = HtmlPage(
        title="swordplay on a stream that drifts",
        facts="Does the price of electricity rise or fall? Predicted half hour by half hour, "
        "before each answer was seen",
        sections=(
            *tracked,
            compare_section(compared),
            perspective_section(view, story.learner),
            reproduce_section(rows),
            columns,
            making,
        ),
    )
    try:
        write(page, path)
    except OSError as error:
        raise Failed(
            f"could not write {path}: {error.strerror}. Give another place with --report."
        ) from error
