"""Machine code that comes with the package: nothing has to be compiled where it can be used.

``make kernels`` compiles all kernels for the processors of the last ten years (``PORTABLE``) and packs them into an archive for
each version of Python and numba (``ARCHIVE``). It is used by the same versions, on a processor that has all that it needs
(``NEEDS``), and for sources with the same digest; everybody else compiles as if it were not there. So does whoever says
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
from typing import Any
from zipfile import BadZipFile, ZipFile

import llvmlite.binding as llvm  # type: ignore[import-untyped]  # it has no types
import numba
from numba.core import config
from numba.core.caching import IndexDataCacheFile

PORTABLE = ("x86-64-v3", "")
"""What it is compiled for, as NUMBA_CPU_NAME and NUMBA_CPU_FEATURES: processors since 2015,"""
NEEDS = frozenset(
    [
        "avx",
        "avx2",
        "bmi",
        "bmi2",
        "cx16",
        "f16c",
        "fma",
        "lzcnt",
        "movbe",
        "popcnt",
        "sahf",
        "sse3",
        "sse4.1",
        "sse4.2",
        "ssse3",
    ]
)
"""and what that is, one by one."""
FOLDER = Path(__file__).parents[1] / "kernels"
"""Where the archives are."""
PYTHON = f"py{sys.version_info[0]}{sys.version_info[1]}{getattr(sys, 'abiflags', '')}"
ARCHIVE = FOLDER / f"{PYTHON}-{sys.platform}-numba-{numba.__version__}.zip"
"""That of this Python and this numba, if there is one."""


@functools.cache
def names() -> frozenset[str]:
    """What is in the archive; nothing where there is none, none that would run here, or none that is wanted."""
    named = config.CPU_NAME is not None or config.CPU_FEATURES is not None
    if named or os.environ.get("SWORDPLAY_SHIPPED") == "0" or not ARCHIVE.is_file():
        return frozenset()
    has = llvm.get_host_cpu_features()
    try:
        with ZipFile(ARCHIVE) as archive:
            return frozenset(archive.namelist()) if all(has.get(name) for name in NEEDS) else frozenset()
    except (OSError, BadZipFile):
        return frozenset()


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
        """What was compiled for these types and this processor, or None; also where the archive is damaged."""
        if self._index_name not in names():
            return None
        try:
            # Opened anew every time: processes that were forked would share the place where it is read.
            with ZipFile(ARCHIVE) as archive:
                found = self._entries(archive.read(self._index_name)).get(key)
                return None if found is None else pickle.loads(archive.read(found))
        except (OSError, KeyError, BadZipFile, zlib.error):
            return None

    def _entries(self, index: bytes) -> dict[Any, str]:
        """Which types there is machine code for, and under which names, as numba writes it: a version, then all else."""
        file = io.BytesIO(index)
        if pickle.load(file) != self._version:
            return {}
        stamp, entries = pickle.load(file)
        return dict(entries) if stamp == self._source_stamp else {}
