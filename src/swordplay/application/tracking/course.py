"""The run as it went, in stretches of neighbouring rows: always few, whatever the number of rows.

A stretch ends after a whole number of widths, counted in rows, so that nothing depends on how the rows came in batches. When
there is no room for another stretch, neighbours are merged in pairs and the width doubles. Short runs have room for fewer: the
first stretches are short, and looking at the learner after each takes longer than learning its rows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from swordplay.application.tracking.coefficients import Now, Paths
from swordplay.application.tracking.contestants import BEST_STEP, Played
from swordplay.application.tracking.proven import Certified, Windows
from swordplay.application.tracking.rungs import COUNT, STEP_SIZES
from swordplay.application.tracking.story import Course, Moment
from swordplay.base import nested
from swordplay.base.types import State, Vector
from swordplay.estimators.head import Head
from swordplay.parts.learners.ageless import DEPTH

MOST, FIRST_WIDTH = 1024, 16
"""Stretches (a picture has hardly more columns, and each one costs a call), and rows of each as long as the run is short."""
FEW = 256
"""Stretches of a short run: twice as many as changes are looked for in (``changes.MOST_BLOCKS``)."""
EVERY = 2
"""Stretches between two looks at the coefficients: forming them costs more than anything else that is kept. With half as many
looks, the lasting changes of ten years of bikes went unseen: a look is noisy."""
MOST_MOMENTS = 20
NEIGHBOURHOOD = 1.0 / 200.0
"""Of the run: of two rows that lie nearer to each other, the worse one is named."""
POOL: Vector = 2.0 ** np.arange(1.0 - DEPTH, 1.0)
"""Step sizes of the learner's experts, ascending,"""
LOGARITHMS: Vector = np.log(POOL)
"""and their logarithms."""


class Sample(NamedTuple):
    """The learner at one moment, the mean over its models."""

    weights: Vector
    effective: float
    extra: float
    optimism: float


def sample(models: Sequence[Head]) -> Sample:
    """How the experts of some models are weighed now: first the extra-gradient ones, then the others, both descending."""
    shares = sum((model.weights for model in models), start=np.zeros(2 * DEPTH)) / len(models)
    weights = (shares[:DEPTH] + shares[DEPTH:])[::-1]
    optimism = sum(model.trust for model in models) / len(models)
    return Sample(weights, math.exp(weights @ LOGARITHMS), float(shares[:DEPTH].sum()), optimism)


SUMS = ("errors", "rungs", "figures")
LOWS, HIGHS = ("lowest", "low"), ("highest", "high")
LATEST = ("times", *Sample._fields)
ARRAYS = (*SUMS, *LOWS, *HIGHS, *LATEST)


@final
class Recorder:
    """Stretches that are closed, and the one that is open.

    Parameters
    ----------
    names
        The learner and the baselines.
    figures
        What else is summed (see ``Contestants.figures``).
    values
        How many values of each row extremes are kept of: the columns of ``Played.values``.
    """

    def __init__(self, names: Sequence[str], figures: Sequence[str] = (), values: int = 0) -> None:
        self.names, self.figure_names = tuple(names), tuple(figures)
        self.width, self.closed = FIRST_WIDTH, 0
        self.errors = np.zeros((MOST + 1, len(self.names)))  # the row after the closed ones is the open stretch
        self.rungs = np.zeros((MOST + 1, COUNT))
        self.figures = np.zeros((MOST + 1, len(self.figure_names)))
        self.highest, self.lowest = np.full(MOST + 1, -np.inf), np.full(MOST + 1, np.inf)
        self.high, self.low = np.full((MOST + 1, values), -np.inf), np.full((MOST + 1, values), np.inf)
        self.times = np.full(MOST + 1, np.nan)
        self.began = math.nan
        """The first time on record."""
        self.weights = np.zeros((MOST + 1, len(POOL)))
        self.effective, self.extra, self.optimism = np.zeros(MOST + 1), np.zeros(MOST + 1), np.zeros(MOST + 1)
        self.paths = Paths(MOST // EVERY)
        self.moments: list[Moment | None] = [None]
        """The worst row of each stretch."""
        self.open = 0
        """Rows in the open stretch."""
        self.windows = Windows()
        """What was proven of larger stretches."""

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

    def add(self, played: Played, times: Vector | None, moment: Callable[[int], Moment]) -> None:
        """Put rows on record, no more than there is room for.

        Parameters
        ----------
        played
            What everybody said and lost.
        times
            When the rows that were learned happened, in milliseconds since 1970, NaN where unknown; None if all are.
        moment
            Tells about one of them by its place.
        """
        here, worst = self.closed, int(played.losses.argmax())
        # One by one, as in values.py: numpy's own sum would depend on where the rows were cut.
        split = len(self.names)
        both = np.empty((split + len(self.figure_names), 1 + len(played.losses)))
        both[:split, 0], both[split:, 0] = self.errors[here], self.figures[here]
        both[:split, 1:], both[split:, 1:] = played.errors.T, played.figures.T
        sums = np.add.accumulate(both, axis=1, out=both)[:, -1]
        self.errors[here], self.figures[here] = sums[:split], sums[split:]
        if self.high.shape[1]:
            np.maximum(self.high[here], played.values.max(axis=0), out=self.high[here])
            np.minimum(self.low[here], played.values.min(axis=0), out=self.low[here])
        if times is not None and len(known := times[~np.isnan(times)]):
            self.times[here] = known[-1]
            self.began = float(known[0]) if math.isnan(self.began) else self.began
        if played.losses[worst] > self.highest[here]:
            self.highest[here] = played.losses[worst]
            self.moments[here] = moment(worst)
        self.lowest[here] = min(self.lowest[here], played.losses.min())
        self.open += len(played.losses)
        self.windows.add(played)

    def close(self, now: Sample, coefficients: Callable[[], Now], standing: Certified = lambda: None) -> None:
        """Close the open stretch, whose rows are complete; the last two are asked for after a few stretches only."""
        if not (self.closed + 1) % EVERY:
            self.paths.put((self.closed + 1) // EVERY - 1, coefficients())
        here = self.closed
        self.weights[here], self.effective[here], self.extra[here], self.optimism[here] = now
        self.closed, self.open = here + 1, 0
        self.windows.look(self.rows, float(self.times[here]), standing)
        self.moments.append(None)
        # Looks at the coefficients are merged in pairs, too, so the stretches up to the last look have to be.
        while self.closed >= room_for(self.width) and not self.closed % (2 * EVERY):
            self._merge()

    def _clear(self, places: slice) -> None:
        """Make places as they were before any row; those beyond the open stretch always are."""
        for names, value in ((SUMS, 0.0), (LOWS, np.inf), (HIGHS, -np.inf), (LATEST, 0.0)):
            for name in names:
                getattr(self, name)[places] = value
        self.times[places] = np.nan

    def _merge(self) -> None:
        """Neighbours become one stretch: sums are added, extremes kept, samples those of the later one."""
        count = self.closed
        half = count // 2
        self.times[1:count:2] = np.where(np.isnan(self.times[1:count:2]), self.times[0:count:2], self.times[1:count:2])
        earlier = self.highest[0:count:2] >= self.highest[1:count:2]
        self.moments = [self.moments[2 * k + (0 if earlier[k] else 1)] for k in range(half)] + [None]
        for names, joined in ((SUMS, np.add), (LOWS, np.minimum), (HIGHS, np.maximum), (LATEST, _later)):
            for name in names:
                values = getattr(self, name)
                values[:half] = joined(values[0:count:2], values[1:count:2])
        self.paths.merge(half // EVERY)
        self.closed, self.width = half, 2 * self.width
        self._clear(slice(half, count + 1))

    def totals(self) -> tuple[dict[str, float], float]:
        """Sum of the losses of everybody so far, and the step size that lost least of all single ones."""
        stop = self.closed + 1
        sums = self.errors[:stop].sum(axis=0).tolist()
        rungs = self.rungs[:stop].sum(axis=0)
        best = int(rungs.argmin())
        return {**dict(zip(self.names, sums, strict=True)), BEST_STEP: float(rungs[best])}, float(STEP_SIZES[best])

    def course(self, now: Sample, coefficients: Now) -> Course:
        """The run so far, the open stretch included."""
        stop = self.closed + (1 if self.open else 0)
        best = int(self.rungs[:stop].sum(axis=0).argmin())
        losses = {name: self.errors[:stop, k].copy() for k, name in enumerate(self.names)}
        losses[BEST_STEP] = self.rungs[:stop, best].copy()
        samples = {
            name: np.concatenate([getattr(self, name)[: self.closed], [getattr(now, name)]])[:stop] for name in Sample._fields
        }
        looked = self.closed // EVERY
        marks = np.unique(np.append(EVERY * np.arange(1, looked + 1), stop))  # the learner is looked at now, too
        return Course(
            ends=np.minimum(self.width * np.arange(1.0, stop + 1.0), self.rows),
            losses=losses,
            **{name: getattr(self, name)[:stop].copy() for name in (*HIGHS, *LOWS)},
            **samples,
            figures={name: self.figures[:stop, k].copy() for k, name in enumerate(self.figure_names)},
            times=np.concatenate([[self.began], self.times[:stop]]),
            marks=marks[marks > 0],
            coefficients=self.paths.told(looked, coefficients)[: int((marks > 0).sum())],
        )

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
        counts = {"width": self.width, "closed": self.closed, "open": self.open, "began": self.began}
        windows = nested.put("windows", self.windows.state())
        return {**arrays, **self.paths.state(self.closed // EVERY), **counts, "moments": moments, **windows}

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        self.width, self.closed, self.open = (int(saved[name]) for name in ("width", "closed", "open"))
        self.began = float(saved["began"])
        for name in ARRAYS:
            mine = getattr(self, name)[: self.closed + 1]
            if np.shape(saved[name]) != mine.shape:  # numpy would repeat a single row
                raise ValueError(f"recorder.{name} has shape {np.shape(saved[name])} instead of {mine.shape}.")
            mine[:] = saved[name]
        self.paths.load_state(_looked(saved, self.closed), self.closed // EVERY)
        self.windows.load_state(nested.take("windows", saved))
        self.moments = [None if one is None else Moment(*one) for one in json.loads(saved["moments"])]


def room_for(width: int) -> int:
    """How many stretches of a width there may be: the wider they are, the less a look at the learner costs a row."""
    return min(MOST, max(FEW, 2 * width))


def _later(earlier: Vector, later: Vector) -> Vector:
    return later


def _looked(saved: Mapping[str, Any], closed: int) -> Mapping[str, Any]:
    """A state with a look at the coefficients after EVERY stretches; earlier ones were taken half as often.

    Such a look stands for the one before it, too, and the last one for what came after it.
    """
    given = np.asarray(saved["coefficients"])
    if given.ndim != 3 or len(given) == closed // EVERY or len(given) != closed // (2 * EVERY):
        return saved
    looks = np.full((closed // EVERY, *given.shape[1:]), np.nan, dtype=given.dtype)
    looks[: 2 * len(given)] = np.repeat(given, 2, axis=0)
    looks[2 * len(given) :] = given[-1] if len(given) else np.nan
    return {**saved, "coefficients": looks}
