"""States to save, and what it means that two of them are the same."""

from __future__ import annotations

import struct

import numpy as np

from swordplay.core.types import State

KIND = "sample"


def every_type() -> State:
    """One value of each type that a state may hold, with the numbers that are easily lost on the
    way.
    """
    return {
        "rounds": 12345678901234567890,
        "negative": -7,
        "rate.value": float("inf"),
        "rate.level": -0.0,
        "tiny": 5e-324,
        "nan": float("nan"),
        "name": "Schwert \u2694 \U0001f5e1",
        "empty name": "",
        "is_ready": True,
        "is_tired": False,
        "experts.0.points": np.array([[0.1, -0.0, np.inf], [np.nan, 1e308, 5e-324]]),
        "experts.1.points": np.array([0.1, 2.5], dtype=np.float32),
        "counts": np.array([-(2**63), 2**63 - 1]),
        "bytes": np.arange(256, dtype=np.uint8),
        "mask": np.array([True, False, True]),
        "nothing": np.empty((0, 3)),
        "scalar": np.array(1.5),
    }


def same_bits(one: State, other: State) -> bool:
    """Whether two states have the same names, types, shapes and bits."""
    return one.keys() == other.keys() and all(bits(one[name]) == bits(other[name]) for name in one)


def bits(value: object) -> tuple[object, ...]:
    if isinstance(value, np.ndarray):
        return (np.ndarray, value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, float):
        return (type(value), struct.pack("<d", value))
    return (type(value), value)
