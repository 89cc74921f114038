"""What the saved state of an encoder may hold: looked at after it was put together, before a row
is encoded with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from swordplay.core.arguments import short_repr
from swordplay.core.state import DAMAGED, ROWS, check
from swordplay.tables.categories import Categories
from swordplay.tables.column_plans import MOST_CATEGORIES, WIDTHS, Plan
from swordplay.tables.encoder import Encoder

KINDS = (*WIDTHS, "category", "left out")
"""Of columns."""


def refuse(what: str) -> ValueError:
    """A state that no table leads to."""
    return ValueError(f"{what}. {DAMAGED}")


def require_encoder(encoder: Encoder) -> None:
    """Every column of numbers belongs to one column of the table, and to one of its categories.

    Raises
    ------
    ValueError
        Says what does not fit.
    """
    require_plans(encoder.plans)
    names = [one.name for one in encoder.plans]
    if type(encoder.missing) is not dict or list(encoder.missing) != names:
        raise refuse("the counts of missing values are not those of the columns")
    if any(type(count) is not int for count in encoder.missing.values()):
        raise refuse(f"the counts of missing values are {short_repr(encoder.missing)}")
    check("encoder.missing", list(encoder.missing.values()), ROWS)
    check("encoder.rows", encoder.seen, ROWS)
    for groups, kind in ((list(encoder.categories.values()), str), (encoder.lagged, int)):
        _require_categories(groups, kind)
    _require_places(encoder)


def require_plans(plans: Sequence[Plan]) -> None:
    """Each column has a name of its own and is of a kind that there is."""
    for one in plans:
        if (
            any(type(text) is not str for text in one[:4])
            or one.kind not in KINDS
            or type(one.late) is not bool
        ):
            raise refuse(f"the plan of a column is {short_repr(tuple(one))}")
    if len({one.name for one in plans}) < len(plans):
        raise refuse("two columns have the same name")


def _require_categories(groups: Sequence[Categories], kind: type) -> None:
    for one in groups:
        if len(one.places) > MOST_CATEGORIES or any(
            type(value) is not kind for value in one.places
        ):
            raise refuse(f"the categories of a column are {short_repr(list(one.places))}")


def _require_places(encoder: Encoder) -> None:
    """Those that were there at first begin where a fresh encoder has them.

    The others fill the columns behind.
    """
    starts: Any = encoder.starts
    wanted = [one.name for one in encoder.plans if one.kind in WIDTHS]
    if (
        type(starts) is not dict
        or set(starts) != set(wanted)
        or any(type(start) is not int for start in starts.values())
    ):
        raise refuse(f"the places where columns begin are {short_repr(starts)}")
    first = Encoder(encoder.plans, encoder.lags, encoder.of_classes).starts
    if any(starts[name] != start for name, start in first.items()):
        raise refuse(f"the places where columns begin are {short_repr(starts)}")
    groups = [*encoder.categories.values(), *encoder.lagged]
    places = [place for one in groups for place in one.all()]
    late = [
        (starts[one.name], WIDTHS[one.kind])
        for one in encoder.plans
        if one.late and one.kind in WIDTHS
    ]
    places += [start + k for start, wide in late for k in range(wide)]
    whole = len(places) == encoder.width - encoder.fixed and all(
        type(place) is int for place in places
    )
    if not whole or sorted(places) != list(range(encoder.fixed, encoder.width)):
        raise refuse(
            f"the places of categories do not fill columns {encoder.fixed} to {encoder.width}"
        )
