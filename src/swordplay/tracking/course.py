"""The run as it went, in stretches of neighbouring rows: always few, whatever the number of rows.

A stretch ends after a whole number of widths, counted in rows, so that nothing depends on how the
rows came in batches (``stretches``). When there is no room for another stretch, neighbours are
merged in pairs and the width doubles. Short runs have room for fewer: the first stretches are
short, and looking at the learner after each takes longer than learning its rows.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, final

import numpy as np

from swordplay.core.state import ROW_COUNT_RANGE, Field, OneOf, check, damaged, fits_json
from swordplay.core.types import Matrix, State, Vector
from swordplay.tracking.coefficients import Now, Paths
from swordplay.tracking.contestants import BEST_STEP, Played
from swordplay.tracking.looks import POOL, CoefficientSample, LearnerSnapshot
from swordplay.tracking.ranges import SHARE, SUM, TIME, TOTAL, VAST
from swordplay.tracking.rungs import COUNT, STEP_SIZES, Places
from swordplay.tracking.story import Course, WorstRow
from swordplay.tracking.stretches import EVERY, FIRST_WIDTH, MOST, Grid, is_full, room_for

MOST_MOMENTS = 20
NEIGHBOURHOOD = 1.0 / 200.0
"""Of the run: of two rows that lie nearer to each other, the worse one is named."""
SUMS = ("errors", "rungs", "figures")
LOWS, HIGHS = ("lowest", "low"), ("highest", "high")
LATEST = ("times", *CoefficientSample._fields)
ARRAYS = (*SUMS, *LOWS, *HIGHS, *LATEST)
RANGES = {
    "errors": SUM,
    "rungs": SUM,
    "figures": TOTAL,
    "lowest": Field(0.0, math.inf),
    "low": Field(-VAST, math.inf),
    "highest": Field(-math.inf, VAST),
    "high": Field(-math.inf, VAST),
    "times": TIME,
    "weights": SHARE,
    "effective": SHARE,
    "extra": SHARE,
    "optimism": SHARE,
}
"""Values of each array in a saved state."""
FINITE = Field(-sys.float_info.max, sys.float_info.max)
MOMENT = (int, str, str, FINITE, {str: str}, int, OneOf((None, FINITE)))
"""Shape of a saved :class:`WorstRow`, in the order of its fields."""


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
        self.errors = np.zeros(
            (MOST + 1, len(self.names))
        )  # the row after the closed ones is the open stretch
        self.rungs = np.zeros((MOST + 1, COUNT))
        self.figures = np.zeros((MOST + 1, len(self.figure_names)))
        self.highest, self.lowest = np.full(MOST + 1, -np.inf), np.full(MOST + 1, np.inf)
        self.high, self.low = (
            np.full((MOST + 1, values), -np.inf),
            np.full((MOST + 1, values), np.inf),
        )
        self.times = np.full(MOST + 1, np.nan)
        self.began = math.nan
        """The first time on record."""
        self.weights = np.zeros((MOST + 1, len(POOL)))
        self.effective, self.extra, self.optimism = (
            np.zeros(MOST + 1),
            np.zeros(MOST + 1),
            np.zeros(MOST + 1),
        )
        self.paths = Paths(MOST // EVERY)
        self.moments: list[WorstRow | None] = [None]
        """The worst row of each stretch,"""
        self._untold: dict[int, int] = {}
        """and its place, by that of the stretch, where it has still to be told of."""
        self.open = 0
        """Rows in the open stretch."""

    @property
    def rows(self) -> int:
        """Rows on record."""
        return self.closed * self.width + self.open

    @property
    def grid(self) -> Grid:
        """How the rows lie in stretches."""
        return Grid(self.width, self.closed, self.open)

    def together(self, rows: int) -> int:
        """How many of so many further rows are put on record together."""
        return self.grid.together(rows)

    def rungs_of(self, rows: int) -> Places:
        """Where losses of single step sizes are to be added, for so many rows that are put on
        record next.
        """
        stretches = -(-(self.open + rows) // self.width)
        return Places(self.rungs[self.closed : self.closed + stretches], self.open, self.width)

    def add(self, played: Played, times: Vector | None, at: int = 0) -> None:
        """Put rows on record, as many as belong together, and close the stretches that they
        complete.

        Parameters
        ----------
        played
            What everybody said and lost.
        times
            When the rows that were learned happened, in milliseconds since 1970, NaN where unknown;
            None if all are.
        at
            The place of the first of them, by which the worst ones are told of (:meth:`tell`).
        """
        count = len(played.losses)
        stretches = max(1, count // self.width)
        wide, here = count // stretches, slice(self.closed, self.closed + stretches)
        # One by one, as in values.py: numpy's own sum would depend on where the rows were cut.
        split = len(self.names)
        both = np.empty((split + len(self.figure_names), stretches, 1 + wide))
        both[:split, :, 0], both[split:, :, 0] = self.errors[here].T, self.figures[here].T
        both[:split, :, 1:] = played.errors.T.reshape(split, stretches, wide)
        both[split:, :, 1:] = played.figures.T.reshape(-1, stretches, wide)
        sums = np.add.accumulate(both, axis=2, out=both)[:, :, -1]
        self.errors[here], self.figures[here] = sums[:split].T, sums[split:].T
        if kinds := self.high.shape[1]:
            values = played.values.T.reshape(kinds, stretches, wide)
            np.maximum(self.high[here], values.max(axis=2).T, out=self.high[here])
            np.minimum(self.low[here], values.min(axis=2).T, out=self.low[here])
        if times is not None:
            self._date(times.reshape(stretches, wide))
        losses = played.losses.reshape(stretches, wide)
        worst = losses.argmax(axis=1)
        most = losses[np.arange(stretches), worst]
        for k in np.flatnonzero(most > self.highest[here]).tolist():
            self.highest[self.closed + k] = most[k]
            self._untold[self.closed + k] = at + k * wide + int(worst[k])
        np.minimum(self.lowest[here], losses.min(axis=1), out=self.lowest[here])
        self.open += count

    def _date(self, times: Matrix) -> None:
        """When the stretches of rows, shape ``(n, w)``, ended, as far as anybody knows."""
        for place, some in enumerate(times, start=self.closed):
            if len(known := some[~np.isnan(some)]):
                self.times[place] = known[-1]
                self.began = float(known[0]) if math.isnan(self.began) else self.began

    def close(self, looks: Mapping[int, LearnerSnapshot]) -> None:
        """Close the stretches whose rows are complete.

        Parameters
        ----------
        looks
            At the learner, by rows on record. There has to be one at the end of each stretch that
            is still there when all is said that is told at once: what was looked at in between is
            gone with the next merge.
        """
        count = self.open // self.width
        if not count:
            return
        first = self.rows - self.open
        for here in range(self.closed, self.closed + count):
            look = looks.get(first + (here + 1 - self.closed) * self.width)
            if look is not None:
                self.weights[here], self.effective[here], self.extra[here], self.optimism[here] = (
                    look.sample
                )
            if look is not None and look.coefficients is not None and not (here + 1) % EVERY:
                self.paths.put((here + 1) // EVERY - 1, look.coefficients)
        self.closed, self.open = self.closed + count, self.open % self.width
        self.moments += [None] * count
        while is_full(self.width, self.closed):
            self._merge()

    def tell(self, moments: Callable[[list[int]], Iterable[WorstRow]]) -> None:
        """Let somebody tell about the worst rows by their places.

        Until then nobody knows more of them.
        """
        for here, moment in zip(self._untold, moments(list(self._untold.values())), strict=True):
            self.moments[here] = moment
        self._untold = {}

    def _clear(self, places: slice) -> None:
        """Make places as they were before any row; those beyond the open stretch always are."""
        for names, value in ((SUMS, 0.0), (LOWS, np.inf), (HIGHS, -np.inf), (LATEST, 0.0)):
            for name in names:
                getattr(self, name)[places] = value
        self.times[places] = np.nan

    def _merge(self) -> None:
        """Neighbours become one stretch: sums are added, extremes kept, samples those of the
        later one.
        """
        count = self.closed
        half = count // 2
        self.times[1:count:2] = np.where(
            np.isnan(self.times[1:count:2]), self.times[0:count:2], self.times[1:count:2]
        )
        earlier = self.highest[0:count:2] >= self.highest[1:count:2]
        worse = [2 * k + (0 if earlier[k] else 1) for k in range(half)]
        self.moments = [*(self.moments[k] for k in worse), None]
        self._untold = {here: self._untold[k] for here, k in enumerate(worse) if k in self._untold}
        for names, joined in (
            (SUMS, np.add),
            (LOWS, np.minimum),
            (HIGHS, np.maximum),
            (LATEST, _later),
        ):
            for name in names:
                values = getattr(self, name)
                values[:half] = joined(values[0:count:2], values[1:count:2])
        self.paths.merge(half // EVERY)
        self.closed, self.width = half, 2 * self.width
        self._clear(slice(half, count + 1))

    def totals(self) -> tuple[dict[str, float], float]:
        """Sum of the losses of everybody so far, and the step size that lost least of all single
        ones.
        """
        stop = self.closed + 1
        sums = self.errors[:stop].sum(axis=0).tolist()
        rungs = self.rungs[:stop].sum(axis=0)
        best = int(rungs.argmin())
        return {**dict(zip(self.names, sums, strict=True)), BEST_STEP: float(rungs[best])}, float(
            STEP_SIZES[best]
        )

    def course(self, now: CoefficientSample, coefficients: Now) -> Course:
        """The run so far, the open stretch included."""
        stop = self.closed + (1 if self.open else 0)
        best = int(self.rungs[:stop].sum(axis=0).argmin())
        losses = {name: self.errors[:stop, k].copy() for k, name in enumerate(self.names)}
        losses[BEST_STEP] = self.rungs[:stop, best].copy()
        samples = {
            name: np.concatenate([getattr(self, name)[: self.closed], [getattr(now, name)]])[:stop]
            for name in CoefficientSample._fields
        }
        looked = self.closed // EVERY
        marks = np.unique(
            np.append(EVERY * np.arange(1, looked + 1), stop)
        )  # the learner is looked at now, too
        return Course(
            ends=np.minimum(self.width * np.arange(1.0, stop + 1.0), self.rows),
            losses=losses,
            **{name: getattr(self, name)[:stop].copy() for name in (*HIGHS, *LOWS)},
            **samples,
            figures={
                name: self.figures[:stop, k].copy() for k, name in enumerate(self.figure_names)
            },
            times=np.concatenate([[self.began], self.times[:stop]]),
            marks=marks[marks > 0],
            coefficients=self.paths.told(looked, coefficients)[: int((marks > 0).sum())],
        )

    def worst(self, rows: int) -> tuple[WorstRow, ...]:
        """The worst rows, no two of them neighbours; ``rows`` is the length of the input."""
        chosen: list[WorstRow] = []
        for one in sorted(filter(None, self.moments), key=lambda one: (-one.loss, one.row)):
            if len(chosen) < MOST_MOMENTS and all(
                abs(one.row - other.row) >= NEIGHBOURHOOD * rows for other in chosen
            ):
                chosen.append(one)
        return tuple(chosen)

    def state(self) -> State:
        """All that the next row needs."""
        arrays = {name: getattr(self, name)[: self.closed + 1].copy() for name in ARRAYS}
        moments = json.dumps([None if one is None else list(one) for one in self.moments])
        counts = {
            "width": self.width,
            "closed": self.closed,
            "open": self.open,
            "began": self.began,
        }
        return {
            **arrays,
            **self.paths.state(self.closed // EVERY),
            **counts,
            "moments": moments,
        }

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        self.width, self.closed, self.open = (
            int(saved[name]) for name in ("width", "closed", "open")
        )
        self.began = float(saved["began"])
        for name in ARRAYS:
            mine = getattr(self, name)[: self.closed + 1]
            if np.shape(saved[name]) != mine.shape:  # numpy would repeat a single row
                raise ValueError(
                    f"recorder.{name} has shape {np.shape(saved[name])} instead of {mine.shape}."
                )
            mine[:] = saved[name]
        self.paths.load_state(saved, self.closed // EVERY)
        self.moments = [
            None if one is None else WorstRow(*one) for one in json.loads(saved["moments"])
        ]
        self._untold = {}

    def check(self) -> None:
        """Check a saved recorder: stretches of one width, none of them empty but the open one.

        Raises
        ------
        ValueError
            Names what is wrong.
        """
        check("recorder.width", self.width, Field(FIRST_WIDTH, ROW_COUNT_RANGE.high, whole=True))
        if self.width % FIRST_WIDTH or (self.width // FIRST_WIDTH).bit_count() != 1:
            raise damaged(f"recorder.width is {self.width}")
        check("recorder.closed", self.closed, Field(0, room_for(self.width) - 1, whole=True))
        check("recorder.open", self.open, Field(0, self.width - 1, whole=True))
        stop = self.closed + 1
        for name in ARRAYS:
            check(f"recorder.{name}", getattr(self, name)[:stop], RANGES[name])
        check("recorder.began", self.began, TIME)
        moments = [None if one is None else list(one) for one in self.moments]
        if len(moments) != stop or not fits_json(moments, [OneOf((None, MOMENT))]):
            raise damaged("recorder.moments are not those of its stretches")


def _later(earlier: Vector, later: Vector) -> Vector:
    return later
