"""What ``swordplay inspect`` says of a server's checkpoint."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from swordplay.core.state import Facts

KIND = "serve"
"""Of the checkpoints of a server."""


def described(kind: str, state: Mapping[str, Any]) -> Facts | None:
    """Models and series of a server's state, and what it remembers; None if it is another's."""
    if kind != KIND:
        return None
    about = json.loads(bytes(state["about"]))
    counts = [
        json.loads(json.loads(bytes(state[f"watch.{k}"])))[0] for k in range(len(about["series"]))
    ]
    asks, tells, drops = (sum(count[k] for count in counts) for k in range(3))
    return {
        "what": "the models of a server (swordplay serve)",
        "models": [f"{name}: predicts {target}" for name, target in about["kinds"].items()],
        "series": len(about["series"]),
        "rows asked": asks,
        "rows told": tells,
        "tickets dropped": drops,
        "tickets pending": asks - tells - drops,
        "answered tickets remembered": len(json.loads(bytes(state["memory"]))),
    }
