"""Parquet out: row groups cut by row number alone, so that the file's bytes do not depend on
batches or interruptions.
"""

from __future__ import annotations

import io
import os
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from swordplay.tables.output import Output, OutputPosition
from swordplay.tables.parsers import STRING
from swordplay.tables.partial import Partial, fingerprint_of, not_ours, reported

GROUP_ROWS = 1 << 17
"""Rows per row group."""


class RowGroups:
    """A Parquet file in the making.

    Parameters
    ----------
    file
        Where its bytes go.
    schema
        Of the rows.
    group_rows
        Rows per row group.
    """

    def __init__(self, file: Partial, schema: pa.Schema, group_rows: int) -> None:
        words = [
            field.name for field in schema if field.type == STRING
        ]  # a dictionary of numbers that differ helps nobody
        self._sink = _Sink(file)
        self._writer = pyarrow.parquet.ParquetWriter(
            pa.PythonFile(self._sink, mode="w"), schema, use_dictionary=words
        )
        self._schema, self._group_rows = schema, group_rows
        self._pending: list[pa.RecordBatch] = []
        self._count = 0

    def append(self, rows: pa.RecordBatch) -> None:
        """Take rows in; whenever a row group is full, write it."""
        while len(rows):
            part = rows[: self._group_rows - self._count]
            rows = rows[len(part) :]
            self._pending.append(part)
            self._count += len(part)
            if self._count == self._group_rows:
                self._flush()

    def _flush(self) -> None:
        # In one piece: the writer ends pages at the ends of pieces.
        group = pa.Table.from_batches(self._pending, self._schema).combine_chunks()
        self._pending, self._count = [], 0
        self._writer.write_table(group, row_group_size=self._group_rows)

    def end(self) -> None:
        """Write the last row group and the footer."""
        if self._count:
            self._flush()
        self._writer.close()

    def abandon(self) -> None:
        """Let go without an end; the writer, which insists on writing one, writes it nowhere."""
        self._sink.deaf = True
        self._writer.close()


class _Sink(io.RawIOBase):
    """A partial file as pyarrow wants it."""

    def __init__(self, file: Partial) -> None:
        self._file, self.deaf = file, False

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        view = memoryview(data)
        if not self.deaf:
            self._file.append(view)
        return len(view)


class ParquetOutput(Output):
    """A Parquet file that is written straight, and is of no use before its end.

    Parameters
    ----------
    path
        Its final name.
    schema, group_rows
        As in :class:`RowGroups`.
    suffix
        Of its name until then.
    """

    def __init__(
        self, path: str, schema: pa.Schema, group_rows: int = GROUP_ROWS, suffix: str = ".partial"
    ) -> None:
        self.name, self.rows = path, 0
        self._file = Partial(path, suffix=suffix, known=False)  # nobody goes on from here
        self._groups = RowGroups(self._file, schema, group_rows)

    def write(self, rows: pa.RecordBatch) -> None:
        """Append rows."""
        self._groups.append(rows)
        self.rows += len(rows)

    def sync(self) -> OutputPosition:
        """Impossible: what is written has no footer yet."""
        raise ValueError(
            "a Parquet output can be synced only if it was opened with resumable=True."
        )

    def finish(self) -> None:
        """Write the footer, and give the file its name."""
        self._groups.end()
        self._file.publish()

    def keep(self) -> None:
        """Write the footer, so that the rows can be read, and leave the file without its name."""
        self._groups.end()
        self._file.sync()
        self._file.close()

    def close(self) -> None:
        """Let go of the file, and remove it unless it was finished."""
        self._groups.abandon()
        self._file.close()


class SpooledParquet(Output):
    """A Parquet file by way of a spool: rows are appended to ``PATH.partial`` in Arrow's stream
    format; the end assembles them.

    Parameters
    ----------
    path
        Its final name.
    schema, group_rows
        As in :class:`RowGroups`.
    position
        Where to go on, or None for the beginning.
    """

    def __init__(
        self,
        path: str,
        schema: pa.Schema,
        position: OutputPosition | None,
        group_rows: int = GROUP_ROWS,
    ) -> None:
        self.name, self._schema, self._group_rows = path, schema, group_rows
        self.rows = 0
        if position and not _finished_since(path, position, schema):
            self._spool = Partial(path, position.offset, position.fingerprint)
            self.rows = position.rows
            return
        self._spool = Partial(path)
        self._spool.append(schema.serialize())
        if position:
            self._copy(path, position.rows)

    def _copy(self, path: str, count: int) -> None:
        """Take the rows of the finished file up again."""
        with pyarrow.parquet.ParquetFile(path) as file:
            for rows in file.iter_batches(self._group_rows):
                self.write(rows[: count - self.rows])

    def write(self, rows: pa.RecordBatch) -> None:
        """Append rows."""
        if len(rows):
            self._spool.append(memoryview(rows.serialize()))
            self.rows += len(rows)

    def sync(self) -> OutputPosition:
        """Rows down to the disk."""
        self._spool.sync()
        return OutputPosition("parquet", self._spool.offset, self.rows, self._spool.fingerprint())

    def finish(self) -> None:
        """Assemble the file beside the spool, give it its name, and only then remove the spool."""
        self._spool.sync()  # should anything fail now, the rows are safe
        whole = ParquetOutput(self.name, self._schema, self._group_rows, suffix=".assembling")
        with whole, reported(self.name), pa.OSFile(self._spool.partial) as spool:
            for rows in pa.ipc.open_stream(spool):
                whole.write(rows)
            whole.finish()
        self._spool.discard()

    def keep(self) -> None:
        """Leave the spool, from which the run can go on."""
        self._spool.sync()
        self._spool.close()

    def close(self) -> None:
        """Let go of the spool."""
        self._spool.close()


def _finished_since(path: str, position: OutputPosition, schema: pa.Schema) -> bool:
    """Whether the rows of a position are in the finished file, and no more in the spool that it was
    saved with.

    A spool that is there and not the one of the position is what another run has left that took the
    finished file up and died before it could save where it was: it is written anew, as nothing else
    is in it than in the file and what is tracked again.

    Raises
    ------
    TableError
        If neither of them is the output of the position.
    """
    spool = f"{path}.partial"
    if not os.path.exists(path):
        return False
    if os.path.lexists(spool):
        if os.path.islink(spool) or not os.path.isfile(spool):
            return False  # refused in words when it is opened
        with reported(path), open(spool, "rb") as file:
            if fingerprint_of(file, position.offset) == position.fingerprint:
                return False
    try:
        with reported(path), pyarrow.parquet.ParquetFile(path) as file:
            found = file.schema_arrow == schema and file.metadata.num_rows >= position.rows
    except pa.ArrowInvalid:  # no Parquet at all
        found = False
    if not found:
        raise not_ours(spool if os.path.lexists(spool) else path)
    return True
