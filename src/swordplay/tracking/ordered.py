"""A table that is read whole and put into another order before its first row is predicted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from swordplay.core.arguments import short_repr
from swordplay.tables import Batch, Position, Refusal, Table, TableError
from swordplay.tables.errors import nearest
from swordplay.tables.memory import MemoryTable
from swordplay.tables.parsers import STRING
from swordplay.tables.schema import ColumnRequest
from swordplay.tables.typed import BATCH_ROWS
from swordplay.tracking.errors import TrackingError
from swordplay.tracking.threads import GLANCE, Ahead

LARGE = 500_000_000
"""Bytes in memory from which on it is said."""


class Order(NamedTuple):
    """How the rows are to be put into order."""

    reverse: bool = False
    """From the last row to the first."""
    sort: str | None = None
    """By the values of this column, smallest or oldest first.

    Rows that share one keep their order.
    """

    def __bool__(self) -> bool:
        return self.reverse or self.sort is not None

    def wanted(self, names: Sequence[str] | None) -> tuple[str, ...] | None:
        """Columns that are to be read, and the one to sort by; None for all."""
        return None if names is None else (*names, *(() if self.sort is None else (self.sort,)))

    def unwanted(self, names: Sequence[str]) -> tuple[str, ...]:
        """Columns that need not be read, but for the one to sort by."""
        return tuple(name for name in names if name != self.sort)


AS_IT_IS = Order()


class Ordered(NamedTuple):
    """The rows of a table in another order."""

    table: MemoryTable
    """Its rows are counted in their new order."""
    numbers: NDArray[np.int64]
    """The numbers that they have in the input."""
    refusals: tuple[Refusal, ...]
    """Rows of the input that could not be read."""


def ordered(
    table: Table,
    order: Order,
    batches: Iterable[Batch],
    *,
    position: Position | None = None,
    batch_rows: int = BATCH_ROWS,
    rows: int | None = None,
) -> Ordered:
    """Read a table whole and put it into order.

    Parameters
    ----------
    table
        The table, from its beginning.
    order
        The order.
    batches
        All of its batches.
    position
        Where an earlier run got to in the ordered table.
    batch_rows
        Rows per batch of it.
    rows
        How many rows of it are wanted, from the first one on; all unless given.

    Raises
    ------
    TableError, TrackingError
        If there are no rows, if it is not the table of the position, or if there is no such column
        to sort by.
    """
    if order.sort is not None and order.sort not in table.schema.names:
        known = ", ".join(table.schema.names)
        raise TrackingError(
            f"--sort names the column {short_repr(order.sort)}, which is not "
            f"there.{nearest(order.sort, table.schema.names)} "
            f"There are: {short_repr(known, 160)[1:-1]}."
        )
    read = list(batches)
    refusals = tuple(row for batch in read for row in batch.refusals)
    parts = [
        pa.Table.from_batches([batch.rows]) for batch in read
    ]  # columns may have joined on the way
    whole = pa.concat_tables([*parts, table.schema.empty_table()], promote_options="default")
    if not len(whole):
        raise TableError(f"{table.name}: there is no row to learn from. Give a table with rows.")
    whole = _as_read(whole, table.schema)
    places = order_of(whole, order)[:rows]
    numbers = np.concatenate([batch.numbers for batch in read])[places]
    taken = whole.take(pa.array(places))
    try:
        found = MemoryTable(
            taken,
            table.name,
            ColumnRequest(None),
            position,
            skip=True,
            batch_rows=batch_rows,
            sorted=True,
            refused=len(refusals),
        )
    except TableError as error:
        option = "--reverse" if order.reverse else f"--sort {order.sort}"
        raise TableError(
            f"{table.name} has changed since this state was saved, and with {option} its rows are "
            "in another order now.\n"
            "Give the same file, or begin anew with --force."
        ) from error
    found.remarks = [*table.remarks, *_remarks(whole, order, table.name)]
    return Ordered(found, numbers, refusals)


def _as_read(rows: Any, schema: Any) -> Any:
    """A pyarrow table whose schema tells how the columns were read and which were left out, as
    the table's own does.
    """
    said = {field.name: field.metadata for field in schema}
    fields = [field.with_metadata(said.get(field.name) or {}) for field in rows.schema]
    return pa.Table.from_arrays(rows.columns, schema=pa.schema(fields, schema.metadata))


def order_of(rows: Any, order: Order) -> NDArray[np.int64]:
    """Places of the rows of a pyarrow table in their new order.

    Those without a value of the column come last.
    """
    if order.sort is None:
        return np.arange(len(rows))[::-1]
    places = pc.sort_indices(
        rows.column(order.sort), sort_keys=[("", "ascending")]
    )  # stable, and nulls come last
    return np.asarray(places.to_numpy()).astype(np.int64)


def _remarks(rows: Any, order: Order, name: str) -> list[str]:
    found = []
    if rows.nbytes >= LARGE:
        found.append(
            f"{name} is held in memory ({rows.nbytes / 1e9:.1f} GB), to be put into order."
        )
    if order.sort is None:
        return found
    column = rows.column(order.sort)
    if column.type == STRING:
        found.append(f"Column {order.sort!r} holds words: the rows are sorted by the alphabet.")
    if column.null_count:
        rows_have = "1 row has" if column.null_count == 1 else f"{column.null_count:,} rows have"
        found.append(f"{rows_have} no {order.sort}: sorted behind all others.")
    return found


def everything(table: Table, told: Callable[[], bool]) -> list[Batch]:
    """All batches of a table, which is closed then; ``told`` is asked now and then whether to stop.

    Raises
    ------
    KeyboardInterrupt
        If it was told to.
    """
    found = []
    with ExitStack() as stack:
        reader = Ahead(table.batches())
        stack.callback(reader.close)
        stack.callback(
            table.close
        )  # comes first on the way out: the reader may be waiting for a pipe
        for batch in reader.arriving(GLANCE):
            if told():
                raise KeyboardInterrupt
            if batch is not None:
                found.append(batch)
    return found
