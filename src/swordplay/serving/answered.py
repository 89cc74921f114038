"""Tickets that were answered or dropped, for as long as a request that comes again is
recognised.
"""

from __future__ import annotations

import functools
import math
from collections import deque
from collections.abc import Iterable, Iterator, KeysView, Sequence
from typing import Any, NamedTuple, final

from swordplay.core.arguments import short_repr
from swordplay.core.state import damaged
from swordplay.core.types import Matrix, Vector
from swordplay.serving import replies
from swordplay.serving.learning import Ticket
from swordplay.serving.recognition import Print, Prints, is_print
from swordplay.serving.replies import Reply

PLAIN = (str, bool, int, float, type(None))
"""Types of predictions and targets."""
_endless = replies.ENDLESS.get


class Told(NamedTuple):
    """A ticket that was answered or dropped, for as long as it is remembered."""

    row: Print
    """What its row is recognised by.

    Nothing if the server named it, as then nobody can ask for it again.
    """
    ticket: Ticket
    y: Any
    """What was told; None if it was dropped."""
    error: float | None = 0.0
    """None where nothing was predicted."""

    def reply(self) -> Reply:
        """The answer when it was told or dropped."""
        if self.y is None:
            return replies.Dropped(self.ticket.id)
        return replies.Told(self.ticket.id, self.ticket.prediction, self.y, self.error)

    def saved(self) -> tuple[Any, ...]:
        """For a file, as ``replies.saved`` takes it."""
        row, (_, prediction, lower, upper, chances), y, error = self
        ends = _endless(lower, lower), _endless(upper, upper)
        return (row, prediction, *ends, chances and list(chances.items()), y, error)

    @classmethod
    def of_saved(cls, name: str, row: Print, *saved: Any) -> Told:
        """Check and make a ticket that was saved.

        Raises
        ------
        ValueError
            If it holds other values than a ticket does.
        """
        prediction, lower, upper, probabilities, y, error = saved
        is_right = (
            type(name) is str
            and is_print(row)
            and _is_plain(prediction)
            and _is_plain(y)
            and _is_end(lower)
            and _is_end(upper)
            and (error is None or _is_error(error))
        )
        if not is_right or not all(
            _is_plain(label) and (share is None or (_is_error(share) and share <= 1))
            for label, share in probabilities or ()
        ):
            raise damaged(f"an answered ticket cannot be {short_repr([name, row, *saved])}")
        return cls(
            row,
            Ticket(name, prediction, lower, upper, probabilities and dict(probabilities)),
            y,
            error,
        )


# Functions and no shape of core.state.read_json, as a server may remember a million tickets.
def _is_plain(value: Any) -> bool:
    """Whether a value is a prediction or a target: a string, a finite number, a boolean or None."""
    return type(value) in PLAIN and not (type(value) is float and not math.isfinite(value))


def _is_error(value: Any) -> bool:
    """Whether a value is a finite number, 0 or above."""
    return type(value) in (int, float) and math.isfinite(value) and value >= 0


def _is_end(value: Any) -> bool:
    """Whether a value is an end of an interval, which may be infinite, or None."""
    return value is None or (type(value) in (int, float) and value == value)


made = functools.partial(tuple.__new__, Told)
"""One of what it consists of, as a tuple: several times as fast as the class itself."""


@final
class ToldTable:
    """Tickets of numbers that were answered together, as columns; one is made when it is looked at.

    Parameters
    ----------
    ids
        Of the tickets.
    rows
        What their rows are recognised by.
    given
        Predictions and both ends of their intervals, shape ``(T, 3)``.
    ys, errors
        What was told, and how far off the predictions were.
    """

    __slots__ = ("_places", "errors", "given", "ids", "rows", "ys")

    def __init__(
        self, ids: list[str], rows: Prints | list[Print], given: Matrix, ys: Vector, errors: Vector
    ) -> None:
        self.ids, self.rows, self.given, self.ys, self.errors = ids, rows, given, ys, errors
        self._places: dict[str, int] | None = (
            None  # where ids stand: a whole batch that comes again is looked at one by one
        )

    def __getitem__(self, name: str) -> Told:
        """The ticket of an id."""
        if self._places is None:
            self._places = {one: k for k, one in enumerate(self.ids)}
        return self.at(self._places[name])

    def at(self, place: int) -> Told:
        """The one at a place."""
        ticket = Ticket(self.ids[place], *self.given[place].tolist())
        row = self.rows[place]
        return Told(
            row if isinstance(row, str) else int(row),
            ticket,
            float(self.ys[place]),
            float(self.errors[place]),
        )


@final
class Memory:
    """Answered tickets of a server, the oldest first."""

    __slots__ = ("_count", "_first", "_order", "_told")

    def __init__(self) -> None:
        self._told: dict[int, dict[str, Told | ToldTable]] = {}
        # In their order, as a dictionary finds its oldest ever more slowly while others are
        # removed.
        self._order: deque[tuple[int, Sequence[str]]] = deque()
        self._first = self._count = (
            0  # of the oldest entry so many are forgotten; all in all so many are not
        )

    def __len__(self) -> int:
        return self._count

    def names(self, place: int) -> KeysView[str]:
        """Ids of those of the series at a place: a view that stays."""
        return self._told.setdefault(place, {}).keys()

    def get(self, place: int, name: str) -> Told | None:
        """One of them."""
        found = self._told[place].get(name)
        return found[name] if isinstance(found, ToldTable) else found

    def items(self) -> Iterator[tuple[int, str, Told]]:
        """Place of the series, id and ticket, the oldest first."""
        first = self._first
        for place, ids in self._order:
            found = self._told[place]
            for k in range(first, len(ids)):
                told = found[ids[k]]
                yield place, ids[k], told.at(k) if isinstance(told, ToldTable) else told
            first = 0

    def put(self, place: int, ids: Sequence[str], told: Iterable[Told]) -> None:
        """Remember tickets of one series, none of which is remembered."""
        self._told.setdefault(place, {}).update(zip(ids, told, strict=True))
        self._put(place, ids)

    def put_table(self, place: int, told: ToldTable) -> None:
        """The same for many at once."""
        self._told.setdefault(place, {}).update(dict.fromkeys(told.ids, told))
        self._put(place, told.ids)

    def _put(self, place: int, ids: Sequence[str]) -> None:
        self._order.append((place, ids))
        self._count += len(ids)

    def forget(self, most: int) -> None:
        """Forget the oldest beyond so many."""
        while self._count > most:
            place, ids = self._order[0]
            last = min(len(ids), self._first + self._count - most)
            told = self._told[place]
            for name in ids[self._first : last]:
                del told[name]
            self._count -= last - self._first
            self._first = last
            if last == len(ids):
                self._order.popleft()
                self._first = 0
