"""A checkpoint as a file: whole, or not there."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
from collections.abc import Mapping
from typing import Any, BinaryIO

from swordplay.base.checkpoint.encoding import START, CheckpointError, CheckpointMissing, check_start, dumps, parse, refuse
from swordplay.base.types import State

try:
    import fcntl
except ImportError:  # Windows: there an open file cannot be removed, which serves as well as a lock
    fcntl = None  # type: ignore[assignment]


def save(path: str | os.PathLike[str], state: Mapping[str, Any], *, kind: str) -> None:
    """Write a checkpoint, all or nothing: whenever the machine stops, the path holds the old one or the new one.

    The bytes go to a temporary file beside it, down to the disk, and only then take the name; the folder is synchronised
    too. Temporary files of this checkpoint that a killed process left behind are removed. Several may save to one path at
    once; the last one wins.

    Parameters
    ----------
    path
        File to write; its folder must exist. Through a symbolic link, the file behind it is replaced.
    state, kind
        As in :func:`dumps`.

    Raises
    ------
    CheckpointError
        If it could not be written; a checkpoint that was there still is.
    """
    data = dumps(state, kind=kind)
    target = os.path.realpath(path)
    folder, name = os.path.split(target)
    try:
        if os.path.isdir(target):
            raise IsADirectoryError("a folder has this name")
        _sweep(folder, name)
        _replace(target, data, _claimed(folder, name))
        _synchronise(folder)
    except OSError as error:
        raise CheckpointError(
            f"{_called(path)} could not be written: {error.strerror or error}. "
            "Give a path in an existing folder that you may write to, with space left. A checkpoint that was there is intact."
        ) from error


def load(path: str | os.PathLike[str], *, kind: str | None = None) -> State:
    """Read what :func:`save` wrote.

    Parameters
    ----------
    path
        File to read.
    kind
        As in :func:`loads`.

    Raises
    ------
    CheckpointMissing
        If there is no such file (also a ``FileNotFoundError``).
    CheckpointError
        If it cannot be read, or is not exactly what was saved, or of another kind.
    """
    where = _called(path)
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe would be waited for, a device read without end
            refuse(where, "is not a file", "Give the path that was saved to")
        with open(path, "rb") as file:
            start = file.read(START.size)
            check_start(start, os.fstat(file.fileno()).st_size, where)  # before a large foreign file is read
            data = start + file.read()
    except FileNotFoundError as error:
        raise CheckpointMissing(f"{where} does not exist. Check the path, or save one first.") from error
    except OSError as error:
        raise CheckpointError(
            f"{where} could not be read: {error.strerror or error}. Check the path and its rights."
        ) from error
    return parse(data, kind, where)


def _called(path: str | os.PathLike[str]) -> str:
    return f"the checkpoint {os.fspath(path)!r}"


def _replace(target: str, data: bytes, file: BinaryIO) -> None:
    """Fill a temporary file and give it its name; on an error remove it."""
    try:
        with file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            if fcntl is None:
                file.close()  # Windows renames no open file
            os.replace(file.name, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(file.name)
        raise


def _claimed(folder: str, name: str) -> BinaryIO:
    """A new temporary file for a checkpoint, locked for as long as it is open, so that nobody sweeps it."""
    while True:
        file = open(os.path.join(folder, f".{name}.{secrets.token_hex(8)}.tmp"), "xb")  # noqa: SIM115  # because save closes it
        _lock(file.fileno(), wait=True)  # for no more than the instant in which somebody looks whether to sweep it
        if os.path.exists(file.name):
            return file
        file.close()  # it was swept before it was locked: once more


def _sweep(folder: str, name: str) -> None:
    """Remove temporary files of a checkpoint whose writers are gone: a lock ends with its process."""
    pattern = re.compile(rf"\.{re.escape(name)}\.[0-9a-f]{{16}}\.tmp")
    for stray in filter(pattern.fullmatch, os.listdir(folder)):
        with contextlib.suppress(OSError), open(os.path.join(folder, stray), "rb") as file:
            if _lock(file.fileno(), wait=False):
                os.unlink(file.name)


def _lock(descriptor: int, *, wait: bool) -> bool:
    """Whether the open file is ours now; on Windows, which has no such locks, an open file protects itself."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # somebody else's, or a file system without locks, where nothing is swept
        return False
    return True


def _synchronise(folder: str) -> None:
    """Down to the disk with the new name; Windows does so by itself and opens no folder."""
    if fcntl is not None:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
