"""Atomic files: after a crash, a path holds all of the old bytes or all of the new ones.

A file is written under a temporary name in the same folder, synchronized with the disk, renamed,
and then its folder is synchronized. Checkpoints and reports are written by one call
(:func:`write_atomic`). Output tables are written row by row: :func:`open_regular_file` opens their
temporary file, and :func:`publish` renames it when it is complete.
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
PRIVATE_MODE = 0o600
"""Permissions of a new file that only its owner may read and write."""
DEFAULT_MODE = 0o666
"""Permissions of other new files, from which the system takes those that the umask excludes."""
MAX_STEM_LENGTH = 100
"""Number of characters of a file's name that its temporary name repeats.

File systems limit the length of names, and the temporary one has a suffix.
"""


class NotARegularFile(OSError):
    """An output path is a symbolic link, a file with several hard links, or no regular file.

    Writing to such a path would change a file under another name, or a device.
    """


def write_atomic(path: str | os.PathLike[str], data: bytes, mode: int = DEFAULT_MODE) -> None:
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


def open_regular_file(path: str, mode: int = DEFAULT_MODE) -> int:
    """Create a file, or open an existing regular file that no other path leads to.

    Returns
    -------
    int
        The descriptor, for reading and writing.

    Raises
    ------
    NotARegularFile
        If the path is a symbolic link, or not a regular file, or if the file has other hard links.
    """
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | OPEN_FLAGS, mode)
    except FileExistsError:
        pass
    try:
        descriptor = os.open(path, os.O_RDWR | OPEN_FLAGS)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO) or os.path.islink(path):
            raise NotARegularFile(path) from error
        raise
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        os.close(descriptor)
        raise NotARegularFile(path)
    return descriptor


def lock(descriptor: int, *, wait: bool) -> bool:
    """Lock an open file until it is closed or its process ends.

    On Windows nothing is locked: other processes cannot remove or rename an open file there.

    Returns
    -------
    bool
        False if another process holds the lock and ``wait`` is False, else True.

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
    """Synchronize the folder of a path with the disk: a renaming there then survives a crash.

    Nothing is done on Windows, which needs no such call, nor for a folder without read permission,
    which does not allow it.
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
        # On a file system without locks _remove_stale removes nothing, so the file needs no lock.
        with contextlib.suppress(OSError):
            # another process can hold the lock only while it checks whether the file is stale
            lock(file.fileno(), wait=True)
        if os.path.exists(file.name):
            return file
        file.close()  # that process removed the file before it was locked here: try again


def _remove_stale(folder: str, stem: str) -> None:
    """Remove temporary files of a path that no process has locked: their writers have ended."""
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
