"""Scores of prediction sets: the probability that a model gave to labels more probable than the
true one.

It is 0 where the most probable label was right. Sets (``estimators.sklearn_classifier``,
``estimators.river``) hold the labels above which not too much probability lies.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from swordplay.core.types import Matrix, Vector


def mass_above(probabilities: Matrix) -> Matrix:
    """For each label the probability of all that are more probable, shape ``(T, K)``.

    Ties do not count.

    >>> mass_above(np.array([[0.2, 0.5, 0.3], [0.4, 0.4, 0.2]])).round(1)
    array([[0.8, 0. , 0.5],
           [0. , 0. , 0.8]])
    """
    if probabilities.shape[1] == 2:  # the same to the last bit, without sorting
        others = probabilities[:, ::-1]
        return np.where(probabilities < others, probabilities + others - probabilities, 0.0)
    order = np.argsort(-probabilities, axis=1, kind="stable")
    ranked = np.take_along_axis(probabilities, order, axis=1)
    before = np.cumsum(ranked, axis=1) - ranked
    first = np.concatenate(
        [np.ones((len(ranked), 1), dtype=bool), ranked[:, 1:] < ranked[:, :-1]], axis=1
    )
    above = np.maximum.accumulate(
        np.where(first, before, 0.0), axis=1
    )  # that of the first of equals
    answer = np.empty_like(above)
    np.put_along_axis(answer, order, above, axis=1)
    return answer


def of_truths(above: Matrix, labels: Any) -> Vector:
    """The score of each row: the entry of its true label, shape ``(T,)``."""
    return np.asarray(above[np.arange(len(labels)), labels])
