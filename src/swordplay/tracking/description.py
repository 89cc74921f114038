"""What the saved state of a run holds, for people."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from swordplay.core.state import Facts, ShortList, strip_prefix
from swordplay.estimators.description import models_described
from swordplay.tracking.job import KIND, LEARN


def described(kind: str, state: Mapping[str, Any]) -> Facts | None:
    """Table, target, position and pace of a run's state; None if it is no run's."""
    if kind != KIND or "tracker.settings" not in state:
        return None
    options, position = json.loads(state["essence"]), strip_prefix("position", state)
    tracker = strip_prefix("tracker", state)
    task, why = json.loads(tracker["recognised"])[:2]
    place = f"row {int(state['done']):,}" + (
        f", line {position['line']:,}" if position["line"] else ""
    )
    whose = (
        "a model that learned by `swordplay learn`, last from"
        if options.get(LEARN)
        else "a run of `swordplay track` over"
    )
    facts: Facts = {
        "what": f"{whose} {_table(position, options)}"
        + (", finished" if state["finished"] else ""),
        "target": f"{options['--target']}, {task} ({why})",
        "rows": int(tracker["rows"]),
        "refused": int(state["bad"]) + int(tracker["refused"]),
        "unlabelled": int(tracker["unlabelled"]),
        "goes on": f"after {place} of the input (byte {position['offset']:,})",
    }
    if output := strip_prefix("output", state):
        facts["predictions"] = (
            f"{options['--output']}, {output['rows']:,} rows, {output['offset']:,} bytes"
        )
    learner = _of_keys(tracker, options) if "keys" in tracker else _of_series(tracker)
    return facts | _columns(tracker) | learner | {"seconds": round(state["seconds"], 1)}


def _table(position: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """What was read, and in which order."""
    if options.get("--sort"):
        return f"a table sorted by {options['--sort']}"
    return (
        "a table from its last row to its first"
        if options.get("--reverse")
        else f"a {position['format']} table"
    )


def _columns(tracker: Mapping[str, Any]) -> Facts:
    """Columns that are used, and those that are not."""
    plans = json.loads(tracker["encoder.plans"])
    facts: Facts = {"columns": ShortList(plan[0] for plan in plans if plan[1] != "left out")}
    without = ShortList(plan[0] for plan in plans if plan[1] == "left out")
    return facts | ({"left out": without} if without else {})


def _of_keys(tracker: Mapping[str, Any], options: Mapping[str, Any]) -> Facts:
    keys = json.loads(tracker.get("bulk.keys", tracker["keys"]))
    return {"keys": f"{len(keys):,} of {', '.join(options['--key'])}, a model each"}


def _of_series(tracker: Mapping[str, Any]) -> Facts:
    facts: Facts = {}
    if "contestants.places" in tracker:
        names = json.loads(tracker["contestants.places"])
        facts["classes"] = ShortList(
            f"{name:g}" if isinstance(name, float) else str(name) for name in names
        )
    return facts | models_described(strip_prefix("contestants.model", tracker))
