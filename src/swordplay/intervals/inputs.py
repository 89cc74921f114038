"""Forecasts, truths and columns as callers hand them in, made clean or refused in words."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from swordplay.core import arguments
from swordplay.core.arguments import LARGEST_INPUT, short_repr
from swordplay.core.types import Array, Matrix, Vector


def number(name: str, value: Any) -> float:
    """A finite number that is not huge."""
    clean = arguments.real(name, value)
    if abs(clean) > LARGEST_INPUT:
        _refuse_huge(name, clean)
    return clean


def numbers(name: str, values: Any) -> Vector:
    """Finite numbers that are not huge, shape ``(T,)``."""
    clean = np.ascontiguousarray(arguments.array(name, values, ndim=1))
    if len(clean) and max(clean.max(), -clean.min()) > LARGEST_INPUT:
        _refuse_huge(name, clean[np.abs(clean) > LARGEST_INPUT][0])
    return clean


def row(features: Any, known: int | None) -> Matrix:
    """The columns of one row, shape ``(1, d)``; see :func:`rows`."""
    if features is None:
        return rows(None, 1, known)
    one = arguments.without_mask("features", features)
    if one.ndim != 1:
        raise ValueError(
            f"features must have shape (d,), got {one.shape}. Give the columns of one row."
        )
    return rows(one[None], 1, known)


def rows(features: Any, count: int, known: int | None) -> Matrix:
    """Columns of rows, shape ``(T, d)``: finite or missing (NaN), as many as are known.

    None without features.
    """
    if features is None:
        clean: Matrix = np.empty((count, 0))
    else:
        raw = arguments.without_mask("features", features)
        if raw.dtype.kind not in "fiub":
            raise TypeError(
                f"features must hold real numbers, got dtype {raw.dtype}. Encode or convert them "
                "first."
            )
        if raw.ndim != 2 or len(raw) != count:
            raise ValueError(
                f"features must have shape (T, d) with T = {count}, got {raw.shape}. Give one row "
                "per prediction."
            )
        clean = np.ascontiguousarray(raw, dtype=np.float64)
        huge = np.abs(clean) > LARGEST_INPUT  # NaN is not
        if huge.any():
            _refuse_huge("features", clean[huge][0])
    if known is not None and clean.shape[1] != known:
        raise ValueError(
            f"features must have {known} column(s), as in the rows that were learned, got "
            f"{clean.shape[1]}."
        )
    return clean


def judged(given: Any, places: Any) -> Array:
    """An interval that the caller says was given, shape ``(levels, 2)``.

    ``places`` says where each level stands there.
    """
    try:
        lower, upper = (
            np.atleast_1d(np.array(arguments.without_mask("given", end), dtype=np.float64))
            for end in given
        )
    except (TypeError, ValueError):
        raise TypeError(f"given must be a pair (lower, upper), got {short_repr(given)}.") from None
    if lower.shape != places.shape or upper.shape != places.shape:
        raise ValueError(
            f"given must have {len(places)} lower and upper end(s), got {short_repr(given)}."
        )
    if not (lower <= upper).all():
        raise ValueError(
            f"given must not have a lower end above the upper, nor NaN, got {short_repr(given)}. "
            "Swap or drop them."
        )
    bounds = np.empty((len(lower), 2))
    bounds[places] = np.column_stack([lower, upper])
    return bounds


def _refuse_huge(name: str, value: float) -> NoReturn:
    raise ValueError(
        f"{name} must lie between -{LARGEST_INPUT:g} and {LARGEST_INPUT:g}, got {value:g}. "
        "Drop or repair it, or rescale."
    )
