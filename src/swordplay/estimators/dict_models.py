"""DictRegressor and DictClassifier: models of rows that are dictionaries of features."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from swordplay.core.arguments import real, short_repr
from swordplay.core.model_lock import locks_itself
from swordplay.core.types import Array, Matrix, State, Vector
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

Features = Mapping[Hashable, Any]
"""A row: values by name."""
PLAIN_LABELS = frozenset({bool, str, int})
"""Types of labels that are looked up without a check."""


class DictModel(ModelReport, SavedModel):
    """Methods of both models; a subclass makes the model and learns targets of its kind.

    The parameters are those of :class:`swordplay.river.SwordRegressor`; ``curves`` switches the
    second-order layer.
    """

    loss: LossName

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
        self.radius = radius
        self.memory = memory
        self.clip = clip
        self.standardize = standardize
        self.intercept = intercept
        self.lags = lags
        self.curves = curves
        self._settings = settings(self)
        self._columns = DictColumns()
        self._intervals = LevelIntervals()
        self._model: Any = None
        """What learns and predicts; None before the first row."""

    def __setattr__(self, name: str, value: Any) -> None:
        """Check a parameter that is changed; refuse changes after the first learned row."""
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

    # ------------------------------------------------------------------ for subclasses and late

    @abstractmethod
    def _make(self) -> Any:
        """Return a fresh model for the present columns."""

    @abstractmethod
    def learn_table(
        self, table: Matrix, truths: Sequence[Any], earlier_forecast: Forecast | None = None
    ) -> None:
        """Learn rows of a table in the order of the columns, all of whose names are known.

        Parameters
        ----------
        table
            Shape ``(T, d)``, NaN for missing values.
        truths
            Checked targets or labels.
        earlier_forecast
            Forecast of the rows, if they were predicted earlier.
        """

    @abstractmethod
    def deferred_rows(self) -> DeferredRows:
        """Return the adapter that :class:`swordplay.late.LateModel` uses."""

    def learn_run(
        self,
        rows: Sequence[Features],
        truths: Sequence[Any],
        earlier_forecast: Forecast | None = None,
    ) -> None:
        """Learn rows of finite numbers; only the first may have names that have no column yet.

        Parameters
        ----------
        rows
            Rows whose names have a column or occur in the first of them.
        truths, earlier_forecast
            As in :meth:`learn_table`.
        """
        self._with_columns(rows[0])
        self.learn_table(self._columns.to_table(rows)[0], truths, earlier_forecast)

    def to_table(self, rows: Sequence[Mapping[Hashable, float]]) -> tuple[Matrix, bool]:
        """Return rows of finite numbers as a table, and whether :meth:`learn_table` accepts it."""
        table, are_known = self._columns.to_table(rows)
        return table, are_known and self._model is not None

    def arrange(self, names: Sequence[Hashable], values: Matrix) -> tuple[Matrix, bool]:
        """Return named columns as a table, and whether :meth:`learn_table` accepts it."""
        table, are_known = self._columns.arrange(names, values)
        return table, are_known and self._model is not None

    # ------------------------------------------------------------------ columns

    def _with_columns(self, names: Iterable[Hashable]) -> Any:
        """Return the model, with a column for each of the names."""
        new = self._columns.new_names(names)
        if new:
            self._columns.add(new)
            if self._model is not None:
                self._model.widen(len(self._columns))
        if self._model is None:
            self._model = self._make()
        return self._model

    def _make_linear(self) -> LinearModel:
        """Return a fresh model of one score; it has a column even if no row had a feature yet."""
        return LinearModel(max(1, len(self._columns)), loss=self.loss, **self._settings)

    def _row(self, x: Features) -> Vector:
        """Return a checked row in the order of the columns, NaN for missing features."""
        values = self._columns.check(x)
        row = np.empty(max(1, len(self._columns)))
        self._columns.write(x, values, row)
        return row

    # ------------------------------------------------------------------ report and saving

    def _by_name(self, values: Vector) -> dict[Hashable, float]:
        """Return the coefficients of columns by name; those of lags stand before them."""
        lags = len(values) - max(1, len(self._columns))
        return {
            name: float(values[lags + column]) for name, column in self._columns.column_of.items()
        }

    def _second(self) -> SecondOrderLayer | None:
        """Return the second-order layer."""
        # the model has no type before it is made
        return self._model.second_order  # type: ignore[no-any-return]

    def _fitted_model(self) -> Any:
        """Return the model; raise if there is none."""
        if self._model is None:
            raise AttributeError(
                f"this {type(self).__name__} has not learned anything yet. Call learn_one or "
                "learn_many first."
            )
        return self._model

    def _learned(self) -> tuple[Any, State] | None:
        """Return the model and what is saved beside it; None before anything was learned."""
        if self._model is None:
            return None
        return self._model, {"names": self._columns.to_json()} | self._intervals.state()

    def _resume(self, saved: Mapping[str, Any]) -> Any:
        self._intervals = LevelIntervals.from_state(saved)
        self._columns.load_json(saved["names"])
        self._model = self._make()
        return self._model


class DictRegressor(DictModel):
    """Regression on rows that are dictionaries of features."""

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
        """Learn one row.

        Parameters
        ----------
        x
            Features by name: finite numbers.
        y
            Target: a finite number.
        """
        with self._lock:
            model = self._model
            if (
                model is not None
                and type(y) is float
                and -LARGEST <= y <= LARGEST
                and not self._intervals.by_level
                and self._columns.write_if_plain(x, model.workspace)
            ):
                model.workspace.learn(y)
                return
            values = self._columns.check(x)
            target = number("y", y)
            workspace = self._with_columns(x).workspace
            row = workspace.row[workspace.lags :]
            self._columns.write(x, values, row)
            prediction = workspace.learn(target)
            if self._intervals.by_level:
                self._intervals.learn(np.array([prediction]), np.array([target]), row[None])

    @locks_itself
    def predict_one(self, x: Features, with_interval: bool = False, level: float = 0.9) -> Any:
        """Return the prediction for one row; 0 before anything was learned.

        Features that were never learned are left out.

        Parameters
        ----------
        x
            Features by name: finite numbers.
        with_interval
            Whether to return a prediction interval instead (river's ``conf.Interval``); False by
            default. Intervals are learned from the first request for their level on, so request
            them from the first row on; the first five are infinite.
        level
            Share of the targets that intervals are to hold, in (0, 1); 0.9 by default.
        """
        with self._lock:
            if with_interval:
                return self._interval(x, level)
            model = self._model
            if model is None:
                self._columns.check(x)
                return 0.0
            workspace = model.workspace
            if not self._columns.write_if_plain(x, workspace):
                values = self._columns.check(x)
                self._columns.write(x, values, workspace.row[workspace.lags :])
            return workspace.predict()

    def _interval(self, x: Features, level: float) -> Any:
        """Return the lower and the upper end of the interval of one row."""
        rows = self._row(x)[None]
        predictions = np.zeros(1) if self._model is None else self._model.predict(rows)
        low, high = self._intervals.intervals(real("level", level), predictions, rows)[0]
        return float(low), float(high)

    def learn_table(
        self, table: Matrix, truths: Sequence[float], earlier_forecast: Forecast | None = None
    ) -> None:
        """Learn rows of a table in the order of the columns, all of whose names are known."""
        targets = np.array(truths, dtype=np.float64)
        predictions = self._model.predict_then_learn(
            table, targets, earlier_forecast=earlier_forecast
        )
        if self._intervals.by_level:
            self._intervals.learn(predictions, targets, table)

    def deferred_rows(self) -> DeferredRows:
        """Return the adapter that :class:`swordplay.late.LateModel` uses."""
        return DictDeferredRows(self, predicts_labels=False)

    @property
    def coefficients(self) -> dict[Hashable, float]:
        """Change of the prediction per unit of each feature, by name."""
        return self._by_name(self._in_raw_units()[0])

    @property
    def lag_coef_(self) -> Vector:
        """Change of the prediction per unit of each lag, the newest first, shape ``(lags,)``."""
        return self._in_raw_units()[0][: -max(1, len(self._columns))]

    @property
    def intercept_(self) -> float:
        """Prediction where all features and lags are 0."""
        return self._in_raw_units()[1]

    def _in_raw_units(self) -> tuple[Vector, float]:
        """Return the coefficients of lags and columns, and the intercept."""
        return coefficients.of_model(self._fitted_model())

    def _make(self) -> LinearModel:
        return self._make_linear()

    def _models(self) -> dict[str, HeadSnapshot]:
        return {"y": self._fitted_model().head}


class DictClassifier(DictModel):
    """Classification of rows that are dictionaries of features."""

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
        """Labels in order of appearance."""
        return list(self._labels.numbers)

    @locks_itself
    def learn_one(self, x: Features, y: Any) -> None:
        """Learn one row.

        Parameters
        ----------
        x
            Features by name: finite numbers.
        y
            Label: a boolean, a number or a string. A new one joins the classes.
        """
        with self._lock:
            model = self._model
            if (
                model is not None
                and model.classes == 2
                and type(y) in PLAIN_LABELS
                and y in self._labels.numbers
                and not self._intervals.by_level
                and self._columns.write_if_plain(x, model.groups[0].workspace)
            ):
                label = self._labels.numbers[y]
                model.groups[0].workspace.learn(label)
                model.counts[label] += 1.0
                return
            values = self._columns.check(x)
            checked = self._labels.check(y)
            self._with_columns(x)
            row = np.empty(max(1, len(self._columns)))
            self._columns.write(x, values, row)
            self.learn_table(row[None], [checked])

    @locks_itself
    def predict_proba_one(self, x: Features, **kwargs: Any) -> dict[Any, float]:
        """Return the probability of every label so far; one half of each boolean before any.

        Features that were never learned are left out. River passes ``kwargs``, which are ignored.

        Parameters
        ----------
        x
            Features by name: finite numbers.
        """
        with self._lock:
            model = self._model
            if model is None:
                self._columns.check(x)
                return {False: 0.5, True: 0.5}
            if model.classes == 2:
                workspace = model.groups[0].workspace
                if not self._columns.write_if_plain(x, workspace):
                    values = self._columns.check(x)
                    self._columns.write(x, values, workspace.row[workspace.lags :])
                second = probability_of_second(workspace.predict())
                first_label, second_label = self._labels.numbers
                return {first_label: 1.0 - second, second_label: second}
            probabilities = model.predict(self._row(x)[None])[0].tolist()
            return dict(zip(self._labels.numbers, probabilities, strict=True))

    def predict_one(self, x: Features, **kwargs: Any) -> Any:
        """Return the most probable label; None before any was seen."""
        probabilities = self.predict_proba_one(x)
        if self._model is None:
            return None
        return max(probabilities, key=probabilities.__getitem__)

    def predict_set_one(self, x: Features, level: float = 0.9) -> set[Any]:
        """Return the prediction set of one row; a share ``level`` of sets hold the true label.

        Every set holds the most probable label. On every window of n rows, a level of 0.9 has at
        most 0.1 n + 20 sets without the true label, whatever the data; rows whose label is new are
        not counted, as no set can hold it. Sets are learned from the first request for their level
        on, so request them from the first row on; the first five hold all labels that are known.

        Parameters
        ----------
        x
            Features by name: finite numbers.
        level
            Share of the true labels that sets are to hold, in (0, 1); 0.9 by default.
        """
        probabilities = self.predict_proba_one(x)
        is_inside = self._sets(np.array([list(probabilities.values())]), level)[0]
        return {label for label, inside in zip(probabilities, is_inside, strict=True) if inside}

    def _sets(self, probabilities: Matrix, level: Any) -> Array:
        """Return which labels are in the sets of rows, booleans of shape ``(T, K)``."""
        zeros = np.zeros(len(probabilities))
        bounds = self._intervals.intervals(real("level", level), zeros, None)
        return np.asarray(probability_above(probabilities) <= bounds[:, 1:])

    def learn_table(
        self, table: Matrix, truths: Sequence[Any], earlier_forecast: Forecast | None = None
    ) -> None:
        """Learn rows of a table in the order of the columns, all of whose names are known."""
        model = self._model
        for first, numbers in self._labels.runs(list(truths)):
            # a run begins with a new label, or with the first row
            is_new = numbers[0] >= model.classes
            model.grow(len(self._labels))
            rows = slice(first, first + len(numbers))
            forecast = None if earlier_forecast is None else earlier_forecast.rows(rows)
            probabilities = model.predict_then_learn(
                table[rows], np.array(numbers), earlier_forecast=forecast
            )
            # no set could hold the new label of the first row
            known = slice(int(is_new), None)
            if self._intervals.by_level and len(numbers[known]):
                scores = of_true_labels(probability_above(probabilities[known]), numbers[known])
                self._intervals.learn(np.zeros(len(scores)), scores, None)

    def deferred_rows(self) -> DeferredRows:
        """Return the adapter that :class:`swordplay.late.LateModel` uses."""
        return DictDeferredRows(self, predicts_labels=True)

    @property
    def coefficients(self) -> dict[Any, dict[Hashable, float]]:
        """Change of the log-odds per unit of each feature, by label and name.

        There is one entry for each label; with two labels there is one, for the second.
        """
        found = coefficients.of_classes(self._fitted_model())[0]
        return dict(zip(self._scored_labels(), map(self._by_name, found), strict=True))

    @property
    def intercept_(self) -> dict[Any, float]:
        """Log-odds where all features are 0, by label; with two labels, only for the second."""
        found = coefficients.of_classes(self._fitted_model())[1]
        return dict(zip(self._scored_labels(), found.tolist(), strict=True))

    def _scored_labels(self) -> list[Any]:
        """Return the labels with log-odds: all of them, or the second of two."""
        labels = list(self._labels.numbers)
        return labels if len(self._model.heads) > 1 else labels[-1:]

    def _make(self) -> ClassModel:
        return ClassModel(self._make_linear, len(self._labels))

    def _models(self) -> dict[str, HeadSnapshot]:
        return dict(self._fitted_model().named(list(self._labels.numbers)))

    def _learned(self) -> tuple[Any, State] | None:
        learned = super()._learned()
        return learned and (learned[0], learned[1] | {"labels": self._labels.to_json()})

    def _resume(self, saved: Mapping[str, Any]) -> Any:
        self._labels.load_json(saved["labels"])
        if not 1 <= len(self._labels) == np.size(saved["model.counts"]):
            raise ValueError(
                f"it has {len(self._labels)} labels, but counts of "
                f"{np.size(saved['model.counts'])} classes."
            )
        return super()._resume(saved)
