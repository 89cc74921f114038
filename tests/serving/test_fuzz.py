"""Requests by chance, made from the server's own description of itself: it answers each as it
says, and goes on.
"""

import json
import random

import pytest

FIT, BROKEN = 0.6, 0.15
"""Shares of values that are as the description wants them, and of bodies with a wrong byte."""
VALUES = (
    None,
    True,
    0,
    -1,
    1e308,
    10**400,
    0.1,
    "",
    "a",
    "\x00",
    "ü" * 300,
    "2024-02-30",
    [],
    [[]],
    {},
    {"a": {"b": 1}},
)
NAMES = ("m", "M-2_x", "a.b", "..", "%2e%2e", "a%2Fb", "x" * 65, "ü".encode().hex(), "%00", "")
LOOKED = ("/health", "/metrics", "/models", "/openapi.json")


def made(schema, rng, components):
    """A value that fits a schema, or one that may not."""
    if "$ref" in schema:
        schema = components[schema["$ref"].rpartition("/")[2]]
    if rng.random() > FIT:
        return rng.choice(VALUES)
    if choices := schema.get("oneOf") or schema.get("anyOf"):
        return made(rng.choice(choices), rng, components)
    if "enum" in schema:
        return rng.choice(schema["enum"])
    kind = schema.get("type", "null")
    if kind == "object":
        known = schema.get("properties", {})
        wanted = [
            name for name in known if name in schema.get("required", ()) or rng.random() < 0.4
        ]
        found = {name: made(known[name], rng, components) for name in wanted}
        more = schema.get("additionalProperties")
        return found | (
            {rng.choice("abcd"): made(more, rng, components) for _ in range(rng.randrange(4))}
            if more
            else {}
        )
    if kind == "array":
        return [made(schema["items"], rng, components) for _ in range(rng.randrange(4))]
    return {
        "number": rng.gauss(0.0, 1.0),
        "integer": rng.randrange(-3, 4),
        "string": f"t{rng.randrange(40)}",
        "boolean": rng.random() < 0.5,
    }.get(kind)


def sent(client, path, method, about, rng, components):
    """Send one, and hold the answer to the description."""
    path = path.replace("{name}", rng.choice(NAMES))
    body = None
    kind = rng.choice(["application/json", "application/x-ndjson"])
    if "requestBody" in about:
        value = made(about["requestBody"]["content"][kind]["schema"], rng, components)
        lines = value if isinstance(value, list) and kind.endswith("ndjson") else [value]
        body = "\n".join(map(json.dumps, lines)).encode()
        if rng.random() < BROKEN:
            place = rng.randrange(len(body) + 1)
            body = (
                body[:place]
                + rng.choice([b"", b"\xff", b"}", b'"', b"\x00"])
                + body[place + rng.randrange(2) :]
            )
    status, head, answer = client.send(method.upper(), path, body, Content_Type=kind)
    known = {int(code) for code in about["responses"]}
    assert status in known | {404, 405}, (path, method, body, status, answer)
    if status != 200 and status != 405:
        assert json.loads(answer)["error"], (path, method, body)
    if status == 200 and "swordplay-event" in head:
        json.loads(answer)
    return status


def fuzzed(launcher, folder, count, seed):
    """Statuses of so many requests by chance."""
    options = ["--state", folder, "--max-series", 20, "--max-pending", 50, "--max-models", 5]
    server, rng = launcher.start(*options), random.Random(seed)
    client = server.client()
    described = client.get("/openapi.json")[1]
    paths, components = described["paths"], described["components"]["schemas"]
    calls = [
        (path, method, about)
        for path, methods in paths.items()
        for method, about in methods.items()
        if path != "/events"
    ]
    found = {sent(client, *rng.choice(calls), rng, components) for _ in range(count)}
    for path in LOOKED:
        assert client.send("GET", path)[0] == 200
    before = client.get("/models")[1]
    client.close()
    server.kill()
    again = launcher.start(*options)
    client = again.client()
    assert client.get("/models")[1] == before  # whatever was refused is refused again
    client.close()
    again.stop()
    return found


def test_it_answers_as_it_says(launcher, tmp_path):
    assert {200, 400, 404} <= fuzzed(launcher, tmp_path / "state", 400, seed=0)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(1, 6))
def test_it_answers_as_it_says_twenty_thousand_times(launcher, tmp_path, seed):
    assert {200, 400, 404, 409} <= fuzzed(launcher, tmp_path / "state", 4_000, seed=seed)
