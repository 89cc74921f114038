"""A file that grows beside its final name and takes that name when it is whole."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from io import FileIO
from typing import BinaryIO

from swordplay.tables.errors import TableError, unwritable

try:
    import fcntl
except ImportError:  # Windows: there nobody else can remove or rename an open file
    fcntl = None  # type: ignore[assignment]

SAMPLE = 1 << 12
"""Bytes at the beginning and at the end that a fingerprint looks at."""


class Partial:
    """A file of bytes such as ``PATH.partial``, locked for as long as it is open.

    Parameters
    ----------
    path
        The final name.
    offset, fingerprint
        What is kept of a file that is there already; what lies beyond is cut off.
    suffix
        What is added to the final name.
    """

    def __init__(self, path: str, offset: int = 0, fingerprint: str = "", suffix: str = ".partial") -> None:
        self.path, self.partial = path, path + suffix
        self.offset = offset
        self._keep = offset > 0
        if offset and not os.path.exists(self.partial):
            raise not_ours(path)
        with reported(path):
            self._file = os.fdopen(os.open(self.partial, os.O_RDWR | os.O_CREAT, 0o666), "r+b", buffering=0)
            try:
                self._lock()
                if offset and self.fingerprint() != fingerprint:
                    raise not_ours(self.partial)
                self._file.truncate(offset)
                self._file.seek(offset)
            except BaseException:
                self._file.close()
                raise

    def _lock(self) -> None:
        if fcntl is not None:
            try:
                fcntl.flock(self._file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise TableError(
                    f"{self.partial} is being written by another run. Wait for it, or choose another output."
                ) from error

    def append(self, data: bytes | memoryview) -> None:
        """Write all of it."""
        with reported(self.path):
            view = memoryview(data)
            while len(view):
                view = view[self._file.write(view) :]
        self.offset += len(data)

    def sync(self) -> None:
        """Down to the disk, name included; from now on the file outlives us."""
        with reported(self.path):
            os.fsync(self._file.fileno())
            if not self._keep:
                sync_folder(self.partial)
        self._keep = True

    def fingerprint(self) -> str:
        """Of the first and the last bytes that count."""
        return fingerprint_of(self._file, self.offset)

    def publish(self) -> None:
        """Give the file its name, once everything is on the disk."""
        with reported(self.path):
            os.fsync(self._file.fileno())
            os.replace(self.partial, self.path)
            sync_folder(self.path)
        self._file.close()

    def discard(self) -> None:
        """Remove the file."""
        self._keep = False
        self.close()

    def close(self) -> None:
        """Let go of the file, and remove it unless somebody can go on from it."""
        if not self._file.closed:
            if not self._keep:
                with contextlib.suppress(OSError):
                    os.unlink(self.partial)
            self._file.close()


def fingerprint_of(file: BinaryIO | FileIO, offset: int) -> str:
    """Of the first and the last of so many bytes; empty if the file is shorter than that."""
    size = min(SAMPLE, offset)
    start = os.pread(file.fileno(), size, 0)
    end = os.pread(file.fileno(), size, offset - size)
    return hashlib.sha256(start + end).hexdigest() if len(end) == size else ""


@contextlib.contextmanager
def reported(path: str) -> Iterator[None]:
    """Say which file could not be written."""
    try:
        yield
    except OSError as error:
        raise unwritable(path, error) from error


def not_ours(path: str) -> TableError:
    """The file is not the one that the position belongs to."""
    return TableError(
        f"{path} is not the output that this state was saved with, or has been changed since.\n"
        "Put it back, or begin anew with --force."
    )


def sync_folder(path: str) -> None:
    """Bring the name of a file down to the disk; Windows does so by itself and opens no folder."""
    if fcntl is not None:
        descriptor = os.open(os.path.dirname(path) or ".", os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
