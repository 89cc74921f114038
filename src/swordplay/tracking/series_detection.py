"""Detect the columns that tell the series of one table apart, stacked or side by side.

Stacked series stand under one another: time goes back where the key changes. Series side by side
share their dates: each date has one row for each key.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

LARGEST_YEAR = 1e15
"""Dates that are numbers are clipped at this value: larger ones would not fit into int64."""
MAX_CANDIDATES = 16
"""Columns that are tried as keys: words first, then truths, then whole numbers."""
MAX_TURNS = 256
"""Places where time turns that are compared."""
MAX_RECURRING = 8
"""Columns whose values recur from date to date, of which all combinations are tried."""
LONGEST_KEY = 3
"""Columns of a key at most."""
EXPLAINED = 0.9
"""Share of the turns of time at which a key must change."""
ELSEWHERE = 0.25
"""A column that changes elsewhere more often than this share of its changes at turns of time is no
key.
"""
SHARED, DIFFERENT, RECURRING = 0.9, 0.95, 0.8
"""Series side by side: the shares of the dates that have several rows, of the rows of a date that
differ in the key, and of the keys that the date before has as well.
"""
FEWEST_DATES, FEWEST_SHARED = 5, 30
"""Dates that are needed, and rows that have the date of the row above."""
PART_NAMES = frozenset(
    (
        *("half", "halfyear", "semester", "trimester", "quarter", "qtr", "q", "season"),
        *("month", "mon", "mth", "mnth", "week", "wk", "isoweek"),
        *("day", "doy", "dayofyear", "yearday", "yday", "weekday", "dayofweek", "dow", "wday"),
        *("hour", "hr", "minute", "second", "time", "period", "interval"),
    )
)
"""Names of parts of time: one word of a column's name, or all of its words together."""
LAST_YEAR = 10_000
"""Dates that are numbers below this are years."""
PARTS_OF_YEAR, PARTS_OF_DAY = ((4,), (12,), (52, 53), (365, 366)), ((24,), (48,), (96,))
"""Quarters, months, weeks and days of a year; hours, half and quarter hours of a day.

A column that counts up to such a number within each date divides the date, whatever its name.
"""


class SideBySide(NamedTuple):
    """Series that run side by side."""

    key: tuple[str, ...]
    """Columns that tell them apart."""
    size: int
    """Median number of rows of a date."""
    parts: tuple[str, ...] = ()
    """Columns that divide the date further, such as the quarter of a year."""


def key_candidates(head: Any, without: Sequence[str]) -> list[str]:
    """Return the columns of a pyarrow record batch that may tell series apart.

    Parameters
    ----------
    head
        The first rows of a table.
    without
        Columns that are left out, such as the target.
    """
    kinds: dict[str, list[str]] = {"string": [], "bool": [], "double": []}
    for name, column in zip(head.schema.names, head.columns, strict=True):
        if (
            name not in without
            and str(column.type) in kinds
            and (column.type != pa.float64() or _is_whole(column))
        ):
            kinds[str(column.type)].append(name)
    return [name for names in kinds.values() for name in names][:MAX_CANDIDATES]


def stacked_key(
    rows: Any, names: Sequence[str], ways: NDArray[np.int8], way: int
) -> tuple[str, ...] | None:
    """Return the columns that change where time turns, and hardly anywhere else; None if none do.

    Parameters
    ----------
    rows
        A pyarrow record batch.
    names
        Columns that may tell series apart.
    ways
        Direction of time to each row: 1, 0 or -1.
    way
        Which of these is a turn: -1, back to the beginning, or 1 where the newest rows come first.
    """
    columns = [rows.column(name) for name in names]
    is_turn = ways == way
    at, elsewhere = np.zeros(len(names), np.int64), np.zeros(len(names), np.int64)
    for k, column in enumerate(columns):
        changed = np.concatenate([[False], _changes(column)])
        at[k], elsewhere[k] = (
            np.count_nonzero(changed & is_turn),
            np.count_nonzero(changed & ~is_turn),
        )
    able = [k for k in range(len(names)) if at[k] > 0 and elsewhere[k] <= ELSEWHERE * at[k]]
    turns = np.concatenate([[0], np.flatnonzero(is_turn)])[:MAX_TURNS]
    starts = np.column_stack([_codes_of_values(column.take(pa.array(turns))) for column in columns])
    key: list[int] = []
    distinct = 1  # values of the key at the starts of series
    while able and len(key) < LONGEST_KEY:
        counts = {k: len(np.unique(starts[:, [*key, k]], axis=0)) for k in able if k not in key}
        best = max(counts, key=lambda k: counts[k], default=None)
        if best is None or counts[best] <= distinct:
            break
        key, distinct = [*key, best], counts[best]
    if not key or np.any(np.diff(starts[:, key], axis=0) != 0, axis=1).mean() < EXPLAINED:
        return None
    return tuple(names[k] for k in sorted(key))


def side_by_side(rows: Any, names: Sequence[str], times: NDArray[Any]) -> SideBySide | None:
    """Return the series that run side by side; None if there are none.

    Parameters
    ----------
    rows
        A pyarrow record batch.
    names
        Columns that may tell series apart.
    times
        The dates of the rows as numbers.
    """
    if times.dtype != np.int64:
        times = np.clip(times, -LARGEST_YEAR, LARGEST_YEAR).astype(np.int64)
    values = [_codes_of_values(rows.column(name)) for name in names]
    parts = [k for k, name in enumerate(names) if is_part(name, values[k], times)]
    dated = np.column_stack([times, *(values[k] for k in parts)])
    edges = np.flatnonzero(np.diff(dated, axis=0).any(axis=1)) + 1
    dates = len(edges)  # without the last date, which may have more rows than there are here
    if dates < FEWEST_DATES or int(edges[-1]) - dates < FEWEST_SHARED:
        return None
    sizes = np.diff(edges, prepend=0)
    if np.mean(sizes > 1) < SHARED:
        return None
    date = np.repeat(np.arange(dates), sizes)
    codes = [np.unique(one[: edges[-1]], return_inverse=True)[1] for one in values]
    others = (k for k, name in enumerate(names) if k not in parts and not is_named(name))
    able = [k for k in others if _recurring(codes[k], date) >= RECURRING][:MAX_RECURRING]
    for size in range(1, LONGEST_KEY + 1):
        for key in combinations(able, size):
            joined = _joined([codes[k] for k in key])
            if _different(joined, date) >= DIFFERENT and _recurring(joined, date) >= RECURRING:
                return SideBySide(
                    tuple(names[k] for k in key),
                    int(np.median(sizes)),
                    tuple(names[k] for k in parts),
                )
    return None


def is_named(name: str) -> bool:
    """Whether a column has the name of a part of time.

    >>> [is_named(name) for name in ("Quarter", "month_no", "hourOfDay", "day of year", "store", "country")]
    [True, True, True, True, False, False]
    """  # noqa: E501
    words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())
    return "".join(words) in PART_NAMES or any(word in PART_NAMES for word in words)


def is_part(name: str, marks: NDArray[np.int64], times: NDArray[np.int64]) -> bool:
    """Whether a column divides the dates: its name says so, or it counts within each date.

    Parameters
    ----------
    name
        Of the column.
    marks
        Codes of its values (see ``_codes_of_values``).
    times
        Dates of the rows, those of one date together; years as they are.
    """
    # Compared, not subtracted: a difference of the smallest and the largest date would overflow.
    starts = np.flatnonzero(np.concatenate([[True], times[1:] != times[:-1]]))
    years = bool(times.min() > -LAST_YEAR and times.max() < LAST_YEAR)
    return (is_named(name) and _in_one_order(marks, starts)) or _counts(marks, starts, years)


def _in_one_order(marks: NDArray[np.int64], starts: NDArray[np.intp]) -> bool:
    """Whether the values come in the same order within each date, each of them in one run."""
    sizes = np.diff(starts, append=len(marks))
    longest = int(np.argmax(sizes))
    whole = marks[starts[longest] : starts[longest] + sizes[longest]]
    order = {mark: k for k, mark in enumerate(dict.fromkeys(whole.tolist()))}
    ranks = np.array([order.get(mark, -1) for mark in marks.tolist()])
    falls = np.diff(ranks, prepend=ranks[0]) < 0
    falls[starts] = False
    return len(order) > 1 and not falls.any() and bool((ranks >= 0).all())


def _counts(marks: NDArray[np.int64], starts: NDArray[np.intp], years: bool) -> bool:
    """Whether the values count 1, 2, 3, ... (or from 0) through a part of time within each date.

    The first and the last date may be incomplete.
    """
    numbers = np.ascontiguousarray(marks).view(np.float64)
    # Codes of words are any bits, also those of NaN.
    if not (np.abs(numbers) <= PARTS_OF_YEAR[-1][-1]).all():
        return False
    sizes = np.diff(starts, append=len(marks))[1:-1]
    steps = np.diff(numbers)
    steps = np.delete(steps, starts[1:] - 1)
    inner = numbers[starts[1:]]
    if (
        not len(sizes)
        or not (steps == 1.0).all()
        or not ((inner == inner[0]).all() and inner[0] in (0.0, 1.0))
    ):
        return False
    return any(
        np.isin(sizes, lengths).all() for lengths in (PARTS_OF_YEAR if years else PARTS_OF_DAY)
    )


def _is_whole(numbers: Any) -> bool:
    return bool(pc.all(pc.equal(numbers, pc.round(numbers)), min_count=0).as_py())


def _changes(column: Any) -> Any:
    """Whether each value differs from the one before it, from the second one on.

    Two missing values do not differ.
    """
    if column.type == pa.float64() and not column.null_count:
        numbers = column.to_numpy()
        return numbers[1:] != numbers[:-1]
    here, before = column[1:], column[:-1]
    unlike = pc.not_equal(here, before).fill_null(True)
    return pc.and_not(unlike, pc.and_(here.is_null(), before.is_null())).to_numpy(
        zero_copy_only=False
    )


def _codes_of_values(column: Any) -> NDArray[np.int64]:
    """Return a whole number for each value, equal for equal values: the bits of a double, or a hash
    of a word.
    """
    if pa.types.is_string(column.type):
        coded = column.dictionary_encode()
        words = [
            hashlib.blake2b(word.encode(), digest_size=8).digest()
            for word in coded.dictionary.to_pylist()
        ]
        codes = np.frombuffer(b"".join([*words, bytes(8)]), np.int64)
        return np.asarray(codes[coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)])
    numbers = (
        column.cast(pa.int8()).cast(pa.float64()) if pa.types.is_boolean(column.type) else column
    )
    return np.asarray(numbers.fill_null(np.nan).to_numpy(zero_copy_only=False)).view(np.int64)


def _joined(codes: Sequence[NDArray[np.intp]]) -> NDArray[np.intp]:
    """Return one code for the codes of several columns."""
    whole = codes[0]
    for one in codes[1:]:
        whole = np.unique(whole * (int(one.max()) + 1) + one, return_inverse=True)[1]
    return whole


def _different(codes: NDArray[np.intp], date: NDArray[np.intp]) -> float:
    """Return the number of different values of each date, as a share of the rows."""
    return len(np.unique(date * (int(codes.max()) + 1) + codes)) / len(date)


def _recurring(codes: NDArray[np.intp], date: NDArray[np.intp]) -> float:
    """Return the share of the rows whose value the date before has as well."""
    width = int(codes.max()) + 1
    pairs = date * width + codes
    return float(np.isin(pairs[date > 0] - width, pairs).mean())
