"""The schema of saved states: fields declared once beside a class, used to save, load and check.

A state is a named tuple whose fields and arrays are never changed: a step makes a new one. Its
annotations declare the values that each field may hold::

    class HedgeState(NamedTuple):
        weights: Annotated[Vector, array("experts", low=0.0, high=1.0)]
        rate: RateState

:func:`save` turns it into a flat dictionary of arrays and numbers (``weights``, ``rate.value``),
:func:`load` checks such a dictionary against the declarations and makes the named tuple again.
Axes are declared by name. The first array with an axis ``experts`` sets the length of that axis;
all other arrays with an axis of this name must have the same length there.

A saved dictionary also holds the settings of its learner, under names that begin with
``settings.`` (:func:`flatten_settings`). It is only loaded into a learner with the same settings.
"""

from __future__ import annotations

import functools
import json
import math
import types
import typing
from collections.abc import Collection, Mapping
from numbers import Real
from typing import Annotated, Any, NamedTuple, Protocol, TypeVar, overload, runtime_checkable

import numpy as np

from swordplay.core.arguments import short_repr
from swordplay.core.types import Array, State

StateT = TypeVar("StateT")
AxisLengths = Mapping[str, int] | None
"""Lengths of axes by name; None if no length is given."""

MAX_MAGNITUDE = 1e300
"""Largest magnitude of a number without a declared limit; doubles overflow at 1.8e308."""
MAX_ROUNDS = 2.0**53
"""Largest number of rounds: doubles represent all whole numbers up to 2^53 exactly."""
DAMAGED = "The state is damaged: load an earlier one."
"""Remedy in messages about a state that no learner can have saved."""
SAME_KIND_REMEDY = "Load a state that the same kind of learner saved."
"""Remedy in messages about a state whose entries are not those of the learner."""

ROUNDING_TOLERANCE = 1e-6
"""Relative rounding error allowed in saved sums and matrices."""

SETTINGS_PREFIX = "settings."
"""Prefix of the settings in a saved state."""
MAX_LISTED_DIFFERENCES = 6
"""Differences between two sets of settings that a message lists."""


# ------------------------------------------------------------------- declarations


class Field(NamedTuple):
    """Declaration of an entry of a saved state: a number or an array, its range and its shape."""

    low: float = -MAX_MAGNITUDE
    """Least value, included."""
    high: float = MAX_MAGNITUDE
    """Largest value, included."""
    whole: bool = False
    """Whether values are whole numbers, such as counts and indices."""
    nan: bool = False
    """Whether NaN is allowed, for values that are not known."""
    shape: tuple[int | str, ...] | None = None
    """Length of each axis, or its name; None for any shape."""
    optional: bool = False
    """Whether the entry may be absent; the field then is None."""
    semidefinite: bool = False
    """Whether the last two axes hold symmetric matrices without negative eigenvalues."""


def number(
    low: float = -MAX_MAGNITUDE,
    high: float = MAX_MAGNITUDE,
    *,
    whole: bool = False,
    nan: bool = False,
    optional: bool = False,
) -> Field:
    """Declare a single number between ``low`` and ``high``."""
    return Field(low=low, high=high, whole=whole, nan=nan, shape=(), optional=optional)


def array(
    *shape: int | str,
    low: float = -MAX_MAGNITUDE,
    high: float = MAX_MAGNITUDE,
    whole: bool = False,
    nan: bool = False,
    optional: bool = False,
    semidefinite: bool = False,
) -> Field:
    """Declare an array whose axes have these lengths or names; each entry is within the range."""
    return Field(
        low=low,
        high=high,
        whole=whole,
        nan=nan,
        shape=shape,
        optional=optional,
        semidefinite=semidefinite,
    )


ROUND_COUNT_RANGE = Field(low=0.0, high=MAX_ROUNDS, whole=True)
"""Range of a number of rounds, or of an array of such numbers."""
OBSERVED_ROUNDS_RANGE = number(0.0, MAX_ROUNDS / 2.0, whole=True)
"""Range of the rounds of a loaded learner; half of the limit is left for further rounds."""
ROW_COUNT_RANGE = Field(low=0.0, high=2.0**50, whole=True)
"""Range of a number of rows; 7/8 of the exact whole numbers are left for further rows."""


@functools.cache
def schema(kind: Any) -> Mapping[str, Any]:
    """Read the declarations of a named tuple, in the order of its fields.

    Returns
    -------
    Mapping
        For each field name one of: a :class:`Field` (number or array); a class (nested named
        tuple); a list of one class (tuple of such named tuples); None (the annotation declares
        nothing).
    """
    hints = typing.get_type_hints(kind, include_extras=True)
    return {name: _declaration(hints[name]) for name in kind._fields}


def _declaration(hint: Any) -> Any:
    """Return the declaration in one annotation, as :func:`schema` describes it."""
    if typing.get_origin(hint) is Annotated:
        return next((item for item in hint.__metadata__ if isinstance(item, Field)), None)
    if typing.get_origin(hint) is tuple:
        # tuple[Kind, ...] has the arguments (Kind, Ellipsis)
        elements = [_declaration(argument) for argument in typing.get_args(hint)[:1]]
        return elements if elements and elements[0] is not None else None
    if isinstance(hint, type) and hasattr(hint, "_fields"):
        return hint
    return None


def ranges(kind: Any) -> dict[str, Field]:
    """Return the ranges of a named tuple's fields without shapes, as arrays may stack states."""
    return {
        name: field._replace(shape=None)
        for name, field in schema(kind).items()
        if isinstance(field, Field)
    }


# ------------------------------------------------------------------- saving and loading


def save(state: Any, prefix: str = "") -> State:
    """Turn a nested named tuple into a flat dictionary with dotted names; arrays are copied.

    >>> class Point(NamedTuple):
    ...     place: Annotated[Array, array("dim")]
    ...     rounds: Annotated[int, number(0.0, MAX_ROUNDS, whole=True)]
    >>> save(Point(np.zeros(2), 3))
    {'place': array([0., 0.]), 'rounds': 3}
    """
    flat: State = {}
    for name, value in state._asdict().items():
        _save_into(flat, f"{prefix}{name}", value)
    return flat


def _save_into(flat: State, name: str, value: Any) -> None:
    """Add a value to ``flat``: None adds nothing, a named tuple or a tuple adds its elements."""
    if value is None:
        return
    if hasattr(value, "_asdict"):
        flat |= save(value, f"{name}.")
    elif isinstance(value, tuple):
        for index, element in enumerate(value):
            _save_into(flat, f"{name}.{index}", element)
    else:
        flat[name] = value.copy() if isinstance(value, np.ndarray) else value


@overload
def load(
    kind: type[StateT],
    saved: Mapping[str, Any],
    axis_lengths: AxisLengths = None,
    *,
    prefix: str = "",
) -> StateT: ...


@overload
def load(
    kind: StateT,
    saved: Mapping[str, Any],
    axis_lengths: AxisLengths = None,
    *,
    free_axes: Collection[str] = (),
    trusted: bool = False,
    prefix: str = "",
) -> StateT: ...


def load(
    kind: Any,
    saved: Mapping[str, Any],
    axis_lengths: AxisLengths = None,
    *,
    free_axes: Collection[str] = (),
    trusted: bool = False,
    prefix: str = "",
) -> Any:
    """Make a named tuple from the dictionary that :func:`save` returned.

    Parameters
    ----------
    kind
        The class of the state, or a state of that class as an example. The example then sets the
        lengths of axes, and the classes of fields whose annotations name none. The optional entries
        that it has are required.
    saved
        Entries by name; an entry that ``kind`` does not have is an error.
    axis_lengths
        Lengths of axes by name. Any other axis gets its length from the first array that has it,
        separately in each element of a tuple.
    free_axes
        Axes whose lengths may differ from those of the example.
    trusted
        True for entries that this process has just made: their ranges are not checked.
    prefix
        Text to put before the names of entries in messages, such as ``"rate."``.

    Returns
    -------
    StateT
        The named tuple; its arrays are new, of double precision.

    Raises
    ------
    ValueError
        If an entry is missing, unknown, of another shape, out of its range or not a number.

    >>> class Point(NamedTuple):
    ...     place: Annotated[Array, array("dim", low=-1.0, high=1.0)]
    >>> load(Point, {"place": [0.5, 2.0]})
    Traceback (most recent call last):
    ...
    ValueError: state['place'] must hold numbers from -1 to 1, got 2 at 1. The state is damaged:
    load an earlier one.
    """
    reader = _Reader(saved, prefix, free_axes, trusted)
    if not isinstance(kind, type):
        reader.free_axis_of_length = _free_axis_of_length(kind, free_axes)
    state = reader.read(kind, "", dict(axis_lengths or {}))
    if reader.missing:
        raise ValueError(f"state lacks {sorted(reader.missing)}. {SAME_KIND_REMEDY}")
    if unknown := sorted(f"{prefix}{name}" for name in saved.keys() - reader.names_read):
        raise ValueError(f"state has unknown entries {unknown}. {SAME_KIND_REMEDY}")
    if reader.error is not None:
        raise reader.error
    return state


_NO_EXAMPLE = object()
"""Stands for a missing example; None is the example of an optional entry that is absent."""


class _Reader:
    """Reads all entries of one saved state; keeps the first error and the names of missing ones."""

    def __init__(
        self,
        saved: Mapping[str, Any],
        message_prefix: str,
        free_axes: Collection[str],
        trusted: bool,
    ) -> None:
        self.saved, self.message_prefix = saved, message_prefix
        self.free_axes, self.trusted = free_axes, trusted
        self.names_read: set[str] = set()
        self.missing: list[str] = []
        self.error: ValueError | None = None
        self.free_axis_of_length: dict[int, str] = {}
        """Names of the free axes, by their lengths in the example."""

    def read(self, kind: Any, prefix: str, axis_lengths: dict[str, int]) -> Any:
        """Read the named tuple whose entries begin with ``prefix``; fields of bad entries are None.

        ``kind`` is a class or an example, as in :func:`load`.
        """
        example, kind = (_NO_EXAMPLE, kind) if isinstance(kind, type) else (kind, type(kind))
        return kind(
            **{
                name: self._field(
                    declared, getattr(example, name, _NO_EXAMPLE), f"{prefix}{name}", axis_lengths
                )
                for name, declared in schema(kind).items()
            }
        )

    def _field(self, declared: Any, example: Any, name: str, axis_lengths: dict[str, int]) -> Any:
        """Read the field ``name``, whose class is that of the example, or else that declared.

        An example of None is an optional entry that this learner does not have.
        """
        # nested named tuples and tuples of numbers or arrays, known from the example
        if hasattr(example, "_fields"):
            return self.read(example, f"{name}.", axis_lengths)
        if isinstance(example, tuple) and not isinstance(declared, Field):
            return tuple(
                self._field(None, element, f"{name}.{index}", dict(axis_lengths))
                for index, element in enumerate(example)
            )
        # a tuple of named tuples, declared as [kind]
        if isinstance(declared, list):
            return self._elements(declared[0], name, axis_lengths)
        # a nested named tuple, known from its declaration; or a number or array
        is_declared = declared is not None
        if declared is None and example is not None:
            declared = _field_like(example)
        if declared is None:
            return None
        if not isinstance(declared, Field):
            return self.read(declared, f"{name}.", axis_lengths)
        if example is None:
            return None
        if isinstance(example, np.ndarray):
            if declared.shape is None:
                declared = declared._replace(shape=example.shape)
            if not is_declared:
                # A user's own part declares no axes. An axis that is as long as a free axis of the
                # example is taken for that free axis; all others keep their lengths.
                shape = tuple(self.free_axis_of_length.get(size, size) for size in example.shape)
                declared = declared._replace(shape=shape)
            for axis, length in zip(declared.shape or (), example.shape, strict=True):
                if isinstance(axis, str) and axis not in self.free_axes:
                    axis_lengths.setdefault(axis, length)
        return self._entry(declared, name, axis_lengths, required=example is not _NO_EXAMPLE)

    def _elements(self, kind: Any, name: str, axis_lengths: dict[str, int]) -> tuple[Any, ...]:
        """Read the elements ``name.0``, ``name.1``, ... up to the first that has no entries."""
        elements: list[Any] = []
        while any(str(key).startswith(f"{name}.{len(elements)}.") for key in self.saved):
            elements.append(self.read(kind, f"{name}.{len(elements)}.", dict(axis_lengths)))
        return tuple(elements)

    def _entry(
        self, field: Field, name: str, axis_lengths: dict[str, int], *, required: bool
    ) -> Any:
        """Read one value: a new array, an int or a float."""
        if name not in self.saved:
            if required or not field.optional:
                self.missing.append(self.message_prefix + name)
            return None
        self.names_read.add(name)
        value = self.saved[name]
        if self.trusted:
            field = field._replace(low=-np.inf, high=np.inf, semidefinite=False)
        try:
            check(self.message_prefix + name, value, field, axis_lengths)
        except ValueError as error:
            self.error = self.error or error
            return None
        if np.ndim(value):
            return np.array(value, dtype=np.float64)
        return int(value) if field.whole else float(value)


def _free_axis_of_length(example: Any, free_axes: Collection[str]) -> dict[int, str]:
    """Return the names of free axes by length in an example; tuples are not searched."""
    axis_of_length: dict[int, str] = {}
    kind: Any = type(example)
    for name, declared in schema(kind).items():
        value = getattr(example, name)
        if hasattr(value, "_fields"):
            axis_of_length = _free_axis_of_length(value, free_axes) | axis_of_length
        elif isinstance(declared, Field) and declared.shape and isinstance(value, np.ndarray):
            for axis, length in zip(declared.shape, value.shape, strict=True):
                if isinstance(axis, str) and axis in free_axes:
                    axis_of_length[length] = axis
    return axis_of_length


def _field_like(example: Any) -> Field:
    """Return a declaration for a field without one: finite numbers in the shape of an example."""
    whole = isinstance(example, int) and not isinstance(example, bool)
    return Field(whole=whole, shape=np.shape(example))


# ------------------------------------------------------------------- checking


def check(name: str, values: Any, field: Field, axis_lengths: dict[str, int] | None = None) -> None:
    """Check a number or an array against its declaration.

    Parameters
    ----------
    name
        Name of the entry, for the message.
    values
        The saved number or array.
    field
        Range and shape that it must have.
    axis_lengths
        Known lengths of axes by name. Those of ``values`` are added.

    Raises
    ------
    ValueError
        If the entry is wrong; names it, its first wrong number and the index of that number.
    """
    if (
        isinstance(values, float)
        and field.low <= values <= field.high
        and not (field.whole and values % 1.0)
        and not field.shape
    ):
        return  # numpy needs ten times as long for a single number, and states hold thousands
    if type(values) is int and not -(2**63) <= values < 2**63:
        # numpy has no larger integers. The number is converted to a double, which the check of the
        # range below refuses; it is clipped because doubles overflow at 1.8e308.
        values = float(min(max(values, -(10**308)), 10**308))
    try:
        raw = np.asarray(values)
    except ValueError:  # lists of several lengths
        raise _not_numbers(name, values) from None
    if raw.dtype.kind not in "fiu":  # numpy would convert numbers in quotes and booleans
        raise _not_numbers(name, values)
    if field.shape is not None:
        _check_shape(name, raw.shape, field.shape, {} if axis_lengths is None else axis_lengths)
    numbers = np.asarray(raw, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        is_valid = (numbers >= field.low) & (numbers <= field.high)
    if field.whole:
        is_valid &= numbers == np.floor(numbers)
    if field.nan:
        is_valid |= np.isnan(numbers)
    if not is_valid.all():
        index = tuple(int(i) for i in np.argwhere(~is_valid)[0])
        noun = "whole numbers" if field.whole else "numbers"
        position = f" at {index if len(index) > 1 else index[0]}" if index else ""
        raise ValueError(
            f"state[{name!r}] must hold {noun} from {field.low:g} to {field.high:g}, "
            f"got {numbers[index]:g}{position}. {DAMAGED}"
        )
    if field.semidefinite and numbers.ndim > 1:
        _check_semidefinite(name, numbers)


def _check_semidefinite(name: str, matrices: Array) -> None:
    """Check that matrices are symmetric and semidefinite up to rounding, shape ``(..., d, d)``."""
    largest = np.abs(matrices).max(axis=(-2, -1), initial=0.0)
    asymmetry = np.abs(matrices - np.swapaxes(matrices, -2, -1)).max(axis=(-2, -1), initial=0.0)
    is_symmetric = (asymmetry <= ROUNDING_TOLERANCE * largest).all()
    # Each matrix is divided by its largest entry: eigenvalues of huge numbers would overflow.
    scale = np.where(largest > 0.0, largest, 1.0)[..., None, None]
    if not is_symmetric or (np.linalg.eigvalsh(matrices / scale) < -ROUNDING_TOLERANCE).any():
        raise damaged(f"state[{name!r}] must hold symmetric matrices without negative eigenvalues")


def damaged(problem: str) -> ValueError:
    """Error for a state that no learner can have saved.

    >>> damaged("two columns have the same name")
    ValueError('two columns have the same name. The state is damaged: load an earlier one.')
    """
    return ValueError(f"{problem}. {DAMAGED}")


def _not_numbers(name: str, values: Any) -> ValueError:
    return damaged(f"state[{name!r}] must hold numbers, got {short_repr(values)}")


def _check_shape(
    name: str, shape: tuple[int, ...], declared: tuple[int | str, ...], axis_lengths: dict[str, int]
) -> None:
    """Check a shape against the declared axes; add the lengths of new axes to ``axis_lengths``."""
    if not declared:
        if shape:
            raise damaged(f"state[{name!r}] must be one number, got an array of shape {shape}")
        return
    if len(shape) == len(declared):
        expected = tuple(
            axis_lengths.setdefault(axis, size) if isinstance(axis, str) else axis
            for axis, size in zip(declared, shape, strict=True)
        )
        if expected == shape:
            return
        expected_text = str(expected)
    else:
        expected_text = (
            f"({', '.join(str(axis_lengths.get(str(axis), axis)) for axis in declared)})"
        )
    raise ValueError(
        f"state[{name!r}] must have shape {expected_text}, got {shape}. Make the learner with the "
        "settings it was saved with."
    )


def check_number(name: str, value: Any, field: Field) -> None:
    """Check a single number against its declaration; every array is refused.

    Raises
    ------
    ValueError
        If it is something else; names the entry and its value.
    """
    if np.ndim(value):
        raise ValueError(f"state[{name!r}] must be one number, got {short_repr(value)}. {DAMAGED}")
    check(name, value, field)


def entry_bytes(name: str, values: Any) -> bytes:
    """Convert an entry that is a one-dimensional uint8 array to bytes; refuse any other.

    Raises
    ------
    ValueError
        If it is something else; names the entry and its value.
    """
    if type(values) is not np.ndarray or values.dtype != np.uint8 or values.ndim != 1:
        raise ValueError(f"state[{name!r}] must hold bytes, got {short_repr(values)}. {DAMAGED}")
    return values.tobytes()


def axis_length(name: str, saved: Mapping[str, Any], axis: int = 0) -> int:
    """Length of an axis of a saved array, to be checked before memory is allocated for it.

    Raises
    ------
    ValueError
        If there is no such array.
    """
    shape = np.shape(saved.get(name, ()))
    if len(shape) <= axis:
        raise ValueError(
            f"state[{name!r}] must be an array, got {short_repr(saved.get(name))}. {DAMAGED}"
        )
    return int(shape[axis])


# ------------------------------------------------------------------- states within states


def add_prefix(name: str, state: Mapping[str, Any]) -> State:
    """Put the name of a part and a dot before each name of its state.

    >>> add_prefix("learner", {"rounds": 3})
    {'learner.rounds': 3}
    """
    return {f"{name}.{key}": value for key, value in state.items()}


def strip_prefix(name: str, state: Mapping[str, Any]) -> State:
    """Select the entries of a part and remove its name from theirs, undoing :func:`add_prefix`.

    >>> strip_prefix("learner", {"learner.rounds": 3, "rows": 5})
    {'rounds': 3}
    """
    prefix = f"{name}."
    return {
        key.removeprefix(prefix): value for key, value in state.items() if key.startswith(prefix)
    }


def split_parts(state: Mapping[str, Any]) -> dict[str, Any]:
    """Group dotted entries into one state per part; entries without a dot stay as they are.

    >>> split_parts({"learner.rounds": 3, "learner.rate.level": 0.5, "rows": 5})
    {'learner': {'rounds': 3, 'rate.level': 0.5}, 'rows': 5}
    """
    parts: dict[str, Any] = {}
    for key, value in state.items():
        name, dot, name_in_part = key.partition(".")
        if name in parts and not (dot and isinstance(parts[name], dict)):
            raise ValueError(f"state has {name!r} as well as parts of it. {DAMAGED}")
        if dot:
            parts.setdefault(name, {})[name_in_part] = value
        else:
            parts[name] = value
    return parts


def part_of(name: str, parts: Mapping[str, Any]) -> State:
    """Return the state of the part ``name`` from the result of :func:`split_parts`.

    Raises
    ------
    ValueError
        If there is no such part.
    """
    part = parts.get(name)
    if not isinstance(part, dict):
        raise ValueError(f"state lacks {name + '.*'!r}. {SAME_KIND_REMEDY}")
    return part


# ------------------------------------------------------------------- JSON within states


class OneOf(tuple[Any, ...]):
    """Alternative shapes of a JSON value, which must have one of them (:func:`read_json`)."""


def read_json(name: str, text: Any, shape: Any) -> Any:
    """Parse an entry that is a JSON text, and check the value against a shape.

    Parameters
    ----------
    name
        Name of the entry, for the message.
    text
        The saved text.
    shape
        One of

        - a type: a value of it (a float must be finite);
        - None: null;
        - a string: that string;
        - a :class:`Field`: a number in its range, an int if ``whole``;
        - ``[shape]``: a list of any length;
        - ``(shape, shape)``: a list of that length;
        - ``{str: shape}``: an object with any keys;
        - ``{"a": shape}``: an object with exactly these keys;
        - ``OneOf((shape, shape))``: any of these shapes.

    Raises
    ------
    ValueError
        If it is not JSON, or of another shape.

    >>> read_json("clocks", '{"day": [1, null]}', {str: (int, OneOf((str, None)))})
    {'day': [1, None]}
    """
    try:
        value = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(
            f"state[{name!r}] must be JSON, got {short_repr(text)} ({error}). {DAMAGED}"
        ) from error
    check_json(name, value, shape)
    return value


def check_json(name: str, value: Any, shape: Any) -> None:
    """Raise an error unless a parsed JSON value has a shape, as described for :func:`read_json`."""
    if not fits_json(value, shape):
        raise ValueError(f"state[{name!r}] must not hold {short_repr(value)}. {DAMAGED}")


def fits_json(value: Any, shape: Any) -> bool:
    """Whether a parsed JSON value has a shape, as described for :func:`read_json`."""
    if shape is None:
        return value is None
    if isinstance(shape, type):
        if type(value) is not shape:
            return False
        if isinstance(value, str):
            return _is_utf8_text(value)
        return not isinstance(value, float) or math.isfinite(value)
    if isinstance(shape, str):
        return type(value) is str and value == shape
    if isinstance(shape, Field):
        allowed = (int,) if shape.whole else (int, float)
        return type(value) in allowed and shape.low <= value <= shape.high
    if isinstance(shape, OneOf):
        return any(fits_json(value, alternative) for alternative in shape)
    if isinstance(shape, dict):
        if str in shape:
            return type(value) is dict and all(
                fits_json(key, str) and fits_json(entry, shape[str]) for key, entry in value.items()
            )
        return (
            type(value) is dict
            and value.keys() == shape.keys()
            and all(fits_json(value[key], entry) for key, entry in shape.items())
        )
    if isinstance(shape, list):
        return type(value) is list and all(fits_json(element, shape[0]) for element in value)
    return type(value) is list and len(value) == len(shape) and all(map(fits_json, value, shape))


def _is_utf8_text(text: str) -> bool:
    """Whether a string can be encoded in UTF-8: a half of a surrogate pair, as in JSON, cannot."""
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)


# ------------------------------------------------------------------- settings


@runtime_checkable
class HasSettings(Protocol):
    """A part of a learner that returns its settings: the arguments that it was constructed with."""

    def settings(self) -> Mapping[str, Any]:
        """Values by name: numbers, arrays, strings, None, or further parts."""
        ...


def flatten_settings(parts: Mapping[str, Any]) -> State:
    """Flatten the settings of parts, and of their own parts, into a dictionary by dotted path.

    A part (a domain, experts, a rate, a meta) returns its settings from a method ``settings``. Its
    own path maps to the name of its class, which is all that is known of a part without that
    method. Values of None, NaN and infinity are left out: they mean "no limit".

    >>> flatten_settings({"rate": {"cap": 0.5, "level": None}, "learner": "OGD"})
    {'rate.cap': 0.5, 'learner': 'OGD'}
    """
    flat: State = {}
    for name, value in parts.items():
        flat |= _settings_of(value, name)
    return flat


@functools.singledispatch
def _settings_of(part: Any, path: str) -> State:
    """Return the settings of a part, by path."""
    # functions and classes have a __qualname__, other objects get that of their class
    class_name = getattr(part, "__qualname__", type(part).__qualname__)
    has_settings = isinstance(part, HasSettings) and callable(part.settings)
    part_settings = part.settings() if has_settings else {}
    return {path: class_name} | flatten_settings(
        {f"{path}.{name}": value for name, value in part_settings.items()}
    )


@_settings_of.register
def _(value: str, path: str) -> State:
    return {path: value}


@_settings_of.register(types.NoneType)
def _(value: None, path: str) -> State:
    return {}


@_settings_of.register
def _(value: Real, path: str) -> State:
    return {path: float(value)} if np.isfinite(float(value)) else {}


@_settings_of.register
def _(value: np.ndarray, path: str) -> State:
    if value.dtype.kind not in "fiub":
        return _settings_of(value.tolist(), path)
    numbers: Array = np.array(value, dtype=np.float64)
    return {path: numbers} if np.isfinite(numbers).any() else {}


@_settings_of.register
# without type arguments: singledispatch takes plain classes only
def _(value: Mapping, path: str) -> State:  # type: ignore[type-arg]
    return flatten_settings({f"{path}.{name}": part for name, part in value.items()})


@_settings_of.register(tuple)
@_settings_of.register(list)
def _(value: Any, path: str) -> State:
    return flatten_settings({f"{path}.{index}": part for index, part in enumerate(value)})


def settings_entries(flat: Mapping[str, Any]) -> State:
    """Convert flat settings to entries of a state; a string becomes part of the entry's name.

    >>> settings_entries({"rate": "SelfConfident", "rate.cap": 0.5})
    {'settings.rate=SelfConfident': 1, 'settings.rate.cap': 0.5}
    """
    state: State = {}
    for path, value in flat.items():
        if isinstance(value, str):
            state[f"{SETTINGS_PREFIX}{path}={value}"] = 1
        else:
            state[f"{SETTINGS_PREFIX}{path}"] = (
                value.copy() if isinstance(value, np.ndarray) else value
            )
    return state


def split_settings(state: Mapping[str, Any]) -> tuple[State, State]:
    """Split a saved dictionary into the state without settings, and the settings by path."""
    entries: State = {}
    flat: State = {}
    for name, value in state.items():
        if str(name).startswith(SETTINGS_PREFIX):
            # settings_entries writes a string into the name: settings.path=text
            path, equals_sign, text = name.removeprefix(SETTINGS_PREFIX).partition("=")
            flat |= _settings_of(text if equals_sign else value, path)
        else:
            entries[name] = value
    return entries, flat


def describe_settings(flat: Mapping[str, Any]) -> list[str]:
    """Write settings as text, one per line: the learner first, then its parts.

    >>> describe_settings({"center": np.zeros(2), "diameter": 2.0, "learner": "OGD"})
    ['learner = OGD', 'center = [0.0, 0.0]', 'diameter = 2']
    """
    paths = sorted(flat, key=lambda path: (path != "learner", path))
    return [f"{path} = {_setting_text(flat[path])}" for path in paths]


def _setting_text(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return short_repr(value.tolist())
    return value if isinstance(value, str) else f"{value:g}"


def settings_differences(saved: Mapping[str, Any], present: Mapping[str, Any]) -> str:
    """Describe how saved settings differ from those of a learner; "" if they do not.

    If ``saved`` has no entry ``learner``, only the settings in ``saved`` are compared.
    """
    paths = sorted(saved.keys() | present.keys() if "learner" in saved else saved.keys())
    differing = [path for path in paths if not _is_same(saved.get(path), present.get(path))]
    # If the class of a part differs, its own settings are not compared.
    listed = [
        path
        for path in differing
        if not any(path.startswith(f"{outer_path}.") for outer_path in differing)
    ]
    listed = ["learner"] if "learner" in listed else listed
    lines = [_difference(path, saved, present) for path in listed[:MAX_LISTED_DIFFERENCES]]
    unlisted = len(listed) - MAX_LISTED_DIFFERENCES
    return "; ".join(lines) + (f"; and {unlisted} more" if unlisted > 0 else "")


def _is_same(saved: Any, present: Any) -> bool:
    """Whether two settings are equal; NaN equals NaN at the same index of two arrays."""
    if isinstance(saved, np.ndarray) and isinstance(present, np.ndarray):
        return np.array_equal(saved, present, equal_nan=True)  # both hold doubles
    return np.array_equal(saved, present)


def _difference(path: str, saved: Mapping[str, Any], present: Mapping[str, Any]) -> str:
    """Describe the difference in one setting; for long arrays, that in the first unequal entry."""
    saved_text, present_text = _setting_repr(saved, path), _setting_repr(present, path)
    saved_array, present_array = np.asarray(saved.get(path)), np.asarray(present.get(path))
    has_same_text = saved_text == present_text
    if not has_same_text or saved_array.shape != present_array.shape or not saved_array.ndim:
        return f"{path} was {saved_text} and is {present_text} here"
    # Entries that are NaN in both arrays count as equal.
    is_nan_in_both = (saved_array != saved_array) & (present_array != present_array)
    is_different = (saved_array != present_array) & ~is_nan_in_both
    index = tuple(int(i) for i in np.argwhere(is_different)[0])
    return (
        f"{path}[{', '.join(map(str, index))}] was {saved_array[index]} and is "
        f"{present_array[index]} here"
    )


def _setting_repr(flat: Mapping[str, Any], path: str) -> str:
    value = flat.get(path, "not set")
    return value if isinstance(value, str) else short_repr(value)
