"""Batches in pieces, so that a run can tell how far it is, stop and save between two batches that are far apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swordplay.data.tables import Batch, Position, Refusal

PIECE = 1 << 13
"""Rows of a piece: learned in much less than a second, and so many that a piece costs nothing by itself."""


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

    def first(self, count: int) -> Piece:
        """The piece up to its row number ``count``, which does not belong to it any more."""
        row = int(self.numbers[count])
        refusals = tuple(one for one in self.refusals if one.row < row)
        return Piece(self.rows.slice(0, count), self.numbers[:count], refusals, row - 1, None)


def pieces(batch: Batch, done: int, last: int | None = None) -> Iterator[Piece]:
    """The pieces of a batch.

    Parameters
    ----------
    batch
        As it was read.
    done
        Rows of the input up to this one were done before, and are passed over.
    last
        The last row of the input that is wanted; all unless given.
    """
    first = int(np.searchsorted(batch.numbers, done, side="right"))
    end = batch.position.row if last is None else min(last, batch.position.row)
    stop = int(np.searchsorted(batch.numbers, end, side="right"))
    edges = [*range(first, stop, PIECE), stop]
    starts, stops = (edges[:-1], edges[1:]) if len(edges) > 1 else ([first], [stop])
    for start, until in zip(starts, stops, strict=True):
        whole = until == stop
        reach = end if whole else int(batch.numbers[until - 1])
        refusals = tuple(one for one in batch.refusals if done < one.row <= reach)
        position = batch.position if whole and end == batch.position.row else None
        yield Piece(batch.rows.slice(start, until - start), batch.numbers[start:until], refusals, reach, position)
        done = reach
