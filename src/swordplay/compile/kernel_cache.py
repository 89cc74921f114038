"""Cache of compiled kernels on disk: one file per kernel and argument types.

Numba compiles a kernel when it is first called. ``KernelCache`` takes the place of numba's own
cache, whose files are pickles: reading one executes what it says. A kernel file here is

- a line with the name of the format,
- a line with the SHA-256 of all that follows,
- a line of JSON, the header: what the machine code was made for (versions, processor, digest of
  sources, argument types), and the symbols by which it is called,
- the object code.

If the file is missing, cut, damaged, or made for anything else, the kernel is compiled again and
the file overwritten. The checksum detects damage; it does not prove who wrote the file:
``kernel_folders`` decides which folders and files are trusted.

The folder that a wheel carries is searched first, then the folders of what was compiled on this
machine. Bundled machine code is made for kinds of processors (``TARGETS``), not for one model of
processor; SWORDPLAY_BUNDLED_KERNELS=0 ignores it, and so does ``swordplay warm``.

A kernel freezes the constants and functions that it uses, from whichever file they come. Its source
digest therefore covers its own file and all files of the package that this one imports, directly or
through others. It is taken over syntax trees without docstrings, so that an edited comment does not
cause a compilation. Parsing takes 0.1 to 0.2 s, too long for every start, so the digest of the
trees is kept in a file that is named by the digest of the bytes. That is as safe as reading the
trees, since equal bytes have equal trees. Modification times are not used.
"""

# numba has no types for what this module uses.
# mypy: allow-untyped-calls, allow-untyped-decorators, allow-subclassing-any
# mypy: disable-error-code="attr-defined"

import ast
import functools
import hashlib
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
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

from swordplay.compile.kernel_folders import (
    BUNDLED,
    PACKAGE,
    KernelFolder,
    bundled_folder,
    own_folders,
)

FORMAT = b"swordplay kernel 1\n"
CHECKED = bool(os.environ.get("SWORDPLAY_CHECKED"))
"""Whether kernels check every index (``jit``). Such machine code is kept in files of its own."""
PYTHON = f"py{sys.version_info[0]}{sys.version_info[1]}{getattr(sys, 'abiflags', '')}"
"""Version of Python: syntax trees and machine code differ between versions."""
NOT_FROZEN = frozenset({PACKAGE / "compile" / "kernel_cache.py"})
"""Files that kernels import without freezing anything of them, left out of the digest.

This file decides where machine code is kept, not what it computes.
"""
RESULTS = {str(kind): kind for kind in (types.none, types.boolean, types.int64, types.float64)}
"""Types that a kernel may return, alone or in a tuple, by their names in a header."""


class CpuTarget(NamedTuple):
    """A kind of processor for which machine code is bundled."""

    name: str
    features: str
    """Value of NUMBA_CPU_FEATURES for this kind; ``name`` is the value of NUMBA_CPU_NAME."""
    needs: frozenset[str]
    """Features that a processor must have."""


_V2, _V3 = "cx16 popcnt sahf sse3 sse4.1 sse4.2 ssse3", "avx avx2 bmi bmi2 f16c fma lzcnt movbe"
_V4 = "avx512bw avx512cd avx512dq avx512f avx512vl"
TARGETS = (
    # By default LLVM uses vectors of 256 bits even here, because the first processors with vectors
    # of 512 bits slowed down when they used them.
    CpuTarget("x86-64-v4", "-prefer-256-bit", frozenset(f"{_V2} {_V3} {_V4}".split())),
    CpuTarget("x86-64-v3", "", frozenset(f"{_V2} {_V3}".split())),
)
"""Kinds of processors, the best first: those with vectors of 512 bits, and most since 2015."""


@functools.cache
def bundled_target() -> CpuTarget | None:
    """Best bundled kind for this processor; None if there is none or it is switched off."""
    named = os.environ.get("NUMBA_CPU_NAME") or os.environ.get("NUMBA_CPU_FEATURES")
    if named or os.environ.get("SWORDPLAY_BUNDLED_KERNELS") == "0" or not BUNDLED.is_dir():
        return None
    has = llvm.get_host_cpu_features()
    return next((one for one in TARGETS if all(has.get(name) for name in one.needs)), None)


def bundled_folders() -> list[KernelFolder]:
    """Folder of bundled machine code that runs on this processor; an empty list if none does."""
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
    """Before kernels of this file are compiled, call ``wait``, then read the cache again.

    ``wait`` returns when another process that compiles these kernels has ended.
    """
    _awaited[source] = wait


def _on_terminal(line: str) -> None:
    if sys.stderr is not None and sys.stderr.isatty():
        print(f"swordplay: {line}", file=sys.stderr)


_say: Callable[[str], None] = _on_terminal


def say_before_compiling(say: Callable[[str], None]) -> None:
    """Set the function that is called with a notice before the first compilation of a process.

    By default the notice is written to standard error if that is a terminal.
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
        """Start the clock, unless another compilation that called for this one has started it."""
        self._began = self._began if self._depth else time.monotonic()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        """Stop the clock when the outermost compilation ends, with success or not."""
        self._depth -= 1
        self.seconds += 0.0 if self._depth else time.monotonic() - self._began


compile_timer = CompileTimer()
register("numba:compile", compile_timer)


class KernelCache:
    """The machine code of one kernel on disk.

    Numba's dispatcher calls ``load_overload`` before it compiles, and ``save_overload`` after.

    Parameters
    ----------
    function
        The Python function of the kernel.
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
        """Machine code for these argument types, or None.

        numba's own cache would first import all that it can compile, which takes 0.3 s with
        ``scipy.linalg``. Machine code needs none of it.
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
        """Write compiled machine code to the first folder that can be written to.

        Without such a folder each process compiles.
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
        """Do nothing: this cache is always enabled."""

    def disable(self) -> None:
        """Do nothing: this cache cannot be disabled."""

    def flush(self) -> None:
        """Do nothing: files of other sources or versions are never read."""

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
        """Symbols and result type of machine code; None if it cannot be kept in a file."""
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
        """numba's ``CompileResult`` from the header and object code of a kernel file."""
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
    """Header and object code of a kernel file; both are empty if it is missing or damaged."""
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
        "sources": source_digest(source),
    }


_COMMENT = re.compile(r"#[^\n]*")
_IMPORT = re.compile(
    r"^[ \t]*(?:from +swordplay([\w.]*) +import +(\([^)]*\)|[^\n]*)|import +swordplay([\w.]*))",
    re.MULTILINE,
)


@functools.cache
def source_digest(file: Path) -> str:
    """Digest of the syntax trees of a file and of all package files it imports, 64 hex digits.

    It is read from the folders of machine code. A new digest is written to the first folder that
    can be written to.
    """
    own = own_folders(file)
    found = sorted(sources(file))
    of_bytes = _sha256([PYTHON.encode(), *map(_content, found)])
    name = f"{file.stem}-{of_bytes[:16]}.sources"
    for folder in (*bundled_folders(), *own):
        if (of_trees := _parsed(folder.read(name), of_bytes)) is not None:
            return of_trees
    of_trees = _sha256([syntax_tree(source).encode() for source in found])
    lines = f"{of_bytes}\n{of_trees}\n"
    any(folder.write(name, f"{lines}{_sha256([lines.encode()])}\n".encode()) for folder in own)
    return of_trees


def _parsed(data: bytes | None, of_bytes: str) -> str | None:
    """Digest of the trees from its file; None if it is missing, damaged, or of other sources."""
    if data is None or not re.fullmatch(rb"(?:[0-9a-f]{64}\n){3}", data):
        return None
    kept, of_trees, checksum = data.decode().split()
    return (
        of_trees
        if kept == of_bytes and checksum == _sha256([f"{kept}\n{of_trees}\n".encode()])
        else None
    )


def syntax_tree(file: Path) -> str:
    """Dump of a source file's syntax tree, without docstrings, comments and line numbers."""
    tree = ast.parse(_content(file))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [line for line in node.body if not _is_text(line)]
    return ast.dump(tree)


def _is_text(line: ast.stmt) -> bool:
    """Whether a statement is a bare string: a docstring, or the description of an attribute."""
    return (
        isinstance(line, ast.Expr)
        and isinstance(line.value, ast.Constant)
        and isinstance(line.value.value, str)
    )


def sources(file: Path) -> frozenset[Path]:
    """A source file and all files of the package that it imports, directly or through others."""
    found, ahead = {file}, [file]
    while ahead:
        new = _imported(ahead.pop()) - found - NOT_FROZEN
        found |= new
        ahead += new
    return frozenset(found)


@functools.cache
def _content(file: Path) -> bytes:
    return file.read_bytes()


@functools.cache
def _imported(file: Path) -> frozenset[Path]:
    """Files of the package that a file imports, read from its import statements by _IMPORT."""
    text = _COMMENT.sub("", _content(file).decode("utf-8"))
    return frozenset(
        found for statement in _IMPORT.finditer(text) for found in _named(*statement.groups())
    )


def _named(package: str | None, names: str | None, module: str | None) -> Iterator[Path]:
    """Files that an import statement reads: the module of an imported name, or the named module."""
    place = PACKAGE.joinpath(*(package or module or "").split("."))
    folder = place.is_dir()
    for entry in (names or "").strip("() \n,").split(","):
        name = entry.split()[0] if entry.strip() else ""
        taken = (place / f"{name}.py", place / name / "__init__.py") if folder and name else ()
        own = (place / "__init__.py",) if folder else (place.with_suffix(".py"),)
        yield from [file for file in (*taken, *own) if file.is_file()][:1]


def _sha256(parts: list[bytes]) -> str:
    """SHA-256 of several byte strings, each preceded by its length."""
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.hexdigest()


def _codegen_of(target: Any, folder: KernelFolder) -> tuple[str, ...]:
    """LLVM's triple, processor and features of the machine code in a folder."""
    system, name, features = target.codegen().magic_tuple()
    best = bundled_target() if folder.top == BUNDLED else None
    return (system, best.name, best.features) if best else (system, name, features)


def _short(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def _result_names(result: Any) -> list[str] | str | None:
    """Name of a result's type for a header; None if ``RESULTS`` does not have the type."""
    if isinstance(result, types.BaseTuple) and not isinstance(result, types.BaseNamedTuple):
        names = [str(kind) for kind in result]
        return names if set(names) <= set(RESULTS) else None
    return str(result) if str(result) in RESULTS else None


def _result_type(names: Any) -> Any:
    """Type of a result from its name in a header; None if ``RESULTS`` does not have the name."""
    kinds = [RESULTS.get(name) for name in (names if isinstance(names, list) else [names])]
    if None in kinds:
        return None
    return types.Tuple(kinds) if isinstance(names, list) else kinds[0]


@functools.cache
def _empty_module() -> bytes:
    return bytes(llvm.parse_assembly("").as_bitcode())


def _refuse_to_be_called() -> Any:
    raise TypeError(
        "a kernel cannot call another kernel, because only its machine code is kept. Let both call "
        "the same inline function."
    )
