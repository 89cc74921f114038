"""How the intervals of a key lie in a row of numbers: learned, predicted and checked.

They are the intervals of :class:`swordplay.intervals.SwordIntervals` around the predictions of the
key, without columns, so that they are small beside the model. Without columns, experts that use all
columns equal those that use the columns made of residuals, and experts that use the constant alone
have one coefficient: a record holds neither twice. The first number of a record is its level.
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
from swordplay.keyed import kernels
from swordplay.keyed.kernels import IntervalArrays, KeyRuns

ALL_COLUMNS, OWN_COLUMNS, CONSTANT = 2, 1, 0
"""Kinds of experts by what they use (see ``intervals.layout``)."""


class IntervalLayout:
    """Records of intervals of one level, and the arrays in which kernels play them.

    Parameters
    ----------
    level
        Share of the targets that the intervals shall hold.
    """

    def __init__(self, level: float) -> None:
        self.level = level
        fresh = IntervalState.new(1, 0)
        flat = np.concatenate([array.ravel() for array in fresh])
        views = _split(flat, fresh)
        places: Any = np.arange(len(flat))
        place = _split(places, fresh)
        equal = [
            (every[ALL_COLUMNS], every[OWN_COLUMNS])
            for every in (place.location, place.spread, place.location_losses, place.spread_losses)
        ]
        copies = np.stack(
            [np.concatenate([side.ravel() for side in sides]) for sides in zip(*equal, strict=True)]
        )
        # Coefficients that are always 0.
        unused = [every[CONSTANT, 1:].ravel() for every in (place.location, place.spread)]
        kept = np.setdiff1d(places, np.concatenate([copies[0], *unused]))
        self._arrays = IntervalArrays(
            flat, kept, copies, views, alphas=np.array([1.0 - level]), scratch=new_scratch(0)
        )
        self.fresh: Vector = np.concatenate([[level], flat[kept]])
        """The record of a key that has learned nothing."""
        self._places = {
            name: 1 + np.flatnonzero(np.isin(kept, part)) for name, part in place._asdict().items()
        }

    def __reduce__(self) -> Any:
        # Copied arrays would not be views of one another.
        return IntervalLayout, (self.level,)

    def with_own_buffers(self) -> IntervalLayout:
        """Return a copy with arrays of its own, for another thread."""
        return IntervalLayout(self.level)

    def learn(self, records: Matrix, runs: KeyRuns, predictions: Vector, targets: Vector) -> Array:
        """Intervals of rows, each made before its own target is learned, shape ``(T, 2)``.

        Parameters
        ----------
        records
            Of all keys; those of the keys of these runs are replaced.
        runs
            The keys of the rows.
        predictions, targets
            Shape ``(T,)``.
        """
        bounds = np.empty((len(predictions), 1, 2))
        clipped = np.clip(predictions, -LARGEST_INPUT, LARGEST_INPUT)
        no_columns = np.empty((len(predictions), 0))
        kernels.intervals_of_keys(records, runs, self._arrays, no_columns, clipped, targets, bounds)
        return bounds[:, 0]

    def predict(self, records: Matrix, runs: KeyRuns, predictions: Vector) -> Array:
        """Intervals of rows whose targets are not known: nothing is learned."""
        return self.learn(records, runs, predictions, np.empty(0))

    def of_this_level(self, records: Matrix) -> Matrix:
        """Saved records; intervals of another level begin anew."""
        return np.where(records[:, :1] == self.level, records, self.fresh)

    def check(self, records: Matrix) -> None:
        """Refuse saved records with numbers that no rows lead to.

        Raises
        ------
        ValueError
            Names what is wrong.
        """
        check("level of intervals", records[:, 0], Field(0.0, 1.0))
        for name, allowed in ranges(IntervalState).items():
            check(f"intervals: {name}", records[:, self._places[name]], allowed)
        check_scalars("intervals", records[:, self._places["scalars"]])
        first, counts = (records[:, self._places[name]] for name in ("first_values", "counts"))
        check_first_values("intervals: first_values", first, counts)


def _split(flat: Array, like: IntervalState) -> IntervalState:
    """Views of one array in the shapes of the state of intervals."""
    ends = np.cumsum([array.size for array in like])
    return IntervalState(
        *(
            flat[end - array.size : end].reshape(array.shape)
            for array, end in zip(like, ends, strict=True)
        )
    )
