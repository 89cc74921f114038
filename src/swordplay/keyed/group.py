"""Many keys: their numbers, their last orders and the records of their learners."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from swordplay.core.types import Matrix, Vector
from swordplay.keyed.crew import Crew
from swordplay.keyed.growing import Growing
from swordplay.keyed.playing import Turn
from swordplay.keyed.reader import Reader, damaged
from swordplay.keyed.record import Form, Young

FORMAT = 1
"""Version of what :meth:`Group.dumps` writes."""
HEADER = struct.Struct("<8sII")
"""Fingerprint of the settings, number of keys, number of keys with first rows."""
TIDY_FROM = 1000
"""First rows of keys that have grown are given up when there are so many twice, and then
whenever they have doubled.
"""
NEVER = np.iinfo(np.int64).min
"""The order before all orders."""


class OtherSettings(ValueError):
    """A state was saved with other settings."""


class Piece(NamedTuple):
    """Keys with all that is known of them."""

    keys: Sequence[Any]
    orders: Any
    """The last order that each has learned, shape ``(K,)``."""
    young: Any
    """Which of them have first rows, shape ``(K,)``."""
    records: list[Matrix]
    """Of each model, shape ``(K, numbers)``."""
    firsts: list[Young]
    """Of each model, the first rows of those that are young."""


class Group:
    """Some keys, each with one model or one for each class.

    Parameters
    ----------
    form
        Of the models' records.
    models
        How many models each key has.
    fingerprint
        Eight bytes that stand for the settings: a state that was saved with others is refused. None
        takes all.
    other_fingerprint
        Another fingerprint that states may have, such as that of states learned from a table.
    begins
        A form for each model, of which a new key takes what it begins with; the same for all unless
        given.
    """

    def __init__(
        self,
        form: Form,
        models: int,
        fingerprint: bytes | None = bytes(8),
        other_fingerprint: bytes | None = None,
        begins: Sequence[Form] = (),
    ) -> None:
        self._begins = begins or [form] * models
        self.form, self._models = form, range(models)
        self.fingerprint, self._other_fingerprint = fingerprint, other_fingerprint
        self.places: dict[Any, int] = {}
        """Number of each key."""
        self._orders = Growing(np.empty(0, dtype=np.int64))
        self._records = [Growing(np.empty((0, len(form.fresh)))) for _ in self._models]
        self._young = [[Growing(first) for first in form.young(1)] for _ in self._models]
        self._slots = Growing(np.empty(0, dtype=np.int64))
        """Where the first rows of each key are.

        Grown keys, which never look there, share place 0.
        """
        self._grown_before = 0
        """Keys with first rows when those of grown keys were given up the last time."""

    @property
    def orders(self) -> Any:
        """The last order that each key has learned."""
        return self._orders.all

    def admit(self, keys: Sequence[Any]) -> Any:
        """The number of each of these different keys; those that are new join."""
        found = list(map(self.places.get, keys))
        if None in found:
            new = [key for key, number in zip(keys, found, strict=True) if number is None]
            self._join_new(new)
            found = list(map(self.places.get, keys))
        return np.array(found, dtype=np.int64)

    def play(
        self,
        numbers: Any,
        orders: Any,
        rows: Matrix,
        targets: Vector,
        crew: Crew[Form] | None = None,
        by_key: Any = None,
    ) -> Matrix:
        """Scores of rows, those of a key in their order, shape ``(T, models)``.

        Each is made before it is learned.

        Parameters
        ----------
        numbers
            Of each row's key, shape ``(T,)``.
        orders
            Of each row, increasing within a key.
        rows, targets
            Finite; for classes the targets are their places.
        crew
            Threads that share the keys among them; none unless given. The numbers are the same.
        by_key
            Places of the rows that are played, key by key; as they come unless given. The others
            have no score.
        """
        scores = np.empty((len(numbers), len(self._models)))
        turn = np.arange(len(numbers)) if by_key is None else by_key
        if not len(turn):
            return scores
        who, edges = runs(numbers if by_key is None else numbers[by_key])
        slots = self._slots.all[who]
        for k in self._models:
            wanted = targets if len(self._models) == 1 else (targets == k).astype(np.float64)
            one = Turn(
                self._records[k].all,
                self._first(k),
                who,
                slots,
                edges,
                turn,
                rows,
                wanted,
                scores[:, k],
            )
            (one.play(self.form, 0, len(who)) if crew is None else crew.share(one.play, edges))
        self._orders.all[who] = orders[turn[edges[1:] - 1]]
        return scores

    def ask(self, numbers: Any, rows: Matrix) -> Matrix:
        """Scores of rows that come key by key, by what each key knows now; nothing is learned.

        Number -1 is a new key's.
        """
        scores = np.empty((len(numbers), len(self._models)))
        if not len(numbers):
            return scores
        who, edges = runs(numbers)
        known = int(np.searchsorted(who, 0)) if who[0] < 0 else 0  # -1 comes first, if at all
        for k in self._models:
            if known:
                fresh = self._begins[k].fresh[None]
                scores[: edges[known], k] = self.form.ask(
                    fresh, np.zeros(1, dtype=np.int64), edges[:2], rows[: edges[1]]
                )
            rest = slice(edges[known], None)
            scores[rest, k] = self.form.ask(
                self._records[k].all, who[known:], edges[known:] - edges[known], rows[rest]
            )
        return scores

    def record(self, number: int) -> list[tuple[Vector, Young]]:
        """What each model of a key knows: its record, and its first rows."""
        slot = int(self._slots.all[number])
        return [
            (records.all[number], Young(*(first[slot] for first in self._first(k))))
            for k, records in enumerate(self._records)
        ]

    def _first(self, k: int) -> Young:
        """The first rows that one of the models of each key keeps."""
        return Young(*(first.all for first in self._young[k]))

    def weights(self) -> tuple[Matrix, Vector]:
        """The weights of the experts of each key's first model, shape ``(K, N)``, and the
        experts' step sizes.
        """
        return self.form.weights(self._records[0].all)

    @property
    def models(self) -> int:
        """Models of each key."""
        return len(self._models)

    def first_rows(self, numbers: Any) -> Any:
        """Of some keys, one more than the first rows that each has.

        0 for those that need them no more; shape ``(K,)``.
        """
        held, young = (
            np.zeros(len(numbers), dtype=np.int64),
            np.flatnonzero(self._slots.all[numbers]),
        )
        young = young[self._still_young(numbers[young])]
        held[young] = 1 + self.form.most_seen(self._records[0].all[numbers[young]])
        return held

    def join(self, piece: Piece) -> None:
        """Let keys join with what is known of them."""
        self._join([piece])

    def keep(self, which: Any) -> None:
        """Let some keys stay, given by their numbers in increasing order, and forget the others."""
        names = list(self.places)
        self.places = {names[number]: place for place, number in enumerate(which.tolist())}
        for each in (self._orders, self._slots, *self._records):
            each.keep(which)
        self._tidy()

    def _tidy(self) -> None:
        """Give up the first rows of keys that need them no more."""
        slots = self._slots.all
        young = np.flatnonzero(slots)
        still = self._still_young(young)
        kept = np.append(0, slots[young[still]])
        for each in self._young:
            for first in each:
                first.keep(kept)
        slots[young] = 0
        slots[young[still]] = np.arange(1, len(kept))

    def _still_young(self, numbers: Any) -> Any:
        """Which of some keys that had first rows need them still, shape ``(K,)``."""
        still = np.zeros(len(numbers), dtype=bool)
        slots = self._slots.all[numbers]
        for k, records in enumerate(self._records):
            still |= self.form.are_young(records.all, self._first(k), numbers, slots)
        return still

    def dumps(self, numbers: Any = slice(None)) -> bytes:
        """The state of some keys, or of all, in their order."""
        some = np.arange(len(self.orders))[numbers]
        records, orders, slots = (
            [every.all[some] for every in self._records],
            self.orders[some],
            self._slots.all[some],
        )
        young = slots > 0
        young[young] = self._still_young(some[young])
        kept = [first.all[slots[young]] for every in self._young for first in every]
        header = HEADER.pack(self.fingerprint or bytes(8), len(orders), int(young.sum()))
        return b"".join([header, *(part.tobytes() for part in (orders, young, *records, *kept))])

    def loads(self, saved: Iterable[tuple[Sequence[Any], bytes]]) -> None:
        """Let keys join with the states that they were saved with: keys, and the bytes that
        ``dumps`` wrote for them.

        Raises
        ------
        ValueError
            If a state was saved with other settings, or is damaged.
        """
        self._join([self._read(keys, data) for keys, data in saved])

    def _read(self, keys: Sequence[Any], data: bytes) -> Piece:
        if len(data) < HEADER.size:
            raise damaged(len(data), len(keys))
        fingerprint, count, early = HEADER.unpack_from(data)
        accepted = (self.fingerprint, self._other_fingerprint)
        if self.fingerprint is not None and fingerprint not in accepted:
            raise OtherSettings(
                "the state in this checkpointLocation was saved with other settings. Start the "
                "query with the key, features, target, order, loss, classes, lags and buckets of "
                "its first start, or give it a new checkpointLocation."
            )
        form, reader = self.form, Reader(data, HEADER.size, len(keys))
        orders, young = reader.take(np.int64, (count,)), reader.take(np.bool_, (count,))
        records = [reader.take(np.float64, (count, len(form.fresh))) for _ in self._models]
        shapes = [(early, *room.shape[1:]) for room in form.young(0)]
        firsts = [
            Young(*(reader.take(np.float64, shape) for shape in shapes)) for _ in self._models
        ]
        if reader.position != len(data) or count != len(keys) or young.sum() != early:
            raise damaged(len(data), len(keys))
        for some, first in zip(records, firsts, strict=True):
            form.check_records(some, young, first)
        return Piece(keys, orders, young, records, firsts)

    def _join_new(self, keys: Sequence[Any]) -> None:
        """Let keys join that have learned nothing.

        What they begin with is written once, and nowhere else.
        """
        self._make_room(keys, np.ones(len(keys), dtype=bool))
        self._orders.join_alike(len(keys), NEVER)
        for k in self._models:
            self._records[k].join_alike(len(keys), self._begins[k].fresh)
            for mine, first in zip(self._young[k], self._begins[k].young(1), strict=True):
                mine.join_alike(len(keys), first)

    def _make_room(self, keys: Sequence[Any], young: Any) -> None:
        """Give keys their numbers, and those that are young a place for their first rows."""
        self.places.update(
            zip(keys, range(len(self.places), len(self.places) + len(keys)), strict=True)
        )
        if len(self._young[0][0]) + young.sum() > 2 * TIDY_FROM + 2 * self._grown_before:
            self._tidy()
            self._grown_before = len(self._young[0][0])
        room = len(self._young[0][0]) - 1
        self._slots.join(np.where(young, room + np.cumsum(young), 0))

    def _join(self, pieces: list[Piece]) -> None:
        """Let keys join, behind those that are there."""
        for piece in pieces:
            self._make_room(piece.keys, piece.young)
            self._orders.join(piece.orders)
            for k in self._models:
                self._records[k].join(piece.records[k])
                for mine, theirs in zip(self._young[k], piece.firsts[k], strict=True):
                    mine.join(theirs)


def runs(numbers: Any) -> tuple[Any, Any]:
    """The number of each run of equal ones, and where the runs begin and the last one ends."""
    edges = np.concatenate([[0], np.flatnonzero(np.diff(numbers)) + 1, [len(numbers)]])
    return numbers[edges[:-1]], edges
