"""How fast a server answers, client included, with every event on the disk before its answer.

    python -m benchmarks.serving                    # pairs one by one, batches, memory over 1e6 events
    python -m benchmarks.serving --only pairs --seconds 10
    python -m benchmarks.serving --only soak --seconds 3600

The server is a process of its own (``swordplay serve``), the client this one: sockets that are kept open, each with one request
under way. Bodies are made beforehand, as a producer's would be by its own machine.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks import machine
from swordplay.data import datasets

CONNECTIONS = 24
BATCH = 1_000
EVENTS = 1_000_000
"""Rows asked and rows told, together, over which memory is watched."""
GOALS = {"pairs a second": 1_500.0, "p99 of a request, ms": 20.0, "rows a second in batches": 100_000.0}


@contextmanager
def server(*options: str) -> Iterator[tuple[int, int, Path]]:
    """Port, process and folder of a server."""
    folder = Path(tempfile.mkdtemp(prefix="swordplay-serving-"))
    command = [sys.executable, "-m", "swordplay", "serve", "--state", str(folder / "state"), "--port", "0", "--quiet", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield int(re.search(r":(\d+) ", process.stdout.readline()).group(1)), process.pid, folder
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        shutil.rmtree(folder)


def request(path: str, value: object) -> bytes:
    """A request as bytes."""
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


class Client:
    """A connection that has at most one request under way."""

    def __init__(self, port: int, requests: Iterator[bytes]) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.requests, self.seconds, self.buffer = requests, [], b""

    def send(self) -> bool:
        """Send the next request, if there is one."""
        wanted = next(self.requests, None)
        if wanted is None:
            return False
        self.begun = time.perf_counter()
        self.socket.sendall(wanted)
        return True

    def receive(self) -> bool:
        """Take what has come; whether that was all of an answer."""
        self.buffer += self.socket.recv(1 << 20)
        head = self.buffer.find(b"\r\n\r\n")
        if head < 0:
            return False
        start = self.buffer.index(b"content-length: ") + 16
        size = int(self.buffer[start : self.buffer.index(b"\r\n", start)])
        if len(self.buffer) < head + 4 + size:
            return False
        if not self.buffer.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(self.buffer.decode())
        self.seconds.append(time.perf_counter() - self.begun)
        self.buffer = b""
        return True


def drive(clients: list[Client], seconds: float) -> float:
    """Let all clients work until the time is up or nothing is left; seconds that it took."""
    waiting, begun = selectors.DefaultSelector(), time.perf_counter()
    for client in clients:
        if client.send():
            waiting.register(client.socket, selectors.EVENT_READ, client)
    while waiting.get_map():
        for key, _ in waiting.select():
            client = key.data
            if client.receive() and (time.perf_counter() - begun > seconds or not client.send()):
                waiting.unregister(client.socket)
                client.socket.close()
    return time.perf_counter() - begun


def rows() -> list[tuple[dict[str, float], float]]:
    """Rows of the shipped electricity table, and what is to be predicted."""
    data = datasets.electricity()
    names = list(data.names)
    return [
        (dict(zip(names, row, strict=True)), y) for row, y in zip(data.features.tolist(), data.targets.tolist(), strict=True)
    ]


def one_by_one(table: list, first: int, step: int) -> Iterator[bytes]:
    """Ask and tell, row by row: the rows of one client."""
    k, count = first, 0
    while True:
        row, y = table[k % len(table)]
        name = f"{first}-{count}"
        yield request("/ask", {"id": name, "x": row})
        yield request("/tell", {"id": name, "y": y})
        k, count = k + step, count + 1


def batches(table: list, who: int, count: int) -> list[bytes]:
    """Asks and tells of 1,000 rows each, in turns."""
    made = []
    for b in range(count):
        part = [table[(b * BATCH + k) % len(table)] for k in range(BATCH)]
        made.append(request("/ask", [{"id": f"{who}-{b}-{k}", "x": row} for k, (row, _) in enumerate(part)]))
        made.append(request("/tell", [{"id": f"{who}-{b}-{k}", "y": y} for k, (_, y) in enumerate(part)]))
    return made


def resident(process: int) -> float:
    """Megabytes that a process has in memory."""
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text()).group(1)) / 1024


def computed(process: int) -> float:
    """Seconds of computing that a process has used, whatever else the machine did meanwhile."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def pairs(seconds: float) -> dict[str, float]:
    """Ask and tell one by one over connections that stay open."""
    table = rows()
    with server() as (port, process, _):
        drive([Client(port, one_by_one(table, k, CONNECTIONS)) for k in range(CONNECTIONS)], 1.0)
        clients = [Client(port, one_by_one(table, k + 1000, CONNECTIONS)) for k in range(CONNECTIONS)]
        before, mine = computed(process), time.process_time()
        took = drive(clients, seconds)
        used, mine = computed(process) - before, time.process_time() - mine
    each = np.concatenate([client.seconds for client in clients])
    return {
        "pairs a second": len(each) / 2 / took,
        "server's computing, us a pair": 2e6 * used / len(each),
        "client's computing, us a pair": 2e6 * mine / len(each),
        "p50 of a request, ms": 1e3 * float(np.quantile(each, 0.5)),
        "p99 of a request, ms": 1e3 * float(np.quantile(each, 0.99)),
        "slowest request, ms": 1e3 * float(each.max()),
    }


def in_batches(seconds: float) -> dict[str, float]:
    """Asks and tells of 1,000 rows each, over two connections."""
    table = rows()
    with server() as (port, process, _):
        drive([Client(port, iter(batches(table, 9, 2)))], 5.0)
        clients = [Client(port, iter(batches(table, who, int(40 * seconds)))) for who in range(2)]
        before, mine = computed(process), time.process_time()
        took = drive(clients, seconds)
        used, mine = computed(process) - before, time.process_time() - mine
    requests = [len(client.seconds) for client in clients]
    each = np.concatenate([client.seconds for client in clients])
    return {
        "rows a second in batches": sum(requests) * BATCH / took,
        "server's computing, us a row": 1e6 * used / (sum(requests) * BATCH),
        "client's computing, us a row": 1e6 * mine / (sum(requests) * BATCH),
        "p99 of a batch, ms": 1e3 * float(np.quantile(each, 0.99)),
    }


def memory(events: int) -> dict[str, float]:
    """What the server holds in memory and on the disk, a tenth of the events after the start and at the end."""
    table, sizes = rows(), []
    with server() as (port, process, folder):
        for part in range(10):
            made = batches(table, part, events // 20 // BATCH)
            drive([Client(port, iter(made))], 1e9)
            sizes.append(resident(process))
        disk = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 2**20
    return {"MB after a tenth": sizes[0], "MB half-way": sizes[4], "MB at the end": sizes[-1], "MB on the disk": disk}


def soak(seconds: float) -> dict[str, float]:
    """One by one for a long time: memory, disk and the slowest requests by tenths."""
    table, figures = rows(), {}
    with server() as (port, process, folder):
        for part in range(10):
            clients = [Client(port, one_by_one(table, 1000 * (part + 1) + k, CONNECTIONS)) for k in range(CONNECTIONS)]
            took = drive(clients, seconds / 10)
            each = np.concatenate([client.seconds for client in clients])
            figures[f"tenth {part + 1}: pairs a second"] = len(each) / 2 / took
            figures[f"tenth {part + 1}: p99, ms"] = 1e3 * float(np.quantile(each, 0.99))
            figures[f"tenth {part + 1}: MB"] = resident(process)
            figures[f"tenth {part + 1}: MB on the disk"] = (
                sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 2**20
            )
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=["pairs", "batches", "memory", "soak"])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--events", type=int, default=EVENTS)
    wanted = parser.parse_args()
    runs = {
        "pairs": lambda: pairs(wanted.seconds),
        "batches": lambda: in_batches(wanted.seconds),
        "memory": lambda: memory(wanted.events),
        "soak": lambda: soak(wanted.seconds),
    }
    for name, value in machine.description().items():
        if name in ("processor", "memory", "load when the run began", "python"):
            print(f"{name}: {value}")
    for name in [wanted.only] if wanted.only else ["pairs", "batches", "memory"]:
        for what, figure in runs[name]().items():
            print(f"{what:28} {figure:10,.1f}" + (f"   (goal {GOALS[what]:,.0f})" if what in GOALS else ""), flush=True)


if __name__ == "__main__":
    main()
