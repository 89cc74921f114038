"""Where a row's time goes, by kernel and by estimator: `python -m benchmarks.profile` writes
docs/profile.md.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import machine, tracking
from benchmarks.missed import command as missed_command
from benchmarks.missed import engine, threads
from benchmarks.report import Table, number
from benchmarks.timing import pinned
from benchmarks.workloads import Workload, dense

ROUNDS = 20_000
"""Of whole arrays, at d = 10."""
TURNS, FEW = 7, 3
"""Of which the fastest counts; fewer of the command, each of which takes a second."""
PAGE = """# Where a row's time goes

Written by `python -m benchmarks.profile`; run it to have the figures of your machine. Microseconds
of processor time a row, one core, best of {turns} turns ({few} of the command); what stands under a
line is a part of it. Columns are numbers, and experts are of the first order where nothing else is
said. The command reads, learns, judges (intervals, baselines, the course of the run) and writes in
threads of their own: on several cores its rows a second are those of its slowest part, not of the
sum.

What lies between the time of the kernels and that of the command is mostly the course of a run. It
is kept in stretches, which are short at first and grow with the run. Where one ends that is not
merged with its neighbour soon, the learner stops (925 times in 200,000 rows) for a look at experts
and coefficients, which costs some time in Python, however many rows the stretch has; errors of all
contestants and the worst row are noted for many at a time. So rows of a short table cost more than
those of a long one, and there a second core is of little use, as Python runs one thread at a time.
The start of a process is fixed: imports of numba, numpy and pyarrow, and machine code from the
disk. It imports neither pandas nor scipy.linalg, which pyarrow and numba would, unless a table has
dates with nanoseconds or something has to be compiled.

The last chapter is about the goals of speed that were farthest off: for each a measurement says why
it is reached or missed.

{machine}
"""
MISSED = """## Goals that were far off, and why they are reached or missed

Each goal with the figure of this run. The goals themselves are judged by `make bench`
(benchmarks/results.md), on a quiet machine; these are here to explain them. Those of one core are
processor time, best of several turns; those of processes and of two threads are by the wall, and a
neighbour is felt in them.
"""


def best(call: Callable[[], Any], rows: int, turns: int = TURNS) -> float:
    """Microseconds a row of the fastest of some turns."""
    call()
    found = []
    for _ in range(turns):
        began = time.process_time()
        call()
        found.append(time.process_time() - began)
    return min(found) / rows * 1e6


def blocks(world: Workload) -> list[tuple[str, float]]:
    """Whole arrays: each kernel that `track` and the estimators call, and what is around them."""
    import swordplay as sp
    from swordplay.estimators.column_scaler import ColumnStats
    from swordplay.estimators.linear_model import LinearModel
    from swordplay.intervals import SwordIntervals
    from swordplay.tracking.rungs import COUNT, Places, Rungs

    rows, targets, count = np.ascontiguousarray(world.features), world.targets, world.rounds
    model, rungs, intervals = LinearModel(world.dim), Rungs(world.dim), SwordIntervals()
    told = model.learn(rows, targets)
    losses, stream = Places(np.zeros((1, COUNT))), world.stream()
    found = [
        (
            "the engine alone, `sp.play` of a SwordBest",
            best(lambda: sp.play(world.learner(), stream, engine="compiled", keep=()), count),
        ),
        (
            "a model of the estimators (`learn_rows`: scaling, planning, 28 experts)",
            best(lambda: model.learn(rows, targets), count),
        ),
        (
            "&emsp;of that, scaling (`scale_and_update`)",
            best(lambda: ColumnStats(world.dim).scale_and_update(rows), count),
        ),
        (
            "16 single step sizes, to compare with (`learn_numbers`)",
            best(lambda: [rungs.play_values(one, losses) for one in told], count),
        ),
        (
            "intervals (`play`)",
            best(lambda: intervals.interval_then_learn(targets, targets, rows), count),
        ),
    ]
    try:
        from swordplay.sklearn import SwordRegressor
    except ImportError:
        return found
    plain, usual = SwordRegressor(curves=None), SwordRegressor()
    return [
        *found,
        (
            "`SwordRegressor.partial_fit`, checks and all",
            best(lambda: plain.partial_fit(rows, targets), count),
        ),
        (
            "the same as it comes (second order and curves)",
            best(lambda: usual.partial_fit(rows, targets), count),
        ),
    ]


def single(world: Workload) -> list[tuple[str, float]]:
    """One row at a time: river's coat from the outside to the machine code."""
    from swordplay.river import SwordRegressor

    model: Any = SwordRegressor(curves=None)
    names, count = world.dictionaries, world.rounds
    targets = world.targets.tolist()

    def outside() -> None:
        for row, target in zip(names, targets, strict=True):
            model.predict_one(row)
            model.learn_one(row, target)

    whole, asked = (
        best(outside, count),
        best(lambda: [model.predict_one(row) for row in names], count),
    )
    workspace, times = model._model.workspace, range(count)
    return [
        ("river: `predict_one`, then `learn_one`", whole),
        ("&emsp;of that, `predict_one`", asked),
        (
            "&emsp;&emsp;the machine code, called from Python",
            best(lambda: [workspace.predict() for _ in times], count),
        ),
        ("&emsp;of that, `learn_one`", whole - asked),
        (
            "&emsp;&emsp;the machine code, called from Python",
            best(lambda: [workspace.learn(0.5) for _ in times], count),
        ),
        (
            "&emsp;of each, names and values checked and written",
            best(lambda: [model._columns.fill(x, workspace) for x in names], count),
        ),
    ]


def command(world: Workload) -> list[tuple[str, float]]:
    """What `swordplay track` does with a CSV file, part by part, in this process."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    from swordplay.tables import open_table
    from swordplay.tracking.settings import Settings
    from swordplay.tracking.tracker import Tracker

    names, count = [*(f"x{j}" for j in range(world.dim)), "y"], world.rounds
    numbers = [*world.features.T.round(6).copy(), world.targets.round(6)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        csv.write_csv(pa.table(numbers, names), path)

        def read() -> list[Any]:
            with open_table(path) as opened:
                return list(opened.batches())

        batches = read()

        def tracked(**more: Any) -> list[Any]:
            tracker = Tracker.begin(Settings("y", **more), batches[0].rows)
            return [tracker.track(one.rows, one.numbers).predictions for one in batches]

        said = pa.Table.from_batches(tracked(lags="auto", curves="auto", level=0.9))
        return [
            ("reading CSV", best(read, count, FEW)),
            (
                "tracking, as it comes: second order, curves, intervals, baselines, the course of "
                "the run",
                best(lambda: tracked(lags="auto", curves="auto", level=0.9), count, FEW),
            ),
            (
                "tracking, `--no-interval`",
                best(lambda: tracked(lags="auto", curves="auto"), count, FEW),
            ),
            ("tracking, `--curves none`", best(lambda: tracked(level=0.9), count, FEW)),
            ("tracking, `--curves none --no-interval`", best(tracked, count, FEW)),
            (
                "writing Parquet",
                best(lambda: parquet.write_table(said, Path(folder) / "said.parquet"), count, FEW),
            ),
        ]


RUNS = (2_000, 40_000, 200_000, 2_000_000)
"""Rows of the tables that processes of their own track."""
SIMPLE = ("--curves", "none", "--no-interval")


def runs(counts: Sequence[int]) -> Table:
    """`swordplay track` from CSV to Parquet in a process of its own, on all cores: what is
    fixed, and what grows with rows.
    """
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for count in counts:
            path = Path(folder) / f"table-{count}.csv"
            tracking.make(path, count)
            for what, options in (("as it comes", ()), (f"`{' '.join(SIMPLE)}`", SIMPLE)):
                found = min(
                    tracking.run(path, Path(folder), options)
                    for _ in range(FEW if count < RUNS[-1] else 2)
                )
                speed, own = f"{count / found[0]:,.0f}", number(found[1] / count * 1e6)
                rows.append([f"{count:,}, {what}", *(f"{one:.2f}" for one in found), speed, own])
            path.unlink()
    names = [
        "rows x 10 columns",
        "seconds",
        "own account",
        "of processors",
        "rows a second",
        "us a row, own account",
    ]
    return Table("`swordplay track` as a process", names, rows)


def table(
    title: str,
    dims: tuple[int, ...],
    measure: Callable[[Workload], list[tuple[str, float]]],
    rounds: int,
) -> Table:
    """A column for each width."""
    found = [measure(dense(max(200, rounds * 10 // max(dim, 10)), dim)) for dim in dims]
    rows = [[what, *(number(one[k][1]) for one in found)] for k, (what, _) in enumerate(found[0])]
    return Table(title, ["microseconds a row", *(f"d = {dim}" for dim in dims)], rows)


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--rounds", type=int, default=ROUNDS, help="fewer: a smoke test, without the long runs"
    )
    parser.add_argument(
        "--output", type=Path, default=Path(__file__).parents[1] / "docs" / "profile.md"
    )
    arguments = parser.parse_args()
    os.environ["SWORDPLAY_BUNDLED_KERNELS"] = (
        "0"  # code for this very processor, here and in what is started
    )
    with pinned():
        tables = [
            table("Whole arrays", (3, 10, 100), blocks, arguments.rounds),
            table("One row at a time", (3, 10, 100), single, arguments.rounds // 10),
            table(
                f"`swordplay track`, a CSV file of {5 * arguments.rounds:,} rows (wide: fewer)",
                (3, 9, 50),
                command,
                5 * arguments.rounds,
            ),
        ]
        missed = engine.sections(100_000 if arguments.rounds >= ROUNDS else 5 * arguments.rounds)
    tables.append(runs(RUNS if arguments.rounds >= ROUNDS else RUNS[:2]))
    if arguments.rounds >= ROUNDS:
        missed = [*missed_command.sections(), threads.section(1_000), *missed]
    about = "; ".join(f"{name}: {value}" for name, value in machine.description().items())
    chapters = [
        PAGE.format(turns=TURNS, few=FEW, machine=about),
        *(one.markdown() for one in tables),
    ]
    text = "\n".join([*chapters, MISSED, *(one.markdown() for one in missed)])
    arguments.output.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
