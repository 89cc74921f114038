"""Tickets that were answered or dropped, for as long as a request that comes again is recognised."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any, NamedTuple, final

from swordplay.serving import replies
from swordplay.serving.learning import Ticket
from swordplay.serving.recognition import Print, is_print
from swordplay.serving.replies import Reply
from swordplay.serving.sanity import is_end, is_plain, is_share, is_size, require

_endless = replies.ENDLESS.get


class Told(NamedTuple):
    """A ticket that was answered or dropped, for as long as it is remembered."""

    row: Print
    """What its row is recognised by; nothing if the server named it, as then nobody can ask for it again."""
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
        """And back, checked."""
        prediction, lower, upper, probabilities, y, error = saved
        right = type(name) is str and is_print(row) and is_plain(prediction) and is_plain(y) and is_end(lower) and is_end(upper)
        shares = probabilities is None or all(is_plain(label) and is_share(share) for label, share in probabilities)
        require("a ticket that was answered", right and shares and (error is None or is_size(error)), [name, row, *saved])
        return cls(row, Ticket(name, prediction, lower, upper, probabilities and dict(probabilities)), y, error)


made = functools.partial(tuple.__new__, Told)
"""One of what it consists of, as a tuple: several times as fast as the class itself."""


@final
class Memory:
    """Answered tickets of a server, the oldest first."""

    __slots__ = ("_ids", "_places", "_told")

    def __init__(self) -> None:
        self._told: dict[int, dict[str, Told]] = {}
        # In their order, as a dictionary finds its oldest ever more slowly while others are removed.
        self._places: deque[int] = deque()
        self._ids: deque[str] = deque()

    def __len__(self) -> int:
        return len(self._ids)

    def of(self, place: int) -> dict[str, Told]:
        """Those of the series at a place, by their ids: to be looked at."""
        return self._told.setdefault(place, {})

    def items(self) -> Iterator[tuple[int, str, Told]]:
        """Place of the series, id and ticket, the oldest first."""
        return ((place, name, self._told[place][name]) for place, name in zip(self._places, self._ids, strict=True))

    def put(self, place: int, ids: Sequence[str], told: Iterable[Told]) -> None:
        """Remember tickets of one series, none of which is remembered."""
        self.of(place).update(zip(ids, told, strict=True))
        self._places.extend(repeat(place, len(ids)))
        self._ids.extend(ids)

    def forget(self, most: int) -> None:
        """Forget the oldest beyond so many."""
        told, place, name = self._told, self._places.popleft, self._ids.popleft
        for _ in range(len(self) - most):
            del told[place()][name()]
