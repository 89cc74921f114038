"""What a checkpoint belongs to: settings of a query that must not change between two starts, in
words.
"""

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


EVEN, HASHED = "even", "hashed"
SPREADS = (EVEN, HASHED)
EARLIER = {"spread": json.dumps(HASHED)}
"""What was the case before it was said."""
START = "start"
"""Whether keys began with what they had learned from a table.

Of the settings the only one that may be left out later.
"""


def frozen(
    columns: Columns, loss: str, lags: int, buckets: int, layout: str, spread: str = HASHED
) -> tuple[tuple[str, str], ...]:
    """All that decides which learner a row goes to, and what this makes of it.

    The precision may change.

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
        **(
            {} if spread == HASHED else {"spread": spread}
        ),  # states know these settings by their digest
    }
    return tuple((name, json.dumps(value)) for name, value in told.items())


def changes(saved: Mapping[str, str], mine: Mapping[str, str]) -> list[str]:
    """What has changed, as it was and as it is."""
    was, now = EARLIER | dict(saved), EARLIER | dict(mine)
    if was.get("layout") == '"packed"' and now.get("layout") == '"paged"':
        was.pop("layout")  # pages take over from packed states
    begun = was.pop(START, None)
    found = [
        f"{name} was {was[name]} and is {now.get(name)}"
        for name in was
        if was[name] != now.get(name)
    ]
    late = START in now and begun is None
    return [
        *found,
        *(
            ["start was not given, and is given now that keys have begun without it"]
            if late
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
