"""File format of the event log: groups of events, each with a digest that chains the one before.

A segment ``events-0000000000000001.log`` is named by the number of its first event and contains
groups only. A group is the unit of writing: all of it is in the log, or it does not count. It
consists of a start of fixed size, a header (JSON), the bodies of its events as they were sent, and
the SHA-256 digest of all of these. The start contains the digest of the group before, so a changed,
missing or exchanged group is noticed at the group itself or at the next one.
"""

from __future__ import annotations

import hashlib
import os
import re
import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

IDENTITY_BYTES = 16
DIGEST_BYTES = 32
SEGMENT_NAME = re.compile(r"events-(\d{16})\.log")
START = struct.Struct("<16s32sQQII")
"""Start of a group.

Identity of the log, digest of the group before, number of the first event, bytes of all bodies,
number of events, bytes of the header.
"""


class Event(NamedTuple):
    """A request that changes something, as it was sent."""

    action: str
    """``"ask"``, ``"tell"``, ``"drop"``, ``"declare"``, or the server's own ``"bounds"``."""
    model: str
    target: str
    """What the model predicts if this event creates it: the server's default at that time."""
    body: bytes
    is_ndjson: bool = False
    """Whether the body is one JSON value a line."""


class LogPosition(NamedTuple):
    """The end of a group in the log: number of its last event, and its digest."""

    number: int
    digest: bytes


LOG_START = LogPosition(0, bytes(DIGEST_BYTES))
"""Position before the first group."""


class GroupHeader(msgspec.Struct):
    """What a group contains beside the bodies of its events."""

    events: list[tuple[str, str, str, bool, int]]
    """Action, model, target, whether the body is NDJSON, and bytes of the body."""
    performed: int
    """Number of the newest event that the models had performed when the group was written."""
    refused: list[int]
    """Which of these events the models refused; only those that no earlier group lists."""
    skipped: list[int]
    """Events that an operator left out. Such a group has no events of its own."""


class EventGroup(NamedTuple):
    """A group that was read and whose digest is right."""

    identity: bytes
    previous: bytes
    """Digest of the group before."""
    first: int
    """Number of its first event; without events, the number of the next event."""
    header: GroupHeader
    bodies: memoryview
    digest: bytes
    offset: int
    """Place of the group's first byte in the segment."""
    end: int
    """Place behind the group's last byte."""

    @property
    def last(self) -> int:
        """Number of its last event."""
        return self.first + len(self.header.events) - 1

    def events(self) -> Iterator[tuple[int, Event]]:
        """Yield the number of each event and the event."""
        start = 0
        for k, (action, model, target, is_ndjson, size) in enumerate(self.header.events):
            body = bytes(self.bodies[start : start + size])
            yield self.first + k, Event(action, model, target, body, is_ndjson)
            start += size


class Damage(NamedTuple):
    """Bytes of a segment that are not a group."""

    offset: int
    end: int
    """Where the next group begins, or the segment ends."""


def encode(
    identity: bytes, before: LogPosition, events: Sequence[Event], header: GroupHeader
) -> tuple[bytes, LogPosition]:
    """Return a group as bytes, without the digest that follows them, and the group's end."""
    bodies, head = [event.body for event in events], msgspec.json.encode(header)
    start = START.pack(
        identity, before.digest, before.number + 1, sum(map(len, bodies)), len(events), len(head)
    )
    content = b"".join([start, head, *bodies])  # appending the digest would copy all of it
    return content, LogPosition(before.number + len(events), _digest(content))


def decode(content: memoryview, offset: int) -> EventGroup | None:
    """Return the group at an offset; None if there is none, or its digest is wrong."""
    if offset + START.size > len(content):
        return None
    identity, previous, first, body_bytes, count, head_bytes = START.unpack_from(content, offset)
    bodies = offset + START.size + head_bytes
    digest = bodies + body_bytes
    end = digest + DIGEST_BYTES
    if end > len(content) or _digest(content[offset:digest]) != content[digest:end]:
        return None
    header = msgspec.json.decode(content[offset + START.size : bodies], type=GroupHeader)
    assert len(header.events) == count  # the digest is right, so this is what was written
    return EventGroup(
        identity,
        previous,
        first,
        header,
        content[bodies:digest],
        bytes(content[digest:end]),
        offset,
        end,
    )


def read_groups(path: str, identity: bytes) -> Iterator[EventGroup | Damage]:
    """Yield all groups of a segment, and the damaged bytes between them.

    Parameters
    ----------
    path
        Path of the segment.
    identity
        Identity of the log: behind damage, the next group is found by it. Clients do not know it,
        so no body contains it.
    """
    with open(path, "rb") as file:
        content = file.read()
    view, offset = memoryview(content), 0
    while offset < len(content):
        group = decode(view, offset)
        if group is None:
            following = content.find(identity, offset + 1)
            while following >= 0 and decode(view, following) is None:
                following = content.find(identity, following + 1)
            end = following if following >= 0 else len(content)
            yield Damage(offset, end)
            offset = end
        else:
            yield group
            offset = group.end


def list_segments(folder: str) -> dict[str, int]:
    """Return the path of each segment and the number of its first event, in ascending order."""
    found = (SEGMENT_NAME.fullmatch(name) for name in sorted(os.listdir(folder)))
    return {os.path.join(folder, match[0]): int(match[1]) for match in found if match}


def segment_path(folder: str, first: int) -> str:
    """Return the path of the segment whose first event has this number."""
    return os.path.join(folder, f"events-{first:016d}.log")


def _digest(data: bytes | memoryview) -> bytes:
    # SHA-256 is twice as fast as BLAKE2b where the processor has instructions for it.
    return hashlib.sha256(data).digest()
