"""Atomic files: after a crash, a path holds all of the old bytes or all of the new ones.

A file is written under a temporary name in the same folder, synchronized with the disk, renamed,
and then its folder is synchronized. Checkpoints and reports are written by one call
(:func:`write_atomic`). Output tables are written row by row into a temporary file
(:func:`open_private`) that is renamed when it is complete (:func:`publish`).
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
from io import FileIO
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows, where other processes cannot remove or rename an open file
    fcntl = None  # type: ignore[assignment]  # a module or nothing

OPEN_FLAGS = (
    getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
)
"""Do not follow symbolic links, do not block on a FIFO, do not pass descriptors to child programs.

Windows has none of these flags.
"""
PRIVATE, ORDINARY = 0o600, 0o666
"""Modes of new files: accessible by the owner only, or by all that the umask allows."""
MAX_STEM_LENGTH = 100
"""Characters of a file's name that its temporary file repeats: file systems limit names."""


class PathTaken(OSError):
    """An output path is a link or no regular file: writing to it would change another file.

    A path of a regular file without other links is not taken in this sense.
    """


def write_atomic(path: str | os.PathLike[str], data: bytes, mode: int = ORDINARY) -> None:
    """Write a file atomically: after a crash, the path holds the old file or the new one.

    Temporary files of this path that a killed process left are removed, but not on Windows. Several
    processes may write to one path at once; the last write stays.

    Parameters
    ----------
    path
        File to write; its folder must exist. Through a symbolic link, the file behind it is
        replaced.
    data
        Contents of the file.
    mode
        Permissions of the file before the umask. An existing file is replaced, mode included.

    Raises
    ------
    OSError
        If it could not be written; an existing file is unchanged.
    """
    target = os.path.realpath(path)
    if os.path.isdir(target):
        raise IsADirectoryError(errno.EISDIR, "a folder has this name", target)
    folder, name = os.path.split(target)
    stem = name[:MAX_STEM_LENGTH]
    _remove_stale(folder, stem)
    file = _new_temporary(folder, stem, mode)
    try:
        with file:
            file.write(data)
            file.flush()
            publish(file, file.name, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(file.name)
        raise


def publish(file: BinaryIO | FileIO, temporary: str, target: str) -> None:
    """Synchronize a file with the disk, then rename it from its temporary name to its own.

    Parameters
    ----------
    file
        The open file, flushed; closed where an open file cannot be renamed (Windows).
    temporary, target
        Name before and after the renaming. An existing file at the target is replaced.
    """
    os.fsync(file.fileno())
    if fcntl is None:
        file.close()
    os.replace(temporary, target)
    sync_folder(target)


def open_private(path: str, mode: int = ORDINARY) -> int:
    """Create a file, or open an existing regular file that has no other links.

    Private means that no other path leads to the file; who may read it is decided by ``mode``.

    Returns
    -------
    int
        The descriptor, for reading and writing.

    Raises
    ------
    PathTaken
        If the path is a link, has further links, or is no regular file.
    """
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | OPEN_FLAGS, mode)
    except FileExistsError:
        pass
    try:
        descriptor = os.open(path, os.O_RDWR | OPEN_FLAGS)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO) or os.path.islink(path):
            raise PathTaken(path) from error
        raise
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        os.close(descriptor)
        raise PathTaken(path)
    return descriptor


def lock(descriptor: int, *, wait: bool) -> bool:
    """Lock an open file until it is closed or its process ends. Return whether it was locked.

    False if another process holds the lock and ``wait`` is False. On Windows, where other processes
    cannot remove an open file, nothing is done.

    Raises
    ------
    OSError
        If the file system has no locks.
    """
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def sync_folder(path: str) -> None:
    """Synchronize the folder of a file with the disk, so that a renaming survives a crash.

    Windows needs no such call, and a folder without read permission does not allow it.
    """
    if fcntl is not None:
        try:
            descriptor = os.open(os.path.dirname(path) or ".", os.O_RDONLY | os.O_DIRECTORY)
        except PermissionError:
            return
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _new_temporary(folder: str, stem: str, mode: int) -> BinaryIO:
    """Create a temporary file, locked while it is open so that :func:`_remove_stale` keeps it."""
    while True:
        temporary = os.path.join(folder, f".{stem}.{secrets.token_hex(8)}.tmp")
        # SIM115: write_atomic closes the file
        file = open(temporary, "xb", opener=lambda path, flags: os.open(path, flags, mode))  # noqa: SIM115
        # On a file system without locks _remove_stale removes nothing, so the file needs none.
        with contextlib.suppress(OSError):
            # waits at most while another process checks whether the file is stale
            lock(file.fileno(), wait=True)
        if os.path.exists(file.name):
            return file
        file.close()  # it was removed before it was locked: try again


def _remove_stale(folder: str, stem: str) -> None:
    """Remove temporary files of a path that no process has locked: their processes have ended."""
    pattern = re.compile(rf"\.{re.escape(stem)}\.[0-9a-f]{{16}}\.tmp")
    try:
        names = os.listdir(folder)
    except OSError:  # the folder is unreadable or missing: the write itself reports that
        return
    for name in filter(pattern.fullmatch, names):
        with contextlib.suppress(OSError), open(os.path.join(folder, name), "rb") as file:
            if lock(file.fileno(), wait=False):
                # Windows refuses this while the file is open, and the file stays.
                os.unlink(file.name)
