"""Parsers of dates, times, durations and seconds since 1970, and their inference for a column."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from swordplay.tables.date_names import MONTH_NAMES
from swordplay.tables.errors import shell_name
from swordplay.tables.number_parser import NumberParser
from swordplay.tables.parsers import (
    DOUBLE,
    NULL_MARKS,
    NULL_TEXTS,
    STRING,
    TIME,
    IsoDateParser,
    Parsed,
    Parser,
    as_mask,
    null_if,
    null_where,
    trimmed_texts,
)

ORDER_NAMES = {
    "dmy": "day first",
    "mdy": "month first",
    "ymd": "year first",
    "ym": "year and month",
    "my": "month and year",
}
"""Orders of the parts of a date, and what they are called."""
TICKS_PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
UNIT_NAMES = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
EARLIEST_EPOCH, LATEST_EPOCH = (
    datetime(year, 1, 1, tzinfo=UTC).timestamp() for year in (1990, 2050)
)
"""Numbers of seconds between them may be dates."""
LARGEST_EPOCH = 2.5e11
"""Seconds from 1970 to beyond the year 9000: larger numbers are mistakes."""
FIRST_YEAR, LAST_YEAR = 1900, 2100
"""Numbers of eight digits with a year between them may be dates."""
ENOUGH_DIFFERENT_DATES = 10
"""So many different numbers of eight digits that are all dates are no chance, whatever the name."""
MIN_MONTHS_PER_MISFIT = 20
"""Months such as Jan-12 for each other text in a column, such as a total below the table."""
_DATE_WORDS = "time timestamp ts date datetime dt epoch unix unixtime utc at day when moment"
DATE_WORDS = frozenset(_DATE_WORDS.split())
"""Words in names of columns that hold dates."""
ORDERS_OF_KIND: dict[str, tuple[str, ...] | None] = {
    "date": None,
    "day-first": ("dmy",),
    "month-first": ("mdy",),
    "year-first": ("ymd", "ym"),
}
"""Kinds of dates that a user may declare, and their orders; ``None`` means all."""

_CLOCK = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?"
_MONTH, _GAP = rf"(?:{'|'.join(name[:3] for name in MONTH_NAMES)})[a-z]*", r"[ ./,-]{1,2}"
ISO_DATE = re.compile(r"^\d{4}-\d{2}-\d{2}")
NUMERIC_DATE = re.compile(r"^\d{1,4}([/.-])\d{1,2}(?:\1\d{1,4})?(?:[T ,].*)?$", re.IGNORECASE)
NAMED_DATE = re.compile(
    rf"^(?:[a-z]{{3,9}}[., ]{{1,2}})?"
    rf"(?:(?:\d{{1,4}}{_GAP})?{_MONTH}{_GAP}\d{{1,4}}\b.*|\d{{4}}{_GAP}{_MONTH}(?:[ "
    rf",]{{1,2}}\d.*)?)$",
    re.IGNORECASE,
)
TIME_OF_DAY = re.compile(rf"^{_CLOCK}(?:\s*[ap]m|\s*uhr)?$", re.IGNORECASE)
ZONED_TIME = re.compile(
    r":\d{2}(?:[.,]\d+)?(?:\s*[ap]m)?\s*(?:z|utc|gmt|[+-]\d{2}(?::?\d{2})?)$", re.IGNORECASE
)
MIDNIGHT_24 = re.compile(r"[T ,]24:00(?::00(?:[.,]0+)?)?")
_DURATION = (
    r"^(?P<sign>-)?(?P<days>\d+) days?,?(?: \+?(?P<negative>-)?"
    r"(?P<hours>\d{1,2}):(?P<minutes>\d{2}):(?P<seconds>\d{2}(?:\.\d+)?))?$"
)
DURATION = re.compile(_DURATION)


@final
class DateParser(Parser):
    """Dates in another way of writing than ISO 8601.

    Parameters
    ----------
    order
        One of :data:`ORDER_NAMES`.
    separator
        Between numbers: ``"/"``, ``"."``, ``"-"``, a blank, or nothing as in 20120131. With named
        months any separator fits.
    digits
        Of the year, 4 or 2; 69 to 99 are of the last century.
    named
        Whether months have names, in full or three letters of them (English).
    zoned
        Whether each value has a zone; all are converted to UTC.
    """

    name, kind = "date", "date"

    def __init__(
        self,
        order: str,
        separator: str = "",
        digits: int = 4,
        named: bool = False,
        zoned: bool = False,
    ) -> None:
        self.order, self.separator, self.digits = order, separator, digits
        self.named, self.zoned = named, zoned
        self.type = pa.timestamp("us", "UTC" if zoned else None)
        names_order = order in ("dmy", "mdy") and not named
        self.description = (
            f"{ORDER_NAMES[order]} ({self.example()})" if names_order else f"as in {self.example()}"
        )
        self.expected = f"a date {'with the ' if names_order else ''}{self.description}"

    def example(self) -> str:
        """Return 31 January 2012, written this way."""
        parts = {"d": "31", "m": "Jan" if self.named else "01", "y": "2012"[-self.digits :]}
        if self.named and self.order == "mdy":
            return f"{parts['m']} {parts['d']}, {parts['y']}"
        return (self.separator or " " * self.named).join(parts[letter] for letter in self.order)

    def parameters(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        names = ("order", "separator", "digits", "named", "zoned")
        return {name: getattr(self, name) for name in names}

    def parse(self, values: pa.Array) -> Parsed:
        """Read texts."""
        return _parse_with_kernel(
            values, self.type, self.order, self.separator, self.digits, self.named, self.zoned
        )


@final
class TimeParser(Parser):
    """Times of the day: 13:30, 13:30:05.25, 1:30 PM, 13:30 Uhr; 24:00 is 0:00."""

    name, kind, type, description = "time", "time", TIME, ""
    expected = "a time of the day such as 13:30"

    def parse(self, values: pa.Array) -> Parsed:
        """Read texts."""
        return _parse_with_kernel(values, TIME, "", "", 4, False, False)


@final
class DurationParser(Parser):
    """Durations such as ``0 days 00:00:01`` and ``1 day, 2:30:00``, as seconds."""

    name, kind, type = "duration", "number", DOUBLE
    description = "durations in seconds"
    expected = "a duration such as 0 days 00:00:01"

    def parse(self, values: pa.Array) -> Parsed:
        """Read texts."""
        values = null_where(trimmed_texts(values), (*NULL_TEXTS, *NULL_MARKS))
        parts = pc.extract_regex(values, _DURATION)
        bad = as_mask(pc.and_(pc.is_valid(values), pc.is_null(parts)))

        def number(part: str) -> NDArray[np.float64]:
            texts = pc.struct_field(parts, part)
            filled = pc.if_else(pc.equal(texts, ""), "0", texts)  # hours may be left out
            return np.asarray(filled.cast(DOUBLE).fill_null(0.0))

        def is_minus(part: str) -> NDArray[np.bool_]:
            return as_mask(pc.equal(pc.struct_field(parts, part), "-"))

        days = number("days") * np.where(is_minus("sign"), -1.0, 1.0)
        clock = 3600.0 * number("hours") + 60.0 * number("minutes") + number("seconds")
        seconds = 86_400.0 * days + np.where(is_minus("negative"), -clock, clock)
        return Parsed(null_if(pa.array(seconds), bad | as_mask(pc.is_null(values))), bad)


@final
class EpochParser(Parser):
    """Time counted from the beginning of 1970 (UTC).

    Parameters
    ----------
    unit
        What is counted: ``"s"``, ``"ms"``, ``"us"`` or ``"ns"``.
    """

    name, kind, stored, type = "epoch", "date", DOUBLE, pa.timestamp("us", "UTC")

    def __init__(self, unit: str) -> None:
        self.unit = unit
        self.description = f"{UNIT_NAMES[unit]} since 1970"
        self.expected = f"a number of {self.description}"

    def parameters(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {"unit": self.unit}

    def parse(self, values: pa.Array) -> Parsed:
        """Read numbers, or texts that hold them."""
        if pa.types.is_string(values.type):
            values, bad = NumberParser().parse(values)
        else:
            values, bad = values.cast(DOUBLE, safe=False), np.zeros(len(values), bool)
        seconds = values.to_numpy(zero_copy_only=False) / TICKS_PER_SECOND[self.unit]
        too_large = np.abs(seconds) > LARGEST_EPOCH  # False for NaN
        no_value = np.isnan(seconds) | too_large
        micros = np.where(no_value, 0.0, np.rint(seconds * 1e6)).astype(np.int64)
        return Parsed(pa.array(micros, mask=no_value).cast(self.type), bad | too_large)


def _parse_with_kernel(
    values: pa.Array,
    type: pa.DataType,
    order: str,
    separator: str,
    digits: int,
    named: bool,
    zoned: bool,
) -> Parsed:
    """Read dates, or times of the day if ``order`` is empty, with ``date_kernel.parse_dates``."""
    # Imported here: the module imports numba, which plain tables do without.
    from swordplay.tables.date_kernel import parse_dates

    values = null_where(trimmed_texts(values), (*NULL_TEXTS, *NULL_MARKS))
    count = len(values)
    _, offset_buffer, text_buffer = values.buffers()
    offsets = (
        np.frombuffer(offset_buffer, np.int32)[values.offset : values.offset + count + 1]
        if count
        else np.zeros(1, np.int32)
    )
    data = np.frombuffer(text_buffer or b"", np.uint8)
    is_valid = as_mask(values.is_valid())
    micros, bad = np.empty(count, np.int64), np.empty(count, bool)
    order_bytes = np.frombuffer(order.encode(), np.uint8).copy()
    separator_byte = ord(separator or "\0")
    parse_dates(
        data, offsets, is_valid, order_bytes, separator_byte, digits, named, zoned, micros, bad
    )
    return Parsed(pa.array(micros, pa.int64(), mask=~is_valid | bad).cast(type), bad)


class InferredDates(NamedTuple):
    """The way in which a column writes dates."""

    parser: Parser | None
    """None if most texts are no dates, or none is certain."""
    remark: str = ""
    """What the user should know, such as an ambiguous order; empty if there is nothing."""


def is_date_name(name: str) -> bool:
    """Whether a column is called like one of dates: ``created_at``, ``timeStamp``, ``unix_ms``."""
    parts = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())
    return any(
        part in DATE_WORDS or part.startswith(("timestamp", "unix", "epoch", "datetime"))
        for part in parts
    )


def infer_dates(
    name: str, values: Sequence[str], decimal: str, kind: str = "date"
) -> InferredDates:
    """Infer how most texts of a column write dates.

    Parameters
    ----------
    name
        Of the column.
    values
        Texts in the order of the rows (which may tell day and month apart), none missing.
    decimal
        Decimal sign of the table: where it is a comma, the day usually comes first.
    kind
        One of :data:`ORDERS_OF_KIND`.
    """
    zoned = 2 * sum(map(bool, map(ZONED_TIME.search, values))) > len(values)
    texts = pa.array(values, STRING)
    if _matches_most(ISO_DATE, values):
        parser, misfits = _best_fit(
            [IsoDateParser(unit, zone) for unit in ("us", "ns") for zone in (False, True)], texts
        )
        if parser is not None and not misfits:
            return InferredDates(parser)
    if _matches_most(NAMED_DATE, values):
        orders = ORDERS_OF_KIND[kind] or ("dmy", "mdy", "ymd", "my", "ym")
        styles = [(order, 4) for order in orders]
        styles += [(order, 2) for order in orders if order in ("dmy", "mdy")]
        candidates = [DateParser(order, "", digits, True, zoned) for order, digits in styles]
        parser, _ = _best_fit(candidates, texts)
        return InferredDates(parser or (_short_months(texts) if "my" in orders else None))
    if _matches_most(NUMERIC_DATE, values):
        return _infer_numeric_dates(name, texts, zoned, decimal, kind)
    return InferredDates(None)


def _short_months(texts: pa.Array) -> Parser | None:
    """Return the parser of months such as Jan-12 (two digits of the year) if they are in order.

    Days of one year look the same, but would not be in order if read as months.
    """
    parser = DateParser("my", "", 2, True)
    parsed = parser.parse(texts)
    months = texts.filter(pa.array(~parsed.bad))
    names = {text[:3].lower() for text in months.to_pylist()}
    is_series = len(names) > 1 and _is_ordered(parser, months)
    few_misfits = MIN_MONTHS_PER_MISFIT * np.count_nonzero(parsed.bad) <= len(texts)
    return parser if is_series and few_misfits else None


def _matches_most(pattern: re.Pattern[str], values: Sequence[str]) -> bool:
    return 2 * sum(map(bool, map(pattern.match, values))) > len(values)


def _misfit_count(parser: Parser, texts: pa.Array) -> int:
    return int(np.count_nonzero(parser.parse(texts).bad))


def _best_fit(parsers: Sequence[Parser], texts: pa.Array) -> tuple[Parser | None, int]:
    """Return the first parser with fewest misfits, and their number; None if most do not fit."""
    misfits = [_misfit_count(parser, texts) for parser in parsers]
    least = min(misfits)
    return (parsers[misfits.index(least)] if 2 * least < len(texts) else None), least


def _infer_numeric_dates(
    name: str, texts: pa.Array, zoned: bool, decimal: str, kind: str
) -> InferredDates:
    """Infer how dates of numbers only are written."""
    separators = [match[1] for match in map(NUMERIC_DATE.match, texts.to_pylist()) if match]
    separator = max(set(separators), key=separators.count)
    orders = ORDERS_OF_KIND[kind] or ("ymd", "dmy", "mdy", "ym", "my")
    best, least = _best_fit(
        [DateParser(order, separator, 4, False, zoned) for order in orders], texts
    )
    if best is None:
        return _infer_short_years(name, texts, separator, zoned, kind)
    assert isinstance(best, DateParser)
    if best.order == "ym" and kind == "date" and _are_seasons(texts.to_pylist()):
        return InferredDates(None)
    month_first = DateParser("mdy", separator, 4, False, zoned)
    is_ambiguous = best.order == "dmy" and kind == "date"
    if not is_ambiguous or _misfit_count(month_first, texts) > least:
        return InferredDates(best)
    return _day_or_month_first(name, best, month_first, decimal, texts)


def _day_or_month_first(
    name: str, day_first: DateParser, month_first: DateParser, decimal: str, texts: pa.Array
) -> InferredDates:
    """Choose one of two parsers that fit as well, by the order of the rows or by convention."""
    if day_first.separator == ".":  # the month never comes first between points
        return InferredDates(day_first)
    ordered = [parser for parser in (day_first, month_first) if _is_ordered(parser, texts)]
    if len(ordered) == 1:
        chosen, reason = ordered[0], "as only then the rows are in the order of time"
    elif decimal == "," or day_first.separator == "-":
        chosen, reason = day_first, "as no value decides"
    else:
        chosen, reason = month_first, "as no value decides"
    first, other = ("day", "month") if chosen is day_first else ("month", "day")
    example = texts.drop_null()[0].as_py()
    return InferredDates(
        chosen,
        f"Column {name!r}: dates such as {example} are read with the {first} first, {reason}. "
        f"--types {shell_name(name)}={other}-first overrules.",
    )


def _is_ordered(parser: Parser, texts: pa.Array) -> bool:
    """Whether dates only rise or only fall, and there are at least three different ones."""
    micros = parser.parse(texts).values.drop_null().cast(pa.int64()).to_numpy()
    steps = np.diff(micros)
    return np.unique(micros).size >= 3 and bool((steps >= 0).all() or (steps <= 0).all())


def _infer_short_years(
    name: str, texts: pa.Array, separator: str, zoned: bool, kind: str
) -> InferredDates:
    """Infer dates with years of two digits, if only one order is possible."""
    orders = [order for order in ORDERS_OF_KIND[kind] or ("dmy", "mdy", "ymd") if len(order) == 3]
    parsers = [DateParser(order, separator, 2, False, zoned) for order in orders]
    misfits = [_misfit_count(parser, texts) for parser in parsers]
    least = min(misfits)
    if 2 * least >= len(texts):
        return InferredDates(None)
    best = [parser for parser, count in zip(parsers, misfits, strict=True) if count == least]
    best = [parser for parser in best if parser.order != "ymd"] or best
    if len(best) == 1:
        return InferredDates(best[0])
    if separator == ".":
        # The month never comes first between points, but versions of programs look the same.
        return InferredDates(best[0] if is_date_name(name) else None)
    option = shell_name(name)
    return InferredDates(
        None,
        f"Column {name!r}: {texts[0].as_py()} may have the day or the month first, and no value "
        f"decides, so it is taken for words. Say --types {option}=day-first or "
        f"{option}=month-first.",
    )


def _are_seasons(values: Sequence[str]) -> bool:
    """Whether texts such as 2011-12 name two years, each one after the other, and not months."""
    matches = [re.fullmatch(r"(\d{4})[-/](\d{2})", value) for value in values]
    pairs = [match for match in matches if match]
    return len(pairs) > 1 and all((int(pair[1]) + 1) % 100 == int(pair[2]) for pair in pairs)


def infer_times(values: Sequence[str]) -> TimeParser | None:
    """Return the parser of times of the day if most texts are such."""
    return TimeParser() if _matches_most(TIME_OF_DAY, values) else None


def infer_durations(values: Sequence[str]) -> DurationParser | None:
    """Return the parser of durations if most texts are such."""
    return DurationParser() if _matches_most(DURATION, values) else None


def infer_numeric_epoch(name: str, values: pa.Array, *, declared: bool = False) -> Parser | None:
    """Return the parser of dates that look like plain numbers; None for numbers.

    They are 20120131, or seconds (or thousandths of them and so on) since 1970. A number that is
    wrongly taken for a date is worse than a date that stays a number: all values have to be
    possible dates, and the name has to say so, or (of eight digits) the values are too many for
    chance.

    Parameters
    ----------
    name
        Of the column.
    values
        Numbers, or texts that hold them.
    declared
        Whether the user has said that they are dates.
    """
    numbers = values.cast(DOUBLE, safe=False).drop_null().to_numpy(zero_copy_only=False)
    if not numbers.size:
        return None
    is_named_date = declared or is_date_name(name)
    low, high = numbers.min(), numbers.max()
    for unit, ticks in TICKS_PER_SECOND.items():
        if is_named_date and EARLIEST_EPOCH * ticks <= low and high < LATEST_EPOCH * ticks:
            return EpochParser(unit)
    years_fit = low >= FIRST_YEAR * 10_000 and high < LAST_YEAR * 10_000
    if not (years_fit and (numbers % 1 == 0).all()):
        return None
    different = np.unique(numbers.astype(np.int64))
    compact = DateParser("ymd")
    if compact.parse(pa.array(different).cast(STRING)).bad.any():
        return None
    return compact if is_named_date or different.size >= ENOUGH_DIFFERENT_DATES else None


def looks_like_date(text: str) -> bool:
    """Whether a single text looks like a date."""
    return any(pattern.match(text) for pattern in (ISO_DATE, NUMERIC_DATE, NAMED_DATE))


def looks_like_time(text: str) -> bool:
    """Whether a single text looks like a time of the day."""
    return TIME_OF_DAY.match(text) is not None
