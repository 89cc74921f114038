"""A table in, predictions, figures and a story out."""

from __future__ import annotations

import importlib.util
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from swordplay import arguments
from swordplay.checkpoint import CheckpointError
from swordplay.frames.read_back import read_back
from swordplay.frames.result import TrackResult
from swordplay.frames.words import in_python
from swordplay.tables import TableError, frame
from swordplay.tracking import Job, Settings, Story, Task, TrackingError, figures, run
from swordplay.tracking.outputs import REFUSED
from swordplay.tracking.task import TASKS

Path_ = str | os.PathLike[str]
NAME = "the table"
"""What messages and reports call a table that has no file."""


def track(
    table: Any,
    target: str,
    report: Path_ | None = None,
    *,
    task: Task | None = None,
    lags: int = 0,
    features: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    loss: Literal["squared", "huber"] = "squared",
    on_bad: Literal["stop", "skip"] = "stop",
    output: Path_ | None = None,
    state: Path_ | None = None,
    rows: int | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    force: bool = False,
) -> TrackResult:
    """Predict each row of a table before learning from it, as ``swordplay track`` does.

    Parameters
    ----------
    table
        A pandas or polars data frame, an Arrow table, record batch or reader, or the path of a CSV, NDJSON or Parquet file;
        its rows in the order of time. Words, dates, truths and missing values are taken as they come. Dates in the index of
        a pandas frame are a column.
    target
        The column to predict. Rows where it is missing are predicted and not learned.
    report
        Where to tell the story of the run as one HTML page; one that is there is replaced.
    task
        ``"regression"``, ``"binary"`` or ``"multi-class"``; recognised from the target unless given.
    lags
        How many of the last targets join the columns.
    features, drop
        Columns to use (all unless given), and columns not to use.
    loss
        Of a regression: ``"squared"``, or ``"huber"`` where the target has heavy tails.
    on_bad
        ``"skip"`` leaves out rows that cannot be used, such as those with an infinite number, and lists them in ``refused`` of
        the result; ``"stop"`` refuses the table at the first one.
    output
        A file for the predictions as well: .csv, .ndjson or .parquet.
    state
        A file to save learner and position to; the same call with more rows goes on from there. Its predictions are kept in
        ``output``, or else beside it in ``STATE.predictions.parquet``.
    rows
        Stop after this row; not with a state.
    format, encoding
        Of a file.
    force
        Whether to replace an output that exists, and begin anew whatever the state says.

    Returns
    -------
    TrackResult
        Its ``predictions`` are an Arrow table, its ``summary`` has the figures that the command prints as JSON.

    Raises
    ------
    TableError, TrackingError, CheckpointError
        If the table, an option or a state is not as it has to be: says which, where and what to do. All are ``ValueError``.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa
    >>> size = np.random.default_rng(0).normal(size=200)
    >>> found = track(pa.table({"size": size, "price": 3.0 * size + 1.0}), target="price")
    >>> found.summary["task"], found.predictions.num_rows
    ('regression', 200)
    """
    with in_python():
        settings = _settings(target, task, lags, features, drop, loss)
        report = None if report is None else _report_path(report)
        if on_bad not in ("stop", "skip"):
            raise TrackingError(f"on_bad must be 'stop' or 'skip', got {arguments.shown(on_bad)}.")
        if rows is not None and state is not None:
            raise TrackingError("rows is for a first look and does not go together with state. Leave out one of them.")
        is_path = isinstance(table, str | os.PathLike)
        source = os.fspath(table) if is_path else frame(table, NAME)
        if source == "-":
            raise TrackingError("standard input is for the command. Give a table or the path of a file.")
        with _places(output, state) as kept:
            refused = f"{kept}.refused.csv" if on_bad == "skip" else None
            saved = None if state is None else os.fspath(state)
            count = None if rows is None else arguments.whole("rows", rows, least=1)
            job = Job(source, settings, kept, refused, saved, format, encoding, count, None, force)
            outcome = run(job)
            name = os.path.basename(str(source)) if is_path else NAME
            story = outcome.tracker.story(name, refused=outcome.refused, seconds=outcome.seconds)
            assert isinstance(story, Story)  # there is no key
            predictions = read_back(kept, outcome.tracker.schema)
            left_out = read_back(refused, REFUSED) if refused is not None and os.path.exists(refused) else REFUSED.empty_table()
            files = {
                "predictions": None if output is None and state is None else kept,
                "refused rows": refused if story.refused and not (output is None and state is None) else None,
                "report": report,
                "state": saved,
            }
    if report is not None:
        from swordplay.report import write_track

        write_track(story, report, command="swordplay.track(...)")
    present = {what: path for what, path in files.items() if path is not None}
    return TrackResult(predictions, figures(outcome, story, present), story, left_out)


def _settings(target: Any, task: Any, lags: Any, features: Any, drop: Any, loss: Any) -> Settings:
    """Checked as the command checks its options."""
    if not isinstance(target, str):
        target = str(target)  # pandas names columns by numbers, too
    if task not in (None, *TASKS):
        raise TrackingError(f"task must be one of {', '.join(TASKS)}, got {arguments.shown(task)}.")
    if loss not in ("squared", "huber"):
        raise TrackingError(f"loss must be 'squared' or 'huber', got {arguments.shown(loss)}.")
    lags = arguments.whole("lags", lags, least=0)
    return Settings(target, task, lags, None if features is None else _names("features", features), _names("drop", drop), loss)


def _names(argument: str, names: Any) -> tuple[str, ...]:
    if isinstance(names, str):
        raise TrackingError(f"{argument} must be a list of names, got the string {names!r}. Write [{names!r}].")
    return tuple(map(str, names))


@contextmanager
def _places(output: Path_ | None, state: Path_ | None) -> Iterator[str]:
    """Where the predictions are written: as asked, beside the state, or in a folder that is removed at the end."""
    if output is not None:
        yield os.fspath(output)
    elif state is not None:
        yield f"{os.fspath(state)}.predictions.parquet"
    else:
        with tempfile.TemporaryDirectory(prefix="swordplay-") as folder:
            yield os.path.join(folder, "predictions.parquet")


def _report_path(path: Path_) -> str:
    """A place for a page, looked at before a long run."""
    page = Path(path)
    if page.suffix.lower() not in (".html", ".htm"):
        raise TrackingError(f"report must end in .html, got {os.fspath(path)!r}.")
    if not page.resolve().parent.is_dir():
        raise TrackingError(
            f"report {os.fspath(path)!r} cannot be written: there is no folder {str(page.parent)!r}. Make it first."
        )
    if importlib.util.find_spec("vl_convert") is None:
        raise ImportError("a report needs vl-convert-python. Install it with: pip install vl-convert-python")
    return os.fspath(path)


__all__ = ["CheckpointError", "TableError", "TrackingError", "track"]
