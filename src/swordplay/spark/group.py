"""The keys of one bucket: who they are, how far each has come, and their learners."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from swordplay.base.types import Matrix, Vector
from swordplay.spark.bands import BandForm
from swordplay.spark.record import Form, Young

FORMAT, WITH_BANDS = 1, 2
"""Versions of what :meth:`Group.dumps` writes: without intervals, and with them behind everything else."""
HEADER = struct.Struct("<8sIIB")
"""Fingerprint of the settings, keys, young keys, and whether records are settled and in single precision."""
NUMBERS_OF_BANDS = len(BandForm(0.5).fresh)
"""Of each key, at any level."""
NEVER = np.iinfo(np.int64).min
"""The order before all orders."""


class Piece(NamedTuple):
    """Keys with all that is known of them."""

    keys: Sequence[str]
    orders: Any
    """The last order that each has learned, shape ``(K,)``."""
    young: Any
    """Which of them have first rows, shape ``(K,)``."""
    records: list[Matrix]
    """Of each model, shape ``(K, numbers)``."""
    firsts: list[Young]
    """Of each model, the first rows of those that are young."""
    bands: Matrix
    """The intervals' records, shape ``(K, numbers)``; without numbers where there are no intervals."""


class Group:
    """Some keys, each with one model or one for each class.

    Parameters
    ----------
    form
        Of the models' records.
    models
        How many models each key has.
    fingerprint
        Eight bytes that stand for the settings: a state that was saved with others is refused.
    bands
        Of the intervals' records; None for no intervals.
    """

    def __init__(self, form: Form, models: int, fingerprint: bytes, bands: BandForm | None = None) -> None:
        self._form, self._models, self._fingerprint, self._band_form = form, range(models), fingerprint, bands
        self._bands: Matrix = self._fresh_bands(0)
        self.places: dict[str, int] = {}
        """Number of each key."""
        self.orders: Any = np.empty(0, dtype=np.int64)
        """The last order that each key has learned."""
        self._records: list[Matrix] = [np.empty((0, len(form.fresh))) for _ in self._models]
        self._young: list[Young] = [form.young(1) for _ in self._models]
        self._slots: Any = np.empty(0, dtype=np.int64)
        """Where the first rows of each key are; grown keys, which never look there, share place 0."""

    def admit(self, keys: Sequence[str]) -> Any:
        """The number of each of these different keys; those that are new join."""
        new = [key for key in keys if key not in self.places]
        if new:
            count = len(new)
            records = [np.tile(self._form.fresh, (count, 1)) for _ in self._models]
            firsts = [self._form.young(count) for _ in self._models]
            bands = self._fresh_bands(count)
            self._join([Piece(new, np.full(count, NEVER), np.ones(count, dtype=bool), records, firsts, bands)])
        return np.array([self.places[key] for key in keys], dtype=np.int64)

    def play(self, numbers: Any, orders: Any, rows: Matrix, targets: Vector) -> Matrix:
        """Scores of rows that come key by key and in order, shape ``(T, models)``; each is made before it is learned.

        Parameters
        ----------
        numbers
            Of each row's key, rows of one key together, shape ``(T,)``.
        orders
            Of each row, increasing within a key.
        rows, targets
            Finite; for classes the targets are their places.
        """
        scores = np.empty((len(numbers), len(self._models)))
        if not len(numbers):
            return scores
        who, edges = _runs(numbers)
        for k in self._models:
            wanted = targets if len(self._models) == 1 else (targets == k).astype(np.float64)
            scores[:, k] = self._form.play(self._records[k], self._young[k], who, self._slots[who], edges, rows, wanted)
        self.orders[who] = orders[edges[1:] - 1]
        return scores

    def intervals(self, numbers: Any, predictions: Vector, targets: Vector) -> Matrix:
        """Intervals around the predictions of rows that were just played, shape ``(T, 2)``."""
        if self._band_form is None or not len(numbers):
            return np.empty((len(numbers), 2))
        return self._band_form.play(self._bands, *_runs(numbers), predictions, targets)

    @property
    def format(self) -> int:
        """Version of what :meth:`dumps` writes."""
        return FORMAT if self._band_form is None else WITH_BANDS

    def _fresh_bands(self, count: int) -> Matrix:
        """Records of the intervals of keys that have learned nothing."""
        return np.tile(np.empty(0) if self._band_form is None else self._band_form.fresh, (count, 1))

    def dumps(self, numbers: Any = slice(None), *, single: bool = False) -> bytes:
        """The state of some keys, or of all, in their order.

        Parameters
        ----------
        single
            Whether to write single precision, at less than half the size; if one of the keys does not fit, all stay doubles.
        """
        records, orders, slots = [every[numbers] for every in self._records], self.orders[numbers], self._slots[numbers]
        young = slots > 0
        firsts = [Young(*(first[slots[young]] for first in every)) for every in self._young]
        still = np.zeros(int(young.sum()), dtype=bool)
        for some, first in zip(records, firsts, strict=True):
            still |= self._form.are_young(some[young], first)
        young[young] = still
        kept = [first[still] for every in firsts for first in every]
        settled = [self._form.settle(some) for some in records] if single else []
        single = single and all(self._form.fits_single(*halves) for halves in settled)
        header = HEADER.pack(self._fingerprint, len(orders), int(young.sum()), single)
        numbered = [half for halves in settled for half in halves] if single else records
        return b"".join([header, *(part.tobytes() for part in (orders, young, *numbered, *kept, self._bands[numbers]))])

    def loads(self, saved: Iterable[tuple[Sequence[str], bytes]]) -> None:
        """Let keys join with the states that they were saved with: keys, and the bytes that ``dumps`` wrote for them.

        Raises
        ------
        ValueError
            If a state was saved with other settings, or is damaged.
        """
        self._join([self._read(keys, data) for keys, data in saved])

    def _read(self, keys: Sequence[str], data: bytes) -> Piece:
        if len(data) < HEADER.size:
            raise _damaged(len(data), len(keys))
        fingerprint, count, early, single = HEADER.unpack_from(data)
        if fingerprint != self._fingerprint:
            raise ValueError(
                "the state in this checkpointLocation was saved with other settings. Start the query with the features, "
                "loss, classes, lags and buckets of its first start, or give it a new checkpointLocation."
            )
        form, reader = self._form, _Reader(data, len(keys))
        orders, young = reader.take(np.int64, (count,)), reader.take(np.bool_, (count,))
        records = [
            form.unsettle(reader.take(np.float64, (count, form.head)), reader.take(np.float32, (count, form.tail)))
            if single
            else reader.take(np.float64, (count, len(form.fresh)))
            for _ in self._models
        ]
        shapes = [(early, *room.shape[1:]) for room in form.young(0)]
        firsts = [Young(*(reader.take(np.float64, shape) for shape in shapes)) for _ in self._models]
        bands = self._read_bands(reader, count)
        if reader.position != len(data) or count != len(keys) or young.sum() != early:
            raise _damaged(len(data), len(keys))
        for some, first in zip(records, firsts, strict=True):
            form.require_sane(some, young, first)
        return Piece(keys, orders, young, records, firsts, bands)

    def _read_bands(self, reader: _Reader, count: int) -> Matrix:
        """The intervals of keys; new ones where a state has none, or has some of another level."""
        if reader.position == len(reader.data):
            return self._fresh_bands(count)
        saved = reader.take(np.float64, (count, NUMBERS_OF_BANDS))
        if self._band_form is None:
            return self._fresh_bands(count)
        bands = self._band_form.of_level(saved)
        self._band_form.require_sane(bands)
        return bands

    def _join(self, pieces: list[Piece]) -> None:
        """Let keys join, behind those that are there."""
        for piece in pieces:
            first = len(self.places)
            self.places.update(zip(piece.keys, range(first, first + len(piece.keys)), strict=True))
        self.orders = np.concatenate([self.orders, *(piece.orders for piece in pieces)])
        young = np.concatenate([np.empty(0, dtype=bool), *(piece.young for piece in pieces)])
        room = len(self._young[0].rows) - 1
        self._slots = np.concatenate([self._slots, np.where(young, room + np.cumsum(young), 0)])
        self._bands = np.concatenate([self._bands, *(piece.bands for piece in pieces)])
        for k in self._models:
            self._records[k] = np.concatenate([self._records[k], *(piece.records[k] for piece in pieces)])
            together = zip(self._young[k], *(piece.firsts[k] for piece in pieces), strict=True)
            self._young[k] = Young(*(np.concatenate(parts) for parts in together))


def _runs(numbers: Any) -> tuple[Any, Any]:
    """The key of each run of rows, shape ``(M,)``, and where the runs begin and the last one ends, shape ``(M + 1,)``."""
    edges = np.concatenate([[0], np.flatnonzero(np.diff(numbers)) + 1, [len(numbers)]])
    return numbers[edges[:-1]], edges


class _Reader:
    """Arrays out of bytes, one behind the other."""

    def __init__(self, data: bytes, keys: int) -> None:
        self.data, self.keys, self.position = data, keys, HEADER.size

    def take(self, dtype: Any, shape: tuple[int, ...]) -> Any:
        count = int(np.prod(shape))
        if self.position + count * np.dtype(dtype).itemsize > len(self.data):
            raise _damaged(len(self.data), self.keys)
        array = np.frombuffer(self.data, dtype, count, self.position)
        self.position += array.nbytes
        return array.reshape(shape)


def _damaged(size: int, keys: int) -> ValueError:
    return ValueError(f"a state of {size} bytes for {keys} key(s) is damaged. Go back to an earlier checkpoint.")


def join(keys: Sequence[str]) -> bytes:
    """Keys as bytes: how many, their lengths, their letters."""
    letters = [key.encode() for key in keys]
    return np.array([len(keys), *map(len, letters)], dtype="<u4").tobytes() + b"".join(letters)


def split(data: bytes) -> list[str]:
    """Keys from bytes."""
    count = int(np.frombuffer(data, "<u4", 1)[0])
    start = 4 * (count + 1)
    ends = np.cumsum(np.frombuffer(data, "<u4", count, 4), dtype=np.int64) + start
    return [data[a:b].decode() for a, b in pairwise([start, *ends.tolist()])]
