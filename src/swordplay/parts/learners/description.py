"""What the saved state of a learner holds, for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from swordplay.core.state import Facts, describe_settings, split_settings


def described(kind: str, state: Mapping[str, Any]) -> Facts | None:
    """Rounds, experts and settings of a learner's state; None if it is no learner's."""
    if "rounds" not in state or not any(name.startswith("experts.") for name in state):
        return None
    points = [
        value
        for name, value in state.items()
        if name.startswith("experts.") and name.endswith(".points")
    ]
    facts: Facts = {
        "what": "a learner",
        "rounds": int(state["rounds"]),
        "experts": sum(len(value) for value in points),
        "coordinates": int(points[0].shape[1]),
    }
    _, settings = split_settings(state)
    return facts | ({"settings": describe_settings(settings)} if settings else {})
