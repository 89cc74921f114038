"""DictRegressor and DictClassifier: estimators of rows that are dictionaries."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from swordplay.core.arguments import real, short_repr
from swordplay.core.model_lock import locks_itself
from swordplay.core.types import Matrix, State, Vector
from swordplay.estimators import coefficients
from swordplay.estimators.class_model import ClassModel
from swordplay.estimators.class_probabilities import (
    of_true_labels,
    probability_above,
    probability_of_second,
)
from swordplay.estimators.deferred_rows import DeferredRows, DictDeferredRows
from swordplay.estimators.dict_columns import DictColumns, number
from swordplay.estimators.forecast import Forecast
from swordplay.estimators.labels import LabelIndex
from swordplay.estimators.level_intervals import LevelIntervals
from swordplay.estimators.linear_model import HeadSnapshot, LinearModel
from swordplay.estimators.model_report import ModelReport
from swordplay.estimators.model_settings import (
    AUTO,
    LARGEST,
    MEMORY,
    LossName,
    regression_loss,
    settings,
)
from swordplay.estimators.saved_model import SavedModel, is_same_value, parameter_names
from swordplay.estimators.second_order_layer import SecondOrderLayer

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw


Features = Mapping[Hashable, Any]
NOTHING = np.full(1, np.nan)
"""A row of a model that has seen no feature yet."""


class DictModel(ModelReport, SavedModel):
    """Columns that join late: what all of them share."""

    loss: LossName
    curves: Any
    _own_intervals: LevelIntervals | None = None

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
        self._rows = DictColumns()
        self._model: Any = None

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in parameter_names(type(self)) or "_model" not in vars(self):
            return super().__setattr__(name, value)
        before = getattr(self, name, value)
        if self._model is not None and not is_same_value(before, value):
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
    def learn_table(
        self, table: Matrix, truths: Sequence[Any], asked: Forecast | None = None
    ) -> None:
        """Learn rows in their order, as the model takes them; all of their names have a column."""

    @abstractmethod
    def learn_run(
        self, rows: Sequence[Features], truths: Sequence[Any], asked: Forecast | None = None
    ) -> None:
        """Learn rows in their order; ``asked`` is their forecast if their targets come late.

        The names of all of them are known, or are those of the first.
        """

    @abstractmethod
    def deferred_rows(self) -> DeferredRows:
        """Return the adapter that :class:`swordplay.late.LateModel` uses."""

    def _row(self, x: Features, values: list[float]) -> Vector:
        return self._rows.row(x, values) if self._rows.places else NOTHING

    def _named(self, coefficients: Vector) -> dict[Hashable, float]:
        """Coefficients of columns by their names, out of those of lags and columns."""
        lags = len(coefficients) - max(1, len(self._rows))
        return {
            name: float(coefficients[lags + place]) for name, place in self._rows.places.items()
        }

    def _second(self) -> SecondOrderLayer | None:
        # the model has no type before it is made
        return self._model.second_order  # type: ignore[no-any-return]

    def _require_learned(self) -> None:
        if self._model is None:
            raise AttributeError(
                f"this {type(self).__name__} has not learned anything yet. Call learn_one or "
                "learn_many first."
            )

    @property
    def _intervals(self) -> LevelIntervals:
        """Intervals, or sets, of the levels that were asked for; made at the first use."""
        if self._own_intervals is None:
            self._own_intervals = LevelIntervals()
        return self._own_intervals

    def _learned(self) -> tuple[Any, State] | None:
        return (
            None
            if self._model is None
            else (self._model, {"names": self._rows.dumps()} | self._intervals.state())
        )

    def _resume(self, saved: Mapping[str, Any]) -> Any:
        self._own_intervals = LevelIntervals.from_state(saved)
        self._rows.loads(saved["names"])
        self._model = self._make()
        return self._model


class DictRegressor(DictModel):
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
            usual, intervals = self._rows.usual, self._own_intervals
            told = intervals is not None and bool(intervals.by_level)
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

    def _learn_any(self, x: Features, y: float, told: bool, asked: Forecast | None = None) -> None:
        """Learn a row that may be anything, and let intervals learn it if somebody has asked for
        them.
        """
        values, target = self._rows.check(x), number("y", y)
        model = self._grown(x)
        row = self._row(x, values)
        said = model.predict_then_learn(row[None], np.array([target]), asked=asked)
        self._rows.expect(model)
        if told:
            self._intervals.learn(said, np.array([target]), row[None])

    def learn_run(
        self, rows: Sequence[Features], truths: Sequence[float], asked: Forecast | None = None
    ) -> None:
        """Learn rows in their order; ``asked`` is their forecast if their targets come late.

        The names of all of them are known, or are those of the first.
        """
        if len(rows) == 1:
            intervals = self._own_intervals
            told = intervals is not None and bool(intervals.by_level)
            self._learn_any(rows[0], truths[0], told, asked)
            return
        self._grown(rows[0])
        self.learn_table(self.table_of(rows), truths, asked)

    def learn_table(
        self, table: Matrix, truths: Sequence[float], asked: Forecast | None = None
    ) -> None:
        """Learn rows in their order, as the model takes them; all of their names have a column."""
        targets = np.array(truths, dtype=np.float64)
        predictions = self._model.predict_then_learn(table, targets, asked=asked)
        if self._intervals.by_level:
            self._intervals.learn(predictions, targets, table)

    def deferred_rows(self) -> DeferredRows:
        """Return the adapter that :class:`swordplay.late.LateModel` uses."""
        return DictDeferredRows(self, predicts_labels=False)

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
        if self._model is None:
            return 0.0
        return float(self._model.predict(self._row(x, values)[None])[0])

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
        return coefficients.of_model(self._model)

    def _make(self) -> LinearModel:
        return self._fresh()

    def _models(self) -> dict[str, HeadSnapshot]:
        self._require_learned()
        return {"y": self._model.head}


USUAL = frozenset({bool, str, int})
"""Types of labels that need no closer look where they are known."""


class DictClassifier(DictModel):
    """Predicts a label for one row at a time."""

    loss = "logistic"

    def __init__(
        self,
        radius: float = 32.0,
        memory: float = MEMORY,
        clip: float = 5.0,
        standardize: bool = True,
        intercept: bool = True,
        lags: int | str = AUTO,
        curves: str | None = AUTO,
    ) -> None:
        super().__init__(radius, memory, clip, standardize, intercept, lags, curves)
        self._labels = LabelIndex()

    @property
    def classes_(self) -> list[Any]:
        """Labels, in the order in which they came."""
        return list(self._labels.numbers)

    @locks_itself
    def learn_one(self, x: Features, y: Any) -> None:
        """Learn from one row.

        Parameters
        ----------
        x
            Features by name: finite numbers.
        y
            Label: a truth value, a number or a string. One that is new joins the classes.
        """
        with self._lock:
            usual, intervals = self._rows.usual, self._own_intervals
            if (
                usual is not None
                and type(y) in USUAL
                and (intervals is None or not intervals.by_level)
            ):
                place = self._labels.numbers.get(y)
                if place is not None and usual.take(x):
                    usual.learn(place)
                    self._model.counts[place] += 1.0
                    return
            values, label = self._rows.check(x), self._labels.check(y)
            self._learn_label(self._grown(x), self._row(x, values), label)

    def _learn_label(
        self, model: Any, row: Vector, label: Any, asked: Forecast | None = None
    ) -> None:
        """Learn a row as the model takes it, with a checked label."""
        place = self._labels.add(label)
        if self._intervals.by_level and place < model.classes:
            self._learn_sets(model.predict(row[None]), [place])
        self._let_join(model)
        model.predict_then_learn(row[None], np.array([place]), asked=asked)
        if model.classes == 2:
            self._rows.expect(model.groups[0])

    def learn_run(
        self, rows: Sequence[Features], truths: Sequence[Any], asked: Forecast | None = None
    ) -> None:
        """Learn rows in their order; ``asked`` is their forecast if their labels come late.

        The names of all of them are known, or are those of the first.
        """
        if len(rows) == 1:
            values, label = self._rows.check(rows[0]), self._labels.check(truths[0])
            self._learn_label(self._grown(rows[0]), self._row(rows[0], values), label, asked)
            return
        model = self._grown(rows[0])
        self._learn_labels(model, self.table_of(rows), list(truths), asked)

    def learn_table(
        self, table: Matrix, truths: Sequence[Any], asked: Forecast | None = None
    ) -> None:
        """Learn rows in their order, as the model takes them; all of their names have a column."""
        if len(table) == 1:
            self._learn_label(self._model, table[0], truths[0], asked)
        else:
            self._learn_labels(self._model, table, list(truths), asked)

    def _learn_labels(
        self, model: Any, table: Matrix, labels: list[Any], asked: Forecast | None = None
    ) -> None:
        """Learn rows as the model takes them, with checked labels."""
        for first, places in self._labels.runs(labels):
            new = places[0] >= model.classes
            # A class that joins changes the models from its own row on, not before.
            self._let_join(model)
            some = slice(first, first + len(places))
            part = None if asked is None else asked.rows(some)
            chances = model.predict_then_learn(table[some], np.array(places), asked=part)
            if self._intervals.by_level and len(places) > new:
                self._learn_sets(chances[new:], places[new:])

    def _let_join(self, model: Any) -> None:
        """Make room for all labels; where there are more than two, no row is a usual one."""
        if len(self._labels) > model.classes:
            model.grow(len(self._labels))
            self._rows.usual = None

    def _learn_sets(self, chances: Matrix, places: list[int]) -> None:
        """Let the sets learn rows of labels that were known, each predicted before it was
        learned.
        """
        self._intervals.learn(
            np.zeros(len(places)), of_true_labels(probability_above(chances), places), None
        )

    def deferred_rows(self) -> DeferredRows:
        """Return the adapter that :class:`swordplay.late.LateModel` uses."""
        return DictDeferredRows(self, predicts_labels=True)

    @locks_itself
    def predict_proba_one(self, x: Features, **kwargs: Any) -> dict[Any, float]:
        """The probability of every class seen so far; before any, of both truth values."""
        with self._lock:
            usual = self._rows.usual
            if usual is not None and usual.take(x):
                one, other = self._labels.numbers
                share = probability_of_second(usual.ask())
                return {one: 1.0 - share, other: share}
            values = self._rows.check(x)
            if self._model is None:
                return {False: 0.5, True: 0.5}
            row = self._row(x, values)[None]
            if self._model.classes == 2:
                share = probability_of_second(float(self._model.scores(row).scores[0, 0]))
                return dict(zip(self._labels.numbers, (1.0 - share, share), strict=True))
            found = self._model.predict(row)[0].tolist()
            return dict(zip(self._labels.numbers, found, strict=True))

    def predict_one(self, x: Features, **kwargs: Any) -> Any:
        """The most probable label; None before any was seen."""
        chances = self.predict_proba_one(x)
        return None if self._model is None else max(chances, key=chances.__getitem__)

    def predict_set_one(self, x: Features, level: float = 0.9) -> set[Any]:
        """Labels that together hold the truth as often as the level says.

        Every set holds the most probable label.

        On every window of n rows, a level of 0.9 has at most 0.1 n + 20 sets without the truth,
        whatever happens; rows of a label that nobody had seen before are not counted, as no set can
        hold it. Sets are learned from the first time that a level is asked for, so ask from the
        first row on; the first five hold all labels that are known.

        Parameters
        ----------
        x
            Features by name: finite numbers.
        level
            What share of the truths a set is to hold, in (0, 1).
        """
        chances = self.predict_proba_one(x)
        inside = self._sets(np.array([list(chances.values())]), level)[0]
        return {label for label, held in zip(chances, inside.tolist(), strict=True) if held}

    def _sets(self, chances: Matrix, level: Any) -> Any:
        """Which labels are in the sets of rows, truths of shape ``(T, K)``."""
        bounds = self._intervals.intervals(real("level", level), np.zeros(len(chances)), None)
        return probability_above(chances) <= bounds[:, 1:]

    @property
    def coefficients(self) -> dict[Any, dict[Hashable, float]]:
        """For each label, or for the second of two: change of its log-odds with each feature, by
        name and in its own units.
        """
        self._require_learned()
        return dict(
            zip(
                self._told_labels,
                map(self._named, coefficients.of_classes(self._model)[0]),
                strict=True,
            )
        )

    @property
    def intercept_(self) -> dict[Any, float]:
        """For each label, or for the second of two: its log-odds where all features are 0."""
        self._require_learned()
        return dict(
            zip(self._told_labels, coefficients.of_classes(self._model)[1].tolist(), strict=True)
        )

    @property
    def _told_labels(self) -> list[Any]:
        return self.classes_ if len(self._model.group) > 1 else self.classes_[-1:]

    def _make(self) -> ClassModel:
        return ClassModel(self._fresh, len(self._labels))

    def _models(self) -> dict[str, HeadSnapshot]:
        self._require_learned()
        return dict(self._model.named(self.classes_))

    def _learned(self) -> tuple[Any, State] | None:
        learned = super()._learned()
        return learned and (learned[0], learned[1] | {"labels": self._labels.to_json()})

    def _resume(self, saved: Mapping[str, Any]) -> Any:
        self._labels.load_json(saved["labels"])
        if not 1 <= len(self._labels) == np.size(saved["model.counts"]):
            raise ValueError("it has not as many labels as models.")
        return super()._resume(saved)
