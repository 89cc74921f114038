"""What a column holds: kinds of values, decided by the majority of the head, and the values that
do not fit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from swordplay.core.arguments import short_repr
from swordplay.tables.errors import TableError, nearest
from swordplay.tables.readings import Iso, TimeOfDay
from swordplay.tables.readings.reading import MARKS, NUMBER, TIME, TRUTH, WORD, refused

if TYPE_CHECKING:
    from swordplay.tables.earlier import Earlier

MEANINGS = {
    NUMBER: "a finite number",
    TRUTH: "true or false",
    WORD: "a word",
    TIME: TimeOfDay.expected,
}
"""What a value of a type is called; the rest are dates."""
TRUE, FALSE = ["true", "True", "TRUE"], ["false", "False", "FALSE"]
LARGEST_EXACT = 2**53
"""Whole numbers beyond it are rounded to doubles;"""
SHORTEST_INEXACT = 16
"""they have so many digits at the least."""
MOST_COLUMNS = 100_000
"""Columns that are read: deciding on the type of each takes about half a millisecond and 40 kB."""
ASKED = 128
"""Values that vote on the type of a column, spread evenly over the head."""


def meaning(kind: pa.DataType) -> str:
    """What a value of the type is called in a message."""
    return MEANINGS.get(kind, Iso.expected)


def numeral(values: pa.Array, decimal: str) -> pa.Array:
    """Strings as pyarrow's CSV reader sees them before it takes them for numbers."""
    values = pc.utf8_trim(values, " \t")
    return (
        values
        if decimal == "."
        else pc.replace_substring(pc.replace_substring(values, ".", "x"), decimal, ".")
    )


def misfits(values: pa.Array, kind: pa.DataType, decimal: str = ".") -> NDArray[np.bool_]:
    """Which strings are no value of the type.

    Missing ones fit everywhere, and marks such as ``-`` but beside words.
    """
    return (
        np.zeros(len(values), bool)
        if kind == WORD
        else misfits_beside_marks(unmarked(values), kind, decimal)
    )


def misfits_beside_marks(
    values: pa.Array, kind: pa.DataType, decimal: str = "."
) -> NDArray[np.bool_]:
    """The same for strings among which there are no marks any more, and a type that is not
    words.
    """
    if kind == TRUTH:
        known = pc.is_in(values, value_set=pa.array([*TRUE, *FALSE, None], WORD)).to_numpy(
            zero_copy_only=False
        )
        return np.asarray(~known, dtype=bool)
    if kind == NUMBER:
        values = numeral(values, decimal)
    return refused(
        len(values), lambda start, stop: infinite(values.slice(start, stop - start).cast(kind))
    )


def unmarked(values: pa.Array) -> pa.Array:
    """The same strings with null for marks such as ``-``, which stand for nothing beside all but
    words.
    """
    marks = pc.is_in(pc.utf8_trim_whitespace(values), value_set=pa.array(MARKS, WORD))
    return pc.if_else(marks, None, values) if pc.any(marks, min_count=0).as_py() else values


def parsed(values: pa.Array, kind: pa.DataType, decimal: str = ".") -> pa.Array:
    """Strings as values of the type; ``ArrowInvalid`` if one of them does not fit."""
    if kind == WORD:
        return values
    values = unmarked(values)
    if pa.types.is_null(kind):
        if values.null_count < len(values):
            raise pa.ArrowInvalid("a column that was empty so far has a value")
        return pa.nulls(len(values))
    if kind != TRUTH:
        return (numeral(values, decimal) if kind == NUMBER else values).cast(kind)
    if misfits(values, kind).any():
        raise pa.ArrowInvalid("not true or false")
    return pc.if_else(pc.is_valid(values), pc.is_in(values, value_set=pa.array(TRUE, WORD)), None)


def infinite(values: pa.Array) -> NDArray[np.bool_]:
    """Which numbers are infinite; nothing else is."""
    if values.type != NUMBER:
        return np.zeros(len(values), bool)
    return np.asarray(
        pc.fill_null(pc.is_inf(values), False).to_numpy(zero_copy_only=False), dtype=bool
    )


def finite(rows: pa.RecordBatch) -> pa.RecordBatch:
    """The same rows with null for NaN.

    Raises
    ------
    ArrowInvalid
        If a number is infinite: such a row cannot be used.
    """
    columns, changed = rows.columns, False
    for i, column in enumerate(columns):
        if column.type == NUMBER and not pc.all(pc.is_finite(column), min_count=0).as_py():
            if infinite(column).any():
                raise pa.ArrowInvalid("a number is not finite")
            columns[i], changed = pc.if_else(pc.is_nan(column), None, column), True
    # One new batch for all columns: set_column copies the list of columns each time.
    return pa.RecordBatch.from_arrays(columns, schema=rows.schema) if changed else rows


def vote(
    values: pa.Array,
    kinds: Iterable[pa.DataType],
    decimal: str = ".",
    beside_marks: pa.Array | None = None,
) -> pa.DataType | None:
    """The first type that more than half of the strings fit.

    Words if none; None where everything is missing.

    Who knows what they are without marks gives that, too: it takes a while to find out.
    """
    if values.null_count == len(values):
        return None
    values = (unmarked(values) if beside_marks is None else beside_marks).drop_null()
    if not len(values):
        return WORD
    if len(values) > ASKED:
        values = values.take(pa.array(np.arange(ASKED) * (len(values) - 1) // (ASKED - 1)))
    wrong = (
        (kind, np.count_nonzero(misfits_beside_marks(values, kind, decimal))) for kind in kinds
    )
    return next((kind for kind, count in wrong if 2 * count < len(values)), WORD)


def beyond_exact(values: pa.Array) -> bool:
    """Whether strings hold whole numbers that a double rounds."""
    if (pc.max(pc.binary_length(values)).as_py() or 0) < SHORTEST_INEXACT:
        return False  # the usual case, in a tenth of the time
    whole = values.filter(
        pc.fill_null(pc.match_substring_regex(values, rf"^[-+]?\d{{{SHORTEST_INEXACT},}}$"), False)
    )
    return bool(len(whole)) and bool(pc.max(pc.abs(whole.cast(NUMBER))).as_py() >= LARGEST_EXACT)


class Choice(NamedTuple):
    """Which columns are read."""

    target: str | None
    """One that must be there."""
    drop: Collection[str] = ()
    """Those to leave out,"""
    keep: Collection[str] | None = None
    """and, unless all others are wanted, those to take beside the target."""
    types: Mapping[str, str] = {}
    """What some columns are, as the user says: kinds of ``readings.KINDS`` by name."""
    missing: tuple[str, ...] = ()
    """Further texts that stand for nothing."""
    header: bool | None = None
    """Whether CSV begins with the names of its columns; recognised unless given."""
    before: Mapping[str, Earlier] = {}
    """What columns were in an earlier table, by name: they are read as they were there,"""
    others: bool = True
    """and whether all that were not there are read, too."""

    @property
    def expected(self) -> list[str]:
        """Columns of an earlier table, which may be there without any value at first."""
        return [name for name, earlier in self.before.items() if earlier.type is not None]

    def leaves_out(self, name: str) -> bool:
        """Whether a column is not read at all."""
        asked = (
            name in self.drop
            or self.types.get(name) == "skip"
            or (self.keep is not None and name not in self.keep)
        )
        strange = self.before[name].type is None if name in self.before else not self.others
        return name != self.target and (asked or strange)

    def insists(self, name: str) -> bool:
        """Whether a column was asked for by its name, so that it cannot be left out."""
        return (
            name == self.target
            or name in self.types
            or (self.keep is not None and name in self.keep)
        )


def require(where: str, names: Sequence[str], choice: Choice) -> None:
    """Columns have different names, and those that are asked for are among them."""
    places: dict[str, int] = {}
    for place, name in enumerate(names, 1):
        if name in places:
            raise TableError(
                f"{where}: columns {places[name]} and {place} are both called {name!r}. Rename one."
            )
        places[name] = place
    used = sum(not choice.leaves_out(name) for name in places)
    if used > MOST_COLUMNS:
        raise too_many(where, used)
    asked = [
        *choice.drop,
        *(choice.keep or ()),
        *choice.types,
        *([] if choice.target is None else [choice.target]),
    ]
    absent = [name for name in dict.fromkeys(asked) if name not in places]
    if absent:
        known = short_repr(", ".join(names), 160)[1:-1]
        several = "".join(f" Nor a column {name!r}.{nearest(name, names)}" for name in absent[1:4])
        raise TableError(
            f"{where} has no column {short_repr(absent[0])}.{nearest(absent[0], names)}{several} "
            f"There are: {known}."
        )


def too_many(where: str, count: int) -> TableError:
    """The error for a table with more columns than are read."""
    return TableError(
        f"{where} has {count:,} columns to read, and at most {MOST_COLUMNS:,} are read. Choose "
        "some with --features, leave some out with --drop, or put series that stand side by side "
        "below each other and tell them apart with --key."
    )


def rounded(name: str) -> str:
    """A remark."""
    return (
        f"Column {name!r} holds whole numbers beyond 2^53: they are rounded to 16 digits, so "
        "do not rely on it as an id."
    )


def empty(name: str) -> str:
    """A remark."""
    return f"Column {name!r} is empty at the beginning of the table: it joins with its first value."
