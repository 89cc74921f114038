"""Several classes, one row at a time."""

from __future__ import annotations

import math
from typing import final

from swordplay.base.types import Vector
from swordplay.estimators.classes import OneModelPerClass


@final
class ClassRows(OneModelPerClass):
    """One model per class, for rows that come one by one and columns that join late."""

    def predict_row(self, row: Vector) -> list[float]:
        """Probabilities of one row of shape ``(d,)``; nothing is learned."""
        scores = [model.predict_row(row) for model in self.models]
        logs = [_log_logistic(-score if k < self.turned else score) for k, score in enumerate(scores)]
        if len(logs) == 1:
            share = math.exp(logs[0])
            return [1.0 - share, share] if self.classes == 2 else [1.0]
        highest = max(logs)  # the likeliest class keeps a share even if all are unlikely
        odds = [math.exp(log - highest) for log in logs]
        total = sum(odds)
        return [share / total for share in odds]

    def learn_row(self, row: Vector, label: int) -> None:
        """Learn from one row of shape ``(d,)``: the same bits as ``predict_then_learn``."""
        if len(self.models) == 1:
            self.models[0].learn_row(row, float(label == 1))
        else:
            for k, model in enumerate(self.models):
                model.learn_row(row, float((label == k) != (k < self.turned)))
        self.counts[label] += 1.0

    def widen(self, dim: int) -> None:
        """Make room for columns that appear late."""
        for model in self.models:
            model.widen(dim)


def _log_logistic(score: float) -> float:
    """-log(1 + exp(-score)), without overflow."""
    return min(score, 0.0) - math.log1p(math.exp(-abs(score)))
