"""Dates and times of the day from the bytes of texts, one after another. Compiled.

What is read, from left to right: a day of the week (only before named months, and passed over), the
parts of the date in a given order, a time, AM or PM, a zone. Whatever else stands there makes the
text a bad one; nothing is guessed here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from swordplay.compile import inline, kernel
from swordplay.tables.readings.calendar_names import DAY_NAMES, MONTH_NAMES

YEAR, MONTH, DAY = ord("y"), ord("m"), ord("d")
NINE, ZERO, SPACE, COLON, POINT, COMMA, PLUS, MINUS, SLASH = (ord(sign) for sign in "90 :.,+-/")
LOWER_T, LOWER_Z, LOWER_A, LOWER_P, LOWER_M = (ord(letter) for letter in "tzapm")
LONGEST_WORD, LETTER_BITS = 12, 5
PIVOT = 69
"""Years of two digits from here on are of the last century, as POSIX has it."""
SECOND = 1_000_000
MINUTE, HALF_DAY = 60 * SECOND, 12
DAY_LENGTH = 24 * 60 * MINUTE
NO_ZONE = 1 << 20
"""Instead of minutes, where no zone can be read."""


def packed(word: str) -> int:
    """A word of at most twelve letters as a number, as the kernel sees it."""
    code = 0
    for letter in word:
        code = code << LETTER_BITS | (ord(letter) | 32) - 96
    return code


MONTHS = np.array([[packed(name), packed(name[:3])] for name in MONTH_NAMES])
SEPTEMBER = packed("sept")
WEEKDAYS = np.array([packed(name[:length]) for name in DAY_NAMES for length in (3, len(name))])
UNIVERSAL = np.array([packed("utc"), packed("gmt")])
LENGTHS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])


@inline
def _value(numbers: NDArray[np.integer[Any]], at: int) -> int:
    """An entry with room for arithmetic."""
    # because compiled code knows no Python int
    return np.int64(numbers[at])  # type: ignore[return-value]


@inline
def _digit(byte: int) -> bool:
    return ZERO <= byte <= NINE


@inline
def _whole(data: NDArray[np.uint8], at: int, stop: int, least: int, most: int) -> tuple[int, int]:
    """A number of so many digits, and the place after it; -1 if there are fewer or more."""
    value, first = 0, at
    while at < stop and at - first <= most and _digit(data[at]):
        value = 10 * value + _value(data, at) - ZERO
        at += 1
    return (value if least <= at - first <= most else -1), at


@inline
def _word(data: NDArray[np.uint8], at: int, stop: int) -> tuple[int, int]:
    """Letters packed into a number, and the place after them; 0 if there are none or too many."""
    code, first = 0, at
    while at < stop and 97 <= (data[at] | 32) <= 122:
        if at - first < LONGEST_WORD:
            code = code << LETTER_BITS | (_value(data, at) | 32) - 96
        at += 1
    return (code if at - first <= LONGEST_WORD else 0), at


@inline
def _gap(data: NDArray[np.uint8], at: int, stop: int) -> int:
    """The place after one to two signs between the parts of a date with a named month.

    -1 without any.
    """
    first = at
    while at < stop and at - first < 2 and data[at] in (SPACE, MINUS, SLASH, POINT, COMMA):
        at += 1
    return at if at > first else -1


@inline
def _fraction(data: NDArray[np.uint8], at: int, stop: int) -> tuple[int, int]:
    """Microseconds from the digits behind the point, of which there are one to nine.

    -1 otherwise.
    """
    first, value, unit = at, 0, SECOND // 10
    while at < stop and _digit(data[at]):
        value += unit * (_value(data, at) - ZERO)
        unit //= 10
        at += 1
    return (value if 1 <= at - first <= 9 else -1), at


@inline
def _clock(data: NDArray[np.uint8], at: int, stop: int, compact: bool) -> tuple[int, int]:
    """Microseconds since midnight, and the place after the time; -1 if there is none."""
    least = 2 if compact else 1
    hour, at = _whole(data, at, min(stop, at + 2), least, 2)
    colon = at < stop and data[at] == COLON
    if hour < 0 or not (colon or compact):
        return -1, at
    at += colon
    minute, at = _whole(data, at, min(stop, at + 2), 2, 2)
    if minute < 0 or minute > 59:
        return -1, at
    second = fraction = 0
    if at < stop and (data[at] == COLON if colon else _digit(data[at])):
        at += colon
        second, at = _whole(data, at, min(stop, at + 2), 2, 2)
        if second < 0 or second > 59:
            return -1, at
        if at < stop and data[at] in (POINT, COMMA):
            fraction, at = _fraction(data, at + 1, stop)
            if fraction < 0:
                return -1, at
    after = at
    while after < stop and data[after] == SPACE:
        after += 1
    if (
        after + 1 < stop
        and (data[after] | 32) in (LOWER_A, LOWER_P)
        and (data[after + 1] | 32) == LOWER_M
    ):
        if hour < 1 or hour > HALF_DAY:
            return -1, at
        hour = hour % HALF_DAY + (HALF_DAY if (data[after] | 32) == LOWER_P else 0)
        at = after + 2
    if hour > 23:
        return -1, at
    return 60 * hour * MINUTE + minute * MINUTE + second * SECOND + fraction, at


@inline
def _zone(data: NDArray[np.uint8], at: int, stop: int) -> tuple[int, int]:
    """Minutes that a zone is ahead of UTC, and the place after it.

    :data:`NO_ZONE` if there is none.
    """
    while at < stop and data[at] == SPACE:
        at += 1
    if at < stop and data[at] in (PLUS, MINUS):
        sign = 1 if data[at] == PLUS else -1
        hours, at = _whole(data, at + 1, min(stop, at + 3), 2, 2)
        minutes = 0
        if at < stop:
            at += data[at] == COLON
            minutes, at = _whole(data, at, stop, 2, 2)
        return (
            sign * (60 * hours + minutes) if 0 <= hours <= 23 and 0 <= minutes <= 59 else NO_ZONE
        ), at
    code, at = _word(data, at, stop)
    known = code == LOWER_Z - 96 or code == UNIVERSAL[0] or code == UNIVERSAL[1]
    return (0 if known else NO_ZONE), at


@inline
def _month(code: int) -> int:
    """The number of a month by its name; 0 if it is none."""
    for k in range(12):
        if code == MONTHS[k, 0] or code == MONTHS[k, 1]:
            return k + 1
    return 9 if code == SEPTEMBER else 0


@inline
def _weekday(data: NDArray[np.uint8], at: int, stop: int) -> int:
    """The place after a day of the week and what separates it.

    The same place where there is none.
    """
    code, after = _word(data, at, stop)
    for k in range(WEEKDAYS.size):
        if code == WEEKDAYS[k]:
            after = _gap(data, after, stop)
            return after if after >= 0 else at
    return at


@inline
def _days(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 in the calendar of today.

    A year begins in March, so that a leap day is its last.
    """
    year -= month <= 2
    era = year // 400
    of_era = year - 400 * era
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return 146_097 * era + 365 * of_era + of_era // 4 - of_era // 100 + of_year - 719_468


@inline
def _is_day(year: int, month: int, day: int) -> bool:
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return (
        year >= 1
        and 1 <= month <= 12
        and 1 <= day <= LENGTHS[month - 1] + (1 if leap and month == 2 else 0)
    )


@inline
def _date(
    data: NDArray[np.uint8],
    at: int,
    stop: int,
    order: NDArray[np.uint8],
    separator: int,
    digits: int,
    named: bool,
) -> tuple[int, int]:
    """Microseconds from 1970 to the midnight of a date, and the place after it.

    The place is -1 if there is none.
    """
    year, month, day = 0, 0, 1
    if named:
        at = _weekday(data, at, stop)
    least = 1 if named or separator else 2
    for k in range(order.size):
        if k and named:
            at = _gap(data, at, stop)
            if at < 0:
                return 0, -1
        elif k and separator:
            if at >= stop or data[at] != separator:
                return 0, -1
            at += 1
        if order[k] == YEAR:
            year, at = _whole(
                data, at, stop if separator or named else min(stop, at + digits), digits, digits
            )
            if digits == 2 and year >= 0:
                year += 1900 if year >= PIVOT else 2000
        elif order[k] == DAY:
            day, at = _whole(data, at, min(stop, at + 2), least, 2)
        elif named:
            code, at = _word(data, at, stop)
            month = _month(code)
        else:
            month, at = _whole(data, at, min(stop, at + 2), 2 if order.size == 2 else least, 2)
    return (DAY_LENGTH * _days(year, month, day), at) if _is_day(year, month, day) else (0, -1)


@kernel
def moments(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int32],
    present: NDArray[np.bool_],
    order: NDArray[np.uint8],
    separator: int,
    digits: int,
    named: bool,
    zoned: bool,
    found: NDArray[np.int64],
    bad: NDArray[np.bool_],
) -> None:
    """Fill in the moment of each text, in microseconds since 1970 (UTC where zoned) or, without a
    date, since midnight.

    Parameters
    ----------
    data, offsets, present
        Texts: their bytes, where each begins (and the last one ends), and which of them are there
        at all.
    order
        Letters of the parts of a date: ``b"dmy"``, ``b"mdy"``, ``b"ymd"``, ``b"ym"``, ``b"my"``;
        none for times of the day.
    separator
        The byte between numbers of a date; 0 for none, as in 20120131.
    digits
        Of the year: 4 or 2.
    named
        Whether months have names.
    zoned
        Whether each text ends in a zone; otherwise none does.
    found, bad
        Results.
    """
    compact = order.size > 0 and separator == 0 and not named
    for i in range(present.size):
        found[i], bad[i] = 0, False
        if not present[i]:
            continue
        at, stop = _value(offsets, i), _value(offsets, i + 1)
        bad[i] = True
        date, minutes = 0, 0
        if order.size:
            date, at = _date(data, at, stop, order, separator, digits, named)
            if at < 0:
                continue
        time = 0
        if at < stop or not order.size:
            if order.size and not (compact and _digit(data[at])):
                first = at
                while at < stop and (
                    data[at] in (SPACE, COMMA) or (at == first and (data[at] | 32) == LOWER_T)
                ):
                    at += 1
                if at == first:
                    continue
            time, at = _clock(data, at, stop, compact)
            if time < 0:
                continue
        if zoned:
            minutes, at = _zone(data, at, stop)
            if minutes == NO_ZONE:
                continue
        if at == stop:
            found[i], bad[i] = date + time - MINUTE * minutes, False
