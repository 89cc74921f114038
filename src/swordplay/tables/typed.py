"""Tables whose columns have Arrow types already: brought into the four kinds of values, rows with infinite numbers left out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from swordplay.tables import columns
from swordplay.tables.columns import DATES, NUMBER, TRUTH, WORD, Choice, Layout
from swordplay.tables.errors import TableError
from swordplay.tables.table import Batch, Position, Refusal, Table
from swordplay.tables.text import bad_row

BATCH_ROWS = 1 << 16


class TypedTable(Table):
    """What Parquet files and tables in memory have in common. Those who inherit set ``schema`` and ``_position``.

    Parameters
    ----------
    name
        Of the input.
    skip
        Whether bad rows are left out; otherwise the first one is an error.
    """

    _position: Position

    def __init__(self, name: str, *, skip: bool) -> None:
        self.name, self.remarks, self._skip = name, [], skip

    @property
    def refused(self) -> int:
        """Bad rows so far."""
        return self._position.refused

    def _batch(self, stored: pa.RecordBatch) -> Iterator[Batch]:
        """Rows behind the position as a batch; unless ``skip``, the good rows before the first bad one, then the error."""
        first, at = self._position.row + 1, self._position
        rows = cast(stored, self.schema)
        bad = np.zeros(len(rows), bool)
        refusals: list[Refusal] = []
        for values, field in zip(rows.columns, rows.schema, strict=True):
            for i in np.flatnonzero(columns.infinite(values) & ~bad):
                reason = f"is not {columns.meaning(field.type)}"
                refusals.append(Refusal(first + int(i), None, field.name, str(values[int(i)].as_py()), reason))
            bad |= columns.infinite(values)
        refusals.sort()
        if refusals and not self._skip:
            before = refusals[0].row - first
            if before:
                yield from self._batch(stored[:before])
            raise bad_row(self.name, refusals[0])
        self._position = at._replace(row=at.row + len(rows), refused=at.refused + len(refusals))
        kept = np.flatnonzero(~bad)
        rows = columns.finite(rows.take(pa.array(kept)) if refusals else rows)
        yield Batch(rows, first + kept, self._position, tuple(refusals))


def layout(name: str, schema: pa.Schema, rows: int, choice: Choice) -> Layout:
    """What the columns of a table of so many rows become.

    Raises
    ------
    TableError
        If a column that is asked for is not there or holds something else, or if there are no rows.
    """
    columns.require(name, schema.names, choice)
    if not rows:
        raise TableError(f"{name} has columns ({', '.join(schema.names[:5])}) and no rows. Give a table with data.")
    types = tuple(None if choice.leaves_out(field.name) else kind(name, field) for field in schema)
    return Layout(tuple(schema.names), types)


def kind(name: str, field: pa.Field) -> pa.DataType:
    """The kind of values that a column of the table ``name`` becomes."""
    stored = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    if pa.types.is_integer(stored) or pa.types.is_floating(stored) or pa.types.is_decimal(stored) or pa.types.is_null(stored):
        return NUMBER
    if pa.types.is_boolean(stored):
        return TRUTH
    if pa.types.is_string(stored) or pa.types.is_large_string(stored) or pa.types.is_string_view(stored):
        return WORD
    if pa.types.is_date(stored):
        return DATES[0]
    if pa.types.is_timestamp(stored):
        return pa.timestamp("ns" if stored.unit == "ns" else "us", None if stored.tz is None else "UTC")
    raise TableError(
        f"{name}: column {field.name!r} holds values of type {stored}, and not numbers, truths, words or dates. "
        f"Convert it, or leave it out with --drop {field.name}."
    )


def cast(rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Rows in a schema of the four kinds; columns that it does not name are left out."""
    arrays = []
    for name, wanted in zip(schema.names, schema.types, strict=True):
        values = rows.column(name)
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        arrays.append(pc.cast(values, wanted, safe=False))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
