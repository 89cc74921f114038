"""SwordClassifier for scikit-learn, with prediction sets."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from swordplay.core import arguments, state
from swordplay.core.types import Array, Matrix, State, Vector
from swordplay.estimators.batch_fit import MAX_WIDTH, BatchCoefficients, learn_and_choose
from swordplay.estimators.batch_solvers import LogOdds, table_scaling
from swordplay.estimators.class_probabilities import (
    of_true_labels,
    probabilities_of,
    probability_above,
)
from swordplay.estimators.labels import (
    add_classes,
    check_classes,
    class_numbers,
    dump_classes,
    load_classes,
)
from swordplay.estimators.level_intervals import MAX_PAIRS
from swordplay.estimators.model_report import ModelReport
from swordplay.estimators.model_settings import AUTO, MEMORY, settings
from swordplay.estimators.sklearn_base import SklearnModel, learn_in_chunks, predict_in_chunks
from swordplay.intervals import SwordIntervals

if TYPE_CHECKING:
    from swordplay.estimators.class_model import ClassModel
    from swordplay.estimators.deferred_rows import DeferredRows
    from swordplay.estimators.forecast import Forecast
    from swordplay.estimators.linear_model import HeadSnapshot
    from swordplay.estimators.second_order_layer import SecondOrderLayer


# scikit-learn has no types
class SwordClassifier(ModelReport, ClassifierMixin, SklearnModel):  # type: ignore[misc]
    """Logistic regression that tracks drifting classes; no parameter needs to be set.

    Two classes share one model; three or more have one each, and their probabilities are divided
    by their sum. Classes may join late: :meth:`predict_then_learn` accepts every new label,
    :meth:`partial_fit` those declared by ``classes``.

    Parameters
    ----------
    radius
        Radius of the ball of coefficients of the scaled columns, in log-odds; 32 by default.
    memory, clip, standardize, intercept, encode
        As in :class:`swordplay.sklearn.SwordRegressor`.
    lags
        ``"auto"`` (default), as in :class:`swordplay.sklearn.SwordRegressor`; or a number k: the
        last k labels become columns, as indicators of each class.
    curves
        As in :class:`swordplay.sklearn.SwordRegressor`, for up to sixteen classes. Unless it is
        None, the probabilities of three or more classes are calibrated, by one temperature and
        by how often the last label repeats.

    Attributes
    ----------
    classes_
        Labels in the order of the columns of ``predict_proba``: sorted, then those that joined
        late.
    coef_, intercept_
        Coefficients of the log-odds in the units of the raw columns, without what curves and
        calibration add; shapes ``(1, d)`` and ``(1,)`` for two classes, else ``(K, d)`` and
        ``(K,)``.
    weights_, step_sizes_, effective_step_size_, certificate_
        The experts of the model, or of the model of each class.

    Examples
    --------
    >>> import numpy as np
    >>> from swordplay.sklearn import SwordClassifier
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> model = SwordClassifier().fit(X, np.where(X[:, 0] > 0, "high", "low"))
    >>> model.predict([[2.0, 0.0], [-2.0, 0.0]]).tolist()
    ['high', 'low']
    """

    _classes: Any
    """Labels of the classes, shape ``(K,)``; never changed in place."""

    def __init__(
        self,
        radius: float = 32.0,
        memory: float = MEMORY,
        clip: float = 5.0,
        standardize: bool = True,
        intercept: bool = True,
        lags: int | str = AUTO,
        encode: bool = False,
        curves: str | None = AUTO,
    ) -> None:
        self.radius = radius
        self.memory = memory
        self.clip = clip
        self.standardize = standardize
        self.intercept = intercept
        self.lags = lags
        self.encode = encode
        self.curves = curves

    @property
    def classes_(self) -> Any:
        """Labels in the order of the columns of ``predict_proba``, shape ``(K,)``; a copy."""
        try:
            return vars(self)["_classes"].copy()
        except KeyError:
            raise AttributeError(
                "this SwordClassifier has not learned anything yet. Call fit, partial_fit or "
                "predict_then_learn first."
            ) from None

    def fit(self, X: Any, y: Any) -> Self:
        """Forget everything, then learn the rows once, in their order.

        :meth:`predict` then answers for a batch of rows to come, as in
        :meth:`swordplay.sklearn.SwordRegressor.fit`.

        Parameters
        ----------
        X
            Rows in the order of time, shape ``(T, d)``, dense or sparse.
        y
            Labels, shape ``(T,)``: numbers, booleans or strings.
        """
        self._fit(X, y)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows, in their order.

        Parameters
        ----------
        X, y
            As in :meth:`fit`.
        classes
            All labels that may come; the first call must give them. A later call may declare
            more; a label that was never declared is refused.
        sample_weight
            Factors of the losses, from 0 to 1e6, shape ``(T,)``; a row of weight 0 is not learned.
            1 by default.
        """
        if classes is None and not self.__sklearn_is_fitted__():
            raise ValueError(
                "classes must be given to the first call of partial_fit: all labels that may "
                "come, in any order."
            )
        self._learn(X, y, sample_weight, classes=classes)
        return self

    def predict_then_learn(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Learn rows in their order; return the label predicted for each before it was learned.

        Labels that are new join the classes first. X, y and ``sample_weight`` are those of
        :meth:`partial_fit`.
        """
        return self._most_probable(self._learn(X, y, sample_weight, accepts_new=True))

    def predict_proba_then_learn(self, X: Any, y: Any, sample_weight: Any = None) -> Matrix:
        """Learn rows in their order; return the probabilities predicted for each before that.

        Their shape is ``(T, K)``, for all classes known after the last row. Labels that are new
        join the classes first. X, y and ``sample_weight`` are those of :meth:`partial_fit`.
        """
        return np.asarray(self._learn(X, y, sample_weight, accepts_new=True))

    def predict(self, X: Any) -> Any:
        """Return the most probable label of each row, shape ``(T,)``."""
        self._fitted_model()
        return self._most_probable(self._predict_rows(self._check_rows(X)))

    def predict_proba(self, X: Any) -> Matrix:
        """Return probabilities of the classes, shape ``(T, K)``; nothing is learned.

        After :meth:`fit` they are for a batch of rows to come, else for the next row.
        """
        self._fitted_model()
        return self._predict_rows(self._check_rows(X))

    def decision_function(self, X: Any) -> Any:
        """Return log-odds: of the second of two classes, ``(T,)``; else of each, ``(T, K)``."""
        self._fitted_model()
        following = 0 if self._predicts_batch else 1
        scores = predict_in_chunks(self._score_chunk, self._check_rows(X), following)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_set(self, X: Any, level: float = 0.9) -> Any:
        """Return which labels are in the prediction set of each row, booleans of ``(T, K)``.

        The columns are in the order of ``classes_``. After :meth:`fit` sets are for a batch of
        rows to come, else for the next row, as :meth:`predict_set_then_learn` would give them.
        Every set holds the most probable label; until enough rows were learned, all labels.

        Parameters
        ----------
        X
            Rows, as in :meth:`predict`.
        level
            Share of the true labels that sets are to hold, in (0, 1).
        """
        SwordIntervals((level,))  # refuses an invalid level
        self._fitted_model()
        probabilities = self._predict_rows(self._check_rows(X))
        zeros = np.zeros(len(probabilities))
        bounds = (
            self._intervals.intervals(level, zeros, None)
            if self._batch is None
            else self._intervals.block_intervals(level, zeros)
        )
        return probability_above(probabilities) <= bounds[:, 1:]

    def predict_set_then_learn(self, X: Any, y: Any, level: float = 0.9) -> tuple[Any, Any]:
        """Learn rows in their order; return labels and prediction sets made before each.

        On every window of n rows, a level of 0.9 has at most 0.1 n + 20 sets without the true
        label, whatever the data. Labels that are new join the classes first.

        Parameters
        ----------
        X, y
            As in :meth:`partial_fit`.
        level
            As in :meth:`predict_set`.

        Returns
        -------
        labels, sets
            Shapes ``(T,)`` and ``(T, K)``, K the number of classes known after the last row.
        """
        SwordIntervals((level,))  # refuses an invalid level before anything is learned
        rows, labels, _ = self._prepare(X, y, accepts_new=True)
        probabilities = np.asarray(learn_in_chunks(self.model_, rows, labels))
        above = probability_above(probabilities)
        zeros = np.zeros(len(labels))
        bounds: Array = self._intervals.interval_then_learn(
            level, zeros, of_true_labels(above, labels), None
        )
        return self._most_probable(probabilities), above <= bounds[:, 1:]

    def deferred_rows(self) -> DeferredRows:
        """Return the adapter that :class:`swordplay.late.LateModel` uses."""
        from swordplay.estimators.deferred_rows import ArrayDeferredRows

        return ArrayDeferredRows(self, predicts_labels=True)

    @property
    def coef_(self) -> Matrix:
        """Change of the log-odds per unit of each raw column, shape ``(1, d)`` or ``(K, d)``."""
        return self._in_raw_units()[0]

    @property
    def intercept_(self) -> Vector:
        """Log-odds where all raw columns are 0, shape ``(1,)`` or ``(K,)``."""
        return self._in_raw_units()[1]

    def _in_raw_units(self) -> tuple[Matrix, Vector]:
        from swordplay.estimators import coefficients as table_units

        model = self._fitted_model()
        if self._batch is not None:
            return self._batch.in_raw_units()
        coefficients, intercepts = table_units.of_classes(model)
        return coefficients[:, coefficients.shape[1] - model.groups[0].dim :], intercepts

    # ------------------------------------------------------------------ checks and learning

    def _learn_late(self, X: Any, y: Any, earlier_forecast: Forecast | None) -> None:
        with self._lock:
            rows, labels, _ = self._prepare(X, y, accepts_new=True)
            self._learn_rows(rows, labels, None, earlier_forecast)

    def _check_raw_targets(self, y: Any) -> None:
        if isinstance(y, np.ma.MaskedArray):
            arguments.without_mask("y", y)

    def _prepare(self, X: Any, y: Any, sample_weight: Any = None, **options: Any) -> Any:
        prepared = super()._prepare(X, y, sample_weight, **options)
        self.model_.grow(len(self._classes))
        return prepared

    def _check_targets(
        self, y: Any, *, fresh: bool, classes: Any = None, accepts_new: bool = False
    ) -> Any:
        """Return labels as class numbers 0 to K - 1, and set ``_classes``."""
        if y.dtype.kind not in "iub":  # scikit-learn warns about many distinct whole numbers
            check_classification_targets(y)
        declared = y if classes is None else check_classes(classes)
        if fresh:
            wanted = np.unique(declared)
        elif accepts_new or classes is not None:
            wanted = add_classes(self._classes, y if accepts_new else declared)
        else:
            wanted = self._classes
        labels = class_numbers(wanted, y)
        self._classes = wanted
        return labels

    def _learn_rows(
        self,
        rows: Any,
        targets: Any,
        weights: Vector | None = None,
        earlier_forecast: Forecast | None = None,
    ) -> Matrix:
        probabilities = np.asarray(
            learn_in_chunks(self.model_, rows, targets, weights, earlier_forecast)
        )
        self._learn_sets(probabilities, targets, weights)
        return probabilities

    def _learn_sets(self, probabilities: Matrix, labels: Any, weights: Vector | None) -> None:
        """Let prediction sets learn from rows; each was predicted before it was learned."""
        if weights is not None and not weights.all():
            learned = weights != 0.0
            probabilities, labels = probabilities[learned], labels[learned]
        if not self._intervals.by_level:  # no sets yet: the last pairs are kept, no more
            probabilities, labels = probabilities[-MAX_PAIRS:], labels[-MAX_PAIRS:]
        if len(labels):
            scores = of_true_labels(probability_above(probabilities), labels)
            self._intervals.learn(np.zeros(len(labels)), scores, None)

    def _predict_rows(self, rows: Any, following: int = 1) -> Matrix:
        """Return probabilities of checked rows, of which ``following`` follow the last one learned.

        After :meth:`fit` none does, whatever ``following`` says.
        """
        following = 0 if self._predicts_batch else following
        return np.asarray(predict_in_chunks(self._predict_chunk, rows, following))

    def _predict_chunk(self, rows: Matrix, following: int) -> Matrix:
        if self._batch is not None:
            return probabilities_of(self._batch.scores(rows), self.model_.classes)
        return np.asarray(self.model_.predict(rows, following))

    def _score_chunk(self, rows: Matrix, following: int) -> Matrix:
        if self._batch is not None:
            return self._batch.scores(rows)
        return np.asarray(self.model_.scores(rows, following).scores)

    def _most_probable(self, probabilities: Matrix) -> Any:
        return self._classes[probabilities.argmax(axis=1)]

    def _fit_rows(self, rows: Any, targets: Any) -> None:
        model = self.model_
        columns = model.groups[0].columns
        if model.classes < 2 or rows.shape[1] + int(columns.intercept) > MAX_WIDTH:
            self._learn_rows(rows, targets)
            return

        def learn(first: int, last: int) -> None:
            self._learn_rows(rows[first:last], targets[first:last])

        def predict(first: int, last: int) -> Matrix:
            return predict_in_chunks(
                lambda part, following: model.scores(part, following).scores, rows[first:last]
            )

        def make_solver() -> LogOdds:
            scaling = table_scaling(columns, len(model.groups[0].recent), rows)
            return LogOdds(rows, scaling, targets, model.classes, model.groups[0].radius)

        self._batch = learn_and_choose(len(targets), learn, predict, make_solver)

    # ------------------------------------------------------------------ the model, saving

    def _make(self) -> ClassModel:
        from swordplay.estimators.class_model import ClassModel
        from swordplay.estimators.linear_model import LinearModel

        make = functools.partial(
            LinearModel, **self._model_size(), loss="logistic", **settings(self)
        )
        return ClassModel(make, len(self._classes))

    def _models(self) -> dict[str, HeadSnapshot]:
        return dict(self._fitted_model().named(self._classes))

    def _second(self) -> SecondOrderLayer | None:
        # the model has no type before it is made
        return self.model_.second_order  # type: ignore[no-any-return]

    def _learned(self) -> tuple[Any, State] | None:
        learned = super()._learned()
        return learned and (learned[0], learned[1] | {"classes": dump_classes(self._classes)})

    def _resume(self, saved: Mapping[str, Any]) -> Any:
        self._classes = load_classes(saved["classes"])
        if len(self._classes) != state.axis_length("model.counts", saved):
            raise ValueError("its numbers of labels and of classes differ.")
        model = super()._resume(saved)
        self._batch = BatchCoefficients.from_state(
            saved,
            dim=len(self._coef_names()),
            models=len(model.group),
            has_intercept=bool(self.intercept),
        )
        return model
