"""Regression of rows by name: what river's coat and the models that learn late share."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, final

import numpy as np

from swordplay.core.model_lock import locks_itself
from swordplay.core.types import Matrix, Vector
from swordplay.estimators import raw_units
from swordplay.estimators.asked import Askable, AskedByName
from swordplay.estimators.head import Head
from swordplay.estimators.model import AUTO, LARGEST, MEMORY, LinearModel, regression_loss
from swordplay.estimators.named_coat import Features, NamedCoat
from swordplay.estimators.named_rows import number


class NamedRegression(NamedCoat):
    """Predicts a number for one row at a time."""

    def __init__(
        self,
        loss: str = "squared",
        radius: float = 32.0,
        memory: float = MEMORY,
        clip: float = 5.0,
        standardize: bool = True,
        intercept: bool = True,
        lags: int | str = AUTO,
        curves: str | None = AUTO,
    ) -> None:
        super().__init__(radius, memory, clip, standardize, intercept, lags, curves)
        self.loss = regression_loss(loss)

    @locks_itself
    def learn_one(self, x: Features, y: float) -> None:
        """Learn from one row.

        Parameters
        ----------
        x
            Features by name: finite numbers.
        y
            Target: a finite number.
        """
        with self._lock:
            usual, bands = self._rows.usual, self._own_bands
            told = bands is not None and bool(bands.by_level)
            if (
                usual is not None
                and not told
                and type(y) is float
                and -LARGEST <= y <= LARGEST
                and usual.take(x)
            ):
                usual.learn(y)
                return
            self._learn_any(x, y, told)

    def _learn_any(self, x: Features, y: float, told: bool) -> None:
        """Learn a row that may be anything, and let intervals learn it if somebody has asked for
        them.
        """
        values, target = self._rows.check(x), number("y", y)
        model = self._grown(x)
        row = self._row(x, values)
        said = model.learn_row(row, target)
        self._rows.expect(model.heads, model.second)
        if told:
            self._bands.learn(np.array([said]), np.array([target]), row[None])

    def learn_run(self, rows: Sequence[Features], truths: Sequence[float]) -> None:
        """Learn rows in their order.

        The names of all of them are known, or are those of the first.
        """
        if len(rows) == 1:
            self.learn_one(rows[0], truths[0])
            return
        self._grown(rows[0])
        self.learn_table(self.table_of(rows), truths)

    def learn_table(self, table: Matrix, truths: Sequence[float]) -> None:
        """Learn rows in their order, as the model takes them; all of their names have a column."""
        targets = np.array(truths, dtype=np.float64)
        if len(table) == 1:
            predictions = np.array([self._model.learn_row(table[0], truths[0])])
        else:
            predictions = self._model.predict_then_learn(table, targets)
        if self._bands.by_level:
            self._bands.learn(predictions, targets, table)

    def askable(self) -> Askable:
        """What :class:`swordplay.late.LateModel` asks in place of the estimator itself."""
        return AskedByName(self, of_classes=False)

    @locks_itself
    def predict_one(self, x: Features) -> Any:
        """The prediction for one row, 0 before anything was learned.

        Features never learned from are left out.
        """
        with self._lock:
            usual = self._rows.usual
            return usual.ask() if usual is not None and usual.take(x) else self._predict_any(x)

    def _predict_any(self, x: Features) -> Any:
        """The prediction for a row that may be anything."""
        values = self._rows.check(x)
        return 0.0 if self._model is None else self._model.predict_row(self._row(x, values))

    @property
    def coefficients(self) -> dict[Hashable, float]:
        """Change of the prediction with each feature, by its name and in its own units."""
        return self._named(self._in_raw_units()[0])

    @property
    def lag_coef_(self) -> Vector:
        """Change of the prediction with each lag, the newest first, shape ``(lags,)``."""
        return self._in_raw_units()[0][: -max(1, len(self._rows))]

    @property
    def intercept_(self) -> float:
        """Prediction where all features (and lags) are 0."""
        return self._in_raw_units()[1]

    def _in_raw_units(self) -> tuple[Vector, float]:
        self._require_learned()
        return raw_units.of_mixture(self._model)

    def _make(self) -> LinearModel:
        return self._fresh()

    def _models(self) -> dict[str, Head]:
        self._require_learned()
        return {"y": self._model.head}


@final
class NamedRegressor(NamedRegression):
    """Linear regression of rows by name, without river: see
    :class:`swordplay.river.SwordRegressor`.
    """
