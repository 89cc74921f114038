"""The learner behind the aggregator: forecasts in, one forecast out, weights that drift on the simplex."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from swordplay.base.types import Matrix, State, Vector
from swordplay.engine import LARGEST_EXPLICIT
from swordplay.engine.driver import Engine
from swordplay.estimators.model import THRESHOLDS
from swordplay.estimators.scaler import Locator
from swordplay.parts.domains import Simplex
from swordplay.parts.learners import SwordAgeless

SMALLEST_GAP = 1e-10
"""Forecasts that differ by less than this share of the clipped residuals are the same forecast."""
PARTS = ("gap", "spread", "engine")


class Mixture:
    r"""A convex combination of K forecasts.

    As the weights sum to 1, forecasts and target may be moved together: each row is measured from the median of its own
    forecasts, so that only their differences are learned from. It is then divided by

    .. math:: \max\{\|a_t\|, \text{the usual } \|a\|\},

    so that every loss has a smoothness of 1 or less: a row on which the forecasts agree tells little about who is right, and
    counts for little.

    Parameters
    ----------
    forecasts
        K.
    loss
        ``"squared"`` or ``"huber"``: whether residuals are clipped at ten spreads or at one.
    memory
        Rounds that the weights of the experts remember.
    """

    def __init__(self, forecasts: int, *, loss: str = "squared", memory: float = 2000.0) -> None:
        if forecasts > LARGEST_EXPLICIT:
            raise ValueError(f"X has {forecasts} forecasts; at most {LARGEST_EXPLICIT} can be combined. Drop the worst.")
        self.forecasts, self.loss = forecasts, loss
        self._gap = Locator(clip=THRESHOLDS["squared"])
        self._spread = Locator(clip=THRESHOLDS["squared"])
        # A single forecast stands twice: a simplex has two corners at the least.
        learner = SwordAgeless(Simplex(max(2, forecasts)), smoothness=1.0, memory=memory)
        self.engine = Engine(learner.parts, "huber")

    @property
    def teams(self) -> list[Any]:
        """Heads with last targets: none, as forecasts have no lags."""
        return []

    @property
    def rounds(self) -> int:
        """How many rows were learned."""
        return self.engine.rounds

    @property
    def combination(self) -> Vector:
        """Weight of each forecast, shape ``(K,)``: not negative, with a sum of 1."""
        weights = np.maximum(self.engine.decision, 0.0)
        return np.asarray(weights / weights.sum()) if self.forecasts > 1 else np.ones(1)

    @property
    def effective_step_size(self) -> float:
        """Weighted geometric mean of the experts' step sizes."""
        return float(np.exp(self.engine.weights @ np.log(self.engine.step_sizes)))

    def predict(self, rows: Matrix) -> Vector:
        """Combined forecasts of rows of shape ``(T, K)``; nothing is learned."""
        level = np.median(rows, axis=1)
        return np.asarray((rows - level[:, None]) @ self.combination + level)

    def predict_then_learn(self, rows: Matrix, targets: Vector, weights: Vector | None = None) -> Vector:
        """Combined forecasts, each made before its own target is learned; shape ``(T,)``."""
        level = np.median(rows, axis=1)
        apart = (rows if self.forecasts > 1 else np.hstack([rows, rows])) - level[:, None]
        off = targets - level
        lengths = np.sqrt(np.einsum("ij,ij->i", apart, apart))
        usual = self._gap.locate_and_follow(lengths)
        threshold = THRESHOLDS[self.loss] * self._spread.locate_and_follow(off)[:, 1]
        unit = np.maximum(np.maximum(lengths, usual[:, 0] + usual[:, 1]), SMALLEST_GAP * threshold)
        unit[unit == 0.0] = 1.0  # all forecasts have agreed so far, and there is nothing to learn
        # Beyond the threshold a residual pulls no harder: clipped like this, no gradient changes and none overflows.
        reach = threshold + lengths
        off = np.clip(off, -reach, reach)
        schedule = np.ones((len(rows), 3))
        schedule[:, 0] = 1.0 if weights is None else weights
        schedule[:, 1] = threshold / unit
        played = self.engine.play(np.ascontiguousarray(apart / unit[:, None]), off / unit, schedule=schedule, checked=True)
        return np.asarray(played.predictions * unit + level)

    def state(self) -> State:
        """All that the next row needs."""
        parts = {"gap": self._gap.state(), "spread": self._spread.state(), "engine": self.engine.compact_state()}
        return {f"{name}.{key}": value for name, part in parts.items() for key, value in part.items()}

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Go on from a saved state, bit by bit."""
        parts = {name: {k.removeprefix(f"{name}."): v for k, v in saved.items() if k.startswith(f"{name}.")} for name in PARTS}
        self._gap.load_state(parts["gap"])
        self._spread.load_state(parts["spread"])
        self.engine.load_compact_state(parts["engine"])
