"""Many independent streams at once: a learner each, on one thread and on two."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks import workloads
from benchmarks.timing import timed

DIM = 10
WARM_UP = 100
"""Rounds before the clock starts."""


@dataclass(frozen=True)
class Throughput:
    """K streams on some number of threads."""

    threads: int
    microseconds: float
    """Wall time per sample, over all streams."""


def measure_many(streams: int, rounds: int, turns: int) -> list[Throughput]:
    """K streams of T rounds, d = 10, best of several turns, thread counts taking turns.

    The learners have played before: what is timed is the steady state, not the making of K engines.
    """
    from swordplay import engine

    whole = workloads.dense(streams * (rounds + WARM_UP), DIM)
    features = whole.features.reshape(streams, -1, DIM)
    targets = whole.targets.reshape(streams, -1)
    first = np.ascontiguousarray(features[:, :WARM_UP]), np.ascontiguousarray(targets[:, :WARM_UP])
    rest = np.ascontiguousarray(features[:, WARM_UP:]), np.ascontiguousarray(targets[:, WARM_UP:])
    best = {threads: float("inf") for threads in (1, 2) if threads <= cores()}
    for _ in range(turns):
        for threads in best:
            learners = [whole.learner() for _ in range(streams)]
            engine.play_many(learners, *first, threads=threads)
            seconds, _ = timed(
                partial(engine.play_many, learners, *rest, threads=threads), time.perf_counter
            )
            best[threads] = min(best[threads], seconds)
    return [
        Throughput(threads, seconds / (streams * rounds) * 1e6) for threads, seconds in best.items()
    ]


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
