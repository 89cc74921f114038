"""What the file of a run may hold besides its tracker: where it is in its input and its outputs,
and what it has said.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar, get_type_hints

from swordplay.core.arguments import short_repr
from swordplay.core.state import COUNT, check
from swordplay.tables import OutputPosition, Position, Refusal
from swordplay.tables.encoder_sanity import refuse
from swordplay.tables.layout import Layout
from swordplay.tracking.bulk import BulkTracker
from swordplay.tracking.keyed import KeyedTracker
from swordplay.tracking.sanity import READ_AS, SUM, all_of, type_of
from swordplay.tracking.trackers import AnyTracker

FORMATS = ("csv", "ndjson", "parquet", "memory")
WRITTEN = ("string", "double", "bool", "timestamp", "time64")
"""What can be written as a word."""
REFUSAL = {
    "row": (int,),
    "line": (int, type(None)),
    "column": (str, type(None)),
    "value": (str,),
    "reason": (str,),
}
"""Types of what is told of a refused row."""

P = TypeVar("P", Position, OutputPosition)


def require_position(position: P) -> P:
    """Where a run is in its input or its output: strings, and numbers that count something."""
    for name, kind in get_type_hints(type(position)).items():
        value = getattr(position, name)
        if type(value) is not kind or (kind is int and not 0 <= value <= COUNT.high):
            raise refuse(f"{name} of a position is {short_repr(value)}")
    if position.format not in FORMATS:
        raise refuse(f"the format of a position is {short_repr(position.format)}")
    return position


def require_layout(position: Position, tracker: AnyTracker) -> None:
    """The columns that the run reads are those that it uses, and of their types."""
    layout, details = Layout.read(position.layout)
    if (
        not all_of(layout.names, (str,))
        or len(set(layout.names)) < len(layout.names)
        or not all_of(details.values(), (str,))
    ):
        raise refuse(f"the layout of the input is {short_repr(position.layout)}")
    if not re.fullmatch(r"[\t -~]", details.get("delimiter", ";")) or not re.fullmatch(
        "[.,]", details.get("decimal", ".")
    ):
        raise refuse(f"the layout of the input is {short_repr(position.layout)}")
    kinds = {field.name: type_of(field) for field in layout.schema}
    # A column may join between this position and the row that was tracked last.
    nothing = "null" if "grows" in details else None
    used = {one.name: READ_AS[one.kind] for one in tracker.encoder.plans if one.kind != "left out"}
    for name, kind in (used | {tracker.settings.target: tracker.kind.partition("[")[0]}).items():
        if kinds.get(name, nothing) not in (kind, "null"):
            raise refuse(
                f"the column {short_repr(name)} is read as {kinds.get(name)}, and used as {kind}"
            )
    for name, right in watched(tracker).items():
        if kinds.get(name, nothing) not in (*right, "null"):
            raise refuse(
                f"the column {short_repr(name)} is read as {kinds.get(name)}, and watched or kept "
                "as "
                f"{' or '.join(right)}"
            )


def watched(tracker: AnyTracker) -> dict[str, tuple[str, ...]]:
    """Columns that are looked at whether they are used or not, and what they may be."""
    if isinstance(tracker, KeyedTracker | BulkTracker):
        clocks, fields, series = dict.fromkeys(tracker.clocks), tracker.fields, None
    else:
        clocks, fields, series = (
            dict.fromkeys(tracker.order.clocks),
            tracker.predictions.carried,
            tracker.order.series,
        )
    found: dict[str, tuple[str, ...]] = dict.fromkeys(
        series.names if series else (), ("string", "bool", "double")
    )
    found |= dict.fromkeys(clocks, ("timestamp", "double"))
    found |= {
        field.name: (type_of(field),) if type_of(field) != "string" else WRITTEN for field in fields
    }
    return found


def require_refusals(saved: Any) -> tuple[Refusal, ...]:
    """The first few rows that were refused."""
    if type(saved) is not list or not all(
        type(one) is list and len(one) == len(REFUSAL) for one in saved
    ):
        raise refuse(f"the refused rows are {short_repr(saved)}")
    for one in saved:
        if any(
            type(value) not in kinds for value, kinds in zip(one, REFUSAL.values(), strict=True)
        ):
            raise refuse(f"a refused row is {short_repr(one)}")
    return tuple(Refusal(*one) for one in saved)


def require_remarks(remarks: Any) -> tuple[str, ...]:
    """Sentences."""
    if type(remarks) is not list or not all_of(remarks, (str,)):
        raise refuse(f"the remarks are {short_repr(remarks)}")
    return tuple(remarks)


def require_seconds(seconds: Any) -> float:
    """How long it took."""
    check("seconds", seconds, SUM)
    return float(seconds)
