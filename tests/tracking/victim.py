"""A program to kill: it tracks a table, with intervals, and saves itself every few rows.

``python victim.py SOURCE OUTPUT STATE [KEY]`` reads delays from standard input: for each, a fork of
this process goes on from the state and is killed (-9) after so many seconds, unless it ends before;
exit code and seconds of each life are printed. With a delay of 0 it lives. Forks start in a
millisecond, so nearly all of a delay is spent tracking and saving.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

from swordplay.cli import outcome as outcomes
from swordplay.tracking import Job, Settings, Tracker, run, trackers
from tracking.worlds import world

EVERY = 100
"""Rows between two saves."""
WORDS = ["colour", "name"]
"""Columns without which keys are learned in bulk."""


def settings_of(*key: str) -> Settings:
    return Settings("y", lags=1, key=key, level=0.9)


def job(source: Path, output: Path, state: Path | None, *key: str) -> Job:
    return Job(
        str(source),
        settings_of(*key),
        str(output),
        f"{output}.refused.csv",
        state and str(state),
        save_every=EVERY,
        block_size=1 << 12,
    )


def live(source: Path, output: Path, state: Path, *key: str) -> None:
    found = run(job(source, output, state, *key))
    story = found.tracker.story("table", refused=found.refused, seconds=found.seconds)
    summary = outcomes.as_json(found, story, {})
    output.with_suffix(".json").write_text(
        "\n".join(line for line in summary.splitlines() if "second" not in line)
    )


def be_killed(source: Path, output: Path, state: Path, *key: str) -> None:
    batch = world(
        "regression", 60, seed=0
    )  # whatever has to be compiled is compiled before the clock starts
    Tracker.begin(settings_of(), batch).track(batch, np.arange(1, 61))
    if key:
        batch = batch.drop_columns(WORDS)
        trackers.begin(settings_of("flag"), batch).track(batch, np.arange(1, 61))
    for line in sys.stdin:
        victim = os.fork()
        if victim == 0:
            try:
                live(source, output, state, *key)
            except BaseException:
                import traceback

                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        began = time.monotonic()
        deadline = began + (float(line) or 1e9)
        ended = 0
        while not ended and time.monotonic() < deadline:
            time.sleep(0.002)
            ended, status = os.waitpid(victim, os.WNOHANG)
        if not ended:
            os.kill(victim, signal.SIGKILL)
            _, status = os.waitpid(victim, 0)
        print(os.waitstatus_to_exitcode(status), time.monotonic() - began, flush=True)


if __name__ == "__main__":
    be_killed(*map(Path, sys.argv[1:4]), *sys.argv[4:])
