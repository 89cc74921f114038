"""SwordRegressor and SwordAggregator for scikit-learn."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from swordplay.core import arguments
from swordplay.core.types import Array, Matrix, State, Vector
from swordplay.estimators.batch_fit import MAX_WIDTH, BatchCoefficients, learn_and_choose
from swordplay.estimators.batch_solvers import LeastSquares, table_scaling
from swordplay.estimators.level_intervals import LevelIntervals
from swordplay.estimators.model_report import ModelReport
from swordplay.estimators.sklearn_base import (
    SklearnModel,
    in_chunks,
    loss_weights,
    play,
    real_targets,
    refuse_words,
)
from swordplay.estimators.tuning import AUTO, MEMORY, regression_loss, settings
from swordplay.intervals import SwordIntervals

if TYPE_CHECKING:
    from swordplay.estimators.deferred_rows import DeferredRows
    from swordplay.estimators.forecast import Forecast
    from swordplay.estimators.head import Head
    from swordplay.estimators.mixture import Mixture
    from swordplay.estimators.model import LinearModel
    from swordplay.estimators.second_order import SecondOrder


class Regression(RegressorMixin, SklearnModel):  # type: ignore[misc]  # scikit-learn has no types
    """Fit, learn and predict for models of one number; subclasses say how to make the model."""

    @property
    def _intervals(self) -> LevelIntervals:
        """Intervals, made with the model."""
        return self._own_intervals

    def fit(self, X: Any, y: Any) -> Self:
        """Forget everything, then learn the rows once, in their order.

        :meth:`predict` then answers for rows to come.

        The stream ends with a decision for the next row. A batch of rows to come is answered by
        what would have done best on the blocks inside the table: least squares over all of its
        rows, over its last ones where it drifts, or the stream's own decision (see
        ``batch_fit``). That holds until more is learned: after :meth:`partial_fit` and
        :meth:`predict_then_learn`, which know nothing of it, :meth:`predict` answers for the next
        row again.

        Weights of rows are for :meth:`partial_fit`: scikit-learn wants a weight of 2 in ``fit`` to
        mean the same as the row twice, in any order, which no learner that goes through its rows in
        time can promise.

        Parameters
        ----------
        X
            Rows in time order, shape ``(T, d)``, dense or sparse.
        y
            Targets, shape ``(T,)``.
        """
        rows, targets, _ = self._prepared(X, y, None, fresh=True)
        self._study(rows, targets)
        self._predicts_batch = True
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn more rows, in their order.

        Parameters
        ----------
        X, y
            As in :meth:`fit`.
        sample_weight
            Factors of the losses, shape ``(T,)``; a row of weight 0 is not learned.
        """
        self._learn(X, y, sample_weight)
        return self

    def predict_then_learn(self, X: Any, y: Any, sample_weight: Any = None) -> Vector:
        """Predictions of rows, each made before its own target is learned: what a stream would have
        seen.

        The model afterwards is that of :meth:`partial_fit`, bit by bit.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`partial_fit`.
        """
        return self._learn(X, y, sample_weight)

    def predict(self, X: Any) -> Vector:
        """Predictions of rows by what is known now, shape ``(T,)``: after :meth:`fit` for a
        batch, else for the next row.
        """
        self._require_fitted()
        _ = self.model_  # refuses parameters that have changed, before anything else is looked at
        return self._answers(self._rows(X))

    def _answers(self, rows: Any, following: int = 1) -> Vector:
        """Predictions of rows that are clean; so many of them follow the last one learned."""
        model, batch = self.model_, self._batch
        answer = (
            self._asking(model, following)
            if batch is None
            else lambda part: batch.scores(part)[:, 0]
        )
        return np.asarray(in_chunks(answer, rows))

    def askable(self) -> DeferredRows:
        """What :class:`swordplay.late.LateModel` asks in place of the estimator itself."""
        from swordplay.estimators.deferred_rows import ArrayDeferredRows

        return ArrayDeferredRows(self, of_classes=False)

    def predict_interval(self, X: Any, level: Any = 0.9) -> Array:
        """Intervals of rows by what is known now: lower and upper ends, shape ``(T, 2)``.

        After :meth:`fit` for a batch of rows to come, by the quantile of the last residuals; else
        for the next row, as :meth:`predict_interval_then_learn` would give them. Infinite before
        enough is known.

        Parameters
        ----------
        X
            Rows, as in :meth:`predict`.
        level
            Share of the truths that an interval is to hold, in (0, 1). For several shares the
            result has shape ``(T, levels, 2)``.
        """
        predictions = self.predict(X)
        if self._batch is not None:
            return self._intervals.block_intervals(level, predictions)
        return self._intervals.intervals(level, predictions, self._rows(X))

    def predict_interval_then_learn(self, X: Any, y: Any, level: Any = 0.9) -> tuple[Vector, Array]:
        """Predictions of rows and their intervals, each made before its own target is learned.

        On every window of n rows, whatever happens, a level of 0.9 has at most 0.1 n + 20 misses
        (:class:`swordplay.intervals.SwordIntervals`). The model afterwards is that of
        :meth:`partial_fit`, bit by bit.

        Parameters
        ----------
        X, y
            As in :meth:`partial_fit`.
        level
            As in :meth:`predict_interval`.

        Returns
        -------
        predictions, intervals
            Shapes ``(T,)`` and ``(T, 2)``.
        """
        SwordIntervals(level)  # refuses what is no level, before anything is learned
        rows, targets, _ = self._prepared(X, y, None)
        predictions = np.asarray(play(self.model_, rows, targets, None))
        return predictions, self._intervals.interval_then_learn(level, predictions, targets, rows)

    def _asking(self, model: Any, following: int) -> Callable[[Matrix], Any]:
        """What predicts chunks of rows in their order; so many rows follow the last one learned."""
        return model.predict  # type: ignore[no-any-return]  # models of several classes come here

    def learn_asked(self, X: Any, y: Any, asked: Forecast | None) -> None:
        """Learn rows that were predicted earlier, as ``asked`` says, for ``LateModel``."""
        self._learn(X, y, None, asked)

    def _learn(self, X: Any, y: Any, sample_weight: Any, asked: Forecast | None = None) -> Vector:
        rows, targets, weights = self._prepared(X, y, sample_weight)
        predictions = np.asarray(play(self.model_, rows, targets, weights, asked))
        if weights is None or weights.all():
            self._intervals.learn(predictions, targets, rows)
        elif weights.any():
            self._intervals.learn(
                predictions[weights != 0], targets[weights != 0], rows[weights != 0]
            )
        return predictions

    def _study(self, rows: Any, targets: Any) -> None:
        self._intervals.learn(np.asarray(play(self.model_, rows, targets, None)), targets, rows)

    def _learned(self) -> tuple[Any, State] | None:
        learned = super()._learned()
        return learned and (learned[0], learned[1] | self._intervals.state())

    def _resume(self, saved: Mapping[str, Any]) -> Any:
        self._own_intervals = LevelIntervals.from_state(saved)
        return super()._resume(saved)

    def _prepared(
        self, X: Any, y: Any, sample_weight: Any, *, fresh: bool = False
    ) -> tuple[Any, Vector, Vector | None]:
        """Rows, targets and weights, all of them checked, and a model to learn them."""
        with self._all_or_nothing():
            fresh = fresh or not self.__sklearn_is_fitted__()
            if not fresh:
                _ = (
                    self.model_
                )  # refuses parameters that have changed, before anything else is looked at
            refuse_words("y", y)
            rows, targets = self._rows_and_targets(X, y, reset=fresh)
            targets = real_targets(targets)
            weights = loss_weights(sample_weight, len(targets))
            if fresh:
                self.model_ = self._make()
                self._own_intervals = LevelIntervals()
            self._go_on_as_a_stream()
        return rows, targets, weights


class SwordRegressor(ModelReport, Regression):
    """Regression that tracks a drifting target, linear and along curves, with nothing to set.

    Columns are scaled as they come and clipped, the target's place and spread are followed, and
    many step sizes learn at once (``SwordAgeless``). The order of the rows is time.

    Parameters
    ----------
    loss
        ``"squared"``, or ``"huber"`` where the target has heavy tails: residuals beyond one spread
        then pull no harder.
    radius
        Of the ball where the coefficients of the scaled columns live, in spreads of the target.
    memory
        Rounds that the weights of the experts remember; the shorter, the less well experts are told
        apart.
    clip
        Scaled entries beyond this are clipped.
    standardize
        Whether to scale the columns.
    intercept
        Whether to learn an intercept.
    lags
        ``"auto"`` lets experts with the last three targets, experts without, and "no change"
        compete. :meth:`predict` then uses the last targets for its first row only, which follows
        the last one learned, and does without for the rows behind it. (With ``curves=None``,
        ``"auto"`` is 0.) Or how many of the last targets join the columns of everybody;
        :meth:`predict` then uses the last ones that were learned for all its rows.
    encode
        Whether X may be a data frame with words, dates, truths and missing values, of which numbers
        are made as in ``swordplay track`` (see :class:`TableEncoder`): strings such as ``"50%"``
        and ``"31/01/2012"`` are read, a category gets a column with the first row that is learned
        of it, and what is missing counts as usual. Needs pyarrow.
    curves
        ``"auto"`` puts second-order experts beside the first-order ones, as long as there are at
        most 64 columns: Newton steps that forget, which do not mind correlated columns; and experts
        that correct the mixture of all along 16 curves of the columns, where that helps. ``"rich"``
        makes 64 curves. None leaves the linear model of first order.

    Attributes
    ----------
    coef_, intercept_
        In the units of the raw columns and of the target; they are the whole prediction (of the
        next row, with lags) wherever no entry is clipped, but for what curves add to it.
    lag_coef_
        Of the lags, the newest first, shape ``(lags,)``; three with ``lags="auto"``.
    weights_, step_sizes_, effective_step_size_
        The first-order experts, see there.
    certificate_
        A bound on the regret of the predictions, see there.
    n_features_in_, feature_names_in_
        Columns seen.
    coef_names_
        With ``encode=True``, what each coefficient belongs to, such as ``town_Bern``.

    Examples
    --------
    >>> import numpy as np
    >>> from swordplay.sklearn import SwordRegressor
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> model = SwordRegressor().fit(X, 3.0 * X[:, 0] + 1.0)
    >>> bool(abs(model.predict([[1.0, 0.0]])[0] - 4.0) < 0.1)
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
        lags: int | str = AUTO,
        encode: bool = False,
        curves: str | None = AUTO,
    ) -> None:
        self.loss = loss
        self.radius, self.memory, self.clip = radius, memory, clip
        self.standardize, self.intercept, self.lags, self.encode = (
            standardize,
            intercept,
            lags,
            encode,
        )
        self.curves = curves

    @property
    def coef_(self) -> Vector:
        """Change of the prediction with each raw column, shape ``(d,)``."""
        coefficients = self._in_raw_units()[0]
        return coefficients[len(coefficients) - self.model_.heads.dim :]

    @property
    def lag_coef_(self) -> Vector:
        """Change of the prediction with each lag, shape ``(lags,)``.

        0 in a batch, whose targets are not known.
        """
        coefficients = self._in_raw_units()[0]
        return coefficients[: len(coefficients) - self.model_.heads.dim]

    @property
    def intercept_(self) -> float:
        """Prediction where all raw columns (and lags) are 0."""
        return self._in_raw_units()[1]

    def _in_raw_units(self) -> tuple[Vector, float]:
        from swordplay.estimators import raw_units

        self._require_fitted()
        found = raw_units.of_mixture(self.model_)
        if self._batch is None:
            return found
        coefficients, intercepts = self._batch.in_raw_units()
        return np.append(np.zeros(len(found[0]) - coefficients.shape[1]), coefficients[0]), float(
            intercepts[0]
        )

    def _second(self) -> SecondOrder | None:
        # the model has no type before it is made
        return self.model_.second  # type: ignore[no-any-return]

    def _asking(self, model: Any, following: int) -> Callable[[Matrix], Any]:
        return self._in_order(model.predict, following)

    def _study(self, rows: Any, targets: Any) -> None:
        model = self.model_
        if rows.shape[1] + int(model.columns.intercept) > MAX_WIDTH:
            return super()._study(rows, targets)
        self._batch = learn_and_choose(
            len(targets),
            lambda first, last: super(SwordRegressor, self)._study(
                rows[first:last], targets[first:last]
            ),
            lambda first, last: in_chunks(
                functools.partial(model.predict, following=0), rows[first:last]
            )[:, None],
            lambda: LeastSquares(
                rows,
                table_scaling(model.columns, len(model.recent), rows),
                targets,
                self.loss,
                model.radius,
            ),
        )
        return None

    def _resume(self, saved: Mapping[str, Any]) -> Any:
        model = super()._resume(saved)
        self._batch = BatchCoefficients.from_state(
            saved, dim=len(self.coef_names_), models=1, has_intercept=model.columns.intercept
        )
        return model

    def _make(self) -> LinearModel:
        from swordplay.estimators.model import LinearModel

        return LinearModel(**self._start(), loss=regression_loss(self.loss), **settings(self))

    def _models(self) -> dict[str, Head]:
        self._require_fitted()
        return {"y": self.model_.head}


class SwordAggregator(Regression):
    """Combine the forecasts of several models by weights that drift.

    Each column of X is one model's forecast of y. The weights are not negative and sum to 1, and
    follow whichever models are good at present; where the best one changes, they beat every fixed
    combination.

    Parameters
    ----------
    loss
        ``"squared"``, or ``"huber"`` where the target has heavy tails.
    memory
        Rounds that the weights of the experts, each a way to combine, remember.

    Attributes
    ----------
    weights_
        Weight of each forecast, shape ``(d,)``.
    effective_step_size_
        How fast the weights follow: 1 believes the last row, 2^-13 thousands of them.

    Examples
    --------
    >>> import numpy as np
    >>> from swordplay.sklearn import SwordAggregator
    >>> y = np.random.default_rng(0).normal(size=300).cumsum()
    >>> forecasts = np.column_stack([y + 1.0, y - 1.0, y + 20.0])
    >>> SwordAggregator().fit(forecasts, y).weights_.round(1)
    array([0.4, 0.6, 0. ])
    """

    def __init__(self, loss: str = "squared", memory: float = 2000.0) -> None:
        self.loss = loss
        self.memory = memory

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = (
            True  # a mean of the columns, whatever the target: no regression in general
        )
        return tags

    @property
    def weights_(self) -> Vector:
        """Weight of each forecast, shape ``(d,)``."""
        self._require_fitted()
        return np.asarray(self.model_.combination)

    @property
    def effective_step_size_(self) -> float:
        """Weighted geometric mean of the step sizes."""
        self._require_fitted()
        return float(self.model_.effective_step_size)

    def _make(self) -> Mixture:
        from swordplay.estimators.mixture import Mixture

        return Mixture(
            self.n_features_in_,
            loss=regression_loss(self.loss),
            memory=arguments.positive("memory", self.memory),
        )
