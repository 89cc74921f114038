"""Estimators for river: thin coats over the compiled engine, for streams and with nothing to set.

Features come as dictionaries or frames, appear and vanish at will. An input that is refused changes nothing: all of it is
checked before any of it is learned.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from river import base, conf

from swordplay.base.arguments import real, shown
from swordplay.base.types import Matrix, State, Vector
from swordplay.estimators import raw_units
from swordplay.estimators.bands import Bands
from swordplay.estimators.classes import OneModelPerClass
from swordplay.estimators.explained import Explained
from swordplay.estimators.head import Head
from swordplay.estimators.labels import Labels
from swordplay.estimators.model import MEMORY, LinearModel, LossName, regression_loss, settings
from swordplay.estimators.named_rows import NamedRows, frame_like, number, numeric_column, series_like, targets
from swordplay.estimators.saved import Saved, parameters, same

Features = Mapping[Hashable, Any]


class _Coat(Explained, Saved, base.Estimator):
    """Columns that join late: what both estimators share."""

    _library = "river."
    loss: LossName

    def __init__(self, radius: float, memory: float, clip: float, standardize: bool, intercept: bool, lags: int) -> None:
        self.radius = radius
        self.memory = memory
        self.clip = clip
        self.standardize = standardize
        self.intercept = intercept
        self.lags = lags
        self._settings = settings(self)
        self._rows = NamedRows()
        self._model: Any = None

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in parameters(type(self)) or "_model" not in vars(self):
            return super().__setattr__(name, value)
        before = getattr(self, name, value)
        if self._model is not None and not same(before, value):
            raise ValueError(
                f"{name} is {shown(before)} and cannot become {shown(value)}: this {type(self).__name__} has learned already. "
                f"Make a new one with clone({{{name!r}: {shown(value)}}})."
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
        """A model for the columns known so far; one at least, so that rows without features can be learned too."""
        return LinearModel(max(1, len(self._rows)), loss=self.loss, **self._settings)

    @abstractmethod
    def _make(self) -> Any:
        """What learns: a model, or several."""

    def _grown(self, names: Any) -> Any:
        """The model, with a column for each of the names."""
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

    def _row(self, x: Features, values: list[float]) -> Vector:
        return self._rows.row(x, values) if self._rows.places else NOTHING

    def _named(self, coefficients: Vector) -> dict[Hashable, float]:
        """Coefficients of lags and columns, those of columns by their names."""
        return {name: float(coefficients[self._settings["lags"] + place]) for name, place in self._rows.places.items()}

    def _require_learned(self) -> None:
        if self._model is None:
            raise AttributeError(
                f"this {type(self).__name__} has not learned anything yet. Call learn_one or learn_many first."
            )

    def _learned(self) -> tuple[Any, State] | None:
        return None if self._model is None else (self._model, {"names": self._rows.dumps()})

    def _resume(self, saved: Mapping[str, Any]) -> Any:
        self._rows.loads(saved["names"])
        self._model = self._make()
        return self._model


NOTHING = np.full(1, np.nan)
"""A row of a model that has seen no feature yet."""


class SwordRegressor(_Coat, base.MiniBatchRegressor):
    """Linear regression that tracks a drifting target, with nothing to set.

    Features are scaled as they come and clipped, the target's place and spread are followed, and many step sizes learn at
    once (``SwordAgeless``). Features may appear, vanish and return; one that is missing counts as lying at its centre and
    teaches nothing. A row without any feature teaches the intercept and the target's place.

    Parameters
    ----------
    loss
        ``"squared"``, or ``"huber"`` where the target has heavy tails: residuals beyond one spread then pull no harder.
    radius
        Of the ball where the coefficients of the scaled features live, in spreads of the target.
    memory
        Rounds that the weights of the experts remember; the shorter, the less well experts are told apart.
    clip
        Scaled values beyond this are clipped.
    standardize
        Whether to scale the features.
    intercept
        Whether to learn an intercept.
    lags
        How many of the last targets join the features: the last ones that were learned, when targets arrive late.

    Attributes
    ----------
    coefficients, intercept_, lag_coef_
        What the prediction is made of, in the units of the features and of the target: the whole of it wherever no feature
        is missing or clipped. (``intercept`` is the parameter.)
    weights_, step_sizes_, effective_step_size_, certificate_
        The experts, see there.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from swordplay.river import SwordRegressor
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), SwordRegressor(), metrics.MAE()).get() < 0.5
    True
    """

    def __init__(
        self,
        loss: str = "squared",
        radius: float = 32.0,
        memory: float = MEMORY,
        clip: float = 5.0,
        standardize: bool = True,
        intercept: bool = True,
        lags: int = 0,
    ) -> None:
        super().__init__(radius, memory, clip, standardize, intercept, lags)
        self.loss = regression_loss(loss)

    def learn_one(self, x: Features, y: float) -> None:
        """Learn from one row.

        Parameters
        ----------
        x
            Features by name: finite numbers.
        y
            Target: a finite number.
        """
        values, target = self._rows.check(x), number("y", y)
        model = self._grown(x)
        row = self._row(x, values)
        if self._bands.by_level:
            self._bands.learn(np.array([model.predict_row(row)]), np.array([target]), row[None])
        model.learn_row(row, target)

    def predict_one(self, x: Features, with_interval: bool = False, level: float = 0.9) -> Any:
        """The prediction for one row, 0 before anything was learned. Features never learned from are left out.

        Parameters
        ----------
        x
            Features by name: finite numbers.
        with_interval
            Whether to return an interval instead, as river's own ``conf.Interval``. Intervals are learned from the first time
            that a level is asked for, so ask from the first row on; the first five are infinite.
        level
            What share of the truths an interval is to hold, in (0, 1).
        """
        values = self._rows.check(x)
        row = self._row(x, values)
        prediction = 0.0 if self._model is None else self._model.predict_row(row)
        if not with_interval:
            return prediction
        bounds = self._bands.intervals(real("level", level), np.array([prediction]), row[None])
        return conf.Interval(float(bounds[0, 0]), float(bounds[0, 1]))

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn rows in their order: the same model, bit by bit, as from :meth:`learn_one` row by row.

        Parameters
        ----------
        X
            A frame with a column per feature (pandas, polars or any other that narwhals knows).
        y
            A series of targets.
        """
        frame = nw.from_native(X, eager_only=True)
        rows = self._table(frame, self._rows.with_news(frame.columns))
        wanted = numeric_column("y", targets(y, len(rows)))
        if len(rows):
            predictions = self._grown(frame.columns).predict_then_learn(rows, wanted)
            if self._bands.by_level:
                self._bands.learn(predictions, wanted, rows)

    def predict_many(self, X: Any) -> Any:
        """Predictions for the rows of a frame, by what is known now; a series of the same make."""
        frame = nw.from_native(X, eager_only=True)
        rows = self._table(frame, self._rows.places)
        return series_like(np.zeros(len(rows)) if self._model is None else self._model.predict(rows), frame)

    @property
    def coefficients(self) -> dict[Hashable, float]:
        """Change of the prediction with each feature, by its name and in its own units."""
        return self._named(raw_units.of_model(self._models()["y"])[0])

    @property
    def lag_coef_(self) -> Vector:
        """Change of the prediction with each lag, the newest first, shape ``(lags,)``."""
        return raw_units.of_model(self._models()["y"])[0][: self._settings["lags"]]

    @property
    def intercept_(self) -> float:
        """Prediction where all features (and lags) are 0."""
        return raw_units.of_model(self._models()["y"])[1]

    @property
    def _bands(self) -> Bands:
        """Intervals of the levels that were asked for; none in a model that was pickled before there were any."""
        return self.__dict__.setdefault("_own_bands", Bands())  # type: ignore[no-any-return]

    def _learned(self) -> tuple[Any, State] | None:
        learned = super()._learned()
        return learned and (learned[0], learned[1] | self._bands.state())

    def _resume(self, saved: Mapping[str, Any]) -> Any:
        self._own_bands = Bands.of_state(saved)
        return super()._resume(saved)

    def _make(self) -> LinearModel:
        return self._fresh()

    def _models(self) -> dict[str, Head]:
        self._require_learned()
        return {"y": self._model.head}


class SwordClassifier(_Coat, base.MiniBatchClassifier):
    """Logistic regression that tracks a drifting target, for any number of classes and with nothing to set.

    Two classes share one model; more have one each, and their probabilities are divided by their sum. Classes may join at
    any time. Truth values are both known as soon as one of them was seen. Features come and go as in
    :class:`SwordRegressor`.

    Parameters
    ----------
    radius, memory, clip, standardize, intercept
        As in :class:`SwordRegressor`; the radius is one of log-odds.
    lags
        How many of the last labels join the features, as truths of "was it this class".

    Attributes
    ----------
    classes_
        Labels, in the order in which they came.
    coefficients, intercept_
        Of the log-odds of each label, or of the second of two.
    weights_, step_sizes_, effective_step_size_, certificate_
        The experts of the model, or of the model of each class.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from swordplay.river import SwordClassifier
    >>> evaluate.progressive_val_score(datasets.Phishing(), SwordClassifier(), metrics.Accuracy()).get() > 0.88
    True
    """

    loss = "logistic"

    def __init__(
        self,
        radius: float = 32.0,
        memory: float = MEMORY,
        clip: float = 5.0,
        standardize: bool = True,
        intercept: bool = True,
        lags: int = 0,
    ) -> None:
        super().__init__(radius, memory, clip, standardize, intercept, lags)
        self._labels = Labels()

    @property
    def _multiclass(self) -> bool:
        return True

    @property
    def classes_(self) -> list[Any]:
        """Labels, in the order in which they came."""
        return list(self._labels.places)

    def learn_one(self, x: Features, y: Any) -> None:
        """Learn from one row.

        Parameters
        ----------
        x
            Features by name: finite numbers.
        y
            Label: a truth value, a number or a string. One that is new joins the classes.
        """
        values, label = self._rows.check(x), self._labels.check(y)
        model = self._grown(x)
        place = self._labels.place(label)
        model.grow(len(self._labels))
        model.learn_row(self._row(x, values), place)

    def predict_proba_one(self, x: Features, **kwargs: Any) -> dict[Any, float]:
        """The probability of every class seen so far; before any, of both truth values."""
        values = self._rows.check(x)
        if self._model is None:
            return {False: 0.5, True: 0.5}
        return dict(zip(self._labels.places, self._model.predict_row(self._row(x, values)), strict=True))

    def predict_one(self, x: Features, **kwargs: Any) -> Any:
        """The most probable label; None before any was seen."""
        probabilities = self.predict_proba_one(x)
        return None if self._model is None else max(probabilities, key=probabilities.__getitem__)

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn rows in their order: the same model, bit by bit, as from :meth:`learn_one` row by row.

        Parameters
        ----------
        X
            A frame with a column per feature (pandas, polars or any other that narwhals knows).
        y
            A series of labels.
        """
        frame = nw.from_native(X, eager_only=True)
        rows = self._table(frame, self._rows.with_news(frame.columns))
        labels = [self._labels.check(label) for label in targets(y, len(rows)).tolist()]
        if not labels:
            return
        model = self._grown(frame.columns)
        for first, places in self._labels.runs(labels):
            # A class that joins changes the models from its own row on, not before.
            model.grow(len(self._labels))
            model.predict_then_learn(rows[first : first + len(places)], np.array(places))

    def predict_proba_many(self, X: Any) -> Any:
        """Probabilities for the rows of a frame, by what is known now; a frame of the same make with a column per class."""
        frame = nw.from_native(X, eager_only=True)
        return frame_like(self._probabilities(frame), self.classes_ or [False, True], frame)

    def predict_many(self, X: Any) -> Any:
        """The most probable label of each row of a frame; a series of the same make."""
        frame = nw.from_native(X, eager_only=True)
        best = self._probabilities(frame).argmax(axis=1).tolist()
        labels = self.classes_
        return series_like([labels[k] for k in best] if labels else [None] * len(best), frame)

    def _probabilities(self, frame: nw.DataFrame[Any]) -> Matrix:
        rows = self._table(frame, self._rows.places)
        return np.full((len(rows), 2), 0.5) if self._model is None else self._model.predict(rows)

    @property
    def coefficients(self) -> dict[Any, dict[Hashable, float]]:
        """For each label, or for the second of two: change of its log-odds with each feature, by name and in its own units."""
        self._require_learned()
        return dict(zip(self._told_labels, map(self._named, raw_units.of_classes(self._model)[0]), strict=True))

    @property
    def intercept_(self) -> dict[Any, float]:
        """For each label, or for the second of two: its log-odds where all features are 0."""
        self._require_learned()
        return dict(zip(self._told_labels, raw_units.of_classes(self._model)[1].tolist(), strict=True))

    @property
    def _told_labels(self) -> list[Any]:
        return self.classes_ if len(self._model.team) > 1 else self.classes_[-1:]

    def _make(self) -> OneModelPerClass:
        return OneModelPerClass(self._fresh, len(self._labels))

    def _models(self) -> dict[str, Head]:
        self._require_learned()
        return dict(self._model.named(self.classes_))

    def _learned(self) -> tuple[Any, State] | None:
        learned = super()._learned()
        return learned and (learned[0], learned[1] | {"labels": self._labels.dumps()})

    def _resume(self, saved: Mapping[str, Any]) -> Any:
        self._labels.loads(saved["labels"])
        if not 1 <= len(self._labels) == np.size(saved["model.counts"]):
            raise ValueError("it has not as many labels as models.")
        return super()._resume(saved)
