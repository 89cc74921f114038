"""How fast a server answers, client included, with every event on the disk before its answer.

    python -m benchmarks.serving         # pairs one by one, batches, memory over 1e6 events
    python -m benchmarks.serving --only pairs --seconds 10
    python -m benchmarks.serving --only soak --seconds 3600

The server is a process of its own (``swordplay serve``), the client this one: sockets that are kept
open, each with one request under way. Bodies are made beforehand, as a producer's would be by its
own machine.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
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
from typing import NamedTuple

import numpy as np

from benchmarks import machine
from swordplay import datasets

CONNECTIONS = 24
BATCH = 1_000
EVENTS = 1_000_000
"""Rows asked and rows told, together, over which memory is watched."""
PATIENCE = 60.0
"""Seconds that a server has to end; those in which this process was stopped do not count."""
GOALS = {
    "pairs a second": 1_500.0,
    "p99 of a request, ms": 20.0,
    "rows a second in batches": 100_000.0,
}


class Server(NamedTuple):
    """A server that was started."""

    port: int
    process: int
    folder: Path
    ended: list[float]
    """Once it has: seconds that it took to end, and that it computed meanwhile."""

    def on_disk(self) -> float:
        """Megabytes."""
        return sum(file.stat().st_size for file in self.folder.rglob("*") if file.is_file()) / 2**20


@contextmanager
def server(*options: str) -> Iterator[Server]:
    """A server for as long as it is needed."""
    folder = Path(tempfile.mkdtemp(prefix="swordplay-serving-"))
    command = [
        sys.executable,
        "-m",
        "swordplay",
        "serve",
        "--state",
        str(folder / "state"),
        "--port",
        "0",
        "--quiet",
        *options,
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    took: list[float] = []
    try:
        assert process.stdout is not None
        yield Server(
            int(re.search(r":(\d+) ", process.stdout.readline()).group(1)),
            process.pid,
            folder,
            took,
        )
    finally:
        took.extend(ended(process))
        shutil.rmtree(folder)


def ended(process: subprocess.Popen) -> tuple[float, float]:
    """Let a server end as an operator would.

    Seconds that it took, and that it computed meanwhile.
    """
    before, mine, waited = computed(process.pid), of_children(), 0.0
    process.send_signal(signal.SIGTERM)
    while process.poll() is None and waited < PATIENCE:
        begun = time.monotonic()
        time.sleep(0.01)
        waited += min(
            time.monotonic() - begun, 0.1
        )  # a process that is stopped, or gets no processor, cannot look
    if process.poll() is None:
        process.kill()
    code = process.wait()
    if process.stdout is not None:
        process.stdout.close()
    if code:
        raise RuntimeError(f"the server ended with {code}, {waited:.1f} s after SIGTERM")
    return waited, of_children() - mine - before


def of_children() -> float:
    """Seconds of computing of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def request(path: str, value: object) -> bytes:
    """A request as bytes."""
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def as_sent(table: list) -> list[tuple[bytes, bytes]]:
    """Rows and what is to be predicted, as they stand in requests."""
    return [(json.dumps(row).encode(), json.dumps(y).encode()) for row, y in table]


class Client:
    """A connection that has at most one request under way."""

    def __init__(self, port: int, requests: Iterator[bytes]) -> None:
        self.port, self.requests, self.seconds, self.buffer, self.lost = port, requests, [], b"", 0
        self.connect()

    def connect(self) -> None:
        """Open the connection."""
        self.socket = socket.create_connection(("127.0.0.1", self.port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self) -> bool:
        """Send the next request, if there is one."""
        self.wanted = next(self.requests, None)
        if self.wanted is None:
            return False
        self.begun = time.perf_counter()
        self.socket.sendall(self.wanted)
        return True

    def again(self) -> None:
        """Send it once more over a new connection: the server closes one that it hears nothing
        of, as when we were stopped.
        """
        self.socket.close()
        self.lost, self.buffer = self.lost + 1, b""
        self.connect()
        self.socket.sendall(self.wanted)

    def receive(self) -> bool:
        """Take what has come; whether that was all of an answer."""
        data = self.socket.recv(1 << 20)
        if not data:
            raise ConnectionError("the server closed the connection")
        self.buffer += data
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
            try:
                over = client.receive() and (
                    time.perf_counter() - begun > seconds or not client.send()
                )
            except ConnectionError:
                waiting.unregister(client.socket)
                client.again()
                waiting.register(client.socket, selectors.EVENT_READ, client)
                continue
            if over:
                waiting.unregister(client.socket)
                client.socket.close()
    return time.perf_counter() - begun


def rows() -> list[tuple[dict[str, float], float]]:
    """Rows of the shipped electricity table, and what is to be predicted."""
    data = datasets.electricity()
    names = list(data.names)
    return [
        (dict(zip(names, row, strict=True)), y)
        for row, y in zip(data.features.tolist(), data.targets.tolist(), strict=True)
    ]


def one_by_one(table: list[tuple[bytes, bytes]], first: int, step: int) -> Iterator[bytes]:
    """Ask and tell, row by row, of rows :func:`as_sent`: those of one client."""
    k, count = first, 0
    while True:
        row, y = table[k % len(table)]
        name = b"%d-%d" % (first, count)
        yield request("/ask", b'{"id": "%b", "x": %b}' % (name, row))
        yield request("/tell", b'{"id": "%b", "y": %b}' % (name, y))
        k, count = k + step, count + 1


def batches(table: list, who: int, count: int) -> list[bytes]:
    """Asks and tells of 1,000 rows each, in turns."""
    made = []
    for b in range(count):
        part = [table[(b * BATCH + k) % len(table)] for k in range(BATCH)]
        made.append(
            request("/ask", [{"id": f"{who}-{b}-{k}", "x": row} for k, (row, _) in enumerate(part)])
        )
        made.append(
            request("/tell", [{"id": f"{who}-{b}-{k}", "y": y} for k, (_, y) in enumerate(part)])
        )
    return made


def resident(process: int) -> float:
    """Megabytes that a process has in memory."""
    return (
        int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text()).group(1))
        / 1024
    )


def computed(process: int) -> float:
    """Seconds of computing that a process has used, whatever else the machine did meanwhile."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


STOLEN = "stolen from us, % of time"
"""What a virtual machine's host kept of the processors' time for others: a run that was robbed
says little of the server.
"""


def pairs(seconds: float) -> dict[str, float]:
    """Ask and tell one by one over connections that stay open."""
    table = as_sent(rows())
    with server() as (port, process, *_):
        drive([Client(port, one_by_one(table, k, CONNECTIONS)) for k in range(CONNECTIONS)], 1.0)
        clients = [
            Client(port, one_by_one(table, k + 1000, CONNECTIONS)) for k in range(CONNECTIONS)
        ]
        before, mine, lost = computed(process), time.process_time(), machine.stolen()
        took = drive(clients, seconds)
        used, mine, lost = (
            computed(process) - before,
            time.process_time() - mine,
            machine.stolen() - lost,
        )
    each = np.concatenate([client.seconds for client in clients])
    return {
        "pairs a second": len(each) / 2 / took,
        "server's computing, us a pair": 2e6 * used / len(each),
        "client's computing, us a pair": 2e6 * mine / len(each),
        "p50 of a request, ms": 1e3 * float(np.quantile(each, 0.5)),
        "p99 of a request, ms": 1e3 * float(np.quantile(each, 0.99)),
        "slowest request, ms": 1e3 * float(each.max()),
        STOLEN: 100.0 * lost / (took * (os.cpu_count() or 1)),
    }


def in_batches(seconds: float) -> dict[str, float]:
    """Asks and tells of 1,000 rows each, over two connections."""
    table = rows()
    with server() as (port, process, *_):
        drive([Client(port, iter(batches(table, 9, 2)))], 5.0)
        clients = [Client(port, iter(batches(table, who, int(40 * seconds)))) for who in range(2)]
        before, mine, lost = computed(process), time.process_time(), machine.stolen()
        took = drive(clients, seconds)
        used, mine, lost = (
            computed(process) - before,
            time.process_time() - mine,
            machine.stolen() - lost,
        )
    requests = [len(client.seconds) for client in clients]
    each = np.concatenate([client.seconds for client in clients])
    return {
        "rows a second in batches": sum(requests) * BATCH / took,
        "server's computing, us a row": 1e6 * used / (sum(requests) * BATCH),
        "client's computing, us a row": 1e6 * mine / (sum(requests) * BATCH),
        "p99 of a batch, ms": 1e3 * float(np.quantile(each, 0.99)),
        STOLEN: 100.0 * lost / (took * (os.cpu_count() or 1)),
    }


def memory(events: int) -> dict[str, float]:
    """What the server holds in memory and on the disk, a tenth of the events after the start and
    at the end.
    """
    table, sizes = rows(), []
    with server() as found:
        for part in range(10):
            made = batches(table, part, events // 20 // BATCH)
            drive([Client(found.port, iter(made))], 1e9)
            sizes.append(resident(found.process))
        disk = found.on_disk()
    return {f"MB after {k} tenths": size for k, size in enumerate(sizes, start=1)} | {
        "MB on the disk": disk
    }


def soak(seconds: float) -> dict[str, float]:
    """One by one for a long time: memory, disk and the slowest requests by tenths.

    Then how long the server takes to end.

    In every tenth one more client opens the live page and soon reads no more of it.
    """
    table, figures, watching = as_sent(rows()), {}, []
    with server() as found:
        for part in range(10):
            watching.append(socket.create_connection(("127.0.0.1", found.port)))
            watching[-1].sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            clients = [
                Client(found.port, one_by_one(table, 1000 * (part + 1) + k, CONNECTIONS))
                for k in range(CONNECTIONS)
            ]
            took = drive(clients, seconds / 10)
            each = np.concatenate([client.seconds for client in clients])
            figures[f"tenth {part + 1}: pairs a second"] = len(each) / 2 / took
            figures[f"tenth {part + 1}: p99, ms"] = 1e3 * float(np.quantile(each, 0.99))
            figures[f"tenth {part + 1}: MB"] = resident(found.process)
            figures[f"tenth {part + 1}: MB on the disk"] = found.on_disk()
            figures[f"tenth {part + 1}: connections opened again"] = float(
                sum(client.lost for client in clients)
            )
            print(
                f"tenth {part + 1} of the soak: {len(each) // 2:,} pairs in {took:.0f} s",
                flush=True,
            )
    for one in watching:
        one.close()
    return figures | {"seconds to end": found.ended[0], "computing to end, seconds": found.ended[1]}


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
            print(
                f"{what:28} {figure:10,.1f}"
                + (f"   (goal {GOALS[what]:,.0f})" if what in GOALS else ""),
                flush=True,
            )


if __name__ == "__main__":
    main()
