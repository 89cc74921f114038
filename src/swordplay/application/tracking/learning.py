"""The table that a model learns next: the rest of the one it was learning, or another one from its beginning."""

from __future__ import annotations

import json

from swordplay.application.tracking.errors import TrackingError
from swordplay.application.tracking.job import PIPE, Job, Saved
from swordplay.application.tracking.taught import require_columns
from swordplay.data.tables import Table, open_table
from swordplay.data.tables.earlier import columns_of
from swordplay.data.tables.errors import TableChanged

PARQUET = b"PAR1"


def opened(job: Job, saved: Saved | None) -> tuple[Table | None, Saved | None]:
    """The table of a job that learns, and the run to go on with; of any other job no table, and the run as it is.

    A file that begins as the one that was learned last is that one: only its new rows are learned. Any other file is new, and
    so is whatever comes from a pipe.

    Raises
    ------
    TableError, TrackingError
        If the table cannot be read, lacks a column, or is another one while the last one was not learned to its end.
    """
    if not job.learn:
        return None, saved
    if saved is None:
        return open_table(job.source, **job.reading), None
    if _may_be_the_same(job, saved):
        try:
            return open_table(job.source, position=saved.position, **job.reading), saved
        except TableChanged:
            pass
    if not saved.finished and not json.loads(saved.essence).get(PIPE):
        raise TrackingError(
            f"the state {job.state} is in the middle of another table, after row {saved.done:,}. Let it learn that one to its "
            "end first: run the same command again."
        )
    settings = saved.tracker.settings
    reading = job.reading | {"drop": (), "keep": None, "types": None, "before": columns_of(saved.position.layout)}
    table = open_table(job.source, **(reading | {"others": settings.features is None}))
    require_columns(table, saved.tracker, str(job.state), joined=True)
    assert table.start is not None
    return table, saved._replace(
        position=table.start,
        done=0,
        early=None,
        refused=None,
        remarks=tuple(table.remarks),
        bad=0,
        refusals=(),
        finished=False,
    )


def _may_be_the_same(job: Job, saved: Saved) -> bool:
    """Whether a source may be the table that was learned last: it can be read again, and is of the same format."""
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
