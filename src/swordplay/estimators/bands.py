"""Intervals beside the model of an estimator, learned from the first request for them on.

Before that the estimator only keeps its last predictions and truths. The first request for a level
replays them, without their columns, which are not kept.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from swordplay.core import state
from swordplay.core.arguments import LARGEST_INPUT
from swordplay.core.state import Field
from swordplay.core.types import Array, Matrix, State, Vector
from swordplay.intervals import SwordIntervals

MOST_PAIRS = 1000
"""Predictions and truths that are remembered."""
MOST_COLUMNS = 64
"""Of wider rows the intervals look at no column: most of them would be words, and none of much
use alone.
"""
PREFIX = "band."
"""How the names of all this begin in a file."""

Level = float | tuple[float, ...]


class Bands:
    """The intervals of one model: for each level that was asked for, and what a new one begins
    with.
    """

    def __init__(self) -> None:
        self.by_level: dict[Level, SwordIntervals] = {}
        self._held: Matrix = np.empty((0, 2))
        self._stop = 0

    @property
    def pairs(self) -> Matrix:
        """The last predictions and their truths, the oldest first, shape ``(n, 2)``."""
        return self._held[max(0, self._stop - MOST_PAIRS) : self._stop]

    def learn(self, predictions: Vector, targets: Vector, rows: Any) -> None:
        """Rows that were predicted, each before it was learned."""
        predictions = tame(predictions)
        for band in self.by_level.values():
            band.play_clean(predictions, targets, columns_for(band, rows))
        self._remember(predictions, targets)

    def interval_then_learn(
        self, level: Any, predictions: Vector, targets: Vector, rows: Any
    ) -> Array:
        """The same, and the intervals that a level would have given, shape ``(T, 2)``."""
        predictions = tame(predictions)
        asked = self._band(level, rows)
        bounds = asked.play_clean(predictions, targets, columns_for(asked, rows))
        for band in self.by_level.values():
            if band is not asked:
                band.play_clean(predictions, targets, columns_for(band, rows))
        self._remember(predictions, targets)
        return bounds

    def intervals(self, level: Any, predictions: Vector, rows: Any) -> Array:
        """Intervals of rows to come, each as if it were the next one, shape ``(T, 2)``."""
        band = self._band(level, rows)
        return band.play_clean(
            tame(predictions), None, None if band.columns is None else columns_for(band, rows)
        )

    def learn_given(
        self,
        level: Any,
        predictions: Vector,
        targets: Vector,
        rows: Any,
        given: Array,
        late: Vector,
    ) -> None:
        """Learn truths that come late: the intervals that were given count, whatever would be given
        now.

        Parameters
        ----------
        level
            The one level of the intervals.
        predictions, targets, rows
            What was predicted, shape ``(T,)``, the truths, and the rows as they are known now.
        given
            Lower and upper ends as they were given, shape ``(T, 2)``.
        late
            How many answers came between an interval and its truth, shape ``(T,)``.
        """
        predictions, band = tame(predictions), self._band(level, rows)
        band.play_clean(
            predictions, targets, columns_for(band, rows), np.asarray(given)[:, None], late
        )
        self._remember(predictions, targets)

    def of_block(self, level: Any, predictions: Vector) -> Array:
        """Intervals of a block of rows to come: by the quantile of the last residuals, as far from
        the first row as the last.

        The level's own rank among n residuals, as in split conformal prediction; infinite where
        there are too few of them.
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
        """All of it under names that begin with :data:`PREFIX`."""
        flat: State = {f"{PREFIX}pairs": self.pairs.copy()}
        for place, (level, band) in enumerate(self.by_level.items()):
            flat[f"{PREFIX}{place}.level"] = np.array(level)
            flat |= {f"{PREFIX}{place}.{name}": value for name, value in band.state().items()}
        return flat

    @classmethod
    def of_state(cls, saved: Mapping[str, Any]) -> Bands:
        """The intervals of a saved state, checked."""
        bands = cls()
        pairs = np.array(saved[f"{PREFIX}pairs"], dtype=np.float64)
        if pairs.ndim != 2 or pairs.shape[1] != 2 or len(pairs) > MOST_PAIRS:
            raise ValueError(
                f"{PREFIX}pairs must have shape (n, 2) with n up to {MOST_PAIRS}, got "
                f"{pairs.shape}."
            )
        state.check(f"{PREFIX}pairs", pairs, Field(-LARGEST_INPUT, LARGEST_INPUT))
        bands._remember(*pairs.T)
        place = 0
        while f"{PREFIX}{place}.level" in saved:
            own = f"{PREFIX}{place}."
            band = SwordIntervals(np.asarray(saved[f"{own}level"]).tolist())
            entries = {
                name.removeprefix(own): value
                for name, value in saved.items()
                if name.startswith(own)
            }
            del entries["level"]
            place += 1
            band.load_state(entries)
            bands.by_level[band.level] = band
        return bands

    def _band(self, level: Any, rows: Any) -> SwordIntervals:
        """The intervals of a level, begun with what is remembered if they are new."""
        if isinstance(level, float) and level in self.by_level:
            return self.by_level[level]
        fresh = SwordIntervals(level)
        if fresh.level not in self.by_level:
            if len(self.pairs):
                width = rows.shape[1] if _useful(rows) else 0
                predictions, targets = self.pairs.T
                fresh.interval_then_learn(
                    predictions, targets, np.full((len(targets), width), np.nan) if width else None
                )
            self.by_level[fresh.level] = fresh
        return self.by_level[fresh.level]

    def _remember(self, predictions: Vector, targets: Vector) -> None:
        count = min(len(predictions), MOST_PAIRS)
        if self._stop + count > len(
            self._held
        ):  # room for as many again, so that a row alone seldom copies them
            kept = self.pairs
            self._held, self._stop = np.empty((2 * (len(kept) + count), 2)), len(kept)
            self._held[: self._stop] = kept
        new = self._held[self._stop : self._stop + count]
        new[:, 0], new[:, 1] = (
            predictions[len(predictions) - count :],
            targets[len(targets) - count :],
        )
        self._stop += count


def tame(predictions: Vector) -> Vector:
    """Predictions as intervals take them.

    Of targets near the largest that are allowed, they may lie beyond.
    """
    if len(predictions) == 1 and -LARGEST_INPUT <= predictions[0] <= LARGEST_INPUT:
        return predictions
    return np.clip(predictions, -LARGEST_INPUT, LARGEST_INPUT)


def _useful(rows: Any) -> bool:
    return isinstance(rows, np.ndarray) and rows.shape[1] <= MOST_COLUMNS


def columns_for(band: SwordIntervals, rows: Any) -> Matrix | None:
    """The columns of rows that intervals look at.

    Those that a table gained since are new to them, too.
    """
    known = band.columns
    if known == 0 or (known is None and not _useful(rows)):
        return None
    if not isinstance(rows, np.ndarray):  # sparse rows among dense ones
        rows = rows.toarray()
    if known is not None and MOST_COLUMNS >= rows.shape[1] > known:
        band.widen(rows.shape[1])
        known = rows.shape[1]
    if known is None or rows.shape[1] == known:
        return (
            rows
            if rows.flags.carray and rows.dtype == np.float64
            else np.require(rows, np.float64, ["C", "W"])
        )
    return np.require(rows[:, :known], np.float64, ["C", "W"])
