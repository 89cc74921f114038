"""Connections that do not wait for ever: whoever sends half a request, or takes no answer, is
let go.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar, final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from swordplay.serving.door import CLOSE, JSON, SHORT, TRAILERS, Door, lines
from swordplay.serving.heads import Head, Heads, Meaning, Whole, head_of, whole

LONGEST_HEAD = 64 * 2**10
"""Bytes of the head of a request."""
LIVE = "/events"
"""The answer that never ends: a client that sends no more has left it."""
CHECKS = 2
"""Looks at a connection within the time that it has."""


class Gathered:
    """A transport that sends what is written in one turn of the loop at once: an answer's head and
    body are one packet.

    Parameters
    ----------
    transport
        The one that sends; whatever is not written goes to it.
    loop
        Whose turns count.
    amid
        Whether a request is coming in of which more is to come.
    """

    def __init__(
        self,
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        amid: Callable[[], bool],
    ) -> None:
        self._transport, self._loop, self._amid, self._parts = transport, loop, amid, []
        self.over = False
        """Whether the last answer is on its way, and whatever still comes in counts for nothing."""

    _parts: list[bytes]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send it soon."""
        if not self._parts:
            self._loop.call_soon(self.send_now)
        self._parts.append(data)

    def write_now(self, data: bytes) -> None:
        """Send what is whole by itself."""
        self.send_now()
        self._transport.write(data)

    def close(self) -> None:
        """Send what is left, then close: the way out only, if the client is still sending, who
        would else lose his answer.
        """
        self.send_now()
        if self.over or not self._amid() or self.is_closing():
            self._transport.close()
        else:
            self.over = True
            self._transport.write_eof()

    def send_now(self) -> None:
        """Send what was written in this turn."""
        if self._parts:
            parts, self._parts = self._parts, []
            self._transport.write(b"".join(parts))


@final
class Nobody:
    """Who waits for a part of a request that is there in one piece."""

    def set(self) -> None:
        """Nothing happens."""


@final
class Short:
    """A request that is answered without a task: what uvicorn looks at of a request that is
    under way.
    """

    __slots__ = ("body", "disconnected", "keep_alive", "more_body", "response_complete")
    message_event: ClassVar = Nobody()

    def __init__(self, keep_alive: bool) -> None:
        self.keep_alive, self.response_complete, self.disconnected = keep_alive, False, False
        self.body, self.more_body = b"", True


@final
class Usual:
    """The lines that every answer has (its date), as they are sent: made again when uvicorn has
    new ones, once a second.
    """

    def __init__(self) -> None:
        self._headers: list[tuple[bytes, bytes]] = []
        self._lines = b""

    def lines(self, headers: list[tuple[bytes, bytes]]) -> bytes:
        """These headers as they are sent."""
        if headers is not self._headers:
            self._headers, self._lines = headers, lines(headers)
        return self._lines


class Patient(HttpToolsProtocol):
    """A connection that is looked at now and then: whoever is in the same place as before is let
    go.
    """

    seconds: float
    door: Door
    heads: Heads
    usual: Usual

    # of TCP, as here
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody has come."""
        self._gathered = Gathered(transport, self.loop, lambda: self._phase == "body")
        # it has what uvicorn uses of one
        super().connection_made(self._gathered)  # type: ignore[arg-type]
        self._phase, self._size = (
            "head",
            0,
        )  # of the request that is coming in, and bytes of its head
        self._begins, self._whole = (
            True,
            None,
        )  # whether the next byte begins a request, and all of it if it is there
        self._before: Any = None
        self._rested = 0.0  # since when there is no request
        self._ended = (
            False  # whether the client sends no more, and waits for the answer to a whole request
        )
        self._look = self.loop.call_later(self.seconds / CHECKS, self._again, 0)

    _whole: Whole | None

    def connection_lost(self, exc: Exception | None) -> None:
        """He has gone."""
        self._look.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Some bytes more."""
        if self._gathered.over:
            return
        idle = self.cycle is None or self.cycle.response_complete
        self._whole = whole(data) if idle and self._begins and not self.pipeline else None
        if self._whole is not None and not self._full():
            meaning = self.heads.of(self._whole.around)
            if meaning is not None:
                self._phase, self.cycle = "", Short(meaning.keep_alive)
                self._take(self.cycle, meaning.path, meaning.head, self._whole.body)
                return
        if self._phase == "head":
            self._size += len(data)
        super().data_received(data)
        if self._phase == "head" and self._size > LONGEST_HEAD:
            self.transport.abort()

    # True keeps the connection open for the answer
    def eof_received(self) -> bool:  # type: ignore[override]
        """The client sends no more: a whole request is answered before the connection is closed,
        half a one is not.
        """
        self._gathered.send_now()
        waits = self.cycle is not None and not self.cycle.response_complete and self._phase == ""
        self._ended = waits and (isinstance(self.cycle, Short) or self.cycle.scope["path"] != LIVE)
        return self._ended

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP, in words."""
        body = b'{"error":"this is not a request of HTTP/1.1. Check its head and the length of its body."}'  # noqa: E501
        headers = [JSON, (b"content-length", b"%d" % len(body)), CLOSE]
        self.transport.write(
            b"%b%b%b\r\n%b"
            % (
                STATUS_LINE[400],
                self.usual.lines(self.server_state.default_headers),
                lines(headers),
                body,
            )
        )
        self.transport.close()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A line of the head. Lines behind a body (trailers) are none, whatever they are called."""
        if self._phase == "body":
            self.scope[TRAILERS] = True  # type: ignore[literal-required]  # a key of our own
        else:
            super().on_header(name, value)

    def on_message_begin(self) -> None:
        """A request begins."""
        self._phase, self._size, self._begins = "head", 0, False
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Its head is there."""
        self._phase = "body"
        plain = self._whole is not None and not (
            self._full() or self.expect_100_continue or self.parser.should_upgrade()
        )
        if plain and self.url in SHORT and self.parser.get_method() == b"POST":
            self.cycle: Any = Short(
                self.parser.get_http_version() == "1.1" and self.parser.should_keep_alive()
            )
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
            head = head_of(self.headers)
            if self._whole is not None and self._whole.body == self.cycle.body:
                meaning = Meaning(
                    self.url, head._replace(content_length=b""), self.cycle.keep_alive
                )
                self.heads.keep(self._whole.around, meaning)
            self._take(self.cycle, self.url, head, self.cycle.body)
        else:
            super().on_message_complete()

    def on_response_complete(self) -> None:
        """An answer is on its way."""
        self._rested = self.loop.time()
        super().on_response_complete()
        if self._ended and self.cycle.response_complete:  # the newest of several
            self.transport.close()

    def timeout_keep_alive_handler(self) -> None:
        """Nothing has come for long, unless short requests have, which leave this clock as it
        is.
        """
        self.timeout_keep_alive_task, left = (
            None,
            self._rested + self.timeout_keep_alive - self.loop.time(),
        )
        if not self.cycle.response_complete:  # it begins again with the answer
            return
        if left > 0.0:
            self.timeout_keep_alive_task = self.loop.call_later(
                left, self.timeout_keep_alive_handler
            )
        else:
            super().timeout_keep_alive_handler()

    def _full(self) -> bool:
        """Whether there are more connections than are served."""
        return (
            self.limit_concurrency is not None and len(self.connections) >= self.limit_concurrency
        )

    def _take(self, cycle: Short, path: bytes, head: Head, body: bytes) -> None:
        """Hand a short request to the door."""

        def answer(status: int, said: bytes, body: bytes, last: bool) -> None:
            if cycle.disconnected or self.transport.is_closing():
                return
            if not cycle.keep_alive and not last:
                said, last = said + lines([CLOSE]), True
            usual = self.usual.lines(self.server_state.default_headers)
            self._gathered.write_now(b"%b%b%b\r\n%b" % (STATUS_LINE[status], usual, said, body))
            cycle.response_complete = True
            if last:
                self.transport.close()
            if self.pipeline or last or self._ended or self.timeout_keep_alive_task is None:
                self.on_response_complete()
            else:
                self.server_state.total_requests += 1
                self._rested = self.loop.time()

        self.door.take(path, head, body, answer)

    def _again(self, same: int) -> None:
        place = (self.cycle, self._waits())
        same = same + 1 if place[1] and place == self._before else 0
        if same >= CHECKS - 1:
            self.transport.abort()
            return
        self._before = place
        self._look = self.loop.call_later(self.seconds / CHECKS, self._again, same)

    def _waits(self) -> str:
        """What the client keeps us waiting with.

        Nothing if it is our turn, or between two requests.
        """
        if self.flow.write_paused:
            return "answer"
        if self._phase == "body" and not self.cycle.response_complete:  # the door has its eye on it
            return ""
        return self._phase


def patient(seconds: float, door: Door) -> type[HttpToolsProtocol]:
    """uvicorn's own way of speaking HTTP, with limits on how long and how much a client may keep it
    waiting.

    Parameters
    ----------
    seconds
        Until the head of a request has to be there, or an answer has to be taken. A body has its
        own limit (``door``).
    door
        Who takes requests that are there in one piece, so that they need no task.
    """
    return type(
        "Patient",
        (Patient,),
        {"seconds": seconds, "door": door, "heads": Heads(), "usual": Usual()},
    )
