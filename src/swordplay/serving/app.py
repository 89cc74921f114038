"""The server's ASGI application: requests that change models, and the pages behind it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, NamedTuple, final

from swordplay.serving import messages
from swordplay.serving.auth import Auth
from swordplay.serving.body_reader import BodyReader, ClientGone, Receive
from swordplay.serving.errors import RequestError
from swordplay.serving.group_commit import Committed, GroupCommit
from swordplay.serving.limits import Limits
from swordplay.serving.log_format import Event
from swordplay.serving.metrics import Metrics
from swordplay.serving.models import internal_error
from swordplay.serving.requests import DEFAULT_MODEL, check_model_name, parse

Scope = MutableMapping[str, Any]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]
SendResponse = Callable[[int, bytes, bytes, bool], None]
"""Sends a response: status, header lines, body, and whether the connection is closed after it."""

ACTIONS = ("ask", "tell", "drop")
"""Actions on the rows of a model; all of them use POST."""
DIRECT = {f"/{action}".encode("ascii"): action for action in ACTIONS}
"""Paths whose short requests are handled without a task (:meth:`App.handle_direct`)."""
JSON = (b"content-type", b"application/json")
CLOSE = (b"connection", b"close")
OK_HEADERS = b"%b: %b\r\ncontent-length: %%d\r\nswordplay-event: %%d\r\n" % JSON
"""Header lines of a response with status 200: length of the body, number of the event."""
TRAILERS = "swordplay.trailers"
"""Key of the scope of a request that has headers behind its body."""
THREAD_BODY_BYTES = 2**20
"""Longer bodies are parsed in a thread, so that other clients are answered meanwhile."""


class RequestHead(NamedTuple):
    """The headers that the server reads; empty if missing."""

    host: bytes = b""
    origin: bytes = b""
    authorization: bytes = b""
    content_type: bytes = b""
    content_length: bytes = b""
    duplicate: bytes = b""
    """Name of one of these headers that occurs more than once; empty if there is none."""

    @classmethod
    def read(cls, headers: Iterable[tuple[bytes, bytes]]) -> RequestHead:
        """Find the headers among all headers of a request (names in lower case)."""
        found: dict[str, bytes] = {}
        for name, value in headers:
            if (field := _FIELDS.get(name)) is not None:
                if field in found:
                    found["duplicate"] = name
                else:
                    found[field] = value
        return cls(**found)

    @property
    def is_ndjson(self) -> bool:
        """Whether the body is one JSON value a line."""
        return b"ndjson" in self.content_type or b"jsonl" in self.content_type


_FIELDS = {
    name.replace("_", "-").encode(): name for name in RequestHead._fields if name != "duplicate"
}


@final
class App:
    """The ASGI application: checks a request, commits it as an event, and sends the response.

    Parameters
    ----------
    commits
        Writes events to the log and applies them to the models.
    pages
        The application for requests that change nothing.
    auth
        Decides which requests are handled.
    limits
        Limits on requests.
    target
        Kind of a model that its first request creates: what it predicts (``messages.KINDS``).
    """

    def __init__(
        self, commits: GroupCommit, pages: AsgiApp, auth: Auth, limits: Limits, target: str
    ) -> None:
        self.commits = commits
        self.pages = pages
        self.auth = auth
        self.limits = limits
        self.target = target
        self.metrics: Metrics = commits.metrics
        self._bodies = BodyReader(limits)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, as ASGI calls it."""
        if scope["type"] != "http":
            return
        begun, action = time.monotonic(), ""
        try:
            head = RequestHead.read(scope["headers"])
            _require_single_headers(head)
            self.auth.require_host(head.host)
            found = _route(scope["path"], scope["method"])
            if found is not None:
                action, model = found
                self.auth.require_may_change(head.authorization, head.origin, head.host)
                check_model_name(model)
                committed = await self._change(action, model, head, scope, receive)
                status, body = 200, committed.body
                headers = [*_headers(body), (b"swordplay-event", b"%d" % committed.number)]
        except RequestError as error:
            status, headers, body = _error_response(error)
        except ClientGone:
            return
        except Exception as error:
            status, headers, body = _error_response(internal_error(error))
        else:
            if found is None:
                return await self.pages(scope, receive, send)
        self.metrics.add_response(action, status, time.monotonic() - begun)
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def handle_direct(
        self, path: bytes, head: RequestHead, body: bytes, send_response: SendResponse
    ) -> None:
        """Handle a request whose bytes are all there, without a task.

        A task and ASGI's messages would take about as long as all the rest of a short request.

        Parameters
        ----------
        path
            One of :data:`DIRECT`.
        head, body
            Headers and body of the request.
        send_response
            Called once, when the event is on the disk and applied, or the request is rejected.
        """
        begun, action, reserved = time.monotonic(), DIRECT[path], 0

        def respond(outcome: Committed | RequestError) -> None:
            self._bodies.release(reserved)
            if isinstance(outcome, RequestError):
                status, headers, content = _error_response(outcome)
                lines, closes = header_lines(headers), CLOSE in headers
            else:
                status, content, closes = 200, outcome.body, False
                lines = OK_HEADERS % (len(content), outcome.number)
            self.metrics.add_response(action, status, time.monotonic() - begun)
            send_response(status, lines, content, closes)

        try:
            _require_single_headers(head)
            self.auth.require_host(head.host)
            self.auth.require_may_change(head.authorization, head.origin, head.host)
            self._bodies.require_size(len(body))
            self._bodies.reserve(len(body))
            reserved = len(body)
            event = Event(action, DEFAULT_MODEL, self.target, body, head.is_ndjson)
            request = parse(event, self.limits)
            self.commits.storage.models.require_size(event, request)
        except RequestError as error:
            respond(error)
        except Exception as error:
            respond(internal_error(error))
        else:
            self.commits.submit_with_callback(event, request, respond)

    async def _change(
        self, action: str, model: str, head: RequestHead, scope: Scope, receive: Receive
    ) -> Committed:
        """Read the body of a request and commit it as an event."""
        if head.content_length.isdigit():
            self._bodies.require_size(int(head.content_length))
        body = await self._bodies.read(receive)  # reserves room for the body
        try:
            if TRAILERS in scope:
                raise RequestError(
                    400,
                    "the request has headers behind its body (trailers), which the server does not "
                    "read. Send them before the body.",
                )
            event = Event(action, model, self.target, body, head.is_ndjson)
            if len(body) < THREAD_BODY_BYTES:
                request = parse(event, self.limits)
            else:
                request = await asyncio.to_thread(parse, event, self.limits)
            self.commits.storage.models.require_size(event, request)
            return await self.commits.submit(event, request)
        finally:
            self._bodies.release(len(body))


def header_lines(headers: Headers) -> bytes:
    """Headers as HTTP/1.1 sends them."""
    return b"".join([b"%b: %b\r\n" % line for line in headers])


def _route(path: str, method: str) -> tuple[str, str] | None:
    """Return action and model of a request that changes a model; None for a page.

    Raises
    ------
    RequestError
        405, if the action needs another method.
    """
    parent, slash, last = path[1:].rpartition("/")
    if not slash:
        action, model = last, DEFAULT_MODEL
    elif parent.startswith("models/"):
        action, model = last, parent.removeprefix("models/")
    elif parent == "models" and method in ("PUT", "POST"):
        return "declare", last
    else:
        return None
    if action not in ACTIONS:
        return None
    if method != "POST":
        raise RequestError(405, f"/{action} needs the method POST, got {method}.")
    return action, model


def _require_single_headers(head: RequestHead) -> None:
    """Reject a request with two headers of one name: it is unclear which one counts."""
    if head.duplicate:
        raise RequestError(
            400, f"the header {head.duplicate.decode('latin-1')} occurs twice. Send it once."
        )


def _error_response(error: RequestError) -> tuple[int, Headers, bytes]:
    """Status, headers and body of a response to a rejected request."""
    body = messages.encode_json(error.body())
    headers = _headers(body)
    if error.status in (408, 413):  # the rest of the request is not read
        headers.append(CLOSE)
    if error.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if error.status == 503:
        headers.append((b"retry-after", b"1"))
    return error.status, headers, body


def _headers(body: bytes) -> Headers:
    return [JSON, (b"content-length", b"%d" % len(body))]
