"""Reads request bodies within limits on size, time and the memory of all bodies together."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, final

from swordplay.serving.errors import RequestError
from swordplay.serving.limits import Limits

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
"""ASGI: returns the next message of a request."""
PROTECTED_SECONDS = 2.0
"""A body that is still arriving after this time is cancelled if another one needs its memory."""
OVERLOADED = "too many requests are in progress. Send it again in a moment."


class ClientGone(Exception):
    """The client closed the connection before its request was complete."""


@final
class ArrivingBody:
    """A body of which more is to come."""

    def __init__(self) -> None:
        self.size = 0
        """Bytes that have arrived."""
        self.begun = asyncio.get_running_loop().time()
        self.timeout: asyncio.Timeout | None = None
        self.is_cancelled = False
        """Whether it was cancelled to free memory for others."""


@final
class BodyReader:
    """Reads bodies, and counts the bytes of all requests that arrive or wait for the disk.

    Parameters
    ----------
    limits
        Limits on the size of a body, on the time that it takes and on all bodies together.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.held = 0
        """Bytes of all bodies."""
        self._arriving: dict[ArrivingBody, None] = {}  # the oldest first

    def require_size(self, size: int) -> None:
        """Reject a body of too many bytes.

        Raises
        ------
        RequestError
            413.
        """
        if size > self._limits.body:
            raise RequestError(
                413,
                f"a request has at most {self._limits.body:,} bytes, got {size:,}. Send several.",
            )

    def reserve(self, size: int) -> None:
        """Count bytes as held, and cancel the oldest arriving bodies if the memory is exhausted.

        Raises
        ------
        RequestError
            503, if no more memory can be freed.
        """
        while self.held + size > self._limits.waiting:
            oldest = next((body for body in self._arriving if body.size), None)
            now = asyncio.get_running_loop().time()
            if oldest is None or now - oldest.begun < PROTECTED_SECONDS:
                raise RequestError(503, OVERLOADED)
            self._cancel(oldest)
        self.held += size

    def release(self, size: int) -> None:
        """Count bytes as held no more."""
        self.held -= size

    async def read(self, receive: Receive) -> bytes:
        """Read the body of a request; its bytes count as held until they are released.

        Raises
        ------
        RequestError
            408 if it does not arrive in time, 413 if it is too large, 503 if there is no memory.
        ClientGone
            If the client closed the connection.
        """
        body = ArrivingBody()
        self._arriving[body] = None
        try:
            async with asyncio.timeout(self._limits.seconds) as body.timeout:
                content = await self._receive_all(receive, body)
            if body.is_cancelled:
                raise TimeoutError
            return content
        except BaseException as error:
            self.release(body.size)
            if not isinstance(error, TimeoutError):
                raise
            if body.is_cancelled:
                raise RequestError(503, OVERLOADED) from None
            raise RequestError(
                408,
                f"the request was not complete after {self._limits.seconds:g} seconds. Send it "
                "faster.",
            ) from None
        finally:
            self._arriving.pop(body, None)

    async def _receive_all(self, receive: Receive, body: ArrivingBody) -> bytes:
        parts = []
        while (message := await receive())["type"] == "http.request":
            if part := message["body"]:
                self.require_size(body.size + len(part))
                self.reserve(len(part))
                body.size += len(part)
                parts.append(part)
            if not message.get("more_body"):
                return b"".join(parts)
        raise ClientGone

    def _cancel(self, body: ArrivingBody) -> None:
        """End a body that is still arriving, and release its bytes."""
        del self._arriving[body]
        body.is_cancelled = True
        self.release(body.size)
        body.size = 0
        if body.timeout is not None:
            body.timeout.reschedule(asyncio.get_running_loop().time())
