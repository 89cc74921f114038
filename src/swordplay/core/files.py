"""Files that are whole or not there: whenever the machine stops, a name leads to all of the old
bytes or all of the new ones.

The one place that knows how: a temporary file beside the target, all of it down to the disk, then
the name, then the folder. Checkpoints and reports are written at once (:func:`write_whole`); tables
grow in a file of their own until they are finished (:func:`open_own`, :func:`give_name`).
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
# Windows: there an open file cannot be removed or renamed by others, which serves as well as a lock
except ImportError:
    fcntl = None  # type: ignore[assignment]  # a module or nothing

UNFOLLOWED = (
    getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
)
"""Open no link; wait for nobody at a pipe. Windows has neither."""
PRIVATE, ORDINARY = 0o600, 0o666
"""Modes of new files: what holds users' data is for its owner alone.

Results are as the umask wants them.
"""
LONGEST_STEM = 100
"""Letters of a file's name that the name of its temporary file begins with: names of files must
not become too long.
"""


class Planted(OSError):
    """A name that is to be written is taken by a link or by no file at all, and what it leads to
    would be overwritten.
    """


def write_whole(path: str | os.PathLike[str], data: bytes, mode: int = ORDINARY) -> None:
    """Write a file, all or nothing: whenever the machine stops, the path holds the old file or the
    new one.

    Temporary files of this path that a killed process left behind are removed. Several may write to
    one path at once; the last one wins.

    Parameters
    ----------
    path
        File to write; its folder must exist. Through a symbolic link, the file behind it is
        replaced.
    data
        All of it.
    mode
        Permissions of the file, less what the umask takes away. A file that is there is replaced,
        mode included.

    Raises
    ------
    OSError
        If it could not be written; a file that was there still is.
    """
    target = os.path.realpath(path)
    if os.path.isdir(target):
        raise IsADirectoryError(errno.EISDIR, "a folder has this name", target)
    folder, name = os.path.split(target)
    stem = name[:LONGEST_STEM]
    _sweep(folder, stem)
    file = _claimed(folder, stem, mode)
    try:
        with file:
            file.write(data)
            file.flush()
            give_name(file, file.name, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(file.name)
        raise


def give_name(file: BinaryIO | FileIO, temporary: str, target: str) -> None:
    """Let a file that was written under a temporary name take its own, once everything in it is on
    the disk.

    Parameters
    ----------
    file
        The open file, flushed; closed where an open file cannot be renamed (Windows).
    temporary, target
        Its name now, and from now on. A file that is there is replaced.
    """
    os.fsync(file.fileno())
    if fcntl is None:
        file.close()
    os.replace(temporary, target)
    sync_folder(target)


def open_own(path: str, mode: int = ORDINARY) -> int:
    """A new file, or the one that is there if it is nothing but our own: not through a link, which
    may lead anywhere.

    Returns
    -------
    int
        The descriptor, for reading and writing.

    Raises
    ------
    Planted
        If something else has this name.
    """
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | UNFOLLOWED, mode)
    except FileExistsError:
        pass
    try:
        descriptor = os.open(path, os.O_RDWR | UNFOLLOWED)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO) or os.path.islink(path):
            raise Planted(path) from error
        raise
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        os.close(descriptor)
        raise Planted(path)
    return descriptor


def lock(descriptor: int, *, wait: bool) -> bool:
    """Whether the open file is ours now.

    On Windows, which has no such locks, an open file protects itself.

    A lock ends with its process. It is refused (False) where somebody else has it, unless we
    ``wait`` for it.

    Raises
    ------
    OSError
        Where the file system has no locks.
    """
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def sync_folder(path: str) -> None:
    """Bring the name of a file down to the disk; Windows does so by itself and opens no folder.

    In a folder that may be written to and not looked into, that is left to the system.
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


def _claimed(folder: str, stem: str, mode: int) -> BinaryIO:
    """A new temporary file, locked for as long as it is open, so that nobody sweeps it."""
    while True:
        temporary = os.path.join(folder, f".{stem}.{secrets.token_hex(8)}.tmp")
        # because write_whole closes it
        file = open(temporary, "xb", opener=lambda path, flags: os.open(path, flags, mode))  # noqa: SIM115
        with contextlib.suppress(OSError):  # without locks nothing is swept
            lock(
                file.fileno(), wait=True
            )  # for no more than the instant in which somebody looks whether to sweep it
        if os.path.exists(file.name):
            return file
        file.close()  # it was swept before it was locked: once more


def _sweep(folder: str, stem: str) -> None:
    """Remove temporary files of a path whose writers are gone: a lock ends with its process."""
    pattern = re.compile(rf"\.{re.escape(stem)}\.[0-9a-f]{{16}}\.tmp")
    try:
        found = os.listdir(folder)
    except (
        OSError
    ):  # it may not be looked into; or it is not there, which whoever writes to it will be told
        return
    for stray in filter(pattern.fullmatch, found):
        with contextlib.suppress(OSError), open(os.path.join(folder, stray), "rb") as file:
            if lock(file.fileno(), wait=False):
                os.unlink(file.name)
