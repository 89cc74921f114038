"""CSV: names, delimiter and types from the head, then whole blocks by pyarrow."""

from __future__ import annotations

import csv
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from swordplay.tables import columns
from swordplay.tables.columns import DATES, MISSING, NUMBER, TRUTH, WORD, Choice, Layout
from swordplay.tables.errors import TableError
from swordplay.tables.records import boundaries, newlines, pieces
from swordplay.tables.text import Fault, Head, bad_row, ended, endless, not_utf8, refusal, without_mark

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
HEAD_ROWS = 10_000
"""Rows that decide on the types."""


class Header(NamedTuple):
    """The first record of a file."""

    names: tuple[str, ...]
    delimiter: str
    size: int
    """Bytes, with the byte-order mark and empty lines before it."""
    lines: int


class Delimited:
    """How a CSV table is written, and its blocks as rows.

    Parameters
    ----------
    layout
        Columns.
    delimiter
        Between fields.
    decimal
        The decimal point, or the comma that stands for it.
    """

    name = "csv"

    def __init__(self, layout: Layout, delimiter: str, decimal: str) -> None:
        self.layout = layout
        self.schema = layout.schema
        self._delimiter, self._decimal = delimiter, decimal
        self._parsing = pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
        self._types = self._converting(self.schema, decimal)
        self._words = self._converting(pa.schema([(name, WORD) for name in self.schema.names]), ".")

    @staticmethod
    def _converting(schema: pa.Schema, decimal: str) -> pyarrow.csv.ConvertOptions:
        return pyarrow.csv.ConvertOptions(
            column_types=schema,
            include_columns=schema.names,
            null_values=[*MISSING, *(f" {text}" for text in MISSING)],
            strings_can_be_null=True,
            true_values=columns.TRUE,
            false_values=columns.FALSE,
            decimal_point=decimal,
        )

    def describe(self) -> str:
        """The layout and the rest, for a position."""
        return self.layout.text(delimiter=self._delimiter, decimal=self._decimal)

    @classmethod
    def described(cls, text: str) -> Delimited:
        """The way back from :meth:`describe`."""
        layout, details = Layout.read(text)
        return cls(layout, details["delimiter"], details["decimal"])

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
        return pieces(block, boundaries(block, self._delimiter)[0], b"\r\n")

    def parse(self, block: bytes) -> pa.RecordBatch:
        """Complete records as rows; ``ArrowInvalid`` if one of them is bad."""
        return columns.finite(self._read(block, self._types))

    def _read(self, block: bytes, converting: pyarrow.csv.ConvertOptions) -> pa.RecordBatch:
        reading = pyarrow.csv.ReadOptions(column_names=self.layout.names, use_threads=False, block_size=len(block) + 1)
        if not block:
            return pa.RecordBatch.from_pylist([], pa.schema(converting.column_types))
        table = pyarrow.csv.read_csv(pa.BufferReader(block), reading, self._parsing, converting)
        return table.combine_chunks().to_batches()[0] if len(table) else pa.RecordBatch.from_pylist([], table.schema)

    def faults(self, records: list[bytes]) -> dict[int, Fault]:
        """What is wrong with which record, by number."""
        found = not_utf8(records)
        fields = boundaries(b"".join(records), self._delimiter)[1]
        for i in np.flatnonzero(fields != len(self.layout.names)):
            found.setdefault(int(i), self._ragged(records[i], int(fields[i])))
        whole = [i for i in range(len(records)) if i not in found]
        words = self._read(b"".join(records[i] for i in whole), self._words)
        for values, field in zip(words.columns, self.schema, strict=True):
            for i in np.flatnonzero(columns.misfits(values, field.type, self._decimal)):
                reason = f"is not {columns.meaning(field.type)}"
                found.setdefault(whole[i], Fault(field.name, values[int(i)].as_py(), reason))
        return found

    def _ragged(self, record: bytes, fields: int) -> Fault:
        reason = f"has {fields} field{'s' * (fields != 1)} where the header has {len(self.layout.names)}"
        return Fault(None, record.decode(errors="replace").strip("\r\n"), reason)


def recognise(head: Head, choice: Choice) -> Delimited:
    """The format of a file, from its head."""
    header = read_header(head)
    columns.require(head.name, header.names, choice)
    if header.delimiter != ",":
        head.remarks.append(f"Columns are separated by {DELIMITERS[header.delimiter]}.")
    if all(_is_number(name) for name in header.names):
        first = ", ".join(header.names[:3])
        head.remarks.append(f"The first line ({first}) is taken for the header, but holds only numbers. Is the header missing?")
    as_words = Delimited(Layout(header.names, (WORD,) * len(header.names)), header.delimiter, ".")
    words = _words_of(head, header, as_words)
    decimal = "." if header.delimiter == "," else _decimal(words)
    if decimal != ".":
        head.remarks.append("Numbers are written with a decimal comma.")
    types = tuple(_kind(head, name, words.column(name), decimal, choice) for name in header.names)
    head.take(header.size, header.lines)
    return Delimited(Layout(header.names, types), header.delimiter, decimal)


def complete(head: bytes) -> bool:
    """Whether a head has a header and at least one record after it."""
    if head.count(b"\n") < 2:
        return False
    try:
        header = read_header(Head("", head))
    except TableError:
        return True  # no more bytes will mend it
    rest = head[header.size :]
    end = Delimited(Layout(header.names, (WORD,) * len(header.names)), header.delimiter, ".").cut(rest)
    return bool(rest[:end].strip(b"\r\n"))


def read_header(head: Head) -> Header:
    """Names and delimiter: the one of :data:`DELIMITERS` that makes the most columns."""
    text = without_mark(head.data)
    mark = len(head.data) - len(text)
    body = text.lstrip(b"\r\n")
    blank = text[: len(text) - len(body)]
    lines = body.splitlines(keepends=True)
    readings = [_first_record(head.name, lines, delimiter) for delimiter in DELIMITERS]
    (names, count), delimiter = max(zip(readings, DELIMITERS, strict=True), key=lambda reading: len(reading[0][0]))
    if count > len(lines):
        raise endless(head.name, len(blank.splitlines()))
    clean = tuple(name.strip() or f"column {i}" for i, name in enumerate(names, 1))
    if "" in (name.strip() for name in names):
        head.remarks.append("Columns without a name are called by their number, such as 'column 1'.")
    size = mark + len(blank) + sum(map(len, lines[:count]))
    return Header(clean, delimiter, size, count + len(blank.splitlines()))


def _first_record(name: str, lines: list[bytes], delimiter: str) -> tuple[list[str], int]:
    """Fields of the first record, and how many lines it takes: one more than there are if a quote is never closed."""
    reader = csv.reader((line.decode() for line in [*lines, b""]), delimiter=delimiter)
    try:
        return next(reader), reader.line_num
    except UnicodeDecodeError as error:
        raise TableError(
            f"{name}, line {reader.line_num + 1}: byte 0x{error.object[error.start]:02x} of the header is not UTF-8. "
            "Give the encoding of the file, such as --encoding latin-1."
        ) from None
    except csv.Error:
        raise endless(name, 0) from None  # the csv module gives up on fields of 128 KiB


def _words_of(head: Head, header: Header, format: Delimited) -> pa.RecordBatch:
    """The good records of the head as strings."""
    body = head.data[header.size :]
    body = ended(body) if head.ended else body[: format.cut(body)]
    starts, ends = format.split(body)
    if not len(starts) and format.unclosed(body):
        raise endless(head.name, header.lines)
    if not len(starts):
        raise TableError(f"{head.name} has a header ({', '.join(header.names[:5])}) and no rows. Give a file with data.")
    records = [body[a:b] for a, b in zip(starts[:HEAD_ROWS], ends[:HEAD_ROWS], strict=True)]
    found = format.faults(records)
    if len(found) == len(records):
        line = header.lines + 1 + len(newlines(body[: starts[0]]))
        raise bad_row(head.name, refusal(1, line, found[0]))
    return format.parse(b"".join(record for i, record in enumerate(records) if i not in found))


def _decimal(words: pa.RecordBatch) -> str:
    """A comma if that makes numbers of more columns than a point does."""
    kinds = [[columns.vote(values, [NUMBER], mark) for values in words.columns] for mark in ".,"]
    return "," if kinds[1].count(NUMBER) > kinds[0].count(NUMBER) else "."


def _kind(head: Head, name: str, values: pa.Array, decimal: str, choice: Choice) -> pa.DataType | None:
    if choice.leaves_out(name):
        return None
    kind = columns.vote(values, [NUMBER, TRUTH, *DATES], decimal)
    if kind is None:
        head.remarks.append(columns.empty(name))
        return NUMBER
    if kind == NUMBER and columns.beyond_exact(values):
        head.remarks.append(columns.rounded(name))
    return kind


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
