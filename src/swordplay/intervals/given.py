"""Intervals that were given and wait for their truths, which may come late and in any order."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np

from swordplay.core import arguments
from swordplay.core.state import MAX_ROUNDS, array, damaged, load
from swordplay.core.types import Array, State, Vector

MOST = 4096
"""Intervals that are remembered; older ones are forgotten."""


class SavedGiven(NamedTuple):
    """Intervals that were given, the oldest first."""

    predictions: Annotated[
        Vector, array("intervals", low=-arguments.LARGEST_INPUT, high=arguments.LARGEST_INPUT)
    ]
    bounds: Annotated[Array, array("intervals", "levels", 2, low=-np.inf, high=np.inf)]
    rows: Annotated[Vector, array("intervals", low=0.0, high=MAX_ROUNDS, whole=True)]
    """Rows that were learned before each was given."""


class Given:
    """The last intervals that were given, by their predictions.

    Of several for the same prediction, the newest is taken first: where the truths of some rows
    never come, theirs are not mistaken for those of later rows.
    """

    def __init__(self) -> None:
        self._bounds: dict[int, tuple[float, Array, int]] = {}
        """By serial number, the oldest first."""
        self._serials: dict[float, deque[int]] = {}
        self._next = 0

    def __len__(self) -> int:
        return len(self._bounds)

    def put(self, prediction: float, bounds: Array, rows: int) -> None:
        """Remember the interval of each level, shape ``(levels, 2)``, of a prediction, given
        when so many rows were learned.
        """
        self._bounds[self._next] = prediction, bounds, rows
        self._serials.setdefault(prediction, deque()).append(self._next)
        self._next += 1
        if len(self._bounds) > MOST:
            oldest = next(iter(self._bounds))
            self._drop(oldest, self._serials[self._bounds[oldest][0]].popleft)

    def since(self, prediction: float, rows: int) -> int:
        """How many rows were learned when the newest interval for a prediction was given.

        ``rows`` if there is none.
        """
        return (
            self._bounds[self._serials[prediction][-1]][2] if prediction in self._serials else rows
        )

    def take(self, prediction: float) -> Array | None:
        """The newest interval that was given for a prediction, forgotten from now on.

        None if there is none.
        """
        if prediction not in self._serials:
            return None
        return self._drop(self._serials[prediction][-1], self._serials[prediction].pop)

    def _drop(self, serial: int, forget: Any) -> Array:
        prediction, bounds, _ = self._bounds.pop(serial)
        forget()
        if not self._serials[prediction]:
            del self._serials[prediction]
        return bounds

    def state(self, levels: int) -> State:
        """Predictions and their intervals, the oldest first."""
        waiting = list(self._bounds.values())
        bounds = np.array([bounds for _, bounds, _ in waiting]).reshape(len(waiting), levels, 2)
        predictions = np.array([prediction for prediction, _, _ in waiting], dtype=np.float64)
        return {
            "predictions": predictions,
            "bounds": bounds,
            "rows": np.array([rows for *_, rows in waiting], dtype=np.int64),
        }

    @classmethod
    def of_state(cls, saved: Mapping[str, Any], levels: int) -> Given:
        """Check and make saved intervals, for this number of levels.

        Raises
        ------
        ValueError
            If an entry is missing, of another shape, out of its range, or an interval does not hold
            its prediction.
        """
        predictions, bounds, rows = load(SavedGiven, saved, {"levels": levels}, prefix="given.")
        if len(predictions) > MOST:
            raise damaged(
                f"state['given.predictions'] must hold at most {MOST} numbers, "
                f"got {len(predictions)}"
            )
        if not (
            (bounds[..., 0] <= predictions[:, None]) & (predictions[:, None] <= bounds[..., 1])
        ).all():
            raise damaged("state['given.bounds'] has an interval that does not hold its prediction")
        given = cls()
        for prediction, each, then in zip(predictions.tolist(), bounds, rows.tolist(), strict=True):
            given.put(prediction, each, int(then))
        return given
