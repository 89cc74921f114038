"""Fit, learn and predict, for the estimators of scikit-learn that predict a number."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from swordplay.estimators.coat import Coat, in_chunks, loss_weights, play, real_targets, refuse_strings
from swordplay.types import Vector


class Regression(RegressorMixin, Coat):  # type: ignore[misc]  # scikit-learn has no types
    """Fit, learn and predict for models of one number; subclasses say how to make the model."""

    def fit(self, X: Any, y: Any) -> Self:
        """Forget everything, then learn the rows once, in their order.

        Weights of rows are for :meth:`partial_fit`: scikit-learn wants a weight of 2 in ``fit`` to mean the same as the row
        twice, in any order, which no learner that goes through its rows in time can promise.

        Parameters
        ----------
        X
            Rows in time order, shape ``(T, d)``, dense or sparse.
        y
            Targets, shape ``(T,)``.
        """
        self._learn(X, y, None, fresh=True)
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
        """Predictions of rows by what is known now, shape ``(T,)``."""
        self._require_fitted()
        return np.asarray(in_chunks(self.model_.predict, self._rows(X)))

    def _learn(self, X: Any, y: Any, sample_weight: Any, *, fresh: bool = False) -> Vector:
        with self._all_or_nothing():
            fresh = fresh or not self.__sklearn_is_fitted__()
            refuse_strings("y", y)
            rows, targets = self._rows_and_targets(X, y, reset=fresh)
            targets = real_targets(targets)
            weights = loss_weights(sample_weight, len(targets))
            if fresh:
                self.model_ = self._make()
        return np.asarray(play(self.model_, rows, targets, weights))
