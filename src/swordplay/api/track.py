"""``swordplay.track``: learn a table or a data frame row by row, and return predictions."""

from __future__ import annotations

import importlib.util
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from swordplay.api.result import TrackResult
from swordplay.api.words import in_python
from swordplay.core import arguments
from swordplay.core.checkpoint import CheckpointError
from swordplay.estimators.model_settings import AUTO, checked_curves, checked_lags
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


def track(
    table: Any,
    target: str,
    report: Path_ | None = None,
    *,
    task: Task | None = None,
    lags: int | str = AUTO,
    curves: str | None = AUTO,
    features: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    loss: Literal["squared", "huber"] = "squared",
    level: float | None = 0.9,
    key: str | Sequence[str] = (),
    sort: str | None = None,
    reverse: bool = False,
    id: str | Sequence[str] | None = None,
    types: Mapping[str, str] | None = None,
    missing: Sequence[str] = (),
    on_bad: Literal["stop", "skip"] = "stop",
    output: Path_ | None = None,
    state: Path_ | None = None,
    wait: float | None = None,
    rows: int | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    header: bool | None = None,
    hindsight: bool = False,
    force: bool = False,
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
        Where to write the report of the run, one HTML page; one that is there is replaced.
    task
        ``"regression"``, ``"binary"`` or ``"multi-class"``; detected from the target unless given.
    lags
        How many of the last targets join the columns; ``"auto"`` lets experts with and without them
        compete.
    curves
        ``"auto"``, ``"rich"`` or None, as in :class:`swordplay.sklearn.SwordRegressor`.
    features, drop
        Columns to use (all unless given), and columns not to use.
    loss
        Of a regression: ``"squared"``, or ``"huber"`` where the target has heavy tails.
    level
        The share of the truths that the intervals of a regression are to contain; None for no
        intervals. The predictions then have ``lower`` and ``upper``; with keys each key has
        intervals of its own.
    key
        One or more columns that tell series apart: each of their values has a model of its own.
    sort, reverse
        A column to sort the rows by, such as their date; or whether to begin with the last row.
    id
        One or more columns that the predictions carry; the date of the row unless given, none for
        ``()``.
    types
        What columns hold where that is not detected: ``{"price": "number", "day": "day-first"}``.
    missing
        Further texts that stand for a missing value.
    on_bad
        ``"skip"`` leaves out rows that cannot be used, such as those with an infinite number, and
        lists them in ``refused`` of the result; ``"stop"`` raises an error at the first one.
    output
        A file for the predictions as well: .csv, .ndjson or .parquet.
    state
        A file to save learner and position to; the same call with more rows goes on from there. Its
        predictions are kept in ``output``, or else beside it in ``STATE.predictions.parquet``.
    wait
        Seconds to wait while another run uses the state, after which the call raises an error; None
        waits until that run ends. A wait of more than a second is reported by the logger
        ``swordplay``.
    rows
        Stop after this row; not with a state.
    format, encoding, header
        Of a file: its format, the encoding of its text, and whether CSV begins with names; format
        and header are detected unless given.
    hindsight
        Whether the report has a section on the regret against the best models of hindsight, which
        takes up to 10 seconds. It needs ``report``, and a single series.
    force
        Whether to replace an output that exists, and begin anew whatever the state says.

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
    with in_python():
        keys = _one_or_more("key", key)
        used_lags, used_curves = checked_lags(lags), checked_curves(curves)
        settings = Settings(
            target=_name("target", target),
            task=_one_of("task", task, (None, *TASKS)),
            lags=0 if used_lags == AUTO and used_curves is None else used_lags,
            features=None if features is None else _names("features", features),
            drop=_names("drop", drop),
            loss=_one_of("loss", loss, ("squared", "huber")),
            key=keys,
            types=_types(types),
            missing=_names("missing", missing),
            header=header,
            id=None if id is None else _one_or_more("id", id),
            level=_level(level),
            curves=used_curves,
        )
        job = Job(
            _source(table),
            settings,
            state=None if state is None else _path("state", state),
            format=_text_or_none("format", format),
            encoding=_text("encoding", encoding),
            rows=None if rows is None else arguments.integer("rows", rows, least=1),
            wait=checked_wait(wait),
            force=force,
            order=Order(reverse, None if sort is None else _name("sort", sort)),
        )
        page = None if report is None else _report_path(report)
        _require_consistent(job, page, hindsight=hindsight)
        is_skipping = _one_of("on_bad", on_bad, ("stop", "skip")) == "skip"
        with locked(job.state, job.wait), _predictions_path(output, state) as kept:
            refused = f"{kept}.refused.csv" if is_skipping else None
            job = job._replace(output=kept, refused=refused)
            return _run(job, page, output, hindsight=hindsight)


def _require_consistent(job: Job, report: str | None, *, hindsight: bool) -> None:
    """Raise an error for arguments that do not go together."""
    if job.rows is not None and job.state is not None:
        raise TrackingError(
            "rows is for a first look and does not go together with state. Leave out one of them."
        )
    if job.order.reverse and job.order.sort is not None:
        raise TrackingError("sort and reverse do not go together. Leave out one of them.")
    if hindsight and report is None:
        raise TrackingError("hindsight adds a section to the report. Give report as well.")
    if hindsight and job.settings.key:
        raise TrackingError(
            "hindsight needs a single series and does not go together with key. Leave out one of "
            "them."
        )


def _run(job: Job, report: str | None, output: Path_ | None, *, hindsight: bool) -> TrackResult:
    """Run a job, write its report and return its results."""
    outcome = run(job, is_locked=True)
    name = NAME if isinstance(job.source, Frame) else os.path.basename(job.source)
    story = outcome.tracker.story(name, refused=outcome.refused, seconds=outcome.seconds)
    assert job.output is not None
    predictions = _read_back(job.output, outcome.tracker.schema)
    refused = REFUSED.empty_table()
    if job.refused is not None and os.path.exists(job.refused):
        refused = _read_back(job.refused, REFUSED)
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


def _types(types: Any) -> dict[str, str] | None:
    """Return the types of columns by their names, checked."""
    if types is None:
        return None
    if not (isinstance(types, Mapping) and all(isinstance(kind, str) for kind in types.values())):
        raise TrackingError(
            f"types must say what columns are, such as {{'price': 'number'}}, got "
            f"{arguments.short_repr(types)}."
        )
    return {_name("types", name): kind for name, kind in types.items()}


def _text(argument: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TrackingError(f"{argument} must be a text, got {arguments.short_repr(value)}.")
    return value


def _text_or_none(argument: str, value: Any) -> str | None:
    return None if value is None else _text(argument, value)


def _level(level: Any) -> float | None:
    """A share between 0 and 1, or None."""
    if level is None:
        return None
    try:
        (clean,) = SwordIntervals((level,)).levels
    except (TypeError, ValueError) as error:
        raise TrackingError(str(error)) from error
    return clean


def _read_back(path: str, schema: Any) -> Any:
    """Read predictions from the file they were written to, as a pyarrow table.

    Parameters
    ----------
    path
        CSV, NDJSON or Parquet.
    schema
        Of the table.
    """
    with open(path, "rb") as file:
        start = file.read(4)
    if start == b"PAR1":
        return pyarrow.parquet.read_table(path)
    types = {field.name: field.type for field in schema}
    if (
        path.lower()
        .removesuffix(".gz")
        .removesuffix(".zst")
        .endswith((".ndjson", ".jsonl", ".json"))
    ):
        return pyarrow.json.read_json(
            path, parse_options=pyarrow.json.ParseOptions(explicit_schema=pa.schema(schema))
        )
    options = pyarrow.csv.ConvertOptions(
        column_types=types, null_values=[""], strings_can_be_null=True
    )
    return pyarrow.csv.read_csv(path, convert_options=options)


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
    """Yield the path of the predictions: as given, beside the state, or in a temporary folder."""
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
