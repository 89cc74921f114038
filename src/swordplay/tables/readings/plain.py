"""Readings of what is written plainly, and of words."""

from __future__ import annotations

from typing import Any, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from swordplay.tables.readings.reading import (
    DATES,
    MARKS,
    MISSING,
    TRUTH,
    WORD,
    Converted,
    Reading,
    known,
    mask,
    refused,
    texts,
    without,
)

TRUE, FALSE = ("true", "yes", "y", "t", "on", "1"), ("false", "no", "n", "f", "off", "0")


@final
class Word(Reading):
    """Texts as they are."""

    name, kind, type, said, expected = "word", "word", WORD, "", "a word"

    def convert(self, values: pa.Array) -> Converted:
        """Take texts as they are."""
        values = values if values.type == WORD else texts(values)
        return Converted(known(values, MISSING), np.zeros(len(values), bool))

    def parameters(self) -> dict[str, Any]:
        """None."""
        return {}


@final
class Truth(Reading):
    """True and false, yes and no, on and off, 1 and 0, in letters of any size."""

    name, kind, type, said, expected = "truth", "truth", TRUTH, "", "true or false"

    def convert(self, values: pa.Array) -> Converted:
        """Read texts."""
        values = known(texts(values), (*MISSING, *MARKS))
        lower = pc.utf8_lower(values)
        true, false = (pc.is_in(lower, value_set=pa.array(words, WORD)) for words in (TRUE, FALSE))
        bad = mask(pc.and_(pc.is_valid(values), pc.invert(pc.or_(true, false))))
        return Converted(without(pc.if_else(pc.is_valid(values), true, None), bad), bad)

    def parameters(self) -> dict[str, Any]:
        """None."""
        return {}


@final
class Iso(Reading):
    """Dates as the standard has them: 2024-05-17, with or without a time and a zone.

    Parameters
    ----------
    unit
        ``"us"``, or ``"ns"`` where there are so many digits.
    zoned
        Whether the times have a zone; all are turned into UTC.
    """

    name, kind, said, expected = (
        "iso",
        "date",
        "",
        "a date such as 2024-05-17 or 2024-05-17 13:45:00",
    )

    def __init__(self, unit: str = "us", zoned: bool = False) -> None:
        self.type = pa.timestamp(unit, "UTC" if zoned else None)
        assert self.type in DATES

    def convert(self, values: pa.Array) -> Converted:
        """Read texts."""
        values = known(texts(values), (*MISSING, *MARKS))

        def attempt(start: int, stop: int) -> NDArray[np.bool_]:
            values.slice(start, stop - start).cast(self.type)
            return np.zeros(stop - start, bool)

        bad = refused(len(values), attempt)
        return Converted(without(values, bad).cast(self.type), bad)

    def parameters(self) -> dict[str, Any]:
        """Those of the constructor."""
        return {"unit": self.type.unit, "zoned": self.type.tz is not None}
