"""Rivals from outside, as their own pages show them for streams: untuned, each row predicted before
it is learned.

They are imported if they are installed, and take part with the settings they come with. What is
missing is left out (river) or taken for the mean (scikit-learn), as neither knows missing values.
"""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import numpy as np

from swordplay.comparison.field import Contest, ParticipantPredictions
from swordplay.core.types import Vector

MOST_CALLS = 4000
"""Of scikit-learn, which checks its input for most of a millisecond: longer tables are learned
in blocks of a few rows.
"""


class Absent(Exception):
    """A rival that does not take part, and why."""


def block_size(rows: int) -> int:
    """Rows that scikit-learn is given at a time.

    >>> block_size(4000), block_size(4001), block_size(45_312)
    (1, 2, 12)
    """
    return -(-rows // MOST_CALLS)


def scikit_learn(field: Contest) -> ParticipantPredictions:
    """``StandardScaler`` and ``SGDRegressor``, or ``SGDClassifier`` with its logistic loss, by
    ``partial_fit``.
    """
    linear, preprocessing = _found("sklearn.linear_model"), _found("sklearn.preprocessing")
    scaler, size = preprocessing.StandardScaler(), block_size(len(field.rows))
    model = (
        linear.SGDClassifier(loss="log_loss", random_state=0)
        if field.classes
        else linear.SGDRegressor(random_state=0)
    )
    known = {"classes": np.arange(field.classes)} if field.classes else {}
    predictions = np.zeros(len(field.rows))
    for first in range(0, len(field.rows), size):
        part = slice(first, first + size)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter(
                "ignore", RuntimeWarning
            )  # columns in which everything is missing so far
            rows = np.nan_to_num(scaler.partial_fit(field.rows[part]).transform(field.rows[part]))
            try:
                if first:
                    predictions[part] = model.predict(rows)
                model.partial_fit(rows, field.targets[part], **known)
            except ValueError as error:  # scikit-learn notices by itself that numbers overflow
                raise Absent(f"overflowed in row {first + 1}") from error
    return field.scored(_finite(predictions))


def river(field: Contest) -> ParticipantPredictions:
    """``StandardScaler() | LinearRegression()``, or ``LogisticRegression()``, one for each of
    several classes.
    """
    linear, preprocessing = _found("river.linear_model"), _found("river.preprocessing")
    model: Any = linear.LogisticRegression() if field.classes else linear.LinearRegression()
    if field.classes > 2:
        model = _found("river.multiclass").OneVsRestClassifier(model)
    model = preprocessing.StandardScaler() | model
    targets = field.targets == 1 if field.classes == 2 else field.targets
    predictions = np.zeros(len(field.rows))
    with np.errstate(all="ignore"):
        for row, (values, target) in enumerate(
            zip(field.rows.tolist(), targets.tolist(), strict=True)
        ):
            features = {column: value for column, value in enumerate(values) if value == value}
            try:
                predictions[row] = model.predict_one(features) or 0.0
                model.learn_one(features, target)
            except (OverflowError, ValueError, ZeroDivisionError) as error:
                raise Absent(f"overflowed in row {row + 1}") from error
    return field.scored(_finite(predictions))


def _finite(predictions: Vector) -> Vector:
    """The predictions, unless they left what doubles can hold."""
    huge = ~(
        np.abs(predictions) < np.sqrt(np.finfo(np.float64).max / len(predictions))
    )  # so that their squares add up
    if huge.any():
        raise Absent(f"overflowed in row {int(huge.argmax()) + 1}")
    return predictions


def _found(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise Absent("not installed") from error
