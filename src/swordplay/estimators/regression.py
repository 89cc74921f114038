"""Fit, learn and predict, for the estimators of scikit-learn that predict a number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from swordplay.core.types import Array, Matrix, State, Vector
from swordplay.estimators.bands import Bands
from swordplay.estimators.chunks import in_chunks, play
from swordplay.estimators.coat import Coat, loss_weights, real_targets, refuse_words
from swordplay.intervals import SwordIntervals

if TYPE_CHECKING:
    from swordplay.estimators.asked import Askable


class Regression(RegressorMixin, Coat):  # type: ignore[misc]  # scikit-learn has no types
    """Fit, learn and predict for models of one number; subclasses say how to make the model."""

    @property
    def _bands(self) -> Bands:
        """Intervals, made with the model."""
        return self._own_bands

    def fit(self, X: Any, y: Any) -> Self:
        """Forget everything, then learn the rows once, in their order.

        :meth:`predict` then answers for rows to come.

        The stream ends with a decision for the next row. A block of rows to come is answered by
        what would have done best on the blocks inside the table: least squares over all of its
        rows, over its last ones where it drifts, or the stream's own decision (see
        ``block_choice``). That holds until more is learned: after :meth:`partial_fit` and
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
        self._for_block = True
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
        block, else for the next row.
        """
        self._require_fitted()
        _ = self.model_  # refuses parameters that have changed, before anything else is looked at
        return self._answers(self._rows(X))

    def _answers(self, rows: Any, following: int = 1) -> Vector:
        """Predictions of rows that are clean; so many of them follow the last one learned."""
        model, block = self.model_, self._block
        answer = (
            self._asking(model, following)
            if block is None
            else lambda part: block.scores(part)[:, 0]
        )
        return np.asarray(in_chunks(answer, rows))

    def askable(self) -> Askable:
        """What :class:`swordplay.late.LateModel` asks in place of the estimator itself."""
        from swordplay.estimators.asked_arrays import AskedByPlace

        return AskedByPlace(self, of_classes=False)

    def predict_interval(self, X: Any, level: Any = 0.9) -> Array:
        """Intervals of rows by what is known now: lower and upper ends, shape ``(T, 2)``.

        After :meth:`fit` for a block of rows to come, by the quantile of the last residuals; else
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
        if self._block is not None:
            return self._bands.of_block(level, predictions)
        return self._bands.intervals(level, predictions, self._rows(X))

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
        return predictions, self._bands.interval_then_learn(level, predictions, targets, rows)

    def _asking(self, model: Any, following: int) -> Callable[[Matrix], Any]:
        """What predicts chunks of rows in their order; so many rows follow the last one learned."""
        return model.predict  # type: ignore[no-any-return]  # models of several classes come here

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> Vector:
        rows, targets, weights = self._prepared(X, y, sample_weight)
        predictions = np.asarray(play(self.model_, rows, targets, weights))
        if weights is None or weights.all():
            self._bands.learn(predictions, targets, rows)
        elif weights.any():
            self._bands.learn(predictions[weights != 0], targets[weights != 0], rows[weights != 0])
        return predictions

    def _study(self, rows: Any, targets: Any) -> None:
        self._bands.learn(np.asarray(play(self.model_, rows, targets, None)), targets, rows)

    def _learned(self) -> tuple[Any, State] | None:
        learned = super()._learned()
        return learned and (learned[0], learned[1] | self._bands.state())

    def _resume(self, saved: Mapping[str, Any]) -> Any:
        self._own_bands = Bands.of_state(saved)
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
                self._own_bands = Bands()
            self._go_on_as_a_stream()
        return rows, targets, weights
