"""Connections that do not wait for ever: whoever sends half a request, or takes no answer, is let go."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

CHECKS = 2
"""Looks at a connection within the time that it has."""


class Gathered:
    """A transport that sends what is written in one turn of the loop at once: an answer's head and body are one packet.

    Parameters
    ----------
    transport
        The one that sends; whatever is not written goes to it.
    loop
        Whose turns count.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop, self._parts = transport, loop, []

    _parts: list[bytes]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send it soon."""
        if not self._parts:
            self._loop.call_soon(self._send)
        self._parts.append(data)

    def close(self) -> None:
        """Send what is left, then close."""
        self._send()
        self._transport.close()

    def _send(self) -> None:
        if self._parts:
            parts, self._parts = self._parts, []
            self._transport.write(b"".join(parts))


def patient(seconds: float) -> type[H11Protocol]:
    """uvicorn's own way of speaking HTTP, with a limit on how long a client may keep it waiting.

    Parameters
    ----------
    seconds
        Until the head of a request has to be there, or an answer has to be taken. A body has its own limit (:mod:`.door`).
    """

    class Patient(H11Protocol):
        """A connection that is looked at now and then: whoever is in the same place as before is let go."""

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(Gathered(transport, self.loop))  # type: ignore[arg-type]
            self._before: Any = None
            self._look = self.loop.call_later(seconds / CHECKS, self._again, 0)

        def connection_lost(self, exc: Exception | None) -> None:
            self._look.cancel()
            super().connection_lost(exc)

        def _again(self, same: int) -> None:
            place = (self.cycle, self._waits())
            same = same + 1 if place[1] and place == self._before else 0
            if same >= CHECKS - 1:
                self.transport.abort()
                return
            self._before = place
            self._look = self.loop.call_later(seconds / CHECKS, self._again, same)

        def _waits(self) -> str:
            """What the client keeps us waiting with; nothing if it is our turn, or between two requests."""
            if self.flow.write_paused:
                return "answer"
            if self.conn.their_state is h11.SEND_BODY:  # the door has its eye on it until it has answered
                return "body" if self.cycle.response_complete else ""
            return "head" if self.cycle is None or self.conn.trailing_data[0] else ""

    return Patient
