"""Probabilities of classes from scores."""

from __future__ import annotations

import math

import numpy as np

from swordplay.core.types import Matrix


def of_scores(scores: Matrix, classes: int) -> Matrix:
    """The logistic of each score; divided by their sum where each class has a score of its own.

    Parameters
    ----------
    scores
        Log-odds of each class, shape ``(T, K)``; of the second one of two, or of a class that is
        alone, ``(T, 1)``.
    classes
        K.

    Examples
    --------
    >>> of_scores(np.array([[0.0], [np.log(3.0)]]), 2).round(2).tolist()
    [[0.5, 0.5], [0.25, 0.75]]
    """
    if scores.shape[1] == 1:
        answer = np.ones((len(scores), classes))
        if classes == 2:
            less = np.exp(
                -np.abs(scores[:, 0])
            )  # of the less likely one, beside 1: without overflow
            answer[:, 1] = np.where(scores[:, 0] > 0.0, 1.0, less) / (1.0 + less)
            answer[:, 0] -= answer[:, 1]
        return answer
    logs = -np.logaddexp(0.0, -scores)  # without overflow
    # The likeliest class keeps a share even if all are unlikely. As ufuncs: for one row, methods
    # cost more than the arithmetic.
    odds = np.exp(logs - np.maximum.reduce(logs, axis=1, keepdims=True))
    return np.asarray(odds / np.add.reduce(odds, axis=1, keepdims=True))


def of_second(score: float) -> float:
    """That of the second of two classes, from its log-odds in one row: as :func:`of_scores` has it,
    several times faster.

    >>> of_second(0.0)
    0.5
    """
    less = math.exp(-abs(score))
    return (1.0 if score > 0.0 else less) / (1.0 + less)


def of_two(score: float) -> list[float]:
    """Those of both.

    >>> of_two(0.0)
    [0.5, 0.5]
    """
    share = of_second(score)
    return [1.0 - share, share]
