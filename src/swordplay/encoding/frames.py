"""Data frames as rows of numbers, frame after frame: what the estimators make of words, dates and missing values."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from typing import Any, Self, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from swordplay.arguments import shown
from swordplay.encoding import sanity
from swordplay.encoding.columns import NOTHING, Encoder, Plan, planned
from swordplay.tables.errors import TableError, nearest
from swordplay.tables.frames import frame
from swordplay.types import Matrix, State

HEAD_ROWS = 10_000
"""Rows of the first frame that say what is made of each column, as in ``swordplay track``."""
FEWEST_DATES = 20
"""So many dates, all without a time of the day, are days; fewer may be chance."""
NUMBER, TRUTH, WORD, DATE = pa.float64(), pa.bool_(), pa.string(), pa.timestamp("us")
KINDS = (
    (pa.types.is_integer, NUMBER),
    (pa.types.is_floating, NUMBER),
    (pa.types.is_decimal, NUMBER),
    (pa.types.is_null, NUMBER),
    (pa.types.is_boolean, TRUTH),
    (pa.types.is_string, WORD),
    (pa.types.is_large_string, WORD),
    (pa.types.is_string_view, WORD),
    (pa.types.is_date, DATE),
    (pa.types.is_timestamp, DATE),
)
"""What values of an Arrow type are taken for."""
MEANINGS = {NUMBER: "numbers", TRUTH: "truths", WORD: "words", DATE: "dates"}
PARTS = {"date and time": ("hour", "weekday", "yearday"), "date": ("weekday", "yearday")}
"""What the circles of a date tell (see ``dates``)."""


@final
class FrameEncoder:
    """An :class:`Encoder` for data frames that come one after the other, without lags.

    Parameters
    ----------
    encoder
        What is made of each column.
    types
        The type of each column, by its name.
    """

    def __init__(self, encoder: Encoder, types: Mapping[str, Any]) -> None:
        self.encoder, self.types = encoder, dict(types)

    @classmethod
    def begin(cls, table: Any) -> Self:
        """One for frames that look like this one; nothing is learned yet.

        Raises
        ------
        TableError
            If it is no table, has no rows, or holds what is neither number nor truth, word or date; says which column.
        """
        rows = frame(table, "X").rows
        _require_different(rows.column_names)
        if not rows.num_columns or not len(rows):
            raise TableError(f"X must have at least one row and one column, got shape {(len(rows), rows.num_columns)}.")
        types = {field.name: _kind(field) for field in rows.schema}
        head = _batch(rows.slice(0, HEAD_ROWS), types)
        plans = [_planned(name, head.column(name)) for name in types]
        return cls(Encoder(plans, lags=0, labels=False), types)

    @property
    def start(self) -> int:
        """Columns of numbers before any category was learned."""
        return self.encoder.fixed

    @property
    def width(self) -> int:
        """Columns of numbers there are now."""
        return self.encoder.width

    def rows(self, table: Any) -> Matrix:
        """Rows of numbers, shape ``(T, width)``, by the categories that are known; NaN where something is missing."""
        return copy.deepcopy(self).learn(table, learned=False)

    def learn(self, table: Any, *, learned: bool = True) -> Matrix:
        """The same; categories that are new get a column behind the others, in the order in which they appear.

        Raises
        ------
        TableError
            If its columns are not those of the first frame; nothing is learned then.
        """
        batch = self._like_the_first(frame(table, "X").rows)
        return self.encoder.encode(batch, np.empty((len(batch), 0)), np.full(len(batch), learned)).rows

    def names(self) -> list[str]:
        """What each column of numbers tells, such as ``town_Bern`` or ``day_hour_sin``."""
        found = [""] * self.width
        for one in self.encoder.plans:
            if one.name in self.encoder.starts:
                waves = [f"{one.name}_{part}_{wave}" for part in PARTS.get(one.kind, ()) for wave in ("sin", "cos")] or [
                    one.name
                ]
                start = self.encoder.starts[one.name]
                found[start : start + len(waves)] = waves
        for name, group in self.encoder.categories.items():
            for value, place in group.places.items():
                found[place] = f"{name}_{value}"
            if group.other is not None:
                found[group.other] = f"{name}_other"
        return found

    def siblings(self, width: int) -> Iterator[tuple[int, int]]:
        """Columns of categories from ``width`` on, each with an earlier column of the same words, where there is one."""
        for group in self.encoder.categories.values():
            places = group.all()
            if places and places[0] < width:
                yield from ((place, places[0]) for place in places if place >= width)

    def _like_the_first(self, rows: Any) -> Any:
        """A frame as a record batch in the types of the first one; its columns may come in any order."""
        names = rows.column_names
        _require_different(names)
        for name in self.types:
            if name not in names:
                raise TableError(f"X has no column {name!r}, which it had at first.{nearest(name, names)} Give it again.")
        for name in names:
            if name not in self.types:
                raise TableError(f"X has a column {name!r} that it did not have at first. Leave it out, or fit anew.")
        return _batch(rows, self.types)

    def state(self) -> State:
        """All that the next frame needs."""
        types = [[name, str(kind)] for name, kind in self.types.items()]
        return {"types": json.dumps(types), **self.encoder.state()}

    @classmethod
    def resumed(cls, saved: Mapping[str, Any]) -> Self:
        """The one that was saved."""
        known = {str(kind): kind for kind in MEANINGS}
        types = {name: known[kind] for name, kind in json.loads(saved["types"])}
        encoder = Encoder.resumed(saved, 0, labels=False)
        sanity.require_encoder(encoder)
        kinds = [(one.name, NOTHING.get(one.kind)) for one in encoder.plans]
        if [name for name, _ in kinds] != list(types) or any(kind not in (None, types[name]) for name, kind in kinds):
            raise sanity.refuse(f"the types of the columns are {shown(saved['types'])}")
        return cls(encoder, types)


def _planned(name: str, values: Any) -> Plan:
    """As in ``swordplay track``; but a few dates that are all midnights say nothing about hours to come."""
    made = planned(name, values, insisted=False)
    few = len(values) - values.null_count < FEWEST_DATES
    return made._replace(kind="date and time") if made.kind == "date" and few else made


def _require_different(names: list[str]) -> None:
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise TableError(f"X has two columns called {twice!r}. Rename one.")


def _kind(field: Any) -> Any:
    stored = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    kind = next((kind for test, kind in KINDS if test(stored)), None)
    if kind is None:
        raise TableError(
            f"X: column {field.name!r} holds values of type {stored}, and not numbers, truths, words or dates. "
            "Convert it or drop it."
        )
    return kind


def _batch(rows: Any, types: Mapping[str, Any]) -> Any:
    """Rows as one record batch of the given types, null where something is missing."""
    return pa.RecordBatch.from_arrays([_typed(name, rows.column(name), kind) for name, kind in types.items()], list(types))


def _typed(name: str, column: Any, kind: Any) -> Any:
    values = pa.concat_arrays(column.unify_dictionaries().chunks) if column.num_chunks else pa.array([], column.type)
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_timestamp(values.type) and values.type.tz is not None and kind == DATE:
        values = pc.cast(values, pa.timestamp("us", "UTC"), safe=False)
    try:
        values = pc.cast(values, kind, safe=kind == TRUTH)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        example = values.drop_null()[0].as_py()
        raise TableError(
            f"X: column {name!r} held {MEANINGS[kind]} at first, and now holds {shown(example, 40)}. Convert it, or fit anew."
        ) from error
    if kind == NUMBER and not pc.all(pc.is_finite(values), min_count=0).as_py():
        if pc.any(pc.is_inf(values)).as_py():
            row = pc.index(pc.is_inf(values), True).as_py()
            raise TableError(
                f"X must not contain infinity: column {name!r} holds {values[row].as_py()} in row {row}. Repair it."
            )
        values = pc.if_else(pc.is_nan(values), None, values)
    return values
