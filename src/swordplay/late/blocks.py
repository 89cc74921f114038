"""Rows that were asked together: what is needed when their answers come, in arrays, and what was
kept of each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from swordplay.core.types import Array, Matrix, Vector
from swordplay.estimators.deferred_rows import DeferredRows
from swordplay.late.ticket import Ticket

Lags = tuple[Vector, ...]
"""The last targets of each team of heads, as they were when a row was asked."""
NOTHING: Vector = np.empty(0)
NO_NOTES: Matrix = np.empty((1, 0))


_ticket = partial(tuple.__new__, Ticket)  # several times as fast as the class itself


@final
class Block:
    """Rows that were asked by one call.

    Parameters
    ----------
    ids, said
        What they are known by, and what was said: their tickets; or predictions and both ends of
        their intervals, ``(T, 3)``, where all have them and none was saved since.
    rows
        As they are kept.
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
        The rows as the model saw them, and the version of its columns then; None where a row had a
        name that was new.
    """

    __slots__ = (
        "_places",
        "_tickets",
        "given",
        "ids",
        "lags",
        "left",
        "marks",
        "notes",
        "rows",
        "sides",
        "table",
        "told",
        "voices",
    )

    def __init__(
        self,
        ids: list[str],
        said: list[Ticket] | Matrix,
        rows: Sequence[Any],
        told: int,
        lags: Lags = (),
        voices: Sequence[Array] = (),
        notes: Matrix = NO_NOTES,
        sides: Array | None = None,
        table: tuple[Matrix, Any] | None = None,
    ) -> None:
        self.ids, self.rows, self.told, self.lags = ids, rows, told, lags
        self._tickets: list[Ticket] | None = said if isinstance(said, list) else None
        self.given: Matrix | None = None if isinstance(said, list) else said
        """Predictions and both ends of their intervals, ``(T, 3)``, where they are a table."""
        self.voices, self.notes, self.sides, self.table = tuple(voices), notes, sides, table
        self.left = len(ids)
        """How many of them are pending."""
        self.marks: NDArray[Any] | None = None
        """A number for each, of whoever asked and wants it back."""
        self._places: dict[str, int] | None = None

    @property
    def tickets(self) -> list[Ticket]:
        """What was said of each; made when it is looked at."""
        if self._tickets is None:
            assert self.given is not None
            self._tickets = list(
                map(_ticket, zip(self.ids, *self.given.T.tolist(), repeat(None), strict=False))
            )
        return self._tickets

    def places(self, ids: list[str]) -> list[int]:
        """Where some of them stand."""
        if len(self.ids) == 1:
            return [0]
        if self._places is None:
            self._places = {name: k for k, name in enumerate(self.ids)}
        return list(map(self._places.__getitem__, ids))

    def part(self, places: list[int]) -> Block:
        """Some of the rows, in arrays of their own."""
        small = Block(
            [self.ids[k] for k in places],
            [self.tickets[k] for k in places] if self.given is None else self.given[places],
            [self.rows[k] for k in places],
            self.told,
            self.lags,
            [team[places] for team in self.voices],
            self.notes[places],
            None if self.sides is None else self.sides[places],
            None if self.table is None else (self.table[0][places], self.table[1]),
        )
        small.marks = None if self.marks is None else self.marks[places]
        return small


def joined(blocks: Sequence[Block], rows: Sequence[Any]) -> Block:
    """Blocks that were asked one after the other, with nothing learned in between, as one."""
    first, said = blocks[0], list[Ticket]()
    given = (
        None
        if first.given is None
        else np.concatenate([block.given for block in blocks if block.given is not None])
    )
    if given is None:
        said = [ticket for block in blocks for ticket in block.tickets]
    sides = (
        None
        if first.sides is None
        else np.concatenate([block.sides for block in blocks if block.sides is not None])
    )
    tables = [block.table for block in blocks if block.table is not None]
    return Block(
        [id for block in blocks for id in block.ids],
        said if given is None else given,
        rows,
        first.told,
        first.lags,
        [np.concatenate(team) for team in zip(*(block.voices for block in blocks), strict=True)],
        np.concatenate([block.notes for block in blocks]),
        sides,
        (np.concatenate([table for table, _ in tables]), tables[0][1])
        if len(tables) == len(blocks)
        else None,
    )


class Kept(NamedTuple):
    """What is needed when the answer comes: the place of a row in the block that it was asked
    in.
    """

    block: Block
    place: int

    @property
    def ticket(self) -> Ticket:
        """What was said of it."""
        return self.block.tickets[self.place]

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


class Run(NamedTuple):
    """Tickets that are told one after the other, and were asked together."""

    first: int
    """Of all that are told,"""
    last: int
    """and the one behind the last."""
    block: Block
    places: Any
    """In the block: a slice, or a list."""

    @property
    def ids(self) -> list[str]:
        """Of the tickets."""
        return (
            self.block.ids[self.places]
            if isinstance(self.places, slice)
            else [self.block.ids[k] for k in self.places]
        )


def kept_of(runs: Sequence[Run]) -> Iterator[Kept]:
    """What is kept of each ticket, in their order."""
    for run in runs:
        places = run.places
        for place in range(places.start, places.stop) if isinstance(places, slice) else places:
            yield Kept(run.block, place)


def between(runs: Sequence[Run], first: int, last: int) -> list[Run]:
    """Some of the tickets, from one place to another."""
    found = []
    for run in runs:
        begin, end = max(run.first, first), min(run.last, last)
        if begin >= end:
            continue
        places, skipped = run.places, begin - run.first
        if isinstance(places, slice):
            places = slice(places.start + skipped, places.start + end - run.first)
        else:
            places = places[skipped : end - run.first]
        found.append(Run(begin - first, end - first, run.block, places))
    return found


def lateness(runs: Sequence[Run], told: int) -> Vector:
    """How many answers came between ask and answer, of rows that are told next when so many were
    told before.
    """
    late = np.arange(told, told + runs[-1].last, dtype=np.float64)
    for run in runs:
        late[run.first : run.last] -= run.block.told
    return late


def is_seen(asks: DeferredRows, runs: Sequence[Run]) -> bool:
    """Whether the model sees rows as it did when they were asked."""
    version = asks.version
    return all(run.block.table is not None and run.block.table[1] == version for run in runs)


def table_of(asks: DeferredRows, runs: Sequence[Run]) -> Matrix | None:
    """Rows as the model sees them, where it sees them as it did when they were asked; else None."""
    if not is_seen(asks, runs):
        return None
    # What was seen has a table; mypy does not follow is_seen.
    return _joined([run.block.table[0][run.places] for run in runs])  # type: ignore[index]


def given_of(runs: Sequence[Run]) -> Matrix | None:
    """Predictions and both ends of their intervals, ``(T, 3)``, where all were asked with one
    and none was saved since.
    """
    if any(run.block.given is None for run in runs):
        return None
    # none of them is None, see above
    return _joined([run.block.given[run.places] for run in runs])  # type: ignore[index]


def _joined(parts: list[Matrix]) -> Matrix:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
