"""This library as contenders: the engine three ways, the readable learner, and the floor in C."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import swordplay as sp
from benchmarks import floor
from benchmarks.timing import Contender, Missing, Run
from benchmarks.workloads import KEPT, POOL, Workload

ENGINE = "swordplay engine"
"""The row that every ratio is taken against."""


class _Played(Contender):
    """A run of ``sp.play``, which keeps the losses themselves."""

    def mean_loss(self, workload: Workload, result: Any) -> float:
        return float(np.mean(result.losses))


class Engine(_Played):
    """Whole arrays through ``sp.play``, the stream made beforehand."""

    def __init__(self, name: str = ENGINE, pool_size: int = POOL) -> None:
        self.name, self.pool_size = name, pool_size
        self.learns = f"SwordBest, {2 * pool_size} experts"

    @contextmanager
    def ready(self, workload: Workload) -> Iterator[Run]:
        learner, stream = workload.learner(self.pool_size), workload.stream()
        yield lambda: sp.play(learner, stream, engine="compiled", keep=KEPT)


class EngineFromArrays(_Played):
    """As ``Engine``, with the checks of the arrays (no NaN, right shapes) inside the timing, as
    scikit-learn has them.
    """

    name = "swordplay engine, arrays checked"
    learns = f"SwordBest, {2 * POOL} experts"

    @contextmanager
    def ready(self, workload: Workload) -> Iterator[Run]:
        learner = workload.learner()
        yield lambda: sp.play(learner, workload.stream(), engine="compiled", keep=KEPT)


class NoSettings(_Played):
    """``sp.Sword(domain)``, which is told nothing.

    Its experts grow with the logarithm of the rounds.
    """

    name = "swordplay engine, Sword"
    learns = "Sword, nothing to set"

    @contextmanager
    def ready(self, workload: Workload) -> Iterator[Run]:
        learner, stream = sp.Sword(sp.Ball(workload.dim, workload.radius)), workload.stream()
        yield lambda: sp.play(learner, stream, engine="compiled", keep=KEPT)


class Readable(_Played):
    """The same SwordBest in numpy, one round at a time."""

    name = "swordplay readable"
    learns = f"SwordBest, {2 * POOL} experts"
    most_rounds = 2_000

    @contextmanager
    def ready(self, workload: Workload) -> Iterator[Run]:
        learner, stream = workload.learner(), workload.stream()
        yield lambda: sp.play(learner, stream, engine="python", keep=KEPT)


class Online(Contender):
    """The engine one sample at a time from Python."""

    name = "swordplay engine, one by one"
    learns = f"SwordBest, {2 * POOL} experts"
    most_rounds = 50_000

    @contextmanager
    def ready(self, workload: Workload) -> Iterator[Run]:
        from swordplay import engine

        online = engine.online(workload.learner(), loss="squared")
        rows, targets = list(workload.features), workload.targets.tolist()

        def run() -> list[float]:
            said = []
            for features, target in zip(rows, targets, strict=True):
                said.append(online.predict(features))
                online.learn(features, target)
            return said

        yield run


class Floor(Contender):
    """SwordBest in C on whole arrays."""

    learns = f"SwordBest, {2 * POOL} experts"

    def __init__(self, name: str, flags: tuple[str, ...]) -> None:
        self.name, self.flags = name, flags

    @contextmanager
    def ready(self, workload: Workload) -> Iterator[Run]:
        if floor.compiler() is None:
            raise Missing("no C compiler on the PATH")
        floor.library(self.flags)
        yield lambda: floor.play(workload, self.flags).predictions


FLOORS = tuple(Floor(f"C floor, {how}", flags) for how, flags in floor.BUILDS.items())
