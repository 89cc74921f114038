"""Task and columns, decided by the first rows, and what is said when more rows tell otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from swordplay.tracking import trackers
from swordplay.tracking.settings import Settings
from swordplay.tracking.trackers import AnyTracker


def begin(settings: Settings, head: Any, schema: Any) -> AnyTracker:
    """A tracker of a table that begins with these rows.

    Parameters
    ----------
    settings
        The target, and what else was said.
    head
        A pyarrow record batch of the first rows.
    schema
        What was known of the table before they were read. Columns that have no value in these rows
        are taken as they were then: what they hold was found out from later rows, and it must not
        matter where batches end.
    """
    fields, columns, names = [], [], set(schema.names)
    for field, values in zip(head.schema, head.columns, strict=True):
        if values.null_count < len(head):
            fields.append(field)
            columns.append(values)
        elif field.name in names:
            fields.append(schema.field(field.name))
            columns.append(pa.nulls(len(head), fields[-1].type))
    return trackers.begin(
        settings,
        pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields, head.schema.metadata)),
    )


def contradicted(tracker: AnyTracker, targets: Any) -> float | None:
    """The first target of a pyarrow column that is no whole number, if whole numbers were taken
    for classes.
    """
    if not tracker.recognised.whole:
        return None
    numbers = targets.drop_null().to_numpy(zero_copy_only=False)
    broken = numbers[numbers != np.floor(numbers)]
    return float(broken[0]) if len(broken) else None


def same(one: AnyTracker, other: AnyTracker) -> bool:
    """Whether two trackers do the same, each by the rows it was begun with."""
    return _decided(one) == _decided(other)


def _decided(tracker: AnyTracker) -> tuple[object, ...]:
    names = [(field.name, str(field.type), field.metadata) for field in tracker.schema]
    return (
        tracker.recognised.task,
        tuple(one._replace(many=False) for one in tracker.encoder.plans),
        names,
    )


def confirmed(tracker: AnyTracker, rows: int) -> str:
    """What is said when enough rows agree with the first guess."""
    return f"{_target(tracker)}: {tracker.recognised.task} is confirmed by the first {rows:,} rows."


def hints(tracker: AnyTracker) -> tuple[str, ...]:
    """What to say if something else than the recognised task was meant.

    Nothing where there is no doubt.
    """
    return (tracker.recognised.hint,) if tracker.recognised.hint else ()


def changed(before: AnyTracker, now: AnyTracker, rows: int, *, sent: bool) -> str:
    """What is said when they do not.

    ``rows`` have been learned so far, and ``sent`` if their predictions are gone.
    """
    if before.recognised.task == now.recognised.task:
        what = f"{_target(now)}: more rows show what the columns hold, which is decided anew."
    else:
        what = (
            f"{_target(now)}: {now.recognised.task} and not {before.recognised.task}, as "
            f"{now.recognised.why}."
        )
    then = (
        " Predictions that were sent before stay as they are."
        if sent
        else " Their predictions are written anew."
    )
    return (
        f"{what} The {rows:,} rows so far are learned anew.{then} (--task says it from the "
        "beginning.)"
    )


def _target(tracker: AnyTracker) -> str:
    return tracker.settings.target
