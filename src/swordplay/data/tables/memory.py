"""A table that lies in memory: a data frame, or a file that was read whole in order to be sorted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from swordplay.data.tables import columns
from swordplay.data.tables.columns import Choice
from swordplay.data.tables.errors import TableChanged
from swordplay.data.tables.layout import Layout
from swordplay.data.tables.readings.reading import NUMBER, WORD
from swordplay.data.tables.table import HEAD_ROWS, Batch, Position
from swordplay.data.tables.typed import BATCH_ROWS, TypedTable, decided, kind_of

FINGERPRINT_ROWS = 1 << 13
"""Rows of the fingerprint, if they are done."""


@final
class MemoryTable(TypedTable):
    """A pyarrow table as a table that is read from its first row to its last.

    Its columns are brought into the four kinds of values as those of a Parquet file are. Going on from a position, it may have
    grown; it must begin as before (the first 8,192 rows that were done are compared).

    Parameters
    ----------
    rows
        The table.
    name
        What messages call it.
    choice
        Of its columns.
    position
        Where to go on, or None for the beginning.
    skip
        Whether rows with infinite numbers are left out; otherwise the first one is an error.
    batch_rows
        Rows per batch.
    sorted
        Whether these are the rows of another table in another order: their columns are of the kinds of values already and are
        not read once more, and all of it must be as it was when going on from a position.
    refused
        Bad rows that were left out on the way here.
    """

    def __init__(
        self,
        rows: pa.Table,
        name: str,
        choice: Choice,
        position: Position | None = None,
        *,
        skip: bool,
        batch_rows: int = BATCH_ROWS,
        sorted: bool = False,
        refused: int = 0,
    ) -> None:
        super().__init__(name, skip=skip)
        self._rows, self._batch_rows, self._closed = rows, batch_rows, False
        columns.require(name, rows.schema.names, choice)
        if position is not None:
            self._layout = Layout.read(position.layout)[0]
        elif sorted:
            self._layout = Layout(tuple(rows.schema.names), tuple(rows.schema.types))
        else:
            self._layout = decided(name, rows.schema, len(rows), self._head, choice, self.remarks)
            numbers = (field.name for field in self._layout.schema if field.type == NUMBER)
            self.remarks += [columns.rounded(name) for name in numbers if _beyond_exact(rows.column(name))]
        self.schema = rows.schema if sorted else self._layout.schema
        if not self._fits():
            raise self._changed(sorted)
        self._whole = digest(self._typed(self._taken(0, len(rows)))) if sorted else ""
        if position is None:
            position = Position("memory", self._layout.text(), 0, 0, 0, refused, self._fingerprint(0))
        elif position.row > len(rows) or position.fingerprint != self._fingerprint(position.row):
            raise self._changed(sorted)
        self._position = self.start = position

    def share(self, position: Position) -> float | None:
        """The rows that are done, of all."""
        return float(position.row / len(self._rows))

    def _fits(self) -> bool:
        """Whether the table has the columns of the layout, with values of the same kinds."""
        if self._layout.names != tuple(self._rows.schema.names):
            return False
        stored = ((kind_of(self._rows.schema.field(field.name).type), field.type) for field in self._layout.input)
        return all(found == wanted for found, wanted in stored)

    def _head(self, names: Sequence[str]) -> pa.RecordBatch:
        """The first rows of some columns."""
        return piece(self._rows.select(list(names)).slice(0, HEAD_ROWS))

    @property
    def size(self) -> int | None:
        """Bytes of the table."""
        return int(self._rows.nbytes)

    @property
    def consumed(self) -> int:
        """The same share of the bytes as of the rows."""
        return int(self._rows.nbytes) * self._position.row // len(self._rows)

    def close(self) -> None:
        """Hand out no further batch."""
        self._closed = True

    def batches(self) -> Iterator[Batch]:
        """The rows that are left."""
        while self._position.row < len(self._rows) and not self._closed:
            for batch in self._batch(self._taken(self._position.row, self._batch_rows)):
                if batch.position.row - len(batch.rows) - len(batch.refusals) < FINGERPRINT_ROWS:
                    self._position = batch.position._replace(fingerprint=self._fingerprint(batch.position.row))
                rows = pa.RecordBatch.from_arrays(batch.rows.columns, schema=self.schema)  # which tells how they were read
                yield batch._replace(rows=rows, position=self._position)

    def _taken(self, start: int, count: int) -> pa.RecordBatch:
        """Some rows in one piece, as they are stored."""
        return piece(self._rows.select(self.schema.names).slice(start, count))

    def _fingerprint(self, done: int) -> str:
        """Of the first rows that are done, or of all there are."""
        return self._whole or digest(self._typed(self._taken(0, min(done, FINGERPRINT_ROWS))))

    def _changed(self, sorted: bool) -> TableChanged:
        what = "something in it has changed" if sorted else "it begins differently, is shorter or has other columns"
        return TableChanged(
            f"{self.name} is not the table that this state was saved with: {what}.\n"
            "Give the same table, or begin anew with --force."
        )


def digest(rows: pa.RecordBatch) -> str:
    """SHA-256 of names and values of rows, however they lie in memory."""
    found = hashlib.sha256(json.dumps([[field.name, str(field.type)] for field in rows.schema]).encode())
    for column in rows.columns:
        found.update(np.packbits(column.is_null().to_numpy(zero_copy_only=False)).tobytes())
        if column.type == WORD:
            found.update(pc.binary_length(column).fill_null(0).to_numpy(zero_copy_only=False).tobytes())
            found.update(_letters(column.fill_null("")))
        else:
            plain = column if column.type == NUMBER else column.cast(pa.int8() if column.type == pa.bool_() else pa.int64())
            found.update(plain.fill_null(0).to_numpy(zero_copy_only=False).tobytes())
    return found.hexdigest()


def _letters(words: pa.StringArray) -> bytes:
    """All words one after the other."""
    _, places, letters = words.buffers()
    if letters is None:
        return b""
    ends = np.frombuffer(places, np.int32)[words.offset : words.offset + len(words) + 1]
    return letters.slice(int(ends[0]), int(ends[-1] - ends[0])).to_pybytes() if len(words) else b""


def piece(rows: pa.Table) -> pa.RecordBatch:
    """Rows in one piece."""
    return pa.RecordBatch.from_arrays([_joined(column) for column in rows.combine_chunks().columns], schema=rows.schema)


def _joined(column: pa.ChunkedArray) -> pa.Array:
    """A column in one piece; of several dictionaries one is made."""
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.unify_dictionaries().chunks) if column.num_chunks else pa.array([], column.type)


def _beyond_exact(values: pa.ChunkedArray) -> bool:
    """Whether a column holds whole numbers that a double rounds."""
    if not pa.types.is_integer(values.type):
        return False
    ends = pc.min_max(values).as_py()
    return any(end is not None and abs(end) >= columns.LARGEST_EXACT for end in ends.values())
