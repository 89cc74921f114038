r"""Checkpoints: states as bytes and as files, written atomically and protected by a checksum.

Reading a file runs no code, as the format is not pickle, and any change of its bytes is an error.
Bytes of a checkpoint, all numbers little-endian:

=========== ======== =========================================================================================
from        length   content
=========== ======== =========================================================================================
0           8        signature ``\x89SWORD\r\n``: no valid text; conversions of newlines or encodings destroy it
8           4        format version
12          4        length H of the header
16          8        size N of all bytes
24          H        header, JSON in ASCII: kind, library version, and an entry ``[name, type, detail]`` per value
24 + H      N-56-H   raw bytes of arrays and floats, in the order of the entries
N - 32      32       SHA-256 of all bytes before it
=========== ======== =========================================================================================

Every version of the format keeps the first 24 bytes and the last 32, so that any version can tell
an intact file of a newer format from a damaged one. Memory for arrays is allocated only after the
declared sizes were compared with the number of bytes.
"""  # noqa: E501

from __future__ import annotations

import functools
import hashlib
import json
import math
import os
import stat
import struct
from collections.abc import Mapping
from importlib import metadata
from itertools import pairwise
from typing import Any, NamedTuple, NoReturn

import numpy as np

from swordplay.core.arguments import short_repr
from swordplay.core.files import PRIVATE_MODE, write_atomic
from swordplay.core.types import State

MAGIC = b"\x89SWORD\r\n"
"""Signature with which every checkpoint begins."""
FORMAT_VERSION = 1
"""Version of the file format, the only one that is written and read."""
START_STRUCT = struct.Struct("<8sIIQ")
"""First 24 bytes: signature, format version, header length, size of all bytes."""
DIGEST_SIZE = 32
"""Bytes of a SHA-256."""
MIN_SIZE = START_STRUCT.size + DIGEST_SIZE
"""Bytes of a checkpoint without header and values."""
MAX_INT_BITS = 2048
"""Most bits of an int, which JSON stores in at most 617 decimal digits.

Python's limit for parsing ints, ``sys.set_int_max_str_digits``, cannot be set below 640.
"""
MAX_KIND_LENGTH = 200
"""Most characters of a kind."""
MAX_AXES = 64
"""Largest number of axes of an array, as in numpy 2.

The limit also bounds the time to multiply the lengths of a forged shape.
"""

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
"""Types of arrays, by their names in the header."""
DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()} | {
    dtype.newbyteorder(">"): name for name, dtype in DTYPES.items()
}
"""Names in the header by type of array, in either byte order."""
# "truth" because "bool" is the name of a type of arrays
HEADER_TYPES = {"truth": bool, "int": int, "string": str}
"""Types of the values that are stored in the header itself, by their names there."""


class CheckpointError(ValueError):
    """A checkpoint cannot be written or must not be used."""


class CheckpointMissing(CheckpointError, FileNotFoundError):
    """There is no checkpoint file, as on a first start."""


def dumps(state: Mapping[str, Any], *, kind: str) -> bytes:
    """Encode a state as bytes, which do not depend on the order of its entries.

    Parameters
    ----------
    state
        Maps names to arrays (bool, integers, float32, float64), ints, floats, bools and strings,
        as ``learner.state()`` returns it.
    kind
        Name of the class or command that the state belongs to, such as ``"Sword"``; :func:`loads`
        can require it.

    Examples
    --------
    >>> import numpy as np
    >>> data = dumps({"rounds": 3, "points": np.zeros((2, 2))}, kind="example")
    >>> loads(data, kind="example")["rounds"]
    3
    """
    if not isinstance(kind, str) or not 0 < len(kind) <= MAX_KIND_LENGTH:
        raise ValueError(
            f"kind must be a name of 1 to {MAX_KIND_LENGTH} characters, got {short_repr(kind)}. "
            "Give the name of what the state belongs to."
        )
    if not isinstance(state, Mapping):
        raise TypeError(
            f"state must be a dictionary such as learner.state(), got {short_repr(state)} "
            f"({type(state).__name__})."
        )
    if wrong_names := [name for name in state if not isinstance(name, str)]:
        raise TypeError(f"state must have strings for names, got {short_repr(wrong_names[0])}.")
    entries, raw_values = [], []
    for name in sorted(state):
        type_, detail, raw = _encode(state[name], name)
        entries.append([name, type_, detail])
        raw_values.append(raw)
    header = json.dumps(
        {"entries": entries, "kind": kind, "library": _library_version()}, separators=(",", ":")
    ).encode("ascii")
    size = MIN_SIZE + len(header) + sum(map(len, raw_values))
    content = b"".join(
        [START_STRUCT.pack(MAGIC, FORMAT_VERSION, len(header), size), header, *raw_values]
    )
    return content + hashlib.sha256(content).digest()


def loads(data: bytes | bytearray | memoryview, *, kind: str | None = None) -> State:
    """Decode the bytes of :func:`dumps`: entries in order of names, new and writable arrays.

    Parameters
    ----------
    data
        Bytes that :func:`dumps` returned.
    kind
        The kind that the checkpoint must have; any kind if None.

    Raises
    ------
    CheckpointError
        If the bytes are not exactly those of a checkpoint of this kind.
    """
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(
            f"data must be the bytes that dumps returned, got {short_repr(data)} "
            f"({type(data).__name__})."
        )
    return parse(bytes(data), kind, "the checkpoint")


def save(path: str | os.PathLike[str], state: Mapping[str, Any], *, kind: str) -> None:
    """Write a checkpoint file atomically: after a crash the path holds the old or the new one.

    Temporary files of this checkpoint that a killed process left are removed. If several processes
    save to one path at once, the last write stays (see ``swordplay.core.files.write_atomic``). Only
    the owner may read the file (mode 600), because a state contains parts of the learned data.

    Parameters
    ----------
    path
        File to write; its folder must exist. Through a symbolic link, the file behind it is
        replaced.
    state
        Maps names to arrays, ints, floats, bools and strings, as ``learner.state()`` returns it.
    kind
        Name of the class or command that the state belongs to, such as ``"Sword"``.

    Raises
    ------
    CheckpointError
        If it could not be written; an earlier checkpoint at the path is unchanged.
    """
    data = dumps(state, kind=kind)
    try:
        write_atomic(path, data, PRIVATE_MODE)
    except OSError as error:
        raise CheckpointError(
            f"{_title(path)} could not be written: {error.strerror or error}. "
            "Give a path in an existing folder that you may write to, with space left. A "
            "checkpoint that was there is intact."
        ) from error


def load(path: str | os.PathLike[str], *, kind: str | None = None) -> State:
    """Read the checkpoint file that :func:`save` wrote.

    Parameters
    ----------
    path
        File to read.
    kind
        The kind that the checkpoint must have; any kind if None.

    Raises
    ------
    CheckpointMissing
        If there is no such file (also a ``FileNotFoundError``).
    CheckpointError
        If it cannot be read, is not exactly what was saved, or is of another kind.
    """
    title = _title(path)
    try:
        # Only regular files: opening a pipe would block, and a device may have no end.
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise_error(title, "is not a file", "Give the path that was saved to")
        with open(path, "rb") as file:
            start = file.read(START_STRUCT.size)
            # parsed first, so that a large file of another program is not read into memory
            parse_start(start, os.fstat(file.fileno()).st_size, title)
            data = start + file.read()
    except FileNotFoundError as error:
        raise CheckpointMissing(
            f"{title} does not exist. Check the path, or save one first."
        ) from error
    except OSError as error:
        raise CheckpointError(
            f"{title} could not be read: {error.strerror or error}. Check the path and its rights."
        ) from error
    return parse(data, kind, title)


class Header(NamedTuple):
    """Kind of a checkpoint, and the version of the library that wrote it."""

    kind: str
    """Such as ``"track"`` or ``"SwordRegressor"``."""
    library_version: str
    """Version of swordplay that wrote it."""


def read_header(path: str | os.PathLike[str]) -> Header:
    """Read the header of a checkpoint file that :func:`load` has accepted."""
    with open(path, "rb") as file:
        _, _, header_size, _ = START_STRUCT.unpack(file.read(START_STRUCT.size))
        header = json.loads(file.read(header_size))
    return Header(header["kind"], str(header.get("library", "unknown")))


def _title(path: str | os.PathLike[str]) -> str:
    """Return the subject of messages about a checkpoint file."""
    return f"the checkpoint {os.fspath(path)!r}"


@functools.singledispatch
def _encode(value: object, name: str) -> tuple[str, Any, bytes]:
    """Return the type and detail of a value for the header, and its raw bytes.

    The detail is the shape of an array, None for a float, and any other value itself.
    """
    raise TypeError(
        f"state[{name!r}] must be an array of numbers, an int, a float, a bool or a string, got "
        f"{short_repr(value)} ({type(value).__name__}). Convert it, or leave it out of the state."
    )


@_encode.register
def _(value: np.ndarray, name: str) -> tuple[str, Any, bytes]:
    type_ = DTYPE_NAMES.get(value.dtype)
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
    if int(value).bit_length() > MAX_INT_BITS:
        raise ValueError(
            f"state[{name!r}] must be an int of at most {MAX_INT_BITS} bits. Store it as a "
            "uint8 array."
        )
    return "int", int(value), b""


@_encode.register(float)
@_encode.register(np.float32)
def _(value: float | np.float32, name: str) -> tuple[str, Any, bytes]:
    return "float", None, struct.pack("<d", value)  # raw, as JSON has no infinities


@_encode.register
def _(value: str, name: str) -> tuple[str, Any, bytes]:
    return "string", str(value), b""


def parse(data: bytes, kind: str | None, title: str) -> State:
    """Decode all bytes of a checkpoint; ``title`` is its name in error messages.

    Contents are checked even if the checksum is right, because a program can forge both.
    """
    version, header_size = parse_start(data[: START_STRUCT.size], len(data), title)
    if hashlib.sha256(memoryview(data)[:-DIGEST_SIZE]).digest() != data[-DIGEST_SIZE:]:
        raise_error(
            title,
            "is damaged: its checksum does not match its content",
            "Go back to an earlier copy",
        )
    if version != FORMAT_VERSION:
        raise_error(
            title,
            f"has format version {version}, and this library reads {FORMAT_VERSION}",
            "Upgrade swordplay to load it",
        )
    offset = START_STRUCT.size + header_size
    if offset > len(data) - DIGEST_SIZE:
        _malformed(title, "its header does not fit")
    saved_kind, entries = _parse_header(data[START_STRUCT.size : offset], title)
    if kind is not None and saved_kind != kind:
        raise_error(
            title,
            f"is of kind {short_repr(saved_kind)}, not {short_repr(kind)}",
            f"Load it as a {short_repr(saved_kind)}",
        )
    sizes = [_size(entry, title) for entry in entries]
    if sum(sizes) != len(data) - DIGEST_SIZE - offset:
        _malformed(title, "its arrays do not fill the space they have")
    names = [entry[0] for entry in entries]
    if any(name >= following for name, following in pairwise(names)):
        _malformed(title, "its names are not in order")
    state: State = {}
    for entry, size in zip(entries, sizes, strict=True):
        state[entry[0]] = _decode(entry, data, offset, title)
        offset += size
    return state


def parse_start(start: bytes, size: int, title: str) -> tuple[int, int]:
    """Return format version and header length from the first 24 bytes.

    ``size`` is the number of all bytes. If the declared size differs, an error is raised.
    """
    if start[: len(MAGIC)] != MAGIC[: len(start)]:
        raise_error(title, "is not a checkpoint of swordplay", "Check the path")
    if size < MIN_SIZE:
        raise_error(title, f"is truncated: {size} bytes are left", "Go back to an earlier copy")
    _, version, header_size, full_size = START_STRUCT.unpack(start)
    if size != full_size:
        problem = "truncated" if size < full_size else "damaged"
        raise_error(
            title,
            f"is {problem}: it has {size} bytes and should have {full_size}",
            "Go back to an earlier copy",
        )
    return version, header_size


def _parse_header(text: bytes, title: str) -> tuple[str, list[Any]]:
    """Return the kind and the entries [name, type, detail]; types and details are not checked."""
    try:
        header = json.loads(text.decode("ascii"))
        kind, entries = header["kind"], header["entries"]
    except (ValueError, KeyError, TypeError, RecursionError):
        _malformed(title, "its header is not what dumps writes")
    if not isinstance(kind, str) or not isinstance(entries, list):
        _malformed(title, "its header is not what dumps writes")
    for entry in entries:
        if (
            not isinstance(entry, list)
            or [type(part) for part in entry[:2]] != [str, str]
            or len(entry) != 3
        ):
            _malformed(title, "an entry of its header is not [name, type, detail]")
    return kind, entries


def _size(entry: list[Any], title: str) -> int:
    """Check type and detail of a header entry, and return the number of its raw bytes."""
    name, type_, detail = entry
    if type_ in DTYPES:
        if (
            type(detail) is not list
            or len(detail) > MAX_AXES
            or any(type(length) is not int or not 0 <= length < 2**63 for length in detail)
        ):
            _malformed(title, f"{short_repr(name)} has the shape {short_repr(detail)}")
        return math.prod(detail) * DTYPES[type_].itemsize
    if type_ == "float":
        return 8
    if type_ not in HEADER_TYPES or type(detail) is not HEADER_TYPES[type_]:
        _malformed(title, f"{short_repr(name)} is {short_repr(detail)} of type {short_repr(type_)}")
    return 0


def _decode(entry: list[Any], data: bytes, offset: int, title: str) -> Any:
    """Return the value of a header entry, whose raw bytes begin at ``offset``."""
    name, type_, detail = entry
    if type_ == "float":
        return struct.unpack_from("<d", data, offset)[0]
    if type_ in HEADER_TYPES:
        return detail
    count = math.prod(detail)
    if type_ == "bool" and data[offset : offset + count].translate(None, b"\x00\x01"):
        _malformed(title, f"{short_repr(name)} has truth values other than 0 and 1")
    try:
        flat = (
            np.frombuffer(data, DTYPES[type_], count, offset)
            if count
            else np.empty(0, DTYPES[type_])
        )
        return flat.reshape(detail).astype(type_)
    except (ValueError, OverflowError):  # numpy allows no array of this shape
        _malformed(title, f"{short_repr(name)} has the shape {short_repr(detail)}")


@functools.cache
def _library_version() -> str:
    """Return the version of this library for a header; loading ignores the version there."""
    try:
        return metadata.version("swordplay")
    except metadata.PackageNotFoundError:
        return "unknown"


def raise_error(title: str, problem: str, remedy: str) -> NoReturn:
    """Raise a CheckpointError with the name of the checkpoint, the problem and the remedy."""
    raise CheckpointError(f"{title} {problem}. {remedy}.")


def _malformed(title: str, problem: str) -> NoReturn:
    """Raise an error for contents that are wrong though the checksum is right."""
    raise_error(
        title,
        f"is malformed: {problem}, though its checksum is right",
        "Do not use this file: the library did not write it",
    )
