"""Heads that came before mean what they meant when they were read.

And connections that rest are let go in time.
"""

import asyncio
import json
import random

import pytest
import uvicorn
from uvicorn.server import ServerState

from swordplay.serving import heads as rooms
from swordplay.serving.connection import patient
from swordplay.serving.heads import Head, Heads, Meaning, whole

START = b"POST /ask HTTP/1.1\r\nHost: localhost\r\n"
MEANING = Meaning(b"/ask", Head(), True)


def test_a_whole_request_by_hand():
    assert whole(START + b"Content-Length: 2\r\nA: b\r\n\r\n{}") == (
        (START + b"Content-Length: ", b"\r\nA: b"),
        b"{}",
    )
    assert whole(START + b"content-length:002\r\n\r\n{}") == (
        (START + b"content-length:", b""),
        b"{}",
    )
    for rest in (b"", b"{", b"{}x", b"{}" + START):
        assert whole(START + b"Content-Length: 2\r\n\r\n" + rest) is None
    for line in (
        b"",
        b"X-Content-Length: 2\r\n",
        b"Content-Length: +2\r\n",
        b"Content-Length: 2 \r\n",
        b"Content-Length: 0000000002\r\n",
    ):
        assert whole(START + line + b"\r\n{}") is None
    assert (
        whole(START + b"A: b\r\n\r\n" + (rest := b"\r\nContent-Length: 26\r\n\r\n{}")) is None
    )  # that is not its head
    assert len(rest) == 26


def test_few_heads_are_kept_and_only_short_ones():
    kept = Heads()
    for k in range(256):
        kept.keep((b"%d" % k, b""), MEANING)
    assert len(kept) == 256
    assert kept.of((b"0", b"")) is MEANING
    kept.keep((b"256", b""), MEANING)
    assert len(kept) == 1
    assert kept.of((b"0", b"")) is None
    kept.keep((b"a" * 4000, b"b" * 97), MEANING)
    assert len(kept) == 1
    kept.keep((b"a" * 4000, b"b" * 96), MEANING)
    assert len(kept) == 2


class Transport(asyncio.Transport):
    """Where answers end up."""

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


class Door:
    """Notes what comes in, and answers it at once unless it is told to wait."""

    def __init__(self):
        self.taken, self.waiting, self.waits = [], [], False

    def take(self, path, head, body, answer):
        self.taken.append((path, head._replace(content_length=b""), body))
        self.waiting.append(answer)
        if not self.waits:
            self.answer()

    def answer(self):
        self.waiting.pop()(200, b"content-length: 2\r\n", b"{}", False)


async def nothing(scope, receive, send):
    """The application behind the door."""


def connections(door, loop, most=None):
    """Makes connections of one server."""
    config = uvicorn.Config(
        nothing,
        http=patient(1e9, door),
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


def test_known_heads_are_not_read_again_and_bodies_are_their_own():
    door, loop = Door(), Loop()
    connect = connections(door, loop)
    first, second = connect(), connect()
    first.data_received(request(b"{}"))
    assert len(first.heads) == 1
    for protocol in (first, second):
        protocol.parser = None  # whoever reads now fails
        for body in (b"{}", b"[]", b'{"id": "a"}', b"x" * 100_000):
            protocol.data_received(request(body))
            assert door.taken[-1] == (b"/ask", Head(host=b"localhost"), body)
    assert sent(second) == 4 * b"HTTP/1.1 200 OK\r\ndate: today\r\ncontent-length: 2\r\n\r\n{}"
    assert first.server_state.total_requests == 9


def test_a_full_server_does_not_take_them():
    door = Door()
    connect = connections(door, Loop(), most=9)
    some = [connect() for _ in range(8)]
    some[0].data_received(request(b"{}"))
    some[1].data_received(request(b"{}"))
    assert len(door.taken) == 2
    connect().data_received(request(b"{}"))
    some[0].data_received(request(b"{}"))
    assert len(door.taken) == 2


LINES = [
    b"Authorization: Bearer a-token",
    b"authorization: Bearer another",
    b"Origin: http://elsewhere",
    b"Content-Type: application/x-ndjson",
    b"Connection: close",
    b"Connection: keep-alive",
    b"Connection: upgrade",
    b"Upgrade: websocket",
    b"Expect: 100-continue",
    b"Transfer-Encoding: chunked",
    b"Content-Length: 2",
    b"Content-Length: ",
    b"X-Long: " + b"y" * 5000,
    b"X-Folded: a\r\n content-length: 2",
    b"Host: other",
    b"not a line",
]
STARTS = [
    b"POST /ask HTTP/1.1",
    b"POST /tell HTTP/1.1",
    b"POST /ask HTTP/1.0",
    b"GET /ask HTTP/1.1",
    b"POST /ask?a HTTP/1.1",
    b"GET / HTTP/1.1",
]
LENGTHS = [
    b"Content-Length: %d",
    b"content-length:   %d",
    b"Content-Length: %d\t",
    b"Content-Length: 1",
    b"A: b",
]


@pytest.mark.parametrize("seed", range(4))
def test_what_was_kept_is_what_is_read(seed, monkeypatch):
    """The same bytes to a server that keeps heads, and to one that reads each of them: the same
    comes in and goes out.
    """
    draw = random.Random(seed)
    heads = [
        (
            draw.sample(LINES, draw.choice([0, 0, 1, 1, 2, 3])),
            draw.choice(STARTS[:3] if draw.random() < 0.8 else STARTS),
            draw.choice(LENGTHS[:2] if draw.random() < 0.8 else LENGTHS),
        )
        for _ in range(40)
    ]
    bodies = [json.dumps({"id": str(k)}).encode() for k in (1, 22, 333)]
    wanted = [(*draw.choice(heads), draw.choice(bodies), draw.random() < 0.3) for _ in range(800)]
    found = []
    for keeps in (True, False):
        with monkeypatch.context() as patch:
            if not keeps:
                patch.setattr(rooms.Heads, "keep", lambda *_: None)
            door, loop = Door(), Loop()
            connect, said = connections(door, loop), []
            protocol = connect()
            for lines, start, length, body, again in wanted:
                if (
                    again
                    or protocol.transport.is_closing()
                    or protocol.cycle is None
                    or not protocol.cycle.response_complete
                ):
                    protocol.connection_lost(None)
                    protocol = connect()
                protocol.data_received(request(body, *lines, start=start, length=length))
                said.append((sent(protocol), protocol.transport.is_closing(), len(door.taken)))
            found.append((door.taken, said, len(protocol.heads)))
    (taken, said, kept), (read, answered, none) = found
    assert kept > 3
    assert none == 0
    assert len(taken) > 100
    assert taken == read
    assert said == answered


def test_requests_that_follow_before_the_answer_wait_for_it():
    door, loop = Door(), Loop()
    protocol = connections(door, loop)()
    protocol.data_received(request(b"{}"))
    door.waits = True
    protocol.data_received(request(b"[1]"))
    protocol.data_received(request(b"[2]"))  # known, and yet not its turn
    assert [body for *_, body in door.taken] == [b"{}", b"[1]"]
    assert len(protocol.pipeline) == 1
    door.answer()
    assert not protocol.pipeline  # it has a task now


def test_a_connection_rests_as_long_as_it_may_and_no_longer():
    door, loop = Door(), Loop()
    protocol = connections(door, loop)()
    protocol.data_received(request(b"{}"))
    for now in range(10, 200, 10):
        loop.pass_until(float(now))
        protocol.data_received(request(b"{}"))
    assert len(loop.timers) < 5  # not one for each request
    loop.pass_until(264.9)
    assert not protocol.transport.is_closing()
    loop.pass_until(265.1)
    assert protocol.transport.is_closing()


def test_a_connection_whose_answer_takes_long_does_not_rest():
    door, loop = Door(), Loop()
    protocol = connections(door, loop)()
    protocol.data_received(request(b"{}"))
    door.waits = True
    loop.pass_until(70.0)
    protocol.data_received(request(b"{}"))
    loop.pass_until(300.0)
    assert not protocol.transport.is_closing()
    door.answer()
    loop.pass_until(374.9)
    assert not protocol.transport.is_closing()
    loop.pass_until(375.1)
    assert protocol.transport.is_closing()
