"""A table in memory, as arrays: for those who have to go over it more than once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from swordplay.tables import open_table
from swordplay.tracking.columns import Encoder, Plan, codes_of, numbers_of, plan
from swordplay.tracking.errors import TrackingError
from swordplay.tracking.lags import Lags
from swordplay.tracking.task import MOST_CLASSES, Recognised, recognise
from swordplay.tracking.tracker import Settings
from swordplay.types import Matrix, Vector


class Whole(NamedTuple):
    """Rows whose target is known, as the learner takes them."""

    rows: Matrix
    """Shape ``(T, d)``, NaN where missing. The column of a category is 0 in the rows before it appears."""
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
    source: str,
    settings: Settings,
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
    most
        Rows to be read.
    """
    with open_table(
        source,
        format=format,
        target=settings.target,
        drop=settings.unread,
        keep=settings.read,
        on_bad=on_bad,
        encoding=encoding,
    ) as table:
        batches, count, refused = [], 0, 0
        for batch in table.batches():
            if len(batch.rows):
                batches.append(batch.rows)
            count, refused = count + len(batch.rows), refused + len(batch.refusals)
            if count > most:
                break
        remarks = tuple(table.remarks)
    if not count:
        raise TrackingError(f"{source}: there is no row to learn from. Give a table with rows.")
    rows = pa.Table.from_batches(batches).slice(0, most)
    known = rows.filter(pc.is_valid(rows.column(settings.target))).combine_chunks().to_batches()
    if not known:
        raise TrackingError(
            f"{source}: the target {settings.target!r} is missing in all rows. Choose another column as --target."
        )
    return _encoded(known[0], settings, remarks, refused, count > most)


def _encoded(batch: Any, settings: Settings, remarks: tuple[str, ...], refused: int, cut: bool) -> Whole:
    column = batch.column(settings.target)
    recognised = recognise(settings.target, column, settings.task)
    plans = plan(batch, settings.target, settings.features, settings.drop, settings.id or ())
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
    every = np.ones(len(targets), dtype=bool)
    encoded = Encoder(plans, settings.lags, labels).encode(batch, Lags(settings.lags).before(targets, every), every)
    return Whole(encoded.rows, targets, names, recognised, plans, remarks, refused, cut)
