"""Make or resume the tracker of a table: of one series, or of one series for each key."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from typing import Any

from swordplay.core.arguments import short_repr
from swordplay.core.state import damaged, fits_json
from swordplay.tables.schema import TableSchema
from swordplay.tracking.bulk import BulkTracker, fits
from swordplay.tracking.carried import ARROW_TYPES, arrow_type
from swordplay.tracking.keyed import KeyedTracker
from swordplay.tracking.settings import Settings
from swordplay.tracking.tracker import Tracker

TEXT_TYPES = ("string", "double", "bool", "timestamp", "time64")
"""Arrow types that can be written as text."""

AnyTracker = Tracker | KeyedTracker | BulkTracker


def begin(settings: Settings, head: Any) -> AnyTracker:
    """Make the tracker of a table from its first rows, a pyarrow record batch."""
    if not settings.key:
        return Tracker.begin(settings, head)
    keyed = KeyedTracker.begin(settings, head)
    return BulkTracker(keyed) if fits(keyed) else keyed


def resumed(saved: Mapping[str, Any]) -> AnyTracker:
    """Restore a tracker from its state; it goes on bit for bit as the saved one would have."""
    if "bulk.keys" in saved:
        return BulkTracker.resumed(saved)
    return KeyedTracker.resumed(saved) if "keys" in saved else Tracker.resumed(saved)


def prepare(settings: Settings) -> None:
    """Import the kernels that the first rows need, while these rows are still being read."""
    for name in (
        ()
        if settings.key
        else ("step_size_grid", *(("second_order.layer",) if settings.curves else ()))
    ):
        importlib.import_module(f"swordplay.engine.{name}")


def check_layout(text: str, tracker: AnyTracker) -> None:
    """Check that the saved columns of a table are those that a tracker uses, and of their types.

    Raises
    ------
    ValueError
        Names the column that does not fit.
    """
    layout, details = TableSchema.from_json(text)
    names = list(layout.names)
    if (
        not fits_json(names, [str])
        or len(set(names)) < len(names)
        or not fits_json(details, {str: str})
        or not re.fullmatch(r"[\t -~]", details.get("delimiter", ";"))
        or not re.fullmatch("[.,]", details.get("decimal", "."))
    ):
        raise damaged(f"the layout of the input is {short_repr(text)}")
    kinds = {field.name: arrow_type(field) for field in layout.arrow}
    # A column may join between this position and the row that was tracked last.
    absent = "null" if "grows" in details else None
    used = {
        one.name: ARROW_TYPES[one.kind] for one in tracker.encoder.plans if one.kind != "left out"
    }
    used[tracker.settings.target] = tracker.kind.partition("[")[0]
    for name, kind in used.items():
        if kinds.get(name, absent) not in (kind, "null"):
            raise damaged(
                f"the column {short_repr(name)} is read as {kinds.get(name)}, and used as {kind}"
            )
    for name, allowed in watched_types(tracker).items():
        if kinds.get(name, absent) not in (*allowed, "null"):
            raise damaged(
                f"the column {short_repr(name)} is read as {kinds.get(name)}, and watched or kept "
                f"as {' or '.join(allowed)}"
            )


def watched_types(tracker: AnyTracker) -> dict[str, tuple[str, ...]]:
    """Return the columns that are read whether they are features or not, with their Arrow types."""
    types: dict[str, tuple[str, ...]] = {}
    if isinstance(tracker, KeyedTracker | BulkTracker):
        fields = tracker.fields
    else:
        fields = tracker.predictions.carried
        if tracker.order.clock:
            types[tracker.order.clock] = ("timestamp", "double")
    for field in fields:
        kind = arrow_type(field)
        types[field.name] = TEXT_TYPES if kind == "string" else (kind,)
    return types
