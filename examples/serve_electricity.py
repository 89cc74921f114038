"""A server in production: a producer asks, late answers arrive, and a live page shows it all.

Every tick is half an hour on the electricity market of New South Wales. The producer asks whether
the price will rise, as soon as a row is there; the answers arrive an hour (two rows) later, from
another process; ``swordplay serve`` predicts and learns, and its live page follows. Ctrl-C stops
everything, cleanly; with ``--state`` the next start goes on where this one ended.

    python examples/serve_electricity.py              # until Ctrl-C; open the printed address
    python examples/serve_electricity.py --rows 500 --tick 0.01
"""

import argparse
import contextlib
import http.client
import json
import multiprocessing
import signal
import subprocess
import sys
import tempfile
import time

from swordplay import datasets

LATE = 2
"""Rows until an answer is known: an hour."""
MODEL = "price-up"


class Client:
    """A connection that stays open, and is opened again when it broke: ids make it harmless to
    send a request twice.
    """

    def __init__(self, port):
        self.port, self.connection = port, None

    def send(self, method, path, value):
        """The answer; tried again while the server is away, or does not know the ticket yet."""
        while True:
            with contextlib.suppress(OSError, http.client.HTTPException):
                self.connection = self.connection or http.client.HTTPConnection(
                    "127.0.0.1", self.port, timeout=30
                )
                self.connection.request(
                    method, f"/models/{MODEL}{path}", value and json.dumps(value)
                )
                answer = self.connection.getresponse()
                text = answer.read()
                if answer.status == 200:
                    return json.loads(text)
                if answer.status not in (404, 503):
                    raise SystemExit(f"{path}: {answer.status} {text.decode()}")
            self.close()
            time.sleep(0.05)

    def close(self):
        """Until the next request."""
        if self.connection is not None:
            self.connection.close()
        self.connection = None


def once(port, method, path, value=None):
    """One request over a connection of its own."""
    with contextlib.closing(Client(port)) as client:
        return client.send(method, path, value)


def leave_when_told():
    """Ctrl-C reaches all processes at once; whoever started this one stops it, in order."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def produce(port, begun, tick, first, rows):
    """The market: a row every tick."""
    leave_when_told()
    data, client = datasets.electricity(), Client(port)
    for k in range(first, first + rows):
        time.sleep(max(0.0, begun + (k - first) * tick - time.monotonic()))
        row = dict(zip(data.names, data.features[k % len(data.features)].tolist(), strict=True))
        client.send("POST", "/ask", {"id": f"row {k}", "x": row})


def answer(port, begun, tick, first, rows):
    """The settlement: what became of a row, an hour after it."""
    leave_when_told()
    data, client = datasets.electricity(), Client(port)
    for k in range(first, first + rows):
        time.sleep(max(0.0, begun + (k - first + LATE) * tick - time.monotonic()))
        client.send(
            "POST", "/tell", {"id": f"row {k}", "y": bool(data.targets[k % len(data.targets)])}
        )


def main():
    """Start the three, wait for the end or for Ctrl-C, stop them in order: clients first, the
    server last.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--rows", type=int, default=10**9, help="how many, unless Ctrl-C comes first"
    )
    parser.add_argument("--tick", type=float, default=0.1, help="seconds that half an hour takes")
    parser.add_argument("--port", type=int, default=8400)
    parser.add_argument("--state", help="a folder that stays; a temporary one unless given")
    wanted = parser.parse_args()
    for one in (
        signal.SIGINT,
        signal.SIGTERM,
    ):  # SIGINT, too: a shell that starts this in the background lets it be ignored
        signal.signal(one, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as temporary:
        command = [
            sys.executable,
            "-m",
            "swordplay",
            "serve",
            "--state",
            wanted.state or temporary,
            "--port",
            str(wanted.port),
        ]
        server = subprocess.Popen(
            [*command, "--quiet"], stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        clients = []
        try:
            address = server.stdout.readline()  # the first line is the address
            if not address:
                raise SystemExit(server.wait())
            print(address, end="", flush=True)
            port = int(address.split("http://")[1].split()[0].rpartition(":")[2])
            known = once(port, "PUT", "", {"target": "yes-no"})
            said = f"The model {known['model']} predicts {known['target']}"
            print(
                f"{said}: a row every {wanted.tick:g} s, its answer {LATE} rows later.", flush=True
            )
            first = once(port, "GET", "")["asks"]
            clients = [
                multiprocessing.Process(
                    target=work, args=(port, time.monotonic(), wanted.tick, first, wanted.rows)
                )
                for work in (produce, answer)
            ]
            for client in clients:
                client.start()
            for client in clients:
                client.join()
        except KeyboardInterrupt:
            print("Stopping.")
        finally:
            for client in clients:
                client.terminate()
                client.join()
            try:
                if server.poll() is None and clients:
                    told = once(port, "GET", "/summary")
                    right = 1.0 - told["ever"]["error"] if told["tells"] else 0.0
                    print(
                        f"{told['tells']:,} rows answered, {told['pending']} pending, "
                        f"{100 * right:.1f} % right."
                    )
            finally:  # also if nobody reads what is printed
                server.send_signal(signal.SIGTERM)
                server.wait()
                server.stdout.close()
    print("Everything has stopped.")


if __name__ == "__main__":
    main()
