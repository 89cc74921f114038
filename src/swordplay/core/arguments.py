"""Checks of single arguments: each returns the converted value or raises an error.

Every error names the argument, the value received and the remedy.
"""

from __future__ import annotations

import functools
import math
import numbers
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any, TypeVar

import numpy as np

from swordplay.core.types import Array, Domain, Learner, Loss, Vector

F = TypeVar("F", bound=Callable[..., Any])

SMALLEST_SIZE = 1e-100
"""Smallest radius or diameter of a domain: its square times a squared gradient is above 0."""
LARGEST_SIZE = 1e100
"""Largest radius or diameter of a domain: its square times a squared gradient is finite."""
LARGEST_DIMENSION = 1 << 40
"""Largest number of coordinates: a point of this length takes eight terabytes.

Without the limit a mistyped dimension would raise an error of numpy that names no argument.
"""
LARGEST_GRADIENT = 1e150
"""Largest entry of a gradient: squares of larger ones overflow and turn the state into NaN.

Learners that subtract or square values of losses refuse larger values, too.
"""
LARGEST_INPUT = 1e60
"""Largest magnitude of features and targets of estimators.

Products of their squares with a radius and a scale stay in the range of doubles.
"""


def short_repr(value: object, limit: int = 80) -> str:
    """Return a short text for a value, for an error message.

    A long array, series or table is written as its type, its shape and its first value.

    >>> short_repr([1, 2]), short_repr(np.arange(100.0))
    ('[1, 2]', 'ndarray of shape (100,) that begins with 0.0')
    """
    try:
        text = repr(value)
        if len(text) > limit or "\n" in text:
            shape = getattr(value, "shape", None)
            if isinstance(shape, tuple) and shape:
                first_values = np.asarray(value).reshape(-1)[:1].tolist()
                # an object whose conversion yields itself would be described without end
                beginning = (
                    f" that begins with {short_repr(first_values[0], limit // 2)}"
                    if first_values and first_values[0] is not value
                    else ""
                )
                return f"{type(value).__name__} of shape {shape}{beginning}"
    except Exception:  # any repr may fail; Python refuses to print ints of over 4,300 digits
        return (
            f"a whole number of {value.bit_length()} bits"
            if isinstance(value, int)
            else f"a {type(value).__name__}"
        )
    text = text.replace("\n", " ")
    return text if len(text) <= limit else text[: limit - 3] + "..."


def is_real(value: object) -> bool:
    """Whether a value is a real number; numpy's timedelta64, registered as one, is not."""
    return isinstance(value, numbers.Real) and not isinstance(value, np.timedelta64)


def is_missing(value: Any) -> bool:
    """Whether a value is missing: None, NaN or NaT of Python, numpy, decimal or pandas."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return (
        value.is_nan()
        if isinstance(value, Decimal)
        else isinstance(value, float | np.floating) and math.isnan(value)
    )


def real(name: str, value: Any) -> float:
    """Check that a value is a finite real number."""
    if isinstance(value, np.ma.MaskedArray):
        without_mask(name, value)  # always raises an error for a masked array
    if isinstance(value, np.ndarray) and value.ndim == 0:  # an array without axes is one number
        value = value.item()
    if isinstance(value, bool | np.bool_) or not is_real(value):
        raise TypeError(
            f"{name} must be a real number, got {short_repr(value)} ({type(value).__name__})."
        )
    try:
        number = float(value)
    except OverflowError:  # an int or a fraction beyond the range of doubles
        number = math.inf
    if not math.isfinite(number):
        received = short_repr(value) if isinstance(value, int) else number
        raise ValueError(f"{name} must be finite, got {received}. Give a number such as 1.0.")
    return number


def positive(name: str, value: Any) -> float:
    """Check that a value is a finite number above zero."""
    number = real(name, value)
    if number <= 0:
        raise ValueError(f"{name} must be greater than 0, got {number}. Give a positive number.")
    return number


def positive_with_safe_square(name: str, value: Any) -> float:
    """Check that a value is a positive size whose square neither overflows nor vanishes."""
    number = positive(name, value)
    if not SMALLEST_SIZE <= number <= LARGEST_SIZE:
        raise ValueError(
            f"{name} must lie between {SMALLEST_SIZE:g} and {LARGEST_SIZE:g}, got {number}. "
            "Choose another unit."
        )
    return number


def nonnegative(name: str, value: Any) -> float:
    """Check that a value is a finite number, zero or above."""
    number = real(name, value)
    if number < 0:
        raise ValueError(f"{name} must be at least 0, got {number}. Give 0 or a positive number.")
    return number


def fraction(name: str, value: Any) -> float:
    """Check that a value is a number between 0 and 1, both excluded."""
    number = real(name, value)
    if not 0.0 < number < 1.0:
        raise ValueError(
            f"{name} must lie between 0 and 1, got {number}. Give a number such as 0.9."
        )
    return number


def integer(name: str, value: Any, least: int = 1) -> int:
    """Check that a value is a whole number of at least ``least``.

    A float without fraction passes, because a horizon is often written as 1e5.
    """
    if isinstance(value, bool | np.bool_ | np.timedelta64) or not isinstance(
        value, numbers.Integral
    ):
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        else:
            raise TypeError(
                f"{name} must be a whole number, got {short_repr(value)} ({type(value).__name__})."
            )
    number = int(value)
    if number < least:
        raise ValueError(f"{name} must be at least {least}, got {short_repr(number)}.")
    return number


def dimension(name: str, value: Any, least: int = 1) -> int:
    """Check that a value is a number of coordinates that an array can have."""
    number = integer(name, value, least)
    if number > LARGEST_DIMENSION:
        raise ValueError(
            f"{name} must be at most {LARGEST_DIMENSION}, got {short_repr(number)}. Give the "
            "number of coordinates."
        )
    return number


def one_of(name: str, value: Any, allowed: Iterable[str]) -> None:
    """Check that a value is one of these strings."""
    # Only strings are compared: == may raise or return an array for other objects.
    if not (isinstance(value, str) and value in (allowed := tuple(allowed))):
        raise ValueError(f"{name} must be one of {sorted(allowed)}, got {short_repr(value)}.")


def without_mask(name: str, value: Any) -> Any:
    """Convert a value to an array; refuse a masked array, as conversion would drop its mask."""
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(
            f"{name} must not be masked: the mask would be lost. Fill it or drop the masked "
            "entries."
        )
    try:
        return np.asarray(value)
    except MemoryError:
        raise
    except Exception as error:  # numpy's own message does not name the argument
        raise ValueError(
            f"{name} must be an array, got {short_repr(value)}, which numpy cannot convert. Give "
            "rows of one length and plain values."
        ) from error


def array(name: str, value: Any, ndim: int | None = None) -> Array:
    """Check that a value is a finite array, and convert it to doubles; copied only if needed."""
    raw = without_mask(name, value)
    if raw.dtype.kind not in "fiub":
        # The message names the first object that is no usable number, if the array holds objects.
        objects = raw.flat if raw.dtype.kind == "O" else ()
        invalid = [
            item
            for item in objects
            if not is_real(item) or not -LARGEST_INPUT <= item <= LARGEST_INPUT
        ]
        received = (
            f"{short_repr(invalid[0], 40)} ({type(invalid[0]).__name__})"
            if invalid
            else f"dtype {raw.dtype}"
        )
        raise TypeError(
            f"{name} must hold real numbers, got {received} in {short_repr(value)}. Convert it to "
            "float first."
        )
    doubles = np.asarray(raw, dtype=np.float64)
    if ndim is not None and doubles.ndim != ndim:
        raise ValueError(
            f"{name} must have {ndim} dimension(s), got shape {doubles.shape}. Reshape it to "
            f"{ndim}-d."
        )
    check_finite(name, doubles)
    return doubles


def as_doubles(name: str, objects: Any) -> Any:
    """Convert an array of objects to doubles; None becomes NaN."""
    try:
        return np.ascontiguousarray(objects, dtype=np.float64)
    except MemoryError:
        raise
    except Exception:  # messages of numpy and of objects do not give the index of the value
        for index, value in np.ndenumerate(objects):
            try:
                np.float64(0.0 if value is None else float(value))
            except Exception as error:
                kind = TypeError if isinstance(error, TypeError) else ValueError
                position = (
                    index[0]
                    if len(index) == 1
                    else f"row {index[0]}, column {index[1]}"
                    if len(index) == 2
                    else index
                )
                raise kind(
                    f"{name} must hold numbers, got {short_repr(value, 40)} "
                    f"({type(value).__name__}) at {position}: {short_repr(str(error), 120)[1:-1]}. "
                    "Convert or repair it first."
                ) from None
        raise ValueError(
            f"{name} must hold numbers, got {short_repr(objects)}. Convert or repair it first."
        ) from None


def check_finite(name: str, values: Array) -> None:
    """Raise an error with the index of the first entry that is NaN or infinite, if there is one."""
    with np.errstate(over="ignore", invalid="ignore"):
        # NaN and infinity spread to the sum: if it is finite, all entries are.
        if np.isfinite(np.sum(values, dtype=np.float64)):
            return
    is_finite = np.isfinite(values)  # all True if only the sum overflowed
    if not is_finite.all():
        index = tuple(int(i) for i in np.argwhere(~is_finite)[0])
        position = f" at index {index if len(index) != 1 else index[0]}" if index else ""
        raise ValueError(
            f"{name} must be finite, got {values[index]}{position}. Drop or repair that entry."
        )


def vector(name: str, value: Any, dim: int | None = None) -> Vector:
    """Check that a value is a finite one-dimensional array, of length ``dim`` if that is given."""
    values = array(name, value, ndim=1)
    if dim is not None and values.shape != (dim,):
        raise ValueError(
            f"{name} must have length {dim}, got length {len(values)}. Give one number per "
            "coordinate."
        )
    if values.size == 0:
        raise ValueError(f"{name} must not be empty.")
    return values


def positive_vector(name: str, value: Any) -> Vector:
    """Check that a value is one or more positive numbers, such as a pool or a prior."""
    values = vector(name, np.atleast_1d(without_mask(name, value)))
    if (values <= 0).any():
        invalid = float(values[values <= 0][0])
        raise ValueError(
            f"{name} must be greater than 0, got {invalid}. Every entry has to be positive."
        )
    return values


def check_sparse_indices(name: str, value: Any) -> None:
    """Raise an error for a scipy sparse matrix with indices outside its shape.

    scipy does not check indices, and kernels would read and write outside their arrays. The matrix
    is neither changed nor copied. scipy's own ``check_format`` is not used, because it changes the
    matrix and some formats do not have it.
    """
    if value.format == "coo":
        # scipy before 1.13 has no coords
        index_arrays = (value.row, value.col) if value.ndim == 2 else value.coords
        starts = None
    elif value.format in ("csr", "csc", "bsr"):
        index_arrays, starts = (value.indices,), value.indptr
    else:  # other formats have no index arrays, or are checked after conversion to CSR
        return
    # A one-dimensional CSR array is stored as a matrix with one row.
    axis_lengths = value.shape if value.ndim == 2 or starts is None else (1, *value.shape)
    if starts is not None:
        # Entries of row k (CSR), row k of blocks (BSR) or column k (CSC): starts[k]:starts[k + 1].
        block_height, block_width = getattr(value, "blocksize", (1, 1))
        group_count, index_limit = (
            (axis_lengths[0] // block_height, axis_lengths[1] // block_width)
            if value.format != "csc"
            else (axis_lengths[1], axis_lengths[0])
        )
        entries_per_group = np.diff(starts)
        is_valid = (
            len(starts) > 0
            and len(starts) == group_count + 1
            and starts[0] == 0
            and starts[-1] <= min(len(index_arrays[0]), len(value.data))
        )
        if not is_valid or (len(entries_per_group) and entries_per_group.min() < 0):
            raise ValueError(
                f"{name} is not a valid {value.format} matrix: its indptr does not fit. Build it "
                "from rows and columns again."
            )
        axis_lengths = (index_limit,)
    for indices, length in zip(index_arrays, axis_lengths, strict=True):
        if len(indices) and not 0 <= indices.min() <= indices.max() < length:
            invalid = indices[(indices < 0) | (indices >= length)][0]
            raise ValueError(
                f"{name} is not a valid {value.format} matrix: it has the index {invalid}, outside "
                f"0 to {length - 1}. Build it from rows and columns again."
            )


def explain_overflow(function: F) -> F:
    """Decorate a function so that overflow is reported as a ValueError that names the arguments.

    It is meant for functions that compute constants. Each argument may be valid by itself, but
    squares and products of arguments can overflow, or underflow to 0 in a denominator. Python then
    raises an OverflowError or ZeroDivisionError, which names no argument.
    """

    @functools.wraps(function)
    def wrapper(*positional: Any, **keywords: Any) -> Any:
        try:
            return function(*positional, **keywords)
        except (OverflowError, ZeroDivisionError):
            values = ", ".join(
                f"{name}={short_repr(value, 24)}"
                for name, value in keywords.items()
                if isinstance(value, numbers.Real)
            )
            raise ValueError(
                f"{function.__qualname__.removesuffix('.__init__')}({values}) leaves the range of "
                "doubles: these numbers are too large or too small together. Choose other units, "
                "such as losses divided by their usual size."
            ) from None

    return wrapper  # type: ignore[return-value]  # the same arguments as the function it wraps


def domain(value: Any) -> Domain:
    """Check that a value has the methods of a domain."""
    if not isinstance(value, Domain):
        raise TypeError(
            f"domain must be a domain such as sp.Ball(dim=3), got {short_repr(value)} "
            f"({type(value).__name__})."
        )
    return value


def stream(value: Any) -> Iterable[Loss]:
    """Check that a value is iterable; whether it yields losses is not checked."""
    if not isinstance(value, Iterable) or (isinstance(value, np.ndarray) and value.ndim == 0):
        raise TypeError(
            "stream must be an iterable of losses such as sp.LinearStream, "
            f"got {short_repr(value)} ({type(value).__name__})."
        )
    return value


def learner(value: Any) -> Learner:
    """Check that a value has ``decision`` and ``observe``, as learners have."""
    # The class comes first: on the instance, hasattr would compute a property such as decision.
    has_decision = hasattr(type(value), "decision") or hasattr(value, "decision")
    if not (has_decision and callable(getattr(value, "observe", None))):
        raise TypeError(
            f"learner must have decision and observe, got {short_repr(value)} "
            f"({type(value).__name__}). Try sp.Sword."
        )
    return value  # type: ignore[no-any-return]  # duck typing


def loss_type_error(value: Any) -> TypeError:
    """Error for a value that is not a loss."""
    return TypeError(
        f"loss must have value, gradient and smoothness, got {short_repr(value)}. "
        "Try sp.SquaredLoss."
    )


def rate(name: str, value: Any, default: Any) -> Any:
    """Check that a value is a learning-rate rule; return the default if it is None."""
    if value is None:
        return default
    if not all(hasattr(value, method) for method in ("start", "step", "decay")):
        raise TypeError(
            f"{name} must be a rate such as sp.rates.Fixed(0.1), with start, step and decay; "
            f"got {short_repr(value)}."
        )
    return value
