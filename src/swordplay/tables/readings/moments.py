"""Dates and times of the day as people write them, and moments counted from 1970."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from swordplay.tables.readings.reading import (
    MARKS,
    MISSING,
    NUMBER,
    TIME,
    Converted,
    Reading,
    known,
    mask,
    texts,
)

ORDERS = {
    "dmy": "day first",
    "mdy": "month first",
    "ymd": "year first",
    "ym": "year and month",
    "my": "month and year",
}
"""Orders of the parts of a date, and what they are called."""
UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
UNIT_WORDS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
EARLIEST, LATEST = (datetime(year, 1, 1, tzinfo=UTC).timestamp() for year in (1990, 2050))
"""Between them numbers of seconds may be moments."""
FARTHEST = 2.5e11
"""Seconds from 1970 to beyond the year 9000: later moments are mistakes."""


@final
class Written(Reading):
    """Dates in another way than the standard's.

    Parameters
    ----------
    order
        One of :data:`ORDERS`.
    separator
        Between numbers: ``"/"``, ``"."``, ``"-"``, a blank, or nothing as in 20120131. Named months
        have any.
    digits
        Of the year, 4 or 2; 69 to 99 are of the last century.
    named
        Whether months have names, in full or three letters of them (English).
    zoned
        Whether each value has a zone; all are turned into UTC.
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
        self.order, self.separator, self.digits, self.named, self.zoned = (
            order,
            separator,
            digits,
            named,
            zoned,
        )
        self.type = pa.timestamp("us", "UTC" if zoned else None)
        doubtful = order in ("dmy", "mdy") and not named
        self.said = f"{ORDERS[order]} ({self.example()})" if doubtful else f"as in {self.example()}"
        self.expected = f"a date {'with the ' if doubtful else ''}{self.said}"

    def example(self) -> str:
        """31 January 2012, written this way."""
        parts = {"d": "31", "m": "Jan" if self.named else "01", "y": "2012"[-self.digits :]}
        if self.named and self.order == "mdy":
            return f"{parts['m']} {parts['d']}, {parts['y']}"
        return (self.separator or " " * self.named).join(parts[letter] for letter in self.order)

    def parameters(self) -> dict[str, Any]:
        """Those of the constructor."""
        names = ("order", "separator", "digits", "named", "zoned")
        return {name: getattr(self, name) for name in names}

    def convert(self, values: pa.Array) -> Converted:
        """Read texts."""
        found, bad, absent = _moments(
            values, self.order, self.separator, self.digits, self.named, self.zoned
        )
        return Converted(pa.array(found, pa.int64(), mask=absent | bad).cast(self.type), bad)


@final
class TimeOfDay(Reading):
    """Times of the day: 13:30, 13:30:05.25, 1:30 PM."""

    name, kind, type, said, expected = "time", "time", TIME, "", "a time of the day such as 13:30"

    def parameters(self) -> dict[str, Any]:
        """None."""
        return {}

    def convert(self, values: pa.Array) -> Converted:
        """Read texts."""
        found, bad, absent = _moments(values, "", "", 4, False, False)
        return Converted(pa.array(found, pa.int64(), mask=absent | bad).cast(TIME), bad)


@final
class Epoch(Reading):
    """Moments counted from the beginning of 1970 (UTC).

    Parameters
    ----------
    unit
        What is counted: ``"s"``, ``"ms"``, ``"us"`` or ``"ns"``.
    """

    name, kind, stored, type = "epoch", "date", NUMBER, pa.timestamp("us", "UTC")

    def __init__(self, unit: str) -> None:
        self.unit = unit
        self.said = f"{UNIT_WORDS[unit]} since 1970"
        self.expected = f"a number of {self.said}"

    def parameters(self) -> dict[str, Any]:
        """Those of the constructor."""
        return {"unit": self.unit}

    def convert(self, values: pa.Array) -> Converted:
        """Read numbers, or texts that hold them."""
        if pa.types.is_string(values.type):
            from swordplay.tables.readings.amounts import Amount

            values, wrong = Amount().convert(values)
        else:
            values, wrong = values.cast(NUMBER, safe=False), np.zeros(len(values), bool)
        seconds = values.to_numpy(zero_copy_only=False) / UNITS[self.unit]
        far = np.abs(seconds) > FARTHEST  # NaN compares as false
        absent = np.isnan(seconds)
        found = np.where(absent | far, 0.0, np.rint(seconds * UNITS["us"])).astype(np.int64)
        return Converted(pa.array(found, mask=absent | far).cast(self.type), wrong | far)


def _moments(
    values: pa.Array, order: str, separator: str, digits: int, named: bool, zoned: bool
) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]:
    """Microseconds, which texts are bad, and which are missing."""
    from swordplay.tables.readings.calendar import (
        moments,
    )  # numba takes its time, and plain tables do without

    values = known(texts(values), (*MISSING, *MARKS))
    count = len(values)
    _, places, letters = values.buffers()
    offsets = (
        np.frombuffer(places, np.int32)[values.offset : values.offset + count + 1]
        if count
        else np.zeros(1, np.int32)
    )
    data = np.frombuffer(letters or b"", np.uint8)
    present = mask(values.is_valid())
    found, bad = np.empty(count, np.int64), np.empty(count, bool)
    code = np.frombuffer(order.encode(), np.uint8).copy()
    moments(data, offsets, present, code, ord(separator or "\0"), digits, named, zoned, found, bad)
    return found, bad, ~present
