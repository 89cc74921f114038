"""What a row is recognised by when it comes again under the same id."""

from __future__ import annotations

import hashlib
import marshal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swordplay.estimators.dict_columns import NumericRows

Print = str | int
"""A text of a row that was read by itself.

A whole number of one that came in a table of numbers.
"""
Prints = NDArray[np.uint64]
"""Those of a table."""
FACTOR = np.uint64(0x9E3779B97F4A7C15)
"""Odd, and its bits look random: 2^64 over the golden ratio."""
HALF = np.uint64(32)
NUMBERS = frozenset({int, float})


def fingerprint(row: dict[str, Any]) -> str:
    """Of a row by itself: the same if it is written the same way."""
    return hashlib.blake2b(marshal.dumps(row, 2), digest_size=8).hexdigest()


def fingerprints(rows: NumericRows) -> Prints:
    """Hashes of the rows of a table; the order of the names does not matter."""
    order = sorted(range(len(rows.names)), key=rows.names.__getitem__)
    sorted_names = "\0".join(rows.names[k] for k in order)
    names = hashlib.blake2b(sorted_names.encode("utf-8"), digest_size=8).digest()
    prints = np.full(len(rows), int.from_bytes(names, "little"), dtype=np.uint64)
    for column in np.ascontiguousarray(rows.values[:, order].T).view(np.uint64):
        prints ^= column
        prints *= FACTOR  # modulo 2^64
        prints ^= prints >> HALF
    return prints


def is_same(known: Print, row: dict[str, Any]) -> bool:
    """Whether a row is the one that is known by this."""
    if type(known) is str:
        return known == fingerprint(row)
    if not row or not NUMBERS.issuperset(map(type, row.values())):
        return False
    try:
        values = np.array([list(map(float, row.values()))])
    except OverflowError:
        return False
    return known == int(fingerprints(NumericRows(list(row), values))[0])


def is_print(value: Any) -> bool:
    """Whether it may be saved as one."""
    return type(value) is str or (type(value) is int and 0 <= value < 2**64)
