"""Whether a single text looks like a value and not like a name."""

from __future__ import annotations

from swordplay.tables.readings.guess_dates import CLOCK, NAMED, NUMERIC, STANDARD
from swordplay.tables.readings.guess_numbers import AMOUNT, is_amount


def is_value(text: str) -> bool:
    """Whether a text is a number with or without a unit, a date or a time of the day.

    >>> [is_value(text) for text in ("12.5", "€ 3", "31-Jan-2012", "13:30", "price", "x1", "kg")]
    [True, True, True, True, False, False, False]
    """
    amount = AMOUNT.match(text)
    if amount:
        return is_amount(amount)
    return any(pattern.match(text) for pattern in (STANDARD, NUMERIC, CLOCK)) or bool(NAMED.match(text) and text[-1].isdigit())
