"""The model in a saved run, and other tables for it: which columns they must have, and how these
are read.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import pyarrow as pa

from swordplay.core import checkpoint
from swordplay.core.state import strip_prefix
from swordplay.tables import Position, Table
from swordplay.tables.errors import nearest
from swordplay.tables.schema import KnownColumn, TableSchema, known_columns
from swordplay.tracking import trackers
from swordplay.tracking.errors import TrackingError
from swordplay.tracking.job import KIND, check_position
from swordplay.tracking.settings import Settings
from swordplay.tracking.trackers import AnyTracker

PADDED = "Add it; values that are not known may stay empty."


class Taught(NamedTuple):
    """A model that a run has left."""

    tracker: AnyTracker
    position: Position
    """In the table that was learned last; its layout says how the columns are read."""

    @property
    def settings(self) -> Settings:
        """What was said about the table."""
        return self.tracker.settings

    @property
    def earlier(self) -> dict[str, KnownColumn]:
        """What its columns were."""
        return known_columns(self.position.layout)


def taught(path: str) -> Taught:
    """The model in a state.

    Raises
    ------
    CheckpointError
        If the file is not what a run saved.
    """
    state = checkpoint.load(path, kind=KIND)
    try:
        tracker, position = (
            trackers.resumed(strip_prefix("tracker", state)),
            Position(**strip_prefix("position", state)),
        )
        check_position(position)
        trackers.check_layout(position.layout, tracker)
    except (
        LookupError,
        TypeError,
        ValueError,
        OverflowError,
        AttributeError,
        RecursionError,
    ) as error:
        raise checkpoint.CheckpointError(
            f"the checkpoint {path!r} does not fit this version of swordplay ({error}). Learn "
            "anew into another --state."
        ) from error
    return Taught(tracker, position)


def settings_in(path: str) -> Settings | None:
    """What was said about the table of a state; None if there is no state yet."""
    try:
        state = checkpoint.load(path, kind=KIND)
        return Settings.from_json(state["tracker.settings"])
    except checkpoint.CheckpointMissing:
        return None
    except (LookupError, TypeError, ValueError) as error:
        if isinstance(error, checkpoint.CheckpointError):
            raise
        raise checkpoint.CheckpointError(
            f"the checkpoint {path!r} does not fit this version of swordplay ({error})."
        ) from error


def require_columns(table: Table, tracker: AnyTracker, state: str, *, joined: bool) -> None:
    """Refuse a table without a column that the model learned from, or that tells series or rows
    apart.

    Parameters
    ----------
    table
        Another one than that of the state.
    tracker, state
        The model, and where it is saved.
    joined
        Whether columns have to be there that joined later than the others.
    """
    plans = (one for one in tracker.encoder.plans if one.kind != "left out")
    used = [one.name for one in plans if joined or not one.late]
    names = dict.fromkeys(table.schema.names)
    for name in dict.fromkeys([*used, *tracker.settings.key, *trackers.watched_types(tracker)]):
        if name not in names:
            has = nearest(name, names)
            raise TrackingError(
                f"{table.name} has no column {name!r}, which the model in {state} learned "
                f"from.{has} {PADDED}"
            )


def unknown(table: Table, earlier: Iterable[str]) -> list[str]:
    """Columns of a table that the model does not know."""
    names = (
        TableSchema.from_json(table.start.layout)[0].names
        if table.start is not None
        else table.schema.names
    )
    known = set(earlier)
    return [name for name in names if name not in known]


def without_target(rows: Any, model: Taught) -> Any:
    """Rows in the columns of the model's table, null where they have none, and in its target."""
    fields = list(TableSchema.from_json(model.position.layout)[0].arrow)
    columns, names = [], {*rows.schema.names} - {model.settings.target}
    for field in fields:
        found = rows.column(field.name) if field.name in names else None
        columns.append(
            pa.nulls(len(rows), field.type)
            if found is None or found.null_count == len(rows)
            else found
        )
    kept = [
        pa.field(field.name, values.type, metadata=field.metadata)
        for field, values in zip(fields, columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(kept))
