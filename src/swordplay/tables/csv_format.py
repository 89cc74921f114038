"""CSV: names, delimiter and types from the head, then whole blocks by pyarrow."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from swordplay.tables import infer, parsers, schema
from swordplay.tables.csv_header import DELIMITERS, LOOKED_AT, CsvHeader, read_header
from swordplay.tables.errors import TableError
from swordplay.tables.parsers import BOOL, DATES, DOUBLE, NULL_TEXTS, STRING
from swordplay.tables.records import boundaries, newlines, pieces, record_ends
from swordplay.tables.schema import EMPTY, ColumnRequest, TableSchema
from swordplay.tables.table import HEAD_ROWS
from swordplay.tables.text import bad_row, endless, refusal
from swordplay.tables.text_format import Fault, TextHead, ended, is_utf8, not_utf8

FOR_THREADS = 1 << 16
"""Bytes of a block from which on its columns are read by several threads."""


class CsvFormat:
    """How a CSV table is written, and its blocks as rows.

    Parameters
    ----------
    columns
        Columns.
    delimiter
        Between fields.
    decimal
        The decimal point, or the comma that stands for it.
    """

    name = "csv"

    def __init__(self, columns: TableSchema, delimiter: str, decimal: str) -> None:
        self.columns = columns
        self.schema = columns.arrow
        self._delimiter, self._decimal = delimiter, decimal
        self.grows = EMPTY in columns.types
        self._parsing = pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
        self._types = self._converting(columns.stored_arrow, decimal)
        self._words = self._converting(
            pa.schema([(name, STRING) for name in self.schema.names]), "."
        )

    def _converting(self, schema: pa.Schema, decimal: str) -> pyarrow.csv.ConvertOptions:
        missing = [*NULL_TEXTS, *self.columns.missing]
        return pyarrow.csv.ConvertOptions(
            column_types=schema,
            include_columns=schema.names,
            null_values=[*missing, *(f" {text}" for text in missing)],  # as in "1, NA"
            strings_can_be_null=True,
            true_values=parsers.PLAIN_TRUE,
            false_values=parsers.PLAIN_FALSE,
            decimal_point=decimal,
        )

    def describe(self) -> str:
        """The layout and the rest, for a position."""
        return self.columns.to_json(delimiter=self._delimiter, decimal=self._decimal)

    @classmethod
    def described(cls, text: str) -> CsvFormat:
        """The way back from :meth:`describe`."""
        columns, details = TableSchema.from_json(text)
        return cls(columns, details["delimiter"], details["decimal"])

    def cut(self, block: bytes) -> int:
        """End of the last complete record; 0 where there is none."""
        if b'"' not in block:
            # A carriage return at the very end may be half of a newline.
            return block.rfind(b"\n") + 1 or block.rfind(b"\r", 0, len(block) - 1) + 1
        ends = boundaries(block, self._delimiter)[0]
        if len(ends) and ends[-1] == len(block) and block.endswith(b"\r"):
            ends = ends[:-1]
        return int(ends[-1]) if len(ends) else 0

    def unclosed(self, block: bytes) -> bool:
        """Whether the block ends within quotes."""
        return b'"' in block and boundaries(block, self._delimiter)[2]

    def split(self, block: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Starts and ends of the records that are not empty, in a block of complete ones."""
        return pieces(block, record_ends(block, self._delimiter), b"\r\n")

    def parse(self, block: bytes) -> pa.RecordBatch:
        """Complete records as rows; ``ArrowInvalid`` if one of them is bad."""
        try:
            rows = self._read(block, self._types)
        except pa.ArrowInvalid:
            rows = self._patiently(block)
        rows, bad = self.columns.parse(parsers.without_nan(rows))
        if bad:
            raise pa.ArrowInvalid(f"values of {', '.join(bad)} do not fit")
        return rows

    def _patiently(self, block: bytes) -> pa.RecordBatch:
        """The same by way of strings: signs such as ``-`` among numbers, of which pyarrow knows
        nothing, are missing.
        """
        words = self._read(block, self._words)
        values = zip(words.columns, self.columns.stored_arrow.types, strict=True)
        return pa.RecordBatch.from_arrays(
            [parsers.parse_plain(texts, kind, self._decimal) for texts, kind in values],
            schema=self.columns.stored_arrow,
        )

    def _read(self, block: bytes, converting: pyarrow.csv.ConvertOptions) -> pa.RecordBatch:
        # Several threads make numbers of the columns of a block; of a few lines one alone does it
        # sooner.
        threads = len(block) >= FOR_THREADS
        reading = pyarrow.csv.ReadOptions(
            column_names=self.columns.names, use_threads=threads, block_size=len(block) + 1
        )
        if not block:
            types = converting.column_types  # in no order
            return pa.RecordBatch.from_pylist(
                [], pa.schema([(name, types[name]) for name in self.schema.names])
            )
        table = pyarrow.csv.read_csv(pa.BufferReader(block), reading, self._parsing, converting)
        return (
            table.combine_chunks().to_batches()[0]
            if len(table)
            else pa.RecordBatch.from_pylist([], table.schema)
        )

    def faults(self, records: list[bytes]) -> dict[int, Fault]:
        """What is wrong with which record, by number."""
        found = not_utf8(records)
        fields = boundaries(b"".join(records), self._delimiter)[1]
        for i in np.flatnonzero(fields != len(self.columns.names)):
            found.setdefault(int(i), self._ragged(records[i], int(fields[i])))
        whole = [i for i in range(len(records)) if i not in found]
        words = self._read(b"".join(records[i] for i in whole), self._words)
        for values, field in zip(words.columns, self.schema, strict=True):
            if field.type == EMPTY:
                continue
            parser = self.columns.parsers.get(field.name)
            bad = (
                parsers.plain_misfits(values, field.type, self._decimal)
                if parser is None
                else parser.parse(values).bad
            )
            reason = f"is not {self.columns.expected_value(field.name, field.type)}"
            for i in np.flatnonzero(bad):
                found.setdefault(whole[i], Fault(field.name, values[int(i)].as_py(), reason))
        return found

    def plainly_good(self, block: bytes) -> bool:
        """Whether complete records are text with a field for each column: all that can be wrong
        with words.
        """
        return is_utf8(block) and bool(
            (boundaries(block, self._delimiter)[1] == len(self.columns.names)).all()
        )

    def overlooks(self, block: bytes) -> bool:
        """Never: the header names all columns."""
        return False

    def joined(self, records: list[bytes]) -> CsvFormat | None:
        """The format with the columns that have their first value in these records, which must
        be good; None without any.
        """
        words = self._read(b"".join(records), self._words)
        empty = [field.name for field in self.schema if field.type == EMPTY]
        rows = pa.RecordBatch.from_arrays(
            [parsers.null_marks_removed(words.column(name)) for name in empty], names=empty
        ).to_pylist()
        types = schema.late_column_types(
            ({name: text for name, text in row.items() if text is not None} for row in rows),
            lambda text: parsers.commonest_plain_type(
                pa.array([text]), [DOUBLE, BOOL, *DATES], self._decimal
            ),
            lambda text, type: not parsers.plain_misfits(pa.array([text]), type, self._decimal)[0],
        )
        if not types:
            return None
        return CsvFormat(self.columns.with_columns(types), self._delimiter, self._decimal)

    def _ragged(self, record: bytes, fields: int) -> Fault:
        expected = len(self.columns.names)
        reason = f"has {fields} field{'s' * (fields != 1)} where the header has {expected}"
        return Fault(None, record.decode(errors="replace").strip("\r\n"), reason)


def recognise(head: TextHead, request: ColumnRequest) -> CsvFormat:
    """The format of a file, from its head."""
    header = read_header(head, request)
    _require(head, header, request)
    head.remarks.extend(header.remarks)
    if header.delimiter != ",":
        head.remarks.append(f"Columns are separated by {DELIMITERS[header.delimiter]}.")
    if header.named and all(_is_number(name) for name in header.names):
        first = ", ".join(header.names[:3])
        head.remarks.append(
            f"The first line ({first}) is taken for the header, but holds only numbers. If it is "
            "data, say --header no."
        )
    as_words = CsvFormat(_words_only(header, request.missing), header.delimiter, ".")
    words = _words_of(head, header, as_words)
    decimal = "." if header.delimiter == "," else _decimal(words)
    if decimal != ".":
        head.remarks.append("Numbers are written with a decimal comma.")
    decisions = [
        infer.decide_texts(name, words.column(name), request, decimal) for name in header.names
    ]
    columns = infer.make_schema(head.name, header.names, decisions, request, head.remarks)
    head.take(header.size, header.lines)
    return CsvFormat(columns, header.delimiter, decimal)


def _words_only(header: CsvHeader, missing: tuple[str, ...] = ()) -> TableSchema:
    return TableSchema(header.names, (STRING,) * len(header.names), missing=missing)


def _require(head: TextHead, header: CsvHeader, request: ColumnRequest) -> None:
    """Columns that are asked for are there; where there are no names, say why."""
    try:
        request.check_names(head.name, header.names)
    except TableError as error:
        if header.named:
            raise
        raise TableError(f"{error} {header.remarks[-1]}") from None


def complete(head: bytes) -> bool:
    """Whether a head has a header and at least one record like it, or many others."""
    if head.count(b"\n") < 2:
        return False
    try:
        header = read_header(TextHead("", head), ColumnRequest(None))
    except TableError:
        return True  # no more bytes will mend it
    rest = head[header.size :]
    format = CsvFormat(_words_only(header), header.delimiter, ".")
    starts, ends = format.split(rest[: format.cut(rest)])
    rows = b"".join(rest[a:b] for a, b in zip(starts[:LOOKED_AT], ends[:LOOKED_AT], strict=True))
    fields = boundaries(rows, header.delimiter)[1]
    # Records of other lengths only: what was taken for the header may be a title above it.
    return len(starts) >= LOOKED_AT or bool((fields == len(header.names)).any())


def _words_of(head: TextHead, header: CsvHeader, format: CsvFormat) -> pa.RecordBatch:
    """The good records of the head as strings."""
    body = head.data[header.size :]
    body = ended(body) if head.ended else body[: format.cut(body)]
    starts, ends = format.split(body)
    if not len(starts) and format.unclosed(body):
        raise endless(head.name, header.lines)
    if not len(starts):
        raise TableError(
            f"{head.name} has a header ({', '.join(header.names[:5])}) and no rows. Give a file "
            "with data."
        )
    starts, ends = starts[:HEAD_ROWS], ends[:HEAD_ROWS]
    in_a_row = bool((starts[1:] == ends[:-1]).all())  # no empty line between them
    whole = (
        body[starts[0] : ends[-1]]
        if in_a_row
        else b"".join(body[a:b] for a, b in zip(starts, ends, strict=True))
    )
    if format.plainly_good(whole):  # the usual case, in a third of the time
        return format.parse(whole)
    records = [body[a:b] for a, b in zip(starts, ends, strict=True)]
    found = format.faults(records)
    if len(found) == len(records):
        line = header.lines + 1 + len(newlines(body[: starts[0]]))
        raise bad_row(head.name, refusal(1, line, found[0]))
    return format.parse(b"".join(record for i, record in enumerate(records) if i not in found))


def _decimal(words: pa.RecordBatch) -> str:
    """A comma if that makes numbers of more columns than a point does."""
    unmarked = [parsers.null_marks_removed(values) for values in words.columns]
    number_columns = {
        sign: sum(
            parsers.commonest_plain_type(values, [DOUBLE], sign) == DOUBLE for values in unmarked
        )
        for sign in ".,"
    }
    return "," if number_columns[","] > number_columns["."] else "."


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
