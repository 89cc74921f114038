"""Coefficients in the units of the raw columns."""

from __future__ import annotations

import numpy as np

from swordplay.base.types import Matrix, Vector
from swordplay.estimators.classes import OneModelPerClass
from swordplay.estimators.head import Head


def of_model(model: Head) -> tuple[Vector, float]:
    """Coefficients of lags and raw columns, and the intercept.

    Where nothing is clipped, x (v - c)/s = (x/s) v - (x/s) c; a column that has not spread yet counts for nothing.
    """
    centers, spreads = model.columns.places
    decision = model.decision
    coefficients = np.divide(decision[: len(spreads)], spreads, out=np.zeros_like(spreads), where=spreads > 0)
    constant = decision[len(spreads) :].sum() + (0.0 if model.loss == "logistic" else model.target.center)
    return coefficients, float(constant - coefficients @ centers)


def of_classes(model: OneModelPerClass) -> tuple[Matrix, Vector]:
    """Coefficients of the log-odds of each class, or of the second of two, and their intercepts."""
    found, signs = [of_model(one) for one in model.heads], model.signs
    return signs[:, None] * np.stack([row for row, _ in found]), signs * np.array([constant for _, constant in found])
