"""Connections that do not wait for ever: whoever sends half a request, or takes no answer, is let go."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LONGEST_HEAD = 64 * 2**10
"""Bytes of the head of a request."""
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


def patient(seconds: float) -> type[HttpToolsProtocol]:
    """uvicorn's own way of speaking HTTP, with limits on how long and how much a client may keep it waiting.

    Parameters
    ----------
    seconds
        Until the head of a request has to be there, or an answer has to be taken. A body has its own limit (``door``).
    """

    class Patient(HttpToolsProtocol):
        """A connection that is looked at now and then: whoever is in the same place as before is let go."""

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(Gathered(transport, self.loop))  # type: ignore[arg-type]
            self._phase, self._size = "head", 0  # of the request that is coming in, and bytes of its head
            self._before: Any = None
            self._look = self.loop.call_later(seconds / CHECKS, self._again, 0)

        def connection_lost(self, exc: Exception | None) -> None:
            self._look.cancel()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self._phase == "head":
                self._size += len(data)
            super().data_received(data)
            if self._phase == "head" and self._size > LONGEST_HEAD:
                self.transport.abort()

        def on_message_begin(self) -> None:
            self._phase, self._size = "head", 0
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            self._phase = "body"
            super().on_headers_complete()

        def on_message_complete(self) -> None:
            self._phase = ""
            super().on_message_complete()

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
            if self._phase == "body" and not self.cycle.response_complete:  # the door has its eye on it
                return ""
            return self._phase

    return Patient
