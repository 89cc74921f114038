"""Data frames as rows of numbers, frame after frame: what the estimators make of words, dates
and missing values.
"""

from __future__ import annotations

import copy
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from swordplay.core.arguments import short_repr
from swordplay.core.state import damaged
from swordplay.core.types import Matrix, State
from swordplay.tables import typed
from swordplay.tables.column_plans import ColumnPlan, planned
from swordplay.tables.date_parser import TimeParser
from swordplay.tables.digests import piece
from swordplay.tables.encoder import NOTHING, Encoder
from swordplay.tables.errors import TableError, nearest
from swordplay.tables.frames import frame
from swordplay.tables.parsers import (
    BOOL,
    DATES,
    DOUBLE,
    STRING,
    TIME,
    Parser,
    infinite_mask,
    without_nan,
)
from swordplay.tables.schema import ColumnRequest, TableSchema, plain_parser
from swordplay.tables.table import HEAD_ROWS

FEWEST_DATES = 20
"""So many dates, all without a time of the day, are days; fewer may be chance."""
MEANINGS = {
    DOUBLE: "numbers",
    BOOL: "truths",
    STRING: "words",
    TIME: "times of the day",
} | dict.fromkeys(DATES, "dates")
PARTS = {
    "date and time": ("hour", "weekday", "yearday"),
    "date": ("weekday", "yearday"),
    "time": ("hour",),
}
"""What the circles of a date tell (see ``dates``)."""
OPTION = re.compile(r"(?:Say |If the \w+ is a decimal one, say )?--types .*$")
"""The end of a remark that says how the command is told otherwise."""

AS_WORDS = (
    "Repair it; or, to have words, fit anew with the column as a category (such as by "
    "astype('category'))."
)
"""What to do about texts that are no numbers, dates or times where most of their column are."""


@final
class FrameEncoder:
    """An :class:`Encoder` for data frames that come one after the other, without lags.

    Parameters
    ----------
    encoder
        What is made of each column.
    layout
        Names of the columns, and how each of them is read.
    """

    def __init__(self, encoder: Encoder, layout: TableSchema) -> None:
        self.encoder, self.layout = encoder, layout

    @classmethod
    def begin(cls, table: Any) -> Self:
        """One for frames that look like this one; nothing is learned yet.

        Columns are read as ``swordplay track`` reads them, by the first 10,000 rows; but strings
        that are categories (of pandas, polars or Arrow) stay words. What was left out or is in
        doubt is told in one warning.

        Raises
        ------
        TableError
            If it is no table, has no rows, or holds what is neither number nor truth, word or date;
            says which column.
        """
        rows = frame(table, "X").rows
        _require_different(rows.column_names)
        if not rows.num_columns or not len(rows):
            raise TableError(
                "X must have at least one row and one column, got shape "
                f"{(len(rows), rows.num_columns)}."
            )
        for field in rows.schema:
            if typed.kind_of(field.type) is None:
                raise TableError(
                    f"X: column {field.name!r} holds values of type "
                    f"{short_repr(str(field.type), 40)[1:-1]}, and not numbers, "
                    "truths, words or dates. Convert it or drop it."
                )
        remarks: list[str] = []
        words = {field.name: "word" for field in rows.schema if _is_category(field.type)}

        def head(names: Sequence[str]) -> pa.RecordBatch:
            return piece(rows.select(list(names)).slice(0, HEAD_ROWS))

        layout = typed.decided(
            "X", rows.schema, len(rows), head, ColumnRequest(None, types=words), remarks
        )
        first = _read(rows.slice(0, HEAD_ROWS), layout)
        plans = [_planned(name, first.column(name)) for name in layout.names]
        _tell(plans, remarks)
        return cls(Encoder(plans, lags=0, of_classes=False), layout)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of a frame."""
        return self.layout.names

    @property
    def start(self) -> int:
        """Columns of numbers before any category was learned."""
        return self.encoder.fixed

    @property
    def width(self) -> int:
        """Columns of numbers there are now."""
        return self.encoder.width

    def rows(self, table: Any) -> Matrix:
        """Rows of numbers, shape ``(T, width)``, by the categories that are known.

        NaN where something is missing.
        """
        return copy.deepcopy(self).learn(table, learned=False)

    def learn(self, table: Any, *, learned: bool = True) -> Matrix:
        """The same.

        Categories that are new get a column behind the others, in the order in which they appear.

        Raises
        ------
        TableError
            If its columns are not those of the first frame; nothing is learned then.
        """
        batch = self._like_the_first(frame(table, "X").rows)
        return self.encoder.encode(
            batch, np.empty((len(batch), 0)), np.full(len(batch), learned)
        ).rows

    def names(self) -> list[str]:
        """What each column of numbers tells, such as ``town_Bern`` or ``day_hour_sin``."""
        found = [""] * self.width
        for one in self.encoder.plans:
            if one.name in self.encoder.starts:
                waves = [
                    f"{one.name}_{part}_{wave}"
                    for part in PARTS.get(one.kind, ())
                    for wave in ("sin", "cos")
                ] or [one.name]
                start = self.encoder.starts[one.name]
                found[start : start + len(waves)] = waves
        for name, group in self.encoder.categories.items():
            for value, place in group.places.items():
                found[place] = f"{name}_{value}"
            if group.other is not None:
                found[group.other] = f"{name}_other"
        return found

    def siblings(self, width: int) -> Iterator[tuple[int, int]]:
        """Columns of categories from ``width`` on, each with an earlier column of the same
        words, where there is one.
        """
        for group in self.encoder.categories.values():
            places = group.all()
            if places and places[0] < width:
                yield from ((place, places[0]) for place in places if place >= width)

    def _like_the_first(self, rows: Any) -> Any:
        """A frame as a record batch in the types of the first one.

        Its columns may come in any order.
        """
        names = rows.column_names
        _require_different(names)
        here, at_first = set(names), set(self.columns)
        for name in self.columns:
            if name not in here:
                raise TableError(
                    f"X has no column {name!r}, which it had at first.{nearest(name, names)} Give "
                    "it again."
                )
        for name in names:
            if name not in at_first:
                raise TableError(
                    f"X has a column {name!r} that it did not have at first. Leave it out, or fit "
                    "anew."
                )
        return _read(rows, self.layout)

    def state(self) -> State:
        """All that the next frame needs."""
        return {"layout": self.layout.to_json(), **self.encoder.state()}

    @classmethod
    def resumed(cls, saved: Mapping[str, Any]) -> Self:
        """The one that was saved."""
        layout = TableSchema.from_json(saved["layout"])[0]
        encoder = Encoder.resumed(saved, 0, of_classes=False)
        types = {field.name: _family(field.type) for field in layout.arrow}
        kinds = {one.name: NOTHING.get(one.kind) for one in encoder.plans}
        used = {name: _family(kind) for name, kind in kinds.items() if kind is not None}
        if not set(kinds) <= set(layout.names) or any(
            types.get(name) != family for name, family in used.items()
        ):
            raise damaged(f"the layout of the columns is {short_repr(saved['layout'])}")
        return cls(encoder, layout)


def _family(kind: Any) -> str:
    """The name of a type without its unit and zone."""
    return str(kind).partition("[")[0]


def _is_category(stored: Any) -> bool:
    """Whether values are categories that are words, as somebody has said."""
    return bool(pa.types.is_dictionary(stored)) and typed.kind_of(stored) == STRING


def _planned(name: str, values: Any) -> ColumnPlan:
    """As in ``swordplay track``.

    But a few dates that are all midnights say nothing about hours to come.
    """
    made = planned(name, values, insisted=False)
    few = len(values) - values.null_count < FEWEST_DATES
    return made._replace(kind="date and time") if made.kind == "date" and few else made


def _require_different(names: list[str]) -> None:
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise TableError(f"X has two columns called {twice!r}. Rename one.")


def _tell(plans: Sequence[ColumnPlan], remarks: Sequence[str]) -> None:
    """Warn of columns that are left out and of readings that are in doubt, all at once."""
    left = [
        f"column {one.name!r} is left out: {one.why}." for one in plans if one.kind == "left out"
    ]
    doubts = [OPTION.sub("Convert it first if that is wrong.", remark) for remark in remarks]
    if left or doubts:
        warnings.warn(" ".join(["X:", *left, *doubts]), UserWarning, stacklevel=2)


def _read(rows: Any, layout: TableSchema) -> pa.RecordBatch:
    """Rows as one record batch of the layout's types, null where something is missing.

    Columns may come in any order.

    Raises
    ------
    TableError
        If a value does not fit: says which column, which value and what to do.
    """
    kinds = zip(layout.stored_arrow, layout.arrow, strict=True)
    arrays = [
        _values(into.name, rows.column(into.name), at_first.type, into.type, layout)
        for at_first, into in kinds
    ]
    return without_nan(pa.RecordBatch.from_arrays(arrays, list(layout.names)))


def _values(name: str, column: Any, stored: Any, kind: Any, layout: TableSchema) -> pa.Array:
    """The values of a column.

    Parameters
    ----------
    name, column
        Its name, and what is there now.
    stored, kind
        The type of the values in the first frame, and of what is made of them.
    layout
        How they are read.
    """
    values = typed.plain(piece(pa.table({name: column})).column(0))
    found, parser = typed.kind_of(values.type), layout.parsers.get(name)
    if found is None:
        raise _differs(name, MEANINGS[stored], values)
    if pa.types.is_null(values.type):
        return pa.nulls(len(values), kind)
    if (
        parser is not None and stored == STRING != found
    ):  # what was written at first comes as a value now
        if not _taken_for(found, kind) or (
            kind == DOUBLE and parser.description
        ):  # such as 3.5 where 50% was: 3.5% or 350%?
            raise _differs(name, f"texts, each {parser.expected},", values)
        stored, parser = kind, None
    if found == STRING != stored:
        values = _fitting(
            name,
            values,
            TimeParser() if stored == TIME else plain_parser(stored, "."),
            "Repair it, or fit anew.",
        )
    elif not _taken_for(found, stored):
        raise _differs(name, MEANINGS[stored], values)
    try:
        # Nanoseconds do not reach all years; whatever else is lost by casting is digits that nobody
        # needs.
        values = (
            pc.cast(values, stored)
            if stored in DATES and stored.unit == "ns"
            else typed.cast(values, stored)
        )
    except pa.ArrowInvalid as error:
        raise _differs(name, MEANINGS[stored], values) from error
    if parser is not None:
        values = _fitting(name, values, parser, AS_WORDS)
    beyond = infinite_mask(values)
    if beyond.any():
        row = int(beyond.argmax())
        raise TableError(
            f"X must not contain infinity: column {name!r} holds {values[row].as_py()} in row "
            f"{row}. Repair it."
        )
    return values


def _taken_for(found: Any, wanted: Any) -> bool:
    """Whether values of one type can stand for those of another: dates of any unit, truths as 1
    and 0, anything as words.
    """
    return (
        found == wanted
        or wanted == STRING
        or (found, wanted) == (BOOL, DOUBLE)
        or (found in DATES and wanted in DATES)
    )


def _fitting(name: str, values: pa.Array, parser: Parser, remedy: str) -> pa.Array:
    """Values that are read, each of which has to fit."""
    read, bad = parser.parse(values)
    if bad.any():
        row = int(bad.argmax())
        raise TableError(
            f"X: column {name!r} holds {short_repr(values[row].as_py(), 40)} in row {row}, which "
            f"is not {parser.expected}, as most of the first values were. {remedy}"
        )
    return read


def _differs(name: str, before: str, values: pa.Array) -> TableError:
    known = values.drop_null()
    value = known[0].as_py() if len(known) else None
    example = (
        short_repr(value, 40)
        if isinstance(value, list | dict)
        else short_repr(str(value), 40)[1:-1]
    )
    example = example if len(known) else f"values of type {values.type}"
    return TableError(
        f"X: column {name!r} held {before} at first, and now holds {example}. Convert it, or fit "
        "anew."
    )
