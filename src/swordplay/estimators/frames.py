"""Data frames for the estimators of scikit-learn: recognised, refused in words, or encoded."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from swordplay.core import arguments, extras
from swordplay.core.arguments import short_repr
from swordplay.core.types import Matrix

ARROW = ("__arrow_c_stream__", "__arrow_c_array__")
KINDS = {"U": "words", "S": "words", "M": "dates", "m": "lengths of time"}
"""Of arrays that hold no numbers."""


def is_frame(X: Any) -> bool:
    """Whether something has columns with names: a frame of pandas or polars, or an Arrow table."""
    return hasattr(X, "columns") or any(hasattr(X, name) for name in ARROW)


def refuse_columns(X: Any, remedy: str) -> None:
    """Refuse a frame of pandas or polars with a column of words or dates, which is named.

    Parameters
    ----------
    X
        Anything; what is no frame is somebody else's.
    remedy
        A sentence that says what to do.
    """
    names, dtypes = getattr(X, "columns", None), getattr(X, "dtypes", None)
    if names is None or dtypes is None:
        return
    for k, (name, dtype) in enumerate(zip(names, dtypes, strict=False)):
        if getattr(dtype, "kind", "") in ("f", "i", "u", "b"):
            continue
        values = np.asarray(X.iloc[:, k] if hasattr(X, "iloc") else X[name])
        what, example = held(values)
        if values.dtype.kind == "O" and not what:
            arguments.as_doubles(f"X: column {str(name)!r}", values)
        if values.dtype.kind == "c":
            what, example = "complex numbers", values[0]
        if what:
            raise ValueError(
                f"X: column {str(name)!r} holds {what} such as {short_repr(example, 40)}, and not "
                f"numbers. {remedy}"
            )


def held(values: Any) -> tuple[str, Any]:
    """What an array holds that is no number, and the first such value; nothing if all is well."""
    if values.dtype.kind in KINDS:
        return KINDS[values.dtype.kind], str(values.flat[0]) if values.size else ""
    if values.dtype.kind != "O":
        return "", None
    for value in values.flat:
        if isinstance(value, str | bytes):
            return "words", value
        if (
            hasattr(value, "isoformat") or type(value).__name__ == "Period"
        ):  # dates and times of Python and pandas
            return "dates", str(value)
    return "", None


def require_names(estimator: Any, *, reset: bool) -> None:
    """Refuse an array where the columns had names at first: nobody knows which is which."""
    if not reset and hasattr(estimator, "feature_names_in_"):
        known = short_repr(", ".join(estimator.feature_names_in_), 80)[1:-1]
        raise ValueError(
            f"X must be a table with the columns of the first one ({known}), got an array. Give "
            "their names."
        )


def require_table(X: Any) -> None:
    """Refuse what is no array of several values.

    How many dimensions it needs is left to scikit-learn.
    """
    if not hasattr(X, "tocsr") and arguments.without_mask("X", X).ndim == 0:
        raise ValueError(
            f"X must be a table (Expected 2D array), got {short_repr(X)}. Give a data frame or "
            "rows of values."
        )


def encoder_of(X: Any, known: Any = None) -> Any:
    """An encoder for frames like this one, or a copy of the one that is known.

    Raises
    ------
    ImportError
        If pyarrow is not installed.
    """
    return _frame_encoder().begin(X) if known is None else copy.deepcopy(known)


def resumed(saved: Any) -> Any:
    """The encoder that was saved."""
    return _frame_encoder().resumed(saved)


def _frame_encoder() -> Any:
    """The class, imported when it is needed: pyarrow takes long, and need not be there."""
    with extras.require_extra("encode=True and TableEncoder", "cli", "pyarrow"):
        from swordplay.tables.frame_encoder import FrameEncoder
    return FrameEncoder


def without_missing(rows: Matrix, means: Any) -> Matrix:
    """Rows with the means of the columns in place of NaN."""
    return np.where(np.isnan(rows), means[: rows.shape[1]], rows)
