"""What a second thread is worth: to us, to C on the same streams, and to a loop that needs no
memory.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from benchmarks import floor, workloads
from benchmarks.many import DIM, WARM_UP
from benchmarks.missed.section import Section

TURNS = 5
SPINS = 100_000_000
"""Some tenths of a second."""
SPIN, SAME = "C, nothing but registers", "C, vectors by hand, the same streams"
WHY = """\
The learners share nothing, and Python's lock is released for the whole call. So what two threads
fall short of 2 is either waiting (processor time as for one thread), or the machine's share (the
same work takes more processor time:
clock, caches, two threads of one core). Here the same work takes {dearer:.2f} times the processor time."""  # noqa: E501
IN_C = """\
 C on the same streams gets {:.2f} from the second thread, and a C loop that never leaves the
 registers, which is all that
this machine has to give, {:.2f}."""


class Pace(NamedTuple):
    """The same work on one thread and on two: seconds by the wall, and of processors."""

    alone: float
    alone_processor: float
    together: float
    together_processor: float

    @property
    def speed_up(self) -> float:
        """By the wall."""
        return self.alone / self.together

    @property
    def dearer(self) -> float:
        """How many times as many processor seconds the same work takes on two threads."""
        return self.together_processor / self.alone_processor


def measured(work: Callable[[int], None]) -> Pace:
    """Best of some turns; ``work(threads)`` does all of it on so many threads."""
    best = {1: (np.inf, np.inf), 2: (np.inf, np.inf)}
    for _ in range(TURNS):
        for threads in best:
            wall, processor = time.perf_counter(), time.process_time()
            work(threads)
            best[threads] = min(
                best[threads], (time.perf_counter() - wall, time.process_time() - processor)
            )
    return Pace(*best[1], *best[2])


def halves(work: Callable[[int], None]) -> Callable[[int], None]:
    """Two halves of something, one after the other or in a thread each."""

    def run(threads: int) -> None:
        if threads == 1:
            work(0)
            work(1)
            return
        both = [threading.Thread(target=work, args=(half,)) for half in (0, 1)]
        for one in both:
            one.start()
        for one in both:
            one.join()

    return run


def section(streams: int, rounds: int = 1_000) -> Section:
    """Many streams."""
    from swordplay import engine

    whole = workloads.dense(streams * (rounds + WARM_UP), DIM)
    features, targets = whole.features.reshape(streams, -1, DIM), whole.targets.reshape(streams, -1)
    first = np.ascontiguousarray(features[:, :WARM_UP]), np.ascontiguousarray(targets[:, :WARM_UP])
    rest = np.ascontiguousarray(features[:, WARM_UP:]), np.ascontiguousarray(targets[:, WARM_UP:])
    learners = [whole.learner() for _ in range(streams)]
    engine.play_many(learners, *first, threads=2)
    found = {
        f"swordplay, {streams:,} streams": measured(
            lambda threads: engine.play_many(learners, *rest, threads=threads)
        )
    }
    if floor.compiler():
        many = [_one(whole, rest[0][k], rest[1][k]) for k in range(streams)]
        build = floor.library(floor.STRICT)
        build.spin.restype, build.spin.argtypes = ctypes.c_double, [ctypes.c_int64]
        found[SAME] = measured(halves(lambda half: _floors(many, half)))
        found[SPIN] = measured(halves(lambda _: build.spin(SPINS)))
    rows = [
        [
            what,
            f"{1e3 * pace.alone:.0f}",
            f"{1e3 * pace.together:.0f}",
            f"{pace.speed_up:.2f}",
            f"{pace.dearer:.2f}",
        ]
        for what, pace in found.items()
    ]
    ours = next(iter(found.values()))
    given = found.get(SPIN)
    why = WHY.format(dearer=ours.dearer) + (
        IN_C.format(found[SAME].speed_up, given.speed_up) if given else ""
    )
    header = ["", "one thread, ms", "two threads, ms", "speed-up", "processor time, two / one"]
    return Section(
        f"{streams:,} streams on two threads",
        ours.speed_up,
        1.8,
        "",
        why,
        header,
        rows,
        at_most=False,
    )


def _one(
    whole: workloads.Workload, features: np.ndarray, targets: np.ndarray
) -> workloads.Workload:
    return workloads.Workload(
        features, targets, whole.smoothness, whole.gradient_bound, whole.radius
    )


def _floors(many: list[workloads.Workload], half: int) -> None:
    for one in many[half::2]:
        floor.play(one)
