"""States within states: the names of a part begin with the name of the part and a dot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from swordplay.core.state import DAMAGED
from swordplay.core.types import State


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
    return {
        key.removeprefix(prefix): value for key, value in whole.items() if key.startswith(prefix)
    }


def split(whole: Mapping[str, Any]) -> dict[str, Any]:
    """The state of each part by its name, and what belongs to the whole itself.

    >>> split({"learner.rounds": 3, "learner.rate.level": 0.5, "rows": 5})
    {'learner': {'rounds': 3, 'rate.level': 0.5}, 'rows': 5}
    """
    parts: dict[str, Any] = {}
    for key, value in whole.items():
        name, dot, rest = key.partition(".")
        if name in parts and not (dot and isinstance(parts[name], dict)):
            raise ValueError(f"state has {name!r} as well as parts of it. {DAMAGED}")
        if dot:
            parts.setdefault(name, {})[rest] = value
        else:
            parts[name] = value
    return parts


def part(name: str, parts: Mapping[str, Any]) -> State:
    """The state of a part of one that was :func:`split`.

    Raises
    ------
    ValueError
        If there is no such part.
    """
    found = parts.get(name)
    if not isinstance(found, dict):
        raise ValueError(
            f"state lacks {name + '.*'!r}. Load a state that the same kind of learner saved."
        )
    return found
