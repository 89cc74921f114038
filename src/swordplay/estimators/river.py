"""SwordRegressor and SwordClassifier for river."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from river import base, conf

from swordplay.core.arguments import real
from swordplay.core.model_lock import locks_itself
from swordplay.core.types import Matrix
from swordplay.estimators.dict_columns import (
    frame_like,
    frame_of,
    numeric_column,
    series_like,
    targets,
)
from swordplay.estimators.dict_models import DictClassifier, DictModel, DictRegressor, Features


class RiverCoat(DictModel, base.Estimator):
    """Rows by name, for river."""

    _library = "river."


__all__ = ["SwordClassifier", "SwordRegressor"]


class SwordRegressor(DictRegressor, RiverCoat, base.MiniBatchRegressor):
    """Linear regression that tracks a drifting target, with nothing to set.

    Features are scaled as they come and clipped, the target's place and spread are followed, and
    many step sizes learn at once (``SwordAgeless``). Features may appear, vanish and return; one
    that is missing counts as lying at its centre and teaches nothing. A row without any feature
    teaches the intercept and the target's place.

    Parameters
    ----------
    loss
        ``"squared"``, or ``"huber"`` where the target has heavy tails: residuals beyond one spread
        then pull no harder.
    radius
        Of the ball where the coefficients of the scaled features live, in spreads of the target.
    memory
        Rounds that the weights of the experts remember; the shorter, the less well experts are told
        apart.
    clip
        Scaled values beyond this are clipped.
    standardize
        Whether to scale the features.
    intercept
        Whether to learn an intercept.
    lags
        ``"auto"`` lets experts with the last three targets, experts without, and "no change"
        compete (with ``curves=None`` it is 0). Or how many of the last targets join the features:
        the last ones that were learned, when targets arrive late.
    curves
        ``"auto"`` puts second-order experts beside the first-order ones, as long as there are at
        most 64 features: Newton steps that forget, which do not mind correlated features; and
        experts that correct the mixture of all along 16 curves of the features of the first row,
        where that helps. ``"rich"`` makes 64 curves. None leaves the linear model of first order.

    Attributes
    ----------
    coefficients, intercept_, lag_coef_
        What the prediction is made of, in the units of the features and of the target: the whole of
        it wherever no feature is missing or clipped, but for what curves add to it. (``intercept``
        is the parameter.)
    weights_, step_sizes_, effective_step_size_, certificate_
        The experts, see there.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from swordplay.river import SwordRegressor
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), SwordRegressor(), metrics.MAE()).get() < 0.5
    True
    """  # noqa: E501

    @locks_itself
    def predict_one(self, x: Features, with_interval: bool = False, level: float = 0.9) -> Any:
        """The prediction for one row, 0 before anything was learned.

        Features never learned from are left out.

        Parameters
        ----------
        x
            Features by name: finite numbers.
        with_interval
            Whether to return an interval instead, as river's own ``conf.Interval``. Intervals are
            learned from the first time that a level is asked for, so ask from the first row on; the
            first five are infinite.
        level
            What share of the truths an interval is to hold, in (0, 1).
        """
        with self._lock:
            if with_interval:
                return self._interval(x, level)
            usual = (
                self._rows.usual
            )  # as in DictRegressor: a call up there would be a tenth of the time
            return usual.ask() if usual is not None and usual.take(x) else self._predict_any(x)

    def _interval(self, x: Features, level: float) -> conf.Interval:
        row = self._row(x, self._rows.check(x))
        prediction = 0.0 if self._model is None else float(self._model.predict(row[None])[0])
        bounds = self._intervals.intervals(real("level", level), np.array([prediction]), row[None])
        return conf.Interval(float(bounds[0, 0]), float(bounds[0, 1]))

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn rows in their order: the same model, bit by bit, as from :meth:`learn_one` row by
        row.

        Parameters
        ----------
        X
            A frame with a column per feature (pandas, polars or any other that narwhals knows).
        y
            A series of targets.
        """
        frame = frame_of(X)
        rows = self._table(frame, self._rows.with_news(frame.columns))
        wanted = numeric_column("y", targets(y, len(rows)))
        if len(rows):
            predictions = self._grown(frame.columns).predict_then_learn(rows, wanted)
            if self._intervals.by_level:
                self._intervals.learn(predictions, wanted, rows)

    def predict_many(self, X: Any) -> Any:
        """Predictions for the rows of a frame, each as :meth:`predict_one` gives it.

        A series of the same make.
        """
        frame = frame_of(X)
        rows = self._table(frame, self._rows.places)
        # Each as if it were the next one, as river's own checks want it.
        return series_like(
            np.zeros(len(rows)) if self._model is None else self._model.predict(rows, len(rows)),
            frame,
        )


class SwordClassifier(DictClassifier, RiverCoat, base.MiniBatchClassifier):
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
