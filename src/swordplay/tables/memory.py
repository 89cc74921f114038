"""A table that lies in memory: a data frame, or a file that was read whole in order to be
sorted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import final

import pyarrow as pa
import pyarrow.compute as pc

from swordplay.tables import infer, parsers
from swordplay.tables.digests import RowDigest, digest, piece
from swordplay.tables.errors import TableChanged, changed
from swordplay.tables.parsers import DOUBLE
from swordplay.tables.schema import ColumnRequest, TableSchema
from swordplay.tables.table import HEAD_ROWS, Batch, Position
from swordplay.tables.typed import BATCH_ROWS, TypedTable, decided, kind_of


@final
class MemoryTable(TypedTable):
    """A pyarrow table as a table that is read from its first row to its last.

    Its columns are brought into the four kinds of values as those of a Parquet file are. Going on
    from a position, it may have grown; the rows that were done are compared.

    Parameters
    ----------
    rows
        The table.
    name
        What messages call it.
    request
        Of its columns.
    position
        Where to go on, or None for the beginning.
    skip
        Whether rows with infinite numbers are left out; otherwise the first one is an error.
    batch_rows
        Rows per batch.
    sorted
        Whether these are the rows of another table in another order: their columns are of the kinds
        of values already and are not read once more, and all of it must be as it was when going on
        from a position.
    refused
        Bad rows that were left out on the way here.
    resumable, compared
        As in :func:`open_table`.
    """

    def __init__(
        self,
        rows: pa.Table,
        name: str,
        request: ColumnRequest,
        position: Position | None = None,
        *,
        skip: bool,
        batch_rows: int = BATCH_ROWS,
        sorted: bool = False,
        refused: int = 0,
        resumable: bool = False,
        compared: Callable[[float], None] = lambda share: None,
    ) -> None:
        super().__init__(name, skip=skip)
        self._rows, self._batch_rows, self._closed = rows, batch_rows, False
        request.check_names(name, rows.schema.names)
        if position is not None:
            self._columns = TableSchema.from_json(position.layout)[0]
        elif sorted:
            self._columns = TableSchema(tuple(rows.schema.names), tuple(rows.schema.types))
        else:
            self._columns = decided(name, rows.schema, len(rows), self._head, request, self.remarks)
            numbers = (field.name for field in self._columns.arrow if field.type == DOUBLE)
            self.remarks += [
                infer.rounding_remark(name) for name in numbers if _beyond_exact(rows.column(name))
            ]
        self.schema = rows.schema if sorted else self._columns.arrow
        if not self._fits():
            raise changed(name, 0)
        if sorted:
            whole = digest(self._typed(self._taken(0, len(rows))))
            if position is not None and (position.row > len(rows) or position.fingerprint != whole):
                raise TableChanged(
                    f"{name} is not the table that this state was saved with: something in it has "
                    "changed."
                )
            position = position or Position(
                "memory", self._columns.to_json(), 0, 0, 0, refused, whole
            )
        elif position is not None:
            taken = (
                self._taken(first, batch_rows)
                for first in range(0, min(position.row, len(rows)), batch_rows)
            )
            self._digest = self._read_again(taken, position, compared)
        else:
            position = Position("memory", self._columns.to_json(), 0, 0, 0, refused, "")
            if resumable:
                self._digest = RowDigest()
                position = position._replace(**self._digest.digests._asdict())
        self._position = self.start = position

    def share(self, position: Position) -> float | None:
        """The rows that are done, of all."""
        return float(position.row / len(self._rows))

    def _fits(self) -> bool:
        """Whether the table has the columns of the columns, with values of the same kinds."""
        if self._columns.names != tuple(self._rows.schema.names):
            return False
        stored = (
            (kind_of(self._rows.schema.field(field.name).type), field.type)
            for field in self._columns.stored_arrow
        )
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
                rows = pa.RecordBatch.from_arrays(
                    batch.rows.columns, schema=self.schema
                )  # which tells how they were read
                yield batch._replace(rows=rows)

    def _taken(self, start: int, count: int) -> pa.RecordBatch:
        """Some rows in one piece, as they are stored."""
        return piece(self._rows.select(self.schema.names).slice(start, count))


def _beyond_exact(values: pa.ChunkedArray) -> bool:
    """Whether a column holds whole numbers that a double rounds."""
    if not pa.types.is_integer(values.type):
        return False
    ends = pc.min_max(values).as_py()
    return any(end is not None and abs(end) >= parsers.LARGEST_EXACT for end in ends.values())
