"""A command to be killed by signals: each life is a fork, so that nearly all of its time is spent
tracking and saving.

``python mortal.py ARGUMENTS...`` runs ``swordplay ARGUMENTS`` once for each line ``SECONDS SIGNAL``
of standard input. A life gets its signal after so many seconds unless it ends before, or none where
they are 0; its exit code and its seconds are printed.
"""

from __future__ import annotations

import os
import sys
import time

import numpy as np

from swordplay.cli import run
from swordplay.tracking import Settings, Tracker
from tracking.worlds import world


def live(arguments: list[str]) -> None:
    """One run of the command; never returns."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os._exit(run(arguments))


def main(arguments: list[str]) -> None:
    batch = world(
        "regression", 60, seed=0
    )  # whatever has to be compiled is compiled before the clock starts
    Tracker.begin(Settings("y"), batch).track(batch, np.arange(1, 61))
    for line in sys.stdin:
        seconds, number = line.split()
        child = os.fork()
        if child == 0:
            live(arguments)
        began, ended, status = time.monotonic(), 0, 0
        deadline = began + (float(seconds) or 1e9)
        while not ended and time.monotonic() < deadline:
            time.sleep(0.002)
            ended, status = os.waitpid(child, os.WNOHANG)
        if not ended:
            os.kill(child, int(number))
            _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), time.monotonic() - began, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
