"""Tickets that wait for their answers: what was said, the row as it was asked, and the last
targets known then.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, KeysView, Mapping, Sequence
from itertools import chain
from typing import Any, final

import numpy as np

from swordplay.core.arguments import short_repr
from swordplay.core.state import DAMAGED, ROW_COUNT, Field, check
from swordplay.core.types import Matrix, State, Vector
from swordplay.estimators.class_probabilities import NOTE_COUNT
from swordplay.estimators.deferred_rows import DeferredRows
from swordplay.estimators.model_settings import LARGEST
from swordplay.late.blocks import NOTHING, Block, Kept, Run
from swordplay.late.ticket import Ticket, TicketPending, checked_ids

SAID = 1e120
"""Predictions of single experts lie below, far as they may be from the truth."""
FEWEST_SHRUNK = 16
"""Rows of a block that are worth a copy of those that are left."""


@final
class Waiting(Mapping[str, Ticket]):
    """Tickets that are pending, by id, to be looked at."""

    __slots__ = ("_blocks",)

    def __init__(self, blocks: dict[str, Block]) -> None:
        self._blocks = blocks

    def __getitem__(self, id: str) -> Ticket:
        block = self._blocks[id]
        return block.tickets[block.places([id])[0]]

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
        """All ids."""
        return self._blocks.keys()

    def run(self, ids: list[str]) -> Run | None:
        """Ids that follow each other in a block of which all are pending, found without a look
        at each; None for any others.
        """
        block = self._blocks.get(ids[0])
        if block is None or block.left < len(block.ids):
            return None
        first = 0 if block.ids[0] == ids[0] else block.places(ids[:1])[0]
        places = slice(first, first + len(ids))
        return Run(0, len(ids), block, places) if block.ids[places] == ids else None

    def mark(self, id: str) -> int | None:
        """The number of the request; None where none was given."""
        block = self._blocks[id]
        return None if block.marks is None else int(block.marks[block.places([id])[0]])


@final
class Pending:
    """All tickets that are pending, in the order in which they were asked."""

    def __init__(self) -> None:
        self._blocks: dict[str, Block] = {}
        self.view = Waiting(self._blocks)
        """The tickets by id, to be looked at."""

    def __contains__(self, id: str) -> bool:
        return id in self._blocks

    def __len__(self) -> int:
        return len(self._blocks)

    def __getitem__(self, id: str) -> Kept:
        block = self._blocks[id]
        return Kept(block, block.places([id])[0])

    def runs(self, ids: list[str]) -> list[Run]:
        """Pending tickets in their order, as few runs as there can be."""
        if (run := self.view.run(ids)) is not None:
            return [run]
        blocks = list(map(self._blocks.__getitem__, ids))
        runs, first, together = list[Run](), 0, blocks.count(blocks[0]) == len(blocks)
        while first < len(ids):
            block, last = blocks[first], len(ids) if together else first + 1
            while last < len(ids) and blocks[last] is block:
                last += 1
            places = block.places(ids[first:last])
            begin = places[0]
            ordered = places == list(range(begin, begin + len(places)))
            runs.append(
                Run(first, last, block, slice(begin, begin + len(places)) if ordered else places)
            )
            first = last
        return runs

    def names(self, count: int, ids: Sequence[str] | None, serial: int) -> list[str]:
        """Ids for so many rows: those that are given, checked, or the next numbers that none of
        them has.

        Parameters
        ----------
        count, ids
            Of the rows.
        serial
            The last number that was given.
        """
        if ids is None:
            while any(str(serial + k + 1) in self._blocks for k in range(count)):
                serial += 1
            return [str(serial + k + 1) for k in range(count)]
        names = checked_ids(ids)
        if len(names) != count:
            raise ValueError(
                f"ids must have one entry for each of the {count} rows, got {len(names)}."
            )
        if len(set(names)) == count and self._blocks.keys().isdisjoint(names):
            return names
        seen: set[str] = set()
        for name in names:
            if name in self._blocks or name in seen:
                raise TicketPending(name)
            seen.add(name)
        return names

    def unknown(self, ids: list[str]) -> str:
        """The first of some ids that is not pending, or comes a second time.

        Empty if there is none.
        """
        if ids and self.view.run(ids) is not None:
            return ""
        some = set(ids)
        if len(some) == len(ids) and self._blocks.keys() >= some:
            return ""
        return next(id for k, id in enumerate(ids) if id not in self._blocks or id in ids[:k])

    def follow(self, tickets: Sequence[Any]) -> list[str] | None:
        """Ids that follow each other in a block (see :meth:`Waiting.run`), as it has them.

        None for any others.
        """
        if type(tickets) is not list or set(map(type, tickets)) != {str}:
            return None
        run = self.view.run(tickets)
        return None if run is None else run.ids

    def put(self, block: Block) -> None:
        """Some more."""
        self._blocks.update(dict.fromkeys(block.ids, block))

    def remove(self, runs: Sequence[Run]) -> None:
        """Remove tickets; a block of which few are left is copied, which frees the memory of it."""
        every = self._blocks
        for name in chain.from_iterable(run.ids for run in runs):
            del every[name]
        for run in runs:
            run.block.left -= run.last - run.first
        for block in dict.fromkeys(run.block for run in runs):
            if block.left and len(block.rows) >= max(FEWEST_SHRUNK, 4 * block.left):
                small = block.part(
                    [k for k, name in enumerate(block.ids) if every.get(name) is block]
                )
                self.put(small)

    def state(self, model: DeferredRows) -> State:
        """All of it, as arrays and texts."""
        kept = [self[id] for id in self._blocks]
        tickets = [one.ticket for one in kept]
        chances = [list((ticket.probabilities or {}).values()) for ticket in tickets]
        lags = [np.concatenate(one.block.lags) if one.block.lags else np.empty(0) for one in kept]
        return {
            "ids": json.dumps(list(self._blocks)),
            "rows": model.packed([one.row for one in kept]),
            "said": numbers_or_nan(
                [None if model.of_classes else ticket.prediction for ticket in tickets]
            ),
            "lower": numbers_or_nan([ticket.lower for ticket in tickets]),
            "upper": numbers_or_nan([ticket.upper for ticket in tickets]),
            "chances": np.array([chance for some in chances for chance in some], dtype=np.float64),
            "known": np.array([len(some) for some in chances], dtype=np.int64),
            "lags": np.concatenate([np.empty(0), *lags]),
            "teams": np.array([len(one.block.lags) for one in kept], dtype=np.int64),
            "voices": np.concatenate(
                [np.empty(0), *(each.ravel() for one in kept for each in one.voices)]
            ),
            "shapes": json.dumps([[list(each.shape) for each in one.voices] for one in kept]),
            "told": np.array([one.block.told for one in kept], dtype=np.int64),
            "sides": np.concatenate(
                [np.empty(0), *(one.sides.ravel() for one in kept if one.sides is not None)]
            ),
            "sided": np.array(
                [0 if one.sides is None else one.sides.shape[1] for one in kept], dtype=np.int64
            ),
            "notes": np.concatenate([NOTHING, *(one.notes for one in kept)]),
            "noted": np.array([len(one.notes) for one in kept], dtype=np.int64),
        }

    @classmethod
    def of_state(cls, saved: Mapping[str, Any], model: DeferredRows, lags: int) -> Pending:
        """What was saved, checked.

        Raises
        ------
        ValueError
            Says what does not fit.
        """
        ids, rows = json.loads(saved["ids"]), model.unpacked(saved["rows"])
        said, lower, upper = (
            np.array(saved[name], dtype=np.float64) for name in ("said", "lower", "upper")
        )
        if type(ids) is not list or len(set(checked_ids(ids))) != len(ids) or len(rows) != len(ids):
            raise ValueError(
                f"its pending ids are {short_repr(ids)}, of {len(rows)} rows. {DAMAGED}"
            )
        for name, values in (("said", said), ("lower", lower), ("upper", upper)):
            if values.shape != (len(ids),):
                raise ValueError(
                    f"pending.{name} must have shape ({len(ids)},), got {values.shape}. {DAMAGED}"
                )
        check("pending.said", said, Field(-2.0 * LARGEST, 2.0 * LARGEST, nan=True))
        between = (lower <= np.clip(said, -LARGEST, LARGEST)) & (
            np.clip(said, -LARGEST, LARGEST) <= upper
        )
        if not (between | (np.isnan(lower) & np.isnan(upper))).all():
            raise ValueError(f"a pending interval does not hold its prediction. {DAMAGED}")
        chances = parts("chances", saved["chances"], saved["known"], len(ids), 1, Field(0.0, 1.0))
        recent = parts(
            "lags",
            saved["lags"],
            saved["teams"],
            len(ids),
            lags,
            Field(-LARGEST, LARGEST, nan=True),
        )
        if not model.of_classes and any(map(len, chances)):
            raise ValueError(
                f"pending.chances must be empty where numbers are predicted. {DAMAGED}"
            )
        voices = voices_of(saved, len(ids))
        told = np.array(saved["told"])
        check("pending.told", told, ROW_COUNT)
        if told.shape != (len(ids),):
            raise ValueError(
                f"pending.told must have shape ({len(ids)},), got {told.shape}. {DAMAGED}"
            )
        sides = sides_of(saved, chances, model.of_classes)
        notes = parts("notes", saved["notes"], saved["noted"], len(ids), 1, Field(-SAID, SAID))
        last = [
            one[1] for one in notes if model.of_classes and len(one) == NOTE_COUNT
        ]  # labels by their place
        check("pending.notes, last labels", last, Field(-1.0, len(model.labels) - 1.0, whole=True))
        labels, pending = model.labels, cls()
        if max(map(len, chances), default=0) > len(labels):
            raise ValueError(
                f"pending.known must not pass the {len(labels)} labels that are known. {DAMAGED}"
            )
        for k, id in enumerate(ids):
            ends = (None, None) if np.isnan(lower[k]) else (float(lower[k]), float(upper[k]))
            ticket = (
                of_labels(id, labels, chances[k])
                if model.of_classes
                else of_number(id, said[k], *ends)
            )
            known = tuple(recent[k].reshape(-1, lags)) if lags else ()
            side = None if (one := sides[k]) is None else one[None]
            heard = [team[None] for team in voices[k]]
            pending.put(
                Block([id], [ticket], [rows[k]], int(told[k]), known, heard, notes[k][None], side)
            )
        return pending


def sides_of(
    saved: Mapping[str, Any], chances: Sequence[Matrix], of_classes: bool
) -> list[Matrix | None]:
    """What the model and its former self said of each row, checked."""
    found = parts(
        "sides",
        saved["sides"],
        saved["sided"],
        len(chances),
        2,
        Field(-2.0 * LARGEST, 2.0 * LARGEST),
    )
    for one, known in zip(found, chances, strict=True):
        if one.size and one.size != 2 * (len(known) if of_classes else 1):
            raise ValueError(
                f"pending.sides has {one.size} numbers for a ticket with {len(known)} labels. "
                f"{DAMAGED}"
            )
    return [one.reshape(2, -1) if one.size else None for one in found]


def voices_of(saved: Mapping[str, Any], count: int) -> list[tuple[Matrix, ...]]:
    """What was said of each row, checked."""
    shapes, flat = json.loads(saved["shapes"]), np.array(saved["voices"], dtype=np.float64)
    right = (
        type(shapes) is list and len(shapes) == count and all(type(one) is list for one in shapes)
    )
    pairs = [tuple(shape) for one in shapes for shape in one] if right else []
    if not right or not all(len(shape) == 2 and min(map(int, shape)) >= 1 for shape in pairs):
        raise ValueError(f"pending.shapes is {short_repr(saved['shapes'])}. {DAMAGED}")
    check("pending.voices", flat, Field(-SAID, SAID))
    if flat.shape != (sum(heads * width for heads, width in pairs),):
        raise ValueError(
            f"pending.voices has {flat.size} numbers, and not those of its shapes. {DAMAGED}"
        )
    edges = np.cumsum([0, *(heads * width for heads, width in pairs)])
    pieces = iter(
        [flat[a:b].reshape(shape) for a, b, shape in zip(edges, edges[1:], pairs, strict=False)]
    )
    return [tuple(next(pieces) for _ in one) for one in shapes]


def of_number(
    id: str, said: float, lower: float | None = None, upper: float | None = None
) -> Ticket:
    """The ticket of a number; NaN where nothing is known."""
    return Ticket(id, None) if said != said else Ticket(id, float(said), lower, upper)


def of_labels(id: str, labels: Sequence[Any], chances: Vector) -> Ticket:
    """The ticket of a label: the most probable one, the first of several."""
    if not len(chances):
        return Ticket(id, None)
    return Ticket(
        id,
        labels[int(chances.argmax())],
        probabilities=dict(zip(labels, chances.tolist(), strict=False)),
    )


def numbers_or_nan(values: Sequence[float | None]) -> Vector:
    """Numbers, NaN for None."""
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def parts(name: str, flat: Any, counts: Any, count: int, unit: int, allowed: Field) -> list[Matrix]:
    """Pieces of an array that lie one behind the other, each of so many units, checked."""
    numbers, sizes = np.array(flat, dtype=np.float64), np.array(counts)
    check(f"pending.{name}", numbers, allowed)
    check(f"pending.{name}, how many", sizes, Field(0, max(1, numbers.size), whole=True))
    if numbers.ndim != 1 or sizes.shape != (count,) or unit * int(sizes.sum()) != numbers.size:
        raise ValueError(
            f"pending.{name} must have as many numbers as its tickets, got {numbers.size}. "
            f"{DAMAGED}"
        )
    return np.split(numbers, unit * np.cumsum(sizes.astype(np.int64))[:-1]) if count else []
