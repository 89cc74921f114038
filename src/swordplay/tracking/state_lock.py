"""An exclusive lock on a saved state, so that two runs never go on from one state at the same time.

The lock is an ``flock`` on ``STATE.lock`` beside the state, which every save replaces and which
therefore cannot carry a lock itself. The kernel releases the lock when the process ends, however it
ends; the file may then stay behind, and does no harm.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import re
import time
import weakref
from collections.abc import Callable, Iterator
from typing import final

from swordplay.core import files
from swordplay.core.arguments import short_repr
from swordplay.tracking.errors import TrackingError

SAY_AFTER_SECONDS = 1.0
"""A wait that lasts longer is reported."""
POLL_SECONDS = 0.05
"""Time between two attempts to take the lock."""
LONGEST_NAME = 255
"""Bytes of a file name on common file systems."""

logger = logging.getLogger("swordplay")


def checked_wait(value: object) -> float | None:
    """Return ``wait`` as a number of seconds; None stands for no limit.

    Raises
    ------
    TrackingError
        If it is neither None nor a number that is at least 0.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0.0:
        raise TrackingError(
            "wait must be a number of seconds that is at least 0, or None for no limit, got "
            f"{short_repr(value)}."
        )
    return float(value)


@contextlib.contextmanager
def locked(
    state: str | None, wait: float | None = None, say: Callable[[str], None] = logger.warning
) -> Iterator[None]:
    """Hold the lock of a state for the duration of a ``with`` block.

    Parameters
    ----------
    state
        Path of the state, by any of its names; None takes no lock.
    wait
        Seconds to wait for a process that has the lock; None waits without limit.
    say
        Receives one sentence if the wait takes longer than :data:`SAY_AFTER_SECONDS`.

    Raises
    ------
    TrackingError
        If another process still has the lock after ``wait`` seconds, or if the lock file cannot be
        opened.
    """
    if state is None:
        yield
        return
    lock = _acquire(state, wait, say)
    try:
        yield
    finally:
        lock.release()


def _acquire(state: str, wait: float | None, say: Callable[[str], None]) -> _LockFile:
    target = os.path.realpath(state)  # all names of a state lead to one lock file
    folder, name = os.path.split(target)
    path = os.path.join(folder, _lock_name(name))
    began, said = time.monotonic(), False
    while True:
        if not os.access(folder, os.W_OK | os.X_OK):
            raise TrackingError(
                f"--state {state} cannot be written: there is no folder {folder!r} to write to. "
                "Make it first."
            )
        try:
            lock = _LockFile.taken(path)
        except files.NotARegularFile as error:
            raise TrackingError(
                f"--state {state} cannot be locked: {path} is a link or no file. Find out who "
                "made it and remove it."
            ) from error
        except OSError as error:
            raise TrackingError(
                f"--state {state} cannot be locked: {path}: {error.strerror or error}. "
                "Give a --state in a folder that you may write to, on a file system with locks."
            ) from error
        if lock is not None:
            return lock
        waited = time.monotonic() - began
        if wait is not None and waited >= wait:
            over = f", and {wait:g} seconds are over" if wait else ""
            raise TrackingError(
                f"--state {state} is in use by {_holder(path)}{over}. "
                "Let it come to its end, allow more with --wait, or give another --state."
            )
        if not said and waited >= SAY_AFTER_SECONDS:
            said = True
            say(f"Waiting for {state}: {_holder(path)} is using it. (--wait 0 refuses at once.)")
        time.sleep(POLL_SECONDS if wait is None else min(POLL_SECONDS, wait - waited))


def _lock_name(name: str) -> str:
    """The name of the lock file of a state; a digest of it where the name would be too long."""
    lock = f"{name}.lock"
    return (
        lock
        if len(os.fsencode(lock)) <= LONGEST_NAME
        else f".{hashlib.sha256(os.fsencode(name)).hexdigest()}.lock"
    )


def _holder(path: str) -> str:
    """The process that has a lock, as it wrote itself down."""
    with contextlib.suppress(OSError), open(path, "rb") as file:
        if found := re.fullmatch(rb"(\d{1,10})\n", file.read(20)):
            return f"process {found[1].decode()}"
    return "another process"


@final
class _LockFile:
    """An open lock file.

    Invariant: the file at the path is never removed but by the process that has its lock. A process
    that gets the lock of a file which was removed in between holds nothing: it compares the open
    file with the one at the path, and tries again.
    """

    def __init__(self, path: str, descriptor: int) -> None:
        self._path, self._descriptor = path, descriptor
        _open.add(self)  # before the lock is taken, so that no fork inherits it

    @classmethod
    def taken(cls, path: str) -> _LockFile | None:
        """Try to take the lock; None if another process, or another thread of this one, has it."""
        try:
            found = cls(path, files.open_regular_file(path))
        except FileNotFoundError:  # removed between two calls of open_regular_file
            return None
        try:
            if files.lock(found._descriptor, wait=False) and found._is_at_path():
                with contextlib.suppress(
                    OSError
                ):  # on a full disk the lock holds without the number
                    os.ftruncate(found._descriptor, 0)
                    os.pwrite(found._descriptor, f"{os.getpid()}\n".encode(), 0)
                return found
        except BaseException:
            found.close()
            raise
        found.close()
        return None

    def _is_at_path(self) -> bool:
        try:
            return os.path.samestat(
                os.fstat(self._descriptor), os.stat(self._path, follow_symlinks=False)
            )
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Remove the file and let go of the lock.

        Nothing in a forked child, whose parent has the lock.
        """
        if self._descriptor >= 0:
            with contextlib.suppress(OSError):  # the folder may be gone
                os.unlink(self._path)
        self.close()

    def close(self) -> None:
        """Close the file, which releases its lock unless a parent process has it open as well."""
        descriptor, self._descriptor = self._descriptor, -1
        _open.discard(self)
        if descriptor >= 0:
            os.close(descriptor)


_open: weakref.WeakSet[_LockFile] = weakref.WeakSet()
"""Lock files of this process."""


def _close_in_child() -> None:
    """Close inherited lock files: a lock would otherwise outlive the process that took it."""
    for lock in list(_open):
        lock.close()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_close_in_child)
