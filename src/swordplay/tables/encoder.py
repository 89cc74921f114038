"""Rows of a table as rows of numbers.

Numbers stay as they are and truths become 0 and 1. A category gets a column of its own in the row
where it is first learned, so that nothing depends on how the rows were cut into batches. What is
missing is NaN, which the learner takes for usual.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, final

import numpy as np
import pyarrow as pa

from swordplay.core.arguments import LARGEST_INPUT, short_repr
from swordplay.core.state import ROW_COUNT_RANGE, check, damaged, fits_json
from swordplay.core.types import Matrix, State
from swordplay.tables import date_features
from swordplay.tables.categories import Categories, class_codes, codes_of
from swordplay.tables.column_plans import (
    EMPTY,
    MOST_CATEGORIES,
    WIDTHS,
    ColumnPlan,
    check_plans,
    how_read,
)

NOTHING = {
    "number": pa.float64(),
    "truth": pa.bool_(),
    "category": pa.string(),
    "date": pa.timestamp("us"),
    "date and time": pa.timestamp("us"),
    "time": pa.time64("us"),
}
"""Types of columns in which everything is missing, by what is made of them."""
LATE = {"double": "number", "bool": "truth", "string": "category"}
"""What a column becomes that joins late, by the type of its values; others are dates or times."""


class Encoded(NamedTuple):
    """Rows as numbers."""

    rows: Matrix
    """Shape ``(T, d)``, as wide as the last row needs it."""
    widths: dict[int, int]
    """Rows where something is learned for the first time, in their order, and how wide rows are
    from there on.
    """
    late: dict[str, int]
    """Columns that have joined, and the rows with which they did."""


@final
class Encoder:
    """Rows of a table as rows of numbers.

    Parameters
    ----------
    plans
        What to make of each column.
    lags
        How many of the last targets join the columns, in front.
    of_classes
        Whether the targets are codes of classes, so that lags are categories.
    target
        Its name: all other columns of a batch join when they have a value. Unless given, nothing
        joins.
    """

    def __init__(
        self, plans: Sequence[ColumnPlan], lags: int, of_classes: bool, target: str | None = None
    ) -> None:
        self.plans, self.lags, self.of_classes, self.target = tuple(plans), lags, of_classes, target
        self.missing = dict.fromkeys((plan.name for plan in plans), 0)
        self.categories = {plan.name: Categories() for plan in plans if plan.kind == "category"}
        self.lagged = [Categories() for _ in range(lags if of_classes else 0)]
        self.starts: dict[str, int] = {}
        """Where the columns of each number, truth and date begin."""
        width = 0 if of_classes else lags
        for one in plans:
            if one.kind in WIDTHS and not one.late:
                self.starts[one.name] = width
                width += WIDTHS[one.kind]
        self.fixed = self.width = width
        self.seen = 0
        """Rows that were encoded."""

    def encode(self, batch: Any, lagged: Matrix, learned: Any = True) -> Encoded:
        """Rows of numbers.

        Parameters
        ----------
        batch
            A pyarrow record batch.
        lagged
            The last targets before each row, shape ``(T, lags)``, NaN where there are none.
        learned
            Which rows will be learned, shape ``(T,)``, or True for all: a category joins with the
            first one of them.
        """
        late = self._late(batch, learned)
        coded = [
            (one, *codes_of(_column(batch, name, "category")))
            for name, one in self.categories.items()
        ]
        coded += [(one, *class_codes(lagged[:, k])) for k, one in enumerate(self.lagged)]
        widths = self._join(coded, learned, late)
        rows = np.empty((len(batch), self.width))
        if self.lags and not self.of_classes:
            rows[:, : self.lags] = lagged
        rows[:, self.fixed :] = 0.0
        for one in self.plans:
            if one.kind != "left out":
                self._fill(one, _column(batch, one.name, one.kind), rows)
        self.seen += len(batch)
        for one_of, codes, values in coded:
            places = np.array([*(one_of.place(value) for value in values), -1], dtype=np.intp)[
                codes
            ]
            placed = np.flatnonzero(places >= 0)
            rows[placed, places[placed]] = 1.0
            if (codes < 0).any():
                rows[np.ix_(codes < 0, one_of.all())] = np.nan
        return Encoded(rows, widths, late)

    def _late(self, batch: Any, learned: Any) -> dict[str, int]:
        """Columns that join with these rows, in their order: each with the first row in which a
        value of it is learned.
        """
        if self.target is None:
            return {}
        done = {one.name for one in self.plans if one.why != EMPTY}
        found: dict[str, int] = {}
        for name in batch.schema.names:
            if name not in done and name != self.target:
                known = np.flatnonzero(
                    batch.column(name).is_valid().to_numpy(zero_copy_only=False) & learned
                )
                if len(known):
                    found[name] = int(known[0])
        joining = []
        for name in sorted(found, key=lambda name: found[name]):
            values = batch.column(name)
            kind = LATE.get(str(values.type)) or (
                "time" if pa.types.is_time(values.type) else "date and time"
            )
            joining.append(ColumnPlan(name, kind, how=how_read(batch.schema, name), late=True))
            self.missing.pop(name, None)
            self.missing[name] = self.seen
            if kind == "category":
                self.categories[name] = Categories()
        if joining:
            self.plans = (*(one for one in self.plans if one.name not in found), *joining)
        return found

    def _fill(self, one: ColumnPlan, values: Any, rows: Matrix) -> None:
        self.missing[one.name] += values.null_count
        if one.kind == "category":
            return
        start = self.starts[one.name]
        if one.kind.startswith("date"):
            hours = one.kind == "date and time"
            rows[:, start : start + date_features.width(hours)] = date_features.circles(
                values, hours
            )
        elif one.kind == "time":
            rows[:, start : start + 2] = date_features.hours(values)
        else:
            # What lies beyond is clipped by the scaler long before; its square must not overflow on
            # the way there.
            np.clip(numbers_of(values), -LARGEST_INPUT, LARGEST_INPUT, out=rows[:, start])

    def _join(
        self,
        coded: Sequence[tuple[Categories, Any, Sequence[Any]]],
        learned: Any,
        late: Mapping[str, int],
    ) -> dict[int, int]:
        """Let new columns and categories join in the order of the rows that are learned.

        Within a row columns come first.
        """
        kinds = {one.name: one.kind for one in self.plans}
        news: list[tuple[int, int, Any]] = [
            (row, -1, name) for name, row in late.items() if kinds[name] != "category"
        ]
        for k, (one, codes, values) in enumerate(coded):
            if fresh := one.news(values):
                first = np.full(len(values), len(codes))
                backwards = np.flatnonzero((codes >= 0) & learned)[::-1]
                first[codes[backwards]] = backwards  # the last one to be written is the first row
                news += [(int(first[j]), k, values[j]) for j in fresh if first[j] < len(codes)]
        widths: dict[int, int] = {}
        for row, k, value in sorted(news, key=lambda new: new[:2]):
            if k < 0:
                self.starts[value] = self.width
            wider = (
                self.width + WIDTHS[kinds[value]] if k < 0 else coded[k][0].join(value, self.width)
            )
            if wider > self.width:
                self.width = widths[row] = wider
        return widths

    def names(self, target: str) -> tuple[str, ...]:
        """What each column of numbers is, by its place; sine and cosine of a date share a name."""
        found = [""] * self.width
        for k in range(0 if self.of_classes else self.lags):
            found[k] = f"{target} {k + 1} row{'s' * (k > 0)} before"
        for one in self.plans:
            if one.name in self.starts:
                parts = (
                    date_features.names(one.kind == "date and time")
                    if one.kind.startswith("date")
                    else ()
                )
                texts = [f"{part} ({one.name})" for part in parts] or [one.name]
                found[self.starts[one.name] : self.starts[one.name] + len(texts)] = texts
        lagged = [
            (f"{target} {k + 1} row{'s' * (k > 0)} before", one, True)
            for k, one in enumerate(self.lagged)
        ]
        for name, group, _ in [
            *((name, one, False) for name, one in self.categories.items()),
            *lagged,
        ]:
            for value, place in group.places.items():
                found[place] = f"{name} = {value}"
            if group.other is not None:
                found[group.other] = f"{name} = any other"
        return tuple(found)

    def columns(self, spreads: Any) -> tuple[tuple[str, str, str], ...]:
        """Name, kind and a note in words of each column.

        ``spreads`` are those that the learner has seen of its columns.
        """
        return tuple(
            (one.name, one.kind.removesuffix(" and time"), self._note(one, spreads))
            for one in self.plans
        )

    def _note(self, one: ColumnPlan, spreads: Any) -> str:
        if one.kind == "left out":
            return f"left out: {one.why}"
        if one.kind == "category":
            group = self.categories[one.name]
            count = len(group.places)
            note = f"{count} categor{'y' if count == 1 else 'ies'}, one column each"
            note += "" if group.other is None else "; later ones share one"
        elif one.kind.startswith("date"):
            note = (
                f"{'hour of the day, ' if 'time' in one.kind else ''}day of the week, day of "
                "the year"
            )
        elif one.kind == "time":
            note = "hour of the day"
        else:
            constant = not spreads[self.starts[one.name]] > 0.0
            note = (
                "always the same, which tells nothing"
                if constant
                else "as it is"
                if one.kind == "number"
                else "1 and 0"
            )
        note += f"; written {one.how}" if one.how else ""
        count = self.missing[one.name]
        return note + (f"; {count:,} missing, taken as usual" if count else "")

    def state(self) -> State:
        """All that the next row needs."""
        groups = [*self.categories.values(), *self.lagged]
        return {
            "plans": json.dumps([list(one) for one in self.plans]),
            "missing": json.dumps(self.missing),
            "categories": json.dumps([[list(one.places.items()), one.other] for one in groups]),
            "starts": json.dumps(self.starts),
            "width": self.width,
            "rows": self.seen,
        }

    @classmethod
    def resumed(
        cls, saved: Mapping[str, Any], lags: int, of_classes: bool, target: str | None = None
    ) -> Encoder:
        """Restore an encoder from its state.

        Raises
        ------
        ValueError
            If the parts of the state do not belong to one encoder.
        """
        encoder = cls(
            [ColumnPlan(*one) for one in json.loads(saved["plans"])], lags, of_classes, target
        )
        encoder.missing, encoder.starts = json.loads(saved["missing"]), json.loads(saved["starts"])
        encoder.width, encoder.seen = int(saved["width"]), int(saved["rows"])
        groups = [*encoder.categories.values(), *encoder.lagged]
        for one, (places, other) in zip(groups, json.loads(saved["categories"]), strict=True):
            one.places, one.other = dict(map(tuple, places)), other
        encoder.check()
        return encoder

    def check(self) -> None:
        """Check that each column of numbers belongs to one column of the table or one category.

        Raises
        ------
        ValueError
            Names what does not fit.
        """
        check_plans(self.plans)
        counts = list(self.missing.values()) if type(self.missing) is dict else []
        if list(self.missing) != [one.name for one in self.plans] or not fits_json(
            counts, [ROW_COUNT_RANGE]
        ):
            raise damaged(
                f"state['encoder.missing'] does not count missing values of the columns, "
                f"{short_repr(self.missing)}"
            )
        check("encoder.rows", self.seen, ROW_COUNT_RANGE)
        for groups, kind in ((self.categories.values(), str), (self.lagged, int)):
            for one in groups:
                values = list(one.places)
                if len(values) > MOST_CATEGORIES or not fits_json(values, [kind]):
                    raise damaged(f"the categories of a column are {short_repr(values)}")
        self._check_starts()
        self._check_places()

    def _check_starts(self) -> None:
        """Columns of the first rows begin where a fresh encoder has them."""
        numeric = {one.name for one in self.plans if one.kind in WIDTHS}
        first = Encoder(self.plans, self.lags, self.of_classes).starts
        if (
            not fits_json(self.starts, {str: int})
            or self.starts.keys() != numeric
            or any(self.starts[name] != start for name, start in first.items())
        ):
            raise damaged(f"the places where columns begin are {short_repr(self.starts)}")

    def _check_places(self) -> None:
        """Categories and columns that joined later fill the places after the first ones."""
        groups = [*self.categories.values(), *self.lagged]
        places = [place for one in groups for place in one.all()]
        for one in self.plans:
            if one.late and one.kind in WIDTHS:
                start = self.starts[one.name]
                places += range(start, start + WIDTHS[one.kind])
        if (
            len(places) != self.width - self.fixed
            or not fits_json(places, [int])
            or sorted(places) != list(range(self.fixed, self.width))
        ):
            raise damaged(
                f"the places of categories do not fill columns {self.fixed} to {self.width}"
            )


def _column(batch: Any, name: str, kind: str) -> Any:
    """A column of a batch; where it is not there yet, everything is missing."""
    # ``name in batch.schema.names`` would make a list of all names for every column.
    values = batch.column(name) if batch.schema.get_field_index(name) >= 0 else pa.nulls(len(batch))
    return values.cast(NOTHING[kind]) if pa.types.is_null(values.type) else values


def numbers_of(values: Any) -> Any:
    """A column of numbers or truths as doubles, NaN where missing."""
    if pa.types.is_boolean(values.type):
        values = values.cast(pa.int8()).cast(pa.float64())
    return values.to_numpy(zero_copy_only=False)
