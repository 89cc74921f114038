"""What an engine is given by its callers: rows and targets that fit, or an error before anything
is learned.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from swordplay.core import arguments
from swordplay.core.types import Vector


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
