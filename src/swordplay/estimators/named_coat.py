"""What estimators of rows by name share: columns that join late, and parameters that stay what
they are.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from swordplay.core.arguments import short_repr
from swordplay.core.types import Matrix, State, Vector
from swordplay.estimators.asked import Askable
from swordplay.estimators.bands import Bands
from swordplay.estimators.explained import Explained
from swordplay.estimators.model import LinearModel, LossName, regression_loss, settings
from swordplay.estimators.named_rows import NamedRows
from swordplay.estimators.saved import Saved, parameters, same
from swordplay.estimators.second_order import SecondOrder

if TYPE_CHECKING:  # for frames only: rows by name come without it
    import narwhals.stable.v2 as nw

Features = Mapping[Hashable, Any]
NOTHING = np.full(1, np.nan)
"""A row of a model that has seen no feature yet."""


class NamedCoat(Explained, Saved):
    """Columns that join late: what all of them share."""

    loss: LossName
    curves: Any
    _own_bands: Bands | None = None

    def __init__(
        self,
        radius: float,
        memory: float,
        clip: float,
        standardize: bool,
        intercept: bool,
        lags: Any,
        curves: Any,
    ) -> None:
        self.radius, self.memory, self.clip = radius, memory, clip
        self.standardize, self.intercept, self.lags, self.curves = (
            standardize,
            intercept,
            lags,
            curves,
        )
        self._settings = settings(self)
        self._rows = NamedRows()
        self._model: Any = None

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in parameters(type(self)) or "_model" not in vars(self):
            return super().__setattr__(name, value)
        before = getattr(self, name, value)
        if self._model is not None and not same(before, value):
            raise ValueError(
                f"{name} is {short_repr(before)} and cannot become {short_repr(value)}: this "
                f"{type(self).__name__} has learned already. "
                f"Make a new one with clone({{{name!r}: {short_repr(value)}}})."
            )
        super().__setattr__(name, value)
        try:
            self._settings = settings(self)
            if name == "loss":
                regression_loss(value)
        except (TypeError, ValueError):
            super().__setattr__(name, before)
            raise

    def _fresh(self) -> LinearModel:
        """A model for the columns known so far.

        One at least, so that rows without features can be learned too.
        """
        return LinearModel(max(1, len(self._rows)), loss=self.loss, **self._settings)

    @abstractmethod
    def _make(self) -> Any:
        """What learns: a model, or several."""

    def _grown(self, names: Any) -> Any:
        """The model, with a column for each of the names."""
        if self._model is not None and self._rows.is_usual(names):
            return self._model
        news = self._rows.news(names)
        if news:
            self._rows.join(news)
            if self._model is not None:
                self._model.widen(len(self._rows))
        if self._model is None:
            self._model = self._make()
        return self._model

    def _table(self, frame: nw.DataFrame[Any], places: Mapping[Hashable, int]) -> Matrix:
        """Checked rows as the model takes them."""
        rows = self._rows.table(frame, places)
        return rows if rows.shape[1] else np.full((len(rows), 1), np.nan)

    def table_of(self, rows: Sequence[Features]) -> Matrix:
        """Rows by name as the model takes them, with a column for each name that was learned.

        Others are left out.
        """
        table = np.empty((len(rows), max(1, len(self._rows))))
        for k, x in enumerate(rows):
            table[k] = self._row(x, self._rows.check(x))
        return table

    def clean_table(self, rows: Sequence[Mapping[Hashable, float]]) -> tuple[Matrix, bool]:
        """The same of rows of finite numbers, and whether all of their names have a column."""
        if len(rows) == 1:  # nearly always with the names of the row before
            row = self._row(rows[0], list(rows[0].values())).copy()
            return row[None], self._model is not None and self._rows.is_usual(rows[0])
        names = list(rows[0])
        if any(list(x) != names for x in rows):
            parts = [self.clean_table([x]) for x in rows]
            return np.concatenate([part for part, _ in parts]), all(known for _, known in parts)
        values = np.fromiter(
            chain.from_iterable(x.values() for x in rows), np.float64, len(rows) * len(names)
        )
        return self.placed(names, values.reshape(len(rows), len(names)))

    def placed(self, names: Sequence[Hashable], values: Matrix) -> tuple[Matrix, bool]:
        """Columns of finite numbers where they belong, and whether all of their names have a
        column.
        """
        places = self._rows.places
        found = [k for k, name in enumerate(names) if name in places]
        order, known = [places[names[k]] for k in found], len(found) == len(names)
        if known and order and order == list(range(len(places))):
            return values, self._model is not None
        table = np.full((len(values), max(1, len(places))), np.nan)
        if order:
            table[:, order] = values if known else values[:, found]
        return table, self._model is not None and known

    @abstractmethod
    def learn_table(self, table: Matrix, truths: Sequence[Any]) -> None:
        """Learn rows in their order, as the model takes them; all of their names have a column."""

    @abstractmethod
    def learn_run(self, rows: Sequence[Features], truths: Sequence[Any]) -> None:
        """Learn rows in their order.

        The names of all of them are known, or are those of the first.
        """

    @abstractmethod
    def askable(self) -> Askable:
        """What :class:`swordplay.late.LateModel` asks in place of the estimator itself."""

    def _row(self, x: Features, values: list[float]) -> Vector:
        return self._rows.row(x, values) if self._rows.places else NOTHING

    def _named(self, coefficients: Vector) -> dict[Hashable, float]:
        """Coefficients of columns by their names, out of those of lags and columns."""
        lags = len(coefficients) - max(1, len(self._rows))
        return {
            name: float(coefficients[lags + place]) for name, place in self._rows.places.items()
        }

    def _second(self) -> SecondOrder | None:
        # the model has no type before it is made
        return self._model.second  # type: ignore[no-any-return]

    def _require_learned(self) -> None:
        if self._model is None:
            raise AttributeError(
                f"this {type(self).__name__} has not learned anything yet. Call learn_one or "
                "learn_many first."
            )

    @property
    def _bands(self) -> Bands:
        """Intervals, or sets, of the levels that were asked for; made at the first use."""
        if self._own_bands is None:
            self._own_bands = Bands()
        return self._own_bands

    def _learned(self) -> tuple[Any, State] | None:
        return (
            None
            if self._model is None
            else (self._model, {"names": self._rows.dumps()} | self._bands.state())
        )

    def _resume(self, saved: Mapping[str, Any]) -> Any:
        self._own_bands = Bands.of_state(saved)
        self._rows.loads(saved["names"])
        self._model = self._make()
        return self._model
