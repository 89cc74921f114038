"""What the engine is meant to reach, judged from the same run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.growth import Growth
from benchmarks.many import Throughput
from benchmarks.ours import ENGINE, FLOORS, EngineFromArrays, NoSettings, Online, Readable
from benchmarks.peers.river_ml import RiverLinear
from benchmarks.peers.scikit_learn import ScikitBatches
from benchmarks.peers.vowpal_wabbit import NATIVE, NATIVE_DEFAULTS, VowpalText
from benchmarks.report import Table, number
from benchmarks.timing import Timing

PLAIN_C = "C floor, plain loops"
"""The floor that a goal is set against: plain C, `cc -O3 -march=native`, results as written."""
BY_HAND, NOTHING_TO_SET, SPEED_UP = 1.25, 1.3, 1.8
"""Of vectors by hand, of SwordBest, and of one thread: missed so far, and docs/profile.md says
why.
"""
LINEAR_EXPONENT = 1.1
"""A fitted exponent up to this is called linear: timings of a few turns wobble by some
hundredths.
"""


@dataclass(frozen=True)
class Goal:
    """A ratio and the most it may be."""

    what: str
    ratio: float
    most: float

    def row(self) -> list[str]:
        """As a row of a table."""
        if self.most == math.inf:
            return [self.what, number(self.ratio), "", "no goal"]
        verdict = (
            "not measured" if math.isnan(self.ratio) else "yes" if self.ratio <= self.most else "NO"
        )
        return [self.what, number(self.ratio), f"{self.most:.3g}", verdict]


def judged(
    dense: Mapping[int, Sequence[Timing]],
    one_by_one: Sequence[Timing],
    grown: Sequence[Growth],
    many: Sequence[Throughput],
) -> Table:
    """Every goal of the engine beside the figure of this run."""
    goals = []
    if 10 in dense:
        at = {timing.name: timing.microseconds for timing in dense[10]}
        ours = at[ENGINE]
        # scikit-learn checks its arrays in every call, so it is met by the row that checks them
        # too.
        goals += [
            Goal(
                f"d = 10: engine with checks / {ScikitBatches.name}",
                at[EngineFromArrays.name] / at[ScikitBatches.name],
                1 / 2,
            ),
            *(
                Goal(f"d = 10: engine / {vw.name}", ours / at[vw.name], 1 / 4)
                for vw in (VowpalText(), NATIVE_DEFAULTS, NATIVE)
            ),
            Goal(f"d = 10: engine / {Readable.name}", ours / at[Readable.name], 1 / 250),
        ]
    for dim in (10, 100, 1000):
        if dim in dense:
            at = {timing.name: timing.microseconds for timing in dense[dim]}
            goals.append(Goal(f"d = {dim}: engine / {PLAIN_C}", at[ENGINE] / at[PLAIN_C], 1.5))
            # How much lower a C programmer gets who may reorder sums or writes vectors by hand; a
            # goal was set at d = 10 alone.
            others, alone = [at[floor.name] for floor in FLOORS if floor.name != PLAIN_C], dim == 10
            most = BY_HAND if alone else math.inf
            goals.append(
                Goal(
                    f"d = {dim}: engine / the fastest other C build", at[ENGINE] / min(others), most
                )
            )
            most = NOTHING_TO_SET if alone else math.inf
            goals.append(
                Goal(
                    f"d = {dim}: {NoSettings.name} / {ENGINE}",
                    at[NoSettings.name] / at[ENGINE],
                    most,
                )
            )
    single = {timing.name: timing.microseconds for timing in one_by_one}
    goals.append(
        Goal(
            f"d = 10: one by one / {RiverLinear.name}",
            single[Online.name] / single[RiverLinear.name],
            1.0,
        )
    )
    goals += [
        Goal(f"exponent in {growth.axis}", growth.exponent, LINEAR_EXPONENT) for growth in grown
    ]
    if len(many) == 2:
        goals.append(
            Goal(
                "many streams: time on two threads / on one",
                many[1].microseconds / many[0].microseconds,
                1 / SPEED_UP,
            )
        )
    return Table(
        "Goals", ["ratio", "this run", "at most", "reached"], [goal.row() for goal in goals]
    )
