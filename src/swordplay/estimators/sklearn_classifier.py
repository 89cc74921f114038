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
from swordplay.estimators.labels import (
    add_classes,
    check_classes,
    class_numbers,
    dump_classes,
    load_classes,
)
from swordplay.estimators.level_intervals import MAX_PAIRS, LevelIntervals
from swordplay.estimators.mass import mass_above, of_truths
from swordplay.estimators.model_report import ModelReport
from swordplay.estimators.sklearn_base import SklearnModel, in_chunks, loss_weights, play
from swordplay.estimators.tuning import AUTO, MEMORY, settings
from swordplay.intervals import SwordIntervals

if TYPE_CHECKING:
    from swordplay.estimators.classes import OneModelPerClass
    from swordplay.estimators.deferred_rows import DeferredRows
    from swordplay.estimators.forecast import Forecast
    from swordplay.estimators.head import Head
    from swordplay.estimators.second_order import SecondOrder


class WithSets(SklearnModel):
    """Prediction sets for the classifier of scikit-learn's clothes."""

    def predict_set(self, X: Any, level: float = 0.9) -> Any:
        """Which labels are in each row's set by what is known now: truths, shape ``(T, K)``, in the
        order of ``classes_``.

        After :meth:`fit` for a batch of rows to come, else for the next row, as
        :meth:`predict_set_then_learn` would give them. Every set holds the most probable label;
        before enough is known, all labels.

        Parameters
        ----------
        X
            Rows, as in :meth:`predict`.
        level
            What share of the truths a set is to hold, in (0, 1).
        """
        SwordIntervals((level,))  # refuses what is no level
        probabilities = self.predict_proba(X)
        nothing = np.zeros(len(probabilities))
        intervals = self._intervals
        bounds = (
            intervals.block_intervals(level, nothing)
            if self._batch is not None
            else intervals.intervals(level, nothing, None)
        )
        return mass_above(probabilities) <= bounds[:, 1:]

    def predict_set_then_learn(self, X: Any, y: Any, level: float = 0.9) -> tuple[Any, Any]:
        """Labels of rows and their sets, each made before its own label is learned.

        On every window of n rows, a level of 0.9 has at most 0.1 n + 20 sets without the truth,
        whatever happens. Labels that are new join the classes first.

        Parameters
        ----------
        X, y
            As in :meth:`predict_then_learn`.
        level
            As in :meth:`predict_set`.

        Returns
        -------
        labels, sets
            Shapes ``(T,)`` and ``(T, K)``, K the number of labels known after the last row.
        """
        SwordIntervals((level,))  # refuses what is no level, before anything is learned
        rows, labels, _ = self._prepared(X, y, None, None, open_=True)
        probabilities = np.asarray(play(self.model_, rows, labels, None))
        above = mass_above(probabilities)
        bounds: Array = self._intervals.interval_then_learn(
            level, np.zeros(len(labels)), of_truths(above, labels), None
        )
        return self.classes_[probabilities.argmax(axis=1)], above <= bounds[:, 1:]

    def _followed(self, probabilities: Matrix, labels: Any, weights: Vector | None) -> Matrix:
        """Let the sets learn from rows that were predicted, each before it was learned.

        Returns the predictions.
        """
        told, truths = probabilities, labels
        if weights is not None and not weights.all():
            told, truths = probabilities[weights != 0], labels[weights != 0]
        if not self._intervals.by_level:
            told, truths = told[-MAX_PAIRS:], truths[-MAX_PAIRS:]
        if len(truths):
            self._intervals.learn(np.zeros(len(truths)), of_truths(mass_above(told), truths), None)
        return probabilities

    def _study(self, rows: Any, targets: Any) -> None:
        self._followed(np.asarray(play(self.model_, rows, targets, None)), targets, None)

    @property
    def _intervals(self) -> LevelIntervals:
        """Intervals of the scores, made with the model."""
        return self._own_intervals

    def _learned(self) -> tuple[Any, State] | None:
        learned = super()._learned()
        return learned and (learned[0], learned[1] | self._intervals.state())

    def _resume(self, saved: Mapping[str, Any]) -> Any:
        self._own_intervals = LevelIntervals.from_state(saved)
        return super()._resume(saved)


# scikit-learn has no types
class SwordClassifier(ModelReport, ClassifierMixin, WithSets):  # type: ignore[misc]
    """Logistic regression that tracks a drifting target, with nothing to set.

    Two classes share one model; more have one each, and their probabilities are divided by their
    sum. Classes may join late: :meth:`predict_then_learn` lets every new label in,
    :meth:`partial_fit` those that ``classes`` declares.

    Parameters
    ----------
    radius, memory, clip, standardize, intercept
        As in :class:`swordplay.sklearn.SwordRegressor`; the radius is one of log-odds.
    lags
        ``"auto"``, as in :class:`swordplay.sklearn.SwordRegressor`; or how many of the last labels
        join the columns, as truths of "was it this class".
    encode
        As in :class:`swordplay.sklearn.SwordRegressor`.
    curves
        As in :class:`swordplay.sklearn.SwordRegressor`, for up to sixteen classes. The
        probabilities of three or more are made as sure as they are right (one temperature for all,
        and how likely the last label stays), unless it is None.

    Attributes
    ----------
    classes_
        Labels, the columns of ``predict_proba``: sorted, and behind them those that joined late.
    coef_, intercept_
        Of the log-odds in the units of the raw columns, without curves and doubt; shapes ``(1, d)``
        and ``(1,)``, or ``(K, d)`` and ``(K,)``.
    weights_, step_sizes_, effective_step_size_, certificate_
        The experts of the model, or of the model of each class.
    """

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
        self.radius, self.memory, self.clip = radius, memory, clip
        self.standardize, self.intercept, self.lags, self.encode = (
            standardize,
            intercept,
            lags,
            encode,
        )
        self.curves = curves

    @property
    def classes_(self) -> Any:
        """Labels, the columns of ``predict_proba``; a copy, as answers are made of them."""
        try:
            return vars(self)["_classes"].copy()
        except KeyError:
            raise AttributeError("this SwordClassifier has not learned anything yet.") from None

    def fit(self, X: Any, y: Any) -> Self:
        """Forget everything, then learn the rows once, in their order (see
        :meth:`swordplay.sklearn.SwordRegressor.fit`).
        """
        rows, labels, _ = self._prepared(X, y, None, None, fresh=True, open_=True)
        self._study(rows, labels)
        self._predicts_batch = True
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows, in their order.

        Parameters
        ----------
        X, y
            As in :meth:`fit`.
        classes
            All labels to come; the first call must give them. A later call may declare more; a
            label that was never declared is refused.
        sample_weight
            Factors of the losses, shape ``(T,)``; a row of weight 0 is not learned.
        """
        if classes is None and not self.__sklearn_is_fitted__():
            raise ValueError(
                "classes must be given to the first call of partial_fit: all labels that may "
                "come, in any order."
            )
        self._learn(X, y, sample_weight, classes)
        return self

    def predict_then_learn(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Labels of rows, each predicted before its own label is learned.

        Labels that are new join the classes first.
        """
        return self._labels(self._learn(X, y, sample_weight, None, open_=True))

    def predict_proba_then_learn(self, X: Any, y: Any, sample_weight: Any = None) -> Matrix:
        """The same, as probabilities of all classes known after the last row, shape ``(T, K)``."""
        return self._learn(X, y, sample_weight, None, open_=True)

    def predict(self, X: Any) -> Any:
        """The most probable label of each row, shape ``(T,)``."""
        return self._labels(self.predict_proba(X))

    def predict_proba(self, X: Any) -> Matrix:
        """Probabilities of the classes, shape ``(T, K)``: after :meth:`fit` for a batch, else
        for the next row.
        """
        self._require_fitted()
        _ = self.model_  # refuses parameters that have changed, before anything else is looked at
        return self._answers(self._rows(X))

    def _answers(self, rows: Any, following: int = 1) -> Matrix:
        """Probabilities of rows that are clean; so many of them follow the last one learned."""
        model, batch = self.model_, self._batch

        def answer(part: Matrix, first: int) -> Matrix:
            if batch is not None:
                return np.asarray(model.probabilities(batch.scores(part)))
            return np.asarray(model.chances(model.scores(part, first), first, part))

        return np.asarray(in_chunks(self._in_order(answer, following), rows))

    def askable(self) -> DeferredRows:
        """What :class:`swordplay.late.LateModel` asks in place of the estimator itself."""
        from swordplay.estimators.deferred_rows import ArrayDeferredRows

        return ArrayDeferredRows(self, of_classes=True)

    def decision_function(self, X: Any) -> Any:
        """Log-odds of the second class, shape ``(T,)``.

        Of each class, ``(T, K)``, where there are not two.
        """
        self._require_fitted()
        _ = self.model_  # refuses parameters that have changed, before anything else is looked at
        scores = in_chunks(self._in_order(self._scores), self._rows(X))
        return scores[:, 0] if scores.shape[1] == 1 else scores

    @property
    def coef_(self) -> Matrix:
        """Change of the log-odds with each raw column."""
        return self._in_raw_units()[0]

    @property
    def intercept_(self) -> Vector:
        """Log-odds where all raw columns are 0."""
        return self._in_raw_units()[1]

    def _in_raw_units(self) -> tuple[Matrix, Vector]:
        from swordplay.estimators import raw_units

        self._require_fitted()
        model = self.model_
        if self._batch is not None:
            return self._batch.in_raw_units()
        coefficients, intercepts = raw_units.of_classes(model)
        return coefficients[:, coefficients.shape[1] - model.teams[0].dim :], intercepts

    def _second(self) -> SecondOrder | None:
        # the model has no type before it is made
        return self.model_.second  # type: ignore[no-any-return]

    def _scores(self, rows: Matrix, following: int) -> Matrix:
        model, batch = self.model_, self._batch
        return np.asarray(model.scores(rows, following) if batch is None else batch.scores(rows))

    def _labels(self, probabilities: Matrix) -> Any:
        return self.classes_[probabilities.argmax(axis=1)]

    def learn_asked(self, X: Any, y: Any, asked: Forecast | None) -> None:
        """Learn rows that were predicted earlier, as ``asked`` says, for ``LateModel``."""
        self._learn(X, y, None, None, open_=True, asked=asked)

    def _learn(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        classes: Any,
        *,
        open_: bool = False,
        asked: Forecast | None = None,
    ) -> Matrix:
        rows, labels, weights = self._prepared(X, y, sample_weight, classes, open_=open_)
        predictions = np.asarray(play(self.model_, rows, labels, weights, asked))
        return self._followed(predictions, labels, weights)

    def _prepared(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        classes: Any,
        *,
        fresh: bool = False,
        open_: bool = False,
    ) -> tuple[Any, Any, Vector | None]:
        """Rows, labels (0..K-1) and weights, all of them checked, and a model for all classes to
        learn them.
        """
        with self._all_or_nothing():
            fresh = fresh or not self.__sklearn_is_fitted__()
            if isinstance(y, np.ma.MaskedArray):
                arguments.without_mask("y", y)
            if not fresh:
                _ = (
                    self.model_
                )  # refuses parameters that have changed, before anything else is looked at
            rows, y = self._rows_and_targets(X, y, reset=fresh)
            if y.dtype.kind not in "iub":  # whole numbers are labels, whatever they are
                check_classification_targets(y)
            weights = loss_weights(sample_weight, len(y))
            some = y if classes is None else check_classes(classes)
            wanted = np.unique(some) if fresh else self.classes_
            if not fresh and (open_ or classes is not None):
                wanted = add_classes(wanted, y if open_ else some)
            labels = class_numbers(wanted, y)
            if fresh:
                self.model_ = self._make_for(len(wanted))
                self._own_intervals = LevelIntervals()
            self._classes = wanted
            self._go_on_as_a_stream()
        self.model_.grow(len(wanted))
        return rows, labels, weights

    def _study(self, rows: Any, targets: Any) -> None:
        model, team = self.model_, self.model_.teams[0]
        if model.classes < 2 or rows.shape[1] + int(team.columns.intercept) > MAX_WIDTH:
            return super()._study(rows, targets)
        self._batch = learn_and_choose(
            len(targets),
            lambda first, last: super(SwordClassifier, self)._study(
                rows[first:last], targets[first:last]
            ),
            lambda first, last: in_chunks(
                functools.partial(model.scores, following=0), rows[first:last]
            ),
            lambda: LogOdds(
                rows,
                table_scaling(team.columns, len(team.recent), rows),
                targets,
                model.classes,
                team.radius,
            ),
        )
        return None

    def _make_for(self, classes: int) -> OneModelPerClass:
        from swordplay.estimators.classes import OneModelPerClass
        from swordplay.estimators.model import LinearModel

        make = functools.partial(LinearModel, **self._start(), loss="logistic", **settings(self))
        return OneModelPerClass(make, classes)

    def _make(self) -> OneModelPerClass:
        return self._make_for(len(self.classes_))

    def _models(self) -> dict[str, Head]:
        self._require_fitted()
        return dict(self.model_.named(self.classes_))

    def _learned(self) -> tuple[Any, State] | None:
        learned = super()._learned()
        return learned and (learned[0], learned[1] | {"classes": dump_classes(self.classes_)})

    def _resume(self, saved: Mapping[str, Any]) -> Any:
        self._classes = load_classes(saved["classes"])
        if len(self._classes) != state.axis_length("model.counts", saved):
            raise ValueError("it has not as many labels as models.")
        model = super()._resume(saved)
        self._batch = BatchCoefficients.from_state(
            saved,
            dim=len(self.coef_names_),
            models=len(model.team),
            has_intercept=bool(self.intercept),
        )
        return model
