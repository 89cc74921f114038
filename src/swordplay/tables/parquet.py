"""Parquet: batches of rows in the kinds of values that are used here."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet

from swordplay.core.arguments import short_repr
from swordplay.tables import infer, parsers
from swordplay.tables.digests import RowDigest
from swordplay.tables.errors import TableError, changed, unreadable
from swordplay.tables.lean import take_pandas_in
from swordplay.tables.parsers import DOUBLE
from swordplay.tables.schema import ColumnRequest, TableSchema
from swordplay.tables.source import Raw, Source
from swordplay.tables.table import HEAD_ROWS, Batch, Position
from swordplay.tables.typed import BATCH_ROWS, TypedTable, decided, kind_of

BUFFER = 1 << 20
"""Bytes of a column that are read at a time: row groups may be larger than the memory."""


class ParquetTable(TypedTable):
    """A Parquet file.

    Parameters
    ----------
    source
        The file.
    request
        Of its columns.
    position
        Where to go on, or None for the beginning.
    skip
        Whether bad rows are left out; otherwise the first one is an error.
    batch_rows
        Rows per batch.
    resumable, compared
        As in :func:`open_table`.
    """

    def __init__(
        self,
        source: Source,
        request: ColumnRequest,
        position: Position | None,
        *,
        skip: bool,
        batch_rows: int = BATCH_ROWS,
        resumable: bool = False,
        compared: Callable[[float], None] = lambda share: None,
    ) -> None:
        super().__init__(source.name, skip=skip)
        self._raw: Raw = source.raw
        if self._raw.live or not os.path.exists(self.name):
            raise TableError(
                f"{self.name}: Parquet cannot be read from a pipe, as it begins with its end. "
                "Give the file itself."
            )
        self._file = self._opened(source)
        request.check_names(self.name, self._file.schema_arrow.names)
        take_pandas_in(self._file.schema_arrow)
        if position is None:
            rows = self._file.metadata.num_rows
            columns = decided(
                self.name, self._file.schema_arrow, rows, self._head, request, self.remarks
            )
            position = Position("parquet", columns.to_json(), 0, 0, 0, 0, "")
            numbers = {field.name for field in columns.arrow if field.type == DOUBLE}
            self.remarks += map(infer.rounding_remark, self._beyond_exact(numbers))
        self._columns = TableSchema.from_json(position.layout)[0]
        self.schema = self._columns.arrow
        asked = {name for name in self._columns.names if not request.leaves_out(name)}
        if asked != {*self.schema.names, *self._columns.left_out} - {
            name for name in self._columns.left_out if request.leaves_out(name)
        }:
            raise changed(self.name, position.row)
        if position.row or position.fingerprint:
            self._digest = self._compared(position, batch_rows, compared)
        elif resumable:
            self._digest = RowDigest()
            position = position._replace(**self._digest.digests._asdict())
        self._position, self._batch_rows = position, batch_rows
        self.start = position

    def _compared(
        self, position: Position, batch_rows: int, progress: Callable[[float], None]
    ) -> RowDigest:
        """The digest of the rows in front of a position, once they are compared."""
        names = self.schema.names
        kinds = {field.name: kind_of(field.type) for field in self._file.schema_arrow}
        if any(kinds.get(field.name) != field.type for field in self._columns.stored_arrow):
            raise changed(self.name, position.row)
        stored = (
            self._file.iter_batches(batch_rows, columns=names, use_threads=False)
            if position.row
            else ()
        )
        try:
            return self._read_again(stored, position, progress)
        except (OSError, pa.ArrowException) as error:
            raise self._unreadable(error, 1) from error

    def _opened(self, source: Source) -> pyarrow.parquet.ParquetFile:
        path = source.name
        if source.magic != b"PAR1":
            raise TableError(
                f"{path} is not a Parquet file: it does not begin like one. Give its --format."
            )
        if source.codec:
            raise TableError(
                f"{path} is Parquet packed with {source.codec}. Unpack it first; Parquet is "
                "compressed by itself."
            )
        try:
            return pyarrow.parquet.ParquetFile(path, buffer_size=BUFFER, pre_buffer=False)
        except (pa.ArrowInvalid, OSError) as error:
            if is_out_of_memory(error):
                raise MemoryError(str(error)) from error
            if isinstance(error, OSError) and error.errno is not None:
                raise unreadable(path, error) from error
            raise TableError(
                f"{path} is not a whole Parquet file: it is cut short or damaged at its end. "
                "Fetch or write it again."
            ) from error

    def _head(self, names: Sequence[str]) -> pa.RecordBatch:
        """The first rows of some columns."""
        try:
            return next(self._file.iter_batches(HEAD_ROWS, columns=list(names), use_threads=False))
        except (OSError, pa.ArrowException) as error:
            raise self._unreadable(error, 1) from error

    def _beyond_exact(self, names: set[str]) -> Iterator[str]:
        """Those of some columns with whole numbers that a double rounds, by the statistics of
        the first row group.
        """
        group = self._file.metadata.row_group(0)
        for chunk in map(group.column, range(group.num_columns)):
            known = chunk.statistics if chunk.path_in_schema in names else None
            ends = (known.min, known.max) if known and known.has_min_max else ()
            if any(isinstance(end, int) and abs(end) >= parsers.LARGEST_EXACT for end in ends):
                yield chunk.path_in_schema

    @property
    def size(self) -> int | None:
        """Bytes of the file."""
        return self._raw.size

    @property
    def consumed(self) -> int:
        """The same share of the bytes as of the rows."""
        return int((self._raw.size or 0) * self._position.row // self._file.metadata.num_rows)

    def share(self, position: Position) -> float | None:
        """The rows that are done, of all."""
        return float(position.row / self._file.metadata.num_rows)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()
        self._raw.close()

    def batches(self) -> Iterator[Batch]:
        """The rows that are left."""
        groups, passed = self._rest()
        stored = self._file.iter_batches(
            self._batch_rows, row_groups=groups, columns=self.schema.names, use_threads=False
        )
        while True:
            try:
                rows = next(stored, None)
            except (OSError, pa.ArrowException) as error:
                raise self._unreadable(error, self._position.row + 1) from error
            if rows is None:
                return
            beyond = rows[passed:]
            passed = max(0, passed - len(rows))
            if len(beyond):
                yield from self._batch(beyond)

    def _unreadable(self, error: Exception, row: int) -> Exception:
        """Why rows cannot be read: for want of memory, or because the file is damaged."""
        if is_out_of_memory(error):
            return MemoryError(str(error))
        return TableError(
            f"{self.name} is damaged behind row {row} ({short_repr(str(error), 60)[1:-1]}). Fetch "
            "it again."
        )

    def _rest(self) -> tuple[list[int], int]:
        """Row groups from the one of the position on, and how many of its rows are done."""
        metadata = self._file.metadata
        done = self._position.row
        for group in range(metadata.num_row_groups):
            if done < metadata.row_group(group).num_rows:
                return list(range(group, metadata.num_row_groups)), done
            done -= metadata.row_group(group).num_rows
        return [], 0


def is_out_of_memory(error: Exception) -> bool:
    """Whether there was not enough memory: Arrow says so by class, its Parquet reader by an
    OSError with Arrow's words.
    """
    return isinstance(error, MemoryError) or "alloc of size" in str(error)  # malloc, or realloc
