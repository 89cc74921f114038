"""Requests that a client library would not send: trailers, doubled headers, slow bodies,
half-closed connections, hosts.
"""

import contextlib
import json
import socket
import time

import pytest

TOKEN = "a-token-of-the-tests"
HEAD = b"POST /ask HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
BODY = b'{"x": {"a": 1.5}}'
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n" % (len(BODY), BODY)
LENGTH = b"Content-Length: %d\r\n" % len(BODY)


@pytest.fixture(scope="module")
def server(launcher, tmp_path_factory):
    server = launcher.start(
        "--state", tmp_path_factory.mktemp("wire") / "state", environment={"SWORDPLAY_TOKEN": TOKEN}
    )
    yield server
    server.stop()


@pytest.fixture(scope="module")
def open_server(launcher, tmp_path_factory):
    """One that wants no token."""
    server = launcher.start("--state", tmp_path_factory.mktemp("wire") / "state")
    yield server
    server.stop()


def connect(server):
    return socket.create_connection(("127.0.0.1", server.port), timeout=60)


def received(connection):
    """All that comes until the server closes the connection."""
    data = b""
    with contextlib.suppress(ConnectionResetError):
        while more := connection.recv(1 << 16):
            data += more
    return data


def read_answer(connection):
    """Status and value of one answer of a connection that may stay open."""
    with connection.makefile("rb") as file:
        status = int(file.readline().split()[1])
        length = 0
        while (line := file.readline()) not in (b"\r\n", b""):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        return status, json.loads(file.read(length))


def answered(server, data):
    with connect(server) as connection:
        connection.sendall(data)
        return read_answer(connection)


def events(server):
    client = server.client()
    found = client.get("/health")[1]["event"]
    client.close()
    return found


@pytest.mark.parametrize(
    "trailer",
    [
        b"Authorization: Bearer %b" % TOKEN.encode(),
        b"Host: localhost",
        b"Origin: http://localhost",
        b"X-Sum: 1",
    ],
)
@pytest.mark.parametrize("parts", [1, 2])
def test_trailers_are_refused_and_are_no_headers(server, open_server, trailer, parts):
    """Of a head without the token: were trailers headers, the first one would let it in."""
    without = HEAD + CHUNKED + trailer + b"\r\n\r\n"
    with_token = (
        HEAD + b"Authorization: Bearer %b\r\n" % TOKEN.encode() + CHUNKED + trailer + b"\r\n\r\n"
    )
    for one, data, wanted in (
        (server, without, (400, 401)),
        (server, with_token, (400,)),
        (open_server, without, (400,)),
    ):
        before = events(one)
        with connect(one) as connection:
            place = len(data) - len(trailer) - 6 if parts == 2 else len(data)
            connection.sendall(data[:place])
            connection.sendall(data[place:])
            status, answer = read_answer(connection)
        assert status in wanted, answer
        assert answer["error"]
        assert events(one) == before


def test_trailers_do_not_replace_a_foreign_host_or_origin(open_server):
    foreign = HEAD.replace(b"localhost", b"evil.test")
    assert answered(open_server, foreign + CHUNKED + b"Host: localhost\r\n\r\n")[0] == 421
    origin = HEAD + b"Origin: http://evil.test\r\n"
    assert answered(open_server, origin + CHUNKED + b"Origin: http://localhost\r\n\r\n")[0] == 403


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("Host", "evil.test", "localhost"),
        ("host", "localhost", "localhost"),
        ("Origin", "http://evil.test", "http://localhost"),
        ("Authorization", "Bearer wrong", f"Bearer {TOKEN}"),
        ("Content-Type", "application/json", "application/x-ndjson"),
        ("Content-Length", "3", f"{len(BODY)}"),
        ("Content-Length", f"{len(BODY)}", f"{len(BODY)}"),
    ],
)
def test_doubled_headers_are_refused(server, open_server, chunked, name, first, second):
    lines = {
        "Host": "localhost",
        "Content-Type": "application/json",
        "Authorization": f"Bearer {TOKEN}",
    }
    if not chunked:
        lines["Content-Length"] = f"{len(BODY)}"
    lines = {key: value for key, value in lines.items() if key.lower() != name.lower()}
    head = "".join(
        f"{key}: {value}\r\n" for key, value in [*lines.items(), (name, first), (name, second)]
    )
    data = (
        b"POST /ask HTTP/1.1\r\n"
        + head.encode()
        + (CHUNKED + b"\r\n" if chunked else b"\r\n" + BODY)
    )
    for one in (server, open_server):
        before = events(one)
        status, answer = answered(one, data)
        assert status == 400, answer
        assert answer["error"]
        assert events(one) == before
    looked = data.replace(b"POST /ask", b"GET /models")
    if not (chunked or name == "Content-Length"):
        assert answered(server, looked)[0] == 400


def test_what_is_no_http_is_refused_in_words(open_server):
    status, answer = answered(open_server, b"this is no request\r\n\r\n")
    assert (status, "HTTP/1.1" in answer["error"]) == (400, True)


def test_a_client_that_half_closes_gets_its_answer(open_server):
    short = HEAD + LENGTH + b"\r\n" + BODY
    other = short.replace(b"/ask", b"/models/half/ask")
    for data, count in (
        (short, 1),  # without a task,
        (other, 1),  # with one,
        (HEAD + CHUNKED + b"\r\n", 1),
        (other + short + other, 3),  # and several of them in their order
        (b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n", 1),
    ):
        with connect(open_server) as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            found = received(connection)
        assert found.count(b"HTTP/1.1 200") == count, (data, found)
    before = events(open_server)
    for data in (short[:-3], HEAD[:30], HEAD + CHUNKED[:-3]):  # half a request is none
        with connect(open_server) as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            assert received(connection) == b""
    assert events(open_server) == before


def test_announced_bodies_take_no_room(open_server):
    """Forty clients announce 16 MB each and send one byte.

    All others are served meanwhile, with and without a task.
    """
    slow = [connect(open_server) for _ in range(40)]
    for one in slow:
        one.sendall(HEAD + b"Content-Length: %d\r\n\r\n[" % (16 * 2**20))
    chunked = [connect(open_server) for _ in range(40)]
    for one in chunked:
        one.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\n[")
    for path in (b"/ask", b"/models/other/ask"):
        status, answer = answered(
            open_server, HEAD.replace(b"/ask", path) + LENGTH + b"\r\n" + BODY
        )
        assert status == 200, answer
    for one in slow + chunked:
        one.close()


def test_bodies_that_stall_give_way_to_others(open_server):
    """Nineteen clients send 15 of 16 MB, more than there is room for, and no more.

    Others are served meanwhile.
    """
    part, slow = b"[" + b" " * (15 * 2**20), []
    for _ in range(19):
        slow.append(connect(open_server))
        slow[-1].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**20)
        with contextlib.suppress(OSError):
            slow[-1].sendall(HEAD + b"Content-Length: %d\r\n\r\n" % (16 * 2**20) + part)
    whole = HEAD.replace(b"/ask", b"/models/big/ask") + b"Content-Length: %d\r\n\r\n" % (8 * 2**20)
    for _ in range(100):  # those that came last have a moment of grace
        status, answer = answered(open_server, whole + BODY + b" " * (8 * 2**20 - len(BODY)))
        assert status in (200, 408, 503), answer  # 408 on a busy machine
        if status == 200:
            break
        time.sleep(0.1)
    for one in slow:
        one.close()
    assert status == 200


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/ask", b'{"x": {"a": 1, "a": 2}}'),
        ("/ask", b'{"x": {"a": 1}, "x": {"b": 2}}'),
        ("/ask", b'{"id": "1", "x": {}, "id": "2"}'),
        ("/ask", b'{"x": {"a\\u0062" : 1, "ab"\n: 2}}'),
        ("/ask", b'{"x": {"12:30": "a:b", "c": ":", "c": "\\":"}}'),
        (
            "/ask",
            b"[%b]"
            % b", ".join([b'{"x": {"a": 1, "b": 2}}'] * 99 + [b'{"x": {"a": 1, "b": 2, "a": 3}}']),
        ),
        ("/ask", b"[%b]" % b", ".join([b'{"x": {"a": 1, "b": 2}, "key": "k", "key": "k"}'] * 100)),
        (
            "/ask",
            b"[%b]"
            % b", ".join(
                [b'{"x": {"a": 1, "b": 2}}'] * 99
                + [b'{"x": {"a": 1, "b": 2}, "id": "a", "id": null}']
            ),
        ),
        ("/tell", b'{"id": "1", "y": 1, "y": 2}'),
        ("/tell", b'[{"id": "1", "y": 1}, {"id": "2", "y": 1, "y": 2}]'),
        ("/drop", b'{"id": "1", "id": "2"}'),
        ("/models/m", b'{"target": "number", "target": "classes"}'),
    ],
    ids=range(12),
)
def test_a_name_twice_in_an_object_is_refused(open_server, path, body):
    client, before = open_server.client(), events(open_server)
    for _ in range(2):
        status, answer = client.post(path, body)
        assert (status, "twice" in answer["error"]) == (400, True), answer
    if path != "/models/m":
        lines = body.strip(b"[]").replace(b"\n", b" ").replace(b"}, {", b"}\n{")
        status, answer = client.post(path, lines, Content_Type="application/x-ndjson")
        assert (status, "twice" in answer["error"]) == (400, True), answer
    client.close()
    assert events(open_server) == before


@pytest.mark.parametrize(
    "body",
    [
        b'{"x": {"12:30": "a:b", "c": ":", "d": "\\":", "e": " :", "a b :": ": "}}',
        b'{\t"x"\t:\n{"a" : 1,"b"\r\n:2}}',
        b"[%b]"
        % b", ".join(
            b'{"x": {"a": 1, "b": %d}, "id": "10:30:%d \\":"}' % (k, k) for k in range(100)
        ),
        b"[%b]" % b", ".join([b'{"x": {"c:": 1, ":d": 2}, "id": null, "key": ""}'] * 100),
    ],
    ids=range(4),
)
def test_colons_in_texts_are_no_names(open_server, body):
    client = open_server.client()
    status, answer = client.post("/models/colons/ask", body)
    assert status == 200, answer
    client.close()


def test_beyond_loopback_hosts_are_named(launcher, tmp_path):
    server = launcher.start(
        "--state",
        tmp_path / "state",
        "--host",
        "0.0.0.0",
        "--allow-host",
        "Models.example",
        environment={"SWORDPLAY_TOKEN": TOKEN},
    )
    client = server.client(Authorization=f"Bearer {TOKEN}")
    row = {"x": {"a": 1.0}}
    for host in (
        "models.example",
        "MODELS.EXAMPLE:8400",
        f"127.0.0.1:{server.port}",
        "10.0.0.7",
        "[::1]:8400",
        "localhost",
    ):
        assert client.post("/ask", row, Host=host)[0] == 200, host
        assert client.send("GET", "/models", Host=host)[0] == 200, host
    for host in (
        "evil.test",
        "evil.test:8400",
        "models.example.evil.test",
        "127.0.0.1.evil.test",
        "1.2.3",
    ):
        status, answer = client.post("/ask", row, Host=host)
        assert (status, "--allow-host" in answer["error"]) == (421, True), host
        assert client.send("GET", "/models", Host=host)[0] == 421, host
    client.close()
    server.stop()


def test_on_loopback_addresses_of_others_are_no_host(launcher, tmp_path):
    server = launcher.start("--state", tmp_path / "state", "--allow-host", "models.example")
    client = server.client()
    for host, status in (
        ("models.example:1", 200),
        ("localhost", 200),
        ("10.0.0.7", 421),
        ("evil.test", 421),
    ):
        assert client.post("/ask", {"x": {"a": 1.0}}, Host=host)[0] == status, host
    client.close()
    server.stop()
