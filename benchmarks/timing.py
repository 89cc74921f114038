"""How things are timed: side by side in one process, taking turns, best of several, on one core,
warm.
"""

from __future__ import annotations

import gc
import math
import os
import resource
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from benchmarks.workloads import Workload

WARM_UP_ROUNDS = 2_000
"""Enough for every branch to be compiled, every cache filled, every import done."""

Run = Callable[[], Any]
"""The timed piece; what it returns shows how well it predicted."""


class Missing(Exception):
    """A contender that cannot play here, and why."""


class Contender(ABC):
    """One way of predicting and then learning each row of a workload."""

    name: str
    learns: str
    """What is learned, in a few words."""
    most_rounds: int = 1_000_000
    """Slow contenders play fewer rounds; times are per sample."""
    most_numbers: int = 10**12
    """Largest number of feature values that is bearable, for contenders with costly
    preparations.
    """

    @abstractmethod
    def ready(self, workload: Workload) -> AbstractContextManager[Run]:
        """All that a user would have done before the stream begins, untimed, with a fresh model.

        Raises ``Missing``.
        """

    def mean_loss(self, workload: Workload, result: Any) -> float:
        """Half the mean squared error.

        The result is the predictions unless a contender says otherwise.
        """
        return workload.mean_loss(result)

    def share(self, workload: Workload) -> Workload:
        """The rounds that this contender plays."""
        width = (
            workload.features.nnz // workload.rounds
            if hasattr(workload.features, "nnz")
            else workload.dim
        )
        return workload.head(min(self.most_rounds, max(100, self.most_numbers // width)))


@dataclass(frozen=True)
class Timing:
    """The best of several turns."""

    name: str
    learns: str
    microseconds: float
    """Per sample, prediction and learning together; nan where missing."""
    rounds: int
    mean_loss: float
    note: str = ""
    """Why it is missing."""


def measure(contenders: Sequence[Contender], workload: Workload, turns: int) -> list[Timing]:
    """Let contenders take turns; of each, keep the fastest turn."""
    shares = [contender.share(workload) for contender in contenders]
    missing = [
        _warmed(contender, share) for contender, share in zip(contenders, shares, strict=True)
    ]
    best = [(math.inf, math.nan)] * len(contenders)
    for _ in range(turns):
        for i, contender in enumerate(contenders):
            if not missing[i]:
                best[i] = min(best[i], _turn(contender, shares[i]), key=itemgetter(0))
    return [
        Timing(
            name=contender.name,
            learns=contender.learns,
            microseconds=math.nan if missing[i] else best[i][0],
            rounds=shares[i].rounds,
            mean_loss=best[i][1],
            note=missing[i],
        )
        for i, contender in enumerate(contenders)
    ]


def _warmed(contender: Contender, workload: Workload) -> str:
    """Run once; why the contender is missing, if it is."""
    try:
        with contender.ready(workload.head(WARM_UP_ROUNDS)) as run:
            run()
    except Missing as reason:
        return str(reason)
    return ""


def _turn(contender: Contender, workload: Workload) -> tuple[float, float]:
    with contender.ready(workload) as run:
        seconds, result = timed(run, processor_seconds)
        return seconds / workload.rounds * 1e6, contender.mean_loss(workload, result)


def timed(run: Run, clock: Callable[[], float]) -> tuple[float, Any]:
    """Seconds that a run takes by a clock, and what it returns; the garbage collector waits."""
    gc.collect()
    gc.disable()
    try:
        begin = clock()
        result = run()
        return clock() - begin, result
    finally:
        gc.enable()


def processor_seconds() -> float:
    """Processor time of this process and its children: while a neighbour has the core, this
    clock stands still.
    """
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


@contextmanager
def pinned() -> Iterator[None]:
    """This process on one core, where the system knows how; all cores again afterwards."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)
