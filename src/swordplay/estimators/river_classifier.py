"""Classification for river: a thin coat over the compiled engine, with nothing to set."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from river import base

from swordplay.base.types import Matrix, State
from swordplay.estimators import raw_units
from swordplay.estimators.classes import OneModelPerClass
from swordplay.estimators.head import Head
from swordplay.estimators.labels import Labels
from swordplay.estimators.model import MEMORY
from swordplay.estimators.named_rows import frame_like, series_like, targets
from swordplay.estimators.river_coat import Features, RiverCoat


class SwordClassifier(RiverCoat, base.MiniBatchClassifier):
    """Logistic regression that tracks a drifting target, for any number of classes and with nothing to set.

    Two classes share one model; more have one each, and their probabilities are divided by their sum. Classes may join at
    any time. Truth values are both known as soon as one of them was seen. Features come and go as in
    :class:`swordplay.river.SwordRegressor`.

    Parameters
    ----------
    radius, memory, clip, standardize, intercept
        As in :class:`swordplay.river.SwordRegressor`; the radius is one of log-odds.
    lags
        How many of the last labels join the features, as truths of "was it this class"; also ``"auto"``, as in
        :class:`swordplay.river.SwordRegressor`.
    curves
        As in :class:`swordplay.river.SwordRegressor`, for two classes; three or more do without.

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
        lags: int | str = 0,
        curves: str | None = None,
    ) -> None:
        super().__init__(radius, memory, clip, standardize, intercept, lags, curves)
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
        return np.full((len(rows), 2), 0.5) if self._model is None else self._model.predict(rows, len(rows))

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

    def _gain(self) -> float:
        return float(self._model.gain)

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
