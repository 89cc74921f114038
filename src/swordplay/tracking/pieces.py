"""Batches in pieces, so that a run can tell how far it is, stop and save between two batches
that are far apart.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swordplay.tables import Batch, Position, Refusal, TableError
from swordplay.tables.table import not_resumable
from swordplay.tracking.bulk import BATCH_ROWS, BulkTracker
from swordplay.tracking.first_rows import concat_batches
from swordplay.tracking.trackers import AnyTracker

PIECE = 1 << 13
"""Rows of a piece: learned in much less than a second, and so many that a piece costs nothing by
itself.
"""
FIRST_PIECE = 1 << 9
"""Rows of the first piece of a run.

It is judged before the next one is learned, as it has kernels compiled; all others are judged
meanwhile. And rows whose number is a power of two, where stretches of the course are merged
(``stretches``), then lie within a piece: nobody has to look at the learner for both of two
neighbours."""


class Piece(NamedTuple):
    """Some consecutive rows of a batch."""

    rows: Any
    """A pyarrow record batch."""
    numbers: NDArray[np.int64]
    """Their numbers in the input."""
    refusals: tuple[Refusal, ...]
    """Rows among them that could not be read."""
    last: int
    """The last row of the input that is done with this piece."""
    position: Position | None
    """Where the input stands then; None within a batch, where nobody knows."""
    ahead: Position | None = None
    """Where it will stand at the end of the batch."""
    position_at: Callable[[int], Position] = not_resumable
    """The position after a row of the batch."""

    def first(self, count: int) -> Piece:
        """The piece up to its row number ``count``, which does not belong to it any more."""
        row = int(self.numbers[count])
        refusals = tuple(one for one in self.refusals if one.row < row)
        return Piece(
            self.rows.slice(0, count),
            self.numbers[:count],
            refusals,
            row - 1,
            None,
            self.ahead,
            self.position_at,
        )


def at_once(tracker: AnyTracker, save_every: int | None) -> int:
    """Rows to be gathered before they are learned, 1 for none.

    A run is saved where it was said to be, and not later.
    """
    return min(tracker.at_once, save_every or BATCH_ROWS) if isinstance(tracker, BulkTracker) else 1


def at_most(tracker: AnyTracker, save_every: int | None) -> int:
    """Rows of a piece: those that were gathered are not cut just because the last batch had some
    more.
    """
    return at_once(tracker, save_every) if save_every else 2 * at_once(tracker, None) - 1


def larger(
    batches: Iterable[Batch | None], most: Callable[[], int], *, live: bool
) -> Iterator[Batch | None]:
    """Batches put together until they have so many rows.

    Many keys that learn in bulk are each taken from memory and put back once in a batch: with few
    rows of each in it, that is most of the work.

    Parameters
    ----------
    batches
        As they come; None whenever none has come for a while.
    most
        Asked before every batch.
    live
        Whether they come from a pipe: then those that are there do not wait for others.
    """
    waiting: list[Batch] = []
    try:
        for batch in batches:
            if batch is not None:
                waiting.append(batch)
            if waiting and (
                (batch is None and live) or sum(len(one.rows) for one in waiting) >= most()
            ):
                yield _joined(waiting)
                waiting = []
            if batch is None:
                yield None
    except TableError:
        if waiting:
            yield _joined(waiting)
        raise
    if waiting:
        yield _joined(waiting)


def _joined(batches: list[Batch]) -> Batch:
    if len(batches) == 1:
        return batches[0]
    rows, numbers = (
        concat_batches([one.rows for one in batches]),
        np.concatenate([one.numbers for one in batches]),
    )
    refusals = tuple(refusal for one in batches for refusal in one.refusals)
    return Batch(
        rows, numbers, batches[-1].position, refusals, functools.partial(_position_at, batches)
    )


def _position_at(batches: list[Batch], row: int) -> Position:
    """The position after a row of several batches, by its number."""
    batch = next(one for one in batches if row <= one.position.row)
    return batch.position if row == batch.position.row else batch.position_at(row)


def pieces(
    batch: Batch, done: int, last: int | None = None, size: int = 1, *, first_of_all: bool = False
) -> Iterator[Piece]:
    """The pieces of a batch.

    Parameters
    ----------
    batch
        As it was read.
    done
        Rows of the input up to this one were done before, and are passed over.
    last
        The last row of the input that is wanted; all unless given.
    size
        Rows that are to be learned together; a piece has as many, or as usual where there are none.
    first_of_all
        Whether the run begins with this batch: its first piece is shorter, unless rows are to be
        learned together.
    """
    first = int(np.searchsorted(batch.numbers, done, side="right"))
    end = batch.position.row if last is None else min(last, batch.position.row)
    stop = int(np.searchsorted(batch.numbers, end, side="right"))
    begin = first + (FIRST_PIECE if first_of_all and size == 1 else 0)
    edges = sorted({first, *range(begin, stop, size if size > 1 else PIECE), stop})
    starts, stops = (edges[:-1], edges[1:]) if len(edges) > 1 else ([first], [stop])
    for start, until in zip(starts, stops, strict=True):
        whole = until == stop
        reach = end if whole else int(batch.numbers[until - 1])
        refusals = tuple(one for one in batch.refusals if done < one.row <= reach)
        position = batch.position if whole and end == batch.position.row else None
        rows, numbers = batch.rows.slice(start, until - start), batch.numbers[start:until]
        yield Piece(rows, numbers, refusals, reach, position, batch.position, batch.position_at)
        done = reach
