"""Which columns tell several series of one table apart, where they stand under one another or
run side by side.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from swordplay.core.state import DAMAGED, ROWS, Field, OneOf, check, read_json
from swordplay.core.types import State
from swordplay.tracking.parts import is_named, is_part

FARTHEST = 1e15
"""Years that are told apart; larger ones would not fit into whole numbers."""
MOST_COLUMNS = 16
"""Columns that may tell series apart: words first, then truths, then whole numbers."""
MOST_STARTS = 256
"""Places where time turns that are remembered."""
SAMPLE_ROWS = 1 << 13
"""First rows by which series side by side are recognised."""
MOST_ABLE = 8
"""Columns whose values come with date after date, of which all combinations are tried;"""
LONGEST_KEY = 3
"""so many columns tell series apart together, at most."""
EXPLAINED = 0.9
"""Share of the turns of time at which a key must change."""
ELSEWHERE = 0.25
"""A column that changes more often elsewhere than this share of its changes at turns of time
does not tell series apart.
"""
SHARED, DIFFERENT, RECURRING = 0.9, 0.95, 0.8
"""Side by side: shares of the dates that come more than once, of their rows that differ in the key,
and of the keys that came
with the date before as well."""
FEWEST_DATES, FEWEST_AGAIN = 5, 30
"""Dates that there must be, and rows that share the date of the row before."""
FOUND = OneOf((None, ([str], Field(0.0, SAMPLE_ROWS, whole=True), [str])))
"""What is saved of series side by side."""


class Together(NamedTuple):
    """Series that run side by side."""

    key: tuple[str, ...]
    """Columns that tell them apart."""
    size: int
    """Rows of a date, as the median has it."""
    parts: tuple[str, ...] = ()
    """Columns that divide the date further, such as the quarter of a year."""


@final
class Series:
    """Watches columns that might tell series apart.

    Parameters
    ----------
    names
        Of these columns, likelier ones first.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.changes: NDArray[np.int64] = np.zeros((3, len(self.names)), np.int64)
        """How often each column changed where time stood still (0), went up (1) and went down
        (-1).
        """
        self.turns = {way: np.empty((0, len(self.names)), np.int64) for way in (1, -1)}
        """Marks of the very first row, and of the first ones to which time went up and down."""
        self.sample: NDArray[np.int64] = np.empty((0, 1 + len(self.names)), np.int64)
        """Dates and marks of the first rows, until there are enough of them;"""
        self.sealed = False
        self.found: Together | None = None
        """then, what was found by them."""
        self.last: NDArray[np.int64] | None = None

    def add(self, batch: Any, times: NDArray[Any], ways: NDArray[np.int8]) -> None:
        """Look at further rows.

        ``ways`` says which way time goes to each of them (see ``Steps.add``).
        """
        columns = [batch.column(name) for name in self.names]
        first, last = (self._marks(columns, np.array([row])) for row in (0, len(batch) - 1))
        places = {way: np.flatnonzero(ways == way) for way in (0, -1)}
        for k, column in enumerate(columns):
            changed = np.empty(len(batch), bool)
            changed[0] = self.last is not None and bool(first[0, k] != self.last[0, k])
            changed[1:] = _differs(column)
            counts = {way: np.count_nonzero(changed[rows]) for way, rows in places.items()}
            self.changes[:, k] += [
                counts[0],
                np.count_nonzero(changed) - counts[0] - counts[-1],
                counts[-1],
            ]
        for way, known in self.turns.items():
            if not len(known):
                known = first
            rows = np.flatnonzero(ways == way)[: MOST_STARTS - len(known)]
            self.turns[way] = np.concatenate([known, self._marks(columns, rows)])
        if not self.sealed:
            rows = np.arange(min(len(batch), SAMPLE_ROWS - len(self.sample)))
            # Years are numbers, which may be of any size; beyond this they are no years, and one is
            # like the other.
            dates = (
                times[rows]
                if times.dtype == np.int64
                else np.clip(times[rows], -FARTHEST, FARTHEST).astype(np.int64)
            )
            fresh = np.column_stack([dates, self._marks(columns, rows)])
            self.sample = np.concatenate([self.sample, fresh])
            if len(self.sample) == SAMPLE_ROWS:
                self.found, self.sealed, self.sample = self.together(), True, self.sample[:0]
        self.last = last

    def _marks(self, columns: list[Any], rows: NDArray[Any]) -> NDArray[np.int64]:
        """Some rows of the columns as whole numbers that are equal where values are, shape ``(n,
        c)``.
        """
        picked = [_marks(column.take(pa.array(rows, pa.int64()))) for column in columns]
        return np.column_stack(picked) if picked else np.empty((len(rows), 0), np.int64)

    def stacked(self, way: int) -> tuple[str, ...] | None:
        """Columns that change where time turns this way (-1: back to the beginning), and hardly
        anywhere else.

        None where there are no such columns.
        """
        at = self.changes[way]
        elsewhere = self.changes.sum(axis=0) - at
        able = [
            k for k in range(len(self.names)) if at[k] > 0 and elsewhere[k] <= ELSEWHERE * at[k]
        ]
        starts = self.turns[way]
        key: list[int] = []
        told = 1
        while able and len(key) < LONGEST_KEY:
            counts = {k: len(np.unique(starts[:, [*key, k]], axis=0)) for k in able if k not in key}
            best = max(counts, key=lambda k: counts[k], default=None)
            if best is None or counts[best] <= told:
                break
            key, told = [*key, best], counts[best]
        if not key or np.any(np.diff(starts[:, key], axis=0) != 0, axis=1).mean() < EXPLAINED:
            return None
        return tuple(self.names[k] for k in sorted(key))

    def together(self) -> Together | None:
        """Series that run side by side in the first rows; None where there are none."""
        if self.sealed:
            return self.found
        if not len(self.sample):
            return None
        times, marks = self.sample[:, 0], self.sample[:, 1:].T
        parts = [k for k, name in enumerate(self.names) if is_part(name, marks[k], times)]
        edges = (
            np.flatnonzero(
                np.diff(self.sample[:, [0, *(k + 1 for k in parts)]], axis=0).any(axis=1)
            )
            + 1
        )
        dates = len(edges)  # the last date may have more rows than there are here
        if dates < FEWEST_DATES or int(edges[-1]) - dates < FEWEST_AGAIN:
            return None
        sizes = np.diff(edges, prepend=0)
        if np.mean(sizes > 1) < SHARED:
            return None
        dated = np.repeat(np.arange(dates), sizes)
        codes = [np.unique(values[: edges[-1]], return_inverse=True)[1] for values in marks]
        others = (k for k, name in enumerate(self.names) if k not in parts and not is_named(name))
        able = [k for k in others if _recurring(codes[k], dated) >= RECURRING][:MOST_ABLE]
        for size in range(1, LONGEST_KEY + 1):
            for key in combinations(able, size):
                both = _joined([codes[k] for k in key])
                if _different(both, dated) >= DIFFERENT and _recurring(both, dated) >= RECURRING:
                    named = (tuple(self.names[k] for k in places) for places in (key, parts))
                    return Together(next(named), int(np.median(sizes)), next(named))
        return None

    def state(self) -> State:
        """All that the next row needs."""
        last = {} if self.last is None else {"last": self.last.copy()}
        turns = {f"turns {way}": marks.copy() for way, marks in self.turns.items()}
        arrays = {"changes": self.changes.copy(), "sample": self.sample.copy()} | turns | last
        return {
            "names": json.dumps(self.names),
            "sealed": self.sealed,
            "found": json.dumps(self.found),
        } | arrays

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        self.names, self.sealed = (
            tuple(read_json("order.series.names", saved["names"], [str])),
            saved["sealed"],
        )
        key, size, parts = read_json("order.series.found", saved["found"], FOUND) or ((), 0, ())
        self.found = Together(tuple(key), size, tuple(parts)) if key else None
        self.changes, self.sample = np.array(saved["changes"]), np.array(saved["sample"])
        self.turns = {way: np.array(saved[f"turns {way}"]) for way in self.turns}
        self.last = np.array(saved["last"]) if "last" in saved else None
        self._require_sane()

    def _require_sane(self) -> None:
        """Refuse what no table leads to: arrays of other shapes or of other numbers, names that
        are none.
        """
        width = len(self.names)
        arrays = {
            "changes": (self.changes, 3, width),
            "sample": (self.sample, SAMPLE_ROWS, 1 + width),
        }
        arrays |= {f"turns {way}": (marks, MOST_STARTS, width) for way, marks in self.turns.items()}
        arrays |= {} if self.last is None else {"last": (self.last, 1, width)}
        for name, (found, most, columns) in arrays.items():
            exact = name in ("changes", "last")
            if (
                found.ndim != 2
                or found.shape[1] != columns
                or len(found) > most
                or (exact and len(found) != most)
            ):
                raise ValueError(f"order.series.{name} has shape {found.shape}. {DAMAGED}")
            if found.dtype != np.int64:
                raise ValueError(
                    f"order.series.{name} holds values of type {found.dtype}. {DAMAGED}"
                )
        check("order.series.changes", self.changes, ROWS)
        key, _, parts = self.found or ((), 0, ())
        if len(set(self.names)) < width or not {*key, *parts} <= set(self.names):
            raise ValueError(f"order.series.names are {self.names!r}. {DAMAGED}")
        if type(self.sealed) is not bool:
            raise ValueError(f"order.series.sealed is {self.sealed!r}. {DAMAGED}")


def candidates(head: Any, without: Sequence[str]) -> list[str]:
    """Columns of the first rows that might tell series apart, but for some."""
    kinds: dict[str, list[str]] = {"string": [], "bool": [], "double": []}
    for name, column in zip(head.schema.names, head.columns, strict=True):
        if (
            name not in without
            and str(column.type) in kinds
            and (column.type != pa.float64() or _whole(column))
        ):
            kinds[str(column.type)].append(name)
    return [name for names in kinds.values() for name in names][:MOST_COLUMNS]


def _whole(numbers: Any) -> bool:
    return bool(pc.all(pc.equal(numbers, pc.round(numbers)), min_count=0).as_py())


def _differs(column: Any) -> Any:
    """Which values differ from those before them, from the second one on.

    Two that are missing do not.
    """
    if column.type == pa.float64() and not column.null_count:
        numbers = column.to_numpy()
        return numbers[1:] != numbers[:-1]
    here, before = column[1:], column[:-1]
    unlike = pc.not_equal(here, before).fill_null(True)
    return pc.and_not(unlike, pc.and_(here.is_null(), before.is_null())).to_numpy(
        zero_copy_only=False
    )


def _marks(column: Any) -> NDArray[np.int64]:
    """Values as whole numbers that are equal where they are."""
    if pa.types.is_string(column.type):
        coded = column.dictionary_encode()
        words = [
            hashlib.blake2b(word.encode(), digest_size=8).digest()
            for word in coded.dictionary.to_pylist()
        ]
        marks = np.frombuffer(b"".join([*words, bytes(8)]), np.int64)
        return np.asarray(marks[coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)])
    numbers = (
        column.cast(pa.int8()).cast(pa.float64()) if pa.types.is_boolean(column.type) else column
    )
    return np.asarray(numbers.fill_null(np.nan).to_numpy(zero_copy_only=False)).view(np.int64)


def _joined(codes: Sequence[NDArray[np.intp]]) -> NDArray[np.intp]:
    """One code for the codes of several columns."""
    whole = codes[0]
    for one in codes[1:]:
        whole = np.unique(whole * (int(one.max()) + 1) + one, return_inverse=True)[1]
    return whole


def _different(codes: NDArray[np.intp], date: NDArray[np.intp]) -> float:
    """Different values of each date, as a share of the rows."""
    return len(np.unique(date * (int(codes.max()) + 1) + codes)) / len(date)


def _recurring(codes: NDArray[np.intp], date: NDArray[np.intp]) -> float:
    """Share of the rows whose values came with the date before as well."""
    width = int(codes.max()) + 1
    pairs = date * width + codes
    return float(np.isin(pairs[date > 0] - width, pairs).mean())
