"""A table in memory, as arrays: for those who have to go over it more than once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from swordplay.core.types import Matrix, Vector
from swordplay.estimators.model_settings import LARGEST
from swordplay.tables import Frame, Table, open_table
from swordplay.tables.categories import codes_of
from swordplay.tables.column_plans import ColumnPlan, how_read, plan
from swordplay.tables.encoder import Encoder, numbers_of
from swordplay.tables.table import HEAD_ROWS
from swordplay.tracking.date_order import order_remarks
from swordplay.tracking.errors import TrackingError
from swordplay.tracking.first_rows import concat_batches
from swordplay.tracking.lags import Lags
from swordplay.tracking.ordered import AS_IT_IS, Order, ordered
from swordplay.tracking.settings import Settings
from swordplay.tracking.task import MOST_CLASSES, Recognised, recognise


class Whole(NamedTuple):
    """Rows whose target is known, as the learner takes them."""

    rows: Matrix
    """Shape ``(T, d)``, NaN where missing.

    The column of a category is 0 in the rows before it appears.
    """
    widths: dict[int, int]
    """How many columns there are from a row on: for the first row, and where categories appear."""
    start: int
    """How many there are before the first row."""
    targets: Vector
    """Shape ``(T,)``: numbers, or codes of classes."""
    classes: tuple[str, ...]
    """Names of the classes in the order in which they appear; empty for a regression."""
    recognised: Recognised
    plans: tuple[ColumnPlan, ...]
    remarks: tuple[str, ...]
    """What was noticed about the input."""
    refused: int
    cut: bool
    """Whether there was more than ``most`` rows."""


def whole(
    source: str | Frame,
    settings: Settings,
    order: Order = AS_IT_IS,
    *,
    most: int,
    format: str | None = None,
    encoding: str = "utf-8",
    on_bad: str = "stop",
) -> Whole:
    """Read a table up to its row number ``most``.

    Parameters
    ----------
    source, format, encoding, on_bad
        As for ``tables.open_table``.
    settings
        The target, and what else was said.
    order
        Another order of the rows than that of the file: it is read whole then, and ``most`` counts
        in that order.
    most
        Rows to be read.
    """
    read = _read(
        source,
        order,
        most,
        settings.reading(order, format=format, encoding=encoding, on_bad=on_bad),
    )
    rows = read.rows.slice(0, most)
    head = rows.slice(0, HEAD_ROWS).combine_chunks().to_batches()[0]
    known = rows.filter(pc.is_valid(rows.column(settings.target))).combine_chunks().to_batches()
    if not known:
        raise TrackingError(
            f"{source}: the target {settings.target!r} is missing in all rows. Choose another "
            "column as --target."
        )
    found = order_remarks(known[0], settings.target, key_option=False)
    remarks = (*read.remarks, *(one.text for one in found))
    return _encoded(head, known[0], settings, remarks, read.refused, len(read.rows) > most)


class _Read(NamedTuple):
    """A table as it was read: at least as many rows as are wanted, unless there are fewer."""

    rows: Any
    """A pyarrow table."""
    remarks: tuple[str, ...]
    refused: int


def _read(source: str | Frame, order: Order, most: int, options: Mapping[str, Any]) -> _Read:
    with open_table(source, **options) as opened:
        table: Table = opened
        refused = 0
        if order:
            found = ordered(opened, order, opened.batches())
            table, refused = found.table, len(found.refusals)
        batches, count = [], 0
        for batch in table.batches():
            if len(batch.rows):
                batches.append(batch.rows)
            count, refused = count + len(batch.rows), refused + len(batch.refusals)
            if count > most:
                break
        if not count:
            raise TrackingError(f"{source}: there is no row to learn from. Give a table with rows.")
        return _Read(
            pa.Table.from_batches([concat_batches(batches)]), tuple(table.remarks), refused
        )


def _encoded(
    head: Any, batch: Any, settings: Settings, remarks: tuple[str, ...], refused: int, cut: bool
) -> Whole:
    """Rows as numbers; task and columns are decided by the head, as a run decides them."""
    column = batch.column(settings.target)
    recognised = recognise(
        settings.target,
        head.column(settings.target),
        settings.task,
        how_read(head.schema, settings.target),
    )
    plans = plan(head, settings.target, settings.features, settings.drop, settings.id or ())
    of_classes = recognised.of_classes
    names: tuple[str, ...] = ()
    if of_classes:
        targets, values = codes_of(column)
        names = tuple(f"{value:g}" if isinstance(value, float) else str(value) for value in values)
        if not 2 <= len(names) <= MOST_CLASSES:
            raise TrackingError(
                f"the target {settings.target!r} has {len(names)} different value(s); classes "
                f"must be 2 to {MOST_CLASSES}. "
                "Use --task regression if they are amounts, or choose another target."
            )
        targets = targets.astype(np.float64)
    else:
        targets = np.asarray(numbers_of(column))
        largest = targets[np.abs(targets).argmax()]
        if abs(largest) > LARGEST:
            raise TrackingError(
                f"the target {settings.target!r} must not pass {LARGEST:g} in magnitude, got "
                f"{largest:g}. Repair that row."
            )
    every = np.ones(len(targets), dtype=bool)
    encoder = Encoder(plans, settings.columns_of_lags, of_classes, settings.target)
    start = encoder.width
    encoded = encoder.encode(batch, Lags(settings.columns_of_lags).before(targets, every), every)
    return Whole(
        encoded.rows,
        {0: start} | encoded.widths,
        start,
        targets,
        names,
        recognised,
        plans,
        remarks,
        refused,
        cut,
    )
