"""Parquet: batches of rows in the kinds of values that are used here."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from swordplay.arguments import shown
from swordplay.tables import columns, deciding
from swordplay.tables.columns import Choice
from swordplay.tables.deciding import Decision
from swordplay.tables.errors import TableError, unreadable
from swordplay.tables.layout import Layout
from swordplay.tables.readings.moments import UNITS
from swordplay.tables.readings.reading import DATES, MISSING, NUMBER, TIME, TRUTH, WORD, known
from swordplay.tables.source import Raw, Source
from swordplay.tables.table import Batch, Position, Refusal, Table
from swordplay.tables.text import BEGINNING, bad_row

BATCH_ROWS = 1 << 16
BUFFER = 1 << 20
"""Bytes of a column that are read at a time: row groups may be larger than the memory."""
HEAD_ROWS = 10_000
"""Rows that decide how texts and numbers are read."""


BECOMES = (
    (pa.types.is_integer, NUMBER),
    (pa.types.is_floating, NUMBER),
    (pa.types.is_decimal, NUMBER),
    (pa.types.is_null, NUMBER),
    (pa.types.is_duration, NUMBER),
    (pa.types.is_boolean, TRUTH),
    (pa.types.is_string, WORD),
    (pa.types.is_large_string, WORD),
    (pa.types.is_string_view, WORD),
    (pa.types.is_time, TIME),
)
"""What stored types become, beside those of dates."""


class ParquetTable(Table):
    """A Parquet file.

    Parameters
    ----------
    source
        The file.
    choice
        Of its columns.
    position
        Where to go on, or None for the beginning.
    skip
        Whether bad rows are left out; otherwise the first one is an error.
    batch_rows
        Rows per batch.
    """

    def __init__(
        self,
        source: Source,
        choice: Choice,
        position: Position | None,
        *,
        skip: bool,
        batch_rows: int = BATCH_ROWS,
    ) -> None:
        self.name, self.remarks = source.name, []
        self._raw: Raw = source.raw
        if self._raw.live or not os.path.exists(self.name):
            raise TableError(
                f"{self.name}: Parquet cannot be read from a pipe, as it begins with its end. Give the file itself."
            )
        self._file = self._opened(source)
        columns.require(self.name, self._file.schema_arrow.names, choice)
        if position is None:
            layout = self._decided(choice)
            position = Position("parquet", layout.text(), 0, 0, 0, 0, self._fingerprint())
            kept = zip(layout.schema.names, layout.schema.types, strict=True)
            self.remarks += [columns.rounded(name) for name, kind in kept if kind == NUMBER and self._is_beyond_exact(name)]
        elif position.fingerprint != self._fingerprint() or position.row > self._file.metadata.num_rows:
            raise changed(self.name)
        self._layout = Layout.read(position.layout)[0]
        self.schema = self._layout.schema
        self._position, self._skip, self._batch_rows = position, skip, batch_rows
        asked = {name for name in self._layout.names if not choice.leaves_out(name)}
        if asked != {*self.schema.names, *self._layout.left} - {name for name in self._layout.left if choice.leaves_out(name)}:
            raise changed(self.name)

    def _opened(self, source: Source) -> pyarrow.parquet.ParquetFile:
        path = source.name
        if source.magic != b"PAR1":
            raise TableError(f"{path} is not a Parquet file: it does not begin like one. Give its --format.")
        if source.codec:
            raise TableError(f"{path} is Parquet packed with {source.codec}. Unpack it first; Parquet is compressed by itself.")
        try:
            return pyarrow.parquet.ParquetFile(path, buffer_size=BUFFER, pre_buffer=False)
        except (pa.ArrowInvalid, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise unreadable(path, error) from error
            raise TableError(
                f"{path} is not a whole Parquet file: it is cut short or damaged at its end. Fetch or write it again."
            ) from error

    def _decided(self, choice: Choice) -> Layout:
        """What is made of every column, by its type and, of texts and whole numbers, by the first rows."""
        schema = self._file.schema_arrow
        if not self._file.metadata.num_rows:
            raise TableError(f"{self.name} has columns ({', '.join(schema.names[:5])}) and no rows. Give a file with data.")
        kinds = {field.name: _kind(field.type) for field in schema}
        looked_at = [name for name in schema.names if kinds[name] is not None and not choice.leaves_out(name)]
        try:
            head = next(self._file.iter_batches(HEAD_ROWS, columns=looked_at, use_threads=False))
        except (OSError, pa.ArrowException) as error:
            raise self._damaged(error, 1) from error
        decisions = []
        for field in schema:
            kind, name = kinds[field.name], field.name
            if choice.leaves_out(name):
                decisions.append(deciding.LEFT_OUT)
            elif kind is None:
                decisions.append(deciding.nested(name, f"values of type {shown(str(field.type), 40)[1:-1]}", choice))
            elif kind == WORD:
                texts = known(_plain(head.column(name)).cast(WORD), (*MISSING, *choice.missing))
                decisions.append(_of_texts(name, texts, choice))
            elif kind == NUMBER:
                decisions.append(deciding.of_numbers_stored(name, _cast(head.column(name), NUMBER), choice))
            else:
                decisions.append(deciding.of_others_stored(name, _cast(head.column(name), kind), kind, choice))
        stored = {name: kind for name, kind in kinds.items() if kind is not None}
        return deciding.layout(self.name, schema.names, decisions, choice, self.remarks, stored)

    def _is_beyond_exact(self, name: str) -> bool:
        """Whether the statistics of the first row group tell of whole numbers that a double rounds."""
        group = self._file.metadata.row_group(0)
        known = [chunk.statistics for chunk in map(group.column, range(group.num_columns)) if chunk.path_in_schema == name]
        ends = [end for found in known if found and found.has_min_max for end in (found.min, found.max)]
        return any(isinstance(end, int) and abs(end) >= columns.LARGEST_EXACT for end in ends)

    def _fingerprint(self) -> str:
        """Of columns and the beginning of the values."""
        with open(self.name, "rb") as file:
            names = json.dumps([[field.name, str(field.type)] for field in self._file.schema_arrow])
            return hashlib.sha256(names.encode() + file.read(BEGINNING)).hexdigest()

    @property
    def refused(self) -> int:
        """Bad rows so far."""
        return self._position.refused

    @property
    def size(self) -> int | None:
        """Bytes of the file."""
        return self._raw.size

    @property
    def consumed(self) -> int:
        """The same share of the bytes as of the rows."""
        return int((self._raw.size or 0) * self._position.row // self._file.metadata.num_rows)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()
        self._raw.close()

    def batches(self) -> Iterator[Batch]:
        """The rows that are left."""
        groups, passed = self._rest()
        stored = self._file.iter_batches(self._batch_rows, row_groups=groups, columns=self.schema.names, use_threads=False)
        while True:
            try:
                rows = next(stored, None)
            except (OSError, pa.ArrowException) as error:
                raise self._damaged(error, self._position.row + 1) from error
            if rows is None:
                return
            beyond = rows[passed:]
            passed = max(0, passed - len(rows))
            if len(beyond):
                yield from self._batch(beyond)

    def _damaged(self, error: Exception, row: int) -> TableError:
        return TableError(f"{self.name} is damaged behind row {row} ({shown(str(error), 60)[1:-1]}). Fetch it again.")

    def _rest(self) -> tuple[list[int], int]:
        """Row groups from the one of the position on, and how many of its rows are done."""
        metadata = self._file.metadata
        done = self._position.row
        for group in range(metadata.num_row_groups):
            if done < metadata.row_group(group).num_rows:
                return list(range(group, metadata.num_row_groups)), done
            done -= metadata.row_group(group).num_rows
        return [], 0

    def _batch(self, stored: pa.RecordBatch) -> Iterator[Batch]:
        first, at = self._position.row + 1, self._position
        typed = self._typed(stored)
        rows, wrong = self._layout.converted(typed)
        bad = np.zeros(len(rows), bool)
        refusals: list[Refusal] = []
        for values, field in zip(rows.columns, rows.schema, strict=True):
            reading = self._layout.readings.get(field.name)
            misfits = wrong.get(field.name, np.zeros(len(rows), bool)) | columns.infinite(values)
            for i in np.flatnonzero(misfits & ~bad):
                reason = f"is not {columns.meaning(field.type) if reading is None else reading.expected}"
                value = shown(str(typed.column(field.name)[int(i)].as_py()))[1:-1]
                refusals.append(Refusal(first + int(i), None, field.name, value, reason))
            bad |= misfits
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

    def _typed(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The values as they are stored, in one of the types that are used here."""
        schema = self._layout.input
        arrays = [_cast(rows.column(name), kind) for name, kind in zip(schema.names, schema.types, strict=True)]
        if self._layout.missing:
            arrays = list(map(self._layout.known, arrays))
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _kind(stored: pa.DataType) -> pa.DataType | None:
    """The type of values that a stored type becomes; None for lists, bytes and the like."""
    stored = stored.value_type if pa.types.is_dictionary(stored) else stored
    if pa.types.is_date(stored):
        return DATES[0]
    if pa.types.is_timestamp(stored):
        return pa.timestamp("ns" if stored.unit == "ns" else "us", None if stored.tz is None else "UTC")
    return next((kind for test, kind in BECOMES if test(stored)), None)


def _of_texts(name: str, texts: pa.Array, choice: Choice) -> Decision:
    """Strings, none of which was read yet."""
    if texts.null_count == len(texts) and name not in choice.types:
        return Decision(WORD)
    made = deciding.of_texts(name, texts, choice)
    if made.type in (None, WORD) or made.reading is not None:
        return made
    return made._replace(reading=deciding.plainly(made.type, "."))


def _plain(values: pa.Array) -> pa.Array:
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


def _cast(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Values in another type; lengths of time in seconds."""
    values = _plain(values)
    if pa.types.is_duration(values.type):
        return pc.divide(pc.cast(values.cast(pa.int64()), NUMBER, safe=False), UNITS[values.type.unit])
    return pc.cast(values, kind, safe=False)


def changed(name: str) -> TableError:
    """The input is not the one that was being read."""
    return TableError(
        f"{name} is not the input that this state was saved with: it begins differently or is shorter.\n"
        "Give the same input, or begin anew with --force."
    )
