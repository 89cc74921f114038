"""Packs thousands of small states into a few large arrays, which are quick to write."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from swordplay.core.arguments import short_repr
from swordplay.core.state import DAMAGED, ROW_COUNT_RANGE, Field, check_json, read_json
from swordplay.core.types import State

SCALARS: dict[type, Any] = {bool: np.bool_, int: np.int64, float: np.float64}
"""Numbers that are put into arrays, by type,"""
NUMBERS = {kind.__name__: dtype for kind, dtype in SCALARS.items()}
"""and by its name."""


def pack(states: Sequence[Mapping[str, Any]]) -> State:
    """Pack states into one: values of one name and type become one array, or one text.

    >>> pack([{"rows": 1, "at": 0.5}, {"rows": 2, "at": 1.5}])["rows:int"]
    array([1, 2])
    """
    sorted_out: dict[str, dict[int, Any]] = {}
    for k, state in enumerate(states):
        for name, value in state.items():
            sorted_out.setdefault(f"{name}:{_kind(value)}", {})[k] = value
    packed: State = {"count": len(states)}
    for name, values in sorted_out.items():
        given = list(values.values())
        about: dict[str, Any] = {} if len(given) == len(states) else {"states": list(values)}
        kind = name.rpartition(":")[2]
        if kind == "str":
            about["texts"] = given[:1] if len(set(given)) == 1 else given
        elif not kind.startswith("array"):
            packed[name] = np.array(given, SCALARS[type(given[0])])
        else:
            shapes = [list(value.shape) for value in given]
            about["shapes"] = shapes[:1] if all(shape == shapes[0] for shape in shapes) else shapes
            packed[name] = np.concatenate([np.ravel(value) for value in given])
        packed[f"{name}:about"] = json.dumps(about)
    return packed


def unpack(packed: Mapping[str, Any], count: int) -> list[State]:
    """Undo :func:`pack`.

    Raises
    ------
    ValueError
        If there are not ``count`` states.
    """
    if packed["count"] != count:
        raise ValueError(f"there are {packed['count']} states of {count}. {DAMAGED}")
    states: list[State] = [{} for _ in range(count)]
    for named, text in packed.items():
        if not named.endswith(":about"):
            continue
        name, _, kind = named.removesuffix(":about").rpartition(":")
        about = read_json(named, text, {str: list})
        places = about.get("states", list(range(count)))
        check_json(named, places, [Field(0.0, count - 1.0, whole=True)])
        for place, value in zip(
            places, _values(packed.get(f"{name}:{kind}"), kind, about, len(places)), strict=True
        ):
            states[place][name] = value
    return states


def _kind(value: Any) -> str:
    """Return the name of the type of a value; of arrays that of their entries."""
    return f"array of {value.dtype.name}" if isinstance(value, np.ndarray) else type(value).__name__


def _values(packed: Any, kind: str, about: Mapping[str, Any], count: int) -> list[Any]:
    """Unpack the values of one name and type, one for each of ``count`` states."""
    if kind == "str":
        check_json("texts", about["texts"], [str])
        return list(about["texts"] * count if len(about["texts"]) == 1 else about["texts"])
    wanted = kind.removeprefix("array of ") if "shapes" in about else np.dtype(NUMBERS[kind]).name
    if type(packed) is not np.ndarray or packed.ndim != 1 or packed.dtype.name != wanted:
        raise ValueError(f"values of the kind {kind} are {short_repr(packed)}. {DAMAGED}")
    if "shapes" not in about:
        return list(packed.tolist())
    check_json("shapes", about["shapes"], [[ROW_COUNT_RANGE]])
    shapes = about["shapes"] * count if len(about["shapes"]) == 1 else about["shapes"]
    sizes = [math.prod(shape) for shape in shapes]
    if sum(sizes) != packed.size:
        raise ValueError(
            f"arrays of {sum(sizes)} numbers in all are {short_repr(packed)}. {DAMAGED}"
        )
    return [
        part.reshape(shape).copy()
        for part, shape in zip(np.split(packed, np.cumsum(sizes)[:-1]), shapes, strict=True)
    ]
