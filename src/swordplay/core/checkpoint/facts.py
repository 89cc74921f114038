"""What a checkpoint says of itself, and the words in which rooms describe their own.

A room that saves states offers a function ``described(kind, state)``: facts by name, or None for a
state that is not its own. ``swordplay inspect`` asks them one after the other.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from swordplay.core.arguments import shown
from swordplay.core.checkpoint.encoding import START

MOST_ENTRIES = 12
"""Entries of an unknown state that are listed."""


class Names(tuple[str, ...]):
    """Names that are told in a row, the first few of many."""


Facts = dict[str, str | int | float | list[str] | Names]
"""What a state holds, by name: words and numbers, lines below one another, or names in a row."""
Describer = Callable[[str, Mapping[str, Any]], Facts | None]
"""Facts about a state by its kind and its entries; None if it is another room's.

Raises what it likes if it is damaged.
"""


class Header(NamedTuple):
    """What a checkpoint says of itself."""

    kind: str
    """Such as ``"track"`` or ``"SwordRegressor"``."""
    library: str
    """The version of swordplay that wrote it."""


def header(path: str | os.PathLike[str]) -> Header:
    """Kind and library of a checkpoint that has been loaded once, and so is whole."""
    with open(path, "rb") as file:
        size = START.unpack(file.read(START.size))[2]
        found = json.loads(file.read(size))
    return Header(found["kind"], str(found.get("library", "unknown")))


def entries(state: Mapping[str, Any]) -> list[str]:
    """Names and shapes of the first entries of a state that nobody knows.

    >>> entries({"points": np.zeros((2, 3)), "rounds": 4})
    ['points: float64 of shape (2, 3)', 'rounds: 4']
    """
    lines = [f"{name}: {_shape(value)}" for name, value in list(state.items())[:MOST_ENTRIES]]
    more = len(state) - len(lines)
    return lines + ([f"and {more:,} more"] if more else [])


def _shape(value: Any) -> str:
    return (
        f"{value.dtype} of shape {value.shape}"
        if isinstance(value, np.ndarray)
        else shown(value, 60)
    )
