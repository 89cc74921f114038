"""A prediction that waits for its answer, and what can be wrong about it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from swordplay.core.arguments import short_repr

LONGEST_ID = 200
"""Characters of an id."""
SMALLEST_PROBABILITY = 1e-15
"""Log losses stay finite."""


class TicketError(ValueError):
    """A ticket that cannot be asked, told or dropped; nothing has changed."""


class UnknownTicket(TicketError):
    """No such ticket is pending: it was told or dropped already, or never asked."""

    def __init__(self, id: str) -> None:
        super().__init__(
            f"no ticket {short_repr(id)} is pending: it was told or dropped already, or never "
            "asked. Ask first; pending lists all."
        )


class TicketPending(TicketError):
    """A ticket of this id is pending already."""

    def __init__(self, id: str) -> None:
        super().__init__(
            f"a ticket {short_repr(id)} is pending already. Tell or drop it first, or ask under "
            "another id."
        )


class TooManyPending(TicketError):
    """More tickets would be pending than there may be."""

    def __init__(self, most: int) -> None:
        super().__init__(
            f"{most:,} tickets are pending, and there may be no more (max_pending). Tell or drop "
            "some: drop those whose answers will never come."
        )


class Ticket(NamedTuple):
    """A prediction that was made, and stands."""

    id: str
    prediction: Any
    """A number, or a label; None where nothing had been learned yet."""
    lower: float | None = None
    """Ends of the interval of a number, which may be infinite; None where there is none."""
    upper: float | None = None
    probabilities: Mapping[Any, float] | None = None
    """Of all labels that were known; None for a number."""

    def loss(self, truth: Any, told: int) -> float | None:
        """What the prediction costs: the squared error, or minus the logarithm of the probability
        of the true label.

        A label that was not known then counts as if it had had one chance in as many answers as
        were ``told``. None where there is no prediction.
        """
        if self.prediction is None:
            return None
        if self.probabilities is None:
            off = float(self.prediction - truth)
            return off * off
        chance = self.probabilities.get(truth, 1.0 / (1.0 + told))
        return -math.log(max(chance, SMALLEST_PROBABILITY))

    def missed(self, truth: Any) -> bool:
        """Whether the truth lies outside the interval."""
        return (
            self.lower is not None
            and self.upper is not None
            and not self.lower <= truth <= self.upper
        )


def listed(name: str, values: Any) -> list[Any]:
    """An argument that has to be a list, as one."""
    try:
        return list(values)
    except Exception as error:  # whatever the iteration of an odd object raises
        raise TypeError(
            f"{name} must be a list, got {short_repr(values)} ({type(values).__name__}). Give "
            "[...]."
        ) from error


def checked_ids(values: Any) -> list[str]:
    """The same as :func:`checked_id` of each, several times faster where all are right."""
    values = listed("ids", values)
    if len(values) > 1 and set(map(type, values)) == {str}:
        sizes = set(map(len, values))
        if min(sizes) > 0 and max(sizes) <= LONGEST_ID and "".join(values).isprintable():
            return list(values)
    return list(map(checked_id, values))


def checked_id(value: Any) -> str:
    """An id that a checkpoint, an address and a log can hold."""
    if isinstance(value, Ticket):
        value = value.id
    if type(value) is str and 0 < len(value) <= LONGEST_ID and value.isprintable():
        return value  # the usual case
    if type(value) is not str:
        raise TypeError(
            f"id must be a text, got {short_repr(value)} ({type(value).__name__}). Give str(id)."
        )
    if not 1 <= len(value) <= LONGEST_ID or not value.isprintable():
        raise ValueError(
            f"id must be a text of 1 to {LONGEST_ID} printable characters, got {short_repr(value)}."
        )
    return value
