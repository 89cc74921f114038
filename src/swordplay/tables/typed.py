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
from swordplay.tables import infer, parsers
from swordplay.tables.date_parser import TICKS_PER_SECOND
from swordplay.tables.digests import LEAST_ROWS, RowDigest, agreed_place
from swordplay.tables.errors import TableError, changed
from swordplay.tables.infer import ColumnDecision
from swordplay.tables.lean import values_of
from swordplay.tables.parsers import BOOL, DATES, DOUBLE, NULL_TEXTS, STRING, TIME, null_where
from swordplay.tables.schema import ColumnRequest, TableSchema, plain_parser
from swordplay.tables.table import Batch, Position, Refusal, Table, not_resumable
from swordplay.tables.text import bad_row

BATCH_ROWS = 1 << 16
BECOMES = (
    (pa.types.is_integer, DOUBLE),
    (pa.types.is_floating, DOUBLE),
    (pa.types.is_decimal, DOUBLE),
    (pa.types.is_null, DOUBLE),
    (pa.types.is_duration, DOUBLE),
    (pa.types.is_boolean, BOOL),
    (pa.types.is_string, STRING),
    (pa.types.is_large_string, STRING),
    (pa.types.is_string_view, STRING),
    (pa.types.is_time, TIME),
)
"""What stored types become, beside those of dates."""


class TypedTable(Table):
    """What Parquet files and tables in memory have in common.

    Those who inherit set ``schema``, ``_columns`` and ``_position``.

    Parameters
    ----------
    name
        Of the input.
    skip
        Whether bad rows are left out; otherwise the first one is an error.
    """

    _columns: TableSchema
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
        rows, wrong = self._columns.parse(typed)
        bad = np.zeros(len(rows), bool)
        refusals: list[Refusal] = []
        for values, field in zip(rows.columns, rows.schema, strict=True):
            misfits = parsers.infinite_mask(values)
            if field.name in wrong:
                misfits |= wrong[field.name]
            reason = f"is not {self._columns.expected_value(field.name, field.type)}"
            for i in np.flatnonzero(misfits & ~bad):
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
        rows = parsers.without_nan(rows.take(pa.array(kept)) if refusals else rows)
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
        schema = self._columns.stored_arrow
        arrays = [
            cast(rows.column(name), kind)
            for name, kind in zip(schema.names, schema.types, strict=True)
        ]
        if self._columns.missing:
            arrays = list(map(self._columns.null_missing, arrays))
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


def decided(
    name: str,
    schema: pa.Schema,
    rows: int,
    head: Callable[[Sequence[str]], pa.RecordBatch],
    request: ColumnRequest,
    remarks: list[str],
) -> TableSchema:
    """What is made of every column, by its type and, of texts and whole numbers, by the first rows.

    Parameters
    ----------
    name, schema, rows
        What messages call the table, its columns as they are stored, and how many rows it has.
    head
        Gives the first rows of some columns.
    request
        What the user says.
    remarks
        Where to put what was noticed.

    Raises
    ------
    TableError
        If a column that is asked for is not there or cannot be used, or if there are no rows.
    """
    request.check_names(name, schema.names)
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
            if kinds[field] is not None and not request.leaves_out(field)
        ]
    )
    decisions = [_decision(field, kinds[field.name], first, request) for field in schema]
    stored = {field: kind for field, kind in kinds.items() if kind is not None}
    return infer.make_schema(name, schema.names, decisions, request, remarks, stored)


def _decision(
    field: pa.Field, kind: pa.DataType | None, head: pa.RecordBatch, request: ColumnRequest
) -> ColumnDecision:
    name = field.name
    if request.leaves_out(name):
        return infer.LEAVE_OUT
    if kind is None:
        return infer.decide_nested(
            name, f"values of type {short_repr(str(field.type), 40)[1:-1]}", request
        )
    if kind == STRING:
        return _of_texts(
            name,
            null_where(plain(head.column(name)).cast(STRING), (*NULL_TEXTS, *request.missing)),
            request,
        )
    values = cast(head.column(name), kind)
    if kind == DOUBLE:
        return infer.decide_stored_numbers(name, values, request)
    return infer.decide_stored(name, values, kind, request)


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


def _of_texts(name: str, texts: pa.Array, request: ColumnRequest) -> ColumnDecision:
    """Strings, none of which was read yet."""
    if texts.null_count == len(texts) and name not in request.types and name not in request.known:
        return ColumnDecision(STRING)
    made = infer.decide_texts(name, texts, request)
    if made.type in (None, STRING) or made.parser is not None:
        return made
    return made._replace(parser=plain_parser(made.type, "."))


def plain(values: pa.Array) -> pa.Array:
    """Values without a dictionary."""
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


def cast(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Values in another type; lengths of time in seconds."""
    values = plain(values)
    if pa.types.is_duration(values.type):
        return pc.divide(
            pc.cast(values.cast(pa.int64()), DOUBLE, safe=False), TICKS_PER_SECOND[values.type.unit]
        )
    return pc.cast(values, kind, safe=False)
