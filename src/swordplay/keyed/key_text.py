"""Keys as bytes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np


def join(keys: Sequence[str]) -> bytes:
    """Keys as bytes: how many, their lengths, their letters."""
    letters = [key.encode() for key in keys]
    return np.array([len(keys), *map(len, letters)], dtype="<u4").tobytes() + b"".join(letters)


def split(data: bytes) -> list[str]:
    """Keys from bytes."""
    count = int(np.frombuffer(data, "<u4", 1)[0])
    start = 4 * (count + 1)
    ends = np.cumsum(np.frombuffer(data, "<u4", count, 4), dtype=np.int64) + start
    return [data[a:b].decode() for a, b in pairwise([start, *ends.tolist()])]
