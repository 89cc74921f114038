"""Several classes: one model each, which may join late."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from swordplay.base.arguments import shown
from swordplay.base.state import COUNT, DAMAGED, require
from swordplay.base.types import Matrix, State, Vector
from swordplay.estimators.model import LinearModel


class OneModelPerClass:
    """The probability of each class, from one log-odds model per class.

    One model per class, and not one softmax over all of them, because a class that appears late then changes nothing for
    the others, and because every model is the same compiled learner. Two classes share one model.

    Parameters
    ----------
    make
        Makes a fresh model with ``loss="logistic"``.
    classes
        How many classes are known from the start.
    """

    def __init__(self, make: Callable[[], LinearModel], classes: int = 0) -> None:
        self._make = make
        self.models: list[LinearModel] = []
        self.counts: Vector = np.zeros(0)
        """Rows learned of each class."""
        self.turned = 0
        """1 if the first model predicts that a row is *not* of the first class, else 0.

        It does so once a third class has joined: the only model of two classes, which told the second from the first, then
        goes on as that of the second class, and its copy, with every score negated, as that of the first.
        """
        self.grow(classes)

    @property
    def classes(self) -> int:
        """How many classes are known."""
        return len(self.counts)

    def named(self, labels: Sequence[Any]) -> Iterator[tuple[str, LinearModel]]:
        """Each model and the label that it tells, of all labels in the order of the classes; of two, the second."""
        told = labels if len(self.models) > 1 else labels[-1:]
        return zip(map(str, told), self.models, strict=True)

    def grow(self, classes: int) -> None:
        """Make room for more classes."""
        if classes <= self.classes:
            return
        self.counts = np.append(self.counts, np.zeros(classes - self.classes))
        wanted = 1 if classes <= 2 else classes
        if wanted > 1 and len(self.models) == 1:
            # From two classes to more: the one model told class 1 from class 0. It goes on as that of class 1, and a copy of
            # it, the other way round, as that of class 0: nothing that was learned is lost.
            self.models.insert(0, copy.deepcopy(self.models[0]))
            self.turned = 1
        while len(self.models) < wanted:
            self.models.append(self._make())

    def predict(self, rows: Matrix) -> Matrix:
        """Probabilities, shape ``(T, K)``; nothing is learned."""
        return self.probabilities(self.scores(rows))

    def scores(self, rows: Matrix) -> Matrix:
        """Log-odds of each class, shape ``(T, K)``; of two, those of the second, ``(T, 1)``."""
        return self._turn(np.column_stack([model.predict(rows) for model in self.models]))

    def predict_then_learn(self, rows: Matrix, labels: Any, weights: Vector | None = None) -> Matrix:
        """Probabilities of rows, each made before its own label (0..K-1) is learned; shape ``(T, K)``."""
        return self.probabilities(self.scores_then_learn(rows, labels, weights))

    def scores_then_learn(self, rows: Matrix, labels: Any, weights: Vector | None = None) -> Matrix:
        """The same as log-odds: of each class, or of the second one of two; shape ``(T, len(models))``."""
        positive = [1] if len(self.models) == 1 else range(len(self.models))
        scores = [
            model.predict_then_learn(rows, ((labels == k) != (k < self.turned)).astype(np.float64), weights)
            for k, model in zip(positive, self.models, strict=True)
        ]
        self.counts = self.counts + np.bincount(labels, minlength=self.classes)
        return self._turn(np.column_stack(scores))

    def _turn(self, scores: Matrix) -> Matrix:
        scores[:, : self.turned] *= -1.0
        return scores

    def probabilities(self, scores: Matrix) -> Matrix:
        """Of the classes, shape ``(T, K)``: the logistic of each score; divided by their sum where each class has a model."""
        logs = -np.logaddexp(0.0, -scores)
        if len(self.models) == 1:
            odds = np.exp(logs)
            return np.hstack([1.0 - odds, odds]) if self.classes == 2 else np.ones((len(scores), 1))
        odds = np.exp(logs - logs.max(axis=1, keepdims=True))  # the likeliest class keeps a share even if all are unlikely
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    def state(self) -> State:
        """All that the next row needs."""
        flat: State = {"counts": self.counts.copy(), "turned": self.turned}
        for k, model in enumerate(self.models):
            flat |= {f"{k}.{name}": value for name, value in model.state().items()}
        return flat

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Go on from a saved state, bit by bit."""
        counts, turned = np.array(saved["counts"], dtype=np.float64), saved.get("turned", 0)
        if counts.ndim != 1 or not len(counts) <= len(saved) or turned not in ((0,) if len(counts) < 3 else (0, 1)):
            raise ValueError(f"state has counts of shape {counts.shape} and turned = {shown(turned)}. {DAMAGED}")
        require("counts", counts, COUNT)
        fresh = OneModelPerClass(self._make, len(counts))
        for k, model in enumerate(fresh.models):
            prefix = f"{k}."
            model.load_state({name.removeprefix(prefix): v for name, v in saved.items() if name.startswith(prefix)})
        self.models, self.counts, self.turned = fresh.models, counts, int(turned)
