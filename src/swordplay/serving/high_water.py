"""High-water mark: the file that says how far the server's log was acknowledged.

It is written behind every commit of the log and before any client is answered, without an ``fsync``
of its own: what was written outlives the process. After a power cut it may be behind the log, and
never ahead of it. So a log that ends before the mark has lost acknowledged events.
"""

from __future__ import annotations

import hashlib
import logging
import os
import struct
from io import FileIO
from typing import final

from swordplay.core.files import PRIVATE_MODE, open_regular_file, write_atomic
from swordplay.serving.log_format import Boundary

NAME = "high-water"
SLOT = struct.Struct("<16s16sQQ32s")
"""Magic, identity of the log, count of notes, number of an event, digest of the group that it ends.

A checksum follows.
"""
SLOT_BYTES, CHECKSUM_BYTES = 4096, 16
"""Two slots are written in turns, each in a block of its own: a torn write leaves the other one
whole.
"""
MAGIC = b"swordplay log 1\n"

logger = logging.getLogger("swordplay.serve")


class HighWaterError(ValueError):
    """A high-water mark that cannot be used; says why."""


@final
class HighWater:
    """The mark of a folder, open for writing.

    Raises
    ------
    HighWaterError
        If it is missing, or both of its slots are damaged.
    """

    def __init__(self, folder: str) -> None:
        path = os.path.join(folder, NAME)
        if not os.path.lexists(path):
            raise HighWaterError(f"{path!r} is missing")
        self._file = FileIO(open_regular_file(path), "r+")
        found = [_decoded(self._file.read(SLOT_BYTES)) for _ in range(2)]
        whole = [(slot[1], place) for place, slot in enumerate(found) if slot is not None]
        if not whole:
            self._file.close()
            raise HighWaterError(f"{path!r} is damaged")
        if len(whole) < 2:
            logger.warning("one of the two notes in %r is damaged, the other one is used", path)
        self._count, self._slot = max(whole)
        # the slots in ``whole`` are not None
        self.identity, _, self.boundary = found[self._slot]  # type: ignore[misc]

    def put(self, boundary: Boundary) -> None:
        """Note that the log was acknowledged up to a boundary."""
        slot = 1 - self._slot
        os.pwrite(
            self._file.fileno(),
            _encoded(self.identity, self._count + 1, boundary),
            slot * SLOT_BYTES,
        )
        self._count, self._slot, self.boundary = self._count + 1, slot, boundary

    def sync(self) -> None:
        """Bring it down to the disk."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def create(folder: str, identity: bytes, boundary: Boundary) -> None:
    """Write the mark of a new log, or of one that was repaired."""
    write_atomic(
        os.path.join(folder, NAME),
        2 * _encoded(identity, 0, boundary).ljust(SLOT_BYTES, b"\0"),
        PRIVATE_MODE,
    )


def _encoded(identity: bytes, count: int, boundary: Boundary) -> bytes:
    data = SLOT.pack(MAGIC, identity, count, *boundary)
    return data + _checksum(data)


def _decoded(data: bytes) -> tuple[bytes, int, Boundary] | None:
    """Identity, count and boundary of a slot; None if it is damaged."""
    if (
        len(data) < SLOT.size + CHECKSUM_BYTES
        or _checksum(data[: SLOT.size]) != data[SLOT.size :][:CHECKSUM_BYTES]
    ):
        return None
    magic, identity, count, number, digest = SLOT.unpack_from(data)
    return (identity, count, Boundary(number, digest)) if magic == MAGIC else None


def _checksum(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=CHECKSUM_BYTES).digest()
