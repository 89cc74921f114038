"""Columns of feature names: rows that are dictionaries as arrays, and checks of their values."""

from __future__ import annotations

import functools
import json
import math
import numbers
import struct
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import hypot
from operator import itemgetter
from typing import TYPE_CHECKING, Any, final, overload

import numpy as np

from swordplay.core.arguments import LARGEST_INPUT, short_repr, without_mask
from swordplay.core.types import Matrix, Vector

if TYPE_CHECKING:
    from swordplay.estimators.workspace import RowWorkspace

PLAIN_TYPES = frozenset({float, int, bool, np.float64})
"""Types of values that are numbers without a closer look."""
are_plain = PLAIN_TYPES.issuperset

Layout = tuple[Any, int, Callable[[Any], tuple[Any, ...]], Callable[..., None]]
"""A workspace, the number of names, and functions that take values from a row and write them."""
NO_LAYOUT: Layout = (None, -1, tuple, lambda *values: None)
"""Before the first row."""


@final
class DictColumns:
    """The column of each feature name.

    A name gets a column when a row with it is first learned. Names that join together are sorted,
    so that the order of the features in a row does not matter.
    """

    def __init__(self) -> None:
        self.column_of: dict[Hashable, int] = {}
        """Column of each name, in this order."""
        self._layout: Layout = NO_LAYOUT

    def __len__(self) -> int:
        return len(self.column_of)

    def __getstate__(self) -> dict[str, Any]:
        return {"column_of": self.column_of}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self.column_of = saved["column_of"]
        self._layout = NO_LAYOUT

    # ------------------------------------------------------------------ single rows

    def write_if_plain(self, x: Any, workspace: RowWorkspace) -> bool:
        """Write a row into a workspace if it has every known name, no other, and plain numbers.

        Most rows of a stream are of this kind, and this takes a microsecond.

        Returns
        -------
        bool
            False for all other rows, of which nothing is written; use :meth:`check` and
            :meth:`write`.
        """
        known, count, pick, pack = self._layout
        if workspace is not known:
            known, count, pick, pack = self._layout = self._layout_of(workspace)
        if type(x) is not dict or len(x) != count:
            return False
        try:
            values = pick(x)
            # Their Euclidean norm is finite and moderate only if all of them are.
            if not are_plain(map(type, values)) or not hypot(*values) <= LARGEST_INPUT:
                return False
        except (KeyError, OverflowError):  # another name, or an int beyond any float
            return False
        pack(*values)
        return True

    def _layout_of(self, workspace: RowWorkspace) -> Layout:
        """Return what :meth:`fill` needs for a workspace and the names of all columns."""
        names = list(self.column_of)
        pick: Callable[[Any], tuple[Any, ...]]
        if len(names) == 1:
            (name,) = names
            pick = lambda x: (x[name],)  # noqa: E731  # itemgetter returns no tuple of one value
        else:
            pick = itemgetter(*names) if names else tuple
        # row[lags:] = values, five times as fast as by numpy
        pack = functools.partial(
            struct.Struct(f"{len(names)}d").pack_into,
            workspace.row.data,
            workspace.row.itemsize * workspace.lags,
        )
        # without columns there is no row of this kind
        return workspace, len(names) or -1, pick, pack

    def check(self, x: Any) -> list[float]:
        """Return the values of a dictionary of features, in its own order.

        Raises
        ------
        TypeError, ValueError
            If x is no dictionary, or names the value that is no finite number of moderate size.
        """
        if type(x) is not dict and not isinstance(x, Mapping):
            raise TypeError(
                f"x must be a dictionary of features, got {short_repr(x)} ({type(x).__name__})."
            )
        values = list(x.values())
        # A sum is finite only if all of its terms are.
        if values and (
            not are_plain(map(type, values))
            or not (max(values) <= LARGEST_INPUT and min(values) >= -LARGEST_INPUT)
            or not math.isfinite(sum(values))
        ):
            return [number(f"x[{name!r}]", value) for name, value in x.items()]
        return values

    def write(self, x: Iterable[Hashable], values: Iterable[float], row: Vector) -> None:
        """Write checked values into a row; NaN where the row has no value, others are left out."""
        row.fill(np.nan)
        column_of = self.column_of
        for name, value in zip(x, values, strict=True):
            column = column_of.get(name)
            if column is not None:
                row[column] = value

    # ------------------------------------------------------------------ many rows

    def to_table(self, rows: Sequence[Mapping[Hashable, float]]) -> tuple[Matrix, bool]:
        """Return rows of finite numbers as a table, and whether all their names have a column.

        Returns
        -------
        table
            Shape ``(T, max(1, d))``; NaN where a row has no value.
        are_known
            False if names were left out because they have no column.
        """
        names = list(rows[0])
        if all(list(x) == names for x in rows[1:]):
            values = np.fromiter(
                chain.from_iterable(x.values() for x in rows), np.float64, len(rows) * len(names)
            )
            return self.arrange(names, values.reshape(len(rows), len(names)))
        table = np.empty((len(rows), max(1, len(self))))
        for k, x in enumerate(rows):
            self.write(x, x.values(), table[k])
        return table, all(x.keys() <= self.column_of.keys() for x in rows)

    def arrange(self, names: Sequence[Hashable], values: Matrix) -> tuple[Matrix, bool]:
        """Return columns of finite numbers in the order of :attr:`column_of`.

        Parameters
        ----------
        names
            Name of each column of ``values``.
        values
            Shape ``(T, len(names))``.

        Returns
        -------
        table, are_known
            As in :meth:`to_table`; ``values`` itself if nothing is to be moved.
        """
        found = [k for k, name in enumerate(names) if name in self.column_of]
        order = [self.column_of[names[k]] for k in found]
        are_known = len(found) == len(names)
        if are_known and order and order == list(range(len(self))):
            return values, True
        table = np.full((len(values), max(1, len(self))), np.nan)
        if order:
            table[:, order] = values if are_known else values[:, found]
        return table, are_known

    # ------------------------------------------------------------------ names

    def new_names(self, names: Iterable[Hashable]) -> list[Hashable]:
        """Return the names without a column, sorted."""
        return sorted((name for name in names if name not in self.column_of), key=repr)

    def add(self, names: Iterable[Hashable]) -> None:
        """Give names a column each, behind the others."""
        for name in names:
            self.column_of[name] = len(self.column_of)
        self._layout = NO_LAYOUT

    def to_json(self) -> str:
        """Return the names in the order of their columns, as JSON."""
        return dump_names(self.column_of)

    def load_json(self, text: str) -> None:
        """Replace the names by those that :meth:`to_json` returned.

        Raises
        ------
        ValueError
            If a name occurs twice.
        """
        names = load_names(text)
        if len(set(names)) < len(names):
            raise ValueError(f"its names are {short_repr(names)}, and one of them occurs twice.")
        self.column_of = {}
        self.add(names)


@final
class NumericRows(Sequence[dict[Any, float]]):
    """Rows by name, stored as one table; a dictionary is made only of a row that is read.

    Parameters
    ----------
    names
        Names of the columns, all different.
    values
        Shape ``(T, d)``; kept without a copy and never changed.
    """

    __slots__ = ("names", "values")

    def __init__(self, names: list[Any], values: Matrix) -> None:
        self.names, self.values = names, values

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, place: int) -> dict[Any, float]: ...
    @overload
    def __getitem__(self, place: slice) -> NumericRows: ...
    def __getitem__(self, place: int | slice) -> dict[Any, float] | NumericRows:
        if isinstance(place, slice):
            return NumericRows(self.names, self.values[place])
        return dict(zip(self.names, self.values[place].tolist(), strict=True))

    def __iter__(self) -> Iterator[dict[Any, float]]:
        return (dict(zip(self.names, row, strict=True)) for row in self.values.tolist())

    @property
    def is_valid(self) -> bool:
        """Whether all numbers are finite and of moderate size."""
        return bool((np.abs(self.values) <= LARGEST_INPUT).all())  # False for NaN


def number(name: str, value: Any) -> float:
    """Return a finite real number of moderate size; booleans are 1 and 0.

    Parameters
    ----------
    name
        What the value is, for messages.
    value
        Anything.

    Raises
    ------
    TypeError, ValueError
        If it is no real number, not finite or beyond ``LARGEST_INPUT`` in magnitude.
    """
    if type(value) is float and -LARGEST_INPUT <= value <= LARGEST_INPUT:
        return value
    if isinstance(value, np.ma.MaskedArray):
        without_mask(name, value)
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()
    if not isinstance(value, numbers.Real):
        raise TypeError(
            f"{name} must be a number, got {short_repr(value)} ({type(value).__name__}). Encode "
            "it, or leave it out if missing."
        )
    try:
        # compare as a float: a class of numbers may define comparisons as it likes
        plain = float(value)
    except OverflowError:
        plain = math.inf
    if not -LARGEST_INPUT <= plain <= LARGEST_INPUT:
        raise ValueError(
            f"{name} must be finite and not pass {LARGEST_INPUT:g} in magnitude, got "
            f"{short_repr(value)}. Repair it, or leave it out."
        )
    return plain


# ---------------------------------------------------------------------- names in files


def dump_names(names: Iterable[Hashable]) -> str:
    """Return names as a JSON list; tuples, such as n-grams, become lists."""
    return json.dumps([plain_name(name) for name in names])


def load_names(text: str) -> list[Hashable]:
    """Return the names of a JSON list that :func:`dump_names` returned."""
    names = json.loads(text)
    if not isinstance(names, list):
        raise ValueError(f"its names are {short_repr(names)}, and not a list.")
    return [_hashable(name) for name in names]


def plain_name(name: Any) -> Any:
    """Return a name as JSON has it; a tuple becomes a list.

    Raises
    ------
    TypeError
        If it is no string, number, boolean, None or tuple of these.
    """
    if isinstance(name, tuple):
        return [plain_name(part) for part in name]
    if isinstance(name, np.generic):
        name = name.item()
    if name is None or isinstance(name, bool | int | float | str):
        return name
    raise TypeError(
        "a checkpoint holds names that are strings, numbers or tuples of them, got "
        f"{short_repr(name)} ({type(name).__name__}). Rename the feature, or use pickle."
    )


def _hashable(name: Any) -> Hashable:
    """Return a name from JSON, lists as tuples."""
    return tuple(map(_hashable, name)) if isinstance(name, list) else name
