"""Memory for the bodies of requests: counted as it arrives, and taken from slow bodies when
there is none left.
"""

from __future__ import annotations

import asyncio
from typing import final

from swordplay.serving.refusals import Refusal

SLOW = 2.0
"""Seconds after which a body that is still arriving gives way where there is no room for another
one.
"""
NO_ROOM = "too much is under way. Send it again in a moment."


@final
class Arriving:
    """A body of which more is to come.

    Parameters
    ----------
    room
        Where its bytes count.
    """

    def __init__(self, room: Room) -> None:
        self._room, self.size = room, 0
        self.deadline: asyncio.Timeout | None = None
        """The time-out within which it has to be there; it is used to end the body early."""
        self.begun = asyncio.get_running_loop().time()
        self.gave_way = False
        """Whether it was ended to make room for others."""

    def add(self, size: int) -> None:
        """Count some bytes more.

        Raises
        ------
        Refusal
            503, if there is no room for them.
        """
        self._room.take(size)
        self.size += size

    def give_way(self) -> None:
        """End it now."""
        self.gave_way = True
        self._room.release(self.size)
        self.size = 0
        if self.deadline is not None:
            self.deadline.reschedule(asyncio.get_running_loop().time())


@final
class Room:
    """Bytes of all requests that are under way: those that arrive, and those that wait for the
    disk.

    Parameters
    ----------
    most
        Bytes that there may be.
    """

    def __init__(self, most: int) -> None:
        self.most, self.held = most, 0
        self._arriving: dict[Arriving, None] = {}  # the oldest first

    def take(self, size: int) -> None:
        """Count some bytes.

        The oldest bodies that are still arriving give way where there is no room.

        Raises
        ------
        Refusal
            503, if there is none.
        """
        while self.held + size > self.most:
            oldest = next((body for body in self._arriving if body.size), None)
            if oldest is None or asyncio.get_running_loop().time() - oldest.begun < SLOW:
                raise Refusal(503, NO_ROOM)
            del self._arriving[oldest]
            oldest.give_way()
        self.held += size

    def release(self, size: int) -> None:
        """Some bytes less."""
        self.held -= size

    def begin(self) -> Arriving:
        """A body of which nothing has arrived yet."""
        body = Arriving(self)
        self._arriving[body] = None
        return body

    def arrived(self, body: Arriving) -> None:
        """All of a body is there, or no more of it comes: it does not give way any more."""
        self._arriving.pop(body, None)
