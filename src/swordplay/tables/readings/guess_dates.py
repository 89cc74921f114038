"""Which way of writing dates a column has, decided by the column as a whole."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from swordplay.tables.readings.calendar_names import MONTH_NAMES
from swordplay.tables.readings.guess_numbers import shell
from swordplay.tables.readings.moments import (
    EARLIEST,
    LATEST,
    UNITS,
    Epoch,
    TimeOfDay,
    Written,
)
from swordplay.tables.readings.plain import Iso
from swordplay.tables.readings.reading import NUMBER, WORD, Reading

_REST = r"(?:[T ,].*)?$"
NUMERIC = re.compile(rf"^\d{{1,4}}([/.-])\d{{1,2}}(?:\1\d{{1,4}})?{_REST}", re.IGNORECASE)
_MONTH, _GAP = rf"(?:{'|'.join(name[:3] for name in MONTH_NAMES)})[a-z]*", r"[ ./,-]{1,2}"
NAMED = re.compile(
    rf"^(?:[a-z]{{3,9}}[., ]{{1,2}})?"
    rf"(?:(?:\d{{1,4}}{_GAP})?{_MONTH}{_GAP}\d{{1,4}}\b.*|\d{{4}}{_GAP}{_MONTH}(?:[ "
    rf",]{{1,2}}\d.*)?)$",
    re.IGNORECASE,
)
CLOCK = re.compile(r"^\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:\s*[ap]m)?$", re.IGNORECASE)
ZONED = re.compile(
    r":\d{2}(?:[.,]\d+)?(?:\s*[ap]m)?\s*(?:z|utc|gmt|[+-]\d{2}(?::?\d{2})?)$", re.IGNORECASE
)
STANDARD = re.compile(r"^\d{4}-\d{2}-\d{2}")
TIMELY = {
    "time",
    "timestamp",
    "ts",
    "date",
    "datetime",
    "dt",
    "epoch",
    "unix",
    "unixtime",
    "utc",
    "at",
    "day",
    "when",
    "moment",
}
"""Words in names of columns that hold dates."""
FIRST_YEAR, LAST_YEAR = 1900, 2100
"""Between them eight digits may be a date."""
ENOUGH = 10
"""So many different numbers of eight digits, all of them dates, are no chance, whatever the
name.
"""
FAMILIES = {
    "date": None,
    "day-first": ("dmy",),
    "month-first": ("mdy",),
    "year-first": ("ymd", "ym"),
}
"""What a user may call dates, and the orders that are meant; all of them for the first."""


class Guess(NamedTuple):
    """A way of writing dates, or None, and a remark, or nothing."""

    reading: Reading | None
    remark: str = ""


def is_timely(name: str) -> bool:
    """Whether a column is called like one of dates: ``created_at``, ``timeStamp``, ``unix_ms``."""
    parts = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())
    return any(
        part in TIMELY or part.startswith(("timestamp", "unix", "epoch", "datetime"))
        for part in parts
    )


def guess(name: str, values: Sequence[str], decimal: str, family: str = "date") -> Guess:
    """The way in which most texts are dates.

    Parameters
    ----------
    name
        Of the column.
    values
        Texts in the order of the rows (which may tell day and month apart), none missing.
    decimal
        Sign that numbers of the table have: where it is a comma, people put the day first.
    family
        One of :data:`FAMILIES`.
    """
    zoned = 2 * sum(map(bool, map(ZONED.search, values))) > len(values)
    texts = pa.array(values, WORD)
    if _most(STANDARD, values):
        chosen, misfits = _fewest(
            [Iso(unit, zone) for unit in ("us", "ns") for zone in (False, True)], texts
        )
        if chosen is not None and not misfits:
            return Guess(chosen)
    if _most(NAMED, values):
        orders = FAMILIES[family] or ("dmy", "mdy", "ymd", "my", "ym")
        styles = [(one, 4) for one in orders] + [
            (one, 2) for one in orders if one in ("dmy", "mdy")
        ]
        chosen = _fewest([Written(one, "", digits, True, zoned) for one, digits in styles], texts)[
            0
        ]
        return Guess(chosen or (_short_months(texts) if "my" in orders else None))
    if _most(NUMERIC, values):
        return _numeric(name, texts, zoned, decimal, family)
    return Guess(None)


def _short_months(texts: pa.Array) -> Reading | None:
    """Months such as Jan-12, with two digits of the year.

    Days of a year look the same, but would not be in order then.
    """
    reading = Written("my", "", 2, True)
    found = reading.convert(texts)
    months = {text[:3].lower() for text in texts.to_pylist()}
    return (
        reading if not found.bad.any() and len(months) > 1 and _is_ordered(reading, texts) else None
    )


def _most(pattern: re.Pattern[str], values: Sequence[str]) -> bool:
    return 2 * sum(map(bool, map(pattern.match, values))) > len(values)


def _fewest(readings: Sequence[Reading], texts: pa.Array) -> tuple[Reading | None, int]:
    """The first reading that fewest texts do not fit, if most of them do; and how many do not."""
    misfits = [int(np.count_nonzero(one.convert(texts).bad)) for one in readings]
    least = min(misfits)
    return (readings[misfits.index(least)], least) if 2 * least < len(texts) else (None, least)


def _numeric(name: str, texts: pa.Array, zoned: bool, decimal: str, family: str) -> Guess:
    """Dates of numbers only."""
    separators = [match[1] for match in map(NUMERIC.match, texts.to_pylist()) if match]
    separator = max(set(separators), key=separators.count)
    long = FAMILIES[family] or ("ymd", "dmy", "mdy", "ym", "my")
    chosen, least = _fewest([Written(one, separator, 4, False, zoned) for one in long], texts)
    if chosen is None:
        return _short(name, texts, separator, zoned, family)
    assert isinstance(chosen, Written)
    if chosen.order == "ym" and family == "date" and _are_seasons(texts.to_pylist()):
        return Guess(None)
    rival = Written("mdy", separator, 4, False, zoned)
    if (
        chosen.order != "dmy"
        or family != "date"
        or np.count_nonzero(rival.convert(texts).bad) > least
    ):
        return Guess(chosen)
    return _day_or_month(name, chosen, rival, decimal, texts)


def _day_or_month(
    name: str, day_first: Written, month_first: Written, decimal: str, rows: pa.Array
) -> Guess:
    """Which of two readings that fit as well."""
    if day_first.separator == ".":  # nobody writes the month first between points
        return Guess(day_first)
    ordered = [one for one in (day_first, month_first) if _is_ordered(one, rows)]
    if len(ordered) == 1:
        chosen, why = ordered[0], "as only then the rows are in the order of time"
    elif decimal == "," or day_first.separator == "-":
        chosen, why = day_first, "as no value decides"
    else:
        chosen, why = month_first, "as no value decides"
    other = "month-first" if chosen is day_first else "day-first"
    example = rows.drop_null()[0].as_py()
    first = "day" if chosen is day_first else "month"
    return Guess(
        chosen,
        f"Column {name!r}: dates such as {example} are read with the {first} first, {why}. "
        f"--types {shell(name)}={other} overrules.",
    )


def _is_ordered(reading: Reading, rows: pa.Array) -> bool:
    """Whether dates only rise or only fall, and there are at least three different ones."""
    moments = reading.convert(rows).values.drop_null().cast(pa.int64()).to_numpy()
    steps = np.diff(moments)
    return np.unique(moments).size >= 3 and bool((steps >= 0).all() or (steps <= 0).all())


def _short(name: str, texts: pa.Array, separator: str, zoned: bool, family: str) -> Guess:
    """Years of two digits, only where nothing else can be meant."""
    orders = [one for one in FAMILIES[family] or ("dmy", "mdy", "ymd") if len(one) == 3]
    readings = [Written(one, separator, 2, False, zoned) for one in orders]
    misfits = [int(np.count_nonzero(one.convert(texts).bad)) for one in readings]
    fitting = [one for one, count in zip(readings, misfits, strict=True) if count == min(misfits)]
    if 2 * min(misfits) >= len(texts):
        return Guess(None)
    fitting = [one for one in fitting if one.order != "ymd"] or fitting
    if len(fitting) == 1:
        return Guess(fitting[0])
    if (
        separator == "."
    ):  # nobody writes the month first between points, but versions of programs look the same
        return Guess(fitting[0] if is_timely(name) else None)
    example = texts[0].as_py()
    return Guess(
        None,
        f"Column {name!r}: {example} may have the day or the month first, and no value decides, so "
        f"it is taken for words. Say --types {shell(name)}=day-first or {shell(name)}=month-first.",
    )


def _are_seasons(values: Sequence[str]) -> bool:
    """Whether texts such as 2011-12 name two years, each one after the other, and not months."""
    pairs = [
        match for match in (re.fullmatch(r"(\d{4})[-/](\d{2})", value) for value in values) if match
    ]
    return len(pairs) > 1 and all((int(pair[1]) + 1) % 100 == int(pair[2]) for pair in pairs)


def clock(values: Sequence[str]) -> Guess:
    """Times of the day, if most texts are such."""
    return Guess(TimeOfDay() if _most(CLOCK, values) else None)


def of_numbers(name: str, values: pa.Array, *, sure: bool = False) -> Reading | None:
    """Dates that look like plain numbers: 20120131, or seconds (or thousandths of them and so on)
    since 1970.

    A number that is wrongly taken for a date is worse than a date that stays a number: all values
    have to be possible dates, and the name has to say so, or (of eight digits) the values are too
    many for chance.

    Parameters
    ----------
    name
        Of the column.
    values
        Numbers, or texts that hold them.
    sure
        Whether a user has said that they are dates.
    """
    numbers = values.cast(NUMBER, safe=False).drop_null().to_numpy(zero_copy_only=False)
    if not numbers.size:
        return None
    timely = sure or is_timely(name)
    for unit, scale in UNITS.items():
        if timely and EARLIEST * scale <= numbers.min() and numbers.max() < LATEST * scale:
            return Epoch(unit)
    if not (
        numbers.min() >= FIRST_YEAR * 10_000
        and numbers.max() < LAST_YEAR * 10_000
        and (numbers % 1 == 0).all()
    ):
        return None
    different = np.unique(numbers.astype(np.int64))
    compact = Written("ymd")
    fit = not compact.convert(pa.array(different).cast(WORD)).bad.any()
    return compact if fit and (timely or different.size >= ENOUGH) else None
