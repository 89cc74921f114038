"""Where a row's time goes, by kernel and by coat: `python -m benchmarks.profile` writes docs/profile.md."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import machine
from benchmarks.report import Table, number
from benchmarks.timing import pinned
from benchmarks.workloads import Workload, dense

TURNS = 7
"""Of which the fastest counts."""
PAGE = """# Where a row's time goes

Written by `python -m benchmarks.profile`; run it to have the figures of your machine. Microseconds of processor time a row, one
core, best of {turns} turns; what stands under a line is a part of it. Columns are numbers, experts are of the first order.

{machine}
"""


def best(call: Callable[[], Any], rows: int) -> float:
    """Microseconds a row of the fastest of some turns."""
    call()
    found = []
    for _ in range(TURNS):
        began = time.process_time()
        call()
        found.append(time.process_time() - began)
    return min(found) / rows * 1e6


def blocks(world: Workload) -> list[tuple[str, float]]:
    """Whole arrays: each kernel that `track` and the estimators call, and what is around them."""
    import swordplay as sp
    from swordplay.application.tracking.rungs import COUNT, Rungs
    from swordplay.estimators.heads import Heads
    from swordplay.estimators.scaler import Scaler
    from swordplay.estimators.scratch import Scratch
    from swordplay.intervals import SwordIntervals

    rows, targets, count = np.ascontiguousarray(world.features), world.targets, world.rounds
    told: list[Scratch] = []
    heads, rungs, intervals = Heads(world.dim), Rungs(world.dim), SwordIntervals()
    heads.add()
    heads.learn(rows, targets, beside=lambda scratch, _: told.append(scratch))
    losses, stream = np.zeros(COUNT), world.stream()
    found = [
        (
            "the engine alone, `sp.play` of a SwordBest",
            best(lambda: sp.play(world.learner(), stream, engine="compiled", keep=()), count),
        ),
        (
            "a model of the estimators (`learn_rows`: scaling, planning, 28 experts)",
            best(lambda: heads.learn(rows, targets), count),
        ),
        ("&emsp;of that, scaling (`scale_and_follow`)", best(lambda: Scaler(world.dim).scale_and_follow(rows), count)),
        (
            "16 single step sizes, to compare with (`climb_values`)",
            best(lambda: [rungs.play_values(one, losses) for one in told], count),
        ),
        ("intervals (`play`)", best(lambda: intervals.interval_then_learn(targets, targets, rows), count)),
    ]
    try:
        from swordplay.sklearn import SwordRegressor
    except ImportError:
        return found
    model = SwordRegressor(curves=None)
    return [*found, ("`SwordRegressor.partial_fit`, checks and all", best(lambda: model.partial_fit(rows, targets), count))]


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

    whole, asked = best(outside, count), best(lambda: [model.predict_one(row) for row in names], count)
    heads, bench = model._model.heads, model._model.heads._bench
    values = list(world.features)
    times = range(count)
    return [
        ("river's coat: `predict_one`, then `learn_one`", whole),
        ("&emsp;of that, `predict_one`", asked),
        ("&emsp;&emsp;the model's `predict_row`", best(lambda: [heads.predict_row(row) for row in values], count)),
        ("&emsp;&emsp;&emsp;the machine code, called from Python", best(lambda: [bench.ask() for _ in times], count)),
        ("&emsp;of that, `learn_one`", whole - asked),
        ("&emsp;&emsp;the model's `learn_row`", best(lambda: [heads.learn_row(row, 0.5) for row in values], count)),
        ("&emsp;&emsp;&emsp;the machine code, called from Python", best(lambda: [bench.learn() for _ in times], count)),
        (
            "&emsp;names and values checked and put in order",
            best(lambda: [model._rows.row(x, model._rows.check(x)) for x in names], count),
        ),
    ]


def table(title: str, dims: tuple[int, ...], measure: Callable[[Workload], list[tuple[str, float]]], rounds: int) -> Table:
    """A column for each width."""
    found = [measure(dense(max(200, rounds * 10 // max(dim, 10)), dim)) for dim in dims]
    rows = [[what, *(number(one[k][1]) for one in found)] for k, (what, _) in enumerate(found[0])]
    return Table(title, ["microseconds a row", *(f"d = {dim}" for dim in dims)], rows)


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20_000)
    parser.add_argument("--output", type=Path, default=Path(__file__).parents[1] / "docs" / "profile.md")
    arguments = parser.parse_args()
    with pinned():
        tables = [
            table("Whole arrays", (3, 10, 100), blocks, arguments.rounds),
            table("One row at a time", (3, 10, 100), single, arguments.rounds // 10),
        ]
    about = "; ".join(f"{name}: {value}" for name, value in machine.description().items())
    text = "\n".join([PAGE.format(turns=TURNS, machine=about), *(one.markdown() for one in tables)])
    arguments.output.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
