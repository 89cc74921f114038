"""How the engine's cost grows with rounds, features and experts, and whether an endless run's
memory does.
"""

from __future__ import annotations

import resource
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import swordplay as sp
from benchmarks import workloads
from benchmarks.ours import Engine
from benchmarks.timing import measure
from benchmarks.workloads import Workload


@dataclass(frozen=True)
class Growth:
    """Times along one axis, and the power law through them."""

    axis: str
    sizes: Sequence[int]
    seconds: Sequence[float]

    @property
    def exponent(self) -> float:
        """Slope of log time over log size: 1 is linear."""
        return float(np.polyfit(np.log(self.sizes), np.log(self.seconds), 1)[0])


def exponents(turns: int, scale: int) -> list[Growth]:
    """Growth in T, d and N. ``scale`` divides the sizes in T for a smoke test.

    The sizes in d and N start where the pass over W outweighs what a round costs however small it
    is; below, the cost grows more slowly than linearly.
    """

    def along(
        axis: str, sizes: Sequence[int], case: Callable[[int], tuple[Workload, int]]
    ) -> Growth:
        seconds = []
        for size in sizes:
            workload, pool_size = case(size)
            (timing,) = measure([Engine(pool_size=pool_size)], workload, turns)
            seconds.append(timing.microseconds * timing.rounds / 1e6)
        return Growth(axis, sizes, seconds)

    rounds = 20_000 // scale
    return [
        along(
            "rounds T (d = 10, N = 14)",
            [50_000 // scale * 2**k for k in range(5)],
            lambda T: (workloads.dense(T, 10), 7),
        ),
        along(
            "features d (N = 14)",
            [256, 512, 1024, 2048],
            lambda d: (workloads.dense(rounds // 2, d), 7),
        ),
        along(
            "experts N (d = 200)",
            [16, 32, 64, 128],
            lambda n: (workloads.dense(rounds, 200), n // 2),
        ),
    ]


@dataclass(frozen=True)
class Endless:
    """Resident memory in the course of one run."""

    rounds: Sequence[int]
    megabytes: Sequence[float]


def endless(lengths: Sequence[int], chunk: int = 50_000) -> Endless:
    """One learner that goes on and on, fed chunk by chunk as from a pipe, keeping nothing."""
    workload = workloads.dense(chunk, 10)
    learner, stream = workload.learner(), workload.stream()
    played, megabytes = 0, []
    for length in lengths:
        while played < length:
            sp.play(learner, stream, engine="compiled", keep=())
            played += chunk
        megabytes.append(resident())
    return Endless(list(lengths), megabytes)


def resident() -> float:
    """Megabytes of this process in memory now (its peak, where the system does not tell)."""
    status = Path("/proc/self/statm")
    if status.exists():
        return int(status.read_text().split()[1]) * resource.getpagesize() / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
