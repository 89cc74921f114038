"""What callers hand in, made clean or refused in words.

Every error names the argument, the value received and the remedy.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any, Literal, TypeVar

import numpy as np

from swordplay.core.types import Array, Domain, Gradient, Learner, Loss, Vector

F = TypeVar("F", bound=Callable[..., Any])

SMALLEST_SIZE, LARGEST_SIZE = 1e-100, 1e100
"""Sizes of domains: their squares, times squared gradients, are still numbers."""
LARGEST_DIMENSION = 1 << 40
"""A point of so many coordinates takes eight terabytes; numpy itself refuses 2^60."""
LARGEST_GRADIENT = 1e150
"""Longer gradients have squares that overflow, and a state of NaN after them."""
LARGEST = 1e60
"""Magnitudes of features and targets beyond this are mistakes (``estimators.model`` says why)."""


def shown(value: object, limit: int = 80) -> str:
    """A short form of a value for a message.

    Of a long array, a series or a table its type, its shape and its first value.

    >>> shown([1, 2]), shown(np.arange(100.0))
    ('[1, 2]', 'ndarray of shape (100,) that begins with 0.0')
    """
    try:
        text = repr(value)
        if len(text) > limit or "\n" in text:
            shape = getattr(value, "shape", None)
            if isinstance(shape, tuple) and shape:
                entries = np.asarray(value).reshape(-1)[:1].tolist()
                begins = (
                    f" that begins with {shown(entries[0], limit // 2)}"
                    if entries and entries[0] is not value
                    else ""
                )
                return f"{type(value).__name__} of shape {shape}{begins}"
    except (
        Exception
    ):  # a repr may fail; Python itself prints no whole number of more than 4,300 digits
        return (
            f"a whole number of {value.bit_length()} bits"
            if isinstance(value, int)
            else f"a {type(value).__name__}"
        )
    text = text.replace("\n", " ")
    return text if len(text) <= limit else text[: limit - 3] + "..."


def is_real(value: object) -> bool:
    """Whether a value is a real number.

    Numpy registers lengths of time as whole numbers, and they are none.
    """
    return isinstance(value, numbers.Real) and not isinstance(value, np.timedelta64)


def is_missing(value: Any) -> bool:
    """Whether a value stands for nothing: None, NaN of any kind, and what pandas (which need not
    be there) has for it.
    """
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
    """A finite real number."""
    if isinstance(value, np.ma.MaskedArray):
        unmasked(name, value)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, bool | np.bool_) or not is_real(value):
        raise TypeError(
            f"{name} must be a real number, got {shown(value)} ({type(value).__name__})."
        )
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        got = shown(value) if isinstance(value, int) else number
        raise ValueError(f"{name} must be finite, got {got}. Give a number such as 1.0.")
    return number


def positive(name: str, value: Any) -> float:
    """A finite number above zero."""
    number = real(name, value)
    if number <= 0:
        raise ValueError(f"{name} must be greater than 0, got {number}. Give a positive number.")
    return number


def moderate(name: str, value: Any) -> float:
    """A size whose square can neither overflow nor vanish."""
    number = positive(name, value)
    if not SMALLEST_SIZE <= number <= LARGEST_SIZE:
        raise ValueError(
            f"{name} must lie between {SMALLEST_SIZE:g} and {LARGEST_SIZE:g}, got {number}. "
            "Choose another unit."
        )
    return number


def nonnegative(name: str, value: Any) -> float:
    """A finite number, zero or above."""
    number = real(name, value)
    if number < 0:
        raise ValueError(f"{name} must be at least 0, got {number}. Give 0 or a positive number.")
    return number


def share(name: str, value: Any) -> float:
    """A number between 0 and 1, neither of them included."""
    number = real(name, value)
    if not 0.0 < number < 1.0:
        raise ValueError(
            f"{name} must lie between 0 and 1, got {number}. Give a number such as 0.9."
        )
    return number


def whole(name: str, value: Any, least: int = 1) -> int:
    """A whole number of at least ``least``."""
    if isinstance(value, bool | np.bool_ | np.timedelta64) or not isinstance(
        value, numbers.Integral
    ):
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # 1e5 is how people write a horizon
        else:
            raise TypeError(
                f"{name} must be a whole number, got {shown(value)} ({type(value).__name__})."
            )
    number = int(value)
    if number < least:
        raise ValueError(f"{name} must be at least {least}, got {shown(number)}.")
    return number


def dimension(name: str, value: Any, least: int = 1) -> int:
    """A whole number of coordinates that an array can have."""
    number = whole(name, value, least)
    if number > LARGEST_DIMENSION:
        raise ValueError(
            f"{name} must be at most {LARGEST_DIMENSION}, got {shown(number)}. Give the number of "
            "coordinates."
        )
    return number


def one_of(name: str, value: Any, allowed: Iterable[str]) -> None:
    """Refuse a value that is none of these strings.

    Nothing else is compared with them, as it may refuse comparison.
    """
    if not (isinstance(value, str) and value in (allowed := tuple(allowed))):
        raise ValueError(f"{name} must be one of {sorted(allowed)}, got {shown(value)}.")


def unmasked(name: str, value: Any) -> Any:
    """An array without a mask.

    One that has a mask would lose it, and what is hidden behind it would count.
    """
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(
            f"{name} must not be masked: the mask would be lost. Fill it or drop the masked "
            "entries."
        )
    try:
        return np.asarray(value)
    except MemoryError:
        raise
    except Exception as error:  # numpy's own words do not say which argument it was
        raise ValueError(
            f"{name} must be an array, got {shown(value)}, of which numpy makes none. Give rows "
            "of one length and plain values."
        ) from error


def array(name: str, value: Any, ndim: int | None = None) -> Array:
    """A finite array of doubles, copied only when it has to be."""
    raw = unmasked(name, value)
    if raw.dtype.kind not in "fiub":
        entries = raw.flat if raw.dtype.kind == "O" else ()
        odd = [entry for entry in entries if not is_real(entry) or not -LARGEST <= entry <= LARGEST]
        got = f"{shown(odd[0], 40)} ({type(odd[0]).__name__})" if odd else f"dtype {raw.dtype}"
        raise TypeError(
            f"{name} must hold real numbers, got {got} in {shown(value)}. Convert it to float "
            "first."
        )
    clean = np.asarray(raw, dtype=np.float64)
    if ndim is not None and clean.ndim != ndim:
        raise ValueError(
            f"{name} must have {ndim} dimension(s), got shape {clean.shape}. Reshape it to "
            f"{ndim}-d."
        )
    require_finite(name, clean)
    return clean


def as_doubles(name: str, objects: Any) -> Any:
    """An array of objects as doubles; None becomes NaN."""
    try:
        return np.ascontiguousarray(objects, dtype=np.float64)
    except MemoryError:
        raise
    except Exception:  # the message of numpy or of an object does not say where it stands
        for place, value in np.ndenumerate(objects):
            try:
                np.float64(0.0 if value is None else float(value))
            except Exception as error:
                kind = TypeError if isinstance(error, TypeError) else ValueError
                where = (
                    place[0]
                    if len(place) == 1
                    else f"row {place[0]}, column {place[1]}"
                    if len(place) == 2
                    else place
                )
                raise kind(
                    f"{name} must hold numbers, got {shown(value, 40)} ({type(value).__name__}) "
                    f"at {where}: "
                    f"{shown(str(error), 120)[1:-1]}. Convert or repair it first."
                ) from None
        raise ValueError(
            f"{name} must hold numbers, got {shown(objects)}. Convert or repair it first."
        ) from None


def require_finite(name: str, clean: Array) -> None:
    """Refuse NaN and infinity, and say where the first one stands."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(
            np.sum(clean, dtype=np.float64)
        ):  # the quick answer: one bad entry spoils the sum
            return
    finite = np.isfinite(clean)
    if not finite.all():
        where = tuple(int(i) for i in np.argwhere(~finite)[0])
        place = f" at index {where if len(where) != 1 else where[0]}" if where else ""
        raise ValueError(
            f"{name} must be finite, got {clean[where]}{place}. Drop or repair that entry."
        )


def vector(name: str, value: Any, dim: int | None = None) -> Vector:
    """A finite one-dimensional array, of length ``dim`` where that is known."""
    clean = array(name, value, ndim=1)
    if dim is not None and clean.shape != (dim,):
        raise ValueError(
            f"{name} must have length {dim}, got length {len(clean)}. Give one number per "
            "coordinate."
        )
    if clean.size == 0:
        raise ValueError(f"{name} must not be empty.")
    return clean


def positives(name: str, value: Any) -> Vector:
    """One or more positive finite numbers, such as a pool or a prior."""
    clean = vector(name, np.atleast_1d(unmasked(name, value)))
    if (clean <= 0).any():
        bad = float(clean[clean <= 0][0])
        raise ValueError(
            f"{name} must be greater than 0, got {bad}. Every entry has to be positive."
        )
    return clean


def points(name: str, value: Any, dim: int) -> Array:
    """Points with any leading axes and ``dim`` coordinates each."""
    clean = value if isinstance(value, np.ndarray) else unmasked(name, value)
    if clean.dtype != np.float64:
        clean = array(name, clean)
    if clean.ndim == 0 or clean.shape[-1] != dim:
        raise ValueError(
            f"{name} must have shape (..., {dim}), got {clean.shape}. The last axis holds the "
            f"{dim} coordinate(s)."
        )
    return clean


def require_inside(name: str, value: Any) -> None:
    """Refuse a scipy sparse matrix whose indices lie outside it: scipy and the kernels write
    wherever these point.

    Nothing is changed or copied, unlike by scipy's own ``check_format``, which also does not know
    every format.
    """
    if value.format == "coo":
        where = (
            (value.row, value.col) if value.ndim == 2 else value.coords
        )  # scipy before 1.13 knows no coords
        starts = None
    elif value.format in ("csr", "csc", "bsr"):
        where, starts = (value.indices,), value.indptr
    else:  # built in a way that cannot point outside, or checked once it is CSR
        return
    sizes = value.shape if value.ndim == 2 or starts is None else (1, *value.shape)
    if starts is not None:
        blocks = getattr(value, "blocksize", (1, 1))
        rows, columns = (
            (sizes[0] // blocks[0], sizes[1] // blocks[1])
            if value.format != "csc"
            else (sizes[1], sizes[0])
        )
        counts = np.diff(starts)
        ends = (
            (
                len(starts) == rows + 1
                and starts[0] == 0
                and starts[-1] <= min(len(where[0]), len(value.data))
            )
            if len(starts)
            else False
        )
        if not ends or (len(counts) and counts.min() < 0):
            raise ValueError(
                f"{name} is not a valid {value.format} matrix: its indptr does not fit. Build it "
                "from rows and columns again."
            )
        sizes = (columns,)
    for indices, size in zip(where, sizes, strict=True):
        if len(indices) and not 0 <= indices.min() <= indices.max() < size:
            bad = indices[(indices < 0) | (indices >= size)][0]
            raise ValueError(
                f"{name} is not a valid {value.format} matrix: it has the index {bad}, and only "
                f"{size} places. "
                "Build it from rows and columns again."
            )


def domain(value: Any) -> Domain:
    """Anything that behaves like a domain."""
    if not isinstance(value, Domain):
        raise TypeError(
            f"domain must be a domain such as sp.Ball(dim=3), got {shown(value)} "
            f"({type(value).__name__})."
        )
    return value


def stream(value: Any) -> Iterable[Loss]:
    """Something that losses can be taken from, one after the other."""
    if not isinstance(value, Iterable) or (isinstance(value, np.ndarray) and value.ndim == 0):
        raise TypeError(
            f"stream must be an iterable of losses such as sp.LinearStream, got {shown(value)} "
            f"({type(value).__name__})."
        )
    return value


def learner(value: Any) -> Learner:
    """Something that decides and observes."""
    decides = hasattr(type(value), "decision") or hasattr(
        value, "decision"
    )  # a property is not asked: it may be costly
    if not (decides and callable(getattr(value, "observe", None))):
        raise TypeError(
            f"learner must have decision and observe, got {shown(value)} "
            f"({type(value).__name__}). Try sp.Sword."
        )
    return value  # type: ignore[no-any-return]  # by what it has, not by its class


def not_a_loss(value: Any) -> TypeError:
    """What to say of something that cannot be a round of a game."""
    return TypeError(
        f"loss must have value, gradient and smoothness, got {shown(value)}. Try sp.SquaredLoss."
    )


def gradient_of(loss: Any) -> Gradient:
    """Return the gradient field of a loss, each answer checked by :func:`loss_answer`."""
    if not callable(getattr(loss, "gradient", None)):
        raise not_a_loss(loss)
    return lambda points: loss_answer(loss, "gradient", points)


def loss_answer(
    loss: Any,
    method: Literal["gradient", "value"],
    points: Array,
    largest: float = LARGEST_GRADIENT,
) -> Array:
    """Return the gradients or values of a loss at points, checked for kind, shape and size.

    Parameters
    ----------
    loss
        The loss that is asked.
    method
        ``"gradient"`` for an answer of shape ``(..., d)``, ``"value"`` for one of shape ``(...,)``.
    points
        Shape ``(..., d)``; the loss gets a read-only view.
    largest
        Entries of the answer of a larger magnitude are refused, as are those that are not finite.
    """
    view = points.view()
    view.flags.writeable = False  # the points are the learner's own
    raw = getattr(loss, method)(view)
    try:
        answer = np.array(raw, dtype=np.float64)  # a copy: the loss may use its array again
    except (TypeError, ValueError):
        raise TypeError(
            f"loss.{method} must return numbers, got {shown(raw)}. Return one {method} per point."
        ) from None
    expected = points.shape if method == "gradient" else points.shape[:-1]
    if answer.shape != expected:
        same = ": the same shape" if method == "gradient" else ""
        raise ValueError(
            f"loss.{method} returned shape {answer.shape} for points of shape {points.shape}. "
            f"It must return one {method} per point{same}."
        )
    if not (np.abs(answer) <= largest).all():  # not: NaN compares as False
        require_finite(f"loss.{method}'s answer", answer)
        why = ": its square overflows" if method == "gradient" else ""
        raise ValueError(
            f"loss.{method}'s answer must not pass {largest:g}{why}. Rescale the loss."
        )
    return answer


def rate(name: str, value: Any, default: Any) -> Any:
    """A learning-rate rule, or the default where none is given."""
    if value is None:
        return default
    if not all(hasattr(value, part) for part in ("start", "step", "retention")):
        raise TypeError(
            f"{name} must be a rate such as sp.rates.Fixed(0.1), with start, step and retention; "
            f"got {shown(value)}."
        )
    return value
