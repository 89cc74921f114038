"""What a checkpoint belongs to: settings of a query that must not change between two starts, in words."""

from __future__ import annotations

import json
from collections.abc import Mapping

from swordplay.spark.columns import Columns

ORDERS = {"timestamp": "a timestamp", "timestamp_ntz": "a timestamp without a zone", "date": "a date"}
"""Types of orders that are not whole numbers: these count in units of their own."""


def frozen(columns: Columns, loss: str, lags: int, buckets: int, layout: str) -> tuple[tuple[str, str], ...]:
    """All that decides which learner a row goes to, and what this makes of it; the precision may change.

    Labels come in their order, because learners know them by their places.
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
        "layout": layout,
    }
    return tuple((name, json.dumps(value)) for name, value in told.items())


def require_same(saved: Mapping[str, str], mine: Mapping[str, str]) -> None:
    """Refuse settings that are not those of the first start.

    Raises
    ------
    ValueError
        Names each that has changed, as it was and as it is.
    """
    if saved.get("layout") == '"packed"' and mine.get("layout") == '"paged"':
        saved = {name: value for name, value in saved.items() if name != "layout"}  # pages take over from packed states
    changed = [f"{name} was {saved[name]} and is {mine.get(name)}" for name in saved if saved[name] != mine.get(name)]
    if changed:
        raise ValueError(
            f"the state in this checkpointLocation was saved with other settings: {'; '.join(changed)}. Start the query as it "
            "was started first, or give it a new checkpointLocation."
        )
