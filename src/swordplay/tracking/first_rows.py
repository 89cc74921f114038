"""The first rows of a table: collect enough of them, and make a tracker from what they hold."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import pyarrow as pa

from swordplay.tables import Batch, TableError
from swordplay.tables.table import HEAD_ROWS
from swordplay.tracking import trackers
from swordplay.tracking.settings import Settings
from swordplay.tracking.trackers import AnyTracker

PIPE_SECONDS = 1.0
"""Seconds after the first target of a pipe in which further rows are waited for."""


class FirstRows(NamedTuple):
    """The first batches of a table, and why there are no more of them."""

    batches: list[Batch]
    error: TableError | None
    """The error that ended a pipe.

    It is raised after these rows are learned: what came through a pipe may not come again.
    """


def collect_first_rows(
    batches: Iterable[Batch | None], target: str, *, live: bool, should_stop: Callable[[], bool]
) -> FirstRows:
    """Collect batches until there are enough rows to decide on the task and the columns.

    Parameters
    ----------
    batches
        The batches of the table. None says that there was none for a moment.
    target
        Name of the target column.
    live
        Whether the table comes through a pipe. Then the rows suffice that come within
        :data:`PIPE_SECONDS` of the first target.
    should_stop
        Called after each batch.

    Raises
    ------
    KeyboardInterrupt
        If ``should_stop`` returned True.
    TableError
        If the table cannot be read, and no target has come yet.
    """
    found: list[Batch] = []
    deadline, rows = math.inf, 0
    try:
        for batch in batches:
            if batch is not None:
                found.append(batch)
                rows += len(batch.rows)
                if live and batch.rows.column(target).null_count < len(batch.rows):
                    deadline = min(deadline, time.monotonic() + PIPE_SECONDS)
            if rows >= HEAD_ROWS or time.monotonic() > deadline:
                return FirstRows(found, None)
            if should_stop():
                raise KeyboardInterrupt
    except TableError as error:
        if deadline == math.inf:
            raise
        return FirstRows(found, error)
    return FirstRows(found, None)


def begin_tracker(settings: Settings, rows: Any, schema: Any) -> AnyTracker:
    """Make the tracker of a table from its first rows.

    Parameters
    ----------
    settings
        The target, and the other options.
    rows
        A pyarrow record batch. Only the first ``HEAD_ROWS`` rows count, so that the result does not
        depend on where batches end.
    schema
        What was known of the table before these rows were read. A column without a value in them
        has its type from there: what it holds was found out from later rows.
    """
    head = rows.slice(0, HEAD_ROWS)
    fields, columns, names = [], [], set(schema.names)
    for field, values in zip(head.schema, head.columns, strict=True):
        if values.null_count < len(head):
            fields.append(field)
            columns.append(values)
        elif field.name in names:
            fields.append(schema.field(field.name))
            columns.append(pa.nulls(len(head), fields[-1].type))
    return trackers.begin(
        settings,
        pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields, head.schema.metadata)),
    )


def concat_batches(parts: list[Any]) -> Any:
    """Return record batches as one; a column that a part lacks is missing in its rows."""
    if len(parts) > 1 and all(
        part.schema.equals(parts[0].schema, check_metadata=True) for part in parts
    ):
        return (
            pa.Table.from_batches(parts).combine_chunks().to_batches()[0]
            if sum(map(len, parts))
            else parts[0]
        )
    table = pa.concat_tables(
        [pa.Table.from_batches([part]) for part in parts], promote_options="default"
    )
    found = table.combine_chunks().to_batches()
    return found[0] if found else pa.RecordBatch.from_pylist([], table.schema)
