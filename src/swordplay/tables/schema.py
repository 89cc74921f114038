"""The columns of a table: as requested, as in an earlier table, and as they are read."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from swordplay.core.arguments import short_repr
from swordplay.tables.date_parser import DateParser, DurationParser, EpochParser, TimeParser
from swordplay.tables.errors import TableError, nearest
from swordplay.tables.number_parser import NumberParser
from swordplay.tables.parsers import (
    BOOL,
    DATES,
    DOUBLE,
    STRING,
    TIME,
    BoolParser,
    IsoDateParser,
    Parser,
    TextParser,
    null_where,
)

EMPTY = pa.null()
"""The type of a column that has had no value so far."""
MAX_COLUMNS = 100_000
"""Columns that are read: inferring the type of each takes about half a millisecond and 40 kB."""
COLUMN_TYPES = {str(type): type for type in (DOUBLE, BOOL, STRING, TIME, *DATES, EMPTY)}
PARSED_AS, LEFT_OUT = b"reading", b"left out"
"""Keys of a schema's metadata: how a column was read, and which columns were left out and why."""
PARSERS: dict[str, Any] = {
    parser.name: parser
    for parser in (
        *(NumberParser, BoolParser, TextParser, IsoDateParser),
        *(DateParser, TimeParser, DurationParser, EpochParser),
    )
}
JSON_TYPES: dict[str, type] = {
    "names": list,
    "types": list,
    "readings": dict,
    "stored": dict,
    "left": dict,
    "missing": list,
}
"""Types of the entries of a schema in JSON."""
KINDS: Mapping[str, str] = {
    "number": "number",
    "decimal-comma": "number",
    "decimal-point": "number",
    "truth": "truth",
    "word": "word",
    "category": "word",
    "date": "date",
    "day-first": "date",
    "month-first": "date",
    "year-first": "date",
    "time": "time",
    "skip": "skip",
}
"""What a user may declare a column to be, and the kind of its parser; ``skip`` leaves it out."""
EXPECTED_VALUES = {
    DOUBLE: "a finite number",
    BOOL: "true or false",
    STRING: "a word",
    TIME: TimeParser.expected,
}
CONTENTS = {
    DOUBLE: "numbers",
    BOOL: "truths",
    STRING: "words",
    TIME: "times of the day",
} | dict.fromkeys(DATES, "dates")


def expected_value(type: pa.DataType) -> str:
    """Return what a value of the type is called in an error message."""
    return EXPECTED_VALUES.get(type, IsoDateParser.expected)


def parser_from_json(declared: Mapping[str, Any]) -> Parser:
    """Return the parser that :meth:`Parser.to_json` described."""
    parameters = dict(declared)
    parser: Parser = PARSERS[parameters.pop("name")](**parameters)
    return parser


def plain_parser(type: pa.DataType, decimal: str) -> Parser:
    """Return the parser of plain values of a type, with marks such as ``-`` for missing ones."""
    if type in DATES:
        return IsoDateParser(type.unit, type.tz is not None)
    return {
        DOUBLE: NumberParser(decimal),
        BOOL: BoolParser(),
        STRING: TextParser(),
        TIME: TimeParser(),
    }[type]


class KnownColumn(NamedTuple):
    """What a column was in an earlier table: another table is read in the same way."""

    type: pa.DataType | None
    """Of its values; None if it was left out."""
    parser: Parser | None = None
    """Of its texts."""
    plain_decimal: str = ""
    """The decimal sign if its values were plain; "" if the parser is needed."""

    @property
    def contents(self) -> str:
        """What it held, for people."""
        is_plain = self.plain_decimal or self.parser is None or not self.parser.description
        how = "" if is_plain or self.parser is None else f" {self.parser.description}"
        return f"{CONTENTS[self.type]}{how}"


class ColumnRequest(NamedTuple):
    """Which columns are read, and as what."""

    target: str | None
    """A column that must be there."""
    drop: Collection[str] = ()
    """Columns to leave out."""
    keep: Collection[str] | None = None
    """The only columns to read beside the target; None for all."""
    types: Mapping[str, str] = {}
    """What the user declares columns to be, by name: one of :data:`KINDS`."""
    missing: tuple[str, ...] = ()
    """Further texts that stand for missing values."""
    header: bool | None = None
    """Whether CSV begins with the names of its columns; None to detect it."""
    known: Mapping[str, KnownColumn] = {}
    """Columns of an earlier table, by name."""
    others: bool = True
    """Whether columns that are not in ``known`` are read, too."""

    @property
    def expected(self) -> list[str]:
        """Columns of an earlier table, which may be there without any value at first."""
        return [name for name, column in self.known.items() if column.type is not None]

    def leaves_out(self, name: str) -> bool:
        """Whether a column is not read at all."""
        if name == self.target:
            return False
        is_known_unused = name in self.known and self.known[name].type is None
        return (
            name in self.drop
            or self.types.get(name) == "skip"
            or (self.keep is not None and name not in self.keep)
            or (is_known_unused if name in self.known else not self.others)
        )

    def names_column(self, name: str) -> bool:
        """Whether the user asked for a column by its name, so that it cannot be left out."""
        return (
            name == self.target
            or name in self.types
            or (self.keep is not None and name in self.keep)
        )

    def check_names(self, where: str, names: Sequence[str]) -> None:
        """Raise an error unless names are unique and all columns that are asked for are there."""
        places: dict[str, int] = {}
        for place, name in enumerate(names, 1):
            if name in places:
                raise TableError(
                    f"{where}: columns {places[name]} and {place} are both called {name!r}. "
                    "Rename one."
                )
            places[name] = place
        count = sum(not self.leaves_out(name) for name in places)
        if count > MAX_COLUMNS:
            raise too_many_columns(where, count)
        target = [] if self.target is None else [self.target]
        asked = [*self.drop, *(self.keep or ()), *self.types, *target]
        absent = [name for name in dict.fromkeys(asked) if name not in places]
        if absent:
            listed = short_repr(", ".join(names), 160)[1:-1]
            more = "".join(f" Nor a column {name!r}.{nearest(name, names)}" for name in absent[1:4])
            raise TableError(
                f"{where} has no column {short_repr(absent[0])}.{nearest(absent[0], names)}{more} "
                f"There are: {listed}."
            )


def too_many_columns(where: str, count: int) -> TableError:
    """Return the error for a table with more columns than are read."""
    return TableError(
        f"{where} has {count:,} columns to read, and at most {MAX_COLUMNS:,} are read. Choose "
        "some with --features, leave some out with --drop, or put series that stand side by side "
        "below each other and tell them apart with --key."
    )


class TableSchema(NamedTuple):
    """Names of all columns in the input in their order, and types and parsers of those kept."""

    names: tuple[str, ...]
    types: tuple[pa.DataType | None, ...]
    """None for a column that is left out, :data:`EMPTY` for one without a value so far."""
    parsers: Mapping[str, Parser] = {}
    """Of columns whose values are not plain."""
    stored: Mapping[str, pa.DataType] = {}
    """Types in the input of columns with a parser."""
    left_out: Mapping[str, str] = {}
    """Columns that cannot be used, and why."""
    missing: tuple[str, ...] = ()
    """Further texts that stand for missing values."""

    @property
    def arrow(self) -> pa.Schema:
        """The columns that are kept; metadata say how they were read and which were left out."""
        fields = []
        for name, type in zip(self.names, self.types, strict=True):
            if type is not None:
                parser = self.parsers.get(name)
                how = {PARSED_AS: parser.description} if parser and parser.description else None
                fields.append(pa.field(name, type, metadata=how))
        left_out = {LEFT_OUT: json.dumps(dict(self.left_out))} if self.left_out else None
        return pa.schema(fields, metadata=left_out)

    @property
    def stored_arrow(self) -> pa.Schema:
        """The same columns with their types in the input, before they are parsed."""
        schema = self.arrow.remove_metadata()
        return pa.schema(
            [(field.name, self.stored.get(field.name, field.type)) for field in schema]
        )

    def expected_value(self, name: str, type: pa.DataType) -> str:
        """Return what a value of a column is called in an error message."""
        return self.parsers[name].expected if name in self.parsers else expected_value(type)

    def with_columns(self, types: Mapping[str, pa.DataType | None]) -> TableSchema:
        """Return the schema with the types of columns that had no value or were not there."""
        all_types = dict(zip(self.names, self.types, strict=True)) | dict(types)
        nested = {name: "it holds nested values" for name, type in types.items() if type is None}
        return self._replace(
            names=tuple(all_types),
            types=tuple(all_types.values()),
            left_out={**self.left_out, **nested},
        )

    def parse(self, rows: pa.RecordBatch) -> tuple[pa.RecordBatch, dict[str, NDArray[np.bool_]]]:
        """Parse rows of the input; also return which values of which columns do not fit."""
        if not self.parsers and not self.left_out:
            return rows, {}
        columns, bad_values = [], {}
        for name, values in zip(rows.schema.names, rows.columns, strict=True):
            if name in self.parsers:
                values, bad = self.parsers[name].parse(values)
                if bad.any():
                    bad_values[name] = bad
            columns.append(values)
        return pa.RecordBatch.from_arrays(columns, schema=self.arrow), bad_values

    def null_missing(self, values: pa.Array) -> pa.Array:
        """Return strings with null for the further texts that stand for missing values."""
        is_needed = self.missing and values.type == STRING
        return null_where(values, self.missing) if is_needed else values

    def to_json(self, **details: str) -> str:
        """Return the schema as JSON, with what else a format has to remember."""
        parts: dict[str, Any] = {
            "readings": {name: parser.to_json() for name, parser in self.parsers.items()},
            "stored": {name: str(type) for name, type in self.stored.items()},
            "left": dict(self.left_out),
            "missing": list(self.missing),
        }
        types = [None if type is None else str(type) for type in self.types]
        filled = {name: part for name, part in parts.items() if part}
        return json.dumps({"names": self.names, "types": types, **filled, **details})

    @classmethod
    def from_json(cls, text: str) -> tuple[TableSchema, dict[str, str]]:
        """Return the schema and the details that :meth:`to_json` wrote.

        Raises
        ------
        ValueError
            If the text is not one that :meth:`to_json` makes.
        """
        details = json.loads(text)
        error = ValueError(f"the layout of a table is {short_repr(text)}. Load an earlier state.")
        if not isinstance(details, dict) or any(
            not isinstance(details.get(name, type()), type) for name, type in JSON_TYPES.items()
        ):
            raise error
        names, types = details.pop("names"), details.pop("types")
        texts = (*names, *details.get("left", {}).values(), *details.get("missing", ()))
        if len(types) != len(names) or not all(isinstance(text, str) for text in texts):
            raise error
        schema = cls(
            tuple(names),
            tuple(None if type is None else COLUMN_TYPES[type] for type in types),
            {name: parser_from_json(one) for name, one in details.pop("readings", {}).items()},
            {name: COLUMN_TYPES[type] for name, type in details.pop("stored", {}).items()},
            details.pop("left", {}),
            tuple(details.pop("missing", ())),
        )
        return schema, details


def known_columns(schema: str) -> dict[str, KnownColumn]:
    """Return the columns of an earlier table from the JSON of its schema.

    Columns that never had a value are not among them.
    """
    earlier, details = TableSchema.from_json(schema)
    decimal = details.get("decimal", ".")
    columns: dict[str, KnownColumn] = {}
    for name, type in zip(earlier.names, earlier.types, strict=True):
        if name in earlier.parsers:
            columns[name] = KnownColumn(type, earlier.parsers[name])
        elif type is None:
            columns[name] = KnownColumn(None, None, decimal)
        elif type != EMPTY:
            columns[name] = KnownColumn(type, plain_parser(type, decimal), decimal)
    return columns


def late_column_types(
    rows: Iterable[Mapping[str, Any]],
    type_of: Callable[[Any], pa.DataType | None],
    fits: Callable[[Any, pa.DataType], bool],
) -> dict[str, pa.DataType | None]:
    """Return the types of columns whose first value is in these rows, wherever batches end.

    Parameters
    ----------
    rows
        For each row the values of such columns, where it has any.
    type_of
        The type that a first value gives to its column; None if it cannot be used.
    fits
        Whether a later value is of the type. A row with a value that is not is a bad row and
        decides nothing.
    """
    types: dict[str, pa.DataType | None] = {}
    for row in rows:
        known_types = ((value, types.get(name)) for name, value in row.items())
        if all(type is None or fits(value, type) for value, type in known_types):
            for name, value in row.items():
                if name not in types:
                    types[name] = type_of(value)
    return types
