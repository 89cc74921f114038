"""Checks of the keys, rows, targets and labels that a user gives, before anything is learned."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from swordplay.core import arguments
from swordplay.core.arguments import short_repr
from swordplay.core.types import Matrix, Vector
from swordplay.estimators.labels import label_array
from swordplay.estimators.model_settings import LARGEST
from swordplay.keyed.sqlite_store import Key

KEY_TYPES = {
    "text": (pa.types.is_string, pa.types.is_large_string),
    "whole numbers": (pa.types.is_integer,),
}
"""Types of keys, and the Arrow types of each."""

LARGEST_KEY = 2**63 - 1
"""The largest whole number that a folder can hold."""

MAX_UNCONFIRMED_COLUMNS = 10_000
"""Most columns that a folder without keys may claim to have, as no state confirms them."""


class Rows(NamedTuple):
    """Rows of many keys."""

    keys: list[Key]
    """The different keys, in the order in which they appear."""
    key_type: str
    """A name in ``KEY_TYPES``."""
    codes: Any
    """Place of the key of each row among these, shape ``(T,)``."""
    numbers: Matrix
    names: tuple[str, ...] | None
    """Names of the columns; None where they have none."""


def checked(
    keys: Any, X: Any, width: int | None, names: tuple[str, ...] | None, key_type: str
) -> Rows:
    """Check keys and rows against the rows before.

    Parameters
    ----------
    keys, X
        As the user gave them.
    width, names, key_type
        Columns, names of the columns and type of the keys before; None, None and "" if there were
        no rows.
    """
    columns = getattr(X, "columns", None)
    given = None if columns is None else tuple(map(str, columns))
    if names is not None and given is not None and given != names:
        raise ValueError(
            f"X must have the columns {short_repr(list(names))}, got {short_repr(list(given))}. "
            "Give the same, in this order."
        )
    numbers = moderate("X", X, 2)
    if numbers.shape[1] != (width or numbers.shape[1]) or not numbers.shape[1]:
        raise ValueError(
            f"X must have {width or 'one or more'} column(s), got {numbers.shape[1]}. Give the "
            "same columns in all calls."
        )
    found, codes, now = _encoded(keys)
    if len(codes) != len(numbers):
        raise ValueError(
            f"keys must be one for each row, got {len(codes)} for {len(numbers)} rows."
        )
    if key_type and now and now != key_type:
        raise TypeError(f"keys must be {key_type}, as before, got {now}. Convert them first.")
    return Rows(found, now or key_type, codes, numbers, names or given)


def _encoded(keys: Any) -> tuple[list[Key], Any, str]:
    """Return the different keys, the place of each row's key among them, and their type."""
    try:
        column = keys if isinstance(keys, pa.Array) else pa.array(keys)
    except MemoryError:
        raise
    except Exception as error:  # pyarrow passes on whatever an odd object raises
        why = short_repr(str(error), 120)[1:-1]
        raise TypeError(
            f"keys must be all text or all whole numbers, got {short_repr(keys)} ({why})."
        ) from error
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if column.null_count:
        raise ValueError(
            f"keys must not be missing, got {column.null_count} that are, the first in row "
            f"{_first_null(column)}."
        )
    kind = next(
        (name for name, tests in KEY_TYPES.items() if any(test(column.type) for test in tests)), ""
    )
    if not kind and len(column):
        raise TypeError(
            f"keys must be text or whole numbers, got {short_repr(str(column.type), 40)[1:-1]} "
            f"such as {short_repr(column[0].as_py())}."
        )
    encoded = column.dictionary_encode()
    found = encoded.dictionary.to_pylist()
    if pa.types.is_uint64(column.type) and max(found, default=0) > LARGEST_KEY:
        raise ValueError(
            f"keys must not pass {LARGEST_KEY}, got {max(found)}. Give larger ones as text."
        )
    return found, encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), kind


def _first_null(column: Any) -> int:
    return int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))


def moderate(name: str, values: Any, ndim: int) -> Any:
    """Return an array of doubles of which none is missing, infinite or beyond ``LARGEST``."""
    array = np.ascontiguousarray(arguments.array(name, values, ndim), dtype=np.float64)
    if array.size and not np.abs(array).max() <= LARGEST:
        worst = array.flat[np.abs(array).argmax()]
        raise ValueError(
            f"{name} must not pass {LARGEST:g} in magnitude, got {worst:g}. Drop or repair that "
            "entry."
        )
    return array


def require_shared(dim: Any, key_type: Any, names: Any, clock: Any) -> None:
    """Check what a folder says about all keys: columns, their names, type of the keys, time."""
    named = names is None or (
        type(names) is list
        and set(map(type, names)) == {str}
        and len(set(names)) == len(names) == arguments.integer("dim", dim)
    )
    if (
        key_type not in KEY_TYPES
        or not named
        or not 0 <= arguments.integer("clock", clock, least=0) < 2**63
    ):
        raise ValueError(
            f"they have {short_repr(dim)} columns named {short_repr(names)}, are "
            f"{short_repr(key_type)}, at time {short_repr(clock)}."
        )


def require_held(columns: int, longest: int) -> None:
    """Refuse more columns than the longest state, in bytes, can hold, before memory is reserved."""
    if columns > (longest // 8 or MAX_UNCONFIRMED_COLUMNS):
        raise ValueError(f"they have {columns} columns and lags, but states of {longest} bytes.")


def targets(y: Any, count: int) -> Vector:
    """Check the targets of a regression."""
    values = moderate("y", y, 1)
    _require_length(values, count)
    return np.asarray(values)


def labels(y: Any, count: int, classes: Any) -> tuple[Any, Vector]:
    """Return all classes, those of these labels if None are given, and the place of each label."""
    values = label_array("y", y)
    _require_length(values, count)
    if classes is not None and {values.dtype.kind, classes.dtype.kind} == {"u", "i"}:
        # numpy would compare them as doubles, which cannot tell large ones apart
        values = np.array(values.tolist(), dtype=object) if values.size else values
    try:
        known = np.unique(values) if classes is None else classes
        places = np.searchsorted(known, values)
    except MemoryError:
        raise
    except Exception as error:  # such as a comparison of numbers with words
        raise TypeError(
            f"y must hold labels of one kind, none of them missing, got {short_repr(y)}."
        ) from error
    require_classes(known)
    places = np.minimum(places, len(known) - 1)
    strange = known[places] != values
    if np.any(strange):
        raise ValueError(
            f"y holds the label {short_repr(values[strange].tolist()[0])}, which is none of the "
            f"classes {short_repr(known.tolist())}. Give all labels that may come as classes=[...]."
        )
    return known, places.astype(np.float64)


def require_classes(classes: Any) -> None:
    """Refuse fewer than two classes."""
    if len(classes) < 2:
        raise ValueError(
            f"classes must be two or more labels, got {short_repr(classes.tolist())}. Give all "
            "that may come as classes=[...]."
        )


def _require_length(values: Any, count: int) -> None:
    if values.shape != (count,):
        raise ValueError(
            f"y must have shape ({count},), got {values.shape}. Give one target for each row."
        )
