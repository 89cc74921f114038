"""Parsers turn the texts of a column into values; saved, they read later tables alike."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

DOUBLE, BOOL, STRING, TIME = pa.float64(), pa.bool_(), pa.string(), pa.time64("us")
DATES = tuple(pa.timestamp(unit, zone) for unit in ("us", "ns") for zone in (None, "UTC"))
"""Microseconds reach all years up to 9999; nanoseconds are for values that have them."""
NULL_MARKS = ("-", "--", "---", ".", "..", "?", "–", "—", "−")
"""Signs that stand for a missing number, date or time; in a column of words they are words."""
NULL_TEXTS = (
    *("", "#N/A", "#NA", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null", "NAN"),
    *("-nan", "-NaN", "<NA>", "?"),
    *("#DIV/0!", "#REF!", "#VALUE!", "#NAME?", "#NULL!", "#NUM!"),  # errors of spreadsheets
)
"""Texts that stand for a missing value in every column."""
TRUE_TEXTS = ("true", "yes", "y", "t", "on", "1")
FALSE_TEXTS = ("false", "no", "n", "f", "off", "0")


class Parsed(NamedTuple):
    """Values of a column, and which texts do not fit."""

    values: pa.Array
    """In the type of the parser; null where the text is missing or bad."""
    bad: NDArray[np.bool_]
    """Which texts do not fit."""


class Parser(ABC):
    """Turns the texts of a column into values."""

    name: str
    """Identifies the class in :meth:`to_json`."""
    type: pa.DataType
    """Of the values."""
    stored: pa.DataType = STRING
    """Type of the input: strings, or numbers that are converted, such as seconds since 1970."""
    kind: str
    """``"number"``, ``"truth"``, ``"word"``, ``"date"`` or ``"time"``."""
    description: str
    """The way of writing, for people: ``"in $, thousands by commas"``; empty if it is plain."""
    expected: str
    """What a value should be, for error messages: ``"a number such as $1,280.50"``."""

    @abstractmethod
    def parse(self, values: pa.Array) -> Parsed:
        """Read texts (or values of :attr:`stored`); missing ones fit every parser."""

    def parameters(self) -> dict[str, Any]:
        """Return the arguments of the constructor: strings, booleans and numbers only."""
        return {}

    def to_json(self) -> dict[str, Any]:
        """Return name and parameters (see ``infer.parser_from_json``)."""
        return {"name": self.name, **self.parameters()}


@final
class TextParser(Parser):
    """Texts as they are."""

    name, kind, type, description, expected = "word", "word", STRING, "", "a word"

    def parse(self, values: pa.Array) -> Parsed:
        """Take texts as they are."""
        values = values if values.type == STRING else trimmed_texts(values)
        return Parsed(null_where(values, NULL_TEXTS), np.zeros(len(values), bool))


@final
class BoolParser(Parser):
    """True and false, yes and no, on and off, 1 and 0, in upper or lower case."""

    name, kind, type, description, expected = "truth", "truth", BOOL, "", "true or false"

    def parse(self, values: pa.Array) -> Parsed:
        """Read texts."""
        values = null_where(trimmed_texts(values), (*NULL_TEXTS, *NULL_MARKS))
        lower = pc.utf8_lower(values)
        is_true, is_false = (
            pc.is_in(lower, value_set=pa.array(words, STRING))
            for words in (TRUE_TEXTS, FALSE_TEXTS)
        )
        bad = as_mask(pc.and_(pc.is_valid(values), pc.invert(pc.or_(is_true, is_false))))
        return Parsed(null_if(pc.if_else(pc.is_valid(values), is_true, None), bad), bad)


@final
class IsoDateParser(Parser):
    """Dates of ISO 8601: 2024-05-17, with or without a time and a zone.

    Parameters
    ----------
    unit
        ``"us"``, or ``"ns"`` if there are more than six digits of a second.
    zoned
        Whether the times have a zone; all are converted to UTC.
    """

    name, kind, description = "iso", "date", ""
    expected = "a date such as 2024-05-17 or 2024-05-17 13:45:00"

    def __init__(self, unit: str = "us", zoned: bool = False) -> None:
        self.type = pa.timestamp(unit, "UTC" if zoned else None)
        assert self.type in DATES

    def parse(self, values: pa.Array) -> Parsed:
        """Read texts."""
        values = null_where(trimmed_texts(values), (*NULL_TEXTS, *NULL_MARKS))

        def attempt(start: int, stop: int) -> NDArray[np.bool_]:
            values.slice(start, stop - start).cast(self.type)
            return np.zeros(stop - start, bool)

        bad = failing_entries(len(values), attempt)
        return Parsed(null_if(values, bad).cast(self.type), bad)

    def parameters(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {"unit": self.type.unit, "zoned": self.type.tz is not None}


def trimmed_texts(values: pa.Array) -> pa.Array:
    """Return values of any flat type as texts without blanks around them; null stays null."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if (
        pa.types.is_floating(values.type)
        and pc.all(pc.equal(values, pc.floor(values)), min_count=0).as_py()
    ):
        values = values.cast(pa.int64(), safe=False)  # 2012.0 is written 2012
    if values.type != STRING:
        values = values.cast(STRING)
    return pc.utf8_trim_whitespace(values)


def null_where(values: pa.Array, texts: tuple[str, ...]) -> pa.Array:
    """Return the strings with null in place of any of ``texts``."""
    absent = pc.is_in(values, value_set=pa.array(texts, STRING))
    return pc.if_else(absent, None, values) if pc.any(absent, min_count=0).as_py() else values


def null_if(values: pa.Array, bad: NDArray[np.bool_]) -> pa.Array:
    """Return the values with null where ``bad`` is true."""
    return pc.if_else(pa.array(bad), None, values) if bad.any() else values


def as_mask(booleans: pa.Array, null: bool = False) -> NDArray[np.bool_]:
    """Return booleans as a numpy array; null becomes ``null``."""
    return np.asarray(pc.fill_null(booleans, null).to_numpy(zero_copy_only=False), dtype=bool)


def failing_entries(
    count: int, attempt: Callable[[int, int], NDArray[np.bool_]]
) -> NDArray[np.bool_]:
    """Return which of ``count`` entries make ``attempt(start, stop)`` raise ``ArrowInvalid``.

    The range is halved until an entry fails alone. For ranges that do not fail, ``attempt``
    returns which of their entries are bad.
    """
    bad = np.zeros(count, bool)

    def search(start: int, stop: int) -> None:
        try:
            bad[start:stop] = attempt(start, stop)
        except pa.ArrowInvalid:
            if stop - start == 1:
                bad[start] = True
                return
            middle = (start + stop) // 2
            search(start, middle)
            search(middle, stop)

    if count:
        search(0, count)
    return bad


# ------------------------------------------------------------------ plain values

# Plain values are those that pyarrow's CSV reader converts by itself: numbers without units, ISO
# dates, and true and false. Strings are checked here in the same way.

PLAIN_TRUE, PLAIN_FALSE = ("true", "True", "TRUE"), ("false", "False", "FALSE")
SAMPLE_SIZE = 128
"""Texts, spread evenly over the first rows, that decide on the type of a column."""
LARGEST_EXACT = 2**53
"""Larger whole numbers are rounded when they become doubles."""
MIN_INEXACT_DIGITS = 16
"""Digits of the smallest of these."""


def null_marks_removed(values: pa.Array) -> pa.Array:
    """Return the strings with null in place of marks such as ``-`` (see :data:`NULL_MARKS`)."""
    marks = pc.is_in(pc.utf8_trim_whitespace(values), value_set=pa.array(NULL_MARKS, STRING))
    return pc.if_else(marks, None, values) if pc.any(marks, min_count=0).as_py() else values


def plain_misfits(values: pa.Array, type: pa.DataType, decimal: str = ".") -> NDArray[np.bool_]:
    """Return which strings are no plain value of the type.

    Null fits every type, marks such as ``-`` every type but strings.
    """
    if type == STRING:
        return np.zeros(len(values), bool)
    return plain_misfits_without_marks(null_marks_removed(values), type, decimal)


def plain_misfits_without_marks(
    values: pa.Array, type: pa.DataType, decimal: str = "."
) -> NDArray[np.bool_]:
    """Return :func:`plain_misfits` of strings without marks, and a type other than strings."""
    if type == BOOL:
        fits = pc.is_in(values, value_set=pa.array([*PLAIN_TRUE, *PLAIN_FALSE, None], STRING))
        return ~as_mask(fits)
    if type == DOUBLE:
        values = with_decimal_point(values, decimal)
    return failing_entries(
        len(values), lambda start, stop: infinite_mask(values.slice(start, stop - start).cast(type))
    )


def parse_plain(values: pa.Array, type: pa.DataType, decimal: str = ".") -> pa.Array:
    """Convert strings to the type; ``ArrowInvalid`` if one of them does not fit."""
    if type == STRING:
        return values
    values = null_marks_removed(values)
    if pa.types.is_null(type):
        if values.null_count < len(values):
            raise pa.ArrowInvalid("a column that was empty so far has a value")
        return pa.nulls(len(values))
    if type == DOUBLE:
        return with_decimal_point(values, decimal).cast(type)
    if type != BOOL:
        return values.cast(type)
    if plain_misfits(values, type).any():
        raise pa.ArrowInvalid("not true or false")
    is_true = pc.is_in(values, value_set=pa.array(PLAIN_TRUE, STRING))
    return pc.if_else(pc.is_valid(values), is_true, None)


def with_decimal_point(values: pa.Array, decimal: str) -> pa.Array:
    """Return strings trimmed, with a point as decimal sign, as pyarrow's CSV reader takes them."""
    values = pc.utf8_trim(values, " \t")
    if decimal == ".":
        return values
    without_points = pc.replace_substring(values, ".", "x")  # a point makes the number a bad one
    return pc.replace_substring(without_points, decimal, ".")


def commonest_plain_type(
    values: pa.Array, types: Iterable[pa.DataType], decimal: str = "."
) -> pa.DataType:
    """Return the first of ``types`` that more than half of a sample of strings fits.

    The strings have no marks such as ``-`` any more (:func:`null_marks_removed`). The type is
    :data:`STRING` if none of ``types`` fits, or all values are missing.
    """
    values = values.drop_null()
    values = values.take(pa.array(sample_places(len(values)), pa.int64()))
    misfits = (
        (type, np.count_nonzero(plain_misfits_without_marks(values, type, decimal)))
        for type in types
    )
    return next((type for type, count in misfits if 2 * count < len(values)), STRING)


def sample_places(count: int) -> list[int]:
    """Return at most :data:`SAMPLE_SIZE` places, spread evenly over ``range(count)``."""
    if count <= SAMPLE_SIZE:
        return list(range(count))
    return [k * (count - 1) // (SAMPLE_SIZE - 1) for k in range(SAMPLE_SIZE)]


def has_inexact_integers(values: pa.Array) -> bool:
    """Whether strings hold whole numbers that a double rounds."""
    if (pc.max(pc.binary_length(values)).as_py() or 0) < MIN_INEXACT_DIGITS:
        return False  # nearly always, and ten times as fast
    pattern = rf"^[-+]?\d{{{MIN_INEXACT_DIGITS},}}$"
    whole = values.filter(pc.fill_null(pc.match_substring_regex(values, pattern), False))
    return bool(len(whole)) and bool(pc.max(pc.abs(whole.cast(DOUBLE))).as_py() >= LARGEST_EXACT)


def infinite_mask(values: pa.Array) -> NDArray[np.bool_]:
    """Return which values are infinite numbers."""
    if values.type != DOUBLE:
        return np.zeros(len(values), bool)
    return as_mask(pc.is_inf(values))


def without_nan(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows with null for NaN.

    Raises
    ------
    ArrowInvalid
        If a number is infinite: such a row cannot be used.
    """
    columns, changed = rows.columns, False
    for i, column in enumerate(columns):
        if column.type == DOUBLE and not pc.all(pc.is_finite(column), min_count=0).as_py():
            if infinite_mask(column).any():
                raise pa.ArrowInvalid("a number is not finite")
            columns[i], changed = pc.if_else(pc.is_nan(column), None, column), True
    # One new batch for all columns: set_column copies the list of columns each time.
    return pa.RecordBatch.from_arrays(columns, schema=rows.schema) if changed else rows
