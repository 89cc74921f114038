"""``swordplay track``: a table in, predictions out."""

from __future__ import annotations

import os
import shlex
import stat
import sys
from typing import Any

import click

from swordplay.application.cli import options
from swordplay.application.cli.words import echo

# click keeps the lines of a paragraph that begins with a backspace as they are.
EXAMPLES = """\b
Examples:
  swordplay track prices.csv --target price
  swordplay track prices.csv --target price -o predictions.parquet --report report.html
  swordplay track prices.csv --target price -o predictions.csv --state prices.state
  swordplay track prices.csv --target price --lags 2 --drop id,note --json --quiet > summary.json
  tail -n +1 -f prices.csv | swordplay track - --target price -o -
"""


@click.command("track", epilog=EXAMPLES)
@click.argument("file")
@click.option("--target", required=True, metavar="COLUMN", help="The column to predict.")
@click.option(
    "-o", "--output", metavar="PATH", help="Predictions go here: .csv, .ndjson or .parquet, or - for standard output."
)
@click.option(
    "--output-format",
    type=click.Choice(["csv", "ndjson", "parquet"]),
    help="Of the predictions; by the name of the file unless given, and - follows the format of FILE.",
)
@click.option(
    "--id",
    "ids",
    callback=options.ids,
    metavar="A,B",
    help="Columns that the predictions carry, such as a key; by default the date of the row. none for none.",
)
@click.option(
    "--report",
    callback=options.report_path,
    metavar="PATH",
    help="Tell the story of the run in one HTML page here; one that is there is replaced.",
)
@click.option(
    "--hindsight/--no-hindsight",
    default=True,
    help="Whether the report looks back at what perfect tracking was worth (10 seconds at the most).  [default: hindsight]",
)
@click.option("--state", metavar="PATH", help="Save learner and position here; the same command again goes on from there.")
@click.option(
    "--task", type=click.Choice(["regression", "binary", "multi-class"]), help="Recognised from the target unless given."
)
@click.option("--lags", type=click.IntRange(0, 1000), default=0, metavar="K", help="Let the last K targets join the columns.")
@click.option("--features", callback=options.names, metavar="A,B", help="Columns to use; all others are left out.")
@click.option("--drop", callback=options.names, metavar="A,B", help="Columns not to use.")
@click.option(
    "--key", callback=options.names, metavar="A,B", help="Columns that tell series apart: a model for each of their values."
)
@options.REVERSE
@options.SORT
@click.option(
    "--loss", type=click.Choice(["squared", "huber"]), default="squared", help="huber where the target has heavy tails."
)
@click.option(
    "--on-bad",
    type=click.Choice(["stop", "skip"]),
    help="skip leaves bad rows out and lists them in OUTPUT.refused.csv (or FILE.refused.csv).  "
    "[default: stop; skip if FILE is a pipe]",
)
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
@click.option("--rows", type=click.IntRange(1), metavar="N", help="Stop after row N: a first look. Not with --state.")
@click.option("--save-every", type=click.IntRange(1), metavar="N", help="Rows between two saves, instead of ten seconds.")
@click.option(
    "--force", is_flag=True, help="Replace outputs that exist (a report always is), and begin anew whatever the state says."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of the summary.")
@click.option("--quiet", is_flag=True, help="No progress and no remarks, only the result.")
def track_command(
    file: str,
    target: str,
    output: str | None,
    output_format: str | None,
    ids: tuple[str, ...] | None,
    report: str | None,
    hindsight: bool,
    state: str | None,
    task: Any,
    lags: int,
    features: tuple[str, ...] | None,
    drop: tuple[str, ...] | None,
    key: tuple[str, ...] | None,
    reverse: bool,
    sort: str | None,
    types: dict[str, str] | None,
    missing: tuple[str, ...],
    header: bool | None,
    loss: Any,
    on_bad: str | None,
    format_: str | None,
    encoding: str,
    rows: int | None,
    save_every: int | None,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Predict each row of FILE before learning from it.

    FILE is CSV, NDJSON or Parquet (also .gz and .zst), rows in the order of time, or - for standard input. Whether the
    target is a number or a class is recognised and said; words, dates and missing values are taken as they come. Each
    row is predicted from the rows before it, and scored beside baselines. The summary goes to standard output,
    progress to standard error.

    The predictions have the columns row, prediction, truth, loss (squared error; for classes the log loss) and
    running_error (RMSE; for classes the share of mistakes), for classes the probability of the prediction, and the
    columns of --id, or else the date of the row.

    On a pipe bad rows are left out and listed, as if --on-bad skip had been said; in a file the first one ends the run.
    Whatever ends a run, what is done up to there is kept.

    With --state a run that was stopped or killed goes on where it was, and writes the same predictions as if nothing
    had happened; if FILE has grown since, only the new rows are read. NO_COLOR is respected.

    Rows that are not in the order of time are noticed by their dates and said, with the option that helps: --reverse,
    --sort or --key. The first two read FILE whole; row is the number in FILE all the same. With --key the predictions
    carry the key, and each key is compared with its own past.
    """
    from swordplay.application.cli.places import refused_path
    from swordplay.application.tracking import Job, Settings
    from swordplay.data.tables.source import is_live

    if rows is not None and state is not None:
        raise click.UsageError("--rows is for a first look and does not go together with --state. Leave out one of them.")
    if as_json and output == "-":
        raise click.UsageError("--json and -o - would both go to standard output. Give a file to one of them.")
    if output == "-" and sys.stdout is None:
        raise click.UsageError("-o - goes to standard output, which is closed. Open it, or give a file.")
    remark = ""
    if output == "-" and output_format == "parquet":
        raise click.UsageError("Parquet cannot be written to standard output. Give a file, or another --output-format.")
    refused = None
    if on_bad == "skip" or (on_bad is None and is_live(file)):
        refused = refused_path(output, file, state)
        remark = "" if on_bad else f"Bad rows are left out and listed in {refused}; --on-bad stop ends at the first one."
    written = {"--output": output, "the file of refused rows": refused}
    _all_different(FILE=file, **written, **_on_the_way(written), **{"--report": report, "--state": state})
    settings = Settings(target, task, lags, features, drop or (), loss, key or (), types, missing, header, ids)
    job = Job(file, settings, output, refused, state, format_, encoding, rows, save_every, force)
    job = job._replace(order=options.order(reverse, sort), output_format=output_format)
    return _track(job, report, hindsight, as_json, quiet, remark)


def _on_the_way(written: dict[str, str | None]) -> dict[str, str | None]:
    """The files in which outputs grow."""
    endings = (".partial", ".assembling")
    paths = {name: path for name, path in written.items() if path not in (None, "-")}
    return {f"the {ending} of {name}": f"{path}{ending}" for name, path in paths.items() for ending in endings}


def _all_different(**paths: str | None) -> None:
    """Refuse to write over what is read."""
    seen: dict[str, str] = {}
    for option, path in paths.items():
        if path is not None and path != "-":
            for identity in _identities(path):
                if identity in seen:
                    raise click.UsageError(
                        f"{seen[identity]} and {option} are the same file {path!r}. Give another path to one of them."
                    )
                seen[identity] = option


def _identities(path: str) -> list[str]:
    """Where a path leads, and which file is there: one file may have several names."""
    try:
        found = os.stat(path)
    except OSError:
        return [os.path.realpath(path)]
    place = [f"{found.st_dev}:{found.st_ino}"] if stat.S_ISREG(found.st_mode) and found.st_ino else []
    return [os.path.realpath(path), *place]


def _track(job: Any, report: str | None, hindsight: bool, as_json: bool, quiet: bool, remark: str) -> int:
    from rich.console import Console

    from swordplay.application.cli import keys, outcome, progress
    from swordplay.application.cli.errors import in_words
    from swordplay.application.cli.signals import Interrupts
    from swordplay.application.tracking import run

    name = "standard input" if job.source == "-" else os.path.basename(job.source)
    shown = progress.shown(name, quiet, plain=job.output == "-" and sys.stdout.isatty())
    with Interrupts() as interrupts:
        try:
            with shown as watch, in_words(lambda: watch.begun):
                watch.start(remark)
                found = run(job, watch=watch, told=interrupts)
                story = None if found.stopped else found.tracker.story(name, refused=found.refused, seconds=found.seconds)
        except KeyboardInterrupt:
            click.echo("swordplay: interrupted.", err=True)
            return interrupts.exit_code
    if story is None:
        echo(_stopped(job, found), err=True)
        return interrupts.exit_code
    if report is not None:
        _write(story, _view(job, found, quiet, hindsight), report)
    files = _files(job, report, story)
    outcomes: Any = keys if job.settings.key else outcome
    if as_json:
        click.echo(outcomes.as_json(found, story, files))
    else:
        outcomes.show(found, story, files, Console(highlight=False, stderr=job.output == "-"))
    return 0


def _view(job: Any, found: Any, quiet: bool, hindsight: bool) -> Any:
    """The first rows once more, seen from their end; or why not."""
    from swordplay.application.cli import console
    from swordplay.application.contest import FEWEST_ROWS, LeftOut, field, perspective
    from swordplay.application.contest.perspective import ROWS
    from swordplay.application.tracking import TrackingError
    from swordplay.application.tracking.whole import whole
    from swordplay.data.tables import TableError

    if not hindsight:
        return LeftOut(options.NOT_ASKED)
    if job.source == "-":
        return LeftOut("the rows came through a pipe and cannot be read again")
    if job.settings.key:
        return LeftOut("every key has a stream of its own")
    try:
        most = ROWS if job.rows is None else min(ROWS, job.rows)
        read = {"format": job.format, "encoding": job.encoding, "on_bad": job.on_bad, "order": job.order}
        table = whole(job.source, job.settings, most=most, **read)
    except (TableError, TrackingError) as error:  # too few classes so far, or a file that has changed
        return LeftOut(f"the first rows alone cannot be looked at: {error}")
    if len(table.rows) < FEWEST_ROWS:
        return LeftOut(f"there are fewer than {FEWEST_ROWS} rows")
    with console.progress(
        quiet, "The report looks back at what perfect tracking was worth; --no-hindsight leaves it out."
    ) as told:
        view = perspective(field(table.rows, table.targets, len(table.classes)), progress=told)
    rows = found.tracker.rows - found.tracker.unlabelled
    return view if isinstance(view, LeftOut) else view._replace(of=max(view.rows, rows))


def _write(story: Any, view: Any, path: str) -> None:
    from swordplay.application.cli.errors import Failed
    from swordplay.application.report import perspective_section, write_keys, write_track
    from swordplay.application.tracking.keyed import KeyedStory

    command = shlex.join(["swordplay", *sys.argv[1:]])
    try:
        if isinstance(story, KeyedStory):
            write_keys(story, path, command=command)
        else:
            write_track(story, path, command=command, more=(perspective_section(view, story.learner),))
    except OSError as error:
        raise Failed(f"could not write {path}: {error.strerror}. Everything else is done.") from error


def _files(job: Any, report: str | None, story: Any) -> dict[str, str]:
    """Where everything is."""
    paths = {
        "predictions": None if job.output == "-" else job.output,
        "refused rows": job.refused if story.refused else None,
        "report": report,
        "state": job.state,
    }
    return {what: path for what, path in paths.items() if path is not None}


def _stopped(job: Any, found: Any) -> str:
    from swordplay.data.tables.writing import is_stream

    where = f"swordplay: stopped after row {found.tracker.last:,}"
    if found.partial is not None:
        return f"{where}; the predictions so far are in {found.partial}. With --state PATH the same command could go on."
    if job.state is not None:
        return f"{where} and saved in {job.state}. Run the same command again to go on."
    sent = job.output == "-" or (job.output is not None and is_stream(job.output))
    return f"{where}{'' if sent else '; nothing was kept'}. With --state PATH the same command could go on from there."
