"""Why the engine is not as fast as hand-written C, and Sword not as fast as SwordBest: a round,
part by part.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import swordplay as sp
from benchmarks import floor
from benchmarks.missed.section import Section
from benchmarks.missed.stages import Stage
from benchmarks.report import number
from benchmarks.timing import processor_seconds, timed
from benchmarks.workloads import POOL, Workload, dense

DIM, TURNS = 10, 7
PARTS = (
    "one pass over all points, what each expert says, their mean",
    "gradients, certificate and both steps of every expert",
    "trust in guesses, rate and weights",
)
"""Of a round, in their order; a kernel that ends early has the first ones."""

AROUND = "around the rounds: `sp.play`, its arrays and the ledger"
BESIDE_C = """\
The fastest C of this run ({how}) and the engine play the same rounds, each compiled to end early:
what a part costs is what it adds. The rounds alone take {alone:.2f} of C's time, and {share:.0%} of
that difference lies in: {part}. C is written for one case: a squared loss, one kind of rate, a ball
around the origin, all known when it is compiled; the engine's one kernel reads loss, threshold,
weights of rows, rate, late answers and a pool that grows from arrays and decides in every round,
and notes the longest row and the longest gradient, to know whether what the learner was told
has held. Around the rounds, `sp.play` makes an engine and a ledger. C does neither."""
BESIDE_BEST = """\
Sword is told nothing, so it ends with {many} experts where SwordBest is told to have {few}: that
alone is {larger:.2f}. With as many experts it is {sword:.2f}, and {share:.0%} of that difference
lies in: {part}. Steps are made of the gradients that Sword meets: a root and a quotient for every
expert in every round, and an account of each change for the certificate, none of which a fixed step
has. They are long, too, and in every second round or so some experts leave the ball, which costs
another root and two quotients. The pool grows by {forks} forks in all."""


def sections(rounds: int) -> list[Section]:
    """Both goals."""
    world = dense(rounds, DIM)
    as_many = len(_played(world).weights) // 2
    best, larger, sword = (
        partial(world.learner, POOL),
        partial(world.learner, as_many),
        partial(_sword, world),
    )
    stages = {
        **{
            f"best {name}": Stage(name, best, world)
            for name in ("pass", "steps", "whole", "unchecked", "one form")
        },
        **{f"larger {name}": Stage(name, larger, world) for name in ("pass", "steps", "whole")},
        **{
            f"sword {name}": Stage(name, sword, world)
            for name in ("pass", "steps", "whole", "fixed steps")
        },
    }
    builds = floor.BUILDS if floor.compiler() else {}
    in_c = {(how, stage): math.inf for how in builds for stage in (1, 2, 3)}
    for _ in range(TURNS):
        for stage in stages.values():
            stage.turn()
        for how, last in in_c:
            flags = (*builds[how], *((f"-DSTAGES={last}",) if last < 3 else ()))
            in_c[how, last] = min(
                in_c[how, last], _seconds(partial(floor.play, world, flags), world)
            )
    times = {name: stage.best for name, stage in stages.items()}
    times |= {
        f"around {name.split()[0]}": stage.around
        for name, stage in stages.items()
        if name.endswith(" whole")
    }
    found = [_sword_section(times, as_many)]
    return [_floor_section(times, in_c), *found] if in_c else found


def _sword(world: Workload) -> sp.Sword:
    return sp.Sword(sp.Ball(world.dim, world.radius))


def _played(world: Workload) -> sp.Sword:
    learner = _sword(world)
    sp.play(learner, world.stream(), engine="compiled", keep=())
    return learner


def _seconds(call: Callable[[], object], world: Workload) -> float:
    return timed(call, processor_seconds)[0] / world.rounds * 1e6


def _parts(times: list[float]) -> list[float]:
    """What each stage adds to the one before."""
    return [after - before for before, after in zip([0.0, *times], times, strict=False)]


def _floor_section(times: dict[str, float], in_c: dict[tuple[str, int], float]) -> Section:
    how = min((name for name, last in in_c if last == 3), key=lambda name: in_c[name, 3])
    ours, theirs = (
        [times[f"best {name}"] for name in ("pass", "steps", "whole")],
        [in_c[how, last] for last in (1, 2, 3)],
    )
    both, whole = (
        list(zip(_parts(ours), _parts(theirs), strict=True)),
        ours[2] + times["around best"],
    )
    more = [mine - other for mine, other in both]
    most = max(range(len(more)), key=more.__getitem__)
    rows = [
        *(
            [what, number(mine), number(other), number(mine - other)]
            for what, (mine, other) in zip(PARTS, both, strict=True)
        ),
        [AROUND, number(times["around best"]), "", number(times["around best"])],
        ["all of it", number(whole), number(theirs[2]), number(whole - theirs[2])],
        [
            "the rounds without the look whether a row would overflow",
            number(times["best unchecked"]),
            "",
            "",
        ],
        [
            "the rounds without the second form of a squared distance, for rounding",
            number(times["best one form"]),
            "",
            "",
        ],
    ]
    alone = ours[2] - theirs[2]
    why = BESIDE_C.format(
        how=how, alone=ours[2] / theirs[2], share=more[most] / alone, part=PARTS[most]
    )
    header = ["microseconds a round, d = 10, 14 experts", "engine", "C", "difference"]
    return Section(
        "One SwordBest beside hand-vectorised C", whole / theirs[2], 1.25, "", why, header, rows
    )


def _sword_section(times: dict[str, float], as_many: int) -> Section:
    columns = [
        [times[f"{one} {name}"] for name in ("pass", "steps", "whole")]
        for one in ("best", "larger", "sword")
    ]
    around = [times[f"around {one}"] for one in ("best", "larger", "sword")]
    wholes = [one[2] + more for one, more in zip(columns, around, strict=True)]
    rows = [
        *(
            [what, *map(number, cells)]
            for what, cells in zip(PARTS, zip(*map(_parts, columns), strict=True), strict=True)
        ),
        [AROUND, *map(number, around)],
        ["all of it", *map(number, wholes)],
        [
            "of the second line, steps that adapt",
            "",
            "",
            number(times["sword steps"] - times["sword fixed steps"]),
        ],
    ]
    best, larger, sword = wholes
    more = [
        mine - other for mine, other in zip(_parts(columns[2]), _parts(columns[1]), strict=True)
    ]
    most = max(range(len(more)), key=more.__getitem__)
    why = BESIDE_BEST.format(
        **{"many": 2 * as_many, "few": 2 * POOL, "larger": larger / best, "sword": sword / larger},
        **{"share": more[most] / (sword - larger), "part": PARTS[most], "forks": as_many - 2},
    )
    header = [
        "microseconds a round, d = 10",
        f"SwordBest, {2 * POOL}",
        f"SwordBest, {2 * as_many}",
        f"Sword, {2 * as_many}",
    ]
    return Section("`sp.Sword` beside SwordBest", sword / best, 1.3, "", why, header, rows)
