"""What a learner and its parts were made with, so that a saved state is loaded into the same
learner only.

A part (a domain, experts, their steps, a rate, a meta, an optimism rule) says its settings with a
method ``settings``, which returns names and plain values: numbers, arrays, words, None, or further
parts. A part without that method counts by its class. ``Learner.state`` writes them down beside the
state, and ``load_state`` and ``load`` compare them with those of the learner.

A state holds arrays and numbers only, so a word stands in the name of its entry:
``settings.meta.rate=SelfConfident`` is 1, ``settings.meta.rate.cap`` is 0.5. What is None or
infinite sets no limit and is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from numbers import Real
from typing import Any, Protocol, runtime_checkable

import numpy as np

from swordplay.core.arguments import shown
from swordplay.core.types import Array, State

PREFIX = "settings."
"""How the names of settings begin in a state."""
MOST = 6
"""Differences that a message tells one by one."""


@runtime_checkable
class Stating(Protocol):
    """A part that says what it was made with."""

    def settings(self) -> Mapping[str, Any]:
        """Names and values: numbers, arrays, words, None, or further parts."""
        ...


def flatten(parts: Mapping[str, Any]) -> State:
    """Every setting of parts and of their parts under a dotted path.

    The class of a part is a word under the part's path.
    """
    flat: State = {}
    for name, value in parts.items():
        flat |= _leaves(value, name)
    return flat


@singledispatch
def _leaves(part: Any, path: str) -> State:
    """The settings of a part, by path."""
    kind = getattr(
        part, "__qualname__", type(part).__qualname__
    )  # a function has a name of its own
    inside = part.settings() if isinstance(part, Stating) and callable(part.settings) else {}
    return {path: kind} | flatten({f"{path}.{name}": value for name, value in inside.items()})


@_leaves.register
def _(value: str, path: str) -> State:
    return {path: value}


@_leaves.register
def _(value: None, path: str) -> State:
    return {}


@_leaves.register
def _(value: Real, path: str) -> State:
    return {path: float(value)} if np.isfinite(float(value)) else {}


@_leaves.register
def _(value: np.ndarray, path: str) -> State:
    if value.dtype.kind not in "fiub":
        return _leaves(value.tolist(), path)
    numbers: Array = np.array(value, dtype=np.float64)
    return {path: numbers} if np.isfinite(numbers).any() else {}


@_leaves.register
# because singledispatch takes plain classes only
def _(value: Mapping, path: str) -> State:  # type: ignore[type-arg]
    return flatten({f"{path}.{name}": each for name, each in value.items()})


@_leaves.register(tuple)
@_leaves.register(list)
def _(value: Any, path: str) -> State:
    return flatten({f"{path}.{place}": each for place, each in enumerate(value)})


def write(flat: Mapping[str, Any]) -> State:
    """Settings as entries of a state: arrays and numbers, all of them new."""
    state: State = {}
    for path, value in flat.items():
        if isinstance(value, str):
            state[f"{PREFIX}{path}={value}"] = 1
        else:
            state[f"{PREFIX}{path}"] = value.copy() if isinstance(value, np.ndarray) else value
    return state


def split(state: Mapping[str, Any]) -> tuple[State, State]:
    """A saved state without its settings, and the settings by path."""
    rest: State = {}
    flat: State = {}
    for name, value in state.items():
        if str(name).startswith(PREFIX):
            path, said_in_words, word = name.removeprefix(PREFIX).partition("=")
            flat |= _leaves(word if said_in_words else value, path)
        else:
            rest[name] = value
    return rest, flat


def told(flat: Mapping[str, Any]) -> list[str]:
    """Settings for people, a line each: the learner first, then its parts.

    >>> told({"center": np.zeros(2), "diameter": 2.0, "learner": "OGD"})
    ['learner = OGD', 'center = [0.0, 0.0]', 'diameter = 2']
    """
    paths = sorted(flat, key=lambda path: (path != "learner", path))
    return [f"{path} = {_plainly(flat[path])}" for path in paths]


def _plainly(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return shown(value.tolist())
    return value if isinstance(value, str) else f"{value:g}"


def differences(saved: Mapping[str, Any], present: Mapping[str, Any]) -> str:
    """What differs between the settings of a state and those of a learner, in words.

    Empty if nothing does.

    A state that does not name its learner was saved when only some settings were written down:
    these alone are compared.
    """
    paths = sorted(saved.keys() | present.keys() if "learner" in saved else saved.keys())
    differ = [path for path in paths if not _same(saved.get(path), present.get(path))]
    # Another learner, or a part of another class, has other settings as well: they go without
    # saying.
    told = [path for path in differ if not any(path.startswith(f"{other}.") for other in differ)]
    told = ["learner"] if "learner" in told else told
    lines = [_difference(path, saved, present) for path in told[:MOST]]
    return "; ".join(lines) + (f"; and {len(told) - MOST} more" if len(told) > MOST else "")


def _same(one: Any, other: Any) -> bool:
    return np.array_equal(one, other)


def _difference(path: str, saved: Mapping[str, Any], present: Mapping[str, Any]) -> str:
    """What differs in one setting.

    Of two long arrays that begin alike, the first number that does not.
    """
    before, now = _shown(saved, path), _shown(present, path)
    one, other = np.asarray(saved.get(path)), np.asarray(present.get(path))
    if before != now or one.shape != other.shape or not one.ndim:
        return f"{path} was {before} and is {now} here"
    place = tuple(int(k) for k in np.argwhere(one != other)[0])
    return f"{path}[{', '.join(map(str, place))}] was {one[place]} and is {other[place]} here"


def _shown(flat: Mapping[str, Any], path: str) -> str:
    value = flat.get(path, "not set")
    return value if isinstance(value, str) else shown(value)
