"""Several commands at once, each a fork of this process: nearly all of their time is spent on the
work itself.

``python racer.py`` reads lines of JSON: a list of runs, each with its ``arguments``, the ``delay``
in seconds after which it starts, and ``killed``, the seconds after which it gets SIGKILL (null for
never), counted from the moment in which the file ``after`` exists, if one is named. When all runs
of a line have ended, their exit codes and messages are printed as a line of JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
from typing import Any, TypedDict

import numpy as np

from swordplay.cli import run
from swordplay.tracking import Settings, Tracker
from tracking.worlds import world


class Run(TypedDict):
    """One command."""

    arguments: list[str]
    delay: float
    killed: float | None
    after: str | None


def start(one: Run, messages: str) -> int:
    """Fork a process that runs the command and writes its standard error to a file.

    Its process id.
    """
    child = os.fork()
    if child:
        return child
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(os.open(messages, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    sys.stderr = os.fdopen(2, "w", closefd=False)
    code = 70
    try:
        time.sleep(one["delay"])
        code = run(one["arguments"])
    finally:
        sys.stderr.flush()
        os._exit(code)


def race(runs: list[Run], folder: str) -> list[dict[str, Any]]:
    """Run all of them; the exit code and the messages of each."""
    files = [os.path.join(folder, str(k)) for k in range(len(runs))]
    began = time.monotonic()
    alive = {
        start(one, file): (k, one) for k, (one, file) in enumerate(zip(runs, files, strict=True))
    }
    codes = [0] * len(runs)
    while alive:
        for child, (k, one) in list(alive.items()):
            if one["after"] is not None and os.path.exists(one["after"]):
                one["killed"], one["after"] = (
                    time.monotonic() - began + (one["killed"] or 0.0),
                    None,
                )
            if (
                one["after"] is None
                and one["killed"] is not None
                and time.monotonic() > began + one["killed"]
            ):
                os.kill(child, signal.SIGKILL)
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                codes[k] = os.waitstatus_to_exitcode(status)
                del alive[child]
        time.sleep(0.001)
    found = []
    for code, file in zip(codes, files, strict=True):
        with open(file) as messages:
            found.append({"code": code, "said": messages.read()})
    return found


def main() -> None:
    batch = world("regression", 60, seed=0)  # kernels are compiled before the first fork
    Tracker.begin(Settings("y"), batch).track(batch, np.arange(1, 61))
    Tracker.begin(Settings("y", level=0.9), batch).track(batch, np.arange(1, 61))
    with tempfile.TemporaryDirectory() as folder:
        for line in sys.stdin:
            print(json.dumps(race(json.loads(line), folder)), flush=True)


if __name__ == "__main__":
    main()
