"""A server: asks and tells over HTTP, a kill, another start, and what it predicts after its log
was replayed.
"""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from worlds.reference_cases import Cases
from worlds.reference_cases.commands import LONGEST
from worlds.reference_cases.estimators import summary_numbers


@contextmanager
def server(
    folder: Path, *options: str
) -> Iterator[tuple[subprocess.Popen[bytes], http.client.HTTPConnection]]:
    """A process of ``swordplay serve`` and a connection to it.

    Killed at the end if it still runs.
    """
    command = [
        sys.executable,
        "-m",
        "swordplay",
        "serve",
        "--state",
        str(folder / "models"),
        "--port",
        "0",
        *options,
    ]
    output = folder / "output.txt"
    with output.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT)
    try:
        began = time.monotonic()
        while "http://" not in (said := output.read_text()) or not said.endswith("\n"):
            if process.poll() is not None or time.monotonic() - began > LONGEST:
                raise RuntimeError(f"the server did not start: {said}")
            time.sleep(0.02)
        port = int(said.split("http://")[1].split()[0].rpartition(":")[2])
        yield process, http.client.HTTPConnection("127.0.0.1", port, timeout=LONGEST)
    finally:
        process.kill()
        process.wait()


def send(client: http.client.HTTPConnection, method: str, path: str, body: Any = None) -> Any:
    """The answer to a request, parsed; a refusal is an error."""
    data = None if body is None else json.dumps(body).encode()
    client.request(method, path, data, {"Content-Type": "application/json"})
    answer = client.getresponse()
    text = answer.read()
    if answer.status >= 300:
        raise RuntimeError(f"{method} {path} was answered {answer.status}: {text.decode()}")
    return json.loads(text)


def answer_numbers(answers: Any) -> list[float]:
    """Numbers of an answer or of a list of them.

    Predicted labels count by the probabilities beside them.
    """
    found = []
    for one in answers if isinstance(answers, list) else [answers]:
        for name in ("prediction", "lower", "upper", "error"):
            if name in one and not isinstance(one[name], str):
                found.append(float("nan") if one[name] is None else float(one[name]))
        probabilities = one.get("probabilities") or {}
        found.extend(float(probabilities[name]) for name in sorted(probabilities))
    return found


def row(rng: np.random.Generator, t: int) -> tuple[dict[str, Any], float]:
    """A row with a number, a word, a date and gaps, and a level for its answer."""
    x = {
        "size": float(rng.normal()),
        "day": f"2024-{t % 12 + 1:02d}-{t % 28 + 1:02d}",
        "kind": ["a", "b", "c"][int(rng.integers(0, 3))],
        "load": None if t % 9 == 4 else float(100 * rng.normal()),
    }
    return x, 10 + 2 * x["size"] + {"a": 0.0, "b": 2.0, "c": -2.0}[x["kind"]] + 0.2 * float(
        rng.normal()
    )


def truth(kind: str, level: float) -> Any:
    """The answer of a row, of the kind that a model predicts."""
    return {
        "number": level,
        "yes-no": level > 10,
        "classes": ["low", "middle", "high"][int(level > 8) + int(level > 12)],
    }[kind]


def exchange(
    client: http.client.HTTPConnection,
    kind: str,
    rounds: range,
    waiting: list[Any],
    said: list[float],
) -> None:
    """Ask single rows and batches of two keys, and tell some of the answers, in a seeded order."""
    path, rng = f"/models/{kind}", np.random.default_rng([110, rounds.start])
    for t in rounds:
        asked = []
        for k in range(1 if t % 5 else 8):
            x, level = row(rng, t)
            key = {"key": "north"} if t % 3 == 0 else {}
            asked.append(
                (
                    {"x": x, "id": f"{t}-{k}", **key},
                    {"id": f"{t}-{k}", "y": truth(kind, level), **key},
                )
            )
        bodies = [ask for ask, _ in asked]
        said.extend(
            answer_numbers(
                send(client, "POST", f"{path}/ask", bodies if len(bodies) > 1 else bodies[0])
            )
        )
        waiting.extend(tell for _, tell in asked)
        if t % 4 == 3:
            count = int(rng.integers(1, len(waiting) + 1))
            told = [waiting.pop(int(rng.integers(0, len(waiting)))) for _ in range(count)]
            said.extend(answer_numbers(send(client, "POST", f"{path}/tell", told)))
        if t % 50 == 49:
            gone = waiting.pop()
            send(client, "POST", f"{path}/drop", {name: gone[name] for name in gone if name != "y"})


def replayed(kind: str, every: str, folder: Path) -> Mapping[str, Any]:
    """Half of the requests, a kill, the other half, a stop, and predictions of a third process."""
    found: dict[str, Any] = {}
    waiting: list[Any] = []
    for part, rounds in enumerate((range(120), range(120, 200))):
        with server(folder, "--checkpoint-every", every) as (process, client):
            if part == 0:
                send(client, "PUT", f"/models/{kind}", {"target": kind})
            said: list[float] = []
            exchange(client, kind, rounds, waiting, said)
            found[f"said {part}"] = said
            if part == 1:  # the first process is killed instead
                process.send_signal(signal.SIGTERM)
                process.wait(LONGEST)
    with server(folder) as (_, client):
        rng = np.random.default_rng(111)
        bodies = [{"x": row(rng, t)[0], "id": f"ahead {t}"} for t in range(20)]
        found["ahead"] = answer_numbers(send(client, "POST", f"/models/{kind}/ask", bodies))
        client.request("GET", f"/models/{kind}/summary")
        found["numbers of the summary"] = summary_numbers(client.getresponse().read().decode())
    found["waiting"] = len(waiting)
    return found


CASES: Cases = {
    "numbers, killed before a checkpoint": partial(replayed, "number", "100000"),
    "numbers, killed after a checkpoint": partial(replayed, "number", "60"),
    "yes-no": partial(replayed, "yes-no", "100"),
    "classes": partial(replayed, "classes", "100000"),
}
