"""``swordplay track``: a table in, predictions out."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from swordplay.cli import options
from swordplay.cli.words import echo

if TYPE_CHECKING:  # with pyarrow and the engine, which --help does without
    from swordplay.report import Section
    from swordplay.tracking import Job, Outcome
    from swordplay.tracking.figures import AnyStory

HELP = """Predict each row of FILE before learning from it.

FILE is a CSV, NDJSON or Parquet file (also .gz and .zst), or - for standard input. Its rows have to
be in the order of time. The task is detected from the target: numbers give a regression, words and
few whole numbers a classification. Words, dates and missing values need no preparation. Each
prediction is compared with the truth and with baselines. The summary goes to standard output,
progress to standard error.

The predictions have the columns row, the columns of --id (by default the date), prediction, truth,
loss (squared error; for classes the log loss) and running_error (RMSE; for classes the share of
mistakes). For classes they also have the probability of the prediction, for numbers an interval
from lower to upper that contains the truth in 90 % of the rows (see --level and --no-interval).

A bad row of a file ends the run; bad rows of a pipe are left out and listed (see --on-bad). When a
run ends early, the predictions so far are kept.

With --state a run that was stopped or killed continues where it was, and writes the same
predictions as an uninterrupted run. If FILE has grown, only the new rows are read.

If the dates show that the rows are not in the order of time, a remark names the option that helps:
--reverse, --sort or --key. The first two load FILE into memory. With --key the predictions have the
columns of the key, and each series is compared with its own baselines.

The environment variable NO_COLOR turns colours off.
"""
# click keeps the lines of a paragraph that begins with a backspace as they are.
EXAMPLES = """\b
Examples:
  swordplay track prices.csv --target price
  swordplay track prices.csv --target price -o predictions.parquet --report report.html
  swordplay track prices.csv --target price -o predictions.csv --state prices.state
  swordplay track prices.csv --target price --lags 2 --drop id,note --json --quiet > summary.json
  tail -n +1 -f prices.csv | swordplay track - --target price -o -
"""


class TrackRequest(NamedTuple):
    """What was typed, option by option."""

    file: str
    target: str
    output: str | None
    output_format: str | None
    ids: tuple[str, ...] | None
    report: str | None
    hindsight: bool
    state: str | None
    task: Any
    lags: int | str
    curves: str | None
    features: tuple[str, ...] | None
    drop: tuple[str, ...] | None
    key: tuple[str, ...] | None
    show_keys: tuple[str, ...]
    reverse: bool
    sort: str | None
    types: dict[str, str] | None
    missing: tuple[str, ...]
    header: bool | None
    loss: Any
    level: float | None
    no_interval: bool
    on_bad: str | None
    format_: str | None
    encoding: str
    rows: int | None
    save_every: int | None
    wait: float | None
    force: bool
    as_json: bool
    quiet: bool


@click.command("track", help=HELP, epilog=EXAMPLES)
@click.argument("file")
@options.TARGET
@click.option(
    "-o",
    "--output",
    metavar="PATH",
    help="Write the predictions to this file (.csv, .ndjson or .parquet); - for standard output.",
)
@options.OUTPUT_FORMAT
@options.IDS
@click.option(
    "--report",
    callback=options.report_path,
    metavar="PATH",
    help="Write a report of the run, one HTML page, to this file. An existing one is replaced.",
)
@options.HINDSIGHT
@click.option(
    "--state",
    metavar="PATH",
    help="Save the run in this file; the same command continues from there.",
)
@options.of_learning
@options.KEY
@options.SHOW_KEY
@options.REVERSE
@options.SORT
@options.LOSS
@options.LEVEL
@options.NO_INTERVAL
@options.ON_BAD
@options.of_reading
@click.option(
    "--rows",
    type=click.IntRange(1),
    metavar="N",
    help="Stop after row N; not together with --state.",
)
@options.SAVE_EVERY
@options.WAIT
@click.option(
    "--force",
    is_flag=True,
    help="Replace existing output files, and begin anew even if --state holds a run.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the results as one JSON object instead of the summary.",
)
@click.option("--quiet", is_flag=True, help="Print the results only, no progress and no remarks.")
def track_command(**options_typed: Any) -> int:
    """Check what was asked, make it a job and run it; the exit code."""
    from swordplay.tables.lean import leave_pandas_out
    from swordplay.tracking import TrackingError
    from swordplay.tracking.paths import require_different

    if click.get_current_context().obj:
        leave_pandas_out()
    asked = TrackRequest(**options_typed)
    _require_sense(asked)
    job, remark = _job(asked)
    try:
        require_different(job, asked.report)
    except TrackingError as error:
        raise click.UsageError(str(error)) from error
    return _track(job, asked, remark)


def _require_sense(asked: TrackRequest) -> None:
    """Refuse options that do not go together."""
    if asked.rows is not None and asked.state is not None:
        raise click.UsageError(
            "--rows is for a first look and does not go together with --state. Leave out one of "
            "them."
        )
    if asked.as_json and asked.output == "-":
        raise click.UsageError(
            "--json and -o - would both go to standard output. Give a file to one of them."
        )
    if asked.level is not None and asked.no_interval:
        raise click.UsageError(
            "--level does not go together with --no-interval. Leave out one of them."
        )
    if asked.hindsight and asked.report is None:
        raise click.UsageError("--hindsight adds a section to the report. Give --report as well.")
    if asked.hindsight and asked.key:
        raise click.UsageError(
            "--hindsight needs a single series and does not go together with --key. Leave out one "
            "of them."
        )
    if asked.show_keys and not asked.key:
        raise click.UsageError(
            "--show-key shows one of the keys that --key tells apart. Give --key as well."
        )
    if asked.output == "-" and sys.stdout is None:
        raise click.UsageError(
            "-o - goes to standard output, which is closed. Open it, or give a file."
        )
    if asked.output == "-" and asked.output_format == "parquet":
        raise click.UsageError(
            "Parquet cannot be written to standard output. Give a file, or another --output-format."
        )


def _job(asked: TrackRequest) -> tuple[Job, str]:
    """What is to be done, and what has to be said before it begins."""
    from swordplay.tracking import Job
    from swordplay.tracking.paths import refused_path

    skip = options.skips(asked.on_bad, asked.file)
    refused = refused_path(asked.output, asked.file, asked.state) if skip else None
    unasked = skip and asked.on_bad is None
    job = Job(
        asked.file,
        options.settings(asked._asdict()),
        output=asked.output,
        refused=refused,
        state=asked.state,
        format=asked.format_,
        encoding=asked.encoding,
        rows=asked.rows,
        save_every=asked.save_every,
        wait=asked.wait,
        force=asked.force,
        order=options.order(asked.reverse, asked.sort),
        output_format=asked.output_format,
    )
    said = f"Bad rows are left out and listed in {refused}; --on-bad stop ends at the first one."
    return job, said if unasked else ""


def _track(job: Job, asked: TrackRequest, remark: str) -> int:
    from rich.console import Console

    from swordplay.cli import outcome, progress, warming
    from swordplay.cli.errors import in_words
    from swordplay.cli.signals import Interrupts
    from swordplay.tracking import run
    from swordplay.tracking.paths import written_files

    if not asked.key:  # many keys are played by other kernels
        if job.settings.curves is not None:
            warming.beside(["curves"])  # in a process of its own, as the first row waits for it
        warming.beside(["steps"] if asked.no_interval else ["steps", "intervals"])
    name = "standard input" if job.source == "-" else os.path.basename(asked.file)
    shown = progress.shown(name, asked.quiet, plain=job.output == "-" and sys.stdout.isatty())
    with Interrupts() as interrupts:
        try:
            with (
                in_words(),
                options.locked(job.state, job.wait, asked.quiet),
                shown as watch,
                in_words(lambda: watch.begun),
            ):
                warming.say_before_compiling(watch.say)
                watch.start(remark)
                found = run(
                    job, watch=watch, told=interrupts, compared=watch.compared, is_locked=True
                )
                story = None if found.stopped else _story(found, name, asked.show_keys)
        except KeyboardInterrupt:
            click.echo("swordplay: interrupted.", err=True)
            return interrupts.exit_code
    if story is None:
        echo(_stopped(job, found), err=True)
        return interrupts.exit_code
    if asked.report is not None:
        more = (_hindsight(job, found, asked.quiet),) if asked.hindsight else ()
        _write(story, asked.report, more)
    files = written_files(job, asked.report, story.refused)
    if asked.as_json:
        click.echo(outcome.as_json(found, story, files))
    else:
        outcome.show(found, story, files, Console(highlight=False, stderr=job.output == "-"))
    return 0


def _story(found: Outcome, name: str, show_keys: tuple[str, ...]) -> AnyStory:
    """What the run has to tell, and the keys that were asked for."""
    from swordplay.tracking.bulk import BulkTracker
    from swordplay.tracking.keyed import KeyedTracker
    from swordplay.tracking.keyed_story import KeyedStory, with_key

    story = found.tracker.story(name, refused=found.refused, seconds=found.seconds)
    for values in show_keys:
        assert isinstance(story, KeyedStory)
        assert isinstance(found.tracker, KeyedTracker | BulkTracker)
        story = with_key(story, found.tracker, options.names(None, None, values) or ())
    return story


def _hindsight(job: Job, found: Outcome, quiet: bool) -> Section:
    """The section with the regret of the run against the best models of hindsight."""
    from swordplay.cli import console
    from swordplay.comparison import perspective_of_run
    from swordplay.report import perspective_section
    from swordplay.tracking.contestants import LEARNER

    about = "The best models of hindsight are computed for the report."
    with console.progress(quiet, about) as progress:
        view = perspective_of_run(job, found.tracker, progress=progress)
    return perspective_section(view, LEARNER)


def _write(story: AnyStory, path: str, more: Sequence[Section]) -> None:
    from swordplay.cli.errors import Failed
    from swordplay.report import write_story

    command = shlex.join(["swordplay", *sys.argv[1:]])
    try:
        write_story(story, path, command=command, more=more)
    except OSError as error:
        raise Failed(
            f"could not write {path}: {error.strerror}. Everything else is done."
        ) from error


def _stopped(job: Job, found: Outcome) -> str:
    from swordplay.tables.writing import is_stream

    where = f"swordplay: stopped after row {found.tracker.last:,}"
    if found.partial is not None:
        return (
            f"{where}; the predictions so far are in {found.partial}. With --state PATH the "
            "same command could go on."
        )
    if job.state is not None:
        return f"{where} and saved in {job.state}. Run the same command again to go on."
    sent = job.output == "-" or (job.output is not None and is_stream(job.output))
    return (
        f"{where}{'' if sent else '; nothing was kept'}. With --state PATH the same command "
        "could go on from there."
    )
