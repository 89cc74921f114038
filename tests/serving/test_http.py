"""What goes over the wire: answers to what is right, and words for whatever is not, all of it
from a real server.
"""

import contextlib
import json
import re
import socket
import time

import pytest

TOKEN = "a-token-of-the-tests"


@pytest.fixture(scope="module")
def server(launcher, tmp_path_factory):
    folder = tmp_path_factory.mktemp("http") / "state"
    server = launcher.start(
        "--state",
        folder,
        "--max-body",
        20_000,
        "--max-rows",
        50,
        "--max-columns",
        20,
        "--max-pending",
        60,
    )
    yield server
    server.stop()


@pytest.fixture
def client(server):
    client = server.client()
    yield client
    client.close()


def test_ask_and_tell(client):
    asked = client.post(
        "/models/one/ask", {"x": {"a": 1.5, "b": "word", "c": None, "d": True}, "id": "q"}
    )
    assert asked == (200, {"id": "q", "prediction": None, "lower": None, "upper": None})
    told = (200, {"id": "q", "prediction": None, "y": 2.0, "error": None})
    assert client.post("/models/one/tell", {"id": "q", "y": 2}) == told
    assert (
        client.post("/models/one/tell", {"id": "q", "y": 2.0}) == told
    )  # again: the same answer, nothing more
    assert (
        client.post(
            "/models/one/ask", {"x": {"a": 1.5, "b": "word", "c": None, "d": True}, "id": "q"}
        )
        == asked
    )
    status, summary = client.get("/models/one/summary")
    assert status == 200
    assert (summary["asks"], summary["tells"], summary["pending"]) == (1, 1, 0)
    assert "LateModel: 1 asked, 1 told, 0 dropped, 0 pending" in summary["text"]


def test_many_rows_as_json_and_as_lines(client):
    rows = [{"x": {"a": k}, "id": f"{k}", "key": "left" if k % 2 else "right"} for k in range(6)]
    status, answers = client.post("/models/many/ask", rows)
    assert status == 200
    assert [answer["id"] for answer in answers] == list("012345")
    lines = (
        "\n".join(
            json.dumps({"id": f"{k}", "y": k, "key": rows[k]["key"]}) for k in reversed(range(6))
        )
        + "\n\n"
    )
    status, answers = client.post(
        "/models/many/tell", lines.encode(), Content_Type="application/x-ndjson"
    )
    assert status == 200
    assert [answer["id"] for answer in answers] == list("543210")
    found = client.get("/models/many")[1]
    assert found == {
        "model": "many",
        "target": "number",
        "keys": ["right", "left"],
        "asks": 6,
        "tells": 6,
        "pending": 0,
    }


def test_rows_without_an_id_get_one_that_clients_cannot_choose(client):
    status, head, body = client.send("POST", "/models/unnamed/ask", [{"x": {}}, {"x": {"a": 1}}])
    assert status == 200
    number = head["swordplay-event"]
    assert [one["id"] for one in json.loads(body)] == [f"#{number}.0", f"#{number}.1"]
    assert client.post("/models/unnamed/tell", {"id": f"#{number}.1", "y": 1.0})[0] == 200
    assert client.post("/models/unnamed/ask", {"x": {}, "id": "#1.0"})[0] == 400


def test_columns_come_and_go_and_stay_what_they_are(client):
    for k, row in enumerate(({"a": 1.0}, {"a": 2.0, "b": "w"}, {"b": "v", "c": None}, {})):
        assert client.post("/models/columns/ask", {"x": row, "id": f"{k}"})[0] == 200
        assert client.post("/models/columns/tell", {"id": f"{k}", "y": float(k)})[0] == 200
    for row in ({"a": "text"}, {"b": 3.5}):
        status, answer = client.post("/models/columns/ask", {"x": row})
        assert (status, "so far" in answer["error"]) == (400, True)


def test_classes_and_yes_no(client):
    assert client.send("PUT", "/models/sky", {"target": "classes"})[0] == 200
    for k in range(9):
        ticket = client.post("/models/sky/ask", {"x": {"a": k % 3}})[1]
        assert (
            client.post("/models/sky/tell", {"id": ticket["id"], "y": ["sun", "rain", 3][k % 3]})[0]
            == 200
        )
    ticket = client.post("/models/sky/ask", {"x": {"a": 0}})[1]
    assert ticket["prediction"] == "sun"
    assert set(ticket["probabilities"]) == {"sun", "rain", "3"}
    assert sum(ticket["probabilities"].values()) == pytest.approx(1.0)
    assert client.send("PUT", "/models/up", {"target": "yes-no"})[0] == 200
    names = [client.post("/models/up/ask", {"x": {"a": k}})[1]["id"] for k in range(3)]
    assert client.post("/models/up/tell", {"id": names[0], "y": True})[1]["y"] is True
    assert client.post("/models/up/tell", {"id": names[1], "y": 0})[1]["y"] is False
    assert client.post("/models/up/tell", {"id": names[2], "y": 0.5})[0] == 400
    assert client.post("/models/up/tell", {"id": names[2], "y": "yes"})[0] == 400


ROW = {"x": {"a": 1.0}}
REFUSED = [
    ("/ask", {"x": {"a": [1]}}, 400, "got `array` - at `$.x['a']`"),
    ("/ask", {"x": [1]}, 400, "expected `object`, got `array` - at `$.x`"),
    ("/ask", {"a": 1}, 400, "unknown field `a`"),
    ("/ask", {"id": "i"}, 400, "missing required field `x`"),
    ("/ask", 3, 400, "got `int`"),
    ("/ask", [ROW, []], 400, "got `array` - at `$[1]`"),
    ("/ask", {**ROW, "id": ""}, 400, "expected `str` of length >= 1 - at `$.id`"),
    ("/ask", {**ROW, "id": 7}, 400, "expected `str | null`, got `int` - at `$.id`"),
    ("/ask", {**ROW, "id": "a\nb"}, 400, "id must be a string of 1 to 200 printable"),
    ("/ask", {**ROW, "id": "\ud800"}, 400, "id must be a string of 1 to 200 printable"),
    ("/ask", {**ROW, "key": 1}, 400, "expected `str`, got `int` - at `$.key`"),
    ("/ask", {"x": {"n" * 201: 1}}, 400, "the name of a column must be a string of 1 to 200"),
    ("/ask", {"x": {f"{k}": 1 for k in range(21)}}, 413, "a row has at most 20 columns"),
    ("/ask", [ROW] * 51, 413, "a request has at most 50 rows"),
    ("/ask", {"x": {"a": "w" * 20_000}}, 413, "a request has at most 20,000 bytes"),
    ("/ask", {"x": {"a": 1e61}}, 400, "must be finite and not pass 1e+60"),
    ("/tell", {"id": "never asked", "y": 1}, 404, "no ticket 'never asked' is pending"),
    ("/tell", {"id": "i"}, 400, "missing required field `y`"),
    ("/tell", {"id": "i", "y": None}, 400, "got `null` - at `$.y`"),
    ("/tell", {"id": "i", "y": 1, "key": "nowhere"}, 404, "has no key 'nowhere'"),
    ("/drop", {"id": "never asked"}, 404, "no ticket 'never asked' is pending"),
    ("/models/none/tell", {"id": "i", "y": 1}, 404, "there is no model 'none'"),
    ("/models/default", {"target": "words"}, 400, "invalid enum value 'words' - at `$.target`"),
    ("/models/default", {"target": "classes"}, 409, "predicts number already"),
    ("/models/a.b/ask", ROW, 400, "the name of a model has"),
    ("/models/..%2F..%2Fetc/ask", ROW, 400, "the name of a model has"),
    ("/models/../ask", ROW, 400, "the name of a model has"),
    ("/models/%00/ask", ROW, 400, "the name of a model has"),
    (f"/models/{'n' * 65}/ask", ROW, 400, "the name of a model has"),
    ("/models//ask", ROW, 400, "the name of a model has"),
    ("/nothing/ask", ROW, 404, "Not Found"),
]


@pytest.mark.parametrize(("path", "body", "status", "words"), REFUSED)
def test_what_is_wrong_is_refused_in_words_and_changes_nothing(client, path, body, status, words):
    client.post("/ask", {**ROW, "id": "first"})
    before = client.get("/models/default")[1]
    found, answer = client.post(path, body)
    assert (found, words in answer["error"]) == (status, True), answer
    client.close()
    assert client.get("/models/default")[1] == before


def test_a_client_that_sends_far_too_much_gets_an_error(server):
    """The connection is not cut off in the middle of it, or the error would be lost."""
    for body in (
        b"[" + b" " * 4_000_000 + b"]",
        iter([b" " * 1_000_000] * 4),
    ):  # with a length, and in parts without one
        client = server.client()
        client.connection.request("POST", "/ask", body, client.headers, encode_chunked=True)
        answer = client.connection.getresponse()
        assert (answer.status, answer.headers["connection"]) == (413, "close")
        assert "a request has at most 20,000 bytes" in json.loads(answer.read())["error"]
        client.close()


def test_what_contradicts_is_refused(client):
    assert client.post("/models/twice/ask", {"x": {"a": 1}, "id": "t"})[0] == 200
    assert client.post("/models/twice/ask", {"x": {"a": 2}, "id": "t"})[0] == 409
    assert (
        client.post("/models/twice/ask", [{"x": {"a": 2}, "id": "u"}, {"x": {"a": 2}, "id": "u"}])[
            0
        ]
        == 409
    )
    assert client.post("/models/twice/tell", [{"id": "t", "y": 1}, {"id": "t", "y": 1}])[0] == 409
    assert client.post("/models/twice/tell", {"id": "t", "y": 1})[0] == 200
    status, answer = client.post("/models/twice/tell", {"id": "t", "y": 2})
    assert (status, answer["error"]) == (409, "the answer to 't' was 1.0 before, and is 2.0 now.")
    assert client.post("/models/twice/drop", {"id": "t"})[0] == 409
    assert client.post("/models/twice/ask", {"x": {"a": 1}, "id": "d"})[0] == 200
    assert client.post("/models/twice/drop", {"id": "d"}) == (200, {"id": "d", "dropped": True})
    assert client.post("/models/twice/drop", {"id": "d"}) == (200, {"id": "d", "dropped": True})
    assert client.post("/models/twice/tell", {"id": "d", "y": 2})[0] == 409
    # whole or not at all: of two answers the first would be right
    client.post("/models/twice/ask", {"x": {"a": 1}, "id": "e"})
    assert (
        client.post("/models/twice/tell", [{"id": "e", "y": 1}, {"id": "unknown", "y": 1}])[1][
            "row"
        ]
        == 1
    )
    assert client.get("/models/twice")[1]["pending"] == 1


def test_too_many_tickets(client):
    for _ in range(2):
        assert client.post("/models/full/ask", [ROW] * 30)[0] == 200
    status, answer = client.post("/models/full/ask", ROW)
    assert (status, "60 tickets are pending, and 60 is the limit" in answer["error"]) == (429, True)


def test_broken_json_at_any_byte_is_refused_with_the_place(client):
    whole = json.dumps({"x": {"a": 1.5, "ü": "wörd"}, "id": "broken"}, ensure_ascii=False).encode()
    for end in range(0, len(whole), 3):  # all of them: test_requests.py
        status, answer = client.post("/ask", whole[:end])
        assert status == 400, whole[:end]
        assert 0 <= answer["byte"] <= end
    lines = b'{"x": {}}\n{"x": {}\n{"x": {}}'
    answer = client.post("/ask", lines, Content_Type="application/x-ndjson")[1]
    assert (answer["line"], answer["byte"]) == (2, 18)
    for text in (
        b"",
        b"[" * 100_0,
        b'{"x": {"a": NaN}}',
        b'{"x": {"a": ' + b"9" * 5_000 + b"}}",
        b'{"x": {"a": -Infinity}}',
    ):
        assert client.post("/ask", text)[0] == 400, text


def test_other_methods_and_addresses(client):
    for method, path, status in (
        ("GET", "/ask", 405),
        ("DELETE", "/tell", 405),
        ("POST", "/health", 405),
        ("GET", "/models/unknown/summary", 404),
        ("GET", "/etc/passwd", 404),
        ("GET", "/..%2f..%2fetc/passwd", 404),
        ("HEAD", "/health", 200),
    ):
        assert client.send(method, path)[0] == status, path


def test_other_web_pages_may_not(server, client):
    assert client.post("/ask", ROW, Origin="http://evil.test")[0] == 403
    assert client.post("/ask", ROW, Origin=f"http://127.0.0.1:{server.port}")[0] == 200
    assert client.post("/ask", ROW, Host="evil.test")[0] == 421
    assert client.send("GET", "/models", Host="evil.test:80")[0] == 421
    assert client.post("/ask", ROW, Host="localhost")[0] == 200


def test_health_metrics_and_the_description(client):
    assert client.get("/health")[1]["status"] == "ok"
    text = client.send("GET", "/metrics")[2].decode()
    for line in text.splitlines():
        assert re.fullmatch(r"# (HELP|TYPE) \w+ .+|\w+(\{[^{}]*\})? [0-9.e+-]+", line), line
    assert re.search(
        r'^swordplay_answers_total\{action="ask",status="200"\} \d+$', text, re.MULTILINE
    )
    assert len(re.findall("^# TYPE ", text, re.MULTILINE)) == len(
        set(re.findall(r"^# TYPE (\w+)", text, re.MULTILINE))
    )
    described = client.get("/openapi.json")[1]
    assert described["openapi"] == "3.1.0"
    assert {"/ask", "/tell", "/drop", "/models/{name}/ask", "/health", "/metrics"} <= described[
        "paths"
    ].keys()


def test_a_token_for_everything_that_changes(launcher, tmp_path):
    server = launcher.start("--state", tmp_path / "state", environment={"SWORDPLAY_TOKEN": TOKEN})
    client = server.client()
    for path in ("/ask", "/tell", "/drop", "/models/m"):
        for headers in (
            {},
            {"Authorization": "Bearer wrong"},
            {"Authorization": f"Basic {TOKEN}"},
            {"Authorization": TOKEN},
        ):
            status, head, _ = client.send("POST", path, ROW, **headers)
            assert (status, head["www-authenticate"]) == (401, "Bearer")
    assert client.post("/ask", ROW, Authorization=f"Bearer {TOKEN}")[0] == 200
    assert client.get("/models")[0] == 200
    assert "$SWORDPLAY_TOKEN" in server.said()
    client.close()
    assert TOKEN not in server.stop()


def test_slow_clients_are_let_go(launcher, tmp_path):
    server = launcher.start("--state", tmp_path / "state", "--timeout", 0.5)
    begun = time.monotonic()
    slow = {
        name: socket.create_connection(("127.0.0.1", server.port), timeout=20)
        for name in ("silent", "head", "body")
    }
    slow["head"].sendall(b"POST /ask HTTP/1.1\r\nHost: loc")
    endless = socket.create_connection(("127.0.0.1", server.port), timeout=20)
    # whichever the system says first
    with pytest.raises(OSError, match=r"reset|pipe|closed"):  # noqa: PT012
        endless.sendall(b"POST /ask HTTP/1.1\r\n")
        while True:
            endless.sendall(b"A" * 1000 + b": b\r\n")
    endless.close()
    slow["body"].sendall(b"POST /ask HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
    assert slow["body"].recv(1000).startswith(b"HTTP/1.1 408")
    for name in ("silent", "head"):
        with contextlib.suppress(ConnectionResetError):
            assert slow[name].recv(1000) == b"", name
    assert time.monotonic() - begun < 15
    client = server.client()
    assert client.post("/ask", ROW)[0] == 200  # all others are served
    time.sleep(1.2)
    assert client.post("/ask", ROW)[0] == 200  # and may rest between two requests
    client.close()
    for one in slow.values():
        one.close()
    said = server.stop()
    assert "stopped; everything is saved." in said
    assert "localhost" not in said


def test_open_connections_do_not_keep_the_server_from_ending(launcher, tmp_path):
    """Neither idle connections, nor half requests, nor live pages without a reader: it ends,
    and everything is saved.
    """
    server = launcher.start("--state", tmp_path / "state", "--timeout", 1)
    client = server.client()
    assert client.post("/ask", {**ROW, "id": "kept"})[0] == 200  # and its connection stays open
    staying = [socket.create_connection(("127.0.0.1", server.port), timeout=20) for _ in range(5)]
    staying[1].sendall(b"POST /ask HTTP/1.1\r\nHost: loc")
    staying[2].sendall(b"POST /ask HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
    for page in staying[3:]:
        page.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert page.recv(10) == b"HTTP/1.1 2"
    staying[4].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    assert client.get("/health")[0] == 200
    said = server.stop()
    assert "stopped; everything is saved." in said
    assert "exit 0" in said
    client.close()
    for one in staying:
        one.close()
    again = launcher.start("--state", tmp_path / "state")
    assert "replayed" not in again.said()  # all of it was in the checkpoint
    client = again.client()
    assert client.get("/models/default")[1]["pending"] == 1
    client.close()
    again.stop()
