"""Columns that divide a date further, such as the quarter of a year or the hour of a day: they
belong to the date.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

NAMES = frozenset(
    {
        *(
            "half",
            "halfyear",
            "semester",
            "trimester",
            "quarter",
            "qtr",
            "q",
            "month",
            "mon",
            "mth",
            "mnth",
        ),
        *(
            "week",
            "wk",
            "isoweek",
            "day",
            "doy",
            "dayofyear",
            "yearday",
            "yday",
            "weekday",
            "dayofweek",
            "dow",
            "wday",
        ),
        *("hour", "hr", "minute", "second", "time", "period", "interval", "season"),
    }
)
"""What parts of time are called: a word of the name, in letters of any size, or all of its words
in one.
"""
LAST_YEAR = 10_000
"""Dates below it, as numbers, are years."""
OF_YEARS, OF_DAYS = ((4,), (12,), (52, 53), (365, 366)), ((24,), (48,), (96,))
"""Rows of a year by quarter, month, week and day, and of a day by hour, half and quarter of an
hour: a column that counts
through them is such a part, whatever it is called."""


def is_named(name: str) -> bool:
    """Whether a column is called like a part of time.

    >>> [is_named(name) for name in ("Quarter", "month_no", "hourOfDay", "day of year", "store", "country")]
    [True, True, True, True, False, False]
    """  # noqa: E501
    words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())
    return "".join(words) in NAMES or any(word in NAMES for word in words)


def is_part(name: str, marks: NDArray[np.int64], times: NDArray[np.int64]) -> bool:
    """Whether a column divides the dates: by its name, or as it counts through a part of time
    within each of them.

    Parameters
    ----------
    name
        Of the column.
    marks
        Its values, equal where they are; the bits of doubles where they are numbers.
    times
        Dates of the rows, those of one date together; years as they are.
    """
    # Compared, not subtracted, and without its size: the first date that there is has none before
    # it, and no opposite.
    starts = np.flatnonzero(np.concatenate([[True], times[1:] != times[:-1]]))
    years = bool(times.min() > -LAST_YEAR and times.max() < LAST_YEAR)
    return (is_named(name) and _in_one_order(marks, starts)) or _counts(marks, starts, years)


def _in_one_order(marks: NDArray[np.int64], starts: NDArray[np.intp]) -> bool:
    """Whether the values come in the same order within each date, each of them in one run."""
    sizes = np.diff(starts, append=len(marks))
    longest = int(np.argmax(sizes))
    whole = marks[starts[longest] : starts[longest] + sizes[longest]]
    order = {mark: k for k, mark in enumerate(dict.fromkeys(whole.tolist()))}
    ranks = np.array([order.get(mark, -1) for mark in marks.tolist()])
    falls = np.diff(ranks, prepend=ranks[0]) < 0
    falls[starts] = False
    return len(order) > 1 and not falls.any() and bool((ranks >= 0).all())


def _counts(marks: NDArray[np.int64], starts: NDArray[np.intp], years: bool) -> bool:
    """Whether the values are 1, 2, 3 and so on (or begin with 0), as far as a part of time goes,
    within each date.

    The first and the last date may be incomplete.
    """
    numbers = np.ascontiguousarray(marks).view(np.float64)
    if not (
        np.abs(numbers) <= OF_YEARS[-1][-1]
    ).all():  # marks of words are any bits, also those of NaN
        return False
    sizes = np.diff(starts, append=len(marks))[1:-1]
    steps = np.diff(numbers)
    steps = np.delete(steps, starts[1:] - 1)
    inner = numbers[starts[1:]]
    if (
        not len(sizes)
        or not (steps == 1.0).all()
        or not ((inner == inner[0]).all() and inner[0] in (0.0, 1.0))
    ):
        return False
    return any(np.isin(sizes, lengths).all() for lengths in (OF_YEARS if years else OF_DAYS))
