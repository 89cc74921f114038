"""Cache of compiled kernels on disk: one file per kernel and argument types.

Numba compiles a kernel when it is first called. ``KernelCache`` takes the place of numba's own
cache, whose files are pickles: reading a pickle can execute any code. A kernel file here is

- a line with the name of the format,
- a line with the SHA-256 of all that follows,
- a line of JSON, the header: versions, processor, digest of sources and argument types that the
  machine code was compiled for, and the symbols by which it is called,
- the object code.

If the file is missing, truncated, damaged, or compiled for other versions, processors, sources or
argument types, the kernel is compiled again and the file overwritten. The checksum detects damage;
it does not prove who wrote the file: ``kernel_folders`` decides which folders and files are
trusted.

The folder bundled with a wheel is searched first, then the folders of machine code compiled on this
machine. Bundled machine code is compiled for kinds of processors (``TARGETS``), not for one model
of processor. It is ignored with SWORDPLAY_BUNDLED_KERNELS=0 and by ``swordplay warm``.

The machine code of a kernel contains the constants and functions that it uses, from any file. Its
source digest therefore covers its own file and all files of the package that this one imports,
directly or through others. It is computed from syntax trees without docstrings, so that an edited
comment does not cause a compilation. Parsing takes 0.1 to 0.2 s, too long for every start, so the
digest of the trees is stored in a file that is named by the digest of the bytes. That is as safe as
reading the trees, since equal bytes have equal trees. Modification times are not used.

Kernel files are loaded through internals of numba, which ``pyproject.toml`` allows from 0.60 to
0.68 (see ``jit``).
"""

# numba has no types for the functions that this module uses.
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
    BUNDLED_FOLDERS,
    PACKAGE,
    KernelFolder,
    bundled_folder,
    local_folders,
)

FORMAT = b"swordplay kernel 1\n"
"""First line of a kernel file."""
CHECKED = bool(os.environ.get("SWORDPLAY_CHECKED"))
"""Whether kernels check every index (``jit``). Such machine code is kept in files of its own."""
PYTHON_VERSION = f"py{sys.version_info[0]}{sys.version_info[1]}{getattr(sys, 'abiflags', '')}"
"""Version of Python, on which syntax trees and machine code depend, such as "py312"."""
NOT_IN_DIGEST = frozenset({PACKAGE / "compile" / "kernel_cache.py"})
"""Imported files that the source digest leaves out, because they do not change machine code.

This file decides where machine code is stored, not what it computes.
"""
RESULT_TYPES = {str(kind): kind for kind in (types.none, types.boolean, types.int64, types.float64)}
"""Types that a kernel may return, alone or in a tuple, by their names in a header."""


class CpuTarget(NamedTuple):
    """A kind of processor for which machine code is bundled."""

    name: str
    features: str
    """Value of NUMBA_CPU_FEATURES for this kind; ``name`` is the value of NUMBA_CPU_NAME."""
    required_features: frozenset[str]
    """Features that a processor must have."""


# Features that each level of x86-64 adds to the level below.
_LEVEL_2 = "cx16 popcnt sahf sse3 sse4.1 sse4.2 ssse3"
_LEVEL_3 = "avx avx2 bmi bmi2 f16c fma lzcnt movbe"
_LEVEL_4 = "avx512bw avx512cd avx512dq avx512f avx512vl"
TARGETS = (
    # By default LLVM uses vectors of 256 bits even here, because the first processors with vectors
    # of 512 bits slowed down when they used them.
    CpuTarget(
        "x86-64-v4", "-prefer-256-bit", frozenset(f"{_LEVEL_2} {_LEVEL_3} {_LEVEL_4}".split())
    ),
    CpuTarget("x86-64-v3", "", frozenset(f"{_LEVEL_2} {_LEVEL_3}".split())),
)
"""Kinds of processors, the best first: those with vectors of 512 bits, and most since 2015."""


@functools.cache
def bundled_target() -> CpuTarget | None:
    """Return the best bundled kind for this processor; None if there is none.

    There is none on older processors, if the user chose a processor for numba, or if bundled code
    is switched off.
    """
    is_processor_chosen = os.environ.get("NUMBA_CPU_NAME") or os.environ.get("NUMBA_CPU_FEATURES")
    if (
        is_processor_chosen
        or os.environ.get("SWORDPLAY_BUNDLED_KERNELS") == "0"
        or not BUNDLED_FOLDERS.is_dir()
    ):
        return None
    features = llvm.get_host_cpu_features()
    return next(
        (
            target
            for target in TARGETS
            if all(features.get(name) for name in target.required_features)
        ),
        None,
    )


def bundled_folders() -> list[KernelFolder]:
    """Return the folder of bundled machine code for this processor, or an empty list."""
    best = bundled_target()
    return [bundled_folder(best.name)] if best else []


def has_kernels(source: Path) -> bool:
    """Whether machine code of any kernel of a source file is on disk."""
    from numba.core.registry import cpu_target

    prefix, target_context = f"{source.stem}.", cpu_target.target_context
    for folder in (*bundled_folders(), *local_folders(source)):
        environment_digest = _short_digest(
            _compiled_for(source, _machine_of(target_context, folder))
        )
        if any(
            name.startswith(prefix)
            and f"-{environment_digest}-" in name
            and name.endswith(".kernel")
            for name in folder.names()
        ):
            return True
    return False


_wait_functions: dict[Path, Callable[[], object]] = {}
"""By source file: a function that waits for another process to compile its kernels."""


def register_wait(source: Path, wait: Callable[[], object]) -> None:
    """Register a function to be called once before kernels of a source file are compiled.

    ``wait`` must return when another process that compiles these kernels has ended. Then the cache
    is read again.
    """
    _wait_functions[source] = wait


def _print_on_terminal(line: str) -> None:
    """Print a line on standard error if that is a terminal."""
    if sys.stderr is not None and sys.stderr.isatty():
        print(f"swordplay: {line}", file=sys.stderr)


_show_notice: Callable[[str], None] = _print_on_terminal


def set_compile_notice(show: Callable[[str], None]) -> None:
    """Set the function that shows a notice before the first compilation of a process.

    By default the notice is written to standard error if that is a terminal.
    """
    global _show_notice
    _show_notice = show


@functools.cache
def _notify_once() -> None:
    """Show the notice before the first compilation of this process; later calls do nothing."""
    _show_notice(
        "Compiling for the first use, which takes up to half a minute; later runs read the "
        "machine code from disk."
    )


class CompileTimer(Listener):
    """Measures the seconds that this process spends compiling, or waiting for one that compiles."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._depth = 0  # number of compilations under way: one can start others
        self._started_at = 0.0

    def on_start(self, event: Any) -> None:
        """Start the clock, unless this compilation is a part of another one."""
        self._started_at = self._started_at if self._depth else time.monotonic()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        """Stop the clock when the outermost compilation ends, with success or not."""
        self._depth -= 1
        self.seconds += 0.0 if self._depth else time.monotonic() - self._started_at


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
        """Folder that is written to first."""
        return str(local_folders(self.source)[0].path)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return machine code for these argument types, or None.

        numba's own cache first imports its implementations of all library functions, which takes
        0.3 s with ``scipy.linalg``. Stored machine code needs none of them.
        """
        result = self._load(tuple(signature), target_context)
        if result is None:
            _notify_once()
        if result is None and self.source in _wait_functions:
            started_at = time.monotonic()
            _wait_functions.pop(self.source)()
            compile_timer.seconds += time.monotonic() - started_at
            result = self._load(tuple(signature), target_context)
        return result

    def save_overload(self, signature: Any, result: Any) -> None:
        """Write compiled machine code to the first folder that can be written to.

        Without such a folder each process compiles.
        """
        symbols = self._symbols(result)
        if symbols is None:
            return
        identity = self._identity(tuple(signature), result.codegen.magic_tuple())
        # Machine code contains the paths of numba's files, for its error messages. They are blanked
        # with dots, so that files are the same on all machines.
        code = result.library._get_compiled_object().replace(_NUMBA_PATH, b"." * len(_NUMBA_PATH))
        data, name = encode({**identity, **symbols}, code), self._file_name(identity)
        # any() stops at the first folder to which the file could be written
        any(folder.write(name, data) for folder in local_folders(self.source))

    def enable(self) -> None:
        """Do nothing: this cache is always enabled."""

    def disable(self) -> None:
        """Do nothing: this cache cannot be disabled."""

    def flush(self) -> None:
        """Do nothing: files of other sources or versions are never read."""

    def _load(self, arguments: tuple[Any, ...], target_context: Any) -> Any:
        """Return machine code from the first folder that has it; None if there is none."""
        for folder in (*bundled_folders(), *local_folders(self.source)):
            identity = self._identity(arguments, _machine_of(target_context, folder))
            header, code = decode(folder.read(self._file_name(identity)))
            # <=: the header contains all entries of the identity
            if (
                identity.items() <= header.items()
                and (result_type := _result_type(header["result"])) is not None
            ):
                return self._rebuild(header, code, arguments, result_type, target_context)
        return None

    def _identity(self, arguments: tuple[Any, ...], machine: tuple[str, ...]) -> dict[str, Any]:
        """Return the entries of a header that must match for a file to be used."""
        kernel = f"{self.function.__module__}.{self.function.__qualname__}"
        compiled_for = _compiled_for(self.source, machine)
        return {
            "compiled for": compiled_for,
            "kernel": kernel,
            "arguments": [str(argument) for argument in arguments],
        }

    def _file_name(self, identity: dict[str, Any]) -> str:
        environment_digest = _short_digest(identity["compiled for"])
        call_digest = _short_digest([identity["kernel"], identity["arguments"]])
        return f"{self.name}-{environment_digest}-{call_digest}.kernel"

    def _symbols(self, result: Any) -> dict[str, Any] | None:
        """Return symbols and result type of machine code; None if no other process could use it."""
        result_names = _result_names(result.signature.return_type)
        if (
            result.library.has_dynamic_globals  # addresses of this process
            or result.objectmode  # calls into Python
            or result.lifted  # loops that were compiled by themselves
            or result.reload_init  # functions to run first
            or result_names is None  # a type that no header can name
        ):
            return None
        # Python objects as constants
        if result.environment.consts or any(
            environment.consts for environment in result._find_referenced_environments()
        ):
            return None
        return {
            "result": result_names,
            "library": result.library.name,
            "unique": result.fndesc.unique_name,
            "symbol": result.fndesc.mangled_name,
            "environment": result.fndesc.env_name,
        }

    def _rebuild(
        self,
        header: dict[str, Any],
        code: bytes,
        arguments: tuple[Any, ...],
        result_type: Any,
        target_context: Any,
    ) -> Any:
        """Return numba's ``CompileResult`` for the header and object code of a kernel file."""
        description = PythonFunctionDescriptor(
            native=True,
            modname=self.function.__module__,
            qualname=self.function.__qualname__,
            unique_name=header["unique"],
            doc="",
            typemap=None,
            restype=result_type,
            calltypes=None,
            args=self.function.__code__.co_varnames[: self.function.__code__.co_argcount],
            kws=(),
            mangler=lambda *_, **__: header["symbol"],
            argtypes=arguments,
            env_name=header["environment"],
        )
        # numba reads the symbols from LLVM IR. Kernel files hold none: only kernels that are linked
        # into others need it, and with it four kernels load in 77 ms instead of 17. So the symbols
        # are entered here.
        symbols = (
            description.llvm_func_name,
            description.llvm_cpython_wrapper_name,
            description.env_name,
        )
        target_context.codegen()._engine._defined_symbols.update(symbols)
        library = header["library"], "object", (code, _empty_module())
        result = CompileResult._rebuild(
            target_context,
            library,
            description,
            Environment.from_fndesc(description),
            signature_of(result_type, *arguments),
            False,  # object mode
            (),  # lifted loops
            "",  # type annotation
            [],  # functions to run first
            (),  # environments of inlined functions
        )
        result.library._get_module_for_linking = _raise_linking_error
        return result


_NUMBA_PATH = str(Path(numba.__file__).parents[1]).encode()
"""Folder in which numba is installed, as it appears in machine code."""


def encode(header: dict[str, Any], code: bytes) -> bytes:
    """Return the bytes of a kernel file."""
    content = json.dumps(header, sort_keys=True).encode() + b"\n" + code
    return FORMAT + hashlib.sha256(content).hexdigest().encode() + b"\n" + content


def decode(data: bytes | None) -> tuple[dict[str, Any], bytes]:
    """Return header and object code of a kernel file; both empty if it is missing or damaged."""
    start = len(FORMAT) + 65  # 64 hex digits and a line feed
    content = b"" if data is None else data[start:]
    expected = FORMAT + hashlib.sha256(content).hexdigest().encode() + b"\n"
    if data is None or data[:start] != expected:
        return {}, b""
    line, _, code = content.partition(b"\n")
    try:
        header = json.loads(line)
    except ValueError:
        return {}, b""
    return (header, code) if isinstance(header, dict) else ({}, b"")


def _compiled_for(source: Path, machine: tuple[str, ...]) -> dict[str, Any]:
    """Return versions, processor, settings and source digest on which machine code depends."""
    settings = [
        repr(getattr(config.OPT, "_raw_value", config.OPT)),
        config.BOUNDSCHECK,
        config.LOOP_VECTORIZE,
    ]
    return {
        "python": PYTHON_VERSION,
        "platform": sys.platform,
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "target": list(machine),
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

    It is stored in a file beside the machine code: three lines with the digest of the bytes,
    the digest of the trees, and a checksum of both. A new digest is written to the first folder
    that can be written to.
    """
    folders = local_folders(file)
    files = sorted(sources(file))
    byte_digest = _sha256([PYTHON_VERSION.encode(), *map(_content, files)])
    name = f"{file.stem}-{byte_digest[:16]}.sources"
    for folder in (*bundled_folders(), *folders):
        if (tree_digest := _parse_digest(folder.read(name), byte_digest)) is not None:
            return tree_digest
    tree_digest = _sha256([syntax_tree(source).encode() for source in files])
    lines = f"{byte_digest}\n{tree_digest}\n"
    data = f"{lines}{_sha256([lines.encode()])}\n".encode()
    any(folder.write(name, data) for folder in folders)  # stops at the first that can be written to
    return tree_digest


def _parse_digest(data: bytes | None, byte_digest: str) -> str | None:
    """Return the tree digest from its file; None if it is missing, damaged, or of other sources."""
    if data is None or not re.fullmatch(rb"(?:[0-9a-f]{64}\n){3}", data):
        return None
    stored, tree_digest, checksum = data.decode().split()
    return (
        tree_digest
        if stored == byte_digest and checksum == _sha256([f"{stored}\n{tree_digest}\n".encode()])
        else None
    )


def syntax_tree(file: Path) -> str:
    """Return a dump of a source file's syntax tree, without docstrings and comments."""
    tree = ast.parse(_content(file))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [statement for statement in node.body if not _is_bare_string(statement)]
    return ast.dump(tree)


def _is_bare_string(statement: ast.stmt) -> bool:
    """Whether a statement is a bare string: a docstring, or the description of an attribute."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def sources(file: Path) -> frozenset[Path]:
    """Return a source file and all package files that it imports, directly or through others."""
    files, unread = {file}, [file]
    while unread:
        new = _imported(unread.pop()) - files - NOT_IN_DIGEST
        files |= new
        unread += new
    return frozenset(files)


@functools.cache
def _content(file: Path) -> bytes:
    return file.read_bytes()


@functools.cache
def _imported(file: Path) -> frozenset[Path]:
    """Return the package files that a file imports, read from its import statements by _IMPORT."""
    text = _COMMENT.sub("", _content(file).decode("utf-8"))
    return frozenset(
        imported
        for statement in _IMPORT.finditer(text)
        for imported in _imported_files(*statement.groups())
    )


def _imported_files(package: str | None, names: str | None, module: str | None) -> Iterator[Path]:
    """Yield the files that an import statement reads.

    ``from package import names`` reads the modules with these names, and the package for a name
    that is no module. ``import module`` reads the module.
    """
    path = PACKAGE.joinpath(*(package or module or "").split("."))
    is_folder = path.is_dir()
    for entry in (names or "").strip("() \n,").split(","):
        name = entry.split()[0] if entry.strip() else ""
        modules = (path / f"{name}.py", path / name / "__init__.py") if is_folder and name else ()
        own_file = (path / "__init__.py",) if is_folder else (path.with_suffix(".py"),)
        # A name is a module, or else an attribute of the package: the first file that exists.
        yield from [file for file in (*modules, *own_file) if file.is_file()][:1]


def _sha256(parts: list[bytes]) -> str:
    """Return the SHA-256 of several byte strings, each preceded by its length."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


def _machine_of(target_context: Any, folder: KernelFolder) -> tuple[str, ...]:
    """Return LLVM's triple, processor and features of the machine code in a folder."""
    system, name, features = target_context.codegen().magic_tuple()
    best = bundled_target() if folder.top == BUNDLED_FOLDERS else None
    return (system, best.name, best.features) if best else (system, name, features)


def _short_digest(value: Any) -> str:
    """Return 16 hex digits of the SHA-256 of a value's JSON."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def _result_names(result: Any) -> list[str] | str | None:
    """Return the name of a result's type for a header; None if ``RESULT_TYPES`` lacks the type."""
    if isinstance(result, types.BaseTuple) and not isinstance(result, types.BaseNamedTuple):
        names = [str(element) for element in result]
        return names if set(names) <= set(RESULT_TYPES) else None
    return str(result) if str(result) in RESULT_TYPES else None


def _result_type(names: Any) -> Any:
    """Return the type of a result from its name in a header; None if ``RESULT_TYPES`` lacks it."""
    elements = [RESULT_TYPES.get(name) for name in (names if isinstance(names, list) else [names])]
    if None in elements:
        return None
    return types.Tuple(elements) if isinstance(names, list) else elements[0]


@functools.cache
def _empty_module() -> bytes:
    return bytes(llvm.parse_assembly("").as_bitcode())


def _raise_linking_error() -> Any:
    """Raise an error in place of linking a kernel into another one."""
    raise TypeError(
        "a kernel cannot call another kernel: only machine code is stored. Let both call the same "
        "inline function."
    )
