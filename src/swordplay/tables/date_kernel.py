"""Kernel that parses dates and times of the day from the bytes of texts.

From left to right: a day of the week (only before named months, and skipped), the parts of the date
in a given order, a time, AM or PM or "Uhr", a zone. Anything else makes the text a bad one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from swordplay.compile import inline, kernel
from swordplay.tables.date_names import DAY_NAMES, MONTH_NAMES

YEAR, MONTH, DAY = ord("y"), ord("m"), ord("d")
NINE, ZERO, SPACE, COLON, POINT, COMMA, PLUS, MINUS, SLASH = (ord(sign) for sign in "90 :.,+-/")
LOWER_T, LOWER_Z, LOWER_A, LOWER_P, LOWER_M = (ord(letter) for letter in "tzapm")
MAX_WORD_LETTERS, LETTER_BITS = 12, 5
CENTURY_PIVOT = 69
"""Years of two digits from here on are of the last century, as in POSIX."""
SECOND_MICROS = 1_000_000
MINUTE_MICROS = 60 * SECOND_MICROS
DAY_MICROS = 24 * 60 * MINUTE_MICROS
NOON_HOUR, LAST_HOUR = 12, 24
NO_ZONE = 1 << 20
"""Result instead of minutes if there is no zone."""


def word_code(word: str) -> int:
    """Return a word of at most twelve letters as a number, five bits a letter, a = 1."""
    code = 0
    for letter in word:
        code = code << LETTER_BITS | (ord(letter) | 32) - 96
    return code


MONTH_CODES = np.array([[word_code(name), word_code(name[:3])] for name in MONTH_NAMES])
SEPT_CODE = word_code("sept")
WEEKDAY_CODES = np.array(
    [word_code(name[:letters]) for name in DAY_NAMES for letters in (3, len(name))]
)
UTC_CODE, GMT_CODE, Z_CODE = word_code("utc"), word_code("gmt"), word_code("z")
UHR_CODE = word_code("uhr")
MONTH_LENGTHS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])


@inline
def _value(numbers: NDArray[np.integer[Any]], at: int) -> int:
    """Return an entry as int64, as arithmetic of bytes would overflow."""
    return np.int64(numbers[at])  # type: ignore[return-value]


@inline
def _digit(byte: int) -> bool:
    return ZERO <= byte <= NINE


@inline
def _whole(data: NDArray[np.uint8], at: int, stop: int, least: int, most: int) -> tuple[int, int]:
    """Return a number of ``least`` to ``most`` digits (-1 if it has others) and the place after."""
    value, first = 0, at
    while at < stop and at - first <= most and _digit(data[at]):
        value = 10 * value + _value(data, at) - ZERO
        at += 1
    return (value if least <= at - first <= most else -1), at


@inline
def _word(data: NDArray[np.uint8], at: int, stop: int) -> tuple[int, int]:
    """Return the code of a word (0 if it has no letters or too many) and the place after."""
    code, first = 0, at
    while at < stop and 97 <= (data[at] | 32) <= 122:
        if at - first < MAX_WORD_LETTERS:
            code = code << LETTER_BITS | (_value(data, at) | 32) - 96
        at += 1
    return (code if at - first <= MAX_WORD_LETTERS else 0), at


@inline
def _gap(data: NDArray[np.uint8], at: int, stop: int) -> int:
    """Return the place after one or two separators of a date with a named month; -1 if none."""
    first = at
    while at < stop and at - first < 2 and data[at] in (SPACE, MINUS, SLASH, POINT, COMMA):
        at += 1
    return at if at > first else -1


@inline
def _fraction(data: NDArray[np.uint8], at: int, stop: int) -> tuple[int, int]:
    """Return microseconds of one to nine digits (-1 if it has others) and the place after."""
    first, value, unit = at, 0, SECOND_MICROS // 10
    while at < stop and _digit(data[at]):
        value += unit * (_value(data, at) - ZERO)
        unit //= 10
        at += 1
    return (value if 1 <= at - first <= 9 else -1), at


@inline
def _clock(data: NDArray[np.uint8], at: int, stop: int, compact: bool) -> tuple[int, int]:
    """Return microseconds since midnight (-1 if there is no time) and the place after.

    24:00 gives a whole day: midnight of the next one.
    """
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
        if hour < 1 or hour > NOON_HOUR:
            return -1, at
        hour = hour % NOON_HOUR + (NOON_HOUR if (data[after] | 32) == LOWER_P else 0)
        at = after + 2
    else:
        word, after_word = _word(data, after, stop)
        if word == UHR_CODE:
            at = after_word
    micros = (60 * hour + minute) * MINUTE_MICROS + second * SECOND_MICROS + fraction
    return (
        micros if micros < DAY_MICROS or (hour == LAST_HOUR and micros == DAY_MICROS) else -1
    ), at


@inline
def _zone(data: NDArray[np.uint8], at: int, stop: int) -> tuple[int, int]:
    """Return minutes that a zone is ahead of UTC (NO_ZONE if there is none) and the place after."""
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
    return (0 if code in (Z_CODE, UTC_CODE, GMT_CODE) else NO_ZONE), at


@inline
def _month(code: int) -> int:
    """Return the number of a month by the code of its name; 0 if it is none."""
    for k in range(12):
        if code == MONTH_CODES[k, 0] or code == MONTH_CODES[k, 1]:
            return k + 1
    return 9 if code == SEPT_CODE else 0


@inline
def _weekday(data: NDArray[np.uint8], at: int, stop: int) -> int:
    """Return the place after a day of the week and its separator; ``at`` if there is none."""
    code, after = _word(data, at, stop)
    for k in range(WEEKDAY_CODES.size):
        if code == WEEKDAY_CODES[k]:
            after = _gap(data, after, stop)
            return after if after >= 0 else at
    return at


@inline
def _days(year: int, month: int, day: int) -> int:
    """Return days since 1970-01-01 in the Gregorian calendar.

    Years are counted from March, so that a leap day is the last of its year.
    """
    year -= month <= 2
    era = year // 400  # 400 years have 146,097 days
    year_of_era = year - 400 * era
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    day_of_era = 365 * year_of_era + year_of_era // 4 - year_of_era // 100 + day_of_year
    return 146_097 * era + day_of_era - 719_468


@inline
def _is_day(year: int, month: int, day: int) -> bool:
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return (
        year >= 1
        and 1 <= month <= 12
        and 1 <= day <= MONTH_LENGTHS[month - 1] + (1 if leap and month == 2 else 0)
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
    """Return microseconds from 1970 to the midnight of a date, and the place after (-1 if none)."""
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
                year += 1900 if year >= CENTURY_PIVOT else 2000
        elif order[k] == DAY:
            day, at = _whole(data, at, min(stop, at + 2), least, 2)
        elif named:
            code, at = _word(data, at, stop)
            month = _month(code)
        else:
            month, at = _whole(data, at, min(stop, at + 2), 2 if order.size == 2 else least, 2)
    return (DAY_MICROS * _days(year, month, day), at) if _is_day(year, month, day) else (0, -1)


@kernel
def parse_dates(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int32],
    is_valid: NDArray[np.bool_],
    order: NDArray[np.uint8],
    separator: int,
    digits: int,
    named: bool,
    zoned: bool,
    micros: NDArray[np.int64],
    bad: NDArray[np.bool_],
) -> None:
    """Fill ``micros`` with microseconds since 1970 (UTC if zoned), or since midnight if no date.

    Parameters
    ----------
    data, offsets, is_valid
        Texts as in an Arrow array: their bytes, where each begins (and the last one ends), and
        which of them are not null.
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
    micros, bad
        Results: ``bad`` marks texts that do not fit.
    """
    compact = order.size > 0 and separator == 0 and not named
    for i in range(is_valid.size):
        micros[i], bad[i] = 0, False
        if not is_valid[i]:
            continue
        at, stop = _value(offsets, i), _value(offsets, i + 1)
        bad[i] = True
        date, zone_minutes = 0, 0
        if order.size:
            date, at = _date(data, at, stop, order, separator, digits, named)
            if at < 0:
                continue
        time = 0
        if at < stop or not order.size:
            if order.size and not (compact and _digit(data[at])):
                # Between date and time: blanks and commas, or one T.
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
            zone_minutes, at = _zone(data, at, stop)
            if zone_minutes == NO_ZONE:
                continue
        if at == stop:
            if not order.size:
                time %= DAY_MICROS  # a time of the day without a date: 24:00 is 0:00
            micros[i], bad[i] = date + time - MINUTE_MICROS * zone_minutes, False
