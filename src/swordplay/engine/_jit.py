"""The one place that names a numba flag.

- ``cache``: machine code is kept on disk, so that only the first process of an installation compiles: in NUMBA_CACHE_DIR if
  that is set, else beside the source, else in the user's cache folder; where none can be written to, each process compiles.
  numba's cache looks at one source file only; the digest in each kernel's name makes a change anywhere in the engine count.
- ``nogil``: kernels touch no Python object, so threads run many streams at once.
- ``error_model="numpy"``: a division by zero gives inf, as in the readable learners, instead of a branch at each division.
- ``_nrt=False``: kernels allocate nothing, so no array view has to be counted; counting cost more than the arithmetic.
- ``fastmath`` is a list of the liberties we allow: fused multiply-add, reordered sums, the sign of zero. Never ``ninf``:
  infinite rates and steps are part of the algorithm. ``nnan`` only for lanes, which run after a round has been checked.
- ``boundscheck``, only where the environment says SWORDPLAY_CHECKED: an index outside its array is then an error instead of
  whatever lies there. For tests; it costs most of the speed, and has a cache of its own.
- ``noalias``, only for lanes: their arrays never overlap, and without that promise no loop over the experts becomes
  vector instructions.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import config, types
from numba.core.compiler import Compiler
from numba.extending import intrinsic

F = TypeVar("F", bound=Callable[..., Any])

CHECKED = bool(os.environ.get("SWORDPLAY_CHECKED"))
_FLAGS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False} | ({"boundscheck": True} if CHECKED else {})
_LIBERTIES = {"contract", "reassoc", "nsz"}


class _Apart(Compiler):
    """numba's usual compiler, told that no two arrays of a function overlap; the decorator has no word for it."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)  # type: ignore[no-untyped-call]  # because numba is untyped
        self.state.flags.noalias = True


def _digest() -> str:
    """A name for the present state of all of the engine's source."""
    sources = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:12]


_DIGEST = _digest() + (".checked" if CHECKED else "")


def exact(function: F) -> F:
    """A piece that is computed in the order in which it is written; said aloud, as callers' liberties are inherited."""
    return cast(F, numba.njit(fastmath={"contract"}, forceinline=True, **_FLAGS)(function))


def part(function: F) -> F:
    """A piece of a kernel: compiled into the kernels that use it."""
    return cast(F, numba.njit(fastmath=_LIBERTIES, forceinline=True, **_FLAGS)(function))


def lanes(function: F) -> F:
    """A loop over experts: arrays that do not overlap, numbers that are not NaN."""
    return cast(F, numba.njit(fastmath=_LIBERTIES | {"nnan"}, pipeline_class=_Apart, forceinline=True, **_FLAGS)(function))


def kernel(function: F) -> F:
    """A kernel that Python calls: cached on disk."""
    function.__qualname__ = f"{function.__qualname__}.{_DIGEST}"
    try:
        return cast(F, numba.njit(cache=True, fastmath=_LIBERTIES, **_FLAGS)(function))
    except RuntimeError:  # no folder that may be written to: not beside the source, not in the user's own
        return cast(F, numba.njit(fastmath=_LIBERTIES, **_FLAGS)(function))


def _bits_of(number: float) -> int:
    return int(struct.unpack("<q", struct.pack("<d", number))[0])


def _number_of(bits: int) -> float:
    return float(struct.unpack("<d", struct.pack("<Q", bits & 0xFFFFFFFFFFFFFFFF))[0])


if getattr(config, "DISABLE_JIT"):  # noqa: B009  # because numba sets its settings at run time
    bits_of, number_of = _bits_of, _number_of
else:

    @intrinsic
    def bits_of(typing_context: Any, number: Any) -> Any:
        """The 64 bits of a double, as a whole number."""

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            return builder.bitcast(values[0], context.get_value_type(types.int64))

        return types.int64(types.float64), generate

    @intrinsic
    def number_of(typing_context: Any, bits: Any) -> Any:
        """The double with these 64 bits."""

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            return builder.bitcast(values[0], context.get_value_type(types.float64))

        return types.float64(types.int64), generate
