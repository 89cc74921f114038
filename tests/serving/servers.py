"""Real servers for tests: processes of ``swordplay serve``, forked from one that has compiled
everything; and a client of ours.

Run as a script it is that process: a line of JSON on its standard input starts a server, a line on
its output names it.
"""

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

PATIENCE = 60.0
"""Seconds until a server counts as hanging; on a busy machine things take their time."""
STEP, MOST = 0.005, 0.1
"""Seconds between two looks at a server, and the most of them that counts: while this process is
stopped it cannot look.
"""


def looks():
    """Looks at a server until patience is at its end.

    Time in which this process itself was stopped counts for nothing.
    """
    left = PATIENCE
    while left > 0.0:
        begun = time.monotonic()
        yield
        time.sleep(STEP)
        left -= min(time.monotonic() - begun, MOST)


def launch():
    """Read commands for ever: each starts a server in a child, whose output goes to a file."""
    from swordplay.cli import commands
    from swordplay.report import live  # noqa: F401  # imported before the forks
    from swordplay.serving import server  # noqa: F401
    from swordplay.serving.series import compile_models

    compile_models({"number", "yes-no", "classes"})
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    print("ready", flush=True)
    for line in sys.stdin:
        wanted = json.loads(line)
        child = os.fork()
        if child:
            print(child, flush=True)
            continue
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.environ.update(wanted["environment"])
        if os.environ.get("SWORDPLAY_TEST_LOOP") == "own":
            sys.modules["uvloop"] = None  # as if it were not installed
        output = os.open(wanted["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(output, 1)
        os.dup2(output, 2)
        code = commands.run(["serve", *wanted["arguments"]])
        print(f"exit {code}", flush=True)
        os._exit(code)


class Launcher:
    """The process that starts servers."""

    def __init__(self, folder):
        self.folder, self.count = Path(folder), 0
        self.process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self.process.stdout.readline() == "ready\n"

    def start(self, *arguments, environment=(), wait=True):
        """A server, once it is there."""
        self.count += 1
        output = self.folder / f"output-{self.count}.txt"
        wanted = {
            "arguments": ["--port", "0", *map(str, arguments)],
            "output": str(output),
            "environment": dict(environment),
        }
        self.process.stdin.write(json.dumps(wanted) + "\n")
        self.process.stdin.flush()
        server = Server(int(self.process.stdout.readline()), output)
        if wait:
            server.wait_until_ready()
        return server

    def close(self):
        with self.process:  # closes its pipes; it leaves when its standard input ends
            pass


class Server:
    """A server that was started."""

    def __init__(self, process, output):
        self.process, self.output, self.port = process, output, 0

    def said(self):
        return self.output.read_text() if self.output.exists() else ""

    def wait_until_ready(self):
        for _ in looks():
            if "/tell" in self.said():
                break
            assert self.alive(), self.said()
        self.port = int(self.said().split("http://")[1].split()[0].rpartition(":")[2])

    def alive(self):
        try:
            os.kill(self.process, 0)
        except ProcessLookupError:
            return False
        return True

    def wait_until_gone(self):
        for _ in looks():
            if not self.alive():
                return self.said()
        raise AssertionError(f"the server does not end: {self.said()}")

    def kill(self):
        """Without any warning."""
        os.kill(self.process, signal.SIGKILL)
        self.wait_until_gone()

    def stop(self):
        """As an operator would; what it said."""
        os.kill(self.process, signal.SIGTERM)
        return self.wait_until_gone()

    def client(self, **headers):
        return Client(self.port, headers)


class Client:
    """One connection that stays open."""

    def __init__(self, port, headers=()):
        self.headers = {
            "Content-Type": "application/json",
            **{name.replace("_", "-"): value for name, value in dict(headers).items()},
        }
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)

    def send(self, method, path, body=None, **headers):
        """Status, head and body of the answer."""
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        self.connection.request(
            method,
            path,
            data,
            {**self.headers, **{k.replace("_", "-"): v for k, v in headers.items()}},
        )
        answer = self.connection.getresponse()
        return answer.status, answer.headers, answer.read()

    def post(self, path, body, **headers):
        """Status and value of the answer."""
        status, _, answer = self.send("POST", path, body, **headers)
        return status, json.loads(answer)

    def get(self, path):
        status, _, answer = self.send("GET", path)
        return status, json.loads(answer)

    def close(self):
        self.connection.close()


if __name__ == "__main__":
    launch()
