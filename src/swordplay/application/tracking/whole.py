"""A table in memory, as arrays: for those who have to go over it more than once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from swordplay.application.tracking.early import HEAD_ROWS, together
from swordplay.application.tracking.errors import TrackingError
from swordplay.application.tracking.lags import Lags
from swordplay.application.tracking.order import OrderWatch
from swordplay.application.tracking.ordered import AS_IT_IS, Order, ordered
from swordplay.application.tracking.task import MOST_CLASSES, Recognised, recognise
from swordplay.application.tracking.tracker import Settings
from swordplay.base.types import Matrix, Vector
from swordplay.data.encoding.columns import Encoder, Plan, codes_of, how_read, numbers_of, plan
from swordplay.data.tables import Frame, open_table
from swordplay.estimators.model import LARGEST


class Whole(NamedTuple):
    """Rows whose target is known, as the learner takes them."""

    rows: Matrix
    """Shape ``(T, d)``, NaN where missing. The column of a category is 0 in the rows before it appears."""
    widths: dict[int, int]
    """How many columns there are from a row on: for the first row, and where categories appear."""
    targets: Vector
    """Shape ``(T,)``: numbers, or places of classes."""
    classes: tuple[str, ...]
    """Names of the classes in the order in which they appear; empty for a regression."""
    recognised: Recognised
    plans: tuple[Plan, ...]
    remarks: tuple[str, ...]
    """What was noticed about the input."""
    refused: int
    cut: bool
    """Whether there was more than ``most`` rows."""


def whole(
    source: str | Frame,
    settings: Settings,
    *,
    most: int,
    format: str | None = None,
    encoding: str = "utf-8",
    on_bad: str = "stop",
    order: Order = AS_IT_IS,
) -> Whole:
    """Read a table up to its row number ``most``.

    Parameters
    ----------
    source, format, encoding, on_bad
        As for ``tables.open_table``.
    settings
        The target, and what else was said.
    most
        Rows to be read.
    order
        Another order of the rows than that of the file: it is read whole then, and ``most`` counts in that order.
    """
    with open_table(
        source,
        format=format,
        target=settings.target,
        drop=order.unwanted(settings.unread),
        keep=order.wanted(settings.read),
        on_bad=on_bad,
        encoding=encoding,
        types=settings.types,
        missing=settings.missing,
        header=settings.header,
    ) as read:
        table, refused = read, 0
        if order:
            found = ordered(read, order, read.batches())
            table, refused = found.table, len(found.refusals)
        batches, count = [], 0
        for batch in table.batches():
            if len(batch.rows):
                batches.append(batch.rows)
            count, refused = count + len(batch.rows), refused + len(batch.refusals)
            if count > most:
                break
        remarks = tuple(table.remarks)
    if not count:
        raise TrackingError(f"{source}: there is no row to learn from. Give a table with rows.")
    rows = pa.Table.from_batches([together(batches)]).slice(0, most)
    head = rows.slice(0, HEAD_ROWS).combine_chunks().to_batches()[0]
    known = rows.filter(pc.is_valid(rows.column(settings.target))).combine_chunks().to_batches()
    if not known:
        raise TrackingError(
            f"{source}: the target {settings.target!r} is missing in all rows. Choose another column as --target."
        )
    watch = OrderWatch()
    watch.begin(known[0], settings.target)
    watch.add(known[0])
    remarks = (*remarks, *(one.text for one in watch.remarks(key_option=False)))
    return _encoded(head, known[0], settings, remarks, refused, count > most)


def _encoded(head: Any, batch: Any, settings: Settings, remarks: tuple[str, ...], refused: int, cut: bool) -> Whole:
    """Rows as numbers; task and columns are decided by the head, as a run decides them."""
    column = batch.column(settings.target)
    recognised = recognise(settings.target, head.column(settings.target), settings.task, how_read(head.schema, settings.target))
    plans = plan(head, settings.target, settings.features, settings.drop, settings.id or ())
    labels = recognised.task != "regression"
    names: tuple[str, ...] = ()
    if labels:
        targets, values = codes_of(column)
        names = tuple(f"{value:g}" if isinstance(value, float) else str(value) for value in values)
        if not 2 <= len(names) <= MOST_CLASSES:
            raise TrackingError(
                f"the target {settings.target!r} has {len(names)} different value(s); classes must be 2 to {MOST_CLASSES}. "
                "Use --task regression if they are amounts, or choose another target."
            )
        targets = targets.astype(np.float64)
    else:
        targets = np.asarray(numbers_of(column))
        largest = targets[np.abs(targets).argmax()]
        if abs(largest) > LARGEST:
            raise TrackingError(
                f"the target {settings.target!r} must not pass {LARGEST:g} in magnitude, got {largest:g}. Repair that row."
            )
    every = np.ones(len(targets), dtype=bool)
    encoder = Encoder(plans, settings.lags, labels, settings.target)
    widths = {0: encoder.width}
    encoded = encoder.encode(batch, Lags(settings.lags).before(targets, every), every)
    return Whole(encoded.rows, widths | encoded.widths, targets, names, recognised, plans, remarks, refused, cut)
