"""The whole command, stopped by four signals at random moments: in the end no byte is different."""

import itertools
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cli import mortal
from tracking.files import write
from tracking.worlds import world

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
ENDINGS = {
    signal.SIGKILL: -signal.SIGKILL,
    signal.SIGTERM: 143,
    signal.SIGINT: 130,
    signal.SIGHUP: -signal.SIGHUP,
}
"""Exit codes: the command catches two of them, saves, and ends as a shell expects."""
KINDS = [
    ("csv", "csv", ()),
    ("csv", "parquet", ("--key", "colour")),
    ("csv", "ndjson", ("--no-interval", "--lags", "2")),
    ("ndjson", "csv", ("--level", "0.5")),
    ("ndjson", "ndjson", ()),
    ("parquet", "parquet", ()),
    ("parquet", "csv", ("--key", "colour,flag", "--report", "report.html")),
]
DEEP = 72
"""Stops of each kind; 7 times 72 are 504."""
ROWS = 1500
TESTS = Path(__file__).parents[1]


def results(folder):
    """Everything that is left, but for the state, which holds times, and the report, which tells
    them.
    """
    return {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if path.name not in ("state", "report.html")
    }


def stopped(folder, kind, stops, seed):
    """Stop one run so many times; returns how many of them came after the run had ended."""
    form, ending, options = kind
    rows = world("regression", ROWS, seed=11)
    source = write(folder / f"table.{form}", rows)
    path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
    rng, order = np.random.default_rng(seed), itertools.cycle(SIGNALS)

    def lives(where, plan):
        where.mkdir(exist_ok=True)
        told = [str(where / one) if one == "report.html" else one for one in options]
        command = [
            "track",
            str(source),
            "--target",
            "y",
            "-o",
            str(where / f"out.{ending}"),
            "--state",
            str(where / "state"),
        ]
        program = [sys.executable, mortal.__file__, *command, "--save-every", "100", *told]
        with subprocess.Popen(
            program,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        ) as killer:
            for seconds, number in plan:
                print(seconds, int(number), file=killer.stdin, flush=True)
                code, lived = killer.stdout.readline().split()
                yield int(code), float(lived), number

    (first,) = lives(folder / "straight", [(0.0, 0)])
    assert first[0] == 0
    expected, longest = results(folder / "straight"), first[1]
    assert f"out.{ending}" in expected
    here, count, ends = folder / "stopped", 0, 0
    for code, _, number in lives(
        here, ((rng.uniform(0.002, longest), next(order)) for _ in itertools.count())
    ):
        if code == 0:
            assert results(here) == expected
            shutil.rmtree(here)
            here.mkdir()
            ends += 1
        else:
            assert code in (
                ENDINGS[number],
                -number,
            )  # before the command listens, any signal ends it
            count += 1
        if count == stops:
            break
    (last,) = lives(here, [(0.0, 0)])
    assert last[0] == 0
    assert results(here) == expected
    return ends


@pytest.mark.deep
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join([*kind[:2], *kind[2][:1]]))
def test_commands_stopped_five_hundred_times(tmp_path, kind):
    assert stopped(tmp_path, kind, DEEP, seed=2) > 0  # or no signal came near the end
