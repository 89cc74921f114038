"""The keys of one bucket: their learners, and where they are asked for, their intervals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, final

import numpy as np

from swordplay.core.types import Matrix, Vector
from swordplay.keyed.bands import NUMBERS_OF_BANDS, BandForm
from swordplay.keyed.group import FORMAT, Group, runs
from swordplay.keyed.growing import Growing

WITH_BANDS = 2
"""Version of what :meth:`Bucket.dumps` writes where there are intervals, which stand behind
everything else.
"""
WORDS = 4
"""Version of a value without learners: the settings in words."""


@final
class Bucket:
    """A group of keys with intervals beside their learners.

    Parameters
    ----------
    group
        The learners; no key has joined yet.
    form
        Of the intervals' records; None for no intervals.
    """

    def __init__(self, group: Group, form: BandForm | None = None) -> None:
        self._group, self._form = group, form
        self._bands = Growing(self._fresh(0))

    @property
    def places(self) -> dict[Any, int]:
        """Number of each key."""
        return self._group.places

    @property
    def orders(self) -> Any:
        """The last order that each key has learned."""
        return self._group.orders

    @property
    def fingerprint(self) -> bytes:
        """Stands for the settings in all that is written."""
        return self._group.fingerprint or bytes(8)

    @property
    def format(self) -> int:
        """Version of what :meth:`dumps` writes."""
        return FORMAT if self._form is None else WITH_BANDS

    def admit(self, keys: Sequence[Any]) -> Any:
        """The number of each of these different keys; those that are new join."""
        numbers = self._group.admit(keys)
        self._bands.join(self._fresh(len(self.places) - len(self._bands)))
        return numbers

    def play(self, numbers: Any, orders: Any, rows: Matrix, targets: Vector) -> Matrix:
        """Scores of rows sorted by key and order, each predicted before it is learned.

        See ``Group.play``.
        """
        return self._group.play(numbers, orders, rows, targets)

    def ask(self, numbers: Any, rows: Matrix) -> Matrix:
        """Scores of rows by what each key knows now (see ``Group.ask``).

        Number -1 is a new key's.
        """
        return self._group.ask(numbers, rows)

    def intervals(self, numbers: Any, predictions: Vector, targets: Vector | None) -> Matrix:
        """Intervals around the predictions of rows that were just played, shape ``(T, 2)``.

        Each is said, then learned.

        Where there are no targets, nothing is learned; the intervals of a new key (number -1) are
        everything.
        """
        bounds, known = np.full((len(numbers), 2), np.inf), numbers >= 0
        if self._form is None or not known.any():
            return bounds
        of = runs(numbers[known])
        if targets is None:
            bounds[known] = self._form.ask(self._bands.all, *of, predictions[known])
        else:
            bounds[known] = self._form.play(self._bands.all, *of, predictions, targets)
        return bounds

    def forget(self, before: int) -> bool:
        """Let keys go whose last order lies before this one; whether there were any."""
        kept = np.flatnonzero(self.orders >= before)
        if len(kept) == len(self.orders):
            return False
        self._group.keep(kept)
        self._bands.keep(kept)
        return True

    def record(self, number: int) -> Any:
        """What each model of a key knows (see ``Group.record``)."""
        return self._group.record(number)

    @property
    def learner(self) -> Any:
        """How the learners' records are laid out."""
        return self._group.form

    def dumps(self, numbers: Any = slice(None)) -> bytes:
        """The state of some keys, or of all, in their order: learners, then intervals."""
        return self._group.dumps(numbers) + np.ascontiguousarray(self._bands.all[numbers]).tobytes()

    def loads(
        self, saved: Iterable[tuple[Sequence[Any], bytes]], version: int | None = None
    ) -> None:
        """Add keys with their saved states, which :meth:`dumps` wrote.

        Parameters
        ----------
        saved
            Lists of keys, each with the bytes of their states.
        version
            Of the bytes: ``FORMAT`` without intervals, ``WITH_BANDS`` with them; that of this
            bucket unless given. Intervals that are not there, or of another level, begin anew.

        Raises
        ------
        ValueError
            If a state was saved with other settings, or is damaged.
        """
        pieces, joined = [], []
        for keys, data in saved:
            size = 0 if (version or self.format) == FORMAT else 8 * NUMBERS_OF_BANDS * len(keys)
            end = max(0, len(data) - size)
            pieces.append((keys, data[:end]))
            joined.append(self._read(data[end:], len(keys)))
        self._group.loads(pieces)
        for bands in joined:
            self._bands.join(bands)

    def _read(self, data: bytes, count: int) -> Matrix:
        """The intervals of so many keys."""
        whole = len(data) == 8 * NUMBERS_OF_BANDS * count
        if (
            self._form is None or not whole
        ):  # bytes that are cut are refused with the learners, which have too few then
            return self._fresh(count)
        bands = self._form.of_level(np.frombuffer(data).reshape(count, NUMBERS_OF_BANDS))
        self._form.check_records(bands)
        return bands

    def _fresh(self, count: int) -> Matrix:
        """Records of the intervals of keys that have learned nothing."""
        return np.tile(np.empty(0) if self._form is None else self._form.fresh, (count, 1))
