"""Where the records and lines of a text end."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def newlines(block: bytes) -> NDArray[np.int64]:
    """Where lines end: line feeds, and carriage returns without one.

    The offsets of their last bytes.
    """
    data = np.frombuffer(block, np.uint8)
    feeds = data == ord("\n")
    if b"\r" in block:
        feeds |= (data == ord("\r")) & ~np.append(feeds[1:], False)
    return np.flatnonzero(feeds)


def count_lines(block: bytes) -> int:
    """How many lines end in a block."""
    feeds = int(
        np.count_nonzero(np.frombuffer(block, np.uint8) == ord("\n"))
    )  # a fifth of the time that bytes.count takes
    return feeds if b"\r" not in block else feeds + block.count(b"\r") - block.count(b"\r\n")


def record_ends(block: bytes, delimiter: str) -> NDArray[np.int64]:
    """Ends of the complete records of a block; nobody counts fields for that."""
    return newlines(block) + 1 if b'"' not in block else boundaries(block, delimiter)[0]


def boundaries(block: bytes, delimiter: str) -> tuple[NDArray[np.int64], NDArray[np.int64], bool]:
    """Ends and numbers of fields of the complete records of a block, and whether it ends within
    quotes.
    """
    ends = newlines(block) + 1
    if b'"' in block:
        from swordplay.tables.csv_scan import (
            scan,
        )  # numba takes its time, and most tables of numbers have no quotes

        fields = np.empty_like(ends)
        count, quoted = scan(np.frombuffer(block, np.uint8), ord(delimiter), ends, fields)
        return ends[:count], fields[:count], quoted
    delimiters = np.flatnonzero(np.frombuffer(block, np.uint8) == ord(delimiter))
    return ends, np.diff(np.searchsorted(delimiters, ends), prepend=0) + 1, False


def pieces(
    block: bytes, ends: NDArray[np.int64], blank: bytes
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Starts and ends of the records that hold something, each without the ``blank`` bytes that
    it begins with.
    """
    starts = np.append(np.int64(0), ends[:-1])[: len(ends)]
    begin = np.frombuffer(block, np.uint8)[np.minimum(starts, len(block) - 1)]
    for k in np.flatnonzero(
        np.isin(begin, np.frombuffer(blank, np.uint8))
    ).tolist():  # few records begin with any
        starts[k] = ends[k] - len(block[starts[k] : ends[k]].lstrip(blank))
    return starts[starts < ends], ends[starts < ends]
