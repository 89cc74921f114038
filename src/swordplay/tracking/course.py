"""The run as it went, in stretches of neighbouring rows: always few, whatever the number of rows.

A stretch ends after a whole number of widths, counted in rows, so that nothing depends on how the rows came in batches. When
there is no room for another stretch, neighbours are merged in pairs and the width doubles.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from swordplay.engine.layout import LIVE
from swordplay.estimators.model import LinearModel
from swordplay.learners.ageless import DEPTH
from swordplay.tracking.contestants import BEST_STEP, Played
from swordplay.tracking.rungs import COUNT, STEP_SIZES
from swordplay.tracking.story import Course, Moment
from swordplay.types import State, Vector

MOST, FIRST_WIDTH = 1024, 16
"""Stretches (a picture has hardly more columns, and each one costs a call), and rows of each as long as the run is short."""
MOST_MOMENTS = 20
NEIGHBOURHOOD = 1.0 / 200.0
"""Of the run: of two rows that lie nearer to each other, the worse one is named."""
POOL: Vector = 2.0 ** np.arange(1.0 - DEPTH, 1.0)
"""Step sizes of the learner's experts, ascending."""


class Sample(NamedTuple):
    """The learner at one moment, the mean over its models."""

    weights: Vector
    effective: float
    extra: float
    optimism: float


def sample(models: Sequence[LinearModel]) -> Sample:
    """How the experts of some models are weighed now: first the extra-gradient ones, then the others, both descending."""
    shares = sum((model.weights for model in models), start=np.zeros(2 * DEPTH)) / len(models)
    weights = (shares[:DEPTH] + shares[DEPTH:])[::-1]
    optimism = sum(float(model.engine.memory.live[LIVE.trust]) for model in models) / len(models)
    return Sample(weights, math.exp(weights @ np.log(POOL)), float(shares[:DEPTH].sum()), optimism)


ARRAYS = ("errors", "rungs", "highest", "lowest", *Sample._fields)


@final
class Recorder:
    """Stretches that are closed, and the one that is open.

    Parameters
    ----------
    names
        The learner and the baselines.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.width, self.closed = FIRST_WIDTH, 0
        self.errors = np.zeros((MOST + 1, len(self.names)))  # the row after the closed ones is the open stretch
        self.rungs = np.zeros((MOST + 1, COUNT))
        self.highest, self.lowest = np.full(MOST + 1, -np.inf), np.full(MOST + 1, np.inf)
        self.weights = np.zeros((MOST + 1, len(POOL)))
        self.effective, self.extra, self.optimism = np.zeros(MOST + 1), np.zeros(MOST + 1), np.zeros(MOST + 1)
        self.moments: list[Moment | None] = [None]
        """The worst row of each stretch."""
        self.open = 0
        """Rows in the open stretch."""

    @property
    def rows(self) -> int:
        """Rows on record."""
        return self.closed * self.width + self.open

    @property
    def room(self) -> int:
        """Rows that the open stretch has left."""
        return self.width - self.open

    @property
    def open_rungs(self) -> Vector:
        """Where losses of single step sizes are to be added."""
        return np.asarray(self.rungs[self.closed])

    def add(self, played: Played, moment: Callable[[int], Moment]) -> None:
        """Put rows on record, no more than there is room for; ``moment(k)`` tells about row k of them."""
        here, worst = self.closed, int(played.losses.argmax())
        # One by one, as in values.py: numpy's own sum would depend on where the rows were cut.
        self.errors[here] = np.cumsum(np.vstack([self.errors[here], played.errors]), axis=0)[-1]
        if played.losses[worst] > self.highest[here]:
            self.highest[here] = played.losses[worst]
            self.moments[here] = moment(worst)
        self.lowest[here] = min(self.lowest[here], played.losses.min())
        self.open += len(played.losses)

    def close(self, now: Sample) -> None:
        """Close the open stretch, whose rows are complete."""
        for name, value in now._asdict().items():
            getattr(self, name)[self.closed] = value
        self.closed, self.open = self.closed + 1, 0
        self.moments.append(None)
        if self.closed == MOST:
            self._merge()
        self._clear(self.closed)

    def _clear(self, here: int) -> None:
        for name in ARRAYS:
            getattr(self, name)[here] = 0.0
        self.highest[here], self.lowest[here] = -np.inf, np.inf

    def _merge(self) -> None:
        """Neighbours become one stretch: sums are added, extremes kept, samples those of the later one."""
        half = MOST // 2
        for sums in (self.errors, self.rungs):
            sums[:half] = sums[0:MOST:2] + sums[1:MOST:2]
        for name in Sample._fields:
            getattr(self, name)[:half] = getattr(self, name)[1:MOST:2]
        earlier = self.highest[0:MOST:2] >= self.highest[1:MOST:2]
        self.moments = [self.moments[2 * k + (0 if earlier[k] else 1)] for k in range(half)] + [None]
        self.highest[:half] = np.maximum(self.highest[0:MOST:2], self.highest[1:MOST:2])
        self.lowest[:half] = np.minimum(self.lowest[0:MOST:2], self.lowest[1:MOST:2])
        self.closed, self.width = half, 2 * self.width

    def totals(self) -> tuple[dict[str, float], float]:
        """Sum of the losses of everybody so far, and the step size that lost least of all single ones."""
        stop = self.closed + 1
        sums = self.errors[:stop].sum(axis=0).tolist()
        rungs = self.rungs[:stop].sum(axis=0)
        best = int(rungs.argmin())
        return {**dict(zip(self.names, sums, strict=True)), BEST_STEP: float(rungs[best])}, float(STEP_SIZES[best])

    def course(self, now: Sample) -> Course:
        """The run so far, the open stretch included."""
        stop = self.closed + (1 if self.open else 0)
        ends = np.minimum(self.width * np.arange(1.0, stop + 1.0), self.rows)
        best = int(self.rungs[:stop].sum(axis=0).argmin())
        losses = {name: self.errors[:stop, k].copy() for k, name in enumerate(self.names)}
        losses[BEST_STEP] = self.rungs[:stop, best].copy()
        extremes = self.highest[:stop].copy(), self.lowest[:stop].copy()
        samples = (np.concatenate([getattr(self, name)[: self.closed], [getattr(now, name)]])[:stop] for name in Sample._fields)
        return Course(ends, losses, *extremes, *samples)

    def worst(self, rows: int) -> tuple[Moment, ...]:
        """The worst rows, no two of them neighbours; ``rows`` is the length of the input."""
        chosen: list[Moment] = []
        for one in sorted(filter(None, self.moments), key=lambda one: (-one.loss, one.row)):
            if len(chosen) < MOST_MOMENTS and all(abs(one.row - other.row) >= NEIGHBOURHOOD * rows for other in chosen):
                chosen.append(one)
        return tuple(chosen)

    def state(self) -> State:
        """All that the next row needs."""
        arrays = {name: getattr(self, name)[: self.closed + 1].copy() for name in ARRAYS}
        moments = json.dumps([None if one is None else list(one) for one in self.moments])
        return {**arrays, "width": self.width, "closed": self.closed, "open": self.open, "moments": moments}

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        self.width, self.closed, self.open = (int(saved[name]) for name in ("width", "closed", "open"))
        for name in ARRAYS:
            mine = getattr(self, name)[: self.closed + 1]
            if np.shape(saved[name]) != mine.shape:  # numpy would repeat a single row
                raise ValueError(f"recorder.{name} has shape {np.shape(saved[name])} instead of {mine.shape}.")
            mine[:] = saved[name]
        self.moments = [None if one is None else Moment(*one) for one in json.loads(saved["moments"])]
