"""Heads of requests that came before: the same bytes mean the same, and need not be read again.

A client that asks and tells sends one head over and over, but for the length of the body. What the
reader of HTTP made of it the first time is kept, and only that: who may come in is looked at each
time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple, final

MOST_HEADS = 256
"""Heads that are kept: clients of one kind send the same."""
LONGEST_KEPT = 4 * 2**10
"""Bytes of a head that is kept."""
LENGTH = re.compile(rb"\r\ncontent-length: *([0-9]{1,9})\r\n", re.IGNORECASE)


class Head(NamedTuple):
    """What is looked at of the head of a request."""

    host: bytes = b""
    origin: bytes = b""
    authorization: bytes = b""
    content_type: bytes = b""
    content_length: bytes = b""
    doubled: bytes = b""
    """Name of a header among those above that is there more than once; nothing if there is none."""


FIELDS = {name.replace("_", "-").encode(): name for name in Head._fields if name != "doubled"}


def head_of(headers: Iterable[tuple[bytes, bytes]]) -> Head:
    """What is looked at of the lines of a head."""
    found: dict[str, bytes] = {}
    for name, value in headers:
        if (field := FIELDS.get(name)) is not None:
            found["doubled" if field in found else field] = name if field in found else value
    return Head(**found)


class Meaning(NamedTuple):
    """What a head says of a plain request, whatever the length of its body."""

    path: bytes
    head: Head
    keep_alive: bool


class Whole(NamedTuple):
    """A request from its first byte to its last: its head around the length, and its body."""

    around: tuple[bytes, bytes]
    body: bytes


def whole(data: bytes) -> Whole | None:
    """Some bytes as one request, if that is what they are, as far as the length is said the
    usual way.
    """
    end = data.find(b"\r\n\r\n")
    found = LENGTH.search(data, 0, end + 2) if end > 0 else None
    if found is None or end + 4 + int(found[1]) != len(data):
        return None
    return Whole((data[: found.start(1)], data[found.end(1) : end]), data[end + 4 :])


@final
class Heads:
    """What heads mean that were read before; when there are too many, all are forgotten."""

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, bytes], Meaning] = {}
        self.of = self._known.get
        """The meaning of a head around its length; None if it has to be read."""

    def __len__(self) -> int:
        return len(self._known)

    def keep(self, around: tuple[bytes, bytes], meaning: Meaning) -> None:
        """Remember what a head means."""
        if len(around[0]) + len(around[1]) > LONGEST_KEPT:
            return
        if len(self._known) >= MOST_HEADS:
            self._known.clear()
        self._known[around] = meaning
