"""uvicorn's HTTP protocol with timeouts, half-closed connections and direct short requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar, final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from swordplay.serving.app import CLOSE, DIRECT, JSON, TRAILERS, App, RequestHead, header_lines

MAX_HEAD_BYTES = 64 * 2**10
"""Bytes of the head of a request."""
EVENTS_PATH = "/events"
"""Path of the response that never ends: a client that closes its half of the connection is gone."""
CHECKS_PER_TIMEOUT = 2
"""How often the progress of a connection is checked within its timeout."""
INVALID_HTTP = (
    b'{"error":"this is not a valid HTTP/1.1 request. Check its head and the length of its body."}'
)


class CoalescingTransport:
    """A transport that sends everything written in one turn of the event loop as one packet.

    uvicorn writes the head and the body of a response one after the other.

    Parameters
    ----------
    transport
        The transport that sends; all other attributes are those of this one.
    loop
        The event loop.
    is_receiving
        Whether a request is arriving that is not complete.
    """

    _parts: list[bytes]

    def __init__(
        self,
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        is_receiving: Callable[[], bool],
    ) -> None:
        self._transport = transport
        self._loop = loop
        self._is_receiving = is_receiving
        self._parts = []
        self.is_half_closed = False
        """Whether the last response was sent; whatever arrives from now on is ignored."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send data at the end of this turn of the loop."""
        if not self._parts:
            self._loop.call_soon(self.flush)
        self._parts.append(data)

    def write_now(self, data: bytes) -> None:
        """Send a complete response at once."""
        self.flush()
        self._transport.write(data)

    def close(self) -> None:
        """Send what was written, then close the connection.

        Half-close it if the client is still sending: if both directions were closed, the client's
        system would discard the response.
        """
        self.flush()
        if self.is_half_closed or not self._is_receiving() or self.is_closing():
            self._transport.close()
        else:
            self.is_half_closed = True
            self._transport.write_eof()

    def flush(self) -> None:
        """Send what was written in this turn of the loop."""
        if self._parts:
            parts, self._parts = self._parts, []
            self._transport.write(b"".join(parts))


@final
class DirectRequest:
    """A request that is handled without a task; has what uvicorn reads of its own requests."""

    __slots__ = ("body", "disconnected", "keep_alive", "response_complete")
    message_event: ClassVar = asyncio.Event()
    """uvicorn sets it when a connection is lost; nothing waits for it."""

    def __init__(self, keep_alive: bool) -> None:
        self.keep_alive = keep_alive
        self.response_complete = False
        self.disconnected = False
        self.body = b""


class TimedProtocol(HttpToolsProtocol):
    """A connection that is closed if its client makes no progress within a timeout.

    A POST request to one of the paths ``DIRECT`` is handled without a task if all of its bytes
    arrive at once. Such a request counts as ``cycle`` like any other, as uvicorn's shutdown and
    keep-alive look there.
    """

    timeout: float
    server_app: App

    # uvicorn's signature
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the checks of progress."""
        self._coalescing = CoalescingTransport(transport, self.loop, lambda: self._phase == "body")
        # It has all that uvicorn uses of a transport.
        super().connection_made(self._coalescing)  # type: ignore[arg-type]
        self._phase = "head"  # part of the request that is arriving; "" between two requests
        self._head_bytes = 0
        self._client_half_closed = False  # the client sends no more, and waits for a response
        self._last_checked: Any = None
        self._next_check = self.loop.call_later(
            self.timeout / CHECKS_PER_TIMEOUT, self._check_progress, 0
        )

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the checks of progress."""
        self._next_check.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse the bytes that have arrived; start a task for a direct request that is longer."""
        if self._coalescing.is_half_closed:
            return
        if self._phase == "head":
            self._head_bytes += len(data)
        super().data_received(data)
        if self._phase == "body" and isinstance(self.cycle, DirectRequest):
            self._start_task(self.cycle.body)
        if self._phase == "head" and self._head_bytes > MAX_HEAD_BYTES:
            self.transport.abort()

    # True keeps the connection open for the response
    def eof_received(self) -> bool:  # type: ignore[override]
        """Answer a complete request before the connection is closed; discard an incomplete one."""
        self._coalescing.flush()
        is_waiting = self.cycle is not None and not self.cycle.response_complete
        self._client_half_closed = (
            is_waiting
            and self._phase == ""
            and (isinstance(self.cycle, DirectRequest) or self.cycle.scope["path"] != EVENTS_PATH)
        )
        return self._client_half_closed

    def send_400_response(self, msg: str) -> None:
        """Answer bytes that are not HTTP with an error in JSON."""
        headers = [JSON, (b"content-length", b"%d" % len(INVALID_HTTP)), CLOSE]
        self.transport.write(self._response(400, header_lines(headers), INVALID_HTTP))
        self.transport.close()

    def on_message_begin(self) -> None:
        """Begin the head of a request."""
        self._phase = "head"
        self._head_bytes = 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header; one behind the body (a trailer) is only noted, whatever its name is."""
        if self._phase == "body":
            self.scope[TRAILERS] = True  # type: ignore[literal-required]  # a key of our own
        else:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Handle the request without a task if that is possible, else start one."""
        self._phase = "body"
        is_idle = self.cycle is None or self.cycle.response_complete
        if (
            self.url in DIRECT
            and is_idle
            and self.parser.get_method() == b"POST"
            and not self.expect_100_continue
            and not self.parser.should_upgrade()
            and not self._is_full()
        ):
            keep_alive = self.parser.get_http_version() == "1.1" and self.parser.should_keep_alive()
            self.cycle: Any = DirectRequest(keep_alive)
        else:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Add a part of the body."""
        if isinstance(self.cycle, DirectRequest):
            self.cycle.body += body
        else:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Handle a direct request: all of it has arrived."""
        self._phase = ""
        if isinstance(self.cycle, DirectRequest) and TRAILERS in self.scope:
            self._start_task(self.cycle.body)
        if isinstance(self.cycle, DirectRequest):
            self._handle_direct(self.cycle)
        else:
            super().on_message_complete()

    def on_response_complete(self) -> None:
        """Close the connection after the newest response if the client sends no more."""
        super().on_response_complete()
        if self._client_half_closed and self.cycle.response_complete:
            self.transport.close()

    def _is_full(self) -> bool:
        """Whether the server has as many connections or tasks as it may have."""
        most = self.limit_concurrency
        return most is not None and (len(self.connections) >= most or len(self.tasks) >= most)

    def _start_task(self, body: bytes) -> None:
        """Let uvicorn handle the request that is arriving, of whose body this part is there."""
        self.cycle = None
        super().on_headers_complete()
        if body:
            super().on_body(body)

    def _handle_direct(self, request: DirectRequest) -> None:
        def send_response(status: int, headers: bytes, body: bytes, is_last: bool) -> None:
            if request.disconnected or self.transport.is_closing():
                return
            if not request.keep_alive and not is_last:
                headers += header_lines([CLOSE])
                is_last = True
            self._coalescing.write_now(self._response(status, headers, body))
            request.response_complete = True
            if is_last:
                self.transport.close()
            self.on_response_complete()

        head = RequestHead.read(self.headers)
        self.server_app.handle_direct(self.url, head, request.body, send_response)

    def _response(self, status: int, headers: bytes, body: bytes) -> bytes:
        """A response as bytes, with the headers that all responses have (the date)."""
        common = header_lines(self.server_state.default_headers)
        return b"%b%b%b\r\n%b" % (STATUS_LINE[status], common, headers, body)

    def _check_progress(self, unchanged: int) -> None:
        """Close the connection if it waits for the same thing as at the last check."""
        waits_for = self._waits_for()
        state = (self.cycle, waits_for)
        unchanged = unchanged + 1 if waits_for and state == self._last_checked else 0
        if unchanged >= CHECKS_PER_TIMEOUT - 1:
            self.transport.abort()
            return
        self._last_checked = state
        self._next_check = self.loop.call_later(
            self.timeout / CHECKS_PER_TIMEOUT, self._check_progress, unchanged
        )

    def _waits_for(self) -> str:
        """What the client has to do next.

        Empty between two requests and while the server works. A body has a time limit of its own
        (``body_reader``).
        """
        if self.flow.write_paused:
            return "response"
        if self._phase == "body" and not self.cycle.response_complete:
            return ""
        return self._phase


def protocol_class(timeout: float, app: App) -> type[HttpToolsProtocol]:
    """Return the protocol for the connections of a server.

    Parameters
    ----------
    timeout
        Seconds within which the head of a request has to arrive and a response has to be read.
    app
        The application that handles direct requests.
    """
    return type("ServerProtocol", (TimedProtocol,), {"timeout": timeout, "server_app": app})
