"""A table in, predictions, figures and a story out."""

from __future__ import annotations

import importlib.util
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from swordplay.application.frames.read_back import read_back
from swordplay.application.frames.result import TrackResult
from swordplay.application.frames.words import in_python
from swordplay.application.tracking import Job, Settings, Story, Task, TrackingError, figures, run
from swordplay.application.tracking.figures import keyed_figures
from swordplay.application.tracking.keyed import KeyedStory
from swordplay.application.tracking.ordered import Order
from swordplay.application.tracking.outputs import REFUSED
from swordplay.application.tracking.task import TASKS
from swordplay.base import arguments
from swordplay.base.checkpoint import CheckpointError
from swordplay.data.tables import Frame, TableError, frame

Path_ = str | os.PathLike[str]
NAME = "the table"
"""What messages and reports call a table that has no file."""
COMMAND = "swordplay.track(...)"
"""How a report says that it was made."""


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
    key: str | Sequence[str] = (),
    sort: str | None = None,
    reverse: bool = False,
    id: str | Sequence[str] | None = None,
    types: Mapping[str, str] | None = None,
    missing: Sequence[str] = (),
    on_bad: Literal["stop", "skip"] = "stop",
    output: Path_ | None = None,
    state: Path_ | None = None,
    rows: int | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    header: bool | None = None,
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
    key
        One or more columns whose values name series: each has a model of its own.
    sort, reverse
        A column to sort the rows by, such as their date; or whether the last row is the first.
    id
        One or more columns that the predictions carry; the date of the row unless given, none for ``()``.
    types
        What columns are, such as ``{"price": "number", "day": "day-first"}``, where that was not recognised.
    missing
        Further texts that stand for nothing.
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
    format, encoding, header
        Of a file: its format, the encoding of its text, and whether CSV begins with names; recognised unless given.
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
        settings = Settings(
            str(target),  # pandas names columns by numbers, too
            _one_of("task", task, (None, *TASKS)),
            arguments.whole("lags", lags, least=0),
            None if features is None else _names("features", features),
            _names("drop", drop),
            _one_of("loss", loss, ("squared", "huber")),
            _names("key", [key] if isinstance(key, str) else key),
            types,
            _names("missing", missing),
            header,
            None if id is None else _names("id", [id] if isinstance(id, str) else id),
        )
        job = Job(
            _source(table),
            settings,
            state=None if state is None else os.fspath(state),
            format=format,
            encoding=encoding,
            rows=None if rows is None else arguments.whole("rows", rows, least=1),
            force=force,
            order=Order(reverse, sort),
        )
        if rows is not None and state is not None:
            raise TrackingError("rows is for a first look and does not go together with state. Leave out one of them.")
        if reverse and sort is not None:
            raise TrackingError("sort and reverse do not go together. Leave out one of them.")
        skip = _one_of("on_bad", on_bad, ("stop", "skip")) == "skip"
        page = None if report is None else _report_path(report)
        with _places(output, state) as kept:
            return _tracked(job._replace(output=kept, refused=f"{kept}.refused.csv" if skip else None), page, output)


def _tracked(job: Job, report: str | None, output: Path_ | None) -> TrackResult:
    """Run a job and gather what it gives."""
    outcome = run(job)
    name = NAME if isinstance(job.source, Frame) else os.path.basename(job.source)
    story = outcome.tracker.story(name, refused=outcome.refused, seconds=outcome.seconds)
    assert job.output is not None
    predictions = read_back(job.output, outcome.tracker.schema)
    refused = REFUSED.empty_table()
    if job.refused is not None and os.path.exists(job.refused):
        refused = read_back(job.refused, REFUSED)
    if report is not None:
        _write(story, report)
    stay = output is not None or job.state is not None  # else they go with the folder they are in
    paths = {
        "predictions": job.output if stay else None,
        "refused rows": job.refused if stay and story.refused else None,
        "report": report,
        "state": job.state,
    }
    files = {what: path for what, path in paths.items() if path is not None}
    told = figures(outcome, story, files) if isinstance(story, Story) else keyed_figures(outcome, story, files)
    return TrackResult(predictions, told, story, refused)


def _write(story: Story | KeyedStory, path: str) -> None:
    from swordplay.application.report import write_keys, write_track

    if isinstance(story, KeyedStory):
        write_keys(story, path, command=COMMAND)
    else:
        write_track(story, path, command=COMMAND)


def _source(table: Any) -> str | Frame:
    """A path, or a table in memory."""
    if not isinstance(table, str | os.PathLike):
        return frame(table, NAME)
    path = os.fspath(table)
    if path == "-":
        raise TrackingError("standard input is for the command. Give a table or the path of a file.")
    return path


def _one_of(argument: str, value: Any, known: Sequence[Any]) -> Any:
    if value not in known:
        listed = ", ".join(repr(one) for one in known if one is not None)
        raise TrackingError(f"{argument} must be one of {listed}, got {arguments.shown(value)}.")
    return value


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
