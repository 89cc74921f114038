"""States within states: the names of a part begin with the name of the part and a dot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from swordplay.base.types import State


def put(name: str, state: Mapping[str, Any]) -> State:
    """The state of a part, as it stands in the whole.

    >>> put("learner", {"rounds": 3})
    {'learner.rounds': 3}
    """
    return {f"{name}.{key}": value for key, value in state.items()}


def take(name: str, whole: Mapping[str, Any]) -> State:
    """And out of it again.

    >>> take("learner", {"learner.rounds": 3, "rows": 5})
    {'rounds': 3}
    """
    prefix = f"{name}."
    return {key.removeprefix(prefix): value for key, value in whole.items() if key.startswith(prefix)}
