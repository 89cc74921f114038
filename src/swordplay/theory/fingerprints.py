"""Fingerprints of functions and of what they were made with: the same in every process as long as the content is the same.

A fingerprint is the SHA-256 digest of a walk through an object. Functions give their code, the values that they enclose, their
defaults, and the values of their module that they name; arrays give all of their bytes; anything else gives what pickle would
keep of it. Nothing is taken from ``repr``, which leaves out the middle of large arrays, nor from addresses. What cannot be
walked through is refused: two of them could not be told apart.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import inspect
import sys
import sysconfig
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, final

import numpy as np

from swordplay.base import arguments

GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME")
"""Instructions that look a name up in the module of a function."""
PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented))
"""Types whose ``repr`` is their content."""


def fingerprint(name: str, thing: Any) -> str:
    """A digest of all that an object is made of.

    Parameters
    ----------
    name
        What it is called where it is refused.
    thing
        A function, a callable object, or None.

    Raises
    ------
    TypeError
        If something inside it has no content that could be compared: an open file, a lock, a generator.
    """
    return _Walk(name).of(thing).hex()


@final
class _Walk:
    """One walk through an object: the digest of a whole is made of the digests of its parts."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.done: dict[int, bytes] = {}
        """Digests of parts by their addresses,"""
        self.kept: list[Any] = []
        """and those parts, so that no address is used twice."""
        self.under_way: list[int] = []
        """Addresses from the whole down to where the walk is: a part that holds itself is told by how far up it is."""

    def of(self, thing: Any) -> bytes:
        """The digest of a part."""
        if type(thing) in PLAIN:
            return _digest(type(thing).__name__, repr(thing))
        if (me := id(thing)) in self.under_way:
            return _digest("above", len(self.under_way) - self.under_way.index(me))
        if me not in self.done:
            self.under_way.append(me)
            walk = next((walk for kind, walk in KINDS if isinstance(thing, kind)), _Walk.reduced)
            self.done[me] = walk(self, thing)
            self.kept.append(thing)
            self.under_way.pop()
        return self.done[me]

    def each(self, kind: str, things: Iterable[Any]) -> bytes:
        return _digest(kind, *map(self.of, things))

    def named(self, kind: str, things: Mapping[str, Any]) -> bytes:
        """Parts whose order means nothing, by their names."""
        return _digest(kind, *(part for name in sorted(things) for part in (name, self.of(things[name]))))

    def array(self, array: Any) -> bytes:
        held = self.each("objects", array.ravel().tolist()) if array.dtype.hasobject else np.ascontiguousarray(array).tobytes()
        return _digest("array", array.dtype.str, array.shape, held)

    def function(self, function: types.FunctionType) -> bytes:
        """Not the name of its module: a script has two."""
        around = function.__globals__ if not _installed(function.__module__) else {}
        return _digest(
            "function",
            function.__qualname__,
            self.of(function.__code__),
            self.each("enclosed", (_content(cell) for cell in function.__closure__ or ())),
            self.of(function.__defaults__),
            self.named("defaults", function.__kwdefaults__ or {}),
            self.named("globals", {name: around[name] for name in _names(function.__code__) if name in around}),
        )

    def code(self, code: types.CodeType) -> bytes:
        names = (code.co_names, code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
        return _digest("code", code.co_code, *names, self.each("constants", code.co_consts))

    def kind_of_things(self, kind: type) -> bytes:
        """A class: its name and, unless it was installed, what it defines."""
        if _installed(kind.__module__):
            return _digest("class", kind.__qualname__)
        defined = {
            name: value for name, value in vars(kind).items() if name not in UNSAID and not isinstance(value, DESCRIPTORS)
        }
        return _digest("class", kind.__qualname__, self.each("bases", kind.__bases__), self.named("defined", defined))

    def reduced(self, thing: Any) -> bytes:
        """What pickle would keep: how it is made again, of what, and its state."""
        try:
            kept = thing.__reduce_ex__(4)
        except Exception as error:
            raise TypeError(
                f"{self.name} uses {arguments.shown(thing)} ({type(thing).__name__}), which has no content that could be "
                f"compared: {error}. A finished game could not be told from another. Leave it out, or call sweep without file."
            ) from error
        if isinstance(kept, str):  # a name in a module; behind it there may be a function, as behind functools.cache
            behind = inspect.unwrap(thing)
            return _digest("name", kept, b"" if behind is thing else self.of(behind))
        return self.each("object", (list(part) if isinstance(part, Iterator) else part for part in kept))


def _digest(*words: Any) -> bytes:
    """Of words, each told apart from the next."""
    answer = hashlib.sha256()
    for word in words:
        data = word if isinstance(word, bytes) else str(word).encode()
        answer.update(b"%d:" % len(data) + data)
    return answer.digest()


def _names(code: types.CodeType) -> Iterator[str]:
    """Names that some code looks up in its module, those of functions inside it too."""
    for step in dis.get_instructions(code):
        if step.opname in GLOBALS:
            yield step.argval
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # of a function that calls itself, and is not yet whole
        return None


@functools.cache
def _installed(module: str | None) -> bool:
    """Whether a module came with Python or with a package, which is told by its name and not by its content."""
    if module is None or module == "__main__":
        return False
    if module.partition(".")[0] in ("swordplay", *sys.builtin_module_names):
        return True
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is not None and file.startswith(tuple(sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib")))


DESCRIPTORS = (types.GetSetDescriptorType, types.MemberDescriptorType)
UNSAID = (
    *("__module__", "__doc__", "__qualname__", "__firstlineno__", "__static_attributes__"),
    *("__annotations__", "__annotate__", "__annotate_func__", "_abc_impl"),
)
"""Entries of a class that change without changing what it does."""
KINDS: tuple[tuple[Any, Callable[[_Walk, Any], bytes]], ...] = (
    (np.ndarray, _Walk.array),
    (types.FunctionType, _Walk.function),
    (types.CodeType, _Walk.code),
    (types.MethodType, lambda walk, method: walk.each("method", (method.__func__, method.__self__))),
    (types.BuiltinFunctionType, lambda walk, function: walk.each("builtin", (function.__qualname__, function.__self__))),
    (
        functools.partial,
        lambda walk, made: _digest(walk.each("partial", (made.func, made.args)), walk.named("", made.keywords)),
    ),
    (types.ModuleType, lambda walk, module: _digest("module", module.__name__)),
    (type, _Walk.kind_of_things),
    (staticmethod | classmethod, lambda walk, method: walk.each(type(method).__name__, (method.__func__,))),
    (property, lambda walk, found: walk.each("property", (found.fget, found.fset, found.fdel))),
    (list | tuple, lambda walk, things: walk.each(type(things).__name__, things)),
    (set | frozenset, lambda walk, things: _digest("set", *sorted(map(walk.of, things)))),
    (dict, lambda walk, things: walk.each("dictionary", things.items())),
)
"""How to walk through what is not plain; the first that fits."""
