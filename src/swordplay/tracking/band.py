"""The intervals of a run: said before each row is learned, and judged by what came."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, final

import numpy as np

from swordplay.core.types import Array, Matrix, State, Vector
from swordplay.estimators.level_intervals import clip_predictions, columns_for
from swordplay.intervals import SwordIntervals
from swordplay.tracking.contestants import Played

COVERED, WIDTH, BOUNDED = "covered", "width of intervals", "intervals with ends"
FIGURES = (COVERED, WIDTH, BOUNDED)
"""What is summed over the rows that were predicted and then learned: truths inside, widths, and
intervals that have a width.
"""


@final
class Band:
    """Intervals around the predictions of one series.

    Parameters
    ----------
    level
        What share of the truths they are to hold.
    """

    def __init__(self, level: float) -> None:
        self.intervals = SwordIntervals(level)

    def say(self, predictions: Vector, targets: Vector, rows: Matrix) -> Array:
        """Lower and upper ends for rows in their order, shape ``(T, 2)``.

        Those without a target (NaN) are not learned.
        """
        known = ~np.isnan(targets)
        predictions = clip_predictions(predictions)
        edges = [0, *(np.flatnonzero(np.diff(known)) + 1).tolist(), len(known)]
        answers = []
        for first, stop in pairwise(edges):
            columns = columns_for(self.intervals, rows[first:stop])
            if known[first]:
                answers.append(
                    self.intervals.interval_then_learn(
                        predictions[first:stop], targets[first:stop], columns
                    )
                )
            else:
                answers.append(self.intervals.intervals(predictions[first:stop], columns))
        return np.concatenate(answers)

    def judge(self, played: Played, targets: Vector, rows: Matrix) -> tuple[Array, Played]:
        """The intervals of rows that were predicted, and what was played with their figures
        beside the others.
        """
        bounds, learned = self.say(played.said.predictions, targets, rows), ~np.isnan(targets)
        some = (bounds, targets) if learned.all() else (bounds[learned], targets[learned])
        figures = np.concatenate(
            [played.figures.T, judged(*some).T]
        ).T  # one figure behind the other, as they are summed
        return bounds, played._replace(figures=figures)

    def state(self) -> State:
        """All that the next row needs."""
        return self.intervals.state()

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        self.intervals.load_state(saved)


def judged(bounds: Array, targets: Vector) -> Matrix:
    """The figures of rows that were learned, shape ``(T, 3)``: the columns of :data:`FIGURES`."""
    lower, upper = np.ascontiguousarray(bounds.T)
    bounded = np.isfinite(lower) & np.isfinite(upper)
    figures = np.zeros((3, len(bounds)))
    figures[0], figures[2] = (lower <= targets) & (targets <= upper), bounded
    np.subtract(upper, lower, out=figures[1], where=bounded)
    return figures.T
