"""Intervals beside the model of an estimator: one ``SwordIntervals`` for each requested level.

An estimator learns intervals from the first request for them on; until then it only keeps its last
predictions and targets. The first request for a level replays these pairs, without their columns,
which are not kept.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from swordplay.core.arguments import LARGEST_INPUT
from swordplay.core.state import Field, add_prefix, check, strip_prefix
from swordplay.core.types import Array, Matrix, State, Vector
from swordplay.intervals import SwordIntervals

MAX_PAIRS = 1000
"""Predictions and targets that are kept."""
MAX_COLUMNS = 64
"""Intervals beside wider rows learn from no column: most columns of such rows indicate words, and
each alone says little about the size of a residual."""
PREFIX = "intervals."
"""Prefix of these entries in the state of an estimator."""

Level = float | tuple[float, ...]


class LevelIntervals:
    """The intervals of one model, one ``SwordIntervals`` for each level that was requested."""

    def __init__(self) -> None:
        self.by_level: dict[Level, SwordIntervals] = {}
        self._buffer: Matrix = np.empty((0, 2))
        """Predictions and targets; row ``_stop - 1`` is the newest."""
        self._stop = 0

    @property
    def pairs(self) -> Matrix:
        """The last predictions and their targets, oldest first, shape ``(n, 2)``."""
        return self._buffer[max(0, self._stop - MAX_PAIRS) : self._stop]

    def learn(self, predictions: Vector, targets: Vector, rows: Any) -> None:
        """Learn rows; each was predicted before it was learned."""
        predictions = clip_predictions(predictions)
        for intervals in self.by_level.values():
            intervals.learn_checked(predictions, targets, columns_for(intervals, rows))
        self._keep_pairs(predictions, targets)

    def interval_then_learn(
        self, level: Any, predictions: Vector, targets: Vector, rows: Any
    ) -> Array:
        """Learn rows, and return the interval of each as it was before its target was learned.

        Returns
        -------
        bounds
            Shape ``(T, 2)``; ``(T, levels, 2)`` for several levels.
        """
        predictions = clip_predictions(predictions)
        requested = self._of_level(level, rows)
        bounds = requested.learn_checked(predictions, targets, columns_for(requested, rows))
        for intervals in self.by_level.values():
            if intervals is not requested:
                intervals.learn_checked(predictions, targets, columns_for(intervals, rows))
        self._keep_pairs(predictions, targets)
        return bounds

    def intervals(self, level: Any, predictions: Vector, rows: Any) -> Array:
        """Return intervals of rows to come, each as if it were the next one, shape ``(T, 2)``."""
        intervals = self._of_level(level, rows)
        columns = None if intervals.columns is None else columns_for(intervals, rows)
        return intervals.intervals_checked(clip_predictions(predictions), columns)

    def learn_given(
        self,
        level: Any,
        predictions: Vector,
        targets: Vector,
        rows: Any,
        given: Array,
        late: Vector,
    ) -> None:
        """Learn targets that come late, by the intervals that were given for their rows.

        Parameters
        ----------
        level
            The one level of the intervals.
        predictions, targets, rows
            Predictions and targets, shape ``(T,)``, and the rows as the model sees them now.
        given
            Lower and upper ends as they were given, shape ``(T, 2)``.
        late
            Number of targets that were learned between interval and target, shape ``(T,)``.
        """
        predictions, intervals = clip_predictions(predictions), self._of_level(level, rows)
        columns = columns_for(intervals, rows)
        intervals.learn_checked(predictions, targets, columns, np.asarray(given)[:, None], late)
        self._keep_pairs(predictions, targets)

    def block_intervals(self, level: Any, predictions: Vector) -> Array:
        """Return intervals of a block of rows to come, all of the same width.

        Their half width is the quantile of the sizes of the kept residuals that split conformal
        prediction takes: of n sorted sizes the one at rank ceil(level (n + 1)); infinity if the
        rank is above n.
        """
        levels = SwordIntervals(level).level
        sizes = np.sort(np.abs(self.pairs[:, 1] - self.pairs[:, 0]))
        ranks = [
            math.ceil(each * (len(sizes) + 1)) for each in np.atleast_1d(np.array(levels)).tolist()
        ]
        radii = np.array([sizes[rank - 1] if rank <= len(sizes) else np.inf for rank in ranks])
        bounds = np.stack([predictions[:, None] - radii, predictions[:, None] + radii], axis=2)
        return bounds if isinstance(levels, tuple) else bounds[:, 0]

    def state(self) -> State:
        """Return the pairs and the intervals of each level, with names that begin with PREFIX."""
        flat: State = {f"{PREFIX}pairs": self.pairs.copy()}
        for index, (level, intervals) in enumerate(self.by_level.items()):
            flat |= add_prefix(f"{PREFIX}{index}", {"level": np.array(level)} | intervals.state())
        return flat

    @classmethod
    def from_state(cls, saved: Mapping[str, Any]) -> LevelIntervals:
        """Check the entries that :meth:`state` returned, and make the intervals again.

        Raises
        ------
        ValueError
            If an entry is missing, of another shape or out of its range.
        """
        restored = cls()
        pairs = np.array(saved[f"{PREFIX}pairs"], dtype=np.float64)
        if pairs.ndim != 2 or pairs.shape[1] != 2 or len(pairs) > MAX_PAIRS:
            raise ValueError(
                f"{PREFIX}pairs must have shape (n, 2) with n up to {MAX_PAIRS}, got {pairs.shape}."
            )
        check(f"{PREFIX}pairs", pairs, Field(-LARGEST_INPUT, LARGEST_INPUT))
        restored._keep_pairs(*pairs.T)
        while f"{PREFIX}{len(restored.by_level)}.level" in saved:
            entries = strip_prefix(f"{PREFIX}{len(restored.by_level)}", saved)
            intervals = SwordIntervals(np.asarray(entries.pop("level")).tolist())
            if intervals.level in restored.by_level:
                raise ValueError(f"{PREFIX}level must not repeat, got {intervals.level} twice.")
            intervals.load_state(entries)
            restored.by_level[intervals.level] = intervals
        return restored

    def _of_level(self, level: Any, rows: Any) -> SwordIntervals:
        """The intervals of a level; new ones first learn the kept pairs."""
        if isinstance(level, float) and level in self.by_level:
            return self.by_level[level]
        new = SwordIntervals(level)
        if new.level not in self.by_level:
            if len(self.pairs):
                width = rows.shape[1] if _has_few_columns(rows) else 0
                predictions, targets = self.pairs.T
                missing = np.full((len(targets), width), np.nan) if width else None
                new.interval_then_learn(predictions, targets, missing)
            self.by_level[new.level] = new
        return self.by_level[new.level]

    def _keep_pairs(self, predictions: Vector, targets: Vector) -> None:
        """Append the last of these pairs to the buffer."""
        count = min(len(predictions), MAX_PAIRS)
        if self._stop + count > len(self._buffer):
            # The new buffer is twice as long as needed, so that single rows seldom copy the pairs.
            kept = self.pairs
            self._buffer = np.empty((2 * (len(kept) + count), 2))
            self._buffer[: len(kept)] = kept
            self._stop = len(kept)
        new = self._buffer[self._stop : self._stop + count]
        new[:, 0] = predictions[len(predictions) - count :]
        new[:, 1] = targets[len(targets) - count :]
        self._stop += count


def clip_predictions(predictions: Vector) -> Vector:
    """Clip predictions to the range that intervals accept.

    Predictions may lie beyond it where targets are close to the largest allowed numbers.
    """
    if len(predictions) == 1 and -LARGEST_INPUT <= predictions[0] <= LARGEST_INPUT:
        return predictions
    return np.clip(predictions, -LARGEST_INPUT, LARGEST_INPUT)


def columns_for(intervals: SwordIntervals, rows: Any) -> Matrix | None:
    """Return the columns of rows that intervals learn from; None for none.

    Intervals are widened first if the rows have more columns than before.
    """
    known = intervals.columns
    if known == 0 or (known is None and not _has_few_columns(rows)):
        return None
    if not isinstance(rows, np.ndarray):  # sparse rows after dense ones
        rows = rows.toarray()
    if known is not None and MAX_COLUMNS >= rows.shape[1] > known:
        intervals.widen(rows.shape[1])
        known = rows.shape[1]
    if known is None or rows.shape[1] == known:
        return (
            rows
            if rows.flags.carray and rows.dtype == np.float64
            else np.require(rows, np.float64, ["C", "W"])
        )
    return np.require(rows[:, :known], np.float64, ["C", "W"])


def _has_few_columns(rows: Any) -> bool:
    return isinstance(rows, np.ndarray) and rows.shape[1] <= MAX_COLUMNS
