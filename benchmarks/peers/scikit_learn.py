"""scikit-learn's SGDRegressor, the fastest linear learner of its kind there.

Its leanest settings: no penalty, no intercept, no shuffling, a constant rate. Arrays (row-major,
float64, or CSR) are made beforehand. A batch is predicted, then learned; within a batch of 1000
rows the predictions are therefore up to 1000 rows stale, which costs accuracy and no time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.timing import Contender, Missing, Run
from benchmarks.workloads import Vector, Workload


class _Scikit(Contender):
    learns = "one SGD model"
    batch: int

    @contextmanager
    def ready(self, workload: Workload) -> Iterator[Run]:
        try:
            model: Any = import_module("sklearn.linear_model").SGDRegressor(
                penalty=None,
                fit_intercept=False,
                shuffle=False,
                learning_rate="constant",
                eta0=workload.peer_rate,
            )
        except ImportError:
            raise Missing("scikit-learn is not installed") from None
        # Before it has seen a row, scikit-learn refuses to predict; a row of zeros makes it willing
        # and teaches nothing.
        model.partial_fit(workload.features[:1] * 0.0, np.zeros(1))
        bounds = [(begin, begin + self.batch) for begin in range(0, workload.rounds, self.batch)]
        batches = [(workload.features[i:j], workload.targets[i:j]) for i, j in bounds]

        def run() -> Vector:
            said = []
            for features, targets in batches:
                said.append(model.predict(features))
                model.partial_fit(features, targets)
            return np.concatenate(said)

        yield run


class ScikitBatches(_Scikit):
    """1000 rows a call."""

    name = "scikit-learn SGDRegressor, 1000 rows"
    batch = 1000


class ScikitRows(_Scikit):
    """One row a call."""

    name = "scikit-learn SGDRegressor, 1 row"
    batch = 1
    most_rounds = 1_000
