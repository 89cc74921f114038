"""Machine code that comes with the package: nothing has to be compiled where it can be used.

``make kernels`` compiles all kernels for the processors of the last ten years, in two makes (``MAKES``), and packs them into an
archive for each version of Python and numba (``ARCHIVE``). It is used by the same versions, on a processor that has all that a
make needs, and for sources with the same digest; everybody else compiles as if it were not there. So does whoever says
SWORDPLAY_SHIPPED=0, as ``swordplay warm`` does, to have machine code for this very processor (docs/decisions/0027).
"""

# mypy: allow-untyped-calls, allow-subclassing-any, disable-error-code="attr-defined"
# because numba is untyped
from __future__ import annotations

import functools
import io
import os
import pickle
import sys
import zlib
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile, ZipFile

import llvmlite.binding as llvm  # type: ignore[import-untyped]  # it has no types
import numba
from numba.core import config
from numba.core.caching import IndexDataCacheFile


class Make(NamedTuple):
    """A kind of processor that there is machine code for."""

    name: str
    features: str
    """This and the name, as NUMBA_CPU_NAME and NUMBA_CPU_FEATURES have it."""
    needs: frozenset[str]
    """What a processor must have, one by one."""


_V2, _V3 = "cx16 popcnt sahf sse3 sse4.1 sse4.2 ssse3", "avx avx2 bmi bmi2 f16c fma lzcnt movbe"
_V4 = "avx512bw avx512cd avx512dq avx512f avx512vl"
MAKES = (
    # LLVM would leave half of the wide vectors alone, for the sake of the first processors that had them.
    Make("x86-64-v4", "-prefer-256-bit", frozenset(f"{_V2} {_V3} {_V4}".split())),
    Make("x86-64-v3", "", frozenset(f"{_V2} {_V3}".split())),
)
"""The best first: processors with vectors of 512 bits, and all since 2015."""
FOLDER = Path(__file__).parents[1] / "kernels"
"""Where the archives are."""
PYTHON = f"py{sys.version_info[0]}{sys.version_info[1]}{getattr(sys, 'abiflags', '')}"
ARCHIVE = FOLDER / f"{PYTHON}-{sys.platform}-numba-{numba.__version__}.zip"
"""That of this Python and this numba, if there is one."""


@functools.cache
def make() -> Make | None:
    """The best that would run here; None where none does, or none is wanted."""
    named = config.CPU_NAME is not None or config.CPU_FEATURES is not None
    if named or os.environ.get("SWORDPLAY_SHIPPED") == "0":
        return None
    has = llvm.get_host_cpu_features()
    return next((one for one in MAKES if all(has.get(name) for name in one.needs)), None)


@functools.cache
def names() -> frozenset[str]:
    """What there is of that make; nothing where there is none, or no archive."""
    best = make()
    if best is None:
        return frozenset()
    try:
        with ZipFile(ARCHIVE) as archive:
            every = archive.namelist()
    except (OSError, BadZipFile):
        return frozenset()
    return frozenset(name.removeprefix(f"{best.name}/") for name in every if name.startswith(f"{best.name}/"))


def holds(start: str, digest: str) -> bool:
    """Whether there is machine code of a kernel whose name begins so and goes on with this digest."""
    return any(name.startswith(start) and digest in name for name in names())


class ShippedFile(IndexDataCacheFile):
    """The machine code of one kernel in the archive, which :class:`~swordplay.base.kept_code.KeptCode` asks last.

    Parameters
    ----------
    name, digest
        As the kernel is kept elsewhere.
    """

    def __init__(self, name: str, digest: str) -> None:
        super().__init__("", name, digest)

    def load(self, key: Any) -> Any:
        """What was compiled for these types and this system, or None; also where the archive is damaged."""
        best, (signature, (system, *_)) = make(), key
        if best is None or self._index_name not in names():
            return None
        try:
            # Opened anew every time: processes that were forked would share the place where it is read.
            with ZipFile(ARCHIVE) as archive:
                entries = self._entries(archive.read(f"{best.name}/{self._index_name}"))
                found = entries.get((signature, (system, best.name, best.features)))
                return None if found is None else pickle.loads(archive.read(f"{best.name}/{found}"))
        except (OSError, KeyError, BadZipFile, zlib.error):
            return None

    def _entries(self, index: bytes) -> dict[Any, str]:
        """Which types there is machine code for, and under which names, as numba writes it: a version, then all else."""
        file = io.BytesIO(index)
        if pickle.load(file) != self._version:
            return {}
        stamp, entries = pickle.load(file)
        return dict(entries) if stamp == self._source_stamp else {}
