"""What an engine is given by its callers: rows and targets that fit, or an error before anything
is learned.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swordplay.core import arguments
from swordplay.core.types import Array, Vector
from swordplay.parts.experts.step_sizes import SMALLEST_SUM, underflow_message
from swordplay.parts.losses import HuberLoss, LogisticLoss, PinballLoss, SquaredLoss

ROWS_AT_ONCE = 4096
"""Rows of a block in which the first gradient other than 0 is looked for."""


def is_sparse(features: Any) -> bool:
    """Whether rows are a sparse matrix by rows."""
    return hasattr(features, "indptr")


def rows(features: Any, targets: Any, dim: int, loss: str) -> tuple[Any, Vector]:
    """Many rows of ``dim`` features and their targets."""
    if hasattr(features, "tocsr"):
        arguments.check_sparse_indices("features", features)
        features = features.tocsr()  # the kernels know no other format
    table: Any = features if is_sparse(features) else arguments.without_mask("features", features)
    goals = arguments.array("targets", targets, ndim=1)
    if table.shape != (len(goals), dim):
        raise ValueError(
            f"features must have shape ({len(goals)}, {dim}), got {table.shape}. Give one row per "
            "target."
        )
    if is_sparse(table):
        arguments.check_sparse_indices("features", table)
    arguments.array("features", table.data if is_sparse(table) else table)
    if loss == "logistic" and not np.isin(goals, (0.0, 1.0)).all():
        raise ValueError(
            "targets must be 0 or 1 for the logistic loss. Encode the two labels as 0 and 1."
        )
    return table, goals


def sparse_rows(features: Any, rows: slice) -> tuple[Vector, NDArray[np.int64], NDArray[np.int64]]:
    """Values, indices and starts of some rows of a CSR matrix, as the kernels take them: each index
    once a row.

    Only the indices are copied if the matrix is in scipy's canonical format: cutting it by scipy
    would copy all of it.
    """
    if features.has_canonical_format:
        starts = features.indptr[rows.start : rows.stop + 1].astype(np.int64)
        values, indices = (
            features.data[starts[0] : starts[-1]],
            features.indices[starts[0] : starts[-1]],
        )
        starts -= starts[0]
    else:
        part = features[rows]
        part.sum_duplicates()
        values, indices, starts = part.data, part.indices, part.indptr.astype(np.int64)
    return (
        np.require(values, dtype=np.float64, requirements=["C", "W"]),
        indices.astype(np.int64),
        starts,
    )


@np.errstate(over="ignore", invalid="ignore")  # such rows are refused when they are played
def require_measurable(
    features: Any, targets: Vector, loss: str, number: Any, weights: Any, decision: Vector
) -> None:
    """Refuse rows whose first gradient other than 0 has a square that underflows.

    Steps and certificates are made of these squares. A learner that has met no gradient stands at
    one point with all its experts, so that this gradient is known before the rows are played.

    Parameters
    ----------
    features, targets
        Rows that were checked, dense or CSR, shape ``(T, d)``, and their targets, shape ``(T,)``.
    loss, number
        Name of the loss, and its threshold or level, for all rows or one for each.
    weights
        Weight of the loss, for all rows or one for each.
    decision
        Where the learner and its experts stand, shape ``(d,)``.

    Raises
    ------
    ValueError
        Names the largest entry of the gradient, and the remedy.
    """
    # The first row alone, as it is nearly always the one, and then blocks of rows.
    edges = [0, *range(1, len(targets), ROWS_AT_ONCE), len(targets)]
    for first, stop in pairwise(edges):
        block = slice(first, stop)
        part = features[block]
        largest = abs(part).max(axis=1)
        largest = largest.toarray().reshape(-1) if is_sparse(part) else largest
        some = number[block] if np.ndim(number) else number
        slopes = np.abs(slopes_of(loss, some, part @ decision, targets[block]))
        slopes = slopes * (weights[block] if np.ndim(weights) else weights)
        met = slopes * largest > 0.0
        if not met.any():
            continue
        k = int(met.argmax())
        row = part[[k]].toarray()[0] if is_sparse(part) else part[k]
        gradient = slopes[k] * np.asarray(row, dtype=np.float64)
        if gradient @ gradient < SMALLEST_SUM:
            raise ValueError(underflow_message(float(np.abs(gradient).max())))
        return


def slopes_of(loss: str, number: Any, predictions: Array, targets: Vector) -> Array:
    """Return the derivative of a loss in the prediction, for each row, shape ``(T,)``."""
    # The losses are elementwise, so one loss with all targets stands for all rows.
    one: Any = np.ones(1)
    every: Any = targets
    if loss == "huber":
        return HuberLoss.trusted(one, every, threshold=number).slope(predictions)
    if loss == "pinball":
        return PinballLoss.trusted(one, every, level=number).slope(predictions)
    family = SquaredLoss if loss == "squared" else LogisticLoss
    return family.trusted(one, every).slope(predictions)


def row(features: Any, dim: int) -> Vector:
    """One row of ``dim`` features."""
    if type(features) is np.ndarray and features.dtype == np.float64 and features.shape == (dim,):
        return features if features.flags.carray else features.copy()
    return arguments.vector("features", features, dim)


def target(value: Any, loss: str) -> float:
    """The target of one row."""
    if type(value) is not float or value - value != 0.0:
        value = arguments.real(
            "target", float(value) if isinstance(value, bool | np.bool_) else value
        )
    if loss == "logistic" and value not in (0.0, 1.0):
        raise ValueError(
            f"target must be 0 or 1 for the logistic loss, got {value}. Encode the two labels as "
            "0 and 1."
        )
    return value  # type: ignore[no-any-return]  # a float by now, of a value that could be anything
