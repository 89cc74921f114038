"""File format of the server's log: groups of events, each with a digest that chains the one before.

A segment ``events-0000000000000001.log`` is named by the number of its first event and holds
nothing but groups. A group is the unit of writing: all of it is in the log, or it does not count.
It consists of a start of fixed size, a header (JSON), the bodies of its events as they were sent,
and the SHA-256 digest of all of these. The start holds the digest of the group before, so a
changed, missing or exchanged group is noticed at the group itself or at the next one.
"""

from __future__ import annotations

import hashlib
import os
import re
import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

IDENTITY_BYTES, DIGEST_BYTES = 16, 32
SEGMENT = re.compile(r"events-(\d{16})\.log")
START = struct.Struct("<16s32sQQII")
"""Identity of the log, digest of the group before, number of the first event, bytes of all bodies,
number of events, and
bytes of the header."""


class Event(NamedTuple):
    """A request that changes something, as it was sent."""

    action: str
    """``"ask"``, ``"tell"``, ``"drop"``, ``"declare"``, or ``"bounds"`` of the server itself."""
    model: str
    target: str
    """What the model predicts if this is its first use: a server may be started with another
    default later.
    """
    body: bytes
    lines: bool = False
    """Whether the body is NDJSON."""


class Boundary(NamedTuple):
    """The end of a group: number of its last event, and its digest."""

    number: int
    digest: bytes


BEGINNING = Boundary(0, bytes(DIGEST_BYTES))
"""What the first group of a log follows."""


class Header(msgspec.Struct):
    """What a group holds beside the bodies of its events."""

    events: list[tuple[str, str, str, bool, int]]
    """Action, model, target, whether the body is NDJSON, bytes of the body."""
    performed: int
    """When the group was written, the models had performed the events up to this one."""
    refused: list[int]
    """Which of them they had refused; without those that an earlier group lists."""
    skipped: list[int]
    """Events that an operator left out. Such a group has no events of its own."""


class Group(NamedTuple):
    """A group that was read and whose digest is right."""

    identity: bytes
    previous: bytes
    """Digest of the group before."""
    first: int
    """Number of its first event; of the next event if it has none."""
    header: Header
    bodies: memoryview
    digest: bytes
    offset: int
    end: int

    @property
    def last(self) -> int:
        """Number of its last event."""
        return self.first + len(self.header.events) - 1

    def events(self) -> Iterator[tuple[int, Event]]:
        """Its events and their numbers."""
        place = 0
        for number, (action, model, target, lines, size) in enumerate(
            self.header.events, start=self.first
        ):
            yield (
                number,
                Event(action, model, target, bytes(self.bodies[place : place + size]), lines),
            )
            place += size


class Damage(NamedTuple):
    """Bytes of a segment that are no group."""

    offset: int
    end: int
    """Where the next group begins, or the segment ends."""


def encode(
    identity: bytes, before: Boundary, events: Sequence[Event], header: Header
) -> tuple[bytes, Boundary]:
    """A group of events as bytes, without the digest that follows them, and where it ends."""
    bodies, head = [event.body for event in events], msgspec.json.encode(header)
    start = START.pack(
        identity, before.digest, before.number + 1, sum(map(len, bodies)), len(events), len(head)
    )
    content = b"".join([start, head, *bodies])  # the digest would be another copy
    return content, Boundary(before.number + len(events), _digest(content))


def decode(content: memoryview, offset: int) -> Group | None:
    """The group at an offset; None if there is none, or its digest is wrong."""
    if offset + START.size > len(content):
        return None
    identity, previous, first, body_bytes, count, head_bytes = START.unpack_from(content, offset)
    bodies = offset + START.size + head_bytes
    digest = bodies + body_bytes
    end = digest + DIGEST_BYTES
    if end > len(content) or _digest(content[offset:digest]) != content[digest:end]:
        return None
    header = msgspec.json.decode(content[offset + START.size : bodies], type=Header)
    assert len(header.events) == count  # as it was written: the digest is right
    return Group(
        identity,
        previous,
        first,
        header,
        content[bodies:digest],
        bytes(content[digest:end]),
        offset,
        end,
    )


def read_groups(path: str, identity: bytes) -> Iterator[Group | Damage]:
    """All groups of a segment, and what is damaged between them.

    Parameters
    ----------
    path
        Of the segment.
    identity
        Of the log; behind damage the next group is found by it. Clients do not know it, so no body
        can hold it.
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


def segments(folder: str) -> dict[str, int]:
    """Paths of all segments of a folder and the number of the first event of each, ascending."""
    found = (SEGMENT.fullmatch(name) for name in sorted(os.listdir(folder)))
    return {os.path.join(folder, match[0]): int(match[1]) for match in found if match}


def segment_path(folder: str, first: int) -> str:
    """Path of the segment that begins with an event."""
    return os.path.join(folder, f"events-{first:016d}.log")


def _digest(data: bytes | memoryview) -> bytes:
    return hashlib.sha256(
        data
    ).digest()  # twice as fast as BLAKE2b where the processor has instructions for it
