"""Fit, learn and predict, for the estimators of scikit-learn that predict a number."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from swordplay.base.types import Vector
from swordplay.estimators.coat import Coat, in_chunks, loss_weights, play, real_targets, refuse_words


class Regression(RegressorMixin, Coat):  # type: ignore[misc]  # scikit-learn has no types
    """Fit, learn and predict for models of one number; subclasses say how to make the model."""

    def fit(self, X: Any, y: Any) -> Self:
        """Forget everything, then learn the rows once, in their order; :meth:`predict` then answers for rows to come.

        The stream ends with a decision for the next row. A block of rows to come is answered by what would have done best on
        the blocks inside the table: least squares over all of its rows, over its last ones where it drifts, or the stream's
        own decision (see ``block_choice``). That holds until more is learned: after :meth:`partial_fit` and
        :meth:`predict_then_learn`, which know nothing of it, :meth:`predict` answers for the next row again.

        Weights of rows are for :meth:`partial_fit`: scikit-learn wants a weight of 2 in ``fit`` to mean the same as the row
        twice, in any order, which no learner that goes through its rows in time can promise.

        Parameters
        ----------
        X
            Rows in time order, shape ``(T, d)``, dense or sparse.
        y
            Targets, shape ``(T,)``.
        """
        rows, targets, _ = self._prepared(X, y, None, fresh=True)
        self._study(rows, targets)
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
        """Predictions of rows, each made before its own target is learned: what a stream would have seen.

        The model afterwards is that of :meth:`partial_fit`, bit by bit.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`partial_fit`.
        """
        return self._learn(X, y, sample_weight)

    def predict(self, X: Any) -> Vector:
        """Predictions of rows by what is known now, shape ``(T,)``: after :meth:`fit` for a block, else for the next row."""
        self._require_fitted()
        model, block = self.model_, self._block
        answer = model.predict if block is None else lambda part: block.scores(part)[:, 0]
        return np.asarray(in_chunks(answer, self._rows(X)))

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> Vector:
        rows, targets, weights = self._prepared(X, y, sample_weight)
        return np.asarray(play(self.model_, rows, targets, weights))

    def _prepared(self, X: Any, y: Any, sample_weight: Any, *, fresh: bool = False) -> tuple[Any, Vector, Vector | None]:
        """Rows, targets and weights, all of them checked, and a model to learn them."""
        with self._all_or_nothing():
            fresh = fresh or not self.__sklearn_is_fitted__()
            if not fresh:
                _ = self.model_  # refuses parameters that have changed, before anything else is looked at
            refuse_words("y", y)
            rows, targets = self._rows_and_targets(X, y, reset=fresh)
            targets = real_targets(targets)
            weights = loss_weights(sample_weight, len(targets))
            if fresh:
                self.model_ = self._make()
            self._block = None
        return rows, targets, weights
