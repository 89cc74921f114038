"""The table that a model learns next: the rest of the one it was learning, or another one from
its beginning.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable

from swordplay.tables import Table, open_table
from swordplay.tables.errors import LATE_TARGETS, TableChanged
from swordplay.tables.schema import known_columns
from swordplay.tracking.errors import TrackingError
from swordplay.tracking.job import PIPE, Job, RunState
from swordplay.tracking.taught import require_columns

PARQUET = b"PAR1"
SHARED_ROWS = 8
"""Two tables that share so many first rows are versions of one table."""


def opened(
    job: Job, saved: RunState | None, compared: Callable[[float], None] = lambda share: None
) -> tuple[Table | None, RunState | None]:
    """The table of a job that learns, and the run to go on with.

    Of any other job no table, and the run as it is.

    A file in which all rows that were learned last stand unchanged is that one: only its new rows
    are learned. A file that shares only its first rows with it, :data:`SHARED_ROWS` or more, is
    refused. Any other file is new, and so is whatever comes from a pipe.

    Raises
    ------
    TableError, TrackingError
        If the table cannot be read, lacks a column, or is another one while the last one was not
        learned to its end.
    """
    if not job.learn:
        return None, saved
    if saved is None:
        return open_table(job.source, resumable=True, **job.reading), None
    if _may_be_the_same(job, saved):
        try:
            return open_table(
                job.source, position=saved.position, compared=compared, **job.reading
            ), saved
        except TableChanged as error:
            if error.shared >= SHARED_ROWS:
                raise _partly_the_same(job, saved, error.shared) from error
    if not saved.finished and not json.loads(saved.essence).get(PIPE):
        raise TrackingError(
            f"the state {job.state} is in the middle of another table, after row {saved.done:,}. "
            "Let it learn that one to its end first: run the same command again."
        )
    settings = saved.tracker.settings
    reading = job.reading | {
        "drop": (),
        "keep": None,
        "types": None,
        "before": known_columns(saved.position.layout),
    }
    table = open_table(
        job.source, resumable=True, **(reading | {"others": settings.features is None})
    )
    require_columns(table, saved.tracker, str(job.state), joined=True)
    assert table.start is not None
    return table, saved._replace(
        position=table.start,
        done=0,
        refused=None,
        remarks=tuple(table.remarks),
        bad=0,
        refusals=(),
        finished=False,
    )


def _partly_the_same(job: Job, saved: RunState, shared: int) -> TrackingError:
    """The error for a table that shares its first rows with the one that was learned last, and
    not all of them.
    """
    source, state = str(job.source), str(job.state)
    remedy = (
        "Give the rows that are new in a file of their own. If all rows are new, give them as "
        f"standard input: swordplay learn - --state {shlex.quote(state)} < {shlex.quote(source)}\n"
        if saved.finished
        else "Give the file as it was, give another --state, or begin anew with --force.\n"
    )
    return TrackingError(
        f"{source} shares its first {shared:,} rows with the table that {state} learned last "
        f"({saved.done:,} rows), and row {shared + 1:,} is the first that may differ. What both "
        "have in common would be learned twice.\n"
        f"{remedy}{LATE_TARGETS}"
    )


def _may_be_the_same(job: Job, saved: RunState) -> bool:
    """Whether a source may be the table that was learned last: it can be read again, and is of
    the same format.
    """
    if not isinstance(job.source, str):
        return saved.position.format == "memory"
    if job.pipe:
        return False
    try:
        with open(job.source, "rb") as file:
            parquet = file.read(len(PARQUET)) == PARQUET
    except OSError:
        return False  # said where it is opened
    return parquet == (saved.position.format == "parquet")
