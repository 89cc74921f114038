"""Tables whose columns have Arrow types already, such as Parquet files and data frames: brought
into the kinds of values.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from swordplay.core.arguments import short_repr
from swordplay.tables import columns, deciding
from swordplay.tables.columns import Choice
from swordplay.tables.deciding import Decision
from swordplay.tables.digests import LEAST_ROWS, RowDigest, agreed_place
from swordplay.tables.earlier import plainly
from swordplay.tables.errors import TableError, changed
from swordplay.tables.layout import Layout
from swordplay.tables.lean import values_of
from swordplay.tables.readings.moments import UNITS
from swordplay.tables.readings.reading import DATES, MISSING, NUMBER, TIME, TRUTH, WORD, known
from swordplay.tables.table import Batch, Position, Refusal, Table, not_resumable
from swordplay.tables.text import bad_row

BATCH_ROWS = 1 << 16
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


class TypedTable(Table):
    """What Parquet files and tables in memory have in common.

    Those who inherit set ``schema``, ``_layout`` and ``_position``.

    Parameters
    ----------
    name
        Of the input.
    skip
        Whether bad rows are left out; otherwise the first one is an error.
    """

    _layout: Layout
    _position: Position
    _digest: RowDigest | None = None
    """Of the rows in front of the position; None if no position has to be resumed from."""

    def __init__(self, name: str, *, skip: bool) -> None:
        self.name, self.remarks, self._skip = name, [], skip

    @property
    def refused(self) -> int:
        """Bad rows so far."""
        return self._position.refused

    def _batch(self, stored: pa.RecordBatch) -> Iterator[Batch]:
        """Rows behind the position as a batch.

        Unless ``skip``, the good rows before the first bad one, then the error.
        """
        first, at = self._position.row + 1, self._position
        typed = self._typed(stored)
        rows, wrong = self._layout.converted(typed)
        bad = np.zeros(len(rows), bool)
        refusals: list[Refusal] = []
        for values, field in zip(rows.columns, rows.schema, strict=True):
            reading = self._layout.readings.get(field.name)
            misfits = wrong.get(field.name, np.zeros(len(rows), bool)) | columns.infinite(values)
            for i in np.flatnonzero(misfits & ~bad):
                reason = (
                    f"is not {columns.meaning(field.type) if reading is None else reading.expected}"
                )
                value = short_repr(str(values_of(typed.column(field.name)[i : i + 1])[0]))[1:-1]
                refusals.append(Refusal(first + int(i), None, field.name, value, reason))
            bad |= misfits
        refusals.sort()
        if refusals and not self._skip:
            before = refusals[0].row - first
            if before:
                yield from self._batch(stored[:before])
            raise bad_row(self.name, refusals[0])
        position_at = functools.partial(
            self._position_at, at, self._digest and self._digest.copy(), typed, refusals
        )
        self._position = at._replace(row=at.row + len(rows), refused=at.refused + len(refusals))
        if self._digest is not None:
            self._digest.add(typed)
            self._position = self._position._replace(**self._digest.digests._asdict())
        kept = np.flatnonzero(~bad)
        rows = columns.finite(rows.take(pa.array(kept)) if refusals else rows)
        yield Batch(rows, first + kept, self._position, tuple(refusals), position_at)

    def _position_at(
        self,
        at: Position,
        digest: RowDigest | None,
        typed: pa.RecordBatch,
        refusals: Sequence[Refusal],
        row: int,
    ) -> Position:
        """The position after one of the rows ``typed`` behind the position ``at``, where the
        digest is ``digest``.
        """
        if not at.fingerprint:
            return not_resumable(row)
        found = at._replace(row=row, refused=at.refused + sum(one.row <= row for one in refusals))
        if digest is None:  # the fingerprint is of the whole table
            return found
        digest = digest.copy()
        digest.add(typed[: row - at.row])
        return found._replace(**digest.digests._asdict())

    def _read_again(
        self,
        stored: Iterable[pa.RecordBatch],
        position: Position,
        progress: Callable[[float], None],
    ) -> RowDigest:
        """Compare the rows in front of a position with its digests; the digest of these rows.

        Raises
        ------
        TableChanged
            If they have changed, or there are fewer.
        """
        digest, prefixes = RowDigest(), ""
        for rows in stored:
            digest.add(self._typed(rows[: position.row - digest.count]))
            prefixes = digest.digests.prefix_digests
            if digest.count == position.row or not position.prefix_digests.startswith(prefixes):
                break
            progress(digest.count / position.row)
        if digest.count < position.row or digest.digests.fingerprint != position.fingerprint:
            shared = agreed_place(prefixes, position.prefix_digests, LEAST_ROWS)
            agrees = position.prefix_digests.startswith(prefixes)
            raise changed(
                self.name, position.row, shared, is_shorter=agrees and digest.count < position.row
            )
        return digest

    def _typed(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The values as they are stored, in one of the types that are used here."""
        schema = self._layout.input
        arrays = [
            cast(rows.column(name), kind)
            for name, kind in zip(schema.names, schema.types, strict=True)
        ]
        if self._layout.missing:
            arrays = list(map(self._layout.known, arrays))
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


def decided(
    name: str,
    schema: pa.Schema,
    rows: int,
    head: Callable[[Sequence[str]], pa.RecordBatch],
    choice: Choice,
    remarks: list[str],
) -> Layout:
    """What is made of every column, by its type and, of texts and whole numbers, by the first rows.

    Parameters
    ----------
    name, schema, rows
        What messages call the table, its columns as they are stored, and how many rows it has.
    head
        Gives the first rows of some columns.
    choice
        What the user says.
    remarks
        Where to put what was noticed.

    Raises
    ------
    TableError
        If a column that is asked for is not there or cannot be used, or if there are no rows.
    """
    columns.require(name, schema.names, choice)
    if not rows:
        raise TableError(
            f"{name} has columns ({', '.join(schema.names[:5])}) and no rows. Give a table with "
            "data."
        )
    kinds = {field.name: kind_of(field.type) for field in schema}
    first = head(
        [
            field
            for field in schema.names
            if kinds[field] is not None and not choice.leaves_out(field)
        ]
    )
    decisions = [_decision(field, kinds[field.name], first, choice) for field in schema]
    stored = {field: kind for field, kind in kinds.items() if kind is not None}
    return deciding.layout(name, schema.names, decisions, choice, remarks, stored)


def _decision(
    field: pa.Field, kind: pa.DataType | None, head: pa.RecordBatch, choice: Choice
) -> Decision:
    name = field.name
    if choice.leaves_out(name):
        return deciding.LEFT_OUT
    if kind is None:
        return deciding.nested(
            name, f"values of type {short_repr(str(field.type), 40)[1:-1]}", choice
        )
    if kind == WORD:
        return _of_texts(
            name, known(plain(head.column(name)).cast(WORD), (*MISSING, *choice.missing)), choice
        )
    values = cast(head.column(name), kind)
    if kind == NUMBER:
        return deciding.of_numbers_stored(name, values, choice)
    return deciding.of_others_stored(name, values, kind, choice)


def kind_of(stored: pa.DataType) -> pa.DataType | None:
    """The type of values that a stored type becomes; None for lists, bytes and the like."""
    stored = stored.value_type if pa.types.is_dictionary(stored) else stored
    if pa.types.is_date(stored):
        return DATES[0]
    if pa.types.is_timestamp(stored):
        return pa.timestamp(
            "ns" if stored.unit == "ns" else "us", None if stored.tz is None else "UTC"
        )
    return next((kind for test, kind in BECOMES if test(stored)), None)


def _of_texts(name: str, texts: pa.Array, choice: Choice) -> Decision:
    """Strings, none of which was read yet."""
    if texts.null_count == len(texts) and name not in choice.types and name not in choice.before:
        return Decision(WORD)
    made = deciding.of_texts(name, texts, choice)
    if made.type in (None, WORD) or made.reading is not None:
        return made
    return made._replace(reading=plainly(made.type, "."))


def plain(values: pa.Array) -> pa.Array:
    """Values without a dictionary."""
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


def cast(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Values in another type; lengths of time in seconds."""
    values = plain(values)
    if pa.types.is_duration(values.type):
        return pc.divide(
            pc.cast(values.cast(pa.int64()), NUMBER, safe=False), UNITS[values.type.unit]
        )
    return pc.cast(values, kind, safe=False)
