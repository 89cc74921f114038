"""Recently answered tickets and hashes of rows, by which repeated requests are recognised."""

from __future__ import annotations

import functools
import hashlib
import json
import marshal
import math
from collections import deque
from collections.abc import Iterator, KeysView, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, final

import msgspec
import numpy as np
from numpy.typing import NDArray

from swordplay.core.arguments import short_repr
from swordplay.core.state import damaged
from swordplay.estimators.dict_columns import NumericRows
from swordplay.late import Ticket
from swordplay.serving.messages import (
    DroppedTicket,
    LearnedAnswer,
    RowResponse,
    prediction_of,
)

# ---------------------------------------------------------------------- hashes of rows

RowHash = str | int
"""A string for a row that was parsed as a dictionary, an integer for a row of a table."""
RowHashes = NDArray[np.uint64]
FACTOR = np.uint64(0x9E3779B97F4A7C15)
"""2^64 over the golden ratio: odd, and its bits look random."""
HALF = np.uint64(32)
NUMBER_TYPES = frozenset({int, float})


def hash_row(row: dict[str, Any]) -> str:
    """Hash a row: equal for rows that are written the same way."""
    return hashlib.blake2b(marshal.dumps(row, 2), digest_size=8).hexdigest()


def hash_table(rows: NumericRows) -> RowHashes:
    """Hash each row of a table; the order of the columns does not matter."""
    order = sorted(range(len(rows.names)), key=rows.names.__getitem__)
    sorted_names = "\0".join(rows.names[k] for k in order)
    names = hashlib.blake2b(sorted_names.encode("utf-8"), digest_size=8).digest()
    hashes = np.full(len(rows), int.from_bytes(names, "little"), dtype=np.uint64)
    for column in np.ascontiguousarray(rows.values[:, order].T).view(np.uint64):
        hashes ^= column
        hashes *= FACTOR  # modulo 2^64
        hashes ^= hashes >> HALF
    return hashes


def has_hash(row: dict[str, Any], known: RowHash) -> bool:
    """Whether a row has this hash."""
    if type(known) is str:
        return known == hash_row(row)
    if not row or not NUMBER_TYPES.issuperset(map(type, row.values())):
        return False
    try:
        values = np.array([list(map(float, row.values()))])
    except OverflowError:
        return False
    return known == int(hash_table(NumericRows(list(row), values))[0])


# ---------------------------------------------------------------------- answered tickets

PLAIN_TYPES = (str, bool, int, float, type(None))
"""Types of predictions and targets."""
TICKETS_PER_WRITE = 1_000
"""Tickets that are encoded at a time: all of them at once would need several times their memory."""
INFINITE: dict[Any, Any] = {math.inf: msgspec.Raw(b"1e999"), -math.inf: msgspec.Raw(b"-1e999")}
"""Infinite numbers in JSON: numbers that are too large, which Python reads as infinite."""
_encode = msgspec.json.Encoder().encode
_infinite = INFINITE.get


class RecentTicket(NamedTuple):
    """A ticket that was answered or dropped."""

    id: str
    prediction: Any
    lower: float | None
    upper: float | None
    probabilities: Mapping[Any, float] | None
    y: Any
    """The answer; None if the ticket was dropped."""
    error: float | None
    """Distance of the prediction from the answer; None if there was no prediction."""
    row_hash: RowHash
    """Empty if the server made the id, as no client can ask for it again."""

    def first_response(self) -> RowResponse:
        """Return the response to the row when it was asked."""
        return prediction_of(Ticket(*self[:5]))

    def final_response(self) -> RowResponse:
        """Return the response to the answer, or to the drop."""
        if self.y is None:
            return DroppedTicket(self.id)
        return LearnedAnswer(self.id, self.prediction, self.y, self.error)

    def to_json(self) -> tuple[Any, ...]:
        """Return the values of the ticket as they are saved."""
        name, prediction, lower, upper, probabilities, y, error, row_hash = self
        ends = _infinite(lower, lower), _infinite(upper, upper)
        return name, prediction, *ends, _pairs(probabilities), y, error, row_hash

    @classmethod
    def from_json(cls, *saved: Any) -> RecentTicket:
        """Check the values of a saved ticket, and make it.

        Raises
        ------
        ValueError
            If a ticket cannot have these values.
        """
        name, prediction, lower, upper, probabilities, y, error, row_hash = saved
        is_valid = (
            type(name) is str
            and is_row_hash(row_hash)
            and _is_plain(prediction)
            and _is_plain(y)
            and _is_end(lower)
            and _is_end(upper)
            and (error is None or _is_error(error))
            and all(
                _is_plain(label) and (share is None or (_is_error(share) and share <= 1))
                for label, share in probabilities or ()
            )
        )
        if not is_valid:
            raise damaged(f"an answered ticket cannot be {short_repr([*saved])}")
        shares = None if probabilities is None else dict(probabilities)
        return cls(name, prediction, lower, upper, shares, y, error, row_hash)


new_recent_ticket = functools.partial(tuple.__new__, RecentTicket)
"""Makes a ticket from a tuple of its fields, several times faster than the class itself."""


def _pairs(probabilities: Mapping[Any, float] | None) -> list[tuple[Any, float]] | None:
    return None if probabilities is None else list(probabilities.items())


# Functions and not a shape for core.state.read_json: a server may have a million tickets.
def is_row_hash(value: Any) -> bool:
    """Whether a value can be the hash of a row."""
    return type(value) is str or (type(value) is int and 0 <= value < 2**64)


def _is_plain(value: Any) -> bool:
    """Whether a value is a prediction or a target: a string, a finite number, a boolean or None."""
    return type(value) in PLAIN_TYPES and not (type(value) is float and not math.isfinite(value))


def _is_error(value: Any) -> bool:
    """Whether a value is a finite number, 0 or above."""
    return type(value) in (int, float) and math.isfinite(value) and value >= 0


def _is_end(value: Any) -> bool:
    """Whether a value is an end of an interval, which may be infinite, or None."""
    return value is None or (type(value) in (int, float) and value == value)


@final
class RecentTickets:
    """The newest answered tickets of all series of a server."""

    __slots__ = ("_count", "_first", "_order", "_tickets")

    def __init__(self) -> None:
        self._tickets: dict[int, dict[str, RecentTicket]] = {}  # by number of the series, and id
        # Numbers of series and ids in the order in which they were added. The dictionaries cannot
        # serve as queues: finding their oldest entry gets slower while others are removed.
        self._order: deque[tuple[int, Sequence[str]]] = deque()
        self._first = 0  # tickets of the oldest entry of the queue that are removed
        self._count = 0  # tickets in total

    def __len__(self) -> int:
        return self._count

    def ids(self, series: int) -> KeysView[str]:
        """Return the ids of the tickets of a series, as a view that stays up to date."""
        return self._tickets.setdefault(series, {}).keys()

    def get(self, series: int, name: str) -> RecentTicket | None:
        """Return a ticket of a series; None if there is none of this id."""
        return self._tickets[series].get(name)

    def items(self) -> Iterator[tuple[int, RecentTicket]]:
        """Yield the number of the series and the ticket of each, the oldest first."""
        first = self._first
        for series, names in self._order:
            tickets = self._tickets[series]
            for name in islice(names, first, None):
                yield series, tickets[name]
            first = 0

    def add(self, series: int, names: Sequence[str], tickets: Sequence[RecentTicket]) -> None:
        """Add tickets of one series, with their ids; none of them is there yet."""
        self._tickets.setdefault(series, {}).update(zip(names, tickets, strict=True))
        self._order.append((series, names))
        self._count += len(names)

    def remove_oldest(self, limit: int) -> None:
        """Remove the oldest tickets, until there are no more than the limit."""
        while self._count > limit:
            series, names = self._order[0]
            last = min(len(names), self._first + self._count - limit)
            tickets = self._tickets[series]
            for name in names[self._first : last]:
                del tickets[name]
            self._count -= last - self._first
            self._first = last
            if last == len(names):
                self._order.popleft()
                self._first = 0

    def dumps(self) -> bytes:
        """Encode all tickets as JSON."""
        entries, parts = self.items(), list[bytes]()
        while some := [
            (series, *ticket.to_json()) for series, ticket in islice(entries, TICKETS_PER_WRITE)
        ]:
            parts.append(_encode(some)[1:-1])
        return b"[" + b",".join(parts) + b"]"

    @classmethod
    def loads(cls, text: bytes) -> RecentTickets:
        """Decode what :meth:`dumps` returned.

        Raises
        ------
        ValueError
            If a server cannot have these tickets.
        """
        tickets = cls()
        for series, name, *values in json.loads(text):
            if type(series) is not int:
                raise damaged(f"the series of an answered ticket cannot be {short_repr(series)}")
            if name in tickets.ids(series):
                raise damaged(f"an answered ticket occurs twice, {short_repr(name)}")
            tickets.add(series, [name], [RecentTicket.from_json(name, *values)])
        return tickets
