"""Where machine code is kept from one process to the next.

A kernel is looked for in three folders, one after the other: ``swordplay`` in NUMBA_CACHE_DIR if that is set, else
``__pycache__`` beside its source, and that of the user. What is compiled goes to the first of them that can be written to.
Names of files hold a digest of all sources that a kernel is made of, and neither dates nor paths: a folder that was filled
elsewhere, by ``swordplay warm``, does wherever the same versions of Python, numba and swordplay run on the same kind of
processor, also where nothing can be written.

Machine code for many processors comes with the package (``shipped_code``). It is looked at last: what ``swordplay warm`` has
compiled for this very processor goes before it.
"""

# mypy: allow-untyped-calls, allow-untyped-decorators, allow-subclassing-any, disable-error-code="attr-defined"
# because numba is untyped
from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm  # type: ignore[import-untyped]  # it has no types
import numba
from numba.core import config
from numba.core.caching import IndexDataCacheFile, _Cache
from numba.core.compiler import CompileResult
from numba.core.event import Listener, register
from numba.misc.appdirs import AppDirs

from swordplay.base import shipped_code


def folders(source: Path) -> list[Path]:
    """Where machine code of the kernels of a source file may be, in the order in which it is looked for."""
    if (found := given()) is not None:
        return [found]
    return [source.parent / "__pycache__", Path(AppDirs(appname="swordplay", appauthor=False).user_cache_dir) / "kernels"]


def given() -> Path | None:
    """The folder of NUMBA_CACHE_DIR, if that is set."""
    found = getattr(config, "CACHE_DIR")  # noqa: B009  # because numba sets its settings at run time
    return Path(found) / "swordplay" if found else None


def kept() -> set[Path]:
    """All files with machine code of the package that was compiled here, or for here."""
    package = Path(__file__).parents[1]
    found = given()
    places = [*package.rglob("__pycache__"), folders(package)[-1]] if found is None else [found]
    return {file for place in places for file in place.glob("*.nbc")}


_INSTALLED = str(Path(numba.__file__).parents[1]).encode()
"""Where numba is."""
_expected: dict[Path, Callable[[], object]] = {}


def expect(source: Path, wait: Callable[[], object]) -> None:
    """Somebody else is compiling the kernels of a source file: whoever comes to one of them waits for that, and looks again."""
    _expected[source] = wait


class Stopwatch(Listener):
    """Seconds that this process has spent compiling, or waiting for somebody else who did."""

    def __init__(self) -> None:
        self.seconds, self._depth, self._began = 0.0, 0, 0.0

    def on_start(self, event: Any) -> None:
        """A function begins to be compiled, perhaps on the way to another one."""
        self._began = self._began if self._depth else time.monotonic()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        """It has ended, well or not."""
        self._depth -= 1
        self.seconds += 0.0 if self._depth else time.monotonic() - self._began


stopwatch = Stopwatch()
register("numba:compile", stopwatch)


def _bare(found: Any) -> tuple[Any, ...]:
    """What is kept of a kernel: its machine code, and how it is called.

    Not LLVM's notation, which is for kernels that call it, and no kernel calls another: reading it took longer than all the
    rest, and made files twice as large. Nor the surroundings of its parts, a hundred of them, where they have no constants that
    are Python's objects: those of numba's own parts would have half of numba imported. Nor where numba is installed: it may be
    used elsewhere.
    """
    (name, kind, (code, _)), *called, types, again, parts = found._reduce()
    code = code.replace(_INSTALLED, b"." * len(_INSTALLED))  # numba's own errors say where they were raised
    library = (name, kind, (code, llvm.parse_assembly("").as_bitcode()))
    return library, *called, types[:0], again, tuple(part for part in parts if part.consts)


def _rebuilt(target: Any, library: Any, called: Any, *more: Any) -> Any:
    """A kernel from what was kept of it; which names there are in its machine code, numba would read from the notation."""
    target.codegen()._engine._defined_symbols.update([called.llvm_func_name, called.llvm_cpython_wrapper_name, called.env_name])
    found = CompileResult._rebuild(target, library, called, *more)
    found.library._get_module_for_linking = _refuse_to_be_called
    return found


def _refuse_to_be_called() -> Any:
    raise TypeError("a kernel cannot call another one, of which only machine code is kept. Let both call the same piece.")


class KeptCode(_Cache):
    """The machine code of one kernel on disk, for numba to ask.

    Parameters
    ----------
    function
        The kernel as it is written.
    digest
        Of its sources.
    """

    def __init__(self, function: Any, digest: str) -> None:
        self.source = Path(function.__code__.co_filename)
        self.name, self.digest = f"{self.source.stem}.{function.__name__}-{digest}.{shipped_code.PYTHON}", digest

    @property
    def cache_path(self) -> str:
        """The first of the folders."""
        return str(folders(self.source)[0])

    def _files(self) -> list[Any]:
        return [IndexDataCacheFile(str(folder), self.name, self.digest) for folder in folders(self.source)]

    def load_overload(self, signature: Any, target: Any) -> Any:
        """What was compiled for these types, or None.

        numba would first have ``target`` learn all that it can compile, some 0.3 s with scipy.linalg on the way. Machine code
        contains what it calls, and whoever compiles has all that learned then (``CompilerBase``).
        """
        found = self._found(signature, target)
        if found is None and self.source in _expected:
            began = time.monotonic()
            _expected.pop(self.source)()
            stopwatch.seconds += time.monotonic() - began
            found = self._found(signature, target)
        return found

    def _found(self, signature: Any, target: Any) -> Any:
        key = signature, target.codegen().magic_tuple()
        for file in (*self._files(), shipped_code.ShippedFile(self.name, self.digest)):
            with contextlib.suppress(OSError):
                if (found := file.load(key)) is not None:
                    return _rebuilt(target, *found)
        return None

    def save_overload(self, signature: Any, found: Any) -> None:
        """Keep what was compiled, in the first folder that can be written to; without one, each process compiles."""
        if found.library.has_dynamic_globals:  # addresses of this process: no other could use them
            return
        data = _bare(found)
        for folder, file in zip(folders(self.source), self._files(), strict=True):
            with contextlib.suppress(OSError):
                os.makedirs(folder, exist_ok=True)
                file.save((signature, found.codegen.magic_tuple()), data)
                return

    def enable(self) -> None:
        """It always is."""

    def disable(self) -> None:
        """It never is."""

    def flush(self) -> None:
        """Forget what is kept."""
        for file in self._files():
            with contextlib.suppress(OSError):
                file.flush()
