"""Rows that come twice as a model that learns late takes them: values by name, and the ids by
which they are recognised.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import date, time
from typing import Any, final

from swordplay.estimators.mixed_rows import LONGEST_WORD
from swordplay.late.ticket import LONGEST_ID
from swordplay.tables.column_plans import EMPTY, Plan
from swordplay.tables.lean import values_of
from swordplay.tracking.settings import Settings

KINDS = {
    "number": "number",
    "truth": "number",
    "category": "word",
    "date": "date",
    "date and time": "date",
    "time": "time",
}
"""What columns hold for the model, by what is made of them in a table."""


@final
class Rows:
    """Which columns of a table are used, and their values row by row.

    Parameters
    ----------
    settings
        What was said about the table.
    plans
        What is made of each column by its first rows. One that was empty there, or not there, joins
        with its first value.
    """

    def __init__(self, settings: Settings, plans: Sequence[Plan]) -> None:
        self.kinds = {one.name: KINDS[one.kind] for one in plans if one.kind != "left out"}
        """Of the columns that are used from the beginning on."""
        self._unused = {one.name for one in plans if one.kind == "left out" and one.why != EMPTY}
        self._unused |= {settings.target, *settings.drop, *(settings.id or ())} - set(self.kinds)
        self._features = settings.features

    def of(self, batch: Any) -> list[dict[str, Any]]:
        """The rows of a pyarrow record batch."""
        names = [name for name in batch.schema.names if self._used(name)]
        words = [name for name in names if str(batch.schema.field(name).type) == "string"]
        rows: list[dict[str, Any]] = [{} for _ in range(len(batch))]
        for name in names:
            for row, value in zip(rows, values_of(batch.column(name)), strict=True):
                row[name] = value
        for name in words:
            for row in rows:
                if row[name] is not None and len(row[name]) > LONGEST_WORD:
                    row[name] = row[name][:LONGEST_WORD]
        return rows

    def _used(self, name: str) -> bool:
        return name not in self._unused and (self._features is None or name in self._features)


def ids_of(batch: Any, names: Sequence[str]) -> list[str | None]:
    """The id of every row of a pyarrow record batch; None where one of its columns is missing.

    >>> import pyarrow as pa
    >>> batch = pa.record_batch({"flight": ["LH 7", None], "leg": [1.0, 2.0]})
    >>> ids_of(batch, ["flight"]), ids_of(batch, ["flight", "leg"])
    (['LH 7', None], ['["LH 7", "1"]', None])
    """
    columns = [[_text(value) for value in values_of(batch.column(name))] for name in names]
    if len(columns) == 1:
        return [None if one is None else _short(one) for one in columns[0]]
    return [
        None if None in parts else _short(json.dumps(parts)) for parts in zip(*columns, strict=True)
    ]


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value or None
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    return value.isoformat() if isinstance(value, date | time) else str(value)


def _short(text: str) -> str:
    """A text that a ticket can have as its id."""
    if len(text) <= LONGEST_ID and text.isprintable():
        return text
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
