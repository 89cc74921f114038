"""Coefficients in the units of the raw columns."""

from __future__ import annotations

import numpy as np

from swordplay.core.types import Matrix, Vector
from swordplay.estimators.classes import OneModelPerClass
from swordplay.estimators.head import Head
from swordplay.estimators.model import LinearModel
from swordplay.estimators.second_order import SecondOrder


def of_model(model: Head) -> tuple[Vector, float]:
    """Coefficients of lags and raw columns, and the intercept.

    Where nothing is clipped, x (v - c)/s = (x/s) v - (x/s) c; a column that has not spread yet
    counts for nothing.
    """
    centers, spreads = model.columns.places
    decision = model.decision
    coefficients = np.divide(
        decision[: len(spreads)], spreads, out=np.zeros_like(spreads), where=spreads > 0
    )
    constant = decision[len(spreads) :].sum() + (
        0.0 if model.loss == "logistic" else model.target.center
    )
    return coefficients, float(constant - coefficients @ centers)


def of_mixture(model: LinearModel) -> tuple[Vector, float]:
    """The same of a model's predictions for the next row, second-order experts included."""
    return mixed(*of_model(model.head), model.second)


def mixed(
    coefficients: Vector, intercept: float, second: SecondOrder | None
) -> tuple[Vector, float]:
    """Coefficients of a first-order model, mixed with those of the layer beside it, where there
    is one that has learned.
    """
    if second is None or not second.active:
        lags = 0 if second is None or not second.compete else second.lags
        return np.append(np.zeros(lags), coefficients), intercept
    found, own = second.in_raw_units(), len(coefficients) - second.dim
    first = np.append(np.zeros(second.lags - own), found.share * coefficients)
    return first + np.append(found.lags, found.columns), found.share * intercept + found.intercept


def of_classes(model: OneModelPerClass) -> tuple[Matrix, Vector]:
    """Coefficients of the log-odds of each class, or of the second of two, and their intercepts."""
    found, signs = [of_model(one) for one in model.heads], model.signs
    if model.second is not None:
        found = [mixed(*one, model.second) for one in found]
    return signs[:, None] * np.stack([row for row, _ in found]), signs * np.array(
        [constant for _, constant in found]
    )


def in_scaled_units(head: Head, second: SecondOrder | None) -> Vector:
    """Coefficients of the scaled columns of a first-order model, mixed with those of the layer
    beside it; lags are left out.
    """
    spreads = head.columns.places[1]
    own = head.decision[: len(spreads)]
    if second is None or not second.active:
        return own
    found, lags = second.in_raw_units(), len(spreads) - second.dim
    return np.asarray(found.share * own + np.append(np.zeros(lags), found.columns) * spreads)
