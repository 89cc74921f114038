"""Values of a case as JSON, and the difference between two of them.

A float is stored as a hexadecimal text (``float.hex``), which loses no bit. An array of at most
``STORED_WHOLE`` values is stored whole. A larger one is stored as a SHA-256 of its bytes, which
tells whether anything changed, and as numbers that measure how much: its mean absolute value, its
sum and sum of squares, four sums of consecutive blocks in which each value has a random weight, and
16 values, the first and the last among them. A block sum is compared on the scale of one value, so
that a change of a single value by ``TOLERANCE`` of the mean shows wherever it is; the weights show
values that changed places.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

TOLERANCE = 1e-10
"""Relative difference up to which two results are equal but for rounding (as the two engines
have to agree).
"""
STORED_WHOLE = 16
BLOCKS = 4
POSITIONS = 16
SEED = 20201206
"""Of the positions and the weights, which depend on the number of values only."""


class Sized(NamedTuple):
    """A result that is a small remainder of larger numbers: it is compared on the scale of
    these.
    """

    value: Any
    size: float


class Difference(NamedTuple):
    """What is not identical in one value of a case."""

    relative: float
    """The largest relative difference that could be measured.

    Infinite if text, shape or kind differ.
    """
    text: str


def encode(value: Any) -> Any:
    """A result as JSON: numbers, arrays, texts, None, mappings and lists of these."""
    if isinstance(value, Sized):
        return {"size": float(value.size).hex(), "value": encode(value.value)}
    if value is None or isinstance(value, bool | np.bool_):
        return None if value is None else bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value).hex()
    if isinstance(value, str):
        return {"text": value}
    if isinstance(value, bytes):
        return {"bytes": hashlib.sha256(value).hexdigest()[:16], "length": len(value)}
    if isinstance(value, Mapping):
        return {"entries": {str(name): encode(entry) for name, entry in value.items()}}
    return _encode_array(value)


def _encode_array(value: Any) -> Any:
    array = np.asarray(value)
    if array.dtype == object and all(
        isinstance(entry, float | int | None) for entry in array.ravel()
    ):
        array = array.astype(np.float64)  # None counts as NaN
    if array.dtype.kind in "OUS":
        joined = "\n".join(map(str, array.ravel())).encode()
        return {"shape": list(array.shape), "texts": hashlib.sha256(joined).hexdigest()[:16]}
    if array.dtype.kind not in "bifu":
        raise TypeError(f"a value must hold numbers or texts, got {array.dtype}: {value!r}")
    if array.size <= STORED_WHOLE:
        return {"shape": list(array.shape), "values": _texts(array.ravel())}
    numbers = np.ascontiguousarray(array, dtype=np.float64).ravel()
    finite = np.where(np.isfinite(numbers), numbers, 0.0)
    rng = np.random.default_rng([SEED, numbers.size])
    weights = rng.uniform(0.5, 1.5, numbers.size) * rng.choice([-1.0, 1.0], numbers.size)
    inner = np.sort(rng.choice(np.arange(1, numbers.size - 1), POSITIONS - 2, replace=False))
    positions = [0, *inner.tolist(), numbers.size - 1]
    with np.errstate(over="ignore"):
        squares = math.fsum(np.square(finite))
    return {
        "shape": list(array.shape),
        "sha256": hashlib.sha256(numbers.tobytes()).hexdigest()[:16],
        "special": hashlib.sha256(
            np.where(np.isfinite(numbers), 0.0, numbers).tobytes()
        ).hexdigest()[:8],
        "mean": (math.fsum(np.abs(finite)) / numbers.size).hex(),
        "squares": squares.hex(),
        "sums": _texts(
            [math.fsum(part) for part in (finite, *np.array_split(weights * finite, BLOCKS))]
        ),
        "values": _texts(numbers[positions]),
    }


def _texts(numbers: Any) -> str:
    return " ".join(float(x).hex() for x in numbers)


def _numbers(texts: str) -> list[float]:
    return [float.fromhex(text) for text in texts.split()]


def difference(before: Any, after: Any) -> Difference | None:
    """How two encoded values differ, or None if they are identical."""
    if before == after:
        return None
    if isinstance(before, str) and isinstance(after, str):
        a, b = float.fromhex(before), float.fromhex(after)
        return _measured([a], [b], 0.0, f"{a!r} became {b!r}")
    if not (isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys()):
        return Difference(math.inf, f"{_short(before)} became {_short(after)}")
    if "entries" in before:
        return _of_entries(before["entries"], after["entries"])
    if "size" in before:
        size = max(float.fromhex(before["size"]), float.fromhex(after["size"]))
        a, b = float.fromhex(before["value"]), float.fromhex(after["value"])
        return _measured([a], [b], size, f"{a!r} became {b!r}, on a scale of {size:.3g}")
    if "values" in before and before["shape"] == after["shape"]:
        return _of_arrays(before, after)
    return Difference(math.inf, f"{_short(before)} became {_short(after)}")


def _of_entries(before: Mapping[str, Any], after: Mapping[str, Any]) -> Difference | None:
    found = {name: difference(before[name], after[name]) for name in before.keys() & after.keys()}
    worst = [
        (entry.relative, name, entry.text)
        for name, entry in sorted(found.items())
        if entry is not None
    ]
    alone = sorted(before.keys() ^ after.keys())
    if alone:
        return Difference(math.inf, f"only one of them has {', '.join(alone)}")
    if not worst:
        return None
    relative, name, text = max(worst)
    return Difference(relative, f"{name}: {text}")


def _of_arrays(before: Mapping[str, Any], after: Mapping[str, Any]) -> Difference:
    a, b = (_numbers(one["values"]) for one in (before, after))
    if "sha256" not in before:
        finite = [abs(x) for x in a + b if math.isfinite(x)]
        return _measured(
            a, b, math.fsum(finite) / len(finite) if finite else 0.0, "one of the values"
        )
    if before["special"] != after["special"]:
        return Difference(math.inf, "other places are NaN or infinite")
    mean = max(float.fromhex(before["mean"]), float.fromhex(after["mean"]))
    found = [
        _measured(a, b, mean, f"one of {POSITIONS} values"),
        _measured(
            [float.fromhex(before["squares"])],
            [float.fromhex(after["squares"])],
            0.0,
            "the sum of squares",
        ),
    ]
    for number, (x, y) in enumerate(
        zip(_numbers(before["sums"]), _numbers(after["sums"]), strict=True)
    ):
        text = f"the sum of block {number} of {BLOCKS}" if number else "the sum"
        found.append(_measured([x], [y], mean, text, sized=True))
    return max(found)


def _measured(
    before: list[float], after: list[float], size: float, text: str, *, sized: bool = False
) -> Difference:
    """The largest difference relative to the larger number or to a size, whichever is more.

    To the size alone if ``sized``.
    """
    worst = 0.0
    for a, b in zip(before, after, strict=True):
        if a == b or (math.isnan(a) and math.isnan(b)):
            continue
        if not (math.isfinite(a) and math.isfinite(b)):
            return Difference(math.inf, f"{text}: {a!r} became {b!r}")
        scale = size if sized and size > 0.0 else max(abs(a), abs(b), size)
        worst = max(worst, abs(a - b) / scale)
    return Difference(worst, text)


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 100 else f"{text[:97]}..."
