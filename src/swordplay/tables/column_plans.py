"""What is to be made of each column of a table: decided once, by the first rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from swordplay.core.arguments import short_repr
from swordplay.core.state import OneOf, damaged, fits_json
from swordplay.tables import date_features
from swordplay.tables.errors import TableError, nearest
from swordplay.tables.schema import LEFT_OUT, PARSED_AS

MOST_CATEGORIES = 50
"""Of one column that get columns of their own; later ones share one."""
FEWEST_NAMES = 20
"""So many words, all different, are names of rows; among fewer that may be chance."""
FEWEST_COUNTS = 2000
"""So many numbers, each one more than the last, count the rows.

Fewer may be the days of a year or the minutes of a day.
"""
WIDTHS = {
    "number": 1,
    "truth": 1,
    "date": date_features.width(False),
    "date and time": date_features.width(True),
    "time": 2,
}
"""Columns that a column of each kind becomes; a category becomes as many as it has values."""
EMPTY = "empty so far"
"""Why a column is left out that joins as soon as a value of it is learned."""
ALL_DIFFERENT = "every value is different"
"""Why a column of words is left out."""


class ColumnPlan(NamedTuple):
    """What is to be made of a column."""

    name: str
    kind: str
    """``"number"``, ``"truth"``, ``"category"``, ``"date"``, ``"date and time"``, ``"time"`` or
    ``"left out"``.
    """
    why: str = ""
    """Why it is left out."""
    how: str = ""
    """How its values are written, where that is worth a word: ``"in $, thousands by commas"``."""
    late: bool = False
    """Whether it joined later than the others, with its first value that was learned."""
    many: bool = False
    """Whether the first rows hold more different words than have a column of their own."""


KINDS = (*WIDTHS, "category", "left out")
"""Kinds of columns."""


def check_plans(plans: Sequence[ColumnPlan]) -> None:
    """Check saved plans: each column has a name of its own and a kind that exists.

    Raises
    ------
    ValueError
        Names the plan that is wrong.
    """
    for one in plans:
        if not fits_json(list(one), (str, OneOf(KINDS), str, str, bool, bool)):
            raise damaged(f"the plan of a column is {short_repr(tuple(one))}")
    if len({one.name for one in plans}) < len(plans):
        raise damaged("two columns have the same name")


def plan(
    head: Any,
    target: str,
    features: Sequence[str] | None,
    drop: Sequence[str],
    ids: Sequence[str] = (),
) -> tuple[ColumnPlan, ...]:
    """Decide what to make of every column but the target.

    Parameters
    ----------
    head
        A pyarrow record batch of the first rows.
    target
        Its name.
    features
        Columns to use; all that are of use unless given.
    drop
        Columns not to use.
    ids
        Columns that name the rows: not used, unless they hold dates or ``features`` names them.
    """
    names = [name for name in head.schema.names if name != target]
    known, dropped, wanted = set(names), set(drop), None if features is None else set(features)
    for option, asked in (("--features", features or ()), ("--drop", drop)):
        if target in asked:
            raise TableError(
                f"{option} names the target {target!r}. Name other columns; its last values join "
                "by --lags."
            )
    for name in features or ():
        if name not in known and name not in dropped:
            raise TableError(
                f"--features names the column {name!r}, which is not there.{nearest(name, names)}"
            )
    plans = []
    for name in [
        *names,
        *(name for name in drop if name not in known),
    ]:  # those to be dropped may not have been read at all
        if name in dropped or (wanted is not None and name not in wanted):
            plans.append(ColumnPlan(name, "left out", "as asked"))
        elif name in ids and features is None and not pa.types.is_timestamp(head.column(name).type):
            plans.append(ColumnPlan(name, "left out", "it names the rows (--id)"))
        else:
            made = planned(name, head.column(name), insisted=features is not None)
            plans.append(made._replace(how=how_read(head.schema, name)))
    useless = {name: why for name, why in left_out(head.schema).items() if name not in dropped}
    return (*plans, *(ColumnPlan(name, "left out", why) for name, why in useless.items()))


def how_read(schema: Any, name: str) -> str:
    """How the values of a column are written, if its table says so."""
    return ((schema.field(name).metadata or {}).get(PARSED_AS) or b"").decode()


def left_out(schema: Any) -> dict[str, str]:
    """Columns that the table left out as they cannot be used, and why."""
    return dict(json.loads((schema.metadata or {}).get(LEFT_OUT) or "{}"))


def planned(name: str, values: Any, *, insisted: bool) -> ColumnPlan:
    """What is made of one column; ``insisted`` if it is to be used whatever it holds."""
    kind, known = str(values.type), values.drop_null()
    if not len(known):
        return ColumnPlan(name, "left out", EMPTY)
    if kind == "double":
        if (
            not insisted
            and len(known) >= FEWEST_COUNTS
            and (np.diff(known.to_numpy()) == 1.0).all()
        ):
            return ColumnPlan(name, "left out", "it only counts the rows")
        return ColumnPlan(name, "number")
    if kind == "bool":
        return ColumnPlan(name, "truth")
    if kind == "string":
        if not insisted and len(known) >= FEWEST_NAMES and len(known.unique()) == len(known):
            return ColumnPlan(name, "left out", ALL_DIFFERENT)
        return ColumnPlan(name, "category", many=len(known.unique()) > MOST_CATEGORIES)
    if pa.types.is_time(values.type):
        return ColumnPlan(name, "time")
    return ColumnPlan(name, "date and time" if date_features.has_hours(values) else "date")
