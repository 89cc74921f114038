"""Digest of all sources of a kernel, which decides whether its cached machine code is up to date.

A kernel freezes the constants and functions that it uses, from whichever file they come. Its digest
therefore covers its own file and all files of the package that this one imports, directly or
through others. It is taken over syntax trees without docstrings, so that a changed comment compiles
nothing again.

Parsing takes 0.1 to 0.2 s, too long for every start. So the digest of the trees is kept on disk, in
a file that is found by the digest of the bytes; it is as safe as reading the trees, since equal
bytes have equal trees. Dates of files decide nothing.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from swordplay.compile.kernel_folders import PACKAGE, KernelFolder

PYTHON = f"py{sys.version_info[0]}{sys.version_info[1]}{getattr(sys, 'abiflags', '')}"
"""Syntax trees and machine code differ between versions of Python."""
KEEPERS = frozenset({PACKAGE / "compile" / "kernel_cache.py"})
"""Imported where kernels are made, but no part of them: it decides where machine code is kept,
not what it computes.
"""
_COMMENT = re.compile(r"#[^\n]*")
_IMPORT = re.compile(
    r"^[ \t]*(?:from +swordplay([\w.]*) +import +(\([^)]*\)|[^\n]*)|import +swordplay([\w.]*))",
    re.MULTILINE,
)


def source_digest(file: Path, bundled: list[KernelFolder], own: list[KernelFolder]) -> str:
    """Digest of the syntax trees of a file and of all package files it imports, 64 hex digits.

    Parameters
    ----------
    file
        The source file of a kernel.
    bundled, own
        Folders in which the digest may be kept. A new one goes to the first of ``own`` that can be
        written to.
    """
    found = sorted(sources(file))
    of_bytes = _sha256([PYTHON.encode(), *map(_content, found)])
    name = f"{file.stem}-{of_bytes[:16]}.sources"
    for folder in (*bundled, *own):
        if (of_trees := _parsed(folder.read(name), of_bytes)) is not None:
            return of_trees
    of_trees = _sha256([syntax_tree(source).encode() for source in found])
    lines = f"{of_bytes}\n{of_trees}\n"
    any(folder.write(name, f"{lines}{_sha256([lines.encode()])}\n".encode()) for folder in own)
    return of_trees


def _parsed(data: bytes | None, of_bytes: str) -> str | None:
    """The digest of the trees from its file.

    None if the file is missing, damaged, or of other sources.
    """
    if data is None or not re.fullmatch(rb"(?:[0-9a-f]{64}\n){3}", data):
        return None
    kept, of_trees, checksum = data.decode().split()
    return (
        of_trees
        if kept == of_bytes and checksum == _sha256([f"{kept}\n{of_trees}\n".encode()])
        else None
    )


def syntax_tree(file: Path) -> str:
    """The syntax tree of a source file in words, without docstrings, comments and line numbers."""
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
        new = _imported(ahead.pop()) - found - KEEPERS
        found |= new
        ahead += new
    return frozenset(found)


@functools.cache
def _content(file: Path) -> bytes:
    return file.read_bytes()


@functools.cache
def _imported(file: Path) -> frozenset[Path]:
    """The files of the package that the import statements of a file name."""
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
    """SHA-256 of several byte strings, each with its length, so that their borders count."""
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.hexdigest()
