"""The schema of saved states: fields declared once beside a class, used to save, load and check.

A state is a named tuple that is replaced and never written into. Its annotations declare what each
field may hold::

    class HedgeState(NamedTuple):
        weights: Annotated[Vector, array("experts", low=0.0, high=1.0)]
        rate: RateState

:func:`save` turns it into a flat dictionary of arrays and numbers (``weights``, ``rate.value``),
:func:`load` checks such a dictionary against the declarations and makes the named tuple again.
Axes are declared by name: the first array that has an axis ``experts`` sets its length, and all
others must agree.

Beside the state of a learner, a saved dictionary holds what the learner was made with, under names
that begin with ``settings.`` (:func:`made_with`), so that it is only loaded into the same learner.
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

S = TypeVar("S")
Sizes = Mapping[str, int] | None
"""Lengths of axes by name."""

LARGE = 1e300
"""Largest magnitude of numbers whose declaration sets no other limit."""
MAX_ROUNDS = 2.0**53
"""Doubles represent whole numbers up to here without gaps."""
DAMAGED = "The state is damaged: load an earlier one."
"""Remedy for a number that no sequence of losses or rows leads to."""
OTHER_LEARNER = "Load a state that the same kind of learner saved."

ROUNDING = 1e-6
"""Relative rounding of sums."""

SETTINGS = "settings."
"""Prefix of the settings in a saved state."""
MAX_DIFFERENCES = 6
"""Differences between two sets of settings that a message lists."""


# ------------------------------------------------------------------- declarations


class Field(NamedTuple):
    """What an entry of a saved state may hold: a number or an array of numbers."""

    low: float = -LARGE
    """Least value, included."""
    high: float = LARGE
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
    low: float = -LARGE,
    high: float = LARGE,
    *,
    whole: bool = False,
    nan: bool = False,
    optional: bool = False,
) -> Field:
    """Declare a single number between ``low`` and ``high``."""
    return Field(low, high, whole, nan, (), optional)


def array(
    *shape: int | str,
    low: float = -LARGE,
    high: float = LARGE,
    whole: bool = False,
    nan: bool = False,
    optional: bool = False,
    semidefinite: bool = False,
) -> Field:
    """Declare an array whose axes have these lengths or names; each entry is within the range."""
    return Field(low, high, whole, nan, shape, optional, semidefinite)


COUNT = Field(0.0, MAX_ROUNDS, whole=True)
"""A number of rounds."""
OBSERVED = number(0.0, MAX_ROUNDS / 2.0, whole=True)
"""Rounds that a learner has observed, small enough for all further rounds to be counted."""
ROWS = Field(0.0, 2.0**50, whole=True)
"""A number of rows of a table, small enough for all further rows to be counted."""


@functools.cache
def schema(kind: Any) -> Mapping[str, Any]:
    """Read the declarations of a named tuple, in the order of its fields.

    Returns
    -------
    Mapping
        By name of the field: its :class:`Field`, the named tuple that it holds, the same in a list
        if the field is a tuple of them, or None if the annotation declares nothing.
    """
    hints = typing.get_type_hints(kind, include_extras=True)
    return {name: _declaration(hints[name]) for name in kind._fields}


def _declaration(hint: Any) -> Any:
    if typing.get_origin(hint) is Annotated:
        return next((one for one in hint.__metadata__ if isinstance(one, Field)), None)
    if typing.get_origin(hint) is tuple:
        parts = [_declaration(one) for one in typing.get_args(hint)[:1]]
        return parts if parts and parts[0] is not None else None
    if isinstance(hint, type) and hasattr(hint, "_fields"):
        return hint
    return None


def ranges(kind: Any) -> dict[str, Field]:
    """Declared ranges of the fields of a named tuple, for arrays that hold many such states."""
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
    if value is None:
        return
    if hasattr(value, "_asdict"):
        flat |= save(value, f"{name}.")
    elif isinstance(value, tuple):
        for place, part in enumerate(value):
            _save_into(flat, f"{name}.{place}", part)
    else:
        flat[name] = value.copy() if isinstance(value, np.ndarray) else value


@overload
def load(
    kind: type[S], saved: Mapping[str, Any], sizes: Sizes = None, *, within: str = ""
) -> S: ...


@overload
def load(
    kind: S,
    saved: Mapping[str, Any],
    sizes: Sizes = None,
    *,
    free: Collection[str] = (),
    trusted: bool = False,
    within: str = "",
) -> S: ...


def load(
    kind: Any,
    saved: Mapping[str, Any],
    sizes: Sizes = None,
    *,
    free: Collection[str] = (),
    trusted: bool = False,
    within: str = "",
) -> Any:
    """Make a named tuple from the dictionary that :func:`save` returned.

    Parameters
    ----------
    kind
        The class of the state, or a state of the same kind, as an example: it tells the classes of
        fields whose annotations leave them open, which optional entries there are, and the lengths
        of axes.
    saved
        Entries by name, with no others beside them.
    sizes
        Lengths of axes by name. The first array that has any other axis sets its length; within
        the elements of a tuple, for that element alone.
    free
        Axes whose lengths may differ from those of the example.
    trusted
        Whether this process has just made the entries: ranges are not checked then.
    within
        What messages put before the names of entries, such as ``"rate."``.

    Returns
    -------
    S
        Arrays of double precision, floats and ints, all new.

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
    reader = _Reader(saved, within, free, trusted)
    reader.growing = {} if isinstance(kind, type) else _lengths(kind, free)
    state = reader.read(kind, "", dict(sizes or {}))
    if reader.missing:
        raise ValueError(f"state lacks {sorted(reader.missing)}. {OTHER_LEARNER}")
    if unknown := sorted(f"{within}{name}" for name in saved.keys() - reader.found):
        raise ValueError(f"state has unknown entries {unknown}. {OTHER_LEARNER}")
    if reader.error is not None:
        raise reader.error
    return state


_NO_EXAMPLE = object()


class _Reader:
    """Reads the entries of one saved state to the end, and notes what is wrong with them."""

    def __init__(
        self, saved: Mapping[str, Any], within: str, free: Collection[str], trusted: bool
    ) -> None:
        self.saved, self.within, self.free, self.trusted = saved, within, free, trusted
        self.found: set[str] = set()
        self.missing: list[str] = []
        self.error: ValueError | None = None
        self.growing: dict[int, str] = {}
        """Names of the axes that may grow, by their lengths in the example."""

    def read(self, kind: Any, prefix: str, sizes: dict[str, int]) -> Any:
        """Read the named tuple whose entries begin with ``prefix``; None for what is wrong."""
        example, kind = (_NO_EXAMPLE, kind) if isinstance(kind, type) else (kind, type(kind))
        return kind(
            **{
                name: self._field(
                    declared, getattr(example, name, _NO_EXAMPLE), f"{prefix}{name}", sizes
                )
                for name, declared in schema(kind).items()
            }
        )

    def _field(self, declared: Any, example: Any, name: str, sizes: dict[str, int]) -> Any:
        if hasattr(example, "_fields"):
            return self.read(example, f"{name}.", sizes)
        if isinstance(example, tuple) and not isinstance(declared, Field):
            return tuple(
                self._field(None, one, f"{name}.{place}", dict(sizes))
                for place, one in enumerate(example)
            )
        if isinstance(declared, list):
            return self._elements(declared[0], name, sizes)
        is_declared = declared is not None
        if declared is None and example is not None:
            declared = _field_like(example)
        if declared is None:
            return None
        if not isinstance(declared, Field):
            return self.read(declared, f"{name}.", sizes)
        if example is None:
            return None
        if isinstance(example, np.ndarray):
            if declared.shape is None:
                declared = declared._replace(shape=example.shape)
            if not is_declared:  # of a user's own part: as long as the axes that grow, or fixed
                shape = tuple(self.growing.get(size, size) for size in example.shape)
                declared = declared._replace(shape=shape)
            for axis, size in zip(declared.shape or (), example.shape, strict=True):
                if isinstance(axis, str) and axis not in self.free:
                    sizes.setdefault(axis, size)
        return self._entry(declared, name, sizes, required=example is not _NO_EXAMPLE)

    def _elements(self, kind: Any, name: str, sizes: dict[str, int]) -> tuple[Any, ...]:
        """Read the elements ``name.0``, ``name.1``, ... as many as there are."""
        elements: list[Any] = []
        while any(str(one).startswith(f"{name}.{len(elements)}.") for one in self.saved):
            elements.append(self.read(kind, f"{name}.{len(elements)}.", dict(sizes)))
        return tuple(elements)

    def _entry(self, field: Field, name: str, sizes: dict[str, int], *, required: bool) -> Any:
        """Read one value: a new array, an int or a float."""
        if name not in self.saved:
            if required or not field.optional:
                self.missing.append(self.within + name)
            return None
        self.found.add(name)
        value = self.saved[name]
        if self.trusted:
            field = field._replace(low=-np.inf, high=np.inf, semidefinite=False)
        try:
            check(self.within + name, value, field, sizes)
        except ValueError as error:
            self.error = self.error or error
            return None
        if np.ndim(value):
            return np.array(value, dtype=np.float64)
        return int(value) if field.whole else float(value)


def _lengths(example: Any, axes: Collection[str]) -> dict[int, str]:
    """Names of axes by their lengths in an example; elements of tuples have axes of their own."""
    lengths: dict[int, str] = {}
    kind: Any = type(example)
    for name, declared in schema(kind).items():
        value = getattr(example, name)
        if hasattr(value, "_fields"):
            lengths = _lengths(value, axes) | lengths
        elif isinstance(declared, Field) and declared.shape and isinstance(value, np.ndarray):
            for axis, size in zip(declared.shape, value.shape, strict=True):
                if isinstance(axis, str) and axis in axes:
                    lengths[size] = axis
    return lengths


def _field_like(example: Any) -> Field:
    """The declaration of a field that has none: numbers in the shape of an example."""
    whole = isinstance(example, int) and not isinstance(example, bool)
    return Field(whole=whole, shape=np.shape(example))


# ------------------------------------------------------------------- checking


def check(name: str, values: Any, field: Field, sizes: dict[str, int] | None = None) -> None:
    """Check a number or an array against its declaration.

    Parameters
    ----------
    name
        Of the entry, for the message.
    values
        As they were saved.
    field
        What they may hold.
    sizes
        Known lengths of axes by name, to which the axes of ``values`` are added.

    Raises
    ------
    ValueError
        Names the entry, the first number that is wrong and its index.
    """
    if (
        isinstance(values, float)
        and field.low <= values <= field.high
        and not (field.whole and values % 1.0)
        and not field.shape
    ):
        return  # numpy needs ten times as long for a single number, and states hold thousands
    if type(values) is int and not -(2**63) <= values < 2**63:  # beyond numpy's integers
        values = float(min(max(values, -(10**308)), 10**308))
    try:
        found = np.asarray(values)
    except ValueError:  # lists of several lengths
        raise _not_numbers(name, values) from None
    if found.dtype.kind not in "fiu":  # numpy would convert numbers in quotes and booleans
        raise _not_numbers(name, values)
    if field.shape is not None:
        _check_shape(name, found.shape, field.shape, {} if sizes is None else sizes)
    numbers = np.asarray(found, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        right = (numbers >= field.low) & (numbers <= field.high)
    if field.whole:
        right &= numbers == np.floor(numbers)
    if field.nan:
        right |= np.isnan(numbers)
    if not right.all():
        index = tuple(int(k) for k in np.argwhere(~right)[0])
        kind = "whole numbers" if field.whole else "numbers"
        place = f" at {index if len(index) > 1 else index[0]}" if index else ""
        raise ValueError(
            f"state[{name!r}] must hold {kind} from {field.low:g} to {field.high:g}, "
            f"got {numbers[index]:g}{place}. {DAMAGED}"
        )
    if field.semidefinite and numbers.ndim > 1:
        _check_semidefinite(name, numbers)


def _check_semidefinite(name: str, matrices: Array) -> None:
    """Check that matrices are symmetric and semidefinite up to rounding, shape ``(..., d, d)``."""
    size = np.abs(matrices).max(axis=(-2, -1), initial=0.0)
    asymmetry = np.abs(matrices - np.swapaxes(matrices, -2, -1)).max(axis=(-2, -1), initial=0.0)
    # divided by their size, as the eigenvalues of huge numbers overflow
    unit = np.where(size > 0.0, size, 1.0)[..., None, None]
    is_symmetric = (asymmetry <= ROUNDING * size).all()
    if not is_symmetric or (np.linalg.eigvalsh(matrices / unit) < -ROUNDING).any():
        raise damaged(f"state[{name!r}] must hold symmetric matrices without negative eigenvalues")


def damaged(problem: str) -> ValueError:
    """Error for a state that no sequence of losses or rows leads to.

    >>> damaged("two columns have the same name")
    ValueError('two columns have the same name. The state is damaged: load an earlier one.')
    """
    return ValueError(f"{problem}. {DAMAGED}")


def _not_numbers(name: str, values: Any) -> ValueError:
    return damaged(f"state[{name!r}] must hold numbers, got {short_repr(values)}")


def _check_shape(
    name: str, found: tuple[int, ...], declared: tuple[int | str, ...], sizes: dict[str, int]
) -> None:
    if not declared:
        if found:
            raise damaged(f"state[{name!r}] must be one number, got an array of shape {found}")
        return
    if len(found) == len(declared):
        wanted = tuple(
            sizes.setdefault(axis, length) if isinstance(axis, str) else axis
            for axis, length in zip(declared, found, strict=True)
        )
        if wanted == found:
            return
        shape = str(wanted)
    else:
        shape = f"({', '.join(str(sizes.get(str(axis), axis)) for axis in declared)})"
    raise ValueError(
        f"state[{name!r}] must have shape {shape}, got {found}. Make the learner with the "
        "settings it was saved with."
    )


def check_number(name: str, value: Any, field: Field) -> None:
    """Check a single number against its declaration; an array is refused, whatever its size.

    Raises
    ------
    ValueError
        Names the entry and what it holds.
    """
    if np.ndim(value):
        raise ValueError(f"state[{name!r}] must be one number, got {short_repr(value)}. {DAMAGED}")
    check(name, value, field)


def as_bytes(name: str, values: Any) -> bytes:
    """Convert an entry that is an array of bytes; arrays of other types are refused.

    Raises
    ------
    ValueError
        Names the entry and what it holds.
    """
    if type(values) is not np.ndarray or values.dtype != np.uint8 or values.ndim != 1:
        raise ValueError(f"state[{name!r}] must hold bytes, got {short_repr(values)}. {DAMAGED}")
    return values.tobytes()


def length(name: str, saved: Mapping[str, Any], axis: int = 0) -> int:
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


def strip_prefix(name: str, whole: Mapping[str, Any]) -> State:
    """Select the state of a part from that of the whole, the inverse of :func:`add_prefix`.

    >>> strip_prefix("learner", {"learner.rounds": 3, "rows": 5})
    {'rounds': 3}
    """
    prefix = f"{name}."
    return {
        key.removeprefix(prefix): value for key, value in whole.items() if key.startswith(prefix)
    }


def split_parts(whole: Mapping[str, Any]) -> dict[str, Any]:
    """Split a state into the states of its parts, by name, and entries of the whole itself.

    >>> split_parts({"learner.rounds": 3, "learner.rate.level": 0.5, "rows": 5})
    {'learner': {'rounds': 3, 'rate.level': 0.5}, 'rows': 5}
    """
    parts: dict[str, Any] = {}
    for key, value in whole.items():
        name, dot, rest = key.partition(".")
        if name in parts and not (dot and isinstance(parts[name], dict)):
            raise ValueError(f"state has {name!r} as well as parts of it. {DAMAGED}")
        if dot:
            parts.setdefault(name, {})[rest] = value
        else:
            parts[name] = value
    return parts


def part_of(name: str, parts: Mapping[str, Any]) -> State:
    """Look up the state of a part in what :func:`split_parts` returned.

    Raises
    ------
    ValueError
        If there is no such part.
    """
    found = parts.get(name)
    if not isinstance(found, dict):
        raise ValueError(f"state lacks {name + '.*'!r}. {OTHER_LEARNER}")
    return found


# ------------------------------------------------------------------- JSON within states


class OneOf(tuple[Any, ...]):
    """Alternative shapes of a JSON value."""


def read_json(name: str, text: Any, shape: Any) -> Any:
    """Parse an entry that is a JSON text, and check the value against a shape.

    Parameters
    ----------
    name
        Of the entry, for the message.
    text
        As it was saved.
    shape
        What the value must be: a type (``float`` for finite ones), ``None``, a string for itself,
        or a :class:`Field` of numbers (of ints, if it is ``whole``); ``[shape]`` is a list of any
        length, ``(shape, shape)`` a list of this length, ``{str: shape}`` an object with any keys,
        ``{"a": shape, "b": shape}`` one with these keys, and ``OneOf((shape, shape))`` one of
        several.

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
    """Refuse a parsed JSON value that has another shape than :func:`read_json` describes."""
    if not fits_json(value, shape):
        raise ValueError(
            f"state[{name!r}] holds something else than it should, {short_repr(value)}. {DAMAGED}"
        )


def fits_json(value: Any, shape: Any) -> bool:
    """Whether a parsed JSON value has a shape, as described for :func:`read_json`."""
    if shape is None:
        return value is None
    if isinstance(shape, type):
        if type(value) is not shape:
            return False
        if isinstance(value, str):
            return _is_text(value)
        return not isinstance(value, float) or math.isfinite(value)
    if isinstance(shape, str):
        return type(value) is str and value == shape
    if isinstance(shape, Field):
        kinds = (int,) if shape.whole else (int, float)
        return type(value) in kinds and shape.low <= value <= shape.high
    if isinstance(shape, OneOf):
        return any(fits_json(value, one) for one in shape)
    if isinstance(shape, dict):
        if str in shape:
            return type(value) is dict and all(
                fits_json(name, str) and fits_json(one, shape[str]) for name, one in value.items()
            )
        return (
            type(value) is dict
            and value.keys() == shape.keys()
            and all(fits_json(value[name], one) for name, one in shape.items())
        )
    if isinstance(shape, list):
        return type(value) is list and all(fits_json(one, shape[0]) for one in value)
    return type(value) is list and len(value) == len(shape) and all(map(fits_json, value, shape))


def _is_text(text: str) -> bool:
    """Whether a string can be encoded; JSON can hold halves of surrogate pairs."""
    return text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text)


# ------------------------------------------------------------------- settings


@runtime_checkable
class HasSettings(Protocol):
    """A part that tells what it was made with."""

    def settings(self) -> Mapping[str, Any]:
        """Names and values: numbers, arrays, strings, None, or further parts."""
        ...


def made_with(parts: Mapping[str, Any]) -> State:
    """Settings of parts and of their parts, by dotted path; the class of a part by its own path.

    A part (a domain, experts, a rate, a meta) tells its settings with a method ``settings``; a part
    without one is described by its class. None and infinity set no limit and are left out.

    >>> made_with({"rate": {"cap": 0.5, "level": None}, "learner": "OGD"})
    {'rate.cap': 0.5, 'learner': 'OGD'}
    """
    flat: State = {}
    for name, value in parts.items():
        flat |= _settings_of(value, name)
    return flat


@functools.singledispatch
def _settings_of(part: Any, path: str) -> State:
    """The settings of a part, by path."""
    # a function has a name of its own, other objects that of their class
    kind = getattr(part, "__qualname__", type(part).__qualname__)
    inside = part.settings() if isinstance(part, HasSettings) and callable(part.settings) else {}
    return {path: kind} | made_with({f"{path}.{name}": value for name, value in inside.items()})


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
# because singledispatch takes plain classes only
def _(value: Mapping, path: str) -> State:  # type: ignore[type-arg]
    return made_with({f"{path}.{name}": each for name, each in value.items()})


@_settings_of.register(tuple)
@_settings_of.register(list)
def _(value: Any, path: str) -> State:
    return made_with({f"{path}.{place}": each for place, each in enumerate(value)})


def settings_entries(flat: Mapping[str, Any]) -> State:
    """Write settings as entries of a state; a string becomes part of the name of its entry.

    >>> settings_entries({"rate": "SelfConfident", "rate.cap": 0.5})
    {'settings.rate=SelfConfident': 1, 'settings.rate.cap': 0.5}
    """
    state: State = {}
    for path, value in flat.items():
        if isinstance(value, str):
            state[f"{SETTINGS}{path}={value}"] = 1
        else:
            state[f"{SETTINGS}{path}"] = value.copy() if isinstance(value, np.ndarray) else value
    return state


def split_settings(state: Mapping[str, Any]) -> tuple[State, State]:
    """Split a saved dictionary into the state alone and the settings by path."""
    rest: State = {}
    flat: State = {}
    for name, value in state.items():
        if str(name).startswith(SETTINGS):
            path, is_text, text = name.removeprefix(SETTINGS).partition("=")
            flat |= _settings_of(text if is_text else value, path)
        else:
            rest[name] = value
    return rest, flat


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


def compare_settings(saved: Mapping[str, Any], present: Mapping[str, Any]) -> str:
    """Describe the differences between saved settings and those of a learner; "" if there is none.

    If ``saved`` names no learner, it holds some settings only, and these alone are compared.
    """
    paths = sorted(saved.keys() | present.keys() if "learner" in saved else saved.keys())
    differ = [path for path in paths if not _is_same(saved.get(path), present.get(path))]
    # Another learner, or a part of another class, has other settings as well: these are left out.
    outer = [path for path in differ if not any(path.startswith(f"{other}.") for other in differ)]
    outer = ["learner"] if "learner" in outer else outer
    lines = [_difference(path, saved, present) for path in outer[:MAX_DIFFERENCES]]
    more = len(outer) - MAX_DIFFERENCES
    return "; ".join(lines) + (f"; and {more} more" if more > 0 else "")


def _is_same(one: Any, other: Any) -> bool:
    return np.array_equal(one, other)


def _difference(path: str, saved: Mapping[str, Any], present: Mapping[str, Any]) -> str:
    """The difference in one setting; of two arrays, the first number that differs."""
    before, now = _setting_repr(saved, path), _setting_repr(present, path)
    one, other = np.asarray(saved.get(path)), np.asarray(present.get(path))
    if before != now or one.shape != other.shape or not one.ndim:
        return f"{path} was {before} and is {now} here"
    index = tuple(int(k) for k in np.argwhere(one != other)[0])
    return f"{path}[{', '.join(map(str, index))}] was {one[index]} and is {other[index]} here"


def _setting_repr(flat: Mapping[str, Any], path: str) -> str:
    value = flat.get(path, "not set")
    return value if isinstance(value, str) else short_repr(value)
