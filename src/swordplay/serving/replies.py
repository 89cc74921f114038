"""Answers as JSON: a ticket, and what became of it.

What is infinite is null: ends of the first intervals, which hold everything.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import msgspec

from swordplay.late import Ticket
from swordplay.late.tickets import TicketBlock


class Asked(msgspec.Struct, gc=False):
    """The prediction of a number, and its interval."""

    id: str
    prediction: Any
    lower: float | None
    upper: float | None


class AskedLabel(msgspec.Struct, gc=False):
    """The prediction of a class, and how probable each of them is."""

    id: str
    prediction: Any
    probabilities: dict[str, float]


class Told(msgspec.Struct, gc=False):
    """What was predicted, and how far off it was; null where nothing was."""

    id: str
    prediction: Any
    y: Any
    error: float | None


class Dropped(msgspec.Struct, gc=False):
    """A ticket that is gone."""

    id: str
    dropped: bool = True


Reply = Asked | AskedLabel | Told | Dropped
ENDLESS: dict[Any, Any] = {math.inf: msgspec.Raw(b"1e999"), -math.inf: msgspec.Raw(b"-1e999")}
"""What is infinite, as JSON can say it: too large for any number."""
_encode = msgspec.json.Encoder().encode
_value = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def ticket(found: Ticket) -> Reply:
    """A prediction, and how sure it is: an interval, or a probability for each class."""
    name, said, lower, upper, chances = found
    if chances is None:
        return Asked(name, said, lower, upper)
    return AskedLabel(name, said, {_name(label): share for label, share in chances.items()})


def said(block: TicketBlock) -> list[Reply]:
    """The same of rows that were asked together."""
    if not block.has_intervals:
        return list(map(ticket, block.tickets()))
    return list(map(Asked, block.ids, *block.predictions.T.tolist()))


def listed(parts: Sequence[Reply | None], many: bool) -> bytes:
    """The answers of a request, in the order of its rows."""
    return _encode(parts if many else parts[0])


def saved(rows: Sequence[Sequence[Any]]) -> bytes:
    """Values for a file, which Python's own reader reads as they were.

    What is infinite is there as :data:`ENDLESS` has it.
    """
    return _encode(rows)


def body(value: Any) -> bytes:
    """Anything else."""
    return _value(value).encode("ascii")


def _name(label: Any) -> str:
    """A label as a name of JSON: texts as they are, truth values and numbers as JSON writes
    them.
    """
    return label if isinstance(label, str) else _value(label)
