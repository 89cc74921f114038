"""Columns of the input that stand beside each prediction, so that people know which row it is
about.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from swordplay.core.arguments import short_repr
from swordplay.core.state import damaged
from swordplay.tables import date_features
from swordplay.tables.column_plans import ColumnPlan
from swordplay.tables.encoder import NOTHING
from swordplay.tables.errors import nearest
from swordplay.tables.row_text import DAYS
from swordplay.tables.schema import COLUMN_TYPES
from swordplay.tracking.clock import time_column
from swordplay.tracking.errors import TrackingError

RESERVED = ("row", "prediction", "lower", "upper", "probability", "truth", "loss", "running_error")
"""Names that the predictions need themselves."""


ARROW_TYPES = {kind: str(one).partition("[")[0] for kind, one in NOTHING.items()}
"""Name of the Arrow type of each kind of column, without unit and zone."""


def arrow_type(field: Any) -> str:
    """Name of the Arrow type of a field, without unit and zone."""
    return str(field.type).partition("[")[0]


def check_fields(fields: Sequence[Any], plans: Sequence[ColumnPlan]) -> None:
    """Check that saved fields are columns of the table, each of its type or written as text.

    Raises
    ------
    ValueError
        Names the column.
    """
    kinds = {one.name: ARROW_TYPES.get(one.kind) for one in plans}
    names = [field.name for field in fields]
    if len(set(names)) < len(names) or not set(names) <= kinds.keys() - set(RESERVED):
        raise damaged(f"the columns {short_repr(names)} are to stand beside the predictions")
    for field in fields:
        # The type of a column that is not used is not known from its plan.
        wanted = kinds[field.name] or arrow_type(field).replace("null", "string")
        if arrow_type(field) not in (wanted, "string"):
            raise damaged(
                f"the column {short_repr(field.name)} stands beside the predictions as {field.type}"
            )


def carried(head: Any, target: str, ids: Sequence[str] | None) -> tuple[Any, ...]:
    """The fields of the columns to carry.

    Parameters
    ----------
    head, target
        The first rows and the name of the target, as for ``encoding.plan``.
    ids
        Columns that were asked for; None for the column that dates the rows, if there is one.
    """
    if ids is None:
        clock = time_column(head.schema)
        ids = () if clock is None or clock in (target, *RESERVED) else (clock,)
    for name in ids:
        if name == target:
            raise TrackingError(
                f"--id names the target {short_repr(name)}, which is in the predictions anyway, as "
                "truth. Name others."
            )
        if name in RESERVED:
            raise TrackingError(
                f"--id names {short_repr(name)}, which is a column of the predictions themselves. "
                "Rename it in the input."
            )
        if name not in head.schema.names:
            raise TrackingError(
                f"--id names the column {short_repr(name)}, which is not "
                f"there.{nearest(name, head.schema.names)}"
            )
    return tuple(_field(head, name) for name in dict.fromkeys(ids))


def _field(head: Any, name: str) -> Any:
    values = head.column(name)
    if pa.types.is_null(values.type):  # whatever comes later can be written as a word
        return pa.field(name, pa.string())
    days = pa.types.is_timestamp(values.type) and not date_features.has_hours(values)
    return pa.field(name, values.type, metadata=DAYS if days else None)


def text(fields: Sequence[Any]) -> str:
    """Fields as JSON, for a checkpoint."""
    return json.dumps([[field.name, str(field.type), field.metadata == DAYS] for field in fields])


def read(saved: str) -> tuple[Any, ...]:
    """The way back."""
    return tuple(
        pa.field(name, COLUMN_TYPES[kind], metadata=DAYS if days else None)
        for name, kind, days in json.loads(saved)
    )
