"""Where a CSV table begins: lines before it, the names of its columns or none, a row of units."""

from __future__ import annotations

import contextlib
import csv
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from swordplay.core.arguments import short_repr
from swordplay.tables.errors import TableError
from swordplay.tables.infer import value_kind
from swordplay.tables.parsers import NULL_MARKS, NULL_TEXTS
from swordplay.tables.schema import ColumnRequest
from swordplay.tables.text import endless
from swordplay.tables.text_format import TextHead, without_mark

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
LOOKED_AT = 40
"""Records by which the beginning of a table is recognised."""
NEAR = 1 << 16
"""Bytes in which so many records are looked for first."""
LONGEST_UNIT = 12
EARLIEST_YEAR, LATEST_YEAR = 1800, 2200
"""Whole numbers between them are years, and may be names of columns."""
NOTHING = {*NULL_TEXTS, *NULL_MARKS}


class CsvHeader(NamedTuple):
    """The beginning of a table."""

    names: tuple[str, ...]
    delimiter: str
    size: int
    """Bytes before the first row of data, with the byte-order mark."""
    lines: int
    """Lines before it."""
    remarks: tuple[str, ...] = ()
    named: bool = True
    """Whether the names were there."""


class Record(NamedTuple):
    """A record, and the lines that it takes."""

    fields: tuple[str, ...]
    first: int
    last: int
    """One more than the number of its last line, counted from 0."""

    @property
    def filled(self) -> int:
        """Fields that hold something."""
        return sum(1 for field in self.fields if field)

    @property
    def is_comment(self) -> bool:
        """Whether it begins with a hash."""
        return bool(self.fields) and self.fields[0].startswith("#")


class Place(NamedTuple):
    """Where the names are, or the first row of data where there are none."""

    delimiter: str
    records: Sequence[Record]
    at: int
    """Which of the records."""


def read_header(head: TextHead, request: ColumnRequest) -> CsvHeader:
    """Names, delimiter and what stands before them.

    Parameters
    ----------
    head
        The beginning of the text.
    request
        What the user says: a target that is among the names settles that they are names.
    """
    text = without_mark(head.data)
    lines, every = _beginning(head, text)
    readings = {delimiter: records for delimiter, records in every.items() if records}
    if not readings:
        raise endless(head.name, 0) if b'"' in lines[0] else longest_field(head.name)
    place = _place(readings, request)
    record, below = place.records[place.at], place.records[place.at + 1 :]
    names, named = record.fields, request.header
    if named is None:
        named = _is_header(record, below, request.target)
    remarks = _passed(place.records[: place.at])
    last = record.last if named else record.first
    if not named and place.at and place.records[place.at - 1].is_comment and request.header is None:
        above = place.records[place.at - 1]
        commented = (above.fields[0].lstrip("# "), *above.fields[1:])
        if len(commented) == len(names) and not any(
            map(value_kind, commented)
        ):  # the names stand in a comment
            names, named, remarks = commented, True, _passed(place.records[: place.at - 1])
    _require_utf8(head.name, lines, record)
    if named and below and _is_units(below[0], below[1:], len(names)) and request.header is None:
        last = below[0].last
        units = ", ".join(
            dict.fromkeys(field for field in below[0].fields if field and field not in NOTHING)
        )
        remarks.append(
            f"Line {last} holds units ({short_repr(units, 60)[1:-1]}) and is passed over."
        )
    if not named:
        remarks.append(_nameless(record))
        names = ("",) * len(names)
    elif "" in names:
        remarks.append("Columns without a name are called by their number, such as 'column 1'.")
    clean = tuple(name or f"column {i}" for i, name in enumerate(names, 1))
    size = len(head.data) - len(text) + sum(map(len, lines[:last]))
    return CsvHeader(clean, place.delimiter, size, last, tuple(remarks), named)


def _beginning(head: TextHead, text: bytes) -> tuple[list[bytes], dict[str, list[Record]]]:
    """Lines that hold the first records, and these, cut by each delimiter.

    All lines only if a few are not enough.
    """
    with contextlib.suppress(TableError):  # a record has no end there: it may have one later
        lines = text[: text.rfind(b"\n", 0, NEAR) + 1].splitlines(keepends=True)
        readings = {delimiter: _records(head, lines, delimiter) for delimiter in DELIMITERS}
        if all(len(records) == LOOKED_AT for records in readings.values()):
            return lines, readings
    lines = text.splitlines(keepends=True)
    return lines, {delimiter: _records(head, lines, delimiter) for delimiter in DELIMITERS}


def _place(readings: dict[str, list[Record]], request: ColumnRequest) -> Place:
    """Usually the first record, cut by the delimiter that makes most columns of it."""
    plain = max(readings, key=lambda one: len(readings[one][0].fields))
    records = readings[plain]
    usual = _usual_width(records)
    first = records[0]
    if request.target is not None and request.target in (
        first.fields[:1] if first.is_comment else first.fields
    ):
        return Place(plain, records, 0)
    is_plain = len(first.fields) == usual > 1 and not first.is_comment and 2 * first.filled >= usual
    if is_plain or (
        request.header is False and not first.is_comment and len(first.fields) == usual
    ):
        return Place(plain, records, 0)
    places = [
        place
        for one, records in readings.items()
        if (place := _after_preamble(one, records, request))
    ]
    if not places:
        return Place(plain, records, 0)
    return max(places, key=lambda place: _usual_width(place.records[place.at :]))


def _records(head: TextHead, lines: list[bytes], delimiter: str) -> list[Record]:
    """The first records that are not empty.

    One that is never closed, or of which more may come, only if it is the first.

    There are none if the first line is one field of more than 128 KiB: this delimiter does not
    separate its columns.
    """
    reader = csv.reader(
        (line.decode(errors="replace") for line in chain(lines, [b""])), delimiter=delimiter
    )
    found: list[Record] = []
    first, closed = 0, head.ended or not lines or lines[-1].endswith((b"\n", b"\r"))
    try:
        for fields in reader:
            whole = reader.line_num < len(lines) or (reader.line_num == len(lines) and closed)
            if any(fields) or len(fields) > 1:
                if not found and reader.line_num > len(lines) and lines:
                    raise endless(head.name, first)
                if not found or whole:
                    found.append(
                        Record(
                            tuple(field.strip() for field in fields),
                            first,
                            min(reader.line_num, len(lines)),
                        )
                    )
            if len(found) == LOOKED_AT:
                break
            first = reader.line_num
    except csv.Error:  # a field of more than 128 KiB, the limit of the csv module
        if (
            not found and reader.line_num > first + 1
        ):  # only a quoted field goes on in the next line
            raise endless(head.name, first) from None
    return found


def _usual_width(records: Sequence[Record]) -> int:
    """The number of fields that most records have; the larger one of two."""
    widths = Counter(len(record.fields) for record in records if not record.is_comment)
    return max(widths, key=lambda width: (widths[width], width)) if widths else 0


def _after_preamble(
    delimiter: str, records: Sequence[Record], request: ColumnRequest
) -> Place | None:
    """The first record that can be the beginning, if what is before it cannot.

    None unless that is certain.
    """
    usual = _usual_width(records)
    full = (
        one
        for one in records
        if len(one.fields) == usual and 2 * one.filled >= usual and not one.is_comment
    )
    record = next(full, None)
    if record is None:
        return None
    at = records.index(record)
    below = records[at + 1 :]
    comments = all(one.is_comment for one in records[:at])
    if not at or (usual < 2 and not comments) or not below:
        return None
    named = (request.target is not None and request.target in record.fields) or _evidence(
        record, below
    )[0]
    return Place(delimiter, records, at) if named or comments else None


def _evidence(record: Record, below: Sequence[Record]) -> tuple[bool, list[str]]:
    """Whether a field is none of the values that are below it.

    And the fields that are such values.
    """
    below = [one for one in below if len(one.fields) == len(record.fields)]
    values = []
    for field, *others in zip(record.fields, *(one.fields for one in below), strict=True):
        kinds = Counter(value_kind(other) for other in others if other not in NOTHING)
        kind = next((kind for kind, count in kinds.items() if 2 * count > kinds.total()), None)
        if kind is None or not field:
            continue
        if (
            field not in NOTHING and value_kind(field) != kind
        ):  # a name above numbers, or a date above them
            return True, []
        values.append(field)
    return False, values


def _is_header(record: Record, below: Sequence[Record], target: str | None) -> bool:
    """Whether a record holds names: it does unless it looks like the rows below."""
    if target is not None and target in record.fields:
        return True
    named, values = _evidence(record, below)
    values = [value for value in values if value not in NOTHING]
    return named or not values or _are_names(values, record, below)


def _are_names(values: list[str], record: Record, below: Sequence[Record]) -> bool:
    """Whether numbers are names of columns: 0, 1, 2 and so on, or years above what is none."""
    if not all(value.isascii() and value.isdigit() for value in values):
        return False
    numbers = [int(value) for value in values]
    if (
        len(numbers) > 1
        and len(numbers) == len(record.fields)
        and numbers == list(range(len(numbers)))
    ):
        return True
    if not all(EARLIEST_YEAR <= number <= LATEST_YEAR for number in numbers) or len(
        set(numbers)
    ) < len(numbers):
        return False
    cells = [
        one.fields[record.fields.index(values[0])]
        for one in below
        if len(one.fields) == len(record.fields)
    ]
    years = [
        cell
        for cell in cells
        if cell.isascii() and cell.isdigit() and EARLIEST_YEAR <= int(cell) <= LATEST_YEAR
    ]
    return 2 * len(years) <= len(cells)


def _is_units(record: Record, below: Sequence[Record], width: int) -> bool:
    """Whether a record below the names holds units: short words above columns of values, and no
    value at all.
    """
    below = [one for one in below if len(one.fields) == width]
    if len(record.fields) != width or len(below) < 2 or any(map(value_kind, record.fields)):
        return False
    units = 0
    for field, *others in zip(record.fields, *(one.fields for one in below), strict=True):
        known = [other for other in others if other not in NOTHING]
        if known and all(map(value_kind, known)):
            units += (
                bool(field) and field not in NULL_TEXTS and len(field.strip("()[]")) <= LONGEST_UNIT
            )
            if not field or field in NULL_TEXTS:
                continue
            if len(field.strip("()[]")) > LONGEST_UNIT:
                return False
    return units > 0


def _passed(records: Sequence[Record]) -> list[str]:
    """A remark on lines before the table."""
    if not records:
        return []
    first, last = records[0].first + 1, records[-1].last
    which = f"Line {first} is" if first == last else f"Lines {first} to {last} are"
    example = short_repr(" ".join(filter(None, records[0].fields)), 40)
    return [f"{which} no part of the table ({example}) and passed over."]


def _nameless(record: Record) -> str:
    first = short_repr(", ".join(record.fields[:3]), 40)[1:-1]
    return (
        f"The first line ({first}) holds data and no names: columns are called 'column 1' to "
        f"'column {len(record.fields)}'. If it holds names, say --header yes."
    )


def longest_field(name: str) -> TableError:
    """The error for a first line that no delimiter separates into fields."""
    return TableError(
        f"{name}, line 1: the first {csv.field_size_limit():,} characters hold none of the "
        f"delimiters {', '.join(DELIMITERS.values())}. Give a CSV file with one of them, or "
        "another --format."
    )


def _require_utf8(name: str, lines: list[bytes], record: Record) -> None:
    for number, line in enumerate(lines[record.first : record.last], record.first + 1):
        try:
            line.decode()
        except UnicodeDecodeError as error:
            raise TableError(
                f"{name}, line {number}: byte 0x{error.object[error.start]:02x} of the header is "
                "not UTF-8. Give the encoding of the file, such as --encoding latin-1."
            ) from None
