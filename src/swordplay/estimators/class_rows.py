"""Several classes, one row at a time."""

from __future__ import annotations

import math
from typing import final

from swordplay.estimators.classes import OneModelPerClass
from swordplay.types import Vector


@final
class ClassRows(OneModelPerClass):
    """One model per class, for rows that come one by one and columns that join late."""

    def predict_row(self, row: Vector) -> list[float]:
        """Probabilities of one row of shape ``(d,)``; nothing is learned."""
        scores = [model.predict_row(row) for model in self.models]
        odds = [_logistic(-score if k < self.turned else score) for k, score in enumerate(scores)]
        if len(odds) == 1:
            return [1.0 - odds[0], odds[0]] if self.classes == 2 else [1.0]
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


def _logistic(score: float) -> float:
    """1 / (1 + exp(-score)), without overflow."""
    if score >= 0.0:
        return 1.0 / (1.0 + math.exp(-score))
    odds = math.exp(score)
    return odds / (1.0 + odds)
