"""SwordRegressor and SwordAggregator for scikit-learn, with prediction intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from swordplay.core import arguments
from swordplay.core.types import Array, Matrix, Vector
from swordplay.estimators.batch_fit import MAX_WIDTH, BatchCoefficients, learn_and_choose
from swordplay.estimators.batch_solvers import LeastSquares, table_scaling
from swordplay.estimators.model_report import ModelReport
from swordplay.estimators.model_settings import AUTO, MEMORY, regression_loss, settings
from swordplay.estimators.sklearn_base import (
    SklearnModel,
    check_magnitudes,
    check_numeric,
    learn_in_chunks,
    predict_in_chunks,
)
from swordplay.intervals import SwordIntervals

if TYPE_CHECKING:
    from swordplay.estimators.deferred_rows import DeferredRows
    from swordplay.estimators.forecast import Forecast
    from swordplay.estimators.forecast_mixture import ForecastMixture
    from swordplay.estimators.linear_model import HeadSnapshot, LinearModel
    from swordplay.estimators.second_order_layer import SecondOrderLayer


class SklearnRegressor(RegressorMixin, SklearnModel):  # type: ignore[misc]  # scikit-learn has no types
    """Methods of both regressors; a subclass makes the model."""

    def fit(self, X: Any, y: Any) -> Self:
        """Forget everything, then learn the rows once, in their order.

        :meth:`predict` then answers for a whole batch of rows to come. It uses fixed coefficients:
        least squares over all rows, or over the last ones if the table drifts, or the decision of
        the stream, whichever did best on parts of the table that it had not seen. As soon as more
        rows are learned, :meth:`predict` answers for the next row.

        There is no ``sample_weight``: scikit-learn wants a weight of 2 to mean the same as the row
        twice, anywhere in the table, and the order of rows matters here. Give weights to
        :meth:`partial_fit`.

        Parameters
        ----------
        X
            Rows in the order of time, shape ``(T, d)``, dense or sparse.
        y
            Targets, shape ``(T,)``.
        """
        self._fit(X, y)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn more rows, in their order.

        Parameters
        ----------
        X, y
            As in :meth:`fit`.
        sample_weight
            Factors of the losses, from 0 to 1e6, shape ``(T,)``; a row of weight 0 is not learned.
            1 by default.
        """
        self._learn(X, y, sample_weight)
        return self

    def predict_then_learn(self, X: Any, y: Any, sample_weight: Any = None) -> Vector:
        """Learn rows in their order; return the prediction of each, made before it was learned.

        The model afterwards is exactly that of :meth:`partial_fit`.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`partial_fit`.

        Returns
        -------
        predictions
            Shape ``(T,)``.
        """
        return np.asarray(self._learn(X, y, sample_weight))

    def predict(self, X: Any) -> Vector:
        """Return predictions of rows, shape ``(T,)``; nothing is learned.

        After :meth:`fit` they are for a batch of rows to come, else for the next row.
        """
        self._fitted_model()
        return self._predict_rows(self._check_rows(X))

    def predict_interval(self, X: Any, level: Any = 0.9) -> Array:
        """Return the lower and upper ends of prediction intervals, shape ``(T, 2)``.

        After :meth:`fit` they are for a batch of rows to come, by the quantile of the last 1,000
        residuals; else for the next row, as :meth:`predict_interval_then_learn` would give them.
        They are infinite until enough rows were learned.

        Parameters
        ----------
        X
            Rows, as in :meth:`predict`.
        level
            Share of the targets that intervals are to hold, in (0, 1). Several shares give shape
            ``(T, levels, 2)``.
        """
        self._fitted_model()
        rows = self._check_rows(X)
        predictions = self._predict_rows(rows)
        if self._batch is not None:
            return self._intervals.block_intervals(level, predictions)
        return self._intervals.intervals(level, predictions, rows)

    def predict_interval_then_learn(self, X: Any, y: Any, level: Any = 0.9) -> tuple[Vector, Array]:
        """Learn rows in their order; return predictions and intervals made before each.

        On every window of n rows a level of 0.9 misses at most 0.1 n + 20 targets, whatever the
        data (:class:`swordplay.intervals.SwordIntervals`). The model afterwards is exactly that of
        :meth:`partial_fit`.

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
        SwordIntervals(level)  # refuses an invalid level before anything is learned
        rows, targets, _ = self._prepare(X, y)
        predictions = np.asarray(learn_in_chunks(self.model_, rows, targets))
        return predictions, self._intervals.interval_then_learn(level, predictions, targets, rows)

    def deferred_rows(self) -> DeferredRows:
        """Return the adapter that :class:`swordplay.late.LateModel` uses."""
        from swordplay.estimators.deferred_rows import ArrayDeferredRows

        return ArrayDeferredRows(self, predicts_labels=False)

    def _check_raw_targets(self, y: Any) -> None:
        check_numeric("y", y)

    def _check_targets(
        self, y: Any, *, fresh: bool, classes: Any = None, accepts_new: bool = False
    ) -> Vector:
        if type(y) is not np.ndarray or y.dtype != np.float64:
            y = arguments.as_doubles("y", y)
        return np.asarray(check_magnitudes("y", y))

    def _learn_rows(
        self,
        rows: Any,
        targets: Any,
        weights: Vector | None = None,
        earlier_forecast: Forecast | None = None,
    ) -> Vector:
        predictions = np.asarray(
            learn_in_chunks(self.model_, rows, targets, weights, earlier_forecast)
        )
        if weights is None or weights.all():
            self._intervals.learn(predictions, targets, rows)
        elif weights.any():
            learned = weights != 0.0
            self._intervals.learn(predictions[learned], targets[learned], rows[learned])
        return predictions

    def _predict_rows(self, rows: Any, following: int = 1) -> Vector:
        """Return predictions of checked rows, of which ``following`` follow the last one learned.

        After :meth:`fit` none does, whatever ``following`` says.
        """
        following = 0 if self._predicts_batch else following
        return np.asarray(predict_in_chunks(self._predict_chunk, rows, following))

    def _predict_chunk(self, rows: Matrix, following: int) -> Vector:
        return np.asarray(self.model_.predict(rows))


class SwordRegressor(ModelReport, SklearnRegressor):
    """Regression that tracks a drifting target; no parameter needs to be set.

    Columns are scaled as they come and clipped, the centre and spread of the target are tracked,
    and many step sizes learn at once (``SwordAgeless``). The order of the rows is time.

    Parameters
    ----------
    loss
        ``"squared"`` (default); or ``"huber"`` for targets with heavy tails, where residuals
        beyond one spread have a constant gradient.
    radius
        Radius of the ball of coefficients of the scaled columns, in spreads of the target; 32 by
        default.
    memory
        Rows that the weights of the experts remember, 4,000 by default. With fewer, experts are
        told apart less reliably.
    clip
        Scaled entries are clipped at this magnitude, in spreads of the column; 5 by default.
    standardize
        Whether to scale the columns; True by default.
    intercept
        Whether to learn an intercept; True by default.
    lags
        Use of the last targets as columns. With ``"auto"`` (default) experts with the last three
        targets, experts without, and the last target itself compete; :meth:`predict` then uses
        the last targets for its first row only, which follows the last one learned. A number k
        gives all experts the last k targets, and :meth:`predict` uses the last k that were learned
        for all its rows. With ``curves=None``, ``"auto"`` is 0.
    encode
        Whether X may be a data frame with words, dates, booleans and missing values, from which
        columns are made as in ``swordplay track`` (see :class:`TableEncoder`); False by default.
        Strings such as ``"50%"`` and ``"31/01/2012"`` are parsed, a category gets a column with
        its first learned row, and a missing value counts as the centre of its column. Needs
        pyarrow.
    curves
        ``"auto"`` (default) adds second-order experts, for at most 64 columns: Newton steps with
        forgetting, which handle correlated columns, and experts that correct the mixture along 16
        fixed nonlinear features of the columns, where that helps. ``"rich"`` makes 64 features.
        None is the linear first-order model.

    Attributes
    ----------
    coef_, intercept_
        Coefficients in the units of the raw columns and the target. They give the whole
        prediction (of the next row, with lags) where no entry is clipped, except for what curves
        add.
    lag_coef_
        Coefficients of the last targets, the newest first, shape ``(lags,)``; three with
        ``lags="auto"``.
    weights_, step_sizes_, effective_step_size_
        The first-order experts.
    certificate_
        Bound on the regret of the predictions so far.
    n_features_in_, feature_names_in_
        Number and names of the columns.
    coef_names_
        The column of each coefficient; with ``encode=True`` such as ``town_Bern``.

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
        self.radius = radius
        self.memory = memory
        self.clip = clip
        self.standardize = standardize
        self.intercept = intercept
        self.lags = lags
        self.encode = encode
        self.curves = curves

    @property
    def coef_(self) -> Vector:
        """Change of the prediction per unit of each raw column, shape ``(d,)``."""
        coefficients = self._in_raw_units()[0]
        return coefficients[len(coefficients) - self.model_.dim :]

    @property
    def lag_coef_(self) -> Vector:
        """Change of the prediction per unit of each lag, the newest first, shape ``(lags,)``.

        0 after :meth:`fit`, as the last targets of a batch of rows are not known.
        """
        coefficients = self._in_raw_units()[0]
        return coefficients[: len(coefficients) - self.model_.dim]

    @property
    def intercept_(self) -> float:
        """Prediction where all raw columns and lags are 0."""
        return self._in_raw_units()[1]

    def _in_raw_units(self) -> tuple[Vector, float]:
        """Return coefficients of lags and columns, shape ``(lags + d,)``, and the intercept."""
        from swordplay.estimators import coefficients as table_units

        found = table_units.of_model(self._fitted_model())
        if self._batch is None:
            return found
        coefficients, intercepts = self._batch.in_raw_units()
        lags = len(found[0]) - coefficients.shape[1]
        return np.append(np.zeros(lags), coefficients[0]), float(intercepts[0])

    def _second(self) -> SecondOrderLayer | None:
        # the model has no type before it is made
        return self.model_.second_order  # type: ignore[no-any-return]

    def _predict_chunk(self, rows: Matrix, following: int) -> Vector:
        if self._batch is not None:
            return self._batch.scores(rows)[:, 0]
        return np.asarray(self.model_.predict(rows, following))

    def _fit_rows(self, rows: Any, targets: Any) -> None:
        model = self.model_
        if rows.shape[1] + int(model.columns.intercept) > MAX_WIDTH:
            self._learn_rows(rows, targets)
            return

        def learn(first: int, last: int) -> None:
            self._learn_rows(rows[first:last], targets[first:last])

        def predict(first: int, last: int) -> Matrix:
            return predict_in_chunks(model.predict, rows[first:last])[:, None]

        def make_solver() -> LeastSquares:
            scaling = table_scaling(model.columns, len(model.recent), rows)
            return LeastSquares(rows, scaling, targets, self.loss, model.radius)

        self._batch = learn_and_choose(len(targets), learn, predict, make_solver)

    def _resume(self, saved: Mapping[str, Any]) -> Any:
        model = super()._resume(saved)
        self._batch = BatchCoefficients.from_state(
            saved, dim=len(self._coef_names()), models=1, has_intercept=model.columns.intercept
        )
        return model

    def _make(self) -> LinearModel:
        from swordplay.estimators.linear_model import LinearModel

        return LinearModel(**self._model_size(), loss=regression_loss(self.loss), **settings(self))

    def _models(self) -> dict[str, HeadSnapshot]:
        return {"y": self._fitted_model().head}


class SwordAggregator(SklearnRegressor):
    """Combination of the forecasts of several models, with weights that drift.

    Each column of X is one model's forecast of y. The weights are non-negative, sum to 1 and
    follow the models that are best at present; where the best model changes, they beat every
    fixed combination.

    Parameters
    ----------
    loss
        ``"squared"`` (default), or ``"huber"`` for targets with heavy tails.
    memory
        Rows that the weights of the experts remember, 2,000 by default; each expert is one way to
        combine the forecasts.

    Attributes
    ----------
    weights_
        Weight of each forecast, shape ``(d,)``.
    effective_step_size_
        How fast the weights adapt: 1 fits the last row, 2^-13 averages over thousands of rows.

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
        # a weighted mean of the columns is no regression in general
        tags.regressor_tags.poor_score = True
        return tags

    @property
    def weights_(self) -> Vector:
        """Weight of each forecast, shape ``(d,)``."""
        return np.asarray(self._fitted_model().combination)

    @property
    def effective_step_size_(self) -> float:
        """Weighted geometric mean of the step sizes."""
        return float(self._fitted_model().effective_step_size)

    def _make(self) -> ForecastMixture:
        from swordplay.estimators.forecast_mixture import ForecastMixture

        return ForecastMixture(
            self.n_features_in_,
            loss=regression_loss(self.loss),
            memory=arguments.positive("memory", self.memory),
        )
