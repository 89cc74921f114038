"""Cache of kernels on disk: one file per kernel and argument types, JSON header and object code.

Numba compiles a kernel when it is first called. ``KernelCache`` takes the place of numba's own
cache, whose files are pickles: reading one executes what it says. A kernel file here is

- a line with the name of the format,
- a line with the SHA-256 of all that follows,
- a line of JSON: what the machine code was made for (versions, processor, digest of sources,
  argument types), and the names in it by which it is called,
- the object code.

A file that is missing, cut, damaged, or made for anything else is compiled again and overwritten.
The checksum tells damage and says nothing about the author of a file: ``kernel_folders`` decides
which folders and files are trusted.

A kernel is looked for in the folder that a wheel carries, then among what was compiled here.
Bundled machine code is for kinds of processors (``TARGETS``), not for the very one at hand;
SWORDPLAY_BUNDLED_KERNELS=0 ignores it, as ``swordplay warm`` does.
"""

# numba has no types for what this module uses.
# mypy: allow-untyped-calls, allow-untyped-decorators, allow-subclassing-any
# mypy: disable-error-code="attr-defined"

import functools
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite  # type: ignore[import-untyped]  # it has no types
import llvmlite.binding as llvm  # type: ignore[import-untyped]
import numba
from numba.core import config, types
from numba.core.compiler import CompileResult
from numba.core.environment import Environment
from numba.core.event import Listener, register
from numba.core.funcdesc import PythonFunctionDescriptor
from numba.core.typing.templates import signature as signature_of

from swordplay.compile.kernel_folders import BUNDLED, KernelFolder, bundled_folder, own_folders
from swordplay.compile.source_digest import PYTHON, source_digest

FORMAT = b"swordplay kernel 1\n"
CHECKED = bool(os.environ.get("SWORDPLAY_CHECKED"))
"""Whether kernels check every index (``jit``): they are other machine code, with files of their
own.
"""
RESULTS = {str(kind): kind for kind in (types.none, types.boolean, types.int64, types.float64)}
"""Types that a kernel may return, alone or in a tuple, by their names in a header."""


class CpuTarget(NamedTuple):
    """A kind of processor for which machine code is bundled."""

    name: str
    features: str
    """This and the name, as NUMBA_CPU_NAME and NUMBA_CPU_FEATURES have it."""
    needs: frozenset[str]
    """What a processor must have, one by one."""


_V2, _V3 = "cx16 popcnt sahf sse3 sse4.1 sse4.2 ssse3", "avx avx2 bmi bmi2 f16c fma lzcnt movbe"
_V4 = "avx512bw avx512cd avx512dq avx512f avx512vl"
TARGETS = (
    # LLVM would leave half of the wide vectors unused, for the sake of the first processors that
    # had them.
    CpuTarget("x86-64-v4", "-prefer-256-bit", frozenset(f"{_V2} {_V3} {_V4}".split())),
    CpuTarget("x86-64-v3", "", frozenset(f"{_V2} {_V3}".split())),
)
"""The best first: processors with vectors of 512 bits, and all since 2015."""


@functools.cache
def bundled_target() -> CpuTarget | None:
    """The best bundled kind that runs on this processor.

    None if there is none, or none is wanted.
    """
    named = os.environ.get("NUMBA_CPU_NAME") or os.environ.get("NUMBA_CPU_FEATURES")
    if named or os.environ.get("SWORDPLAY_BUNDLED_KERNELS") == "0" or not BUNDLED.is_dir():
        return None
    has = llvm.get_host_cpu_features()
    return next((one for one in TARGETS if all(has.get(name) for name in one.needs)), None)


def bundled_folders() -> list[KernelFolder]:
    """The package's folder of machine code that runs on this processor, if there is one."""
    best = bundled_target()
    return [bundled_folder(best.name)] if best else []


def has_kernels(source: Path) -> bool:
    """Whether machine code of any kernel of a source file is on disk."""
    from numba.core.registry import cpu_target

    start, target = f"{source.stem}.", cpu_target.target_context
    for folder in (*bundled_folders(), *own_folders(source)):
        made = f"-{_short(_made_for(source, _codegen_of(target, folder)))}-"
        if any(
            name.startswith(start) and made in name and name.endswith(".kernel")
            for name in folder.names()
        ):
            return True
    return False


_awaited: dict[Path, Callable[[], object]] = {}


def wait_for_other_process(source: Path, wait: Callable[[], object]) -> None:
    """Before compiling kernels of this file, wait for another process that compiles them.

    Then the cache is read again.
    """
    _awaited[source] = wait


def _on_terminal(line: str) -> None:
    if sys.stderr is not None and sys.stderr.isatty():
        print(f"swordplay: {line}", file=sys.stderr)


_say: Callable[[str], None] = _on_terminal


def say_before_compiling(say: Callable[[str], None]) -> None:
    """Say with this function, once a process, that kernels are compiled.

    By default a terminal is told, and nothing else.
    """
    global _say
    _say = say


@functools.cache
def _say_once() -> None:
    _say(
        "Compiling for the first use, which takes up to half a minute; later runs read the "
        "machine code from disk."
    )


class CompileTimer(Listener):
    """Seconds that this process has spent compiling, or waiting for one that compiles."""

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


compile_timer = CompileTimer()
register("numba:compile", compile_timer)


class KernelCache:
    """The machine code of one kernel on disk.

    Numba's dispatcher asks it before it compiles, and hands it what was compiled.

    Parameters
    ----------
    function
        The kernel as it is written.
    """

    def __init__(self, function: Any) -> None:
        self.function = function
        self.source = Path(function.__code__.co_filename)
        self.name = f"{self.source.stem}.{function.__name__}"

    @property
    def cache_path(self) -> str:
        """The folder that is written to first."""
        return str(own_folders(self.source)[0].path)

    def load_overload(self, signature: Any, target: Any) -> Any:
        """What was compiled for these argument types, or None.

        numba would first import all that it can compile, some 0.3 s with ``scipy.linalg``. Machine
        code needs none of it.
        """
        found = self._load(tuple(signature), target)
        if found is None:
            _say_once()
        if found is None and self.source in _awaited:
            began = time.monotonic()
            _awaited.pop(self.source)()
            compile_timer.seconds += time.monotonic() - began
            found = self._load(tuple(signature), target)
        return found

    def save_overload(self, signature: Any, found: Any) -> None:
        """Write what was compiled to the first folder that can be written to.

        Without one, each process compiles.
        """
        header = self._header(found)
        if header is None:
            return
        wanted = self._wanted(tuple(signature), found.codegen.magic_tuple())
        # numba's own errors hold the path where they are raised. Without it, files are the same
        # wherever they are made.
        code = found.library._get_compiled_object().replace(_NUMBA_PATH, b"." * len(_NUMBA_PATH))
        data, name = encoded({**wanted, **header}, code), self._file_name(wanted)
        any(folder.write(name, data) for folder in own_folders(self.source))

    def enable(self) -> None:
        """It always is."""

    def disable(self) -> None:
        """It never is."""

    def flush(self) -> None:
        """Nothing: files of other sources or versions are never read."""

    def _load(self, arguments: tuple[Any, ...], target: Any) -> Any:
        for folder in (*bundled_folders(), *own_folders(self.source)):
            wanted = self._wanted(arguments, _codegen_of(target, folder))
            header, code = decoded(folder.read(self._file_name(wanted)))
            if (
                wanted.items() <= header.items()
                and (result := _result_type(header["result"])) is not None
            ):
                return self._rebuilt(header, code, arguments, result, target)
        return None

    def _wanted(self, arguments: tuple[Any, ...], codegen: tuple[str, ...]) -> dict[str, Any]:
        """The part of a header that must match."""
        kernel = f"{self.function.__module__}.{self.function.__qualname__}"
        made_for = _made_for(self.source, codegen)
        return {
            "made for": made_for,
            "kernel": kernel,
            "arguments": [str(kind) for kind in arguments],
        }

    def _file_name(self, wanted: dict[str, Any]) -> str:
        return f"{self.name}-{_short(wanted['made for'])}-{_short([wanted['kernel'], wanted['arguments']])}.kernel"  # noqa: E501

    def _header(self, found: Any) -> dict[str, Any] | None:
        """How compiled machine code is called.

        None if it needs more than a header and object code.
        """
        result = _result_names(found.signature.return_type)
        # Addresses of this process, Python objects as constants, loops in Python: no other process
        # could use them.
        if (
            found.library.has_dynamic_globals
            or found.objectmode
            or found.lifted
            or found.reload_init
            or result is None
        ):
            return None
        if found.environment.consts or any(
            one.consts for one in found._find_referenced_environments()
        ):
            return None
        return {
            "result": result,
            "library": found.library.name,
            "unique": found.fndesc.unique_name,
            "symbol": found.fndesc.mangled_name,
            "environment": found.fndesc.env_name,
        }

    def _rebuilt(
        self,
        header: dict[str, Any],
        code: bytes,
        arguments: tuple[Any, ...],
        result: Any,
        target: Any,
    ) -> Any:
        """numba's result of compiling, from a kernel file."""
        described = PythonFunctionDescriptor(
            native=True,
            modname=self.function.__module__,
            qualname=self.function.__qualname__,
            unique_name=header["unique"],
            doc="",
            typemap=None,
            restype=result,
            calltypes=None,
            args=self.function.__code__.co_varnames[: self.function.__code__.co_argcount],
            kws=(),
            mangler=lambda *_, **__: header["symbol"],
            argtypes=arguments,
            env_name=header["environment"],
        )
        # numba would read the names in the object code from LLVM's notation of it, which is left
        # out: it is only for kernels that are linked into others, and reading it took longer than
        # all the rest.
        names = described.llvm_func_name, described.llvm_cpython_wrapper_name, described.env_name
        target.codegen()._engine._defined_symbols.update(names)
        library = header["library"], "object", (code, _empty_module())
        environment = Environment.from_fndesc(described)
        # Arguments: object mode, lifted loops, type annotation, functions to run first,
        # environments of inlined functions.
        found = CompileResult._rebuild(
            target,
            library,
            described,
            environment,
            signature_of(result, *arguments),
            False,
            (),
            "",
            [],
            (),
        )
        found.library._get_module_for_linking = _refuse_to_be_called
        return found


_NUMBA_PATH = str(Path(numba.__file__).parents[1]).encode()


def encoded(header: dict[str, Any], code: bytes) -> bytes:
    """A kernel file."""
    rest = json.dumps(header, sort_keys=True).encode() + b"\n" + code
    return FORMAT + hashlib.sha256(rest).hexdigest().encode() + b"\n" + rest


def decoded(data: bytes | None) -> tuple[dict[str, Any], bytes]:
    """Header and object code of a kernel file.

    An empty header if it is missing, empty, cut, damaged or something else.
    """
    start = len(FORMAT) + 65
    rest = b"" if data is None else data[start:]
    if data is None or data[:start] != FORMAT + hashlib.sha256(rest).hexdigest().encode() + b"\n":
        return {}, b""
    line, _, code = rest.partition(b"\n")
    try:
        header = json.loads(line)
    except ValueError:
        return {}, b""
    return (header, code) if isinstance(header, dict) else ({}, b"")


def _made_for(source: Path, codegen: tuple[str, ...]) -> dict[str, Any]:
    """Versions, processor, settings and source digest that machine code of a file depends on."""
    settings = [
        repr(getattr(config.OPT, "_raw_value", config.OPT)),
        config.BOUNDSCHECK,
        config.LOOP_VECTORIZE,
    ]
    return {
        "python": PYTHON,
        "platform": sys.platform,
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "target": list(codegen),
        "settings": [*settings, CHECKED],
        "sources": _digest(source),
    }


@functools.cache
def _digest(source: Path) -> str:
    return source_digest(source, bundled_folders(), own_folders(source))


def _codegen_of(target: Any, folder: KernelFolder) -> tuple[str, ...]:
    """LLVM's triple, processor and features of the machine code in a folder."""
    system, name, features = target.codegen().magic_tuple()
    best = bundled_target() if folder.top == BUNDLED else None
    return (system, best.name, best.features) if best else (system, name, features)


def _short(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def _result_names(result: Any) -> list[str] | str | None:
    """The type of a result as it stands in a header; None if a header has no words for it."""
    if isinstance(result, types.BaseTuple) and not isinstance(result, types.BaseNamedTuple):
        names = [str(kind) for kind in result]
        return names if set(names) <= set(RESULTS) else None
    return str(result) if str(result) in RESULTS else None


def _result_type(names: Any) -> Any:
    """The type of a result from a header; None for a name that is not known."""
    kinds = [RESULTS.get(name) for name in (names if isinstance(names, list) else [names])]
    if None in kinds:
        return None
    return types.Tuple(kinds) if isinstance(names, list) else kinds[0]


@functools.cache
def _empty_module() -> bytes:
    return bytes(llvm.parse_assembly("").as_bitcode())


def _refuse_to_be_called() -> Any:
    raise TypeError(
        "a kernel cannot call another one, of which only machine code is kept. Let both call the "
        "same inline function."
    )
