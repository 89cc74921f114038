"""States changed as somebody would who knows what they are made of: numbers, shapes, names,
types, the JSON in strings.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from swordplay.core.types import State

NUMBERS = (
    0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.0, 7.0, 31.0, 32.0, 33.0, 64.0, 1000.0, -1000.0, 1e6, 1e7, 2.0**31, -(2.0**31), 2.0**53,  # noqa: E501
    2.0**63, -(2.0**63), 1e-300, 5e-324, 1e60, -1e60, 1e150, 1e300, -1e300, 1.7e308, np.inf, -np.inf, np.nan,  # noqa: E501
)  # fmt: skip
TEXTS = ("", "x", "0", "nan", "null", "\x1b[2J", "é", "\ud800", "a" * 300, "__class__")


def number(now: float, rng: np.random.Generator) -> float:
    """Another number: a nasty one, one nearby, one of another size, one with a flipped bit."""
    way = rng.integers(5)
    with np.errstate(all="ignore"):
        if way == 0:
            return float(rng.choice(NUMBERS))
        if way == 1:
            return float(now + rng.choice([-1.0, 1.0, 0.5, -0.5, 1e-3]))
        if way == 2:
            return float(now * 10.0 ** rng.integers(-40, 41))
        if way == 3:
            return float(-now)
        bits = np.array([now]).view(np.uint64)
        bits ^= np.uint64(1) << np.uint64(rng.integers(64))
        return float(bits.view(np.float64)[0])


def _entry(array: Any, rng: np.random.Generator) -> Any:
    """One entry of an array, several, or a whole row."""
    if not array.size:
        return array
    array = array.copy()
    flat = array.reshape(-1)
    count = 1 if rng.random() < 0.7 else int(rng.integers(1, array.size + 1))
    with np.errstate(all="ignore"):
        flat[rng.integers(array.size, size=count)] = np.float64(
            number(float(flat[rng.integers(array.size)]), rng)
        ).astype(array.dtype)
    return array


def in_bytes(data: bytes, first: int, rng: np.random.Generator) -> tuple[bytes, str]:
    """One of the doubles that begin at ``first``, or whatever stands anywhere, as another
    number.
    """
    place = first + 8 * int(rng.integers((len(data) - first) // 8))
    if rng.random() < 0.1:
        place = int(rng.integers(len(data) - 7))
    now = float(np.frombuffer(data, "<f8", 1, place)[0])
    put = number(now, rng)
    return data[:place] + np.array([put], dtype="<f8").tobytes() + data[
        place + 8 :
    ], f"byte {place}: {now} -> {put}"


def _packed(array: Any, rng: np.random.Generator) -> Any:
    """Bytes that are JSON or numbers, such as those of many keys, as others of the same kind."""
    data = array.tobytes()
    try:
        new = json.dumps(_json(json.loads(data), rng)).encode("ascii")
    except (ValueError, RecursionError):
        new = in_bytes(data, len(data) % 8, rng)[0] if len(data) >= 8 else data
    return np.frombuffer(new, dtype=np.uint8)


def _shape(array: Any, rng: np.random.Generator) -> Any:
    """Another shape."""
    ways = (
        lambda: array[:-1] if array.ndim else array,
        lambda: np.concatenate([array, array[-1:]]) if array.ndim and len(array) else array,
        lambda: array.T,
        lambda: array.reshape(-1),
        lambda: array[None],
        lambda: array[..., :0] if array.ndim else array,
        lambda: np.tile(array, 2),
        lambda: array.reshape(-1)[:1].reshape(()) if array.size else array,
        lambda: array.astype(rng.choice(["float32", "int64", "bool", "uint8", "int8"])),
        lambda: np.zeros((0, 2**40)),
    )
    with np.errstate(all="ignore"):
        return np.ascontiguousarray(ways[rng.integers(len(ways))]())


def _json(value: Any, rng: np.random.Generator) -> Any:
    """A leaf of a JSON value, or the value as a whole, changed."""
    if isinstance(value, list) and value and rng.random() < 0.8:
        k, way = int(rng.integers(len(value))), rng.integers(6)
        if way == 0:
            return value[:k] + value[k + 1 :]
        if way == 1:
            return [*value, value[k]]
        return [*value[:k], _json(value[k], rng), *value[k + 1 :]]
    if isinstance(value, dict) and value and rng.random() < 0.8:
        key = list(value)[int(rng.integers(len(value)))]
        return {**value, key: _json(value[key], rng)}
    if isinstance(value, int | float) and not isinstance(value, bool) and rng.random() < 0.8:
        changed = number(float(value), rng)
        return int(changed) if isinstance(value, int) and abs(changed) < 2.0**63 else changed
    if isinstance(value, str) and value[:1] in ("[", "{") and rng.random() < 0.9:
        return _text(value, rng)
    return [
        None,
        True,
        0,
        -1,
        10**12,
        0.5,
        "x",
        [],
        {},
        [[]],
        [value, value],
        {"a": value},
        *TEXTS,
    ][rng.integers(12 + len(TEXTS))]


def _text(text: str, rng: np.random.Generator) -> str:
    try:
        return json.dumps(_json(json.loads(text), rng))
    except (ValueError, RecursionError):
        place = int(rng.integers(len(text) + 1))
        return [
            text[:place] + str(rng.choice(["x", "\x00", '"', "9"])) + text[place:],
            text[:place],
            TEXTS[rng.integers(len(TEXTS))],
        ][rng.integers(3)]


def _value(value: Any, rng: np.random.Generator) -> Any:
    """Another value of an entry, mostly of the same type."""
    if rng.random() < 0.05:
        return [
            3,
            -1,
            10**15,
            0.5,
            float("nan"),
            True,
            "x",
            "[]",
            np.zeros(3),
            np.zeros((2, 2)),
            np.arange(5),
        ][rng.integers(11)]
    if (
        isinstance(value, np.ndarray)
        and value.dtype == np.uint8
        and value.ndim == 1
        and rng.random() < 0.9
    ):
        return _packed(value, rng)
    if isinstance(value, np.ndarray):
        return _entry(value, rng) if rng.random() < 0.8 else _shape(value, rng)
    if isinstance(value, str):
        return _text(value, rng)
    if isinstance(value, bool):
        return not value
    changed = number(float(value), rng)
    if isinstance(value, int):
        return int(changed) if np.isfinite(changed) and abs(changed) < 1e300 else -1
    return changed


class Told(list[tuple[str, Any]]):
    """What is different, put into words when somebody wants to read them: that takes longer than
    the changes.
    """

    def __str__(self) -> str:
        return "; ".join(f"{name} {value!r:.200}" for name, value in self)


def changed(state: State, rng: np.random.Generator) -> tuple[State, Told]:
    """Another state, and what is different about it."""
    new, names, told = dict(state), list(state), Told()
    for _ in range(1 if rng.random() < 0.7 else int(rng.integers(2, 5))):
        name, other = (names[rng.integers(len(names))] for _ in range(2))
        way = rng.random()
        if way < 0.9:
            new[name] = _value(state[name], rng)
            told.append((f"{name} =", new[name]))
        elif way < 0.93:
            new.pop(name, None)
            told.append(("removed", name))
        elif way < 0.96:
            new[name], new[other] = state[other], state[name]
            told.append(("swapped", (name, other)))
        elif way < 0.98:
            new[f"{name}.{rng.integers(9)}"] = state[name]
            told.append(("doubled", name))
        else:
            new[name.replace("0", "1") + "x"] = new.pop(name, 0)
            told.append(("renamed", name))
    return new, told
