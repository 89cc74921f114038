"""How dates go from row to row within each of many keys: ``Steps`` of all of them, in arrays."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from swordplay.core.state import ROWS, add_prefix, check, strip_prefix
from swordplay.core.types import State
from swordplay.keyed.growing import Growing
from swordplay.tables.encoder_sanity import refuse
from swordplay.tracking.order import Remark, told
from swordplay.tracking.order import times as times_of
from swordplay.tracking.steps import ANY, POSITIVE, Moves

COUNTED = ("rows", "ups", "downs", "copies")
LENGTHS = ("risen", "fallen", "highest")
MIX = np.uint64(0x9E3779B97F4A7C15)
"""An odd number with bits all over: multiplied by it, numbers that differ anywhere differ in
their upper half.
"""


@final
class BulkSteps:
    """Follows one column of dates through the rows of many keys."""

    def __init__(self) -> None:
        self.counts = Growing(np.empty((0, len(COUNTED)), dtype=np.int64))
        self.lengths = Growing(np.empty((0, len(LENGTHS))))
        self.last = Growing(np.empty(0, dtype=np.int64))
        """The last date of each key; numbers that are no dates are kept by their bits."""
        self.span = Growing(np.empty((0, 2)))
        self.marks = Growing(np.empty(0, dtype=np.uint64))
        """Of the last row of each key."""

    def join(self, count: int) -> None:
        """Let so many keys join."""
        for each in (self.counts, self.lengths, self.last, self.marks):
            each.join_alike(count, 0)
        self.span.join_alike(count, [np.inf, -np.inf])

    def add(self, numbers: Any, times: Any, marks: Any) -> None:
        """Follow further dates.

        Parameters
        ----------
        numbers
            Of each row's key, rows of one key together and in their order.
        times, marks
            Dates as whole numbers or doubles, and what tells rows apart; None for marks that are
            not looked at.
        """
        starts = np.concatenate([[True], np.diff(numbers) != 0])
        first, ends = (
            np.flatnonzero(starts),
            np.concatenate([np.flatnonzero(starts)[1:], [len(numbers)]]) - 1,
        )
        who, counts, lengths = numbers[first], self.counts.all, self.lengths.all
        before = np.concatenate([times[:1], times[:-1]])
        known = counts[who, 0] > 0
        before[first] = np.where(known, self.last.all[who].view(times.dtype), times[first])
        up, down = times > before, times < before
        far = times.astype(np.float64) - before.astype(np.float64)
        if marks is not None:
            former = np.concatenate([marks[:1], marks[:-1]])
            former[first] = self.marks.all[who]
            there = ~starts
            there[first] = known
            np.add.at(counts, (numbers, 3), there & ~up & ~down & (marks == former))
            self.marks.all[who] = marks[ends]
        # One by one: where a batch ends must not show.
        for column, steps in ((0, np.ones(len(numbers), dtype=np.int64)), (1, up), (2, down)):
            np.add.at(counts, (numbers, column), steps)
        np.add.at(lengths, (numbers[up], 0), far[up])
        np.add.at(lengths, (numbers[down], 1), -far[down])
        np.maximum.at(lengths, (numbers[up], 2), far[up])
        np.minimum.at(self.span.all, (numbers, 0), times.astype(np.float64))
        np.maximum.at(self.span.all, (numbers, 1), times.astype(np.float64))
        self.last.all[who] = times[ends].view(np.int64)

    def moves(self) -> Moves:
        """The steps of all keys together (see ``steps.moves``)."""
        low, high = self.span.all.T
        wide = np.where(high > low, high - low, np.inf)
        rows, ups, downs, copies = (int(total) for total in self.counts.all.sum(axis=0))
        risen, fallen, highest = self.lengths.all.T / wide
        return Moves(
            rows=rows,
            ups=ups,
            downs=downs,
            depth=math.fsum(fallen) / max(downs, 1),
            height=math.fsum(risen) / max(ups, 1),
            leap=math.fsum(highest * self.counts.all[:, 2]) / max(downs, 1),
            copies=copies,
        )

    def state(self) -> State:
        """All that the next row needs."""
        return {name: each.all.copy() for name, each in self._parts().items()}

    def load_state(self, saved: Mapping[str, Any], count: int) -> None:
        """Go on from a saved state of so many keys.

        Raises
        ------
        ValueError
            If it is not one that such a run leads to.
        """
        ranges = {"counts": ROWS, "lengths": POSITIVE, "span": ANY}
        for name, each in self._parts().items():
            values = np.asarray(saved[name])
            if values.shape != (count, *each.all.shape[1:]) or values.dtype != each.all.dtype:
                raise refuse(
                    f"the {name} of dates have shape {values.shape} and type {values.dtype}"
                )
            if name in ranges:
                check(f"order.{name}", values, ranges[name])
            each.join(values)

    def _parts(self) -> dict[str, Growing]:
        return {
            "counts": self.counts,
            "lengths": self.lengths,
            "last": self.last,
            "span": self.span,
            "marks": self.marks,
        }


@final
class BulkClocks:
    """The columns of dates of a table of many keys.

    Parameters
    ----------
    names
        Of the columns, the one that dates the rows first.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.steps = {name: BulkSteps() for name in names}

    def join(self, count: int) -> None:
        """Let so many keys join."""
        for steps in self.steps.values():
            steps.join(count)

    def add(self, batch: Any, numbers: Any, by_key: Any, without: Sequence[str]) -> None:
        """Look at further rows.

        Parameters
        ----------
        batch
            A pyarrow record batch.
        numbers, by_key
            The number of each row's key, and the rows key by key.
        without
            Columns that are the same in all rows of a key.
        """
        for k, (name, steps) in enumerate(self.steps.items()):
            column = batch.column(name)
            marks = marked(batch, without) if k == 0 else None
            turn = by_key
            if column.null_count:
                turn = by_key[column.is_valid().to_numpy(zero_copy_only=False)[by_key]]
            if len(turn):
                times = times_of(column.take(pa.array(turn)))
                steps.add(numbers[turn], times, None if marks is None else marks[turn])

    def remarks(self) -> tuple[Remark, ...]:
        """What the order of the rows within the keys calls for."""
        if not self.steps:
            return ()
        every = [steps.moves() for steps in self.steps.values()]
        ordered = any(one.in_order for one in every[1:])
        return told(next(iter(self.steps)), every[0], None, ordered=ordered, within=" within a key")

    def state(self) -> State:
        """All that the next row needs."""
        parts: State = {}
        for k, steps in enumerate(self.steps.values()):
            parts |= add_prefix(str(k), steps.state())
        return parts

    def load_state(self, saved: Mapping[str, Any], count: int) -> None:
        """Go on from a saved state of so many keys."""
        for k, steps in enumerate(self.steps.values()):
            steps.load_state(strip_prefix(str(k), saved), count)


def marked(batch: Any, without: Sequence[str]) -> Any:
    """A number for each row that is the same for rows that are alike in all columns, and hardly
    ever for others.
    """
    marks = np.zeros(len(batch), dtype=np.uint64)
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if name not in without:
            marks = (marks ^ _bits(column)) * MIX
            marks ^= marks >> np.uint64(32)
    return marks


def _bits(column: Any) -> Any:
    """A column as whole numbers; what is missing has one of its own."""
    kind = column.type
    if pa.types.is_null(kind):
        return np.zeros(len(column), dtype=np.uint64)
    if pa.types.is_string(kind):
        coded = column.dictionary_encode()
        words = [
            int.from_bytes(hashlib.blake2b(one.encode(), digest_size=8).digest(), "little")
            for one in coded.dictionary.to_pylist()
        ]
        places = coded.indices.fill_null(len(words)).to_numpy(zero_copy_only=False)
        return np.array([*words, 0], dtype=np.uint64)[places]
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif not pa.types.is_floating(kind) and not pa.types.is_integer(kind):
        column = column.cast(pa.int64())
    values = pc.fill_null(column, 0).to_numpy(zero_copy_only=False)
    bits = (values + 0.0 if values.dtype.kind == "f" else values.astype(np.int64)).view(
        np.uint64
    )  # no negative 0
    return bits ^ (column.is_null().to_numpy(zero_copy_only=False).astype(np.uint64) * MIX)
