"""Dates as features that people expect: where in the day, the week and the year a moment lies,
on a circle.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from swordplay.core.types import Matrix

DAY, WEEK, YEAR = 86_400.0, 7.0, 365.2425
"""Seconds of a day, days of a week and of a mean year."""
MONDAY = 4.0
"""Days from 1970-01-01, a Thursday, to the first Monday after it."""


def has_hours(values: Any) -> bool:
    """Whether some date of a pyarrow array is not midnight."""
    seconds = _seconds(values)
    return bool(np.any(seconds[~np.isnan(seconds)] % DAY != 0.0))


def width(hours: bool) -> int:
    """Number of columns that :func:`circles` makes."""
    return 6 if hours else 4


def names(hours: bool) -> tuple[str, ...]:
    """What the columns of :func:`circles` tell, each twice: as a sine and as a cosine."""
    told = (*(("hour of the day",) if hours else ()), "day of the week", "day of the year")
    return tuple(name for name in told for _ in range(2))


def circles(values: Any, hours: bool) -> Matrix:
    """Sine and cosine of the hour of the day (where there are hours), the day of the week and the
    day of the year.

    Elapsed time is left out: it never comes again, and what changes with it is what the learner
    follows anyway.

    Parameters
    ----------
    values
        A pyarrow array of timestamps; nulls become NaN.
    hours
        Whether times of the day mean something.

    Returns
    -------
    Matrix
        Shape ``(T, 6)``, or ``(T, 4)`` without hours.
    """
    seconds = _seconds(values)
    days = np.floor(seconds / DAY)
    turns = [(days - MONDAY) % WEEK / WEEK, _day_of_year(days) / YEAR]
    if hours:
        turns.insert(0, seconds % DAY / DAY)
    return np.column_stack(
        [wave(2.0 * np.pi * turn) for turn in turns for wave in (np.sin, np.cos)]
    )


def hours(values: Any) -> Matrix:
    """Sine and cosine of the hour of the day, shape ``(T, 2)``.

    Parameters
    ----------
    values
        A pyarrow array of times of the day in microseconds; nulls become NaN.
    """
    turns = values.cast(pa.int64()).to_numpy(zero_copy_only=False).astype(np.float64) / (1e6 * DAY)
    return np.column_stack([wave(2.0 * np.pi * turns) for wave in (np.sin, np.cos)])


def milliseconds(values: Any) -> Any:
    """Milliseconds since 1970 of a pyarrow array of timestamps, NaN where missing."""
    return 1e3 * _seconds(values)


def _seconds(values: Any) -> Any:
    """Seconds since 1970, NaN where missing."""
    per_second = {"s": 1e0, "ms": 1e3, "us": 1e6, "ns": 1e9}[values.type.unit]
    return values.cast(pa.int64()).to_numpy(zero_copy_only=False).astype(np.float64) / per_second


def _day_of_year(days: Any) -> Any:
    """Days since the first of January."""
    known = np.where(np.isnan(days), 0.0, days).astype("datetime64[D]")
    since = (known - known.astype("datetime64[Y]")).astype(np.float64)
    return np.where(np.isnan(days), np.nan, since)
