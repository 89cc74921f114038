"""The learner behind every regression: raw rows in, predictions out, nothing to set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

from swordplay.base import nested
from swordplay.base.types import Matrix, State, Vector
from swordplay.engine.driver import Engine
from swordplay.estimators.head import Head
from swordplay.estimators.heads import Heads
from swordplay.estimators.scaler import Locator, Scaler
from swordplay.estimators.scratch import Beside
from swordplay.estimators.tuning import (
    CURVATURES,
    LARGEST,
    MEMORY,
    REACH,
    SMALLEST_NORM,
    THRESHOLDS,
    LossName,
    regression_loss,
    settings,
)

__all__ = [
    "CURVATURES",
    "LARGEST",
    "MEMORY",
    "REACH",
    "SMALLEST_NORM",
    "THRESHOLDS",
    "LinearModel",
    "LossName",
    "regression_loss",
    "settings",
]


@final
class LinearModel:
    """One score per row: a prediction, or the log-odds of a class.

    Parameters
    ----------
    dim
        Number of columns.
    **options
        As in :class:`Heads`, of which there is one. With ``loss="logistic"`` targets are 0 and 1.
    """

    def __init__(self, dim: int, **options: Any) -> None:
        self.heads = Heads(dim, **options)
        self.heads.add()

    @property
    def head(self) -> Head:
        """What it knows."""
        return self.heads[0]

    @property
    def teams(self) -> list[Heads]:
        """Heads that share the columns and the last targets: there is one."""
        return [self.heads]

    @property
    def engine(self) -> Engine:
        """The compiled learner."""
        return self.head.engine

    @property
    def columns(self) -> Scaler:
        """What is known of the columns: the lags, and those of the rows behind them."""
        return self.heads.columns

    @property
    def target(self) -> Locator:
        """What is known of the target."""
        return self.heads.target

    @property
    def recent(self) -> Vector:
        """The last targets, the newest first, shape ``(lags,)``."""
        return self.heads.recent

    @property
    def loss(self) -> LossName:
        """Of its predictions."""
        return self.heads.loss

    @property
    def radius(self) -> float:
        """Of the ball where the coefficients of the scaled columns live."""
        return self.heads.radius

    @property
    def rounds(self) -> int:
        """How many rows were learned."""
        return self.head.rounds

    def predict(self, rows: Matrix) -> Vector:
        """Scores of rows of shape ``(T, d)`` by what is known now; nothing is learned."""
        return self.heads.predict(rows)[:, 0]

    def predict_row(self, row: Vector) -> float:
        """The score of one row of shape ``(d,)``: the same bits as :meth:`predict` gives it, several times faster."""
        return float(self.heads.predict_row(row)[0, 0])

    def predict_then_learn(
        self, rows: Matrix, targets: Vector, weights: Vector | None = None, beside: Beside | None = None
    ) -> Vector:
        """Scores of rows, each made before its own target is learned (see :meth:`Heads.learn`)."""
        return self.heads.learn(rows, targets, weights, beside)[:, 0]

    def learn_row(self, row: Vector, target: float) -> None:
        """Learn from one row of shape ``(d,)``: the same bits as :meth:`predict_then_learn`, several times faster."""
        self.heads.learn_row(row, target)

    def widen(self, dim: int) -> None:
        """Make room for columns that appear late, behind the others; their coefficients start at 0."""
        self.heads.widen(dim)

    def state(self) -> State:
        """All that the next row needs, as named arrays."""
        return self.heads.shared_state() | nested.put("engine", self.head.engine.compact_state())

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Go on from a saved state, bit by bit as the model that saved it."""
        parts = nested.split(saved)
        self.heads.load_state(parts, [nested.part("engine", parts)])
