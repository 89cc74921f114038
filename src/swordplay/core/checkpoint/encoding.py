r"""A state as bytes: what was dumped comes back bit by bit, or not at all.

Bytes of a checkpoint, all numbers little-endian:

=========== ======== =========================================================================================
from        length   what
=========== ======== =========================================================================================
0           8        ``\x89SWORD\r\n``: not text, and damaged by any program that takes it for text
8           4        format version
12          4        length H of the header
16          8        length N of the whole
24          H        header, JSON in ASCII: kind, library version, and an entry ``[name, type, detail]`` per value
24 + H      .        arrays and floats, raw, in the order of the entries
N - 32      32       SHA-256 of everything before it
=========== ======== =========================================================================================

Every version of the format keeps the first 24 bytes and the last 32, so that any version can tell a
whole file of a newer format from a damaged one. Nothing is allocated before the declared sizes
agree with the bytes at hand, and nothing is run.
"""  # noqa: E501

from __future__ import annotations

import functools
import hashlib
import json
import math
import struct
from collections.abc import Mapping
from importlib import metadata
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np

from swordplay.core.arguments import shown
from swordplay.core.types import State

MAGIC = b"\x89SWORD\r\n"
FORMAT = 1
"""The version that is written; all versions up to it are read."""
START = struct.Struct("<8sIIQ")
DIGEST = 32
SMALLEST = START.size + DIGEST
LARGEST_INT_BITS = 2048
"""Below the number of digits that any setting of Python's limit on reading integers allows
(640).
"""
LONGEST_KIND = 200
MOST_AXES = 64
"""Of a numpy array; a product of more numbers than that would be somebody's way to keep us busy."""

DTYPES = {
    name: np.dtype(name).newbyteorder("<")
    for name in (
        "bool",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "float32",
        "float64",
    )
}
"""Types of arrays, by the name that stands in the header."""
NAMES = {dtype: name for name, dtype in DTYPES.items()} | {
    dtype.newbyteorder(">"): name for name, dtype in DTYPES.items()
}
"""And back, whatever the order of their bytes in memory."""
SCALARS = {"truth": bool, "int": int, "string": str}
"""Values that stand in the header, by type."""


class CheckpointError(ValueError):
    """A checkpoint that cannot be written or must not be used; says which, why, and what to do."""


class CheckpointMissing(CheckpointError, FileNotFoundError):
    """There is no file: what a first start meets, and no reason for alarm."""


def dumps(state: Mapping[str, Any], *, kind: str) -> bytes:
    """The bytes of a state.

    Equal states have equal bytes, in whatever order they were put together.

    Parameters
    ----------
    state
        Names to arrays (bool, integers, float32, float64), ints, floats, bools and strings; what
        ``learner.state()`` returns.
    kind
        Whose state it is, such as ``"Sword"``; whoever loads it can insist on it.

    Examples
    --------
    >>> import numpy as np
    >>> data = dumps({"rounds": 3, "points": np.zeros((2, 2))}, kind="example")
    >>> loads(data, kind="example")["rounds"]
    3
    """
    if not isinstance(kind, str) or not 0 < len(kind) <= LONGEST_KIND:
        raise ValueError(
            f"kind must be a name of 1 to {LONGEST_KIND} characters, got {shown(kind)}. Say whose "
            "state it is."
        )
    if not isinstance(state, Mapping):
        raise TypeError(
            f"state must be a dictionary such as learner.state(), got {shown(state)} "
            f"({type(state).__name__})."
        )
    if strangers := [name for name in state if not isinstance(name, str)]:
        raise TypeError(f"state must have strings for names, got {shown(strangers[0])}.")
    entries, parts = [], []
    for name in sorted(state):
        type_, detail, raw = _encode(state[name], name)
        entries.append([name, type_, detail])
        parts.append(raw)
    header = json.dumps(
        {"entries": entries, "kind": kind, "library": _library()}, separators=(",", ":")
    ).encode("ascii")
    size = SMALLEST + len(header) + sum(map(len, parts))
    content = b"".join([START.pack(MAGIC, FORMAT, len(header), size), header, *parts])
    return content + hashlib.sha256(content).digest()


def loads(data: bytes | bytearray | memoryview, *, kind: str | None = None) -> State:
    """The state that was dumped: names in order, arrays that are new and writable.

    Parameters
    ----------
    data
        What :func:`dumps` returned.
    kind
        Refuse the state of anybody else; any kind will do unless given.

    Raises
    ------
    CheckpointError
        If the bytes are not exactly those of a checkpoint of this kind.
    """
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(
            f"data must be the bytes that dumps returned, got {shown(data)} "
            f"({type(data).__name__})."
        )
    return parse(bytes(data), kind, "the checkpoint")


@functools.singledispatch
def _encode(value: object, name: str) -> tuple[str, Any, bytes]:
    """Type, detail and raw bytes of a value."""
    raise TypeError(
        f"state[{name!r}] must be an array of numbers, an int, a float, a bool or a string, "
        f"got {shown(value)} ({type(value).__name__}). Convert it, or leave it out of the state."
    )


@_encode.register
def _(value: np.ndarray, name: str) -> tuple[str, Any, bytes]:
    type_ = NAMES.get(value.dtype)
    if type_ is None or isinstance(value, np.ma.MaskedArray):
        raise TypeError(
            f"state[{name!r}] must be an array of one of {', '.join(DTYPES)}, got "
            f"{type(value).__name__} of {value.dtype}. "
            "Convert it with np.asarray(..., dtype=float)."
        )
    return type_, value.shape, value.astype(DTYPES[type_], copy=False).tobytes()


@_encode.register(bool)
@_encode.register(np.bool_)
def _(value: bool | np.bool_, name: str) -> tuple[str, Any, bytes]:
    return "truth", bool(value), b""


@_encode.register(int)
@_encode.register(np.integer)
def _(value: int | np.integer[Any], name: str) -> tuple[str, Any, bytes]:
    if int(value).bit_length() > LARGEST_INT_BITS:
        raise ValueError(
            f"state[{name!r}] must be an int of at most {LARGEST_INT_BITS} bits. Store it as a "
            "uint8 array."
        )
    return "int", int(value), b""


@_encode.register(float)
@_encode.register(np.float32)
def _(value: float | np.float32, name: str) -> tuple[str, Any, bytes]:
    return "float", None, struct.pack("<d", value)  # not in the header: JSON has no infinities


@_encode.register
def _(value: str, name: str) -> tuple[str, Any, bytes]:
    return "string", str(value), b""


def parse(data: bytes, kind: str | None, where: str) -> State:
    """The state in whole bytes; what lies beyond the checksum is distrusted all the same."""
    version, header_size = check_start(data[: START.size], len(data), where)
    if hashlib.sha256(memoryview(data)[:-DIGEST]).digest() != data[-DIGEST:]:
        refuse(
            where,
            "is damaged: its checksum does not match its content",
            "Go back to an earlier copy",
        )
    if version != FORMAT:
        refuse(
            where,
            f"has format version {version}, and this library reads {FORMAT}",
            "Upgrade swordplay to load it",
        )
    payload = START.size + header_size
    if payload > len(data) - DIGEST:
        _malformed(where, "its header does not fit")
    written_by, entries = _parse_header(data[START.size : payload], where)
    if kind is not None and written_by != kind:
        refuse(
            where,
            f"is of kind {shown(written_by)}, not {shown(kind)}",
            f"Load it as a {shown(written_by)}",
        )
    sizes = [_size(entry, where) for entry in entries]
    if sum(sizes) != len(data) - DIGEST - payload:
        _malformed(where, "its arrays do not fill the space they have")
    names = [entry[0] for entry in entries]
    if any(name >= following for name, following in pairwise(names)):
        _malformed(where, "its names are not in order")
    state: State = {}
    for entry, size in zip(entries, sizes, strict=True):
        state[entry[0]] = _decode(entry, data, payload, where)
        payload += size
    return state


def check_start(start: bytes, size: int, where: str) -> tuple[int, int]:
    """Format version and length of the header, if as many bytes are there as the start says."""
    if start[: len(MAGIC)] != MAGIC[: len(start)]:
        refuse(where, "is not a checkpoint of swordplay", "Check the path")
    if size < SMALLEST:
        refuse(where, f"is truncated: {size} bytes are left", "Go back to an earlier copy")
    _, version, header_size, whole = START.unpack(start)
    if size != whole:
        what = "truncated" if size < whole else "damaged"
        refuse(
            where,
            f"is {what}: it has {size} bytes and should have {whole}",
            "Go back to an earlier copy",
        )
    return version, header_size


def _parse_header(text: bytes, where: str) -> tuple[str, list[Any]]:
    try:
        header = json.loads(text.decode("ascii"))
        kind, entries = header["kind"], header["entries"]
    except (ValueError, KeyError, TypeError, RecursionError):
        _malformed(where, "its header is not what dumps writes")
    if not isinstance(kind, str) or not isinstance(entries, list):
        _malformed(where, "its header is not what dumps writes")
    for entry in entries:
        if (
            not isinstance(entry, list)
            or [type(part) for part in entry[:2]] != [str, str]
            or len(entry) != 3
        ):
            _malformed(where, "an entry of its header is not [name, type, detail]")
    return kind, entries


def _size(entry: list[Any], where: str) -> int:
    """How many raw bytes an entry stands for."""
    name, type_, detail = entry
    if type_ in DTYPES:
        if (
            type(detail) is not list
            or len(detail) > MOST_AXES
            or any(type(n) is not int or not 0 <= n < 2**63 for n in detail)
        ):
            _malformed(where, f"{shown(name)} has the shape {shown(detail)}")
        return math.prod(detail) * DTYPES[type_].itemsize
    if type_ == "float":
        return 8
    if type_ not in SCALARS or type(detail) is not SCALARS[type_]:
        _malformed(where, f"{shown(name)} is {shown(detail)} of type {shown(type_)}")
    return 0


def _decode(entry: list[Any], data: bytes, first: int, where: str) -> Any:
    """The value of an entry whose raw bytes begin at ``first``."""
    name, type_, detail = entry
    if type_ == "float":
        return struct.unpack_from("<d", data, first)[0]
    if type_ in SCALARS:
        return detail
    count = math.prod(detail)
    if type_ == "bool" and data[first : first + count].translate(None, b"\x00\x01"):
        _malformed(where, f"{shown(name)} has truth values other than 0 and 1")
    try:
        flat = (
            np.frombuffer(data, DTYPES[type_], count, first)
            if count
            else np.empty(0, DTYPES[type_])
        )
        return flat.reshape(detail).astype(type_)
    except (ValueError, OverflowError):  # more axes, or longer empty ones, than an array can have
        _malformed(where, f"{shown(name)} has the shape {shown(detail)}")


@functools.cache
def _library() -> str:
    """Version of the library that writes.

    For people who look into a file, nothing depends on it.
    """
    try:
        return metadata.version("swordplay")
    except metadata.PackageNotFoundError:
        return "unknown"


def refuse(where: str, what: str, remedy: str) -> NoReturn:
    """Raise an error that says which checkpoint, why, and what to do."""
    raise CheckpointError(f"{where} {what}. {remedy}.")


def _malformed(where: str, what: str) -> NoReturn:
    """The checksum is right and the content is not: no version of the library wrote this."""
    refuse(
        where, f"is malformed: {what}, though its checksum is right", "Do not trust whoever made it"
    )
