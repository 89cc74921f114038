"""How good a model is on a stream, asked with scikit-learn's own tools: each row is predicted
before it is learned.

``PrequentialSplit`` is for ``cv=``, ``prequential_score`` and what ``make_prequential_scorer``
makes are for ``scoring=``. They work for the estimators here, for every other with ``partial_fit``,
and for pipelines that end in one of them.
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
from swordplay.estimators.labels import (
    add_classes,
)
from swordplay.estimators.sklearn_base import SklearnModel

TOGETHER = {"predict": "predict_then_learn", "predict_proba": "predict_proba_then_learn"}
"""What the estimators here call predicting rows in one way and learning them, all in one call."""


@final
class PrequentialSplit(BaseCrossValidator):  # type: ignore[misc]  # scikit-learn has no types
    """Blocks that follow one another.

    Each is tested on what comes before it, and every row from ``start`` on is tested once.

    Like ``TimeSeriesSplit``, with blocks of any length and from any row on. The order of the rows
    is time.

    Parameters
    ----------
    n_splits
        How many blocks of equal length (to a row) the rows from ``start`` on are cut into.
    block
        Rows of a block, instead of ``n_splits``; the last block has those that are left.
    start
        The first row that is tested, and so the number of rows that are learned before. By default
        one part of ``n_splits + 1`` equal ones; with ``block``, that many rows.

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
        """Indices of the rows to learn and of those to test, block after block.

        ``y`` and ``groups`` are not looked at.
        """
        edges = self._edges(_num_samples(indexable(X, y)[0]))
        for first, last in itertools.pairwise(edges):
            yield np.arange(first), np.arange(first, last)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """How many blocks there are; with ``block``, that depends on the rows."""
        if self.block is None:
            return self.n_splits
        if X is None:
            raise ValueError(
                "X must be given: how many blocks there are depends on its rows. Or set n_splits, "
                "and not block."
            )
        return len(self._edges(_num_samples(X))) - 1

    def _edges(self, rows: int) -> list[int]:
        """The first row of each block, and the number of all rows behind them."""
        start = (self.block or rows // (self.n_splits + 1)) if self.start is None else self.start
        blocks = self.n_splits if self.block is None else -(-(rows - start) // self.block)
        if start < 1 or rows - start < max(1, blocks):
            raise ValueError(
                f"X has {rows} rows, too few for {self!r}: at least one has to come before the "
                "first block, and one in each. Ask for fewer or shorter blocks, or start earlier."
            )
        if self.block is None:
            return [int(edge) for edge in np.linspace(start, rows, blocks + 1).astype(int)]
        return [*range(start, rows, self.block), rows]


def prequential_predict(estimator: Any, X: Any, y: Any, *, method: str = "predict") -> Any:
    """What a copy of an estimator says of each row before it learns that row, and so in a stream.

    Parameters
    ----------
    estimator
        Fitted, with ``partial_fit``; or a fitted pipeline whose last step has it. The steps before
        stay as they were fitted. Those of :mod:`swordplay.sklearn` need not be fitted. It is left
        as it is.
    X, y
        Rows in time order, and their targets.
    method
        ``"predict"``, ``"predict_proba"`` or ``"decision_function"``.

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
    together = getattr(learner, TOGETHER.get(method, ""), None)
    if together is not None:
        return together(X, targets)
    if getattr(learner, "partial_fit", None) is None:
        raise TypeError(
            f"{type(learner).__name__} has no partial_fit and cannot learn row by row. Score it on "
            "blocks: leave scoring as it is, and use cv=PrequentialSplit()."
        )
    if isinstance(learner, SklearnModel):
        learner._go_on_as_a_stream()
    said = []
    for t in range(len(targets)):
        said.append(getattr(learner, method)(X[t : t + 1]))
        learner.partial_fit(X[t : t + 1], targets[t : t + 1])
    return np.concatenate(said)


def prequential_score(estimator: Any, X: Any, y: Any, scoring: Any = None) -> float:
    """The score of a copy of a fitted estimator that predicts each row before it learns that row.

    As it takes an estimator, rows and targets, it is itself a scorer::

        cross_val_score(model, X, y, cv=PrequentialSplit(), scoring=prequential_score)

    Parameters
    ----------
    estimator, X, y
        As in :func:`prequential_predict`.
    scoring
        The name of a score, such as ``"neg_mean_absolute_error"``, or a scorer; by default R² for
        numbers and accuracy for classes.

    Examples
    --------
    >>> import numpy as np
    >>> from swordplay.sklearn import SwordRegressor, prequential_score
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> y = np.where(np.arange(500) < 250, 1.0, -1.0) * X[:, 0]  # turns round
    >>> prequential_score(SwordRegressor().fit(X[:100], y[:100]), X[100:], y[100:]) > 0.8
    True
    """
    told = _ToldClasses(estimator, y) if is_classifier(estimator) else _ToldNumbers(estimator, y)
    return float(check_scoring(told, scoring)(told, X, y))


def make_prequential_scorer(scoring: Any) -> Callable[[Any, Any, Any], float]:
    """A scorer for ``scoring=`` with another score than the usual one.

    Parameters
    ----------
    scoring
        The name of a score, such as ``"neg_mean_absolute_error"``, or a scorer.
    """
    return functools.partial(prequential_score, scoring=scoring)


class _Told(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Stands in for an estimator while a scorer asks for predictions: answers what the stream
    was told.
    """

    def __init__(self, estimator: Any, y: Any) -> None:
        self.estimator = estimator
        self.y = y

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any) -> Any:
        """Scorers want to see that there is one; it is not called."""
        raise NotImplementedError

    def predict(self, X: Any) -> Any:
        """Numbers or labels."""
        return self._asked(X, "predict")

    def _asked(self, X: Any, method: str) -> Any:
        return prequential_predict(self.estimator, X, self.y, method=method)


@final
class _ToldNumbers(RegressorMixin, _Told):  # type: ignore[misc]  # scikit-learn has no types
    """For regressors."""


@final
class _ToldClasses(ClassifierMixin, _Told):  # type: ignore[misc]  # scikit-learn has no types
    """For classifiers; those here let labels join late, behind the others."""

    @property
    def classes_(self) -> Vector:
        """Labels known after the last row, in the order of the columns of ``predict_proba``."""
        known = getattr(self.estimator, "classes_", None)
        return np.asarray(
            np.unique(self.y) if known is None else add_classes(known, column_or_1d(self.y))
        )

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes."""
        return self._asked(X, "predict_proba")

    def decision_function(self, X: Any) -> Any:
        """Log-odds, or whatever else the estimator decides by."""
        return self._asked(X, "decision_function")
