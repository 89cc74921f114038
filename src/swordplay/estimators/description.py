"""What the saved state of an estimator holds, for people."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from swordplay.core.state import Facts, ShortList, describe_entries, strip_prefix
from swordplay.engine import describe, is_state
from swordplay.estimators import class_files

MOST_MODELS = 12
"""Models whose step sizes are told."""


def described(kind: str, state: Mapping[str, Any]) -> Facts | None:
    """Parameters, columns and pace of an estimator's state; None if it is no estimator's."""
    if not any(name.startswith("parameter.") for name in state):
        return None
    parameters = [f"{name} = {value}" for name, value in strip_prefix("parameter", state).items()]
    facts: Facts = {"what": "an estimator", "parameters": parameters}
    if "columns" not in state and not any(name.startswith("model.") for name in state):
        return facts | {"rows": 0}
    if "names" in state:
        facts["columns"] = ShortList(str(name) for name in json.loads(state["names"]))
    elif "columns" in state:
        facts["columns"] = int(state["columns"])
    return facts | models_described(strip_prefix("model", state))


def models_described(state: Mapping[str, Any]) -> Facts:
    """Rounds and step sizes of one model, or of the model of each class."""
    if engine := strip_prefix("engine", state):
        return engine_described(engine)
    if "counts" not in state:
        return {"entries": describe_entries(state)}
    found = class_files.read(state)
    seats = list(zip(found.team.tolist(), found.place.tolist(), strict=True))
    each = [engine_described(found.teams[team].heads[place]) for team, place in seats[:MOST_MODELS]]
    steps = ", ".join(str(one["effective step size"]) for one in each)
    return {
        "models": len(seats),
        "rounds": each[0]["rounds"],
        "experts": each[0]["experts"],
        "effective step size": steps,
    }


def engine_described(state: Mapping[str, Any]) -> Facts:
    """Rounds, experts and pace of an engine's own arrays."""
    facts = describe(state)
    return facts | {"effective step size": f"{facts['effective step size']:.3g}"}


def engine_alone(kind: str, state: Mapping[str, Any]) -> Facts | None:
    """The same of a state that an engine saved by itself; None if it is another's."""
    return (
        {"what": "an engine's own arrays", **engine_described(state)} if is_state(state) else None
    )
