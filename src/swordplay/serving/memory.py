"""Memory that nobody uses goes back to the system.

A checkpoint is a few large pieces for a moment, and so is a batch, among thousands of small ones
that stay. What is freed in between is kept by the C library for later, a little more each time: a
server that holds the same would seem to grow.
"""

from __future__ import annotations

import contextlib
import ctypes
from typing import Any

LARGE = 256 * 2**10
"""Bytes of a piece that goes back as soon as it is free.

Left to itself the C library raises this to many megabytes.
"""
MMAP_THRESHOLD = -3
"""What it calls this."""


def _library() -> Any:
    """The C library, if it is one that can be told (that of GNU is)."""
    with contextlib.suppress(AttributeError, OSError, TypeError):
        found = ctypes.CDLL(None)
        if found.mallopt and found.malloc_trim:
            return found
    return None


_found = _library()


def return_large() -> bool:
    """Let large pieces go back at once from now on; False where nothing can be done about it."""
    return _found is not None and bool(_found.mallopt(MMAP_THRESHOLD, LARGE))


def give_back() -> bool:
    """Give back all that is free; False where nothing can be done about it."""
    if _found is not None:
        _found.malloc_trim(0)
    return _found is not None
