"""Connections that do not wait for ever: whoever sends half a request, or takes no answer, is let go."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from swordplay.serving.door import SHORT, Door, head_of

LONGEST_HEAD = 64 * 2**10
"""Bytes of the head of a request."""
LENGTH = re.compile(rb"\r\ncontent-length: *([0-9]{1,9})\r\n", re.IGNORECASE)
CLOSE = (b"connection", b"close")
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
    amid
        Whether a request is coming in of which more is to come.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, amid: Callable[[], bool]) -> None:
        self._transport, self._loop, self._amid, self._parts = transport, loop, amid, []
        self.over = False
        """Whether the last answer is on its way, and whatever still comes in counts for nothing."""

    _parts: list[bytes]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send it soon."""
        if not self._parts:
            self._loop.call_soon(self._send)
        self._parts.append(data)

    def write_now(self, data: bytes) -> None:
        """Send what is whole by itself."""
        self._send()
        self._transport.write(data)

    def close(self) -> None:
        """Send what is left, then close: the way out only, if the client is still sending, who would else lose his answer."""
        self._send()
        if self.over or not self._amid() or self.is_closing():
            self._transport.close()
        else:
            self.over = True
            self._transport.write_eof()

    def _send(self) -> None:
        if self._parts:
            parts, self._parts = self._parts, []
            self._transport.write(b"".join(parts))


class Short:
    """A request that is answered without a task: what uvicorn looks at of a request that is under way."""

    def __init__(self, keep_alive: bool) -> None:
        self.keep_alive, self.response_complete, self.disconnected = keep_alive, False, False
        self.body, self.more_body, self.message_event = b"", True, self

    def set(self) -> None:
        """Nobody waits for a part of it."""


def is_whole(data: bytes) -> bool:
    """Whether some bytes are one request from its first to its last, as far as its length is said the usual way."""
    end = data.find(b"\r\n\r\n")
    found = LENGTH.search(data, 0, end + 2) if end > 0 else None
    return found is not None and end + 4 + int(found[1]) == len(data)


class Patient(HttpToolsProtocol):
    """A connection that is looked at now and then: whoever is in the same place as before is let go."""

    seconds: float
    door: Door

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody has come."""
        self._gathered = Gathered(transport, self.loop, lambda: self._phase == "body")
        super().connection_made(self._gathered)  # type: ignore[arg-type]
        self._phase, self._size = "head", 0  # of the request that is coming in, and bytes of its head
        self._begins, self._whole = True, False  # whether the next byte begins a request, and these bytes are all of it
        self._before: Any = None
        self._look = self.loop.call_later(self.seconds / CHECKS, self._again, 0)

    def connection_lost(self, exc: Exception | None) -> None:
        """He has gone."""
        self._look.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Some bytes more."""
        if self._gathered.over:
            return
        if self._phase == "head":
            self._size += len(data)
        idle = self.cycle is None or self.cycle.response_complete
        self._whole = idle and self._begins and not self.pipeline and is_whole(data)
        super().data_received(data)
        if self._phase == "head" and self._size > LONGEST_HEAD:
            self.transport.abort()

    def on_message_begin(self) -> None:
        """A request begins."""
        self._phase, self._size, self._begins = "head", 0, False
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Its head is there."""
        self._phase = "body"
        full = self.limit_concurrency is not None and len(self.connections) >= self.limit_concurrency
        plain = self._whole and not (full or self.expect_100_continue or self.parser.should_upgrade())
        if plain and self.url in SHORT and self.parser.get_method() == b"POST":
            self.cycle: Any = Short(self.parser.get_http_version() == "1.1" and self.parser.should_keep_alive())
        else:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of its body."""
        if isinstance(self.cycle, Short):
            self.cycle.body += body
        else:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """All of it is there."""
        self._phase, self._begins = "", True
        if isinstance(self.cycle, Short):
            self._take(self.cycle)
        else:
            super().on_message_complete()

    def _take(self, cycle: Short) -> None:
        def answer(headers: list[tuple[bytes, bytes]], status: int, body: bytes) -> None:
            if cycle.disconnected or self.transport.is_closing():
                return
            if not cycle.keep_alive and CLOSE not in headers:
                headers.append(CLOSE)
            lines = [b"%b: %b\r\n" % line for line in (*self.server_state.default_headers, *headers)]
            self.transport.write_now(b"".join((STATUS_LINE[status], *lines, b"\r\n", body)))  # type: ignore[attr-defined]
            cycle.response_complete = True
            if CLOSE in headers:
                self.transport.close()
            self.on_response_complete()

        self.door.take(self.url, head_of(self.headers), cycle.body, answer)

    def _again(self, same: int) -> None:
        place = (self.cycle, self._waits())
        same = same + 1 if place[1] and place == self._before else 0
        if same >= CHECKS - 1:
            self.transport.abort()
            return
        self._before = place
        self._look = self.loop.call_later(self.seconds / CHECKS, self._again, same)

    def _waits(self) -> str:
        """What the client keeps us waiting with; nothing if it is our turn, or between two requests."""
        if self.flow.write_paused:
            return "answer"
        if self._phase == "body" and not self.cycle.response_complete:  # the door has its eye on it
            return ""
        return self._phase


def patient(seconds: float, door: Door) -> type[HttpToolsProtocol]:
    """uvicorn's own way of speaking HTTP, with limits on how long and how much a client may keep it waiting.

    Parameters
    ----------
    seconds
        Until the head of a request has to be there, or an answer has to be taken. A body has its own limit (``door``).
    door
        Who takes requests that are there in one piece, so that they need no task.
    """
    return type("Patient", (Patient,), {"seconds": seconds, "door": door})
