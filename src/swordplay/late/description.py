"""What the saved state of a model holds whose answers come late, for people."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from swordplay.core.state import Facts, ShortList, strip_prefix
from swordplay.estimators import description
from swordplay.late.model import KIND
from swordplay.late.score import Score


def described(kind: str, state: Mapping[str, Any]) -> Facts | None:
    """Tickets, score and estimator of a state; None if it is another's."""
    if kind != KIND:
        return None
    score, estimator = Score.of_state(strip_prefix("score", state)), strip_prefix("model", state)
    lines = score.lines("labels" in estimator or "classes" in estimator, float(state["level"]))
    waiting = json.loads(state["pending.ids"])
    facts: Facts = {
        "what": f"a model whose answers come late, around a {state['estimator']}",
        "tickets": lines[0].removeprefix("LateModel: "),
    }
    facts |= {
        name: text.strip() for name, text in (line.strip().split("  ", 1) for line in lines[1:])
    }
    facts |= {"pending": ShortList(waiting)} if waiting else {}
    found = description.described(str(state["estimator"]), estimator) or {}
    return facts | {name: fact for name, fact in found.items() if name != "what"}
