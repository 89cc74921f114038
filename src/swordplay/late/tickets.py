"""Tickets: predictions that wait for their targets, alone and as blocks of arrays; their errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple, Self, final

import numpy as np
from numpy.typing import NDArray

from swordplay.core.arguments import short_repr
from swordplay.core.types import Array, Matrix
from swordplay.estimators.forecast import Forecast

MAX_ID_LENGTH = 200
"""Characters of an id."""
PREDICTION, LOWER, UPPER = range(3)
"""Columns of the predictions of numbers."""


class Ticket(NamedTuple):
    """The prediction of one row."""

    id: str
    prediction: Any
    """A number or a label; None if nothing had been learned yet."""
    lower: float | None = None
    """Lower end of the interval of a number, may be infinite; None without an interval."""
    upper: float | None = None
    """Upper end of the interval of a number, may be infinite; None without an interval."""
    probabilities: Mapping[Any, float] | None = None
    """Probability of each label that was known; None for a number."""


_new_ticket = partial(tuple.__new__, Ticket)
"""Makes a ticket of its values in a third of the time that ``Ticket._make`` takes."""


@final
class TicketBlock:
    """Tickets as arrays, with all that learning their rows needs.

    Parameters
    ----------
    ids
        Ids of the tickets.
    rows
        Their rows, in the form that ``DeferredRows.read`` returned.
    labels
        Labels in the order of their probabilities; None if numbers are predicted.
    predictions
        Of numbers, shape ``(T, 3)``: prediction, lower and upper end, NaN if there is none. Of
        labels, shape ``(T, K)``: probabilities, NaN for a label that was not known yet.
    forecast
        What learning the rows late needs; it has no scores.
    frozen
        Scores of the model and of its frozen copy, shape ``(T, 2, K)``, NaN for rows without a
        frozen copy; K is 0 if no row has one, and 1 for numbers.
    table
        The rows as the model saw them, or None if that is not known or would take too much memory.
    version
        ``DeferredRows.version`` of the table.
    """

    __slots__ = (
        "_index",
        "forecast",
        "frozen",
        "ids",
        "labels",
        "marks",
        "pending",
        "predictions",
        "rows",
        "table",
        "version",
    )

    def __init__(
        self,
        ids: list[str],
        rows: Sequence[Any],
        labels: list[Any] | None,
        predictions: Matrix,
        forecast: Forecast,
        frozen: Array,
        table: Matrix | None = None,
        version: Any = None,
    ) -> None:
        self.ids, self.rows, self.labels = ids, rows, labels
        self.predictions, self.forecast, self.frozen = predictions, forecast, frozen
        self.table, self.version = table, version
        self.marks: NDArray[Any] | None = None
        """A number for each ticket, set and read by the caller that asked."""
        self.pending = len(ids)
        """Number of tickets that are pending under this block."""
        self._index: dict[str, int] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def has_intervals(self) -> bool:
        """Whether all tickets are numbers with an interval."""
        # infinite ends of one sign do not add up to NaN
        return self.labels is None and not bool(np.isnan(self.predictions[:, UPPER].sum()))

    def ticket(self, place: int) -> Ticket:
        """Return one of the tickets."""
        id, numbers = self.ids[place], self.predictions[place].tolist()
        if self.labels is None:
            return Ticket(id, *[None if value != value else value for value in numbers])
        known = [value for value in numbers if value == value]  # NaN: label not known yet
        if not known:
            return Ticket(id, None)
        likeliest = self.labels[known.index(max(known))]  # the first of several
        return Ticket(id, likeliest, probabilities=dict(zip(self.labels, known, strict=False)))

    def tickets(self) -> list[Ticket]:
        """Return all tickets."""
        if self.has_intervals:
            columns = self.predictions.T.tolist()
            return list(map(_new_ticket, zip(self.ids, *columns, repeat(None), strict=False)))
        return [self.ticket(place) for place in range(len(self.ids))]

    def places(self, ids: list[str]) -> list[int]:
        """Return the indices of some of the ids."""
        if len(self.ids) == 1:
            return [0]
        if self._index is None:
            self._index = {id: place for place, id in enumerate(self.ids)}
        return [self._index[id] for id in ids]

    def select(self, places: slice | list[int]) -> TicketBlock:
        """Return some of the tickets; their arrays are views if ``places`` is a slice."""
        if isinstance(places, slice):
            ids, rows = self.ids[places], self.rows[places]
        else:
            ids, rows = [self.ids[k] for k in places], [self.rows[k] for k in places]
        part = TicketBlock(
            ids,
            rows,
            self.labels,
            self.predictions[places],
            self.forecast.rows(places),
            self.frozen[places],
            None if self.table is None else self.table[places],
            self.version,
        )
        part.marks = None if self.marks is None else self.marks[places]
        return part

    @classmethod
    def join(cls, blocks: Sequence[Self], rows: Sequence[Any] | None = None) -> Self:
        """Return the tickets of several blocks as one; a single block is returned itself.

        ``rows`` are the kept rows of all blocks, if they are at hand.
        """
        if len(blocks) == 1:
            return blocks[0]
        labels = max((block.labels or [] for block in blocks), key=len)  # new labels come last
        newest = blocks[-1].version
        current = [block for block in blocks if block.version == newest]
        tables = [block.table for block in current if block.table is not None]
        marks = [block.marks for block in blocks if block.marks is not None]
        joined = cls(
            [id for block in blocks for id in block.ids],
            [row for block in blocks for row in block.rows] if rows is None else rows,
            None if blocks[0].labels is None else labels,
            _stack([block.predictions for block in blocks]),
            Forecast.join([block.forecast for block in blocks]),
            _stack([block.frozen for block in blocks]),
            np.concatenate(tables) if len(tables) == len(blocks) else None,
            newest,
        )
        if len(marks) == len(blocks):
            joined.marks = np.concatenate(marks)
        return joined


def _stack(arrays: Sequence[Array]) -> Array:
    """Concatenate arrays, padded with NaN to the greatest length of their last axis."""
    width = max(array.shape[-1] for array in arrays)
    if all(array.shape[-1] == width for array in arrays):
        return np.concatenate(arrays)
    padded = np.full((sum(map(len, arrays)), *arrays[0].shape[1:-1], width), np.nan)
    start = 0
    for array in arrays:
        padded[start : start + len(array), ..., : array.shape[-1]] = array
        start += len(array)
    return padded


# ------------------------------------------------------------------- errors


class TicketError(ValueError):
    """A ticket cannot be asked, told or dropped; nothing has changed."""


class UnknownTicket(TicketError):
    """No such ticket is pending: it was told or dropped already, or never asked."""

    def __init__(self, id: str) -> None:
        super().__init__(
            f"no ticket {short_repr(id)} is pending: it was told or dropped already, or never "
            "asked. Ask first; pending lists all."
        )


class TicketPending(TicketError):
    """A ticket with this id is pending already."""

    def __init__(self, id: str) -> None:
        super().__init__(
            f"a ticket {short_repr(id)} is pending already. Tell or drop it first, or ask under "
            "another id."
        )


class TooManyPending(TicketError):
    """More tickets would be pending than ``max_pending`` allows."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"{limit:,} tickets are pending, and there may be no more (max_pending). Tell or drop "
            "some: drop those whose answers will never come."
        )


# ------------------------------------------------------------------- checks of arguments


def check_list(name: str, values: Any) -> list[Any]:
    """Return an argument as a list; raise a TypeError if it cannot be iterated."""
    try:
        return list(values)
    except Exception as error:  # whatever the iteration of an odd object raises
        raise TypeError(
            f"{name} must be a list, got {short_repr(values)} ({type(values).__name__}). Give "
            "[...]."
        ) from error


def check_ids(values: Any) -> list[str]:
    """Return ids, checked like :func:`check_id`; several valid texts are checked together."""
    values = check_list("ids", values)
    if len(values) > 1 and set(map(type, values)) == {str}:
        sizes = set(map(len, values))
        if min(sizes) > 0 and max(sizes) <= MAX_ID_LENGTH and "".join(values).isprintable():
            return list(values)
    return list(map(check_id, values))


def check_id(value: Any) -> str:
    """Return an id that a checkpoint, an address and a log can hold; a ticket stands for its id."""
    if isinstance(value, Ticket):
        value = value.id
    if type(value) is not str:
        raise TypeError(
            f"id must be a text, got {short_repr(value)} ({type(value).__name__}). Give str(id)."
        )
    if not 1 <= len(value) <= MAX_ID_LENGTH or not value.isprintable():
        raise ValueError(
            f"id must be a text of 1 to {MAX_ID_LENGTH} printable characters, got "
            f"{short_repr(value)}."
        )
    return value
