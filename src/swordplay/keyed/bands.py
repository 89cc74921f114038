"""The intervals of one key as a row of numbers, and many keys in one compiled call.

They are those of :class:`swordplay.intervals.SwordIntervals` around the key's predictions, without
columns, so that a record stays a third of the learner's. Without columns the experts that look at
all of them equal those that look at the columns made of residuals, and the ones that look at the 1
alone have one coefficient: a record keeps neither twice. The first number of a record is its level;
under another level the intervals of a key begin anew.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from swordplay.core.arguments import LARGEST_INPUT
from swordplay.core.state import Field, check, ranges
from swordplay.core.types import Array, Matrix, Vector
from swordplay.intervals.state import (
    IntervalState,
    check_first_values,
    check_scalars,
    new_scratch,
)

ALL, OWN, ONE = 2, 1, 0
"""Kinds of experts of the shape: without columns, all are the own ones."""


class BandForm:
    """How intervals of one level are laid out in a record, and the arrays to play them in.

    Parameters
    ----------
    level
        What share of the truths the intervals are to hold.
    """

    def __init__(self, level: float) -> None:
        self.level = level
        self._alphas = np.array([1.0 - level])
        fresh = IntervalState.new(1, 0)
        self._flat = np.concatenate([array.ravel() for array in fresh])
        ends = np.cumsum([array.size for array in fresh])
        parts = [
            self._flat[end - array.size : end].reshape(array.shape)
            for array, end in zip(fresh, ends, strict=True)
        ]
        self._state = IntervalState(
            *parts
        )  # views: a record that is copied into the flat array is in all of them
        places = np.arange(len(self._flat))
        where: list[Any] = [
            places[e - array.size : e].reshape(array.shape)
            for array, e in zip(fresh, ends, strict=True)
        ]
        shaped = IntervalState(*where)
        twins = [
            (every[ALL], every[OWN])
            for every in (
                shaped.location,
                shaped.spread,
                shaped.location_losses,
                shaped.spread_losses,
            )
        ]
        self._copies = np.stack(
            [np.concatenate([side.ravel() for side in sides]) for sides in zip(*twins, strict=True)]
        )
        """Where numbers stand that are not kept, and where the same ones stand that are."""
        unused = [every[ONE, 1:].ravel() for every in (shaped.location, shaped.spread)]  # always 0
        self._kept = np.setdiff1d(places, np.concatenate([self._copies[0], *unused]))
        self.fresh: Vector = np.concatenate([[level], self._flat[self._kept]])
        """The record of a key that has learned nothing."""
        self._named = {
            name: 1 + np.flatnonzero(np.isin(self._kept, place))
            for name, place in shaped._asdict().items()
        }
        self._scratch = new_scratch(0)

    def play(
        self, records: Matrix, who: Any, edges: Any, predictions: Vector, targets: Vector
    ) -> Array:
        """Intervals of rows, each said before its own target is learned, shape ``(T, 2)``.

        Parameters
        ----------
        records
            Of all keys; those of the keys that play are replaced.
        who, edges
            Where the key of each run of rows has its record, and where the runs begin and the last
            one ends.
        predictions, targets
            Moderate numbers, shape ``(T,)``.
        """
        return self._told(records, who, edges, predictions, targets)

    def ask(self, records: Matrix, who: Any, edges: Any, predictions: Vector) -> Array:
        """The same for rows whose targets are not known: nothing is learned."""
        return self._told(records, who, edges, predictions, np.empty(0))

    def _told(
        self, records: Matrix, who: Any, edges: Any, predictions: Vector, targets: Vector
    ) -> Array:
        from swordplay.keyed.band_kernel import play_bands  # numba is imported with the first row

        bounds = np.empty((len(predictions), 1, 2))
        said = np.clip(predictions, -LARGEST_INPUT, LARGEST_INPUT)
        packed = self._kept, self._copies, self._flat, self._state, self._alphas
        runs = np.column_stack([who, edges[:-1], edges[1:]])
        rows = np.empty((len(predictions), 0)), said, targets
        play_bands(records, runs, *packed, *rows, self._scratch, bounds)
        return bounds[:, 0]

    def twin(self) -> BandForm:
        """The same form with arrays of its own to play in, for another thread."""
        return BandForm(self.level)

    def of_level(self, records: Matrix) -> Matrix:
        """Records as they were saved; those of another level begin anew."""
        return np.where(records[:, :1] == self.level, records, self.fresh)

    def check_records(self, records: Matrix) -> None:
        """Refuse records with numbers that no rows lead to.

        Raises
        ------
        ValueError
            Names what is wrong.
        """
        check("level of intervals", records[:, 0], Field(0.0, 1.0))
        for name, allowed in ranges(IntervalState).items():
            check(f"intervals: {name}", records[:, self._named[name]], allowed)
        check_scalars("intervals", records[:, self._named["scalars"]])
        check_first_values(
            "intervals: first_values",
            records[:, self._named["first_values"]],
            records[:, self._named["counts"]],
        )


NUMBERS_OF_BANDS = len(BandForm(0.5).fresh)
"""In the record of a key's intervals, at any level."""
