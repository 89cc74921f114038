"""Pending tickets: found by id, selected as blocks of arrays, saved and loaded."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, KeysView, Mapping, Sequence
from itertools import groupby
from typing import Annotated, Any, NamedTuple, final

import numpy as np

from swordplay.core.arguments import short_repr
from swordplay.core.state import ROW_COUNT_RANGE, Field, array, check, damaged, load, save
from swordplay.core.types import Array, Matrix, State, Vector
from swordplay.estimators.class_probabilities import NOTE_COUNT
from swordplay.estimators.deferred_rows import DeferredRows
from swordplay.estimators.forecast import Forecast
from swordplay.estimators.model_settings import LARGEST
from swordplay.late.tickets import (
    LOWER,
    PREDICTION,
    UPPER,
    Ticket,
    TicketBlock,
    TicketPending,
    check_ids,
)

MAX_SCORE = 1e120
"""Scores of single experts are below, however far they are from the target."""
MIN_SHRUNK = 16
"""Blocks of fewer rows are kept whole until their last ticket is told."""
SHRUNK_RATIO = 4
"""A block is replaced by a copy of its pending tickets once it has this many times their rows."""


@final
class PendingView(Mapping[str, Ticket]):
    """Pending tickets by id, in the order in which they were asked; read-only."""

    __slots__ = ("_blocks",)

    def __init__(self, blocks: dict[str, TicketBlock]) -> None:
        self._blocks = blocks

    def __getitem__(self, id: str) -> Ticket:
        block = self._blocks[id]
        return block.ticket(block.places([id])[0])

    def __iter__(self) -> Iterator[str]:
        return iter(self._blocks)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._blocks)

    def __len__(self) -> int:
        return len(self._blocks)

    def __contains__(self, id: object) -> bool:
        return id in self._blocks

    def __repr__(self) -> str:
        return repr(dict(self))

    def keys(self) -> KeysView[str]:
        """Return all ids."""
        return self._blocks.keys()

    def row(self, id: str) -> Any:
        """Return the row of a ticket, in the form in which it is kept."""
        block = self._blocks[id]
        return block.rows[block.places([id])[0]]

    def mark(self, id: str) -> int | None:
        """Return the mark of a ticket; None if its block has no marks."""
        block = self._blocks[id]
        return None if block.marks is None else int(block.marks[block.places([id])[0]])

    def are_pending(self, ids: list[str]) -> bool:
        """Whether all of these tickets are pending, and none of them occurs twice."""
        if ids and self._slice_of(ids) is not None:
            return True
        distinct = set(ids)
        return len(distinct) == len(ids) and self._blocks.keys() >= distinct

    def select(self, ids: list[str]) -> TicketBlock:
        """Return pending tickets, in this order, as one block; its arrays may be views."""
        block = self._blocks[ids[0]]
        if len(ids) == len(block) == 1:
            return block
        if (places := self._slice_of(ids)) is not None:
            return block.select(places)
        parts = []
        for owner, same in groupby(ids, key=self._blocks.__getitem__):
            parts.append(owner if len(owner) == 1 else owner.select(owner.places(list(same))))
        return TicketBlock.join(parts)

    def _slice_of(self, ids: list[str]) -> slice | None:
        """Return the slice of these tickets in a block of which all tickets are pending, or None.

        It is found without a lookup of each id.
        """
        block = self._blocks.get(ids[0])
        if block is None or block.pending < len(block):
            return None
        start = 0 if block.ids[0] == ids[0] else block.places(ids[:1])[0]
        places = slice(start, start + len(ids))
        return places if block.ids[places] == ids else None


class SavedTickets(NamedTuple):
    """Saved form of tickets that follow each other and have arrays of the same shapes."""

    predictions: Annotated[Matrix, array("tickets", "outputs", low=-np.inf, high=np.inf, nan=True)]
    frozen: Annotated[
        Array, array("tickets", 2, "frozen", low=-2.0 * LARGEST, high=2.0 * LARGEST, nan=True)
    ]
    expert_scores: Annotated[
        Array, array("tickets", "heads", "experts", low=-MAX_SCORE, high=MAX_SCORE)
    ]
    lags: Annotated[Matrix, array("tickets", "lags", low=-LARGEST, high=LARGEST, nan=True)]
    notes: Annotated[Matrix, array("tickets", "notes", low=-MAX_SCORE, high=MAX_SCORE)]
    rounds: Annotated[Vector, array("tickets", low=0.0, high=ROW_COUNT_RANGE.high, whole=True)]

    @classmethod
    def of(cls, block: TicketBlock) -> SavedTickets:
        """Return the saved form of a block."""
        _, expert_scores, lags, notes, rounds = block.forecast
        return cls(block.predictions, block.frozen, expert_scores, lags, notes, rounds)

    def block(self, ids: list[str], rows: Sequence[Any], labels: list[Any] | None) -> TicketBlock:
        """Return the block that was saved."""
        scores = np.zeros((len(ids), 0))
        forecast = Forecast(scores, self.expert_scores, self.lags, self.notes, self.rounds)
        return TicketBlock(ids, rows, labels, self.predictions, forecast, self.frozen)


class SavedPending(NamedTuple):
    """Saved form of all pending tickets."""

    blocks: tuple[SavedTickets, ...]


@final
class PendingTickets:
    """All pending tickets, in the order in which they were asked."""

    def __init__(self) -> None:
        self._blocks: dict[str, TicketBlock] = {}
        self.view = PendingView(self._blocks)
        """Read-only view, for users."""

    def __len__(self) -> int:
        return len(self._blocks)

    def new_ids(self, count: int, ids: Sequence[str] | None, serial: int) -> list[str]:
        """Return ids for ``count`` rows: the given ones, checked, or the next free numbers.

        ``serial`` is the last number that was used.
        """
        if ids is None:
            while any(str(serial + k + 1) in self._blocks for k in range(count)):
                serial += 1
            return [str(serial + k + 1) for k in range(count)]
        checked = check_ids(ids)
        if len(checked) != count:
            raise ValueError(
                f"ids must have one entry for each of the {count} rows, got {len(checked)}."
            )
        if len(set(checked)) == count and self._blocks.keys().isdisjoint(checked):
            return checked
        seen: set[str] = set()
        for id in checked:
            if id in self._blocks or id in seen:
                raise TicketPending(id)
            seen.add(id)
        return checked

    def ids_of(self, tickets: Sequence[Any]) -> list[str]:
        """Return the ids of tickets; those that follow each other in a block are valid."""
        is_texts = type(tickets) is list and set(map(type, tickets)) == {str}
        if is_texts and self.view._slice_of(tickets) is not None:  # type: ignore[arg-type]
            return list(tickets)
        return check_ids(tickets)

    def first_unknown(self, ids: list[str]) -> str | None:
        """Return the first id that is not pending or occurs a second time, or None."""
        if self.view.are_pending(ids):
            return None
        return next(id for k, id in enumerate(ids) if id not in self._blocks or id in ids[:k])

    def put(self, block: TicketBlock) -> None:
        """Add the tickets of a block."""
        self._blocks.update(dict.fromkeys(block.ids, block))

    def remove(self, ids: Sequence[str]) -> None:
        """Remove tickets; a block with few left is replaced by a copy, which frees its memory."""
        for block, count in Counter(map(self._blocks.pop, ids)).items():
            block.pending -= count
            left = block.pending
            if left and len(block) >= max(MIN_SHRUNK, SHRUNK_RATIO * left):
                kept = [k for k, id in enumerate(block.ids) if self._blocks.get(id) is block]
                self.put(block.select(kept))

    def state(self, deferred: DeferredRows) -> State:
        """Return all tickets and their rows as arrays and texts."""
        parts = [
            block.select(block.places(list(ids)))
            for block, ids in groupby(self._blocks, key=self._blocks.__getitem__)
        ]
        blocks = [
            SavedTickets.of(TicketBlock.join(list(same))) for _, same in groupby(parts, key=_shapes)
        ]
        rows = [row for part in parts for row in part.rows]
        tickets = save(SavedPending(tuple(blocks)))
        return {"ids": json.dumps(list(self._blocks))} | tickets | deferred.state(rows)

    @classmethod
    def from_state(
        cls, saved: Mapping[str, Any], deferred: DeferredRows, lags: int, level: float | None
    ) -> PendingTickets:
        """Check what :meth:`state` returned, restore ``deferred``, and make the tickets again.

        ``lags`` is the number of last targets in the rows of the estimator; ``level`` is that of
        the intervals, or None.

        Raises
        ------
        ValueError
            If an entry is missing, of another shape or out of its range.
        """
        ids = json.loads(saved["ids"])
        own = {name: value for name, value in saved.items() if name.startswith("blocks.")}
        rest = {name: value for name, value in saved.items() if name not in own and name != "ids"}
        rows = deferred.load_state(rest)
        is_list = type(ids) is list and len(set(check_ids(ids))) == len(ids) == len(rows)
        blocks = load(SavedPending, own, prefix="pending.").blocks
        if not is_list or sum(len(block.rounds) for block in blocks) != len(ids):
            raise damaged(f"its pending ids are {short_repr(ids)}, of {len(rows)} rows")
        pending, start = cls(), 0
        for tickets in blocks:
            _check_block(tickets, deferred, lags)
            has_ends = not np.isnan(tickets.predictions[:, LOWER:]).all()
            if has_ends and level is None and not deferred.predicts_labels:
                raise damaged("intervals are pending, and the model has no level for them")
            part = slice(start, start + len(tickets.rounds))
            labels = deferred.labels if deferred.predicts_labels else None
            pending.put(tickets.block(ids[part], rows[part], labels))
            start = part.stop
        return pending


def _shapes(block: TicketBlock) -> list[tuple[int, ...]]:
    """Shapes of the saved arrays of a block, without the number of tickets."""
    return [array.shape[1:] for array in SavedTickets.of(block)]


def _check_block(tickets: SavedTickets, deferred: DeferredRows, lags: int) -> None:
    """Raise a ValueError unless the arrays of saved tickets fit the estimator and each other."""
    outputs, frozen = tickets.predictions.shape[1], tickets.frozen.shape[2]
    check("pending.rounds", tickets.rounds, Field(0.0, float(deferred.rounds)))
    if tickets.lags.shape[1] % lags if lags else tickets.lags.size:
        raise damaged(f"pending.lags has {tickets.lags.shape[1]} lags a ticket, not {lags}")
    if deferred.predicts_labels:
        check("pending.predictions", tickets.predictions, Field(0.0, 1.0, nan=True))
        if outputs > len(deferred.labels):
            raise damaged(f"pending.predictions are of {outputs} labels, and fewer are known")
        if tickets.notes.shape[1] == NOTE_COUNT:  # the index of the last label is among them
            last_label = Field(-1.0, len(deferred.labels) - 1.0, whole=True)
            check("pending.notes, last labels", tickets.notes[:, 1], last_label)
    else:
        if outputs != 3:
            raise damaged(f"pending.predictions must have 3 columns, got {outputs}")
        _check_numbers(tickets.predictions)
    if frozen not in (0, outputs if deferred.predicts_labels else 1):
        raise damaged(f"pending.frozen has {frozen} scores a ticket with {outputs} predictions")


def _check_numbers(predictions: Matrix) -> None:
    """Raise a ValueError unless each interval contains its prediction."""
    values = predictions[:, PREDICTION]
    lower, upper = predictions[:, LOWER], predictions[:, UPPER]
    check("pending.predictions", values, Field(-2.0 * LARGEST, 2.0 * LARGEST, nan=True))
    clipped = np.clip(values, -LARGEST, LARGEST)
    is_inside = (lower <= clipped) & (clipped <= upper)
    if not (is_inside | (np.isnan(lower) & np.isnan(upper))).all():
        raise damaged("a pending interval does not contain its prediction")
