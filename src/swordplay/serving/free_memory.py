"""Returns freed memory to the operating system (glibc's malloc).

A checkpoint or a batch allocates a few large blocks for a short time. By default malloc keeps the
gaps they leave between small blocks, a little more each time, so that the process seems to grow.
"""

from __future__ import annotations

import contextlib
import ctypes
from typing import Any

LARGE_BLOCK_BYTES = 256 * 2**10
"""Blocks of this size are returned as soon as they are freed.

By default malloc raises this threshold to many megabytes while the process runs.
"""
M_MMAP_THRESHOLD = -3
"""Parameter of mallopt."""


def _load_libc() -> Any:
    """The C library, if it has glibc's functions; else None."""
    with contextlib.suppress(AttributeError, OSError, TypeError):
        libc = ctypes.CDLL(None)
        if libc.mallopt and libc.malloc_trim:
            return libc
    return None


_libc = _load_libc()


def set_large_block_threshold() -> bool:
    """From now on return large blocks to the system when they are freed; False if unsupported."""
    return _libc is not None and bool(_libc.mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES))


def return_free_memory() -> bool:
    """Return all freed memory to the system now; False if unsupported."""
    if _libc is not None:
        _libc.malloc_trim(0)
    return _libc is not None
