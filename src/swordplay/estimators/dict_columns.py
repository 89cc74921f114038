"""Dictionaries and data frames as arrays: a column for every feature name."""

from __future__ import annotations

import json
import math
import numbers
import struct
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, final, overload

import numpy as np

from swordplay.core.arguments import LARGEST_INPUT, short_repr, without_mask
from swordplay.core.types import Matrix, Vector
from swordplay.estimators.linear_model import LinearModel
from swordplay.estimators.workspace import RowWorkspace

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw


def number(name: str, value: Any) -> float:
    """A finite real number of sensible size; true and false are 1 and 0."""
    if type(value) is float and -LARGEST_INPUT <= value <= LARGEST_INPUT:
        return value  # the usual case
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
        plain = float(value)
    except OverflowError:
        plain = math.inf
    if (
        not -LARGEST_INPUT <= plain <= LARGEST_INPUT
    ):  # the number itself: a class of numbers may compare as it likes
        raise ValueError(
            f"{name} must be finite and not pass {LARGEST_INPUT:g} in magnitude, got "
            f"{short_repr(value)}. Repair it, or leave it out."
        )
    return plain


class DictColumns:
    """Which column each name has.

    A name gets its column when a row with it is first learned. Names that come together are sorted,
    so that the order in which a row lists its features changes nothing.
    """

    def __init__(self) -> None:
        self.places: dict[Hashable, int] = {}
        self._room: Vector = np.empty(0)
        self._begin()

    def _begin(self) -> None:
        """A row for as many names, a slice of one with room for more, and the names that the
        last one had.
        """
        if len(self.places) > len(self._room):
            self._room = np.full(2 * len(self.places), np.nan)
        self._row: Vector = self._room[: len(self.places)]
        self._names: list[Hashable] | None = None
        self._order: Any = None
        self.usual: FastRow | None = None
        """For rows with the names of the one before, all that there are."""

    def __len__(self) -> int:
        return len(self.places)

    def __getstate__(self) -> dict[str, Any]:
        return {"places": self.places}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self.places, self._room = saved["places"], np.empty(0)
        self._begin()

    def check(self, x: Any) -> list[float]:
        """The values of a dictionary of features, in its own order.

        Refused in words unless they are numbers.
        """
        if type(x) is not dict and not isinstance(x, Mapping):
            raise TypeError(
                f"x must be a dictionary of features, got {short_repr(x)} ({type(x).__name__})."
            )
        values = list(x.values())
        # A sum is finite only if all of its terms are; what is not plainly right is looked at one
        # by one.
        if values and (
            not PLAIN.issuperset(map(type, values))
            or not (max(values) <= LARGEST_INPUT and min(values) >= -LARGEST_INPUT)
            or not math.isfinite(sum(values))
        ):
            return [number(f"x[{name!r}]", value) for name, value in x.items()]
        return values

    def row(self, x: Mapping[Hashable, Any], values: list[float]) -> Vector:
        """Checked values where they belong; names without a column are left out.

        The array is the next call's, too.
        """
        row, places, names = self._row, self.places, list(x)
        if (
            names == self._names
        ):  # the usual case: the same features as in the row before, all of them known
            row[self._order] = values
            return row
        row.fill(np.nan)
        known = [
            (places[name], value)
            for name, value in zip(names, values, strict=True)
            if name in places
        ]
        order: Any = np.array([place for place, _ in known], dtype=np.intp)
        row[order] = [value for _, value in known]
        if np.array_equal(order, np.arange(len(row))):
            order = slice(None)  # all of them, in their own order: twice as fast
        # What another row wrote elsewhere was just wiped out: until the names change, these are the
        # only entries to write.
        self._names, self._order = (names, order) if len(known) == len(names) else (None, None)
        return row

    def is_usual(self, x: Iterable[Hashable]) -> bool:
        """Whether a row has the names of the one before, all of which have a column."""
        return self._names is not None and list(x) == self._names

    def expect(self, model: LinearModel) -> None:
        """Make ready for more rows like the one before, if it had a value for every column of a
        model with one head.
        """
        if self.usual is not None and self.usual.workspace is model._workspace:
            return
        complete = self._names is not None and len(self._names) == len(self.places) > 0
        self.usual = (
            FastRow(list(self.places), model) if complete and model.columns.follow else None
        )

    def news(self, names: Iterable[Hashable]) -> list[Hashable]:
        """Names without a column, sorted."""
        return sorted((name for name in names if name not in self.places), key=repr)

    def join(self, names: Iterable[Hashable]) -> None:
        """Give names a column each."""
        for name in names:
            self.places[name] = len(self.places)
        self._begin()

    def table(self, frame: nw.DataFrame[Any], places: Mapping[Hashable, int]) -> Matrix:
        """The rows of a frame with a column for each of ``places``.

        Others are checked and left out.
        """
        table = np.full((len(frame), len(places)), np.nan)
        # By place and not by name: a number among the names would be taken for a place, or for a
        # row.
        for name, series in zip(frame.columns, frame.iter_columns(), strict=True):
            column = numeric_column(f"X[{name!r}]", series.to_numpy())
            if name in places:
                table[:, places[name]] = column
        return table

    def with_news(self, names: Iterable[Hashable]) -> dict[Hashable, int]:
        """The places as they will be once the new ones among these names have joined."""
        return self.places | {name: len(self.places) + k for k, name in enumerate(self.news(names))}

    def dumps(self) -> str:
        """The names, as text."""
        return dump_names(self.places)

    def loads(self, text: str) -> None:
        """Names from text."""
        names = load_names(text)
        if len(set(names)) < len(names):
            raise ValueError("it has a name twice.")
        self.places = {}
        self.join(names)


def numeric_column(name: str, raw: Any) -> Vector:
    """A column of finite numbers of sensible size."""
    if raw.dtype.kind not in "fiub":
        return np.array(
            [number(f"{name}, row {t}", value) for t, value in enumerate(raw)], dtype=np.float64
        )
    column = np.asarray(raw, dtype=np.float64)
    sound = np.abs(column) <= LARGEST_INPUT
    if not sound.all():
        t = int(np.argmin(sound))
        number(f"{name}, row {t}", float(column[t]))
    return column


def targets(y: Any, count: int) -> Any:
    """Targets or labels as an array, one for each of ``count`` rows."""
    values = y.to_numpy() if hasattr(y, "to_numpy") else without_mask("y", y)
    if values.ndim == 1 and values.dtype.kind in "US" and isinstance(y, list | tuple):
        # numpy cuts off NUL characters at the end of strings, and makes strings of the numbers
        # beside a string.
        values = np.array(y, dtype=object)
    if values.shape != (count,):
        raise ValueError(
            f"y must have one entry for each of the {count} rows of X, got shape {values.shape}."
        )
    return values


def frame_of(X: Any) -> nw.DataFrame[Any]:
    """A native data frame as narwhals has it."""
    import narwhals.stable.v2 as nw

    try:
        return nw.from_native(X, eager_only=True)
    except TypeError as error:
        raise TypeError(
            "X must be a data frame (pandas, polars or another that narwhals knows), got "
            f"{short_repr(X)} ({type(X).__name__}). Give learn_one and predict_one single rows."
        ) from error


def series_like(values: Any, like: nw.DataFrame[Any]) -> Any:
    """A native series of the same make and with the same index."""
    import narwhals.stable.v2 as nw

    if isinstance(values, list) and not like.implementation.is_pandas_like():
        _require_one_kind(values)
    native: Any = nw.new_series("y", values, backend=like.implementation).to_native()
    index = nw.maybe_get_index(like)
    return native if index is None else native.set_axis(index)


def frame_like(table: Matrix, names: list[Any], like: nw.DataFrame[Any]) -> Any:
    """A native frame of the same make and with the same index.

    Only pandas has names that are not strings.
    """
    import narwhals.stable.v2 as nw

    if not like.implementation.is_pandas_like():
        _require_one_kind(names)
    kept = names if like.implementation.is_pandas_like() else list(map(str, names))
    columns = {name: table[:, k] for k, name in enumerate(kept)}
    native: Any = nw.from_dict(columns, backend=like.implementation).to_native()
    index = nw.maybe_get_index(like)
    return native if index is None else native.set_axis(index, axis=0)


def _require_one_kind(labels: Any) -> None:
    """Refuse labels of which only a frame of pandas could be made."""
    found = {isinstance(label, str): label for label in labels if label is not None}
    if len(found) > 1:
        raise TypeError(
            f"a frame of this make cannot hold the labels {short_repr(found[False])} and "
            f"{short_repr(found[True])} together. Learn "
            "labels of one kind, give frames of pandas, or single rows (learn_one, predict_one)."
        )


def dump_names(names: Iterable[Hashable]) -> str:
    """Names as JSON; a tuple, such as an n-gram, becomes a list."""
    return json.dumps([plain_name(name) for name in names])


def load_names(text: str) -> list[Hashable]:
    """And back."""
    names = json.loads(text)
    if not isinstance(names, list):
        raise ValueError(f"its names are {short_repr(names)}, and not a list.")
    return [_hashable(name) for name in names]


def plain_name(name: Any) -> Any:
    """A name as JSON has it; a tuple becomes a list."""
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
    return tuple(map(_hashable, name)) if isinstance(name, list) else name


@final
class NumericRows(Sequence[dict[Any, float]]):
    """Rows by name without a dictionary for each of them; one is made when it is looked at.

    Parameters
    ----------
    names
        Of the columns, none of them twice.
    values
        Shape ``(T, d)``; kept as it is, and written by nobody.
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
        """Whether all of its numbers are finite and of sensible size."""
        return bool((np.abs(self.values) <= LARGEST_INPUT).all())  # NaN is not


PLAIN = frozenset({float, int, bool, np.float64})
"""Types of values that need no closer look."""


@final
class FastRow:
    """Rows with these names, of a model with one head.

    Parameters
    ----------
    names
        Of all columns of the model, in their order.
    model
        A model with one head.
    """

    def __init__(self, names: Sequence[Hashable], model: LinearModel) -> None:
        self.workspace = model.workspace
        self.ask = self.workspace.predict
        """The score of the row that was taken."""
        self.learn = self.workspace.learn
        """Learn it; the score that it had before."""
        self.take = _taker(names, model, self.workspace)
        """Puts a row in its place; False if it is no such row, or the model not what it was."""


def _taker(
    names: Sequence[Hashable], model: LinearModel, workspace: RowWorkspace
) -> Callable[[Any], bool]:
    """What puts rows with these names behind the lags."""
    count, room, first, plain = len(names), workspace.row.data, 8 * workspace.lags, PLAIN.issuperset
    pick, pack, hypot = itemgetter(*names), struct.Struct(f"{count}d").pack_into, math.hypot

    def take(x: Any) -> bool:
        if type(x) is not dict or len(x) != count or model._workspace is not workspace:
            return False
        try:
            values = pick(x) if count > 1 else (pick(x),)
            # A length is a number only if all entries are, and none of them is longer.
            if not plain(map(type, values)) or not hypot(*values) <= LARGEST_INPUT:
                return False
        except (KeyError, OverflowError):
            return False
        pack(room, first, *values)
        return True

    return take
