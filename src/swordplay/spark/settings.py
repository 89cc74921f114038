"""Settings of a query that must not change between two starts, and their comparison."""

from __future__ import annotations

import json
from collections.abc import Mapping

from swordplay.spark.columns import Columns

ORDERS = {
    "timestamp": "a timestamp",
    "timestamp_ntz": "a timestamp without a zone",
    "date": "a date",
}
"""Types of orders that are not whole numbers: these count in units of their own."""

START = "start"
"""Name of the setting that says whether keys began with states learned from a table.

It is the only setting that may be left out later.
"""


def frozen(columns: Columns, loss: str, lags: int, buckets: int) -> tuple[tuple[str, str], ...]:
    """Names and JSON values of the settings that a checkpoint is bound to.

    The order of the labels counts, because learners know labels by their positions.
    """
    told = {
        "key": columns.keys if len(columns.keys) > 1 else columns.keys[0],
        "features": columns.features,
        "target": columns.target,
        "order": columns.order,
        "type of order": ORDERS.get(columns.types[columns.order].simpleString(), "a whole number"),
        "loss": loss,
        "classes": columns.classes,
        "lags": lags,
        "buckets": buckets,
    }
    return tuple((name, json.dumps(value)) for name, value in told.items())


def changes(saved: Mapping[str, str], mine: Mapping[str, str]) -> list[str]:
    """Sentences about every setting that differs: its saved and its present value."""
    was = dict(saved)
    begun = was.pop(START, None)
    found = [
        f"{name} was {was[name]} and is {mine.get(name)}"
        for name in was
        if was[name] != mine.get(name)
    ]
    is_late = START in mine and begun is None
    return [
        *found,
        *(
            ["start was not given, and is given now that keys have begun without it"]
            if is_late
            else []
        ),
    ]


def require_same(saved: Mapping[str, str], mine: Mapping[str, str]) -> None:
    """Refuse settings that are not those of the first start.

    Raises
    ------
    ValueError
        Names each that has changed.
    """
    if changed := changes(saved, mine):
        raise ValueError(
            "the state in this checkpointLocation was saved with other settings: "
            f"{'; '.join(changed)}. Start the query as it "
            "was started first, or give it a new checkpointLocation."
        )
