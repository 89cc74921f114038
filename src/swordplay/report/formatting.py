"""Format numbers, shares, step sizes, times and foreign text for a page."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

Shown = Callable[[float], str]
"""A function that formats a number."""
NARROW = "\N{NARROW NO-BREAK SPACE}"
TIE = "\N{NO-BREAK SPACE}"
DIGITS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
DAY = 86_400_000.0
MONTH, YEAR = 30.0 * DAY, 365.0 * DAY
"""In milliseconds."""
MAX_LETTERS = 80
"""Characters of a foreign name or value that are clean_text: columns may be called anything, a
paragraph too.
"""
# Marks that turn the direction of what follows could make a page read otherwise than it is; lone
# surrogates have no bytes.
BLANK = re.compile("[ \t\n\r\f\v\x1c-\x1f\x85\u2028\u2029]+")  # not those that keep words together
HIDDEN_MARKS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def number(value: float) -> str:
    """Format a number with three significant digits.

    >>> number(0.02431), number(89.5), number(1234.5), number(4.3142e8)
    ('0.0243', '89.5', '1,234', '4.31×10⁸')
    """
    if not math.isfinite(value):
        return "–" if math.isnan(value) else "∞" if value > 0 else "−∞"
    size = abs(value)
    if value and not 1e-4 <= size < 1e7:
        mantissa, exponent = f"{value:.2e}".split("e")
        return f"{mantissa}×10{str(int(exponent)).translate(DIGITS)}".replace("-", "−")
    decimals = 0 if not value or size >= 99.95 else 2 - math.floor(math.log10(float(f"{size:.3g}")))
    return f"{value:,.{decimals}f}".replace("-", "−")


def percent(share: float) -> str:
    """Format a share in percent, with one decimal; below 1 % with two significant digits.

    >>> percent(0.08199), percent(0.00123), percent(1.0)
    ('8.2\u202f%', '0.12\u202f%', '100\u202f%')
    """
    if not math.isfinite(share):
        return "–"
    value = 100.0 * share
    text = f"{value:.2g}" if 0.0 < abs(value) < 0.95 else f"{value:.1f}".removesuffix(".0")
    return f"{text}{NARROW}%"


def points(share: float) -> str:
    """Format a difference of two shares in percentage points.

    >>> points(0.0053), points(0.01)
    ('0.53 points', '1 point')
    """
    text = percent(share).removesuffix(f"{NARROW}%")
    return f"{text} point{'' if text == '1' else 's'}"


def percents(shares: Sequence[float]) -> list[str]:
    """Format shares that stand beside one another, with decimals in all of them or in none.

    >>> percents([0.259, 0.26]), percents([0.1, 0.2])
    (['25.9\u202f%', '26.0\u202f%'], ['10\u202f%', '20\u202f%'])
    """
    alone = [percent(share) for share in shares]
    if not any("." in text for text in alone):
        return alone
    return [
        text if "." in text or text == "–" else text.replace(NARROW, f".0{NARROW}")
        for text in alone
    ]


def step(size: float) -> str:
    """Format a step size, as a fraction if it is one over a whole number.

    >>> step(0.0625), step(1.0), step(0.3)
    ('1/16', '1', '0.300')
    """
    inverse = round(1.0 / size) if 0.0 < size <= 1.0 else 0
    if inverse and math.isclose(inverse * size, 1.0):
        return "1" if inverse == 1 else f"1/{inverse:,}"
    return number(size)


def power_of_two(size: float) -> str:
    """Format a step size rounded to the nearest power of two.

    >>> power_of_two(0.27), power_of_two(0.9)
    ('1/4', '1')
    """
    return step(2.0 ** round(math.log2(size))) if 0.0 < size < math.inf else number(size)


def time_text(time: float, span: float) -> str:
    """Format a time in milliseconds since 1970, as precisely as the length of a run suggests.

    >>> time_text(1335830400000.0, 3 * 366 * DAY), time_text(1335830400000.0, 90 * DAY), time_text(1335879000000.0, DAY)
    ('May 2012', '1 May 2012', '1 May 2012, 13:30')
    """  # noqa: E501
    try:
        then = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=time)
    except OverflowError:
        return "an unknown time"
    if span >= 2 * YEAR:
        return f"{then:%B} {then.year}"
    day = f"{then.day} {then:%B} {then.year}"
    return day if span >= MONTH else f"{day}, {then:%H:%M}"


def approximate_time(time: float, span: float) -> str:
    """Format a time in milliseconds since 1970 that is known to a fifth of the run.

    >>> approximate_time(1335830400000.0, 6 * YEAR), approximate_time(1335830400000.0, YEAR), approximate_time(1335830400000.0, 90 * DAY)
    ('mid-2012', 'May 2012', '1 May 2012')
    """  # noqa: E501
    text = time_text(time, 2 * YEAR if span >= YEAR else span)
    if span < 5 * YEAR or not text[-4:].isdigit():
        return text
    month = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=time)).month
    return ("early ", "mid-", "late ")[(month - 1) // 4] + text[-4:]


def clean_text(text: str, longest: int = MAX_LETTERS) -> str:
    """Return foreign text on one line, shortened, without control and direction marks.

    The result is not escaped for HTML.
    """
    clean = BLANK.sub(
        " ", HIDDEN_MARKS.sub("\N{REPLACEMENT CHARACTER}", text[: 4 * longest])
    ).strip(" ")
    clean = "".join(
        "\N{REPLACEMENT CHARACTER}" if unicodedata.category(letter) == "Cc" else letter
        for letter in clean
    )
    return (
        clean if len(clean) <= longest and len(text) <= 4 * longest else clean[: longest - 1] + "…"
    )


def plural(count: int, word: str) -> str:
    """Format a count with its noun.

    >>> plural(1, "row"), plural(45312, "row")
    ('1 row', '45,312 rows')
    """
    return f"{count:,} {word}{'' if count == 1 else 's'}"
