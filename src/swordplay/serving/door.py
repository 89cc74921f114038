"""The door: requests that change something come in here, and everything else goes on to the pages.

Kept thin, as every row passes: a look at the address and the head, the body, the scribe, the
answer.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, final

from swordplay.serving import replies
from swordplay.serving.arriving import NO_ROOM, Arriving, Room
from swordplay.serving.heads import Head, head_of
from swordplay.serving.limits import Limits
from swordplay.serving.log import Event
from swordplay.serving.metrics import Counts
from swordplay.serving.models import failed
from swordplay.serving.refusals import Refusal
from swordplay.serving.requests import DEFAULT, model_name, read
from swordplay.serving.scribe import Done, Scribe
from swordplay.serving.tokens import Gate

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

ACTIONS = {"ask": "POST", "tell": "POST", "drop": "POST"}
"""What may be done with a model, and how."""
SHORT = {f"/{action}".encode("ascii"): (action, DEFAULT) for action in ACTIONS}
"""Addresses that are answered without a task where a request is there in one piece."""
JSON = (b"content-type", b"application/json")
CLOSE = (b"connection", b"close")
DONE = b"%b: %b\r\ncontent-length: %%d\r\nswordplay-event: %%d\r\n" % JSON
"""The lines of the usual answer: its length, and the number of its event."""
TRAILERS = "swordplay.trailers"
"""Key of a scope whose request had headers behind its body."""
LONG = 2**20
"""Bytes of a body that is read beside the loop."""
Answer = Callable[[int, bytes, bytes, bool], None]
"""Sends an answer: its status, the lines of its head, its body.

And whether it is the last of its connection.
"""


class Gone(Exception):
    """The client went away before its request was there."""


@final
class Door:
    """The application that uvicorn runs.

    Parameters
    ----------
    scribe
        Who writes down and answers.
    pages
        The application that answers whatever changes nothing.
    gate
        Who may come in.
    limits
        How much may come in.
    target
        What a model predicts that is made by its first use.
    """

    def __init__(self, scribe: Scribe, pages: App, gate: Gate, limits: Limits, target: str) -> None:
        self.scribe, self.pages, self.gate, self.limits, self.target = (
            scribe,
            pages,
            gate,
            limits,
            target,
        )
        self.counts: Counts = scribe.counts
        self._room = Room(limits.waiting)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return
        begun, action, number = time.monotonic(), "", b""
        try:
            head = head_of(scope["headers"])
            _require_single(head)
            self.gate.require_host(head.host)
            found = _route(scope["path"], scope["method"])
            if found is not None:
                action, model = found
                self.gate.require_token(head.authorization, head.origin, head.host)
                done = await self._change(action, model_name(model), head, scope, receive)
                status, body, number = 200, done.body, b"%d" % done.number
        except Refusal as refusal:
            status, body = refusal.status, replies.body(refusal.body())
        except Gone:
            return
        except Exception as error:
            status, body = 500, replies.body(failed(error).body())
        else:
            if found is None:
                return await self.pages(scope, receive, send)
        self.counts.answered(action, status, time.monotonic() - begun)
        await _answer(send, status, body, number)

    def take(self, path: bytes, head: Head, body: bytes, answer: Answer) -> None:
        """Answer a request to an address of ``SHORT`` that is there in one piece: a task would
        cost more than the rest.
        """
        begun, (action, model), held = time.monotonic(), SHORT[path], 0

        def answered(done: Done | Refusal) -> None:
            self._room.release(held)
            status = done.status if isinstance(done, Refusal) else 200
            self.counts.answered(action, status, time.monotonic() - begun)
            if isinstance(done, Refusal):
                headers = _headers(status, said := replies.body(done.body()), b"")
                answer(status, lines(headers), said, CLOSE in headers)
            else:
                answer(200, DONE % (len(done.body), done.number), done.body, False)

        try:
            _require_single(head)
            self.gate.require_host(head.host)
            self.gate.require_token(head.authorization, head.origin, head.host)
            self._require_short(len(body))
            self._room.take(len(body))
            held = len(body)
            event = Event(action, model, self.target, body, _is_lines(head))
            wanted = read(event, self.limits)
            self.scribe.keeper.models.require_size(event, wanted)
        except Refusal as refusal:
            answered(refusal)
        except Exception as error:
            answered(failed(error))
        else:
            self.scribe.put(event, wanted, answered)

    def _require_short(self, size: int) -> None:
        """Refuse a body of too many bytes."""
        if size > self.limits.body:
            raise Refusal(
                413,
                f"a request has at most {self.limits.body:,} bytes, got {size:,}. Send several.",
            )

    async def _change(
        self, action: str, model: str, head: Head, scope: Scope, receive: Receive
    ) -> Done:
        if head.content_length.isdigit():
            self._require_short(int(head.content_length))
        held = 0
        try:
            body = await self._body(receive)
            held = len(body)
            if TRAILERS in scope:
                raise Refusal(
                    400,
                    "there are headers behind the body (trailers), which are not read. Send them "
                    "before it.",
                )
            event = Event(action, model, self.target, body, _is_lines(head))
            if len(body) < LONG:
                wanted = read(event, self.limits)
            # others are answered meanwhile, and while models compute, which they do without
            # Python's lock
            else:
                wanted = await asyncio.to_thread(read, event, self.limits)
            self.scribe.keeper.models.require_size(event, wanted)
            return await self.scribe.submit(event, wanted)
        finally:
            self._room.release(held)

    async def _body(self, receive: Receive) -> bytes:
        """All of a body, whose bytes count as held."""
        arriving = self._room.begin()
        try:
            async with asyncio.timeout(self.limits.seconds) as arriving.deadline:
                body = await self._parts(receive, arriving)
            if not arriving.gave_way:
                return body
        except TimeoutError:
            self._room.release(arriving.size)
            if not arriving.gave_way:
                raise Refusal(
                    408,
                    f"the request was not there after {self.limits.seconds:g} seconds. Send it "
                    "faster.",
                ) from None
        except BaseException:
            self._room.release(arriving.size)
            raise
        finally:
            self._room.arrived(arriving)
        raise Refusal(503, NO_ROOM)

    async def _parts(self, receive: Receive, arriving: Arriving) -> bytes:
        message = await receive()
        parts = []
        while message["type"] == "http.request":
            if message["body"]:
                self._require_short(arriving.size + len(message["body"]))
                arriving.add(len(message["body"]))
                parts.append(message["body"])
            if not message.get("more_body"):
                return b"".join(parts)
            message = await receive()
        raise Gone


def _route(path: str, method: str) -> tuple[str, str] | None:
    """Action and model of an address where something is changed; None for a page.

    Raises
    ------
    Refusal
        405, if that is not done this way.
    """
    first, slash, last = path[1:].rpartition("/")
    if not slash:
        action, model = last, DEFAULT
    elif first.startswith("models/"):
        action, model = last, first[7:]
    elif first == "models":
        if method in ("PUT", "POST"):
            return "declare", last
        return None
    else:
        return None
    wanted = ACTIONS.get(action)
    if wanted is None:
        return None
    if method != wanted:
        raise Refusal(405, f"/{action} is asked by {wanted}, not by {method}.")
    return action, model


def _require_single(head: Head) -> None:
    """Refuse a head in which a header that matters is there twice: which of them counts is not
    for us to guess.
    """
    if head.doubled:
        raise Refusal(
            400, f"the header {head.doubled.decode('latin-1')} is there twice. Send it once."
        )


def _is_lines(head: Head) -> bool:
    return b"ndjson" in head.content_type or b"jsonl" in head.content_type


def _headers(status: int, body: bytes, number: bytes) -> list[tuple[bytes, bytes]]:
    """The head of an answer."""
    headers = [JSON, (b"content-length", b"%d" % len(body))]
    if number:
        headers.append((b"swordplay-event", number))
    if status in (408, 413):  # the rest of the request is not waited for
        headers.append(CLOSE)
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if status == 503:
        headers.append((b"retry-after", b"1"))
    return headers


def lines(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Headers as they are sent."""
    return b"".join([b"%b: %b\r\n" % line for line in headers])


async def _answer(send: Send, status: int, body: bytes, number: bytes) -> None:
    await send(
        {"type": "http.response.start", "status": status, "headers": _headers(status, body, number)}
    )
    await send({"type": "http.response.body", "body": body})
