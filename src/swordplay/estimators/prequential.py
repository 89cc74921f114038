"""Prequential evaluation with scikit-learn: each row is predicted before it is learned.

:class:`PrequentialSplit` is for ``cv=``; :func:`prequential_score` and the functions that
:func:`make_prequential_scorer` makes are for ``scoring=``. They work for the estimators here, for
all others with ``partial_fit``, and for pipelines that end in one of these.
"""

from __future__ import annotations

import copy
import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any, final

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import BaseCrossValidator
from sklearn.pipeline import Pipeline
from sklearn.utils import indexable
from sklearn.utils.validation import _num_samples, column_or_1d

from swordplay.core import arguments
from swordplay.core.types import Vector
from swordplay.estimators.labels import add_classes
from swordplay.estimators.sklearn_base import SklearnModel

PREDICT_AND_LEARN = {"predict": "predict_then_learn", "predict_proba": "predict_proba_then_learn"}
"""For each predicting method, the method of our estimators that predicts like it, then learns."""


@final
class PrequentialSplit(BaseCrossValidator):  # type: ignore[misc]  # scikit-learn has no types
    """Successive test blocks; the training set of each is all rows before it.

    It is like ``TimeSeriesSplit``, with blocks of any length and from any row on; every row from
    ``start`` on is tested once. The order of the rows is time.

    Parameters
    ----------
    n_splits
        Number of blocks, 5 by default; their lengths differ by one row at most.
    block
        Rows per block, instead of ``n_splits``; the last block has the rows that are left.
    start
        First row that is tested, and so the number of rows before the first block. By default the
        first of ``n_splits + 1`` equal parts is not tested; with ``block``, the first ``block``
        rows are not.

    Examples
    --------
    >>> import numpy as np
    >>> from swordplay.sklearn import PrequentialSplit
    >>> for train, test in PrequentialSplit(2, start=4).split(np.zeros(10)):
    ...     print(len(train), test)
    4 [4 5 6]
    7 [7 8 9]
    """

    def __init__(
        self, n_splits: int = 5, *, block: int | None = None, start: int | None = None
    ) -> None:
        self.n_splits = arguments.integer("n_splits", n_splits, least=1)
        self.block = None if block is None else arguments.integer("block", block, least=1)
        self.start = None if start is None else arguments.integer("start", start, least=1)

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Any, Any]]:
        """Yield the indices of the training rows and of the test rows of each block.

        Only the number of rows of X is used; ``y`` and ``groups`` are for scikit-learn.
        """
        edges = self._edges(_num_samples(indexable(X, y)[0]))
        for first, last in itertools.pairwise(edges):
            yield np.arange(first), np.arange(first, last)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of blocks; with ``block`` it depends on the rows of X."""
        if self.block is None:
            return self.n_splits
        if X is None:
            raise ValueError(
                "X must be given, got None: with block, the number of blocks depends on its rows. "
                "Or set n_splits instead of block."
            )
        return len(self._edges(_num_samples(X))) - 1

    def _edges(self, rows: int) -> list[int]:
        """Return the first row of each block, then the number of all rows."""
        start = (self.block or rows // (self.n_splits + 1)) if self.start is None else self.start
        blocks = self.n_splits if self.block is None else -(-(rows - start) // self.block)
        if start < 1 or rows - start < max(1, blocks):
            raise ValueError(
                f"X has {rows} rows, too few for {self!r}: at least one must come before the "
                "first block, and one in each. Ask for fewer or shorter blocks, or start earlier."
            )
        if self.block is None:
            return [int(edge) for edge in np.linspace(start, rows, blocks + 1).astype(int)]
        return [*range(start, rows, self.block), rows]


def prequential_predict(estimator: Any, X: Any, y: Any, *, method: str = "predict") -> Any:
    """Let a copy of an estimator predict each row and then learn it; return the predictions.

    Parameters
    ----------
    estimator
        A fitted estimator with ``partial_fit``, or a fitted pipeline whose last step has it. The
        estimators of :mod:`swordplay.sklearn` need not be fitted. The earlier steps of a pipeline
        stay as they were fitted. The estimator itself is not changed.
    X, y
        Rows in the order of time, and their targets.
    method
        ``"predict"`` (default), ``"predict_proba"`` or ``"decision_function"``.

    Returns
    -------
    predictions
        One for each row, in the shape that the method gives.
    """
    if isinstance(estimator, Pipeline):
        X, estimator = estimator[:-1].transform(X) if len(estimator) > 1 else X, estimator[-1]
    learner, targets = copy.deepcopy(estimator), column_or_1d(y)
    if _num_samples(X) != len(targets):
        raise ValueError(
            f"y must have one entry for each of the {_num_samples(X)} rows of X, got "
            f"{len(targets)}."
        )
    predict_and_learn = getattr(learner, PREDICT_AND_LEARN.get(method, ""), None)
    if predict_and_learn is not None:
        return predict_and_learn(X, targets)
    if getattr(learner, "partial_fit", None) is None:
        raise TypeError(
            f"{type(learner).__name__} has no partial_fit and cannot learn row by row. Score it on "
            "whole blocks: use cv=PrequentialSplit() and leave scoring unset."
        )
    if isinstance(learner, SklearnModel):
        learner._leave_batch_mode()  # after ``fit`` it would predict by the batch's coefficients
    predictions = []
    for t in range(len(targets)):
        predictions.append(getattr(learner, method)(X[t : t + 1]))
        learner.partial_fit(X[t : t + 1], targets[t : t + 1])
    return np.concatenate(predictions)


def prequential_score(estimator: Any, X: Any, y: Any, scoring: Any = None) -> float:
    """Return the score of a copy of a fitted estimator that predicts each row, then learns it.

    The function is itself a scorer, as it takes an estimator, rows and targets::

        cross_val_score(model, X, y, cv=PrequentialSplit(), scoring=prequential_score)

    Parameters
    ----------
    estimator, X, y
        As in :func:`prequential_predict`.
    scoring
        Name of a score, such as ``"neg_mean_absolute_error"``, or a scorer. By default R² for
        regressors and accuracy for classifiers.

    Examples
    --------
    >>> import numpy as np
    >>> from swordplay.sklearn import SwordRegressor, prequential_score
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> y = np.where(np.arange(500) < 250, 1.0, -1.0) * X[:, 0]  # the sign flips
    >>> prequential_score(SwordRegressor().fit(X[:100], y[:100]), X[100:], y[100:]) > 0.8
    True
    """
    kind = _PrequentialClassifier if is_classifier(estimator) else _PrequentialRegressor
    stand_in = kind(estimator, y)
    return float(check_scoring(stand_in, scoring)(stand_in, X, y))


def make_prequential_scorer(scoring: Any) -> Callable[[Any, Any, Any], float]:
    """Return :func:`prequential_score` with another score, for ``scoring=``.

    Parameters
    ----------
    scoring
        Name of a score, such as ``"neg_mean_absolute_error"``, or a scorer.
    """
    return functools.partial(prequential_score, scoring=scoring)


class _PrequentialEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Stands in for an estimator when a scorer predicts: answers with prequential predictions."""

    def __init__(self, estimator: Any, y: Any) -> None:
        self.estimator = estimator
        self.y = y

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any) -> Any:
        """Scorers require this method, but do not call it."""
        raise NotImplementedError

    def predict(self, X: Any) -> Any:
        """Return numbers or labels."""
        return self._predict(X, "predict")

    def _predict(self, X: Any, method: str) -> Any:
        return prequential_predict(self.estimator, X, self.y, method=method)


@final
class _PrequentialRegressor(RegressorMixin, _PrequentialEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Stands in for a regressor."""


@final
class _PrequentialClassifier(ClassifierMixin, _PrequentialEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Stands in for a classifier, in which new labels may join behind the known ones."""

    @property
    def classes_(self) -> Vector:
        """Labels known after the last row, in the order of the columns of ``predict_proba``."""
        known = getattr(self.estimator, "classes_", None)
        return np.asarray(
            np.unique(self.y) if known is None else add_classes(known, column_or_1d(self.y))
        )

    def predict_proba(self, X: Any) -> Any:
        """Return probabilities of the classes."""
        return self._predict(X, "predict_proba")

    def decision_function(self, X: Any) -> Any:
        """Return log-odds, or the estimator's other scores."""
        return self._predict(X, "decision_function")
