"""Changed states with valid checksums, loaded and used, in a process of their own: whatever kills
it is told with its change.

python -m checkpoint.campaign FIRST COUNT NOTE [KIND...]    from the folder ``tests``
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

import swordplay as sp
from checkpoint.kinds import (
    Kind,
    Refused,
    intervals_kind,
    learner_kind,
    river_kind,
    sklearn_kind,
    table_kind,
)
from checkpoint.kinds_of_runs import (
    bulk_kind,
    job_kind,
    keyed_kind,
    spark_kind,
    taught_kind,
    tracker_kind,
)
from checkpoint.kinds_of_services import folder_kind, late_kind, server_kind

CLASSES = ["low", "middle", "high"]


def regressor(**settings: object) -> object:
    from swordplay.sklearn import SwordRegressor

    return SwordRegressor(**settings)


KINDS: dict[str, Callable[[], Kind]] = {
    "sklearn regressor": lambda: sklearn_kind("SwordRegressor"),
    "sklearn regressor, lags": lambda: sklearn_kind(
        "SwordRegressor", lags=2, curves=None, loss="huber"
    ),
    "sklearn regressor, online": lambda: sklearn_kind(
        "SwordRegressor", lags=0, curves=None, online=True
    ),
    "sklearn regressor, encode": lambda: sklearn_kind("SwordRegressor", encode=True),
    "sklearn regressor, intervals": lambda: sklearn_kind("SwordRegressor", level=[0.5, 0.9]),
    "sklearn regressor, curves": lambda: sklearn_kind(
        "SwordRegressor", curves="auto", lags="auto", online=True
    ),
    "sklearn classifier, encode": lambda: sklearn_kind(
        "SwordClassifier", ["low", "high"], encode=True
    ),
    "sklearn classifier, encode, online": lambda: sklearn_kind(
        "SwordClassifier", [1, 5, 7], encode=True, online=True
    ),
    "sklearn classifier": lambda: sklearn_kind("SwordClassifier", ["low", "high"]),
    "sklearn classifier, three": lambda: sklearn_kind(
        "SwordClassifier", [1, 5, 7], lags=1, curves=None
    ),
    "sklearn classifier, sets": lambda: sklearn_kind("SwordClassifier", [1, 5, 7], level=0.9),
    "sklearn classifier, curves": lambda: sklearn_kind(
        "SwordClassifier", [1, 5], curves="auto", online=True
    ),
    "sklearn aggregator": lambda: sklearn_kind("SwordAggregator"),
    "sklearn aggregator, intervals": lambda: sklearn_kind("SwordAggregator", level=0.8),
    "river regressor": lambda: river_kind("SwordRegressor", lags=1, curves=None),
    "river regressor, curves": lambda: river_kind("SwordRegressor", curves="auto", intervals=True),
    "river classifier": lambda: river_kind("SwordClassifier", CLASSES),
    "river classifier, curves": lambda: river_kind("SwordClassifier", CLASSES[:2], curves="auto"),
    "intervals": lambda: intervals_kind(0.9, 0),
    "intervals, levels and columns": lambda: intervals_kind((0.5, 0.95, 0.8), 3),
    "late, numbers": lambda: late_kind(lambda: "regression"),
    "late, classes": lambda: late_kind(lambda: "classification", CLASSES),
    "late, lags": lambda: late_kind(lambda: regressor(lags=2, curves=None), by_name=False),
    "late, curves": lambda: late_kind(lambda: regressor(curves="auto"), by_name=False),
    "server": server_kind,
    "folder of keys, values": lambda: folder_kind("regression", lags=1),
    "folder of keys, classes": lambda: folder_kind("classification"),
    "Sword": lambda: learner_kind(lambda: sp.Sword(sp.Ball(3, radius=2.0))),
    "SwordBest": lambda: learner_kind(
        lambda: sp.SwordBest(
            sp.Box(-np.ones(3), np.ones(3)), horizon=100, gradient_bound=10.0, smoothness=9.0
        )
    ),
    "OGD": lambda: learner_kind(lambda: sp.OGD(sp.Simplex(3), step_size=0.1)),
    "every learner": table_kind,
    "tracker of values": lambda: tracker_kind("regression"),
    "tracker of classes": lambda: tracker_kind("multi-class"),
    "tracker of keys, values": lambda: keyed_kind("regression"),
    "tracker of keys, classes": lambda: keyed_kind("multi-class"),
    "tracker of keys in bulk": bulk_kind,
    "file of track": job_kind,
    "file of learn": taught_kind,
    "Spark, values": lambda: spark_kind("squared", 0),
    "Spark, values with intervals": lambda: spark_kind("squared", 0, level=0.9),
    "Spark, classes": lambda: spark_kind("logistic", 2),
}
MILLISECONDS = {
    "sklearn regressor": 7,
    "sklearn regressor, encode": 12,
    "sklearn regressor, intervals": 8,
    "sklearn classifier, encode": 12,
    "sklearn classifier, encode, online": 10,
    "sklearn classifier": 9,
    "sklearn classifier, three": 9,
    "sklearn classifier, sets": 9,
    "sklearn classifier, curves": 7,
    "river classifier": 7,
    "river classifier, curves": 7,
    "intervals": 2,
    "intervals, levels and columns": 3,
    "late, numbers": 9,
    "late, classes": 10,
    "late, lags": 9,
    "late, curves": 12,
    "server": 35,
    "folder of keys, values": 6,
    "folder of keys, classes": 8,
    "Sword": 8,
    "OGD": 3,
    "tracker of values": 14,
    "tracker of classes": 15,
    "tracker of keys, values": 17,
    "tracker of keys, classes": 22,
    "tracker of keys in bulk": 7,
    "first rows of a pipe": 2,
    "file of track": 14,
    "file of learn": 11,
    "Spark, values": 3,
    "Spark, values with intervals": 2,
}
"""What one change takes, about; MOSTLY where none is given. Slow kinds get fewer changes."""
MOSTLY = 5


def shares(count: int, names: list[str]) -> dict[str, int]:
    """How many of ``count`` changes each kind gets."""
    weights = {name: 1.0 / MILLISECONDS.get(name, MOSTLY) for name in names}
    return {name: round(count * weight / sum(weights.values())) for name, weight in weights.items()}


def seeded(name: str, turn: int) -> np.random.Generator:
    return np.random.default_rng([zlib.crc32(name.encode()), turn])


def run(first: int, count: int, names: list[str], note: Path) -> dict[str, int]:
    """Use ``count`` changed states, some of each kind.

    ``note`` always says which one is being used.
    """
    import warnings

    warnings.simplefilter("error")
    outcome = {"refused": 0, "used": 0}
    folder = tempfile.mkdtemp()
    for name, turns in shares(count, names).items():
        kind = KINDS[name]()
        kind.use(kind.state, f"{folder}/x")
        with note.open("r+b", buffering=0) as pen:
            for turn in range(first, first + turns):
                pen.seek(0)
                pen.write(f"{name}|{turn}\n".encode().ljust(80))
                state, told = kind.change(kind.state, seeded(name, turn))
                try:
                    kind.use(state, f"{folder}/x")
                    outcome["used"] += 1
                except Refused:
                    outcome["refused"] += 1
                except Exception as error:
                    error.add_note(f"{name}, change {turn}: {told}")
                    raise
    return outcome


def isolated(first: int, count: int, names: list[str] | None = None) -> dict[str, int]:
    """The same in a process of its own.

    Raises
    ------
    AssertionError
        With the change that killed it or that it did not survive.
    """
    in_memory = "/dev/shm"  # where there is one: thousands of files are written, and each is synced
    with tempfile.TemporaryDirectory(
        dir=in_memory if os.access(in_memory, os.W_OK) else None
    ) as folder:
        note = Path(folder) / "note"
        note.write_bytes(b" " * 80)
        command = [
            sys.executable,
            "-X",
            "faulthandler",
            "-m",
            "checkpoint.campaign",
            str(first),
            str(count),
            str(note),
            *(names or KINDS),
        ]
        path = os.pathsep.join(
            [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
        )
        environment = {**os.environ, "PYTHONPATH": path, "TMPDIR": folder}
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=3600
        )
        if done.returncode:
            name, _, turn = note.read_text().strip().partition("|")
            told = (
                ""
                if not turn
                else KINDS[name]().change(KINDS[name]().state, seeded(name, int(turn)))[1]
            )
            raise AssertionError(
                f"exit code {done.returncode} at {name}, change {turn}: {told}\n"
                f"{done.stderr[-3000:]}"
            )
        return {
            what: int(number) for what, number in (pair.split("=") for pair in done.stdout.split())
        }


if __name__ == "__main__":
    found = run(int(sys.argv[1]), int(sys.argv[2]), sys.argv[4:], Path(sys.argv[3]))
    print(*(f"{what}={number}" for what, number in found.items()))
