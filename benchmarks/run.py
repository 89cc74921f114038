"""The whole benchmark, from the check of the floor to the goals."""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from benchmarks import coats, floor, machine, peers, workloads
from benchmarks.goals import judged
from benchmarks.growth import endless, exponents
from benchmarks.many import measure_many
from benchmarks.ours import ENGINE, FLOORS, Engine, EngineFromArrays, NoSettings, Online, Readable
from benchmarks.report import Report, Table, comparison, number
from benchmarks.timing import measure, pinned

PREFACE = """# Benchmark results

Written by `python -m benchmarks`. Only ratios within one table mean much: machines differ, and
shared ones wobble.

How it is measured. All contenders run in one process pinned to one core, with one thread each,
taking turns; the best turn counts. The clock is the processor time of that process (and of a
command it starts), which stands still while a neighbour has the core; only many streams on several
threads are timed by the wall. Everything is warm: compiled, imported, run once. Each contender
first predicts a row (or batch), then learns it; times are per sample, both together. Slow
contenders play fewer rounds of the same stream. The mean loss is half the mean squared prediction
error over the rounds played, so it is comparable between rows with the same number of rounds; it is
there to show that everybody learns, not who learns best.

What is prepared outside the timing: the arrays (all), dictionaries (river one by one), pandas
frames (river batches), text lines or parsed examples (Vowpal Wabbit from Python), a binary cache
file (Vowpal Wabbit native), the `LinearStream` (swordplay; the row "arrays checked" makes it inside
the timing). What is inside: every check a library makes when it is called. Peers have their leanest
settings: one linear model, plain SGD with a constant rate of 1/(2L), no intercept, no penalty;
Vowpal Wabbit's native loop also runs with its defaults (adaptive, normalised, invariant updates).
The Sword rows carry 14 experts, both projections, optimism, the meta weights and the certificate.
Batches of 1000 rows are predicted whole before they are learned, which saves scikit-learn and river
time; river's `learn_many` moreover takes one averaged step a batch.

The C floor is the same SwordBest (`floor.c`), checked against the readable learner right before it
is timed. It is built four ways: loops left to the compiler or vectors written by hand, each with
and without `-ffast-math`. C and swordplay are compiled for this very processor, as `swordplay warm`
does it; what comes with the package is for many, and about as fast (docs/engine.md). Only the line
"as it comes" of the last chapter but one uses that.
"""


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Time swordplay beside its peers and a floor in C."
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="a smoke test: fewer rounds, fewer turns, nothing written by default",
    )
    parser.add_argument(
        "--output",
        type=Path,
        help="where to write the tables (default: benchmarks/results.md, or nowhere with --quick)",
    )
    arguments = parser.parse_args()
    quick: bool = arguments.quick
    rounds, turns = (1_000, 2) if quick else (100_000, 5)

    report, began, lost = Report(PREFACE), time.monotonic(), machine.stolen()
    report.add(
        Table(
            "Machine",
            ["what", "value"],
            [[name, value] for name, value in machine.description().items()],
        )
    )
    with pinned():
        report.add(checked_floor(500 if quick else 3_000))
        dense = {}
        for dim in (3, 10, 100, 1000):
            contenders = (
                Engine(),
                EngineFromArrays(),
                NoSettings(),
                Readable(),
                *FLOORS,
                *peers.DENSE,
            )
            dense[dim] = measure(contenders, workloads.dense(rounds, dim), turns)
            report.add(comparison(f"Whole arrays, d = {dim}", dense[dim], ENGINE))
        wide = workloads.sparse(rounds, 2**18, 30)
        contenders = (Engine(), EngineFromArrays(), *FLOORS, *peers.SPARSE)
        report.add(
            comparison(
                "Sparse, d = 2^18, 30 non-zeros a row", measure(contenders, wide, turns), ENGINE
            )
        )
        single = measure(
            (Online(), Readable(), *peers.ONE_BY_ONE), workloads.dense(rounds, 10), turns
        )
        report.add(comparison("One by one from Python, d = 10", single, Online.name))
        grown = exponents(turns, scale=10 if quick else 1)
        report.add(
            Table(
                "Growth of the engine's cost",
                ["along", "sizes", "seconds", "exponent"],
                [
                    [
                        growth.axis,
                        ", ".join(map(str, growth.sizes)),
                        ", ".join(map(number, growth.seconds)),
                        f"{growth.exponent:.2f}",
                    ]
                    for growth in grown
                ],
                "The exponent is the slope of log time over log size; 1 is linear.",
            )
        )
        run = endless(
            [100_000, 500_000, 1_000_000] if quick else [100_000, 1_000_000, 10_000_000, 20_000_000]
        )
        report.add(
            Table(
                "Memory of an endless run",
                ["rounds so far", "resident MB"],
                [
                    [f"{count:,}", f"{size:.1f}"]
                    for count, size in zip(run.rounds, run.megabytes, strict=True)
                ],
                "One SwordBest at d = 10, fed in chunks, keeping nothing.",
            )
        )
    many = measure_many(streams=50 if quick else 1_000, rounds=1_000, turns=turns)
    report.add(
        Table(
            f"Many streams at once: {50 if quick else 1_000} streams of 1,000 rounds, d = 10",
            ["threads", "us a sample", "speed-up"],
            [
                [
                    str(t.threads),
                    number(t.microseconds),
                    f"{many[0].microseconds / t.microseconds:.2f}",
                ]
                for t in many
            ],
        )
    )
    for table in touched(quick):
        report.add(table)
    goals = judged(dense, single, grown, many)
    if quick:
        goals.remark = "A quick run shows that everything runs; its figures judge nothing."
    else:
        share = (machine.stolen() - lost) / ((time.monotonic() - began) * (os.cpu_count() or 1))
        goals.remark = (
            f"While this ran, the host of the machine kept {100 * share:.1f} % of its "
            "processors' time for others."
        )
    report.add(goals)
    output = arguments.output or (None if quick else Path(__file__).with_name("results.md"))
    if output is not None:
        output.write_text(report.markdown())


def touched(quick: bool) -> list[Table]:
    """What people touch first: estimators, coats, the command, the first start."""
    turns = 1 if quick else 3
    with pinned():
        pairs = coats.estimators(2_000 if quick else 50_000, turns) + coats.river(
            200 if quick else coats.ONE_BY_ONE, turns
        )
        pairs += coats.second_order(2_000 if quick else 20_000, turns)
    tracked = coats.command(2_000, 20_000) if quick else coats.command(coats.SMALL, coats.LARGE)
    return coats.tables(coats.finite(pairs), tracked, coats.cold())


def checked_floor(rounds: int) -> Table:
    """The C floor against the readable learner.

    A floor that computes something else is no floor.
    """
    rows = []
    if floor.compiler() is None:
        rows.append(["no C compiler on the PATH", "", "not checked"])
    else:
        cases = [
            (f"d = {dim}, radius {radius}", workloads.dense(rounds, dim, radius))
            for dim in (3, 10, 100)
            for radius in (0.5, 2.0)
        ]
        cases.append(("d = 1000, 30 non-zeros", workloads.sparse(rounds, 1000, 30)))
        for name, workload in cases:
            worst = floor.disagreement(workload, floor.BUILDS.values())
            if not worst <= floor.AGREEMENT:
                raise SystemExit(
                    f"floor.c and the readable learner disagree by {worst:.1e} on {name}: nothing "
                    "was timed."
                )
            rows.append([name, f"{rounds:,}", f"{worst:.1e}"])
    return Table(
        "The C floor beside the readable learner",
        ["workload", "rounds", "largest relative difference"],
        rows,
    )
