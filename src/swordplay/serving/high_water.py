"""The high-water mark: a file with the position up to which the event log was acknowledged.

It is written after every commit of the log and before a client is answered, without an ``fsync`` of
its own: what was written survives the process. After a power cut the mark may be behind the log,
but never ahead of it. So a log that ends before the mark has lost acknowledged events.
"""

from __future__ import annotations

import hashlib
import logging
import os
import struct
from io import FileIO
from typing import NamedTuple, final

from swordplay.core.files import PRIVATE_MODE, open_regular_file, write_atomic
from swordplay.serving.log_format import LogPosition

NAME = "high-water"
SLOT = struct.Struct("<16s16sQQ32s")
"""Format of a slot, which a checksum follows.

Magic, identity of the log, number of writes, number of the newest event, and digest of the event
group that it ends (see ``log_format``).
"""
SLOT_BYTES = 4096
"""The two slots are written in turn, each in a block of its own: a torn write damages only one."""
CHECKSUM_BYTES = 16
MAGIC = b"swordplay log 1\n"

logger = logging.getLogger("swordplay.serve")


class HighWaterError(ValueError):
    """The high-water mark cannot be used; says why."""


class Slot(NamedTuple):
    """Content of an intact slot."""

    identity: bytes
    """Identity of the log."""
    writes: int
    """Number of writes before this one; the larger one is the newest."""
    position: LogPosition


@final
class HighWaterMark:
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
        decoded = [_decode(self._file.read(SLOT_BYTES)) for _ in range(2)]
        intact = {k: slot for k, slot in enumerate(decoded) if slot is not None}
        if not intact:
            self._file.close()
            raise HighWaterError(f"{path!r} is damaged")
        if len(intact) < 2:
            logger.warning("one of the two slots in %r is damaged, the other one is used", path)
        self._slot = max(intact, key=lambda k: (intact[k].writes, k))
        self.identity, self._writes, self.position = intact[self._slot]

    def put(self, position: LogPosition) -> None:
        """Record that the log was acknowledged up to a position."""
        slot = 1 - self._slot
        content = _encode(self.identity, self._writes + 1, position)
        os.pwrite(self._file.fileno(), content, slot * SLOT_BYTES)
        self._writes += 1
        self._slot = slot
        self.position = position

    def sync(self) -> None:
        """Write the file to the disk (fsync)."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def create(folder: str, identity: bytes, position: LogPosition) -> None:
    """Write the mark of a new or a repaired log."""
    slot = _encode(identity, 0, position).ljust(SLOT_BYTES, b"\0")
    write_atomic(os.path.join(folder, NAME), 2 * slot, PRIVATE_MODE)


def _encode(identity: bytes, writes: int, position: LogPosition) -> bytes:
    data = SLOT.pack(MAGIC, identity, writes, *position)
    return data + _checksum(data)


def _decode(data: bytes) -> Slot | None:
    """Return the content of a slot; None if it is damaged."""
    if len(data) < SLOT.size + CHECKSUM_BYTES:
        return None
    if _checksum(data[: SLOT.size]) != data[SLOT.size :][:CHECKSUM_BYTES]:
        return None
    magic, identity, writes, number, digest = SLOT.unpack_from(data)
    return Slot(identity, writes, LogPosition(number, digest)) if magic == MAGIC else None


def _checksum(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=CHECKSUM_BYTES).digest()
