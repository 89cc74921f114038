"""``swordplay predict``: predictions for a table whose answers are not known yet."""

from __future__ import annotations

import json
import os
import shlex
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from swordplay.cli import options
from swordplay.cli.words import counted, echo, listed

if TYPE_CHECKING:  # with pyarrow and the engine, which --help does without
    from swordplay.tracking.predicting import Predicted
    from swordplay.tracking.taught import Taught

HELP = """Predict the rows of FILE with the model of `swordplay learn` or `swordplay track`.

FILE is a CSV, NDJSON or Parquet file (also .gz and .zst), or - for standard input. It needs the
columns that the model learned from, in any order; they are read as they were then. A target column
is ignored. Nothing is learned, and --state is not changed. The first row is taken to follow the
last learned row. For all further rows the last targets are unknown, and the experts that use them
are left out.

The predictions have the columns row, the columns of --id (by default the date), prediction, for
numbers the interval from lower to upper, and for classes the probability of the prediction. Only
the first row has an interval (with --key the first row of each series): intervals are calibrated
for the row right after the last learned one, and would be too narrow for later rows. With --key
each row is predicted by the model of its series; rows of unknown series have no prediction.
"""
EXAMPLES = """\b
Examples:
  swordplay learn prices.csv --target price --state prices.state
  swordplay predict tomorrow.csv --state prices.state
  swordplay predict tomorrow.csv --state prices.state -o predictions.parquet
  tail -n +1 -f new.ndjson | swordplay predict - --state prices.state
"""


class PredictRequest(NamedTuple):
    """What was typed, option by option."""

    file: str
    state: str
    output: str
    output_format: str | None
    on_bad: str | None
    format_: str | None
    encoding: str
    force: bool
    as_json: bool
    quiet: bool


@click.command("predict", help=HELP, epilog=EXAMPLES)
@click.argument("file")
@options.MODEL
@click.option(
    "-o",
    "--output",
    default="-",
    metavar="PATH",
    help="Write the predictions to this file (.csv, .ndjson or .parquet); - for standard output.  "
    "[default: -]",
)
@options.OUTPUT_FORMAT
@options.ON_BAD
@options.FORMAT
@options.ENCODING
@click.option("--force", is_flag=True, help="Replace an existing output file.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print a summary as one JSON object; needs --output PATH.",
)
@click.option("--quiet", is_flag=True, help="Print no remarks.")
def predict_command(**options_typed: Any) -> int:
    """Check what was asked, predict, and say what was done; the exit code."""
    asked = PredictRequest(**options_typed)
    if asked.as_json and asked.output == "-":
        raise click.UsageError(
            "--json and the predictions would both go to standard output. Give --output PATH."
        )
    if asked.output == "-" and sys.stdout is None:
        raise click.UsageError(
            "the predictions go to standard output, which is closed. Open it, or give --output "
            "PATH."
        )
    if asked.output == "-" and asked.output_format == "parquet":
        raise click.UsageError("Parquet cannot be written to standard output. Give --output PATH.")
    from swordplay.cli import progress
    from swordplay.cli.errors import in_words
    from swordplay.cli.signals import Interrupts
    from swordplay.tracking.predicting import predict

    name = "standard input" if asked.file == "-" else os.path.basename(asked.file)
    still = asked.quiet or (asked.output == "-" and sys.stdout.isatty())
    with Interrupts() as interrupts:
        try:
            with progress.counted_rows(name, still) as watch, in_words():
                model = _model(asked.state)
                rows = model.tracker.rows
                found = predict(_job(asked, model), model, asked.state, interrupts, watch)
        except KeyboardInterrupt:
            click.echo("swordplay: interrupted.", err=True)
            return interrupts.exit_code
    if asked.as_json:
        click.echo(json.dumps(_figures(asked, found, rows), indent=2, allow_nan=False))
    elif not asked.quiet:
        for line in _lines(asked, found, rows):
            echo(line, err=True)
    return interrupts.exit_code if found.stopped else 0


def _model(path: str) -> Taught:
    """What was learned, or how to have something learned."""
    from swordplay.core.checkpoint import CheckpointMissing
    from swordplay.tracking import TrackingError
    from swordplay.tracking.taught import taught

    try:
        return taught(path)
    except CheckpointMissing as error:
        raise TrackingError(
            f"there is no state {path}. Check the path, or let a model learn first: "
            f"swordplay learn FILE --target COLUMN --state {shlex.quote(path)}"
        ) from error


def _job(asked: PredictRequest, model: Taught) -> Any:
    """What is to be read and written."""
    from swordplay.tracking import Job, TrackingError
    from swordplay.tracking.paths import refused_path, require_different

    refused = (
        refused_path(asked.output, asked.file, None)
        if options.skips(asked.on_bad, asked.file)
        else None
    )
    job = Job(
        asked.file,
        model.settings,
        output=asked.output,
        refused=refused,
        format=asked.format_,
        encoding=asked.encoding,
        force=asked.force,
        output_format=asked.output_format,
    )
    try:
        require_different(job._replace(state=asked.state), None)
    except TrackingError as error:
        raise click.UsageError(str(error)) from error
    return job


def _lines(asked: PredictRequest, found: Predicted, learned: int) -> list[str]:
    lines = [
        f"{counted(found.rows, 'row')} predicted by a model that has seen "
        f"{counted(learned, 'row')}."
    ]
    lines += _remarks(found)
    if found.unknown:
        lines.append(f"Not looked at, as the model does not know them: {listed(found.unknown)}.")
    if found.silent:
        lines.append(
            f"{counted(found.silent, 'row')} without a prediction: nothing was learned of their "
            "series."
        )
    if found.refused:
        lines.append(
            f"{counted(found.refused, 'row')} refused, such as row {found.refusals[0].row:,}: "
            f"{_why(found)}."
        )
    if found.stopped:
        lines.append(
            "Stopped."
            if found.partial is None
            else f"Stopped; the predictions so far are in {found.partial}."
        )
    elif asked.output != "-":
        lines.append(f"Predictions  {asked.output}")
    return lines


def _remarks(found: Predicted) -> list[str]:
    """Why later rows have no interval, and what their forecasts are made without."""
    lines = []
    if found.without_interval:
        rows = (
            f"{counted(found.without_interval, 'row')} "
            f"{'has' if found.without_interval == 1 else 'have'} no interval"
        )
        lines.append(
            f"{rows}: intervals are calibrated for the row right after the last learned one, and "
            "would be too narrow for later rows."
        )
    if found.rows > 1 and found.lag_weight > 0.5:
        lines.append(
            f"{100 * found.lag_weight:.0f} % of the weight is on experts that use the last "
            "targets. Those before the later rows are not known: their forecasts are made without "
            "them, and are less accurate than that of the first row."
        )
    return lines


def _why(found: Predicted) -> str:
    bad = found.refusals[0]
    return f"{'' if bad.column is None else f'column {bad.column!r}, '}'{bad.value}' {bad.reason}"


def _figures(asked: PredictRequest, found: Predicted, learned: int) -> dict[str, Any]:
    return {
        "rows": found.rows,
        "without_prediction": found.silent,
        "without_interval": found.without_interval,
        "weight_of_last_targets": found.lag_weight,
        "refused": found.refused,
        "unknown_columns": list(found.unknown),
        "model_rows": learned,
        "stopped": found.stopped,
        "files": {"predictions": asked.output, "state": asked.state},
    }
