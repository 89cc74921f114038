"""What ``swordplay track`` runs, bit by bit: the estimator on the raw rows, where columns and
classes join as they appear.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from swordplay.comparison.field import Contest, ParticipantPredictions
from swordplay.core.types import Matrix
from swordplay.estimators.class_model import ClassModel
from swordplay.estimators.linear_model import LinearModel


def estimator(field: Contest) -> ParticipantPredictions:
    """What SwordRegressor or SwordClassifier says."""
    return _classes(field) if field.classes else _values(field)


def _values(field: Contest) -> ParticipantPredictions:
    model = LinearModel(_start(field), **field.model)
    parts = []
    for first, stop in pairwise(sorted({*field.widths, len(field.rows)})):
        if field.widths[first] > model.dim:
            model.widen(field.widths[first])
        parts.append(
            model.predict_then_learn(
                _cut(field, first, stop, field.widths[first]), field.targets[first:stop]
            )
        )
    return field.scored(np.concatenate(parts))


def _classes(field: Contest) -> ParticipantPredictions:
    width, debuts = field.widths[0], field.debuts.tolist()
    absent = np.setdiff1d(np.arange(field.classes), field.targets)
    places = np.argsort(
        np.concatenate([field.targets[debuts], absent])
    )  # of each class, in the order in which they appear
    labels = places[field.targets]
    model = ClassModel(lambda: LinearModel(_start(field), loss="logistic", **field.model))
    predictions, scores = np.empty(len(labels)), np.zeros((len(labels), max(2, field.classes)))
    for first, stop in pairwise(sorted({*field.widths, *debuts, len(labels)})):
        if first in field.widths:
            width = field.widths[first]
            model.widen(width)
        model.grow(model.classes + (first in debuts))
        if not first and width > _start(field):
            model.widen(width)
        rows = _cut(field, first, stop, width)
        told = model.scores_then_learn(rows, labels[first:stop])
        probabilities = model.probabilities_then_learn(told, rows, labels[first:stop])
        predictions[first:stop] = probabilities.argmax(axis=1)
        found = told.scores
        if found.shape[1] == 1:
            found = np.hstack([-found, found])
        scores[first:stop, : found.shape[1]] = found
    # back to the order of the field; of two classes, the second one is told
    predictions = field.targets[debuts][predictions.astype(np.intp)].astype(np.float64)
    return ParticipantPredictions(
        predictions, scores[:, places] if len(field.streams) > 1 else scores[:, places[1:2]]
    )


def _start(field: Contest) -> int:
    return field.widths[0] if field.start is None else field.start


def _cut(field: Contest, first: int, stop: int, width: int) -> Matrix:
    return np.ascontiguousarray(field.rows[first:stop, :width])
