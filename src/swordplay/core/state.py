"""State as plain data: nested named tuples to flat dictionaries of arrays and numbers, and back.

Parts keep their state in named tuples that are replaced, never written into. A round builds the
next tuple and the learner takes it in one assignment, which is why ``observe`` is all or nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from swordplay.core.arguments import shown
from swordplay.core.types import State

S = TypeVar("S")

MOST_ROUNDS = 2.0**53
"""Doubles count no farther one by one."""
UNKNOWN = 1e150
"""Stands for a squared distance that a state of before does not tell: whoever reads it takes the
largest that there can be.
"""
DAMAGED = "The state is damaged: load an earlier one."
"""What to do about a number that no game leads to."""


class Range(NamedTuple):
    """What an entry of a saved state may hold: checked before anything is done with it, as
    kernels trust their numbers.
    """

    least: float
    most: float
    whole: bool = False
    """Whether it counts something, or stands for a place in an array."""
    missing: bool = False
    """Whether NaN stands for what is not known yet."""


COUNT = Range(0.0, MOST_ROUNDS, whole=True)
ROWS = Range(0.0, 2.0**50, whole=True)
"""Rows of a table: no table has as many, and all that come on top can still be counted."""


def require(name: str, values: Any, allowed: Range) -> None:
    """Refuse numbers outside their range.

    Raises
    ------
    ValueError
        Names the entry, the first number that is wrong and where it stands.
    """
    if (
        isinstance(values, float)
        and allowed.least <= values <= allowed.most
        and not (allowed.whole and values % 1.0)
    ):
        # a number alone, which numpy would make an array of first: states have thousands of them
        return
    if type(values) is int and not -(2**63) <= values < 2**63:  # beyond numpy's whole numbers
        values = float(min(max(values, -(10**308)), 10**308))
    if (
        np.asarray(values).dtype.kind not in "fiu"
    ):  # numpy would read numbers in quotes, and truths, as numbers
        raise ValueError(f"state[{name!r}] must hold numbers, got {shown(values)}. {DAMAGED}")
    numbers = np.asarray(values, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        right = (numbers >= allowed.least) & (numbers <= allowed.most)
    if allowed.whole:
        right &= numbers == np.floor(numbers)
    if allowed.missing:
        right |= np.isnan(numbers)
    if not right.all():
        where = tuple(int(k) for k in np.argwhere(~right)[0])
        kind = "whole numbers" if allowed.whole else "numbers"
        place = f" at {where if len(where) > 1 else where[0]}" if where else ""
        raise ValueError(
            f"state[{name!r}] must hold {kind} from {allowed.least:g} to {allowed.most:g}, "
            f"got {numbers[where]:g}{place}. {DAMAGED}"
        )


def require_one(name: str, value: Any, allowed: Range) -> None:
    """The same of a single number: a list of numbers, even an empty one, is none.

    Raises
    ------
    ValueError
        Names the entry and what it holds.
    """
    if np.ndim(value):
        raise ValueError(f"state[{name!r}] must be one number, got {shown(value)}. {DAMAGED}")
    require(name, value, allowed)


def bytes_of(name: str, values: Any) -> bytes:
    """What an entry that is an array of bytes holds; other numbers would be cut to bytes.

    Raises
    ------
    ValueError
        Names the entry and what it holds.
    """
    if type(values) is not np.ndarray or values.dtype != np.uint8 or values.ndim != 1:
        raise ValueError(f"state[{name!r}] must hold bytes, got {shown(values)}. {DAMAGED}")
    return values.tobytes()


def length(name: str, saved: Mapping[str, Any], axis: int = 0) -> int:
    """How long an array of a saved state is, to be compared before room is made for as many.

    Raises
    ------
    ValueError
        If there is no such array.
    """
    shape = np.shape(saved.get(name, ()))
    if len(shape) <= axis:
        raise ValueError(
            f"state[{name!r}] must be an array, got {shown(saved.get(name))}. {DAMAGED}"
        )
    return int(shape[axis])


def flatten(state: Any, prefix: str = "") -> State:
    """Every leaf of a nested named tuple under a dotted name; arrays are copied."""
    flat: State = {}
    for name, value in state._asdict().items():
        flat.update(_leaves(value, f"{prefix}{name}"))
    return flat


def _leaves(value: Any, name: str) -> State:
    if hasattr(value, "_asdict"):
        return flatten(value, f"{name}.")
    if isinstance(value, tuple):
        return {
            key: leaf
            for i, part in enumerate(value)
            for key, leaf in _leaves(part, f"{name}.{i}").items()
        }
    return {name: value.copy() if isinstance(value, np.ndarray) else value}


def restore(like: S, flat: Mapping[str, Any]) -> S:
    """The named tuple shaped ``like`` that holds the leaves of ``flat``.

    Raises
    ------
    ValueError
        If a leaf is missing, unknown, of another shape or not a number.
    """
    template = flatten(like)
    if missing := sorted(template.keys() - flat.keys()):
        raise ValueError(
            f"state lacks {missing}. Load a state that the same kind of learner saved."
        )
    if unknown := sorted(flat.keys() - template.keys()):
        raise ValueError(
            f"state has unknown entries {unknown}. Load a state that the same kind of learner "
            "saved."
        )
    clean = {name: _like(name, flat[name], leaf) for name, leaf in template.items()}
    return cast(S, _rebuild(like, clean, ""))


def _like(name: str, value: Any, leaf: Any) -> Any:
    """``value`` as the same kind of leaf: an array of that shape, a whole number or a float."""
    try:
        clean = np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"state[{name!r}] must hold numbers, got {shown(value)}.") from None
    if clean.shape != np.shape(leaf):
        raise ValueError(
            f"state[{name!r}] must have shape {np.shape(leaf)}, got {clean.shape}. "
            "Make the learner with the settings it was saved with."
        )
    if np.isnan(clean).any():
        raise ValueError(f"state[{name!r}] holds NaN. The state is damaged: load an earlier one.")
    if isinstance(leaf, np.ndarray):
        return clean
    if isinstance(leaf, int):
        if not float(clean).is_integer():
            raise ValueError(f"state[{name!r}] must be a whole number, got {float(clean)}.")
        return int(clean)
    return float(clean)


def _rebuild(like: Any, clean: State, name: str) -> Any:
    if hasattr(like, "_asdict"):
        prefix = f"{name}." if name else ""
        return type(like)(
            **{key: _rebuild(value, clean, prefix + key) for key, value in like._asdict().items()}
        )
    if isinstance(like, tuple):
        return tuple(_rebuild(value, clean, f"{name}.{i}") for i, value in enumerate(like))
    return clean[name]
