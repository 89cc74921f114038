"""Rows that were asked together: what is needed when their answers come, in arrays, and what was kept of each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import repeat
from operator import itemgetter
from typing import Any, NamedTuple, final

import numpy as np

from swordplay.base.types import Array, Matrix, Vector
from swordplay.estimators.asked import Askable
from swordplay.late.ticket import Ticket

Lags = tuple[Vector, ...]
"""The last targets of each team of heads, as they were when a row was asked."""
NOTHING: Vector = np.empty(0)
NO_NOTES: Matrix = np.empty((1, 0))


@final
class Block:
    """Rows that were asked by one call.

    Parameters
    ----------
    tickets, rows
        What they are known by, and the rows as they are kept.
    told
        How many answers had been told then.
    lags
        The last targets then.
    voices
        What the decision and every expert said, ``(T, H, 1 + N)`` for each team of heads.
    notes
        What second-order experts have to know of them, ``(T, n)``.
    sides
        What the model and its former self said, ``(T, 2, K)``, where there is one (see ``anchor``).
    table
        The rows as the model saw them, and the version of its columns then; None where a row had a name that was new.
    given
        Predictions and both ends of their intervals, ``(T, 3)``, where all tickets have them; None else, and of saved ones.
    """

    __slots__ = ("given", "lags", "left", "notes", "rows", "sides", "table", "tickets", "told", "voices")

    def __init__(
        self,
        tickets: list[Ticket],
        rows: Sequence[Any],
        told: int,
        lags: Lags = (),
        voices: Sequence[Array] = (),
        notes: Matrix = NO_NOTES,
        sides: Array | None = None,
        table: tuple[Matrix, Any] | None = None,
        given: Matrix | None = None,
    ) -> None:
        self.tickets, self.rows, self.told, self.lags = tickets, rows, told, lags
        self.voices, self.notes, self.sides, self.table, self.given = tuple(voices), notes, sides, table, given
        self.left = len(tickets)
        """How many of them are pending."""

    def part(self, places: list[int]) -> Block:
        """Some of the rows, in arrays of their own."""
        return Block(
            [self.tickets[k] for k in places],
            [self.rows[k] for k in places],
            self.told,
            self.lags,
            [team[places] for team in self.voices],
            self.notes[places],
            None if self.sides is None else self.sides[places],
            None if self.table is None else (self.table[0][places], self.table[1]),
            None if self.given is None else self.given[places],
        )


class Kept(NamedTuple):
    """What is needed when the answer comes: the place of a row in the block that it was asked in."""

    ticket: Ticket
    block: Block
    place: int

    @property
    def row(self) -> Any:
        """As it is kept."""
        return self.block.rows[self.place]

    @property
    def voices(self) -> tuple[Matrix, ...]:
        """What the decision and every expert said, ``(H, 1 + N)`` for each team of heads."""
        return tuple(team[self.place] for team in self.block.voices)

    @property
    def sides(self) -> Matrix | None:
        """What the model and its former self said, ``(2, K)``, where there is one."""
        return None if self.block.sides is None else np.asarray(self.block.sides[self.place])

    @property
    def notes(self) -> Vector:
        """What second-order experts have to know of it."""
        return np.asarray(self.block.notes[self.place])


_kept = partial(tuple.__new__, Kept)  # several times as fast as the class itself
_block, _place = itemgetter(1), itemgetter(2)


def all_kept(block: Block) -> list[Kept]:
    """What is kept of all rows of a block."""
    return list(map(_kept, zip(block.tickets, repeat(block), range(len(block.tickets)), strict=False)))


class Run(NamedTuple):
    """Tickets that are told one after the other, and were asked together."""

    first: int
    """Of all that are told,"""
    last: int
    """and the one behind the last."""
    block: Block
    places: Any
    """In the block: a slice, or a list."""


def runs_of(kept: Sequence[Kept]) -> list[Run]:
    """Tickets in their order, as few runs as there can be."""
    if len(kept) == 1:
        return [Run(0, 1, kept[0].block, slice(kept[0].place, kept[0].place + 1))]
    blocks, every = list(map(_block, kept)), list(map(_place, kept))
    runs, first, together = [], 0, blocks.count(blocks[0]) == len(blocks)
    while first < len(kept):
        block, last = blocks[first], len(kept) if together else first + 1
        while last < len(kept) and blocks[last] is block:
            last += 1
        places = every[first:last]
        begin = places[0]
        ordered = places == list(range(begin, begin + len(places)))
        runs.append(Run(first, last, block, slice(begin, begin + len(places)) if ordered else places))
        first = last
    return runs


def lateness(runs: Sequence[Run], told: int) -> Vector:
    """How many answers came between ask and answer, of rows that are told next when so many were told before."""
    late = np.arange(told, told + runs[-1].last, dtype=np.float64)
    for run in runs:
        late[run.first : run.last] -= run.block.told
    return late


def is_seen(asks: Askable, runs: Sequence[Run]) -> bool:
    """Whether the model sees rows as it did when they were asked."""
    version = asks.version
    return all(run.block.table is not None and run.block.table[1] == version for run in runs)


def table_of(asks: Askable, runs: Sequence[Run]) -> Matrix | None:
    """Rows as the model sees them, where it sees them as it did when they were asked; else None."""
    # What was seen has a table; mypy does not follow is_seen.
    return _joined([run.block.table[0][run.places] for run in runs]) if is_seen(asks, runs) else None  # type: ignore[index]


def given_of(runs: Sequence[Run]) -> Matrix | None:
    """Predictions and both ends of their intervals, ``(T, 3)``, where all were asked with one and none was saved since."""
    if any(run.block.given is None for run in runs):
        return None
    return _joined([run.block.given[run.places] for run in runs])  # type: ignore[index]  # none of them is None, see above


def _joined(parts: list[Matrix]) -> Matrix:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
