"""SwordRegressor and SwordClassifier for river: single rows, and batches as data frames."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from river import base, conf

from swordplay.core.arguments import LARGEST_INPUT, short_repr, without_mask
from swordplay.core.types import Matrix, Vector
from swordplay.estimators.dict_columns import number
from swordplay.estimators.dict_models import DictClassifier, DictModel, DictRegressor, Features

__all__ = ["SwordClassifier", "SwordRegressor"]


class RiverModel(DictModel, base.Estimator):
    """Batches of rows as data frames of any library that narwhals knows."""

    _library = "river."

    def _table_to_predict(self, frame: nw.DataFrame[Any]) -> Matrix:
        """Return the rows of a frame in the order of the columns; other names are left out."""
        return frame_table(frame, self._columns.column_of)

    def _table_to_learn(self, frame: nw.DataFrame[Any]) -> Matrix:
        """Return the rows of a frame as they will be once its new names have columns."""
        new = self._columns.new_names(frame.columns)
        first = len(self._columns)
        column_of = self._columns.column_of | {name: first + k for k, name in enumerate(new)}
        return frame_table(frame, column_of)


class SwordRegressor(DictRegressor, RiverModel, base.MiniBatchRegressor):
    """Regression that tracks a drifting target; no parameter needs to be set.

    Features are scaled as they come and clipped, the centre and spread of the target are tracked,
    and many step sizes learn at once (``SwordAgeless``). Features may appear, vanish and return; a
    missing one counts as its centre and teaches nothing. A row without any feature teaches the
    intercept and the centre of the target.

    Parameters
    ----------
    loss
        ``"squared"`` (default); or ``"huber"`` for targets with heavy tails, where residuals
        beyond one spread have a constant gradient.
    radius
        Radius of the ball of coefficients of the scaled features, in spreads of the target; 32 by
        default.
    memory
        Rows that the weights of the experts remember, 4,000 by default. With fewer, experts are
        told apart less reliably.
    clip
        Scaled values are clipped at this magnitude, in spreads of the feature; 5 by default.
    standardize
        Whether to scale the features; True by default.
    intercept
        Whether to learn an intercept; True by default.
    lags
        Use of the last learned targets as features. With ``"auto"`` (default) experts with the
        last three targets, experts without, and the last target itself compete. A number k gives
        all experts the last k. With ``curves=None``, ``"auto"`` is 0.
    curves
        ``"auto"`` (default) adds second-order experts, for at most 64 features: Newton steps with
        forgetting, which handle correlated features, and experts that correct the mixture along
        16 fixed nonlinear features of those of the first row, where that helps. ``"rich"`` makes
        64. None is the linear first-order model.

    Attributes
    ----------
    coefficients, intercept_, lag_coef_
        Coefficients by name, in the units of the features and the target. They give the whole
        prediction where no feature is missing or clipped, except for what curves add.
        (``intercept`` is the parameter.)
    weights_, step_sizes_, effective_step_size_, certificate_
        The first-order experts, and the bound on the regret so far.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from swordplay.river import SwordRegressor
    >>> rows, model, error = datasets.TrumpApproval(), SwordRegressor(), metrics.MAE()
    >>> evaluate.progressive_val_score(rows, model, error).get() < 0.5
    True
    """

    def _interval(self, x: Features, level: float) -> conf.Interval:
        return conf.Interval(*super()._interval(x, level))

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn rows in their order: exactly the model of :meth:`learn_one` row by row.

        Parameters
        ----------
        X
            A frame with a column per feature: pandas, polars or another that narwhals knows.
        y
            A series of targets.
        """
        frame = as_frame(X)
        table = self._table_to_learn(frame)
        targets = numeric_column("y", target_array(y, len(table)))
        if len(table):
            self._with_columns(frame.columns)
            self.learn_table(table, targets.tolist())

    def predict_many(self, X: Any) -> Any:
        """Return a series of predictions, each as :meth:`predict_one` gives it.

        Parameters
        ----------
        X
            A frame, as in :meth:`learn_many`; the series is of the same library.
        """
        frame = as_frame(X)
        table = self._table_to_predict(frame)
        if self._model is None:
            return series_like(np.zeros(len(table)), frame)
        # as river's own checks want it, every row counts as the next one
        return series_like(self._model.predict(table, len(table)), frame)


class SwordClassifier(DictClassifier, RiverModel, base.MiniBatchClassifier):
    """Logistic regression that tracks drifting classes; no parameter needs to be set.

    Two classes share one model; three or more have one each, and their probabilities are divided
    by their sum. Classes may join at any time; both booleans are known as soon as one of them was
    seen. Features come and go as in :class:`swordplay.river.SwordRegressor`.

    Parameters
    ----------
    radius
        Radius of the ball of coefficients of the scaled features, in log-odds; 32 by default.
    memory, clip, standardize, intercept
        As in :class:`swordplay.river.SwordRegressor`.
    lags
        ``"auto"`` (default), as in :class:`swordplay.river.SwordRegressor`; or a number k: the
        last k labels become features, as indicators of each class.
    curves
        As in :class:`swordplay.river.SwordRegressor`, for up to sixteen classes. Unless it is
        None, the probabilities of three or more classes are calibrated.

    Attributes
    ----------
    classes_
        Labels in order of appearance.
    coefficients, intercept_
        Coefficients of the log-odds of each label, or of the second of two.
    weights_, step_sizes_, effective_step_size_, certificate_
        The experts of the model, or of the model of each class.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from swordplay.river import SwordClassifier
    >>> rows, model, accuracy = datasets.Phishing(), SwordClassifier(), metrics.Accuracy()
    >>> evaluate.progressive_val_score(rows, model, accuracy).get() > 0.88
    True
    """

    @property
    def _multiclass(self) -> bool:
        return True

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn rows in their order: exactly the model of :meth:`learn_one` row by row.

        Parameters
        ----------
        X
            A frame with a column per feature: pandas, polars or another that narwhals knows.
        y
            A series of labels.
        """
        frame = as_frame(X)
        table = self._table_to_learn(frame)
        labels = [self._labels.check(label) for label in target_array(y, len(table)).tolist()]
        if labels:
            self._with_columns(frame.columns)
            self.learn_table(table, labels)

    def predict_proba_many(self, X: Any) -> Any:
        """Return a frame of probabilities with a column per class, of the library of X.

        Parameters
        ----------
        X
            A frame, as in :meth:`learn_many`.
        """
        frame = as_frame(X)
        return frame_like(self._probabilities(frame), self._column_labels(), frame)

    def predict_set_many(self, X: Any, level: float = 0.9) -> Any:
        """Return a frame of booleans: which labels are in the prediction set of each row.

        Each row gets the set that it would have as the next one.

        Parameters
        ----------
        X
            A frame, as in :meth:`learn_many`.
        level
            As in :meth:`predict_set_one`.
        """
        frame = as_frame(X)
        sets = self._sets(self._probabilities(frame), level)
        return frame_like(sets, self._column_labels(), frame)

    def predict_many(self, X: Any) -> Any:
        """Return a series of the most probable labels, None before any was seen.

        Parameters
        ----------
        X
            A frame, as in :meth:`learn_many`; the series is of the same library.
        """
        frame = as_frame(X)
        best = self._probabilities(frame).argmax(axis=1).tolist()
        labels = list(self._labels.numbers)
        return series_like([labels[k] for k in best] if labels else [None] * len(best), frame)

    def _probabilities(self, frame: nw.DataFrame[Any]) -> Matrix:
        """Return the probabilities of the rows of a frame, each as if it were the next one."""
        table = self._table_to_predict(frame)
        if self._model is None:
            return np.full((len(table), 2), 0.5)
        return np.asarray(self._model.predict(table, len(table)))

    def _column_labels(self) -> list[Any]:
        """Return the labels of the columns of :meth:`predict_proba_many`."""
        return list(self._labels.numbers) or [False, True]


# ---------------------------------------------------------------------- data frames


def as_frame(X: Any) -> nw.DataFrame[Any]:
    """Return a data frame as narwhals has it.

    Raises
    ------
    TypeError
        If narwhals does not know its library.
    """
    try:
        return nw.from_native(X, eager_only=True)
    except TypeError as error:
        raise TypeError(
            "X must be a data frame (pandas, polars or another that narwhals knows), got "
            f"{short_repr(X)} ({type(X).__name__}). Give learn_one and predict_one single rows."
        ) from error


def frame_table(frame: nw.DataFrame[Any], column_of: dict[Any, int]) -> Matrix:
    """Return the rows of a frame with given columns, NaN for those that it lacks.

    All columns of the frame are checked, also those that are left out.

    Parameters
    ----------
    frame
        A frame of T rows.
    column_of
        Column of each name in the answer.

    Returns
    -------
    table
        Shape ``(T, max(1, d))``.
    """
    table = np.full((len(frame), max(1, len(column_of))), np.nan)
    # frame[name] would take a name that is a number for a position
    for name, series in zip(frame.columns, frame.iter_columns(), strict=True):
        values = numeric_column(f"X[{name!r}]", series.to_numpy())
        if name in column_of:
            table[:, column_of[name]] = values
    return table


def numeric_column(name: str, raw: Any) -> Vector:
    """Return a column of finite numbers of moderate size, shape ``(T,)``.

    Raises
    ------
    TypeError, ValueError
        Names the first row with another value.
    """
    if raw.dtype.kind not in "fiub":
        return np.array(
            [number(f"{name}, row {t}", value) for t, value in enumerate(raw)], dtype=np.float64
        )
    column = np.asarray(raw, dtype=np.float64)
    is_valid = np.abs(column) <= LARGEST_INPUT  # False for NaN
    if not is_valid.all():
        t = int(np.argmin(is_valid))
        number(f"{name}, row {t}", float(column[t]))
    return column


def target_array(y: Any, count: int) -> Any:
    """Return targets or labels as an array, one for each of ``count`` rows."""
    values = y.to_numpy() if hasattr(y, "to_numpy") else without_mask("y", y)
    if values.ndim == 1 and values.dtype.kind in "US" and isinstance(y, list | tuple):
        # numpy removes NUL at the end of strings, and converts numbers beside a string to strings
        values = np.array(y, dtype=object)
    if values.shape != (count,):
        raise ValueError(
            f"y must have one entry for each of the {count} rows of X, got shape {values.shape}."
        )
    return values


def series_like(values: Any, like: nw.DataFrame[Any]) -> Any:
    """Return a native series of the library of a frame, with the same index."""
    if isinstance(values, list) and not like.implementation.is_pandas_like():
        _check_one_kind(values)
    native: Any = nw.new_series("y", values, backend=like.implementation).to_native()
    index = nw.maybe_get_index(like)
    return native if index is None else native.set_axis(index)


def frame_like(table: Matrix, names: list[Any], like: nw.DataFrame[Any]) -> Any:
    """Return a native frame of the library of a frame, with the same index.

    Names become strings, except in pandas, where any label can name a column.
    """
    is_pandas = like.implementation.is_pandas_like()
    if not is_pandas:
        _check_one_kind(names)
    columns = {name if is_pandas else str(name): table[:, k] for k, name in enumerate(names)}
    native: Any = nw.from_dict(columns, backend=like.implementation).to_native()
    index = nw.maybe_get_index(like)
    return native if index is None else native.set_axis(index, axis=0)


def _check_one_kind(labels: Any) -> None:
    """Refuse strings and numbers together, which only a frame of pandas can hold."""
    example = {isinstance(label, str): label for label in labels if label is not None}
    if len(example) > 1:
        raise TypeError(
            f"a frame of this library cannot hold the labels {short_repr(example[False])} and "
            f"{short_repr(example[True])} together. Learn labels of one kind, give frames of "
            "pandas, or single rows (learn_one, predict_one)."
        )
