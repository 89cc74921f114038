"""``swordplay learn``: a table into a model, and whatever comes after it."""

from __future__ import annotations

import json
import os
import shlex
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from swordplay.cli import options
from swordplay.cli.words import counted, echo

if TYPE_CHECKING:  # with pyarrow and the engine, which --help does without
    from swordplay.cli.signals import Interrupts
    from swordplay.tracking import Job, Outcome, Settings

HELP = """Learn the rows of FILE into the model in --state.

The first run makes the model: --target names the column to predict, and the other options work as
for `swordplay track`. They are stored in the model, so that later runs need only FILE and --state.
Every row is predicted before it is learned, which gives the error.

If FILE begins with all rows of the file that was learned last, only its new rows are learned. A
FILE that shares only a part of them is refused. Any other FILE is learned from its first row, and
so are all rows of a pipe. Its columns are read as they were in the first file.

If a run was killed, the same command continues it, and the model is identical to that of an
uninterrupted run. `swordplay predict` uses the model, `swordplay inspect` describes it.
"""
EXAMPLES = """\b
Examples:
  swordplay learn 2023.csv --target price --state prices.state
  swordplay predict tomorrow.csv --state prices.state
  swordplay learn tomorrow.csv --state prices.state
"""
TOLD = {
    "target": "--target",
    "task": "--task",
    "lags": "--lags",
    "curves": "--curves",
    "features": "--features",
    "drop": "--drop",
    "key": "--key",
    "ids": "--id",
    "types": "--types",
    "missing": "--missing",
    "header": "--header",
    "loss": "--loss",
    "level": "--level",
    "no_interval": "--no-interval",
}
"""What a model is told before its first row, by what click calls it."""


@click.command("learn", help=HELP, epilog=EXAMPLES)
@click.argument("file")
@options.MODEL
@click.option("--target", metavar="COLUMN", help="The column to predict; required for a new model.")
@options.of_learning
@options.KEY
@options.IDS
@options.LOSS
@options.LEVEL
@options.NO_INTERVAL
@options.ON_BAD
@options.of_reading
@options.SAVE_EVERY
@options.WAIT
@click.option("--force", is_flag=True, help="Replace the model by a new one.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the results as one JSON object instead of the summary.",
)
@click.option("--quiet", is_flag=True, help="Print the results only, no progress and no remarks.")
@click.pass_context
def learn_command(context: click.Context, /, **typed: Any) -> int:
    """Check what was asked, make it a job and run it; the exit code."""
    from swordplay.cli.errors import in_words
    from swordplay.cli.signals import Interrupts

    with Interrupts() as interrupts:
        try:
            # The lock comes first: another run may be about to write the state that says how FILE
            # is read.
            with in_words(), options.locked(typed["state"], typed["wait"], typed["quiet"]):
                return _learn(_job(context, typed), interrupts, typed["as_json"], typed["quiet"])
        except KeyboardInterrupt:
            click.echo("swordplay: interrupted.", err=True)
            return interrupts.exit_code


def _job(context: click.Context, typed: dict[str, Any]) -> Job:
    """What is to be done, by the options and by the state."""
    from swordplay.tracking import Job
    from swordplay.tracking.paths import refused_path
    from swordplay.tracking.taught import settings_in

    file, state = typed["file"], typed["state"]
    known = None if typed["force"] else settings_in(state)
    said = {
        name: typed[name]
        for name in TOLD
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    }
    settings = _first(typed) if known is None else _same(known, said, state)
    skip = options.skips(typed["on_bad"], file)
    return Job(
        file,
        settings,
        refused=refused_path(None, file, state) if skip else None,
        state=state,
        format=typed["format_"],
        encoding=typed["encoding"],
        save_every=typed["save_every"],
        force=typed["force"],
        learn=True,
    )


def _first(typed: dict[str, Any]) -> Settings:
    """What a new model is told."""
    if typed["target"] is None:
        raise click.UsageError(
            f"there is no state {typed['state']} yet: --target says which column a new model is to "
            "predict. If there should be one, check the path of --state."
        )
    return options.settings(typed)


def _same(known: Settings, said: dict[str, Any], state: str) -> Settings:
    """What the model was told when it was new; whoever says something else is told so."""
    asked = options.settings({**options.told(known), **said})
    for name, option in TOLD.items():
        field = {"ids": "id", "no_interval": "level"}.get(name, name)
        before, now = (json.loads(json.dumps(getattr(one, field))) for one in (known, asked))
        if name in said and before != now:
            raise click.UsageError(
                f"{option} says {shown(now)}, and the model in {state} learned with "
                f"{shown(before)}. Leave out {option}, or give another --state to learn anew."
            )
    return known


def shown(value: Any) -> str:
    """A value of an option, for people."""
    return "nothing of the kind" if value in (None, [], {}) else json.dumps(value)


def _learn(job: Any, interrupts: Interrupts, as_json: bool, quiet: bool) -> int:
    from swordplay.cli import progress
    from swordplay.cli.errors import in_words
    from swordplay.tracking import run

    name = "standard input" if job.source == "-" else os.path.basename(job.source)
    with progress.shown(name, quiet) as watch, in_words(lambda: watch.begun):
        found = run(job, watch=watch, told=interrupts, compared=watch.compared, is_locked=True)
    if found.stopped:
        echo(
            f"swordplay: stopped and saved in {job.state}. Run the same command again to go on.",
            err=True,
        )
        return interrupts.exit_code
    if as_json:
        click.echo(json.dumps(_figures(job, found), indent=2, allow_nan=False))
    else:
        for line in _lines(job, name, found):
            echo(line)
    return 0


def _lines(job: Any, name: str, found: Outcome) -> list[str]:
    from swordplay.tracking.verdict import figure

    tracker = found.tracker
    first = (
        f"{name}: {counted(found.news, 'row')} learned"
        if found.news
        else f"{name}: nothing new to learn"
    )
    lines = [f"{first}; the model has seen {counted(tracker.rows, 'row')}."]
    if tracker.predictions.scored:
        measure = "RMSE" if tracker.task == "regression" else "Share of mistakes"
        lines.append(
            f"{measure} of all predictions so far: "
            f"{figure(tracker.predictions.error, tracker.task)}."
        )
    if found.refused:
        listed = f", listed in {job.refused}" if job.refused else ""
        lines.append(f"{counted(found.refused, 'row')} refused{listed}.")
    lines.append(f"State        {job.state}")
    return [*lines, f"Next         swordplay predict NEW.csv --state {shlex.quote(str(job.state))}"]


def _figures(job: Any, found: Outcome) -> dict[str, Any]:
    tracker = found.tracker
    return {
        "source": str(job.source),
        "target": tracker.settings.target,
        "task": tracker.task,
        "learned": found.news,
        "rows": tracker.rows,
        "unlabelled": tracker.unlabelled,
        "refused": found.refused,
        "error": tracker.predictions.error if tracker.predictions.scored else None,
        "state": job.state,
    }
