"""river's linear regression, and its exponentially weighted average over twenty of them.

Rows are dictionaries (or, for batches, pandas frames) made beforehand, since that is what a river
stream hands out. Leanest settings: plain SGD, no intercept.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.timing import Contender, Missing, Run
from benchmarks.workloads import Vector, Workload

MODELS = 20
"""In the ensemble: the size at which river's own users compare it with a Sword."""
BATCH = 1000


def _river(part: str) -> Any:
    try:
        return import_module(f"river.{part}")
    except ImportError:
        raise Missing("river is not installed") from None


def _linear(rate: float) -> Any:
    return _river("linear_model").LinearRegression(
        optimizer=_river("optim").SGD(rate), intercept_lr=0.0
    )


class _OneByOne(Contender):
    most_numbers = 1_000_000

    def model(self, workload: Workload) -> Any:
        raise NotImplementedError

    @contextmanager
    def ready(self, workload: Workload) -> Iterator[Run]:
        model = self.model(workload)
        rows, targets = workload.dictionaries, workload.targets.tolist()

        def run() -> list[float]:
            said = []
            for features, target in zip(rows, targets, strict=True):
                said.append(model.predict_one(features))
                model.learn_one(features, target)
            return said

        yield run


class RiverLinear(_OneByOne):
    """``LinearRegression``, one row a call."""

    name = "river LinearRegression"
    learns = "one SGD model"
    most_rounds = 20_000

    def model(self, workload: Workload) -> Any:
        return _linear(workload.peer_rate)


class RiverExponentialWeights(_OneByOne):
    """``EWARegressor`` over models that differ in their rate, the nearest thing river has to a
    Sword.
    """

    name = f"river EWARegressor, {MODELS} models"
    learns = f"{MODELS} SGD models"
    most_rounds = 1_000
    most_numbers = 100_000

    def model(self, workload: Workload) -> Any:
        rates = workload.peer_rate * 2.0 ** -np.linspace(0.0, 7.0, MODELS)
        return _river("ensemble").EWARegressor(
            [_linear(float(rate)) for rate in rates], learning_rate=0.5
        )


class RiverLinearBatches(Contender):
    """``LinearRegression.learn_many``: one averaged step per batch, so 1000 times fewer steps
    than all others take.
    """

    name = "river LinearRegression, 1000 rows"
    learns = "one SGD model, a step a batch"

    @contextmanager
    def ready(self, workload: Workload) -> Iterator[Run]:
        try:
            pandas: Any = import_module("pandas")
        except ImportError:
            raise Missing("pandas, which river needs for batches, is not installed") from None
        model = _linear(workload.peer_rate)
        names = [str(j) for j in range(workload.dim)]
        batches = [
            (
                pandas.DataFrame(workload.features[i : i + BATCH], columns=names),
                pandas.Series(workload.targets[i : i + BATCH]),
            )
            for i in range(0, workload.rounds, BATCH)
        ]

        def run() -> Vector:
            said = []
            for features, targets in batches:
                said.append(model.predict_many(features))
                model.learn_many(features, targets)
            return np.concatenate(said)

        yield run
