"""How texts of a column become values: a small declared thing, so that whoever goes on with a
table never guesses anew.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

NUMBER, TRUTH, WORD, TIME = pa.float64(), pa.bool_(), pa.string(), pa.time64("us")
DATES = tuple(pa.timestamp(unit, zone) for unit in ("us", "ns") for zone in (None, "UTC"))
"""Microseconds reach all years up to 9999; nanoseconds are for values that have them."""
MARKS = ("-", "--", "---", ".", "..", "?", "–", "—", "−")
"""Signs that stand for nothing beside numbers, dates and times; beside words they are words."""
_PLAIN = (
    "",
    "#N/A",
    "#NA",
    "N/A",
    "NA",
    "NULL",
    "NaN",
    "None",
    "n/a",
    "nan",
    "null",
    "NAN",
    "-nan",
    "-NaN",
    "<NA>",
    "?",
)
MISSING = (*_PLAIN, "#DIV/0!", "#REF!", "#VALUE!", "#NAME?", "#NULL!", "#NUM!")
"""Texts that stand for nothing everywhere; the last ones are what spreadsheets write for errors."""


class Converted(NamedTuple):
    """Values that were read."""

    values: pa.Array
    """In the type of the reading; null where missing and where bad."""
    bad: NDArray[np.bool_]
    """Which texts do not fit."""


class Reading(ABC):
    """What is made of the texts of a column."""

    name: str
    """Of the kind of reading, for :meth:`declared`."""
    type: pa.DataType
    """Of the values."""
    stored: pa.DataType = WORD
    """What the values are in the input: words, or numbers that stand for something else."""
    kind: str
    """``"number"``, ``"truth"``, ``"word"``, ``"date"`` or ``"time"``."""
    said: str
    """How it is read, for people: ``"in $, thousands by commas"``.

    Empty where there is nothing to say.
    """
    expected: str
    """What a value should be, for messages: ``"a number such as $1,280.50"``."""

    @abstractmethod
    def convert(self, values: pa.Array) -> Converted:
        """Read texts (or values of :attr:`stored`); those that are missing fit everywhere."""

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """What the constructor has to be given to make the same reading.

        Strings, truths and numbers only.
        """

    def declared(self) -> dict[str, Any]:
        """Name and parameters, for JSON."""
        return {"name": self.name, **self.parameters()}


def texts(values: pa.Array) -> pa.Array:
    """Values of any flat type as texts without blanks around them.

    Null where they stand for nothing.
    """
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if (
        pa.types.is_floating(values.type)
        and pc.all(pc.equal(values, pc.floor(values)), min_count=0).as_py()
    ):
        values = values.cast(pa.int64(), safe=False)  # 2012.0 is 2012 to everybody
    if values.type != WORD:
        values = values.cast(WORD)
    return pc.utf8_trim_whitespace(values)


def known(values: pa.Array, missing: tuple[str, ...]) -> pa.Array:
    """The same texts with null for those that stand for nothing."""
    absent = pc.is_in(values, value_set=pa.array(missing, WORD))
    return pc.if_else(absent, None, values) if pc.any(absent, min_count=0).as_py() else values


def mask(truths: pa.Array, absent: bool = False) -> NDArray[np.bool_]:
    """Truths as an array; what is missing counts as ``absent``."""
    return np.asarray(pc.fill_null(truths, absent).to_numpy(zero_copy_only=False), dtype=bool)


def without(values: pa.Array, bad: NDArray[np.bool_]) -> pa.Array:
    """The same values with null where they are bad."""
    return pc.if_else(pa.array(bad), None, values) if bad.any() else values


def refused(count: int, attempt: Callable[[int, int], NDArray[np.bool_]]) -> NDArray[np.bool_]:
    """Which of ``count`` entries make ``attempt(start, stop)`` fail, found by halving.

    Others are what it returns.
    """
    bad = np.zeros(count, bool)

    def search(start: int, stop: int) -> None:
        try:
            bad[start:stop] = attempt(start, stop)
        except pa.ArrowInvalid:
            if stop - start == 1:
                bad[start] = True
                return
            middle = (start + stop) // 2
            search(start, middle)
            search(middle, stop)

    if count:
        search(0, count)
    return bad
