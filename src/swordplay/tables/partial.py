"""A file that grows beside its final name and takes that name when it is whole."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from io import FileIO
from typing import Any, BinaryIO

from swordplay.core import files
from swordplay.tables.errors import TableError, unwritable

PIECE = 1 << 20
"""Bytes that are read at a time."""


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
    known
        Whether its bytes are digested while they are written, so that one can go on from there.
    """

    def __init__(
        self,
        path: str,
        offset: int = 0,
        fingerprint: str = "",
        suffix: str = ".partial",
        *,
        known: bool = True,
    ) -> None:
        self.path, self.partial, self._known = path, path + suffix, known
        self.offset = offset
        self._keep = offset > 0
        if offset and not os.path.lexists(self.partial):
            raise not_ours(path)
        with reported(path):
            self._file = os.fdopen(self._opened(), "r+b", buffering=0)
            try:
                self._lock()
                self._digest = digest_of(self._file, offset)
                if offset and self.fingerprint() != fingerprint:
                    raise not_ours(self.partial)
                self._file.truncate(offset)
                self._file.seek(offset)
            except BaseException:
                self._file.close()
                raise

    def _opened(self) -> int:
        try:
            return files.open_regular_file(self.partial)
        except files.NotARegularFile as error:
            raise TableError(
                f"{self.partial} is a link or no file at all, and what it leads to would be "
                "overwritten.\n"
                "Find out who made it and remove it, or choose another output."
            ) from error

    def _lock(self) -> None:
        if not files.lock(self._file.fileno(), wait=False):
            raise TableError(
                f"{self.partial} is being written by another run. Wait for it, or choose another "
                "output."
            )

    def append(self, data: bytes | memoryview) -> None:
        """Write all of it."""
        with reported(self.path):
            view = memoryview(data)
            if self._known:
                self._digest.update(view)
            while len(view):
                view = view[self._file.write(view) :]
        self.offset += len(data)

    def sync(self) -> None:
        """Down to the disk, name included; from now on the file outlives us."""
        with reported(self.path):
            os.fsync(self._file.fileno())
            if not self._keep:
                files.sync_folder(self.partial)
        self._keep = True

    def fingerprint(self) -> str:
        """Of all bytes that count."""
        assert self._known
        return str(self._digest.hexdigest())

    def publish(self) -> None:
        """Give the file its name, once everything is on the disk."""
        with reported(self.path):
            files.publish(self._file, self.partial, self.path)
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


def digest_of(file: BinaryIO | FileIO, offset: int) -> Any:
    """Of so many bytes from the beginning, ready for more; of what there is if the file is shorter.

    All of them are read: who goes on from a file must know that nobody has edited it. BLAKE2 takes
    a second for a gigabyte.
    """
    digest, place = hashlib.blake2b(digest_size=32), 0
    while place < offset and (data := os.pread(file.fileno(), min(PIECE, offset - place), place)):
        digest.update(data)
        place += len(data)
    return digest


def fingerprint_of(file: BinaryIO | FileIO, offset: int) -> str:
    """The same as a string."""
    return str(digest_of(file, offset).hexdigest())


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
