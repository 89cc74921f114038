"""Columns that have no value at the beginning of a table: each becomes what its first value is,
wherever batches end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pyarrow as pa

from swordplay.tables import columns
from swordplay.tables.readings.reading import DATES, NUMBER, TRUTH

EMPTY = pa.null()
"""The type of a column that has had no value so far."""


def joined(
    rows: Iterable[Mapping[str, Any]],
    kind_of: Callable[[Any], pa.DataType | None],
    fits: Callable[[Any, pa.DataType], bool],
) -> dict[str, pa.DataType | None]:
    """What columns become that have had no value so far.

    Parameters
    ----------
    rows
        Of each good row the values of these columns, where it has any.
    kind_of
        The type that a first value gives to its column; None if it cannot be used.
    fits
        Whether a later value is of the type. A row with one that is not is a bad row, and decides
        on nothing.
    """
    kinds: dict[str, pa.DataType | None] = {}
    for row in rows:
        decided = ((value, kinds.get(name)) for name, value in row.items())
        if all(kind is None or fits(value, kind) for value, kind in decided):
            for name, value in row.items():
                if name not in kinds:
                    kinds[name] = kind_of(value)
    return kinds


def kind_of_text(text: str, decimal: str) -> pa.DataType:
    """What a text in a CSV file is."""
    return columns.vote(pa.array([text]), [NUMBER, TRUTH, *DATES], decimal)


def text_fits(text: str, kind: pa.DataType, decimal: str = ".") -> bool:
    """Whether it is of a type."""
    return not columns.misfits(pa.array([text]), kind, decimal)[0]
