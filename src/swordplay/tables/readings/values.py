"""Whether a single text looks like a value and not like a name."""

from __future__ import annotations

from swordplay.tables.readings.guess_dates import CLOCK, NAMED, NUMERIC, STANDARD
from swordplay.tables.readings.guess_numbers import AMOUNT, is_amount


def value_kind(text: str) -> str | None:
    """``"number"`` (with or without a unit), ``"date"`` or ``"time"``.

    None for a text that is no such value.

    >>> [value_kind(text) for text in ("12.5", "€ 3", "31-Jan-2012", "13:30", "price", "x1", "kg")]
    ['number', 'number', 'date', 'time', None, None, None]
    """
    amount = AMOUNT.match(text)
    if amount and is_amount(amount):
        return "number"
    if CLOCK.match(text):
        return "time"
    return "date" if any(pattern.match(text) for pattern in (STANDARD, NUMERIC, NAMED)) else None


def is_value(text: str) -> bool:
    """Whether a text is a number, a date or a time of the day."""
    return value_kind(text) is not None
