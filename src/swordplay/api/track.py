"""A table in, predictions, figures and a story out."""

from __future__ import annotations

import importlib.util
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

from swordplay.api.read_back import read_back
from swordplay.api.result import TrackResult
from swordplay.api.words import in_python
from swordplay.core import arguments
from swordplay.core.checkpoint import CheckpointError
from swordplay.core.options import completed, spelled_out
from swordplay.estimators.tuning import AUTO, checked_curves, checked_lags
from swordplay.intervals import SwordIntervals
from swordplay.tables import Frame, TableError, frame
from swordplay.tracking import Job, Settings, Task, TrackingError, figures, run
from swordplay.tracking.ordered import Order
from swordplay.tracking.outputs import REFUSED
from swordplay.tracking.paths import written_files
from swordplay.tracking.state_lock import checked_wait, locked
from swordplay.tracking.task import TASKS

Path_ = str | os.PathLike[str]
NAME = "the table"
"""What messages and reports call a table that has no file."""
COMMAND = "swordplay.track(...)"
"""How a report says that it was made."""


class TrackOptions(TypedDict, total=False):
    """What may be said to :func:`track` beside the table and its target.

    task
        ``"regression"``, ``"binary"`` or ``"multi-class"``; recognised from the target unless
        given.
    lags
        How many of the last targets join the columns; ``"auto"`` lets experts with and without them
        compete.
    curves
        ``"auto"``, ``"rich"`` or None, as in :class:`swordplay.sklearn.SwordRegressor`. Keys have
        first-order models only.
    features, drop
        Columns to use (all unless given), and columns not to use.
    loss
        Of a regression: ``"squared"``, or ``"huber"`` where the target has heavy tails.
    level
        What share of the truths the intervals of a regression are to hold: 0.9 unless given, None
        for no intervals. The predictions then have ``lower`` and ``upper``; with keys each key has
        intervals of its own.
    key
        One or more columns whose values name series: each has a model of its own.
    sort, reverse
        A column to sort the rows by, such as their date; or whether the last row is the first.
    id
        One or more columns that the predictions carry; the date of the row unless given, none for
        ``()``.
    types
        What columns are, such as ``{"price": "number", "day": "day-first"}``, where that was not
        recognised.
    missing
        Further texts that stand for nothing.
    on_bad
        ``"skip"`` leaves out rows that cannot be used, such as those with an infinite number, and
        lists them in ``refused`` of the result; ``"stop"`` refuses the table at the first one.
    output
        A file for the predictions as well: .csv, .ndjson or .parquet.
    state
        A file to save learner and position to; the same call with more rows goes on from there. Its
        predictions are kept in ``output``, or else beside it in ``STATE.predictions.parquet``.
    wait
        Seconds to wait while another run uses the state, after which the call is refused; None (the
        default) waits until that run ends. A wait of more than a second is reported by the logger
        ``swordplay``.
    rows
        Stop after this row; not with a state.
    format, encoding, header
        Of a file: its format, the encoding of its text, and whether CSV begins with names;
        recognised unless given.
    hindsight
        Whether the report has a section on the regret against the best models of hindsight, which
        takes up to 10 seconds. It needs ``report``, and a single series.
    force
        Whether to replace an output that exists, and begin anew whatever the state says.
    """

    task: Task | None
    lags: int | str
    curves: str | None
    features: Sequence[str] | None
    drop: Sequence[str]
    loss: Literal["squared", "huber"]
    level: float | None
    key: str | Sequence[str]
    sort: str | None
    reverse: bool
    id: str | Sequence[str] | None
    types: Mapping[str, str] | None
    missing: Sequence[str]
    on_bad: Literal["stop", "skip"]
    output: Path_ | None
    state: Path_ | None
    wait: float | None
    rows: int | None
    format: str | None
    encoding: str
    header: bool | None
    hindsight: bool
    force: bool


USUAL: TrackOptions = {
    "task": None,
    "lags": AUTO,
    "curves": AUTO,
    "features": None,
    "drop": (),
    "loss": "squared",
    "level": 0.9,
    "key": (),
    "sort": None,
    "reverse": False,
    "id": None,
    "types": None,
    "missing": (),
    "on_bad": "stop",
    "output": None,
    "state": None,
    "wait": None,
    "rows": None,
    "format": None,
    "encoding": "utf-8",
    "header": None,
    "hindsight": False,
    "force": False,
}
"""What holds unless something is said."""


@spelled_out(TrackOptions, USUAL)
def track(
    table: Any, target: str, report: Path_ | None = None, **options: Unpack[TrackOptions]
) -> TrackResult:
    """Predict each row of a table before learning from it, as ``swordplay track`` does.

    Parameters
    ----------
    table
        A pandas or polars data frame, an Arrow table, record batch or reader, or the path of a CSV,
        NDJSON or Parquet file; its rows in the order of time. Words, dates, truths and missing
        values are taken as they come. Dates in the index of a pandas frame are a column.
    target
        The column to predict. Rows where it is missing are predicted and not learned.
    report
        Where to tell the story of the run as one HTML page; one that is there is replaced.
    **options
        See :class:`TrackOptions`.

    Returns
    -------
    TrackResult
        Its ``predictions`` are an Arrow table, its ``summary`` has the figures that the command
        prints as JSON.

    Raises
    ------
    TableError, TrackingError, CheckpointError
        If the table, an option or a state is not as it has to be: says which, where and what to do.
        All are ``ValueError``.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa
    >>> size = np.random.default_rng(0).normal(size=200)
    >>> found = track(pa.table({"size": size, "price": 3.0 * size + 1.0}), target="price")
    >>> found.summary["task"], found.predictions.num_rows
    ('regression', 200)
    """
    asked = completed("track", options, USUAL)
    with in_python():
        settings = _settings(_name("target", target), asked)
        job = _job(_source(table), settings, asked)
        skip = _one_of("on_bad", asked["on_bad"], ("stop", "skip")) == "skip"
        page = None if report is None else _report_path(report)
        _require_report(asked, page)
        with (
            locked(job.state, job.wait),
            _predictions_path(asked["output"], asked["state"]) as kept,
        ):
            refused = f"{kept}.refused.csv" if skip else None
            return _tracked(
                job._replace(output=kept, refused=refused),
                page,
                asked["output"],
                hindsight=asked["hindsight"],
            )


def _settings(target: str, asked: TrackOptions) -> Settings:
    """What was said about the table, checked."""
    features, names, types = asked["features"], asked["id"], asked["types"]
    key = _one_or_more("key", asked["key"])
    lags, curves = checked_lags(asked["lags"]), None if key else checked_curves(asked["curves"])
    if types is not None and not (
        isinstance(types, Mapping) and all(isinstance(kind, str) for kind in types.values())
    ):
        raise TrackingError(
            f"types must say what columns are, such as {{'price': 'number'}}, got "
            f"{arguments.short_repr(types)}."
        )
    return Settings(
        target,
        _one_of("task", asked["task"], (None, *TASKS)),
        0 if lags == AUTO and curves is None else lags,
        None if features is None else _names("features", features),
        _names("drop", asked["drop"]),
        _one_of("loss", asked["loss"], ("squared", "huber")),
        key,
        None if types is None else {_name("types", name): kind for name, kind in types.items()},
        _names("missing", asked["missing"]),
        asked["header"],
        None if names is None else _one_or_more("id", names),
        _level(asked["level"]),
        curves,
    )


def _level(level: Any) -> float | None:
    """A share between 0 and 1, or None."""
    if level is None:
        return None
    try:
        (clean,) = SwordIntervals((level,)).levels
    except (TypeError, ValueError) as error:
        raise TrackingError(str(error)) from error
    return clean


def _job(source: str | Frame, settings: Settings, asked: TrackOptions) -> Job:
    """What is to be done, but for where predictions go.

    Options that do not go together are refused.
    """
    rows, state, sort = asked["rows"], asked["state"], asked["sort"]
    for argument, kind in (("format", asked["format"]), ("encoding", asked["encoding"])):
        if not (kind is None or isinstance(kind, str)):
            raise TrackingError(f"{argument} must be a text, got {arguments.short_repr(kind)}.")
    job = Job(
        source,
        settings,
        state=None if state is None else _path("state", state),
        format=asked["format"],
        encoding=asked["encoding"],
        rows=None if rows is None else arguments.integer("rows", rows, least=1),
        wait=checked_wait(asked["wait"]),
        force=asked["force"],
        order=Order(asked["reverse"], None if sort is None else _name("sort", sort)),
    )
    if rows is not None and state is not None:
        raise TrackingError(
            "rows is for a first look and does not go together with state. Leave out one of them."
        )
    if asked["reverse"] and sort is not None:
        raise TrackingError("sort and reverse do not go together. Leave out one of them.")
    return job


def _require_report(asked: TrackOptions, report: str | None) -> None:
    """Raise an error if a section was asked for that no report will have."""
    if asked["hindsight"] and report is None:
        raise TrackingError("hindsight adds a section to the report. Give report as well.")
    if asked["hindsight"] and asked["key"]:
        raise TrackingError(
            "hindsight needs a single series and does not go together with key. Leave out one of "
            "them."
        )


def _tracked(job: Job, report: str | None, output: Path_ | None, *, hindsight: bool) -> TrackResult:
    """Run a job, write its report and return its results."""
    outcome = run(job, is_locked=True)
    name = NAME if isinstance(job.source, Frame) else os.path.basename(job.source)
    story = outcome.tracker.story(name, refused=outcome.refused, seconds=outcome.seconds)
    assert job.output is not None
    predictions = read_back(job.output, outcome.tracker.schema)
    refused = REFUSED.empty_table()
    if job.refused is not None and os.path.exists(job.refused):
        refused = read_back(job.refused, REFUSED)
    if report is not None:
        # A run imports the report, and with it vl-convert, only in order to write one.
        from swordplay.comparison import perspective_of_run
        from swordplay.report import perspective_section, write_story

        more = (
            (perspective_section(perspective_of_run(job, outcome.tracker), story.learner),)
            if hindsight
            else ()
        )
        write_story(story, report, command=COMMAND, more=more)
    if output is None and job.state is None:  # they go with the folder they are in
        job = job._replace(output=None, refused=None)
    files = written_files(job, report, story.refused)
    return TrackResult(predictions, figures(outcome, story, files), story, refused)


def _source(table: Any) -> str | Frame:
    """A path, or a table in memory."""
    if not isinstance(table, str | os.PathLike):
        return frame(table, NAME)
    path = _path("table", table)
    if path == "-":
        raise TrackingError(
            "standard input is for the command. Give a table or the path of a file."
        )
    return path


def _one_of(argument: str, value: Any, known: Sequence[Any]) -> Any:
    if not any(value is one or (isinstance(value, str) and value == one) for one in known):
        listed = ", ".join(repr(one) for one in known if one is not None)
        raise TrackingError(
            f"{argument} must be one of {listed}, got {arguments.short_repr(value)}."
        )
    return value


def _names(argument: str, names: Any) -> tuple[str, ...]:
    if isinstance(names, str):
        raise TrackingError(
            f"{argument} must be a list of names, got the string {names!r}. Write [{names!r}]."
        )
    try:
        listed = list(names)
    except Exception as error:  # whatever the iteration of an odd object raises
        raise TrackingError(
            f"{argument} must be a list of names, got {arguments.short_repr(names)}."
        ) from error
    return tuple(_name(argument, name) for name in listed)


def _one_or_more(argument: str, names: Any) -> tuple[str, ...]:
    """The name of one column, or those of several."""
    return _names(argument, [names] if isinstance(names, str) else names)


def _name(argument: str, name: Any) -> str:
    """The name of a column as text: pandas also names columns by numbers, dates and tuples."""
    try:
        text = str(name)
        text.encode()
    except Exception as error:  # whatever an odd object raises; names go into files in UTF-8
        raise TrackingError(
            f"{argument} must be a name that can be written, got {arguments.short_repr(name)}."
        ) from error
    return text


def _path(argument: str, path: Any) -> str:
    """A path as text that the operating system takes."""
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str):
        raise TrackingError(
            f"{argument} must be a path, got {arguments.short_repr(path)} ({type(path).__name__})."
        )
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        text = "\0"
    if "\0" in text:
        raise TrackingError(
            f"{argument} must be a path that the system can write, got "
            f"{arguments.short_repr(path)}."
        )
    return text


@contextmanager
def _predictions_path(output: Path_ | None, state: Path_ | None) -> Iterator[str]:
    """Where the predictions are written: as asked, beside the state, or in a folder that is
    removed at the end.
    """
    if output is not None:
        yield _path("output", output)
    elif state is not None:
        yield f"{_path('state', state)}.predictions.parquet"
    else:
        with tempfile.TemporaryDirectory(prefix="swordplay-") as folder:
            yield os.path.join(folder, "predictions.parquet")


def _report_path(path: Path_) -> str:
    """A place for a page, looked at before a long run."""
    page = Path(_path("report", path))
    if page.suffix.lower() not in (".html", ".htm"):
        raise TrackingError(f"report must end in .html, got {os.fspath(path)!r}.")
    if not page.resolve().parent.is_dir():
        raise TrackingError(
            f"report {os.fspath(path)!r} cannot be written: there is no folder "
            f"{str(page.parent)!r}. Make it first."
        )
    if importlib.util.find_spec("vl_convert") is None:
        raise ImportError(
            "a report needs vl-convert-python. Install it with: pip install vl-convert-python"
        )
    return os.fspath(path)


__all__ = ["CheckpointError", "TableError", "TrackingError", "track"]
