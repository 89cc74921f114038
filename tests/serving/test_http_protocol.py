"""Direct requests: handled without a task, in their order, and counted like any other."""

import asyncio
import random
import re
import socket

import pytest
import uvicorn
from uvicorn.server import ServerState

from swordplay.serving.app import RequestHead
from swordplay.serving.http_protocol import DirectRequest, protocol_class


class Transport(asyncio.Transport):
    """Keeps what is sent."""

    def __init__(self):
        super().__init__()
        self.sent, self.closing = b"", False

    def get_extra_info(self, name, default=None):
        return default

    def write(self, data):
        self.sent += data

    def write_eof(self):
        pass

    def is_closing(self):
        return self.closing

    def close(self):
        self.closing = True

    abort = close

    def pause_reading(self):
        pass

    def resume_reading(self):
        pass


class Loop:
    """A clock that is set by hand, and what it is to call."""

    def __init__(self):
        self.now, self.timers = 0.0, []

    def time(self):
        return self.now

    def call_soon(self, call, *arguments):
        call(*arguments)

    def call_later(self, seconds, call, *arguments):
        timer = asyncio.TimerHandle(self.now + seconds, call, arguments, self)
        self.timers.append(timer)
        return timer

    def _timer_handle_cancelled(self, timer):
        pass

    def get_debug(self):
        return False

    def create_task(self, coroutine):  # of a request that is none of the short ones
        coroutine.close()
        return asyncio.Future(loop=self)

    def call_exception_handler(self, context):
        raise AssertionError(context)

    def pass_until(self, now):
        """Let time pass."""
        while due := [
            timer for timer in self.timers if timer.when() <= now and not timer.cancelled()
        ]:
            first = min(due)
            self.timers.remove(first)
            self.now = first.when()
            first._callback(*first._args)
        self.now = now


class App:
    """Records direct requests, and answers them at once unless it is told to wait."""

    def __init__(self):
        self.handled, self.unanswered, self.waits = [], [], False

    def handle_direct(self, path, head, body, send_response):
        self.handled.append((path, head._replace(content_length=b""), body))
        self.unanswered.append(send_response)
        if not self.waits:
            self.answer()

    def answer(self):
        self.unanswered.pop()(200, b"content-length: 2\r\n", b"{}", False)


async def nothing(scope, receive, send):
    """The application behind the app."""


def connections(app, loop, most=None):
    """Makes connections of one server."""
    config = uvicorn.Config(
        nothing,
        http=protocol_class(1e9, app),
        ws="none",
        lifespan="off",
        log_config=None,
        timeout_keep_alive=75,
        limit_concurrency=most,
    )
    config.load()
    state = ServerState()
    state.default_headers = [(b"date", b"today")]

    def connect():
        protocol = config.http_protocol_class(
            config=config, server_state=state, app_state={}, _loop=loop
        )
        protocol.connection_made(Transport())
        return protocol

    return connect


def sent(protocol):
    return protocol.transport._transport.sent


def request(body, *lines, start=b"POST /ask HTTP/1.1", length=b"Content-Length: %d"):
    return (
        b"\r\n".join(
            [
                start,
                b"Host: localhost",
                *lines,
                length % len(body) if b"%d" in length else length,
                b"",
                b"",
            ]
        )
        + body
    )


def test_requests_whose_bytes_come_at_once_need_no_task():
    app, loop = App(), Loop()
    protocol = connections(app, loop)()
    for body in (b"{}", b"[]", b'{"id": "a"}', b"x" * 100_000):
        protocol.data_received(request(body))
        assert app.handled[-1] == (b"/ask", RequestHead(host=b"localhost"), body)
    assert sent(protocol) == 4 * b"HTTP/1.1 200 OK\r\ndate: today\r\ncontent-length: 2\r\n\r\n{}"
    assert protocol.server_state.total_requests == 4
    assert not protocol.tasks


@pytest.mark.parametrize("end", [1, 30, 60, -1])
def test_a_request_that_comes_in_parts_gets_a_task(end):
    app, loop = App(), Loop()
    protocol = connections(app, loop)()
    data = request(b'{"id": "a"}')
    protocol.data_received(data[:end])
    protocol.data_received(data[end:])
    is_direct = b"\r\n\r\n" not in data[:end]  # none of the body was there before the head
    assert len(app.handled) == is_direct
    assert isinstance(protocol.cycle, DirectRequest) == is_direct
    assert (protocol.cycle.body, len(protocol.tasks)) == (b'{"id": "a"}', 1 - is_direct)


@pytest.mark.parametrize(
    ("start", "line"),
    [
        (b"GET /ask HTTP/1.1", b"A: b"),
        (b"POST /ask?a HTTP/1.1", b"A: b"),
        (b"POST /models/m/ask HTTP/1.1", b"A: b"),
        (b"POST /ask HTTP/1.1", b"Expect: 100-continue"),
        (b"POST /ask HTTP/1.1", b"Connection: upgrade\r\nUpgrade: websocket"),
    ],
)
def test_other_requests_get_a_task(start, line):
    app, loop = App(), Loop()
    protocol = connections(app, loop)()
    protocol.data_received(request(b"{}", line, start=start))
    assert (len(app.handled), len(protocol.tasks)) == (0, 1)


def test_a_full_server_does_not_handle_them():
    app = App()
    connect = connections(app, Loop(), most=9)
    some = [connect() for _ in range(8)]
    some[0].data_received(request(b"{}"))
    some[1].data_received(request(b"{}"))
    assert len(app.handled) == 2
    connect().data_received(request(b"{}"))
    some[0].data_received(request(b"{}"))
    assert len(app.handled) == 2


def test_the_connection_is_closed_behind_the_response_if_the_client_wants_that():
    for start, line, closes in (
        (b"POST /ask HTTP/1.1", b"A: b", False),
        (b"POST /ask HTTP/1.1", b"Connection: close", True),
        (b"POST /ask HTTP/1.0", b"A: b", True),
    ):
        app, loop = App(), Loop()
        protocol = connections(app, loop)()
        protocol.data_received(request(b"{}", line, start=start))
        assert protocol.transport.is_closing() == closes
        assert (b"connection: close" in sent(protocol)) == closes


LINES = [
    "Authorization: Bearer a-token",
    "Origin: http://elsewhere",
    "Content-Type: application/x-ndjson",
    "Connection: close",
    "Connection: keep-alive",
    "Expect: 100-continue",
    "X-Long: " + "y" * 5000,
    "Host: other",
    "not a line",
]


def test_a_direct_request_is_answered_as_one_with_a_task(launcher, tmp_path):
    """The same heads to ``/drop`` and to ``/models/default/drop``."""
    server, draw = launcher.start("--state", tmp_path / "state"), random.Random(1)
    client = server.client()
    assert client.post("/ask", {"x": {}})[0] == 200
    client.close()
    found = []
    for _ in range(60):
        lines = draw.sample(LINES, draw.choice([0, 1, 1, 2, 3]))
        body = draw.choice(['{"id": "unknown"}', '{"id": 3}', "{", '{"id": "unknown"}\n' * 2])
        version = draw.choice(["1.1", "1.1", "1.0"])
        answers = []
        for path in ("/drop", "/models/default/drop"):
            head = [f"POST {path} HTTP/{version}", "Host: localhost", *lines]
            data = "\r\n".join([*head, f"Content-Length: {len(body)}", "", body])
            with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
                connection.sendall(data.encode())
                connection.shutdown(socket.SHUT_WR)
                answer = b"".join(iter(lambda: connection.recv(2**16), b""))
            answers.append(re.sub(rb"date: [^\r]+\r\n", b"", answer))
        assert answers[0] == answers[1], data
        found.append(int(answers[0].split(b" ")[1]) if answers[0] else 0)
    assert {400, 403, 404} <= set(found)
    server.stop()


def test_requests_that_follow_before_the_answer_wait_for_it():
    app, loop = App(), Loop()
    protocol = connections(app, loop)()
    protocol.data_received(request(b"{}"))
    app.waits = True
    protocol.data_received(request(b"[1]"))
    protocol.data_received(request(b"[2]"))  # not its turn
    assert [body for *_, body in app.handled] == [b"{}", b"[1]"]
    assert len(protocol.pipeline) == 1
    app.answer()
    assert not protocol.pipeline  # it has a task now


def test_a_connection_rests_as_long_as_it_may_and_no_longer():
    app, loop = App(), Loop()
    protocol = connections(app, loop)()
    protocol.data_received(request(b"{}"))
    for now in range(10, 200, 10):
        loop.pass_until(float(now))
        protocol.data_received(request(b"{}"))
    assert sum(not timer.cancelled() for timer in loop.timers) < 5  # not one for each request
    loop.pass_until(264.9)
    assert not protocol.transport.is_closing()
    loop.pass_until(265.1)
    assert protocol.transport.is_closing()


def test_a_connection_whose_answer_takes_long_does_not_rest():
    app, loop = App(), Loop()
    protocol = connections(app, loop)()
    protocol.data_received(request(b"{}"))
    app.waits = True
    loop.pass_until(70.0)
    protocol.data_received(request(b"{}"))
    loop.pass_until(300.0)
    assert not protocol.transport.is_closing()
    app.answer()
    loop.pass_until(374.9)
    assert not protocol.transport.is_closing()
    loop.pass_until(375.1)
    assert protocol.transport.is_closing()
