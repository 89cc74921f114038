"""What people touch: the estimators, the river coat, the command and its first start, each
beside what it would replace.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import tracking
from benchmarks.report import Table, number
from benchmarks.timing import Contender, Missing, Run, measure
from benchmarks.workloads import Workload, dense

BATCH = 1000
"""Rows of a call of ``partial_fit``."""
ONE_BY_ONE = 20_000
"""Rows that are played one at a time, at d = 10; fewer where they are wider."""
SMALL, LARGE = 40_000, 2_000_000
"""Rows of the tables that the command tracks."""


class Pair(NamedTuple):
    """One of ours beside one of theirs."""

    what: str
    ours: float
    theirs: float
    most: float
    """The most that the ratio may be."""

    @property
    def ratio(self) -> float:
        """Ours in theirs."""
        return self.ours / self.theirs


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise Missing(f"{name.split('.')[0]} is not installed") from None


class _Batches(Contender):
    """``partial_fit`` of BATCH rows a call."""

    def __init__(
        self, name: str, make: Callable[[], Any], scaler: Callable[[], Any] | None = None
    ) -> None:
        self.name, self.learns, self._make, self._scaler = name, "", make, scaler

    @contextmanager
    def ready(self, workload: Workload) -> Iterator[Run]:
        model, scaler = self._make(), self._scaler() if self._scaler else None
        starts = range(0, workload.rounds, BATCH)
        batches = [
            (workload.features[k : k + BATCH], workload.targets[k : k + BATCH]) for k in starts
        ]

        def run() -> list[float]:
            for rows, targets in batches:
                model.partial_fit(
                    rows if scaler is None else scaler.partial_fit(rows).transform(rows), targets
                )
            return [0.0]

        yield run


class _Rows(Contender):
    """``predict_one`` and ``learn_one``."""

    def __init__(self, name: str, make: Callable[[], Any], labels: bool) -> None:
        self.name, self.learns, self._make, self._labels = name, "", make, labels

    @contextmanager
    def ready(self, workload: Workload) -> Iterator[Run]:
        model, rows = self._make(), workload.dictionaries
        targets: list[Any] = (
            [target > 0.0 for target in workload.targets.tolist()]
            if self._labels
            else workload.targets.tolist()
        )
        predict = model.predict_proba_one if self._labels else model.predict_one

        def run() -> list[float]:
            for row, target in zip(rows, targets, strict=True):
                predict(row)
                model.learn_one(row, target)
            return [0.0]

        yield run


def estimators(rounds: int, turns: int) -> list[Pair]:
    """``SwordRegressor`` with first-order experts beside ``StandardScaler`` and
    ``SGDRegressor``.
    """

    def ours() -> Any:
        return _module("swordplay.sklearn").SwordRegressor(curves=None)

    def theirs() -> Any:
        return _module("sklearn.linear_model").SGDRegressor(learning_rate="constant", eta0=0.01)

    found = []
    for dim, most in ((10, 0.5), (100, 0.8)):
        contenders = (
            _Batches("ours", ours),
            _Batches("theirs", theirs, lambda: _module("sklearn.preprocessing").StandardScaler()),
        )
        found.append(
            _pair(
                f"SwordRegressor.partial_fit, {BATCH} rows, d = {dim} / scaler + SGD",
                contenders,
                rounds,
                dim,
                turns,
                most,
            )
        )
    return found


def river(rounds: int, turns: int) -> list[Pair]:
    """The river coat, one row at a time, beside river's scaler and linear model."""

    def theirs(name: str) -> Callable[[], Any]:
        return lambda: (
            _module("river.preprocessing").StandardScaler()
            | getattr(_module("river.linear_model"), name)()
        )

    found = []
    for dim in (3, 10, 100):
        count = max(200, rounds * 10 // max(dim, 10))
        for labels, name, other in (
            (False, "SwordRegressor", "LinearRegression"),
            (True, "SwordClassifier", "LogisticRegression"),
        ):
            ours = _Rows(
                "ours",
                lambda name=name: getattr(_module("swordplay.river"), name)(curves=None),
                labels,
            )
            what = (
                f"river coat, {'classes' if labels else 'numbers'}, one row, d = {dim} / "
                f"scaler + {other}"
            )
            found.append(
                _pair(what, (ours, _Rows("theirs", theirs(other), labels)), count, dim, turns, 0.8)
            )
    return found


def second_order(rounds: int, turns: int) -> list[Pair]:
    """The estimators and the river coat as they come beside their first-order selves: what all
    the others cost.
    """

    def make(module: str, name: str, **settings: Any) -> Callable[[], Any]:
        return lambda: getattr(_module(module), name)(**settings)

    found = []
    for dim, most in ((10, 2.0), (100, 1.3)):
        pair = [
            _Batches("", make("swordplay.sklearn", "SwordRegressor", **more))
            for more in ({}, {"lags": 0, "curves": None})
        ]
        what = f"SwordRegressor.partial_fit, {BATCH} rows, d = {dim}, as it comes / first order"
        found.append(_pair(what, pair, rounds, dim, turns, most))
    for labels, name in ((False, "SwordRegressor"), (True, "SwordClassifier")):
        ours, plain = (
            _Rows("", make("swordplay.river", name, **more), labels)
            for more in ({}, {"curves": None})
        )
        what = (
            f"river coat, {'classes' if labels else 'numbers'}, one row, d = 10, as it comes / "
            "first order"
        )
        found.append(_pair(what, (ours, plain), rounds, 10, turns, 1.5))
    return found


def _pair(
    what: str, contenders: Sequence[Contender], rounds: int, dim: int, turns: int, most: float
) -> Pair:
    ours, theirs = (
        timing.microseconds for timing in measure(contenders, dense(rounds, dim), turns)
    )
    return Pair(what, ours, theirs, most)


def command(small: int, large: int) -> list[list[str]]:
    """Rows a second of `swordplay track` from CSV to Parquet, process and all, and microseconds
    a row by its own account.
    """
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for count, goal in (
            (small, "at most 5 us a row by its own account"),
            (large, "at least 500,000 rows/s"),
        ):
            path = Path(folder) / f"table-{count}.csv"
            tracking.make(path, count)
            answers = [tracking.run(path, Path(folder)) for _ in range(3)]
            seconds, own = min(one[0] for one in answers), min(one[1] for one in answers)
            rows.append(
                [f"{count:,} rows x 10", f"{count / seconds:,.0f}", number(own / count * 1e6), goal]
            )
            path.unlink()
    return rows


FIRST = """
import sys, time
began = time.perf_counter()
from swordplay.cli import warming
from swordplay.tracking import Job, Settings, run
warming.beside(["curves"])
warming.beside(["steps", "intervals"])
usual = Settings("y", lags="auto", curves="auto", level=0.9)
run(Job(sys.argv[1], usual), watch=lambda report: print(time.perf_counter() - began) or sys.exit(0))
"""


def cold(rows: int = 2_000) -> list[list[str]]:
    """Seconds to the first predictions: with no machine code, and with all of it on disk."""
    with tempfile.TemporaryDirectory() as folder:
        path, kernels = Path(folder) / "table.csv", str(Path(folder) / "kernels")
        tracking.make(path, rows)
        found = []
        for what, goal in (("nothing on disk", "at most 25 s"), ("all on disk", "")):
            began = time.perf_counter()
            subprocess.run(
                [sys.executable, "-c", FIRST, str(path)],
                env=tracking.with_bytecode(Path(folder))
                | {"NUMBA_CACHE_DIR": kernels, "SWORDPLAY_BUNDLED_KERNELS": "0"},
                check=True,
                stdout=subprocess.DEVNULL,
            )
            found.append(
                [
                    f"first predictions of `track`, {what}",
                    f"{time.perf_counter() - began:.1f}",
                    goal,
                ]
            )
            tracking.run(path, Path(folder), NUMBA_CACHE_DIR=kernels, SWORDPLAY_BUNDLED_KERNELS="0")
    with tempfile.TemporaryDirectory() as folder:
        more = min(_imported("swordplay.sklearn", "sklearn.base", folder) for _ in range(5))
    found.append(
        ["`import swordplay.sklearn`, beyond `import sklearn.base`", f"{more:.2f}", "at most 0.1 s"]
    )
    return found


def _imported(module: str, after: str, folder: str) -> float:
    """Processor time of an import after another one, with bytecode in a folder, as an installation
    has it.

    Both in one process: the difference of two processes of two seconds each says little about a
    tenth of one.
    """
    code = (
        f"import time, {after}; began = time.process_time(); import {module}; "
        "print(time.process_time() - began)"
    )
    env = tracking.with_bytecode(Path(folder))
    return float(
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env
        ).stdout
    )


def tables(
    pairs: Sequence[Pair], tracked: Sequence[Sequence[str]], started: Sequence[Sequence[str]]
) -> list[Table]:
    """All of it for the report."""
    rows = [
        [
            pair.what,
            number(pair.ours),
            number(pair.theirs),
            number(pair.ratio),
            f"{pair.most:g}",
            "yes" if pair.ratio <= pair.most else "NO",
        ]
        for pair in pairs
    ]
    return [
        Table(
            "Estimators and coats",
            ["ours / theirs", "us a row", "theirs", "ratio", "at most", "reached"],
            rows,
        ),
        Table(
            "The command: `track`, CSV to Parquet",
            ["table", "rows/s", "us a row, own account", "goal"],
            list(tracked),
        ),
        Table("From nothing to the first prediction", ["what", "seconds", "goal"], list(started)),
    ]


def finite(pairs: Sequence[Pair]) -> list[Pair]:
    """Those whose both sides could be measured."""
    return [pair for pair in pairs if np.isfinite(pair.ratio)]
