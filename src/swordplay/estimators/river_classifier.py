"""Classification for river: a thin coat over the compiled engine, with nothing to set."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from river import base

from swordplay.core.types import Matrix
from swordplay.estimators.named_classes import NamedClassification
from swordplay.estimators.named_rows import frame_like, frame_of, series_like, targets
from swordplay.estimators.river_coat import RiverCoat


class SwordClassifier(NamedClassification, RiverCoat, base.MiniBatchClassifier):
    """Logistic regression that tracks a drifting target, for any number of classes and with nothing
    to set.

    Two classes share one model; more have one each, and their probabilities are divided by their
    sum. Classes may join at any time. Truth values are both known as soon as one of them was seen.
    Features come and go as in :class:`swordplay.river.SwordRegressor`.

    Parameters
    ----------
    radius, memory, clip, standardize, intercept
        As in :class:`swordplay.river.SwordRegressor`; the radius is one of log-odds.
    lags
        ``"auto"``, as in :class:`swordplay.river.SwordRegressor`; or how many of the last labels
        join the features, as truths of "was it this class".
    curves
        As in :class:`swordplay.river.SwordRegressor`, for up to sixteen classes. The probabilities
        of three or more are made as sure as they are right, unless it is None.

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
    """  # noqa: E501

    @property
    def _multiclass(self) -> bool:
        return True

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn rows in their order: the same model, bit by bit, as from :meth:`learn_one` row by
        row.

        Parameters
        ----------
        X
            A frame with a column per feature (pandas, polars or any other that narwhals knows).
        y
            A series of labels.
        """
        frame = frame_of(X)
        rows = self._table(frame, self._rows.with_news(frame.columns))
        labels = [self._labels.check(label) for label in targets(y, len(rows)).tolist()]
        if not labels:
            return
        self._learn_labels(self._grown(frame.columns), rows, labels)

    def predict_proba_many(self, X: Any) -> Any:
        """Probabilities for the rows of a frame, by what is known now.

        A frame of the same make with a column per class.
        """
        frame = frame_of(X)
        return frame_like(self._probabilities(frame), self.classes_ or [False, True], frame)

    def predict_set_many(self, X: Any, level: float = 0.9) -> Any:
        """Which labels are in the set of each row of a frame, by what is known now.

        A frame of truths with a column per class.

        Each row gets the set that it would have as the next one (see :meth:`predict_set_one`).
        """
        frame = frame_of(X)
        return frame_like(
            self._sets(self._probabilities(frame), level), self.classes_ or [False, True], frame
        )

    def predict_many(self, X: Any) -> Any:
        """The most probable label of each row of a frame; a series of the same make."""
        frame = frame_of(X)
        best = self._probabilities(frame).argmax(axis=1).tolist()
        labels = self.classes_
        return series_like([labels[k] for k in best] if labels else [None] * len(best), frame)

    def _probabilities(self, frame: nw.DataFrame[Any]) -> Matrix:
        rows = self._table(frame, self._rows.places)
        return (
            np.full((len(rows), 2), 0.5)
            if self._model is None
            else self._model.predict(rows, len(rows))
        )
