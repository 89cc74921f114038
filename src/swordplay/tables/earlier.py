"""What the columns of an earlier table were: another table with the same columns is read as that
one was.
"""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa

from swordplay.tables.joining import EMPTY
from swordplay.tables.layout import Layout
from swordplay.tables.readings import Amount, Iso, Reading, TimeOfDay, Truth, Word
from swordplay.tables.readings.reading import DATES, NUMBER, TIME, TRUTH, WORD

MEANINGS = {
    NUMBER: "numbers",
    TRUTH: "truths",
    WORD: "words",
    TIME: "times of the day",
} | dict.fromkeys(DATES, "dates")


class Earlier(NamedTuple):
    """What a column was."""

    type: pa.DataType | None
    """Of its values; None if it was left out."""
    reading: Reading | None = None
    """How texts of it are read,"""
    plain: str = ""
    """and the decimal sign, where they were written plainly."""

    @property
    def meaning(self) -> str:
        """What it held, for people."""
        how = (
            ""
            if self.plain or self.reading is None or not self.reading.said
            else f" {self.reading.said}"
        )
        return f"{MEANINGS[self.type]}{how}"


def columns_of(layout: str) -> dict[str, Earlier]:
    """The columns of a table by the layout in its position.

    Those that never had a value are not among them.
    """
    found, details = Layout.read(layout)
    decimal = details.get("decimal", ".")
    columns: dict[str, Earlier] = {}
    for name, kind in zip(found.names, found.types, strict=True):
        if name in found.readings:
            columns[name] = Earlier(kind, found.readings[name])
        elif kind != EMPTY:
            columns[name] = Earlier(kind, None if kind is None else plainly(kind, decimal), decimal)
    return columns


def plainly(kind: pa.DataType, decimal: str) -> Reading:
    """The reading of a type that is written plainly, but among marks such as ``-`` that stand
    for nothing.
    """
    if kind in DATES:
        return Iso(kind.unit, kind.tz is not None)
    return {NUMBER: Amount(decimal), TRUTH: Truth(), WORD: Word(), TIME: TimeOfDay()}[kind]
