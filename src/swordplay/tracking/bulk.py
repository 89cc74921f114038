"""Many series in one table of numbers: all learners lie in one array, and one compiled call plays
the rows of all of them.

The predictions are those of ``KeyedTracker``, which has a whole tracker for every key, a hundred
times slower and larger: where a table has words or classes, each key needs one. The intervals look
at predictions and targets only, and not at the columns.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any, Self, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from swordplay.core.types import Matrix, State, Vector
from swordplay.keyed.crew import Crew
from swordplay.keyed.group import Group
from swordplay.keyed.growing import Growing
from swordplay.keyed.record import Form
from swordplay.keyed.turns import turns
from swordplay.tables import Refusal
from swordplay.tables.column_plans import EMPTY
from swordplay.tables.encoder import Encoder
from swordplay.tracking import keyed_story
from swordplay.tracking.band import FIGURES
from swordplay.tracking.bulk_bands import BulkBands
from swordplay.tracking.bulk_state import read, written
from swordplay.tracking.date_order import OrderRemark
from swordplay.tracking.keyed import KeyedTracker
from swordplay.tracking.keyed_story import Key, KeyedStory, Lines
from swordplay.tracking.known_keys import KnownKeys
from swordplay.tracking.story import Intervals, Task
from swordplay.tracking.telling import intervals_of
from swordplay.tracking.tracker import Tracked
from swordplay.tracking.values import ValueContestants

KINDS = ("number", "truth", "date", "date and time", "time", "left out")
"""What columns may be."""
AT_ONCE = 1 << 20
"""Rows that are best learned together: ten of each of a hundred thousand keys.

Each key is taken from memory once for them.
"""
FEWER, MANY_KEYS = 1 << 17, 1 << 14
"""Rows that suffice where there are not so many keys: the sooner one can tell how it goes, save
and stop.
"""
ROOM = 1 << 27
"""Bytes of such rows as numbers, at the most."""
SLICE = 1 << 13
"""Rows that are made into numbers at a time: they stay in the cache of a processor."""
THREADS = 2
"""Others read ahead and write behind."""


def fits(keyed: KeyedTracker) -> bool:
    """Whether the keys of a table can be tracked in bulk: a regression on numbers, truths and
    dates.
    """
    return not keyed.recognised.of_classes and not slow(keyed)


def slow(keyed: KeyedTracker) -> list[str]:
    """Columns that keep a table from being tracked in bulk: words, whose categories are each
    key's own, and empty ones.
    """
    return [one.name for one in keyed.plans if one.kind not in KINDS or one.why == EMPTY]


@final
class BulkTracker:
    """Learners and baselines of many keys, with the interface of one tracker.

    Parameters
    ----------
    like
        A tracker of the same table that has learned nothing: what was decided by the first rows.
    """

    def __init__(self, like: KeyedTracker) -> None:
        self.like = like
        self.settings, self.recognised, self.kind, self.plans = (
            like.settings,
            like.recognised,
            like.kind,
            like.plans,
        )
        self.fields, self.predictions = like.fields, like.predictions
        self.encoder = Encoder(like.plans, 0, False)
        """One for all keys: numbers need no categories of their own.

        Columns that appear late do not join.
        """
        self.late: list[str] = []
        """Those that have appeared."""
        form = Form(self.encoder.width, like.settings.loss, like.settings.columns_of_lags)
        threads = min(THREADS, len(os.sched_getaffinity(0)))
        self.group, self._crew = Group(form, 1), Crew(form, threads)
        self.known = KnownKeys(self.group)
        self.bands = (
            None if like.settings.level is None else BulkBands(like.settings.level, threads)
        )
        self.last_targets, self.totals = Growing(np.empty(0)), Growing(np.empty(0))
        self.counts, self.sums = Growing(np.empty(0, dtype=np.int64)), Growing(np.empty((0, 3)))
        self._room = np.empty((0, self.encoder.width))
        self.rows = self.unlabelled = self.refused = self.last = 0
        self.numbering: NDArray[np.int64] | None = None

    @property
    def schema(self) -> Any:
        """The pyarrow schema of the predictions: the key comes behind the number of the row."""
        return self.like.schema

    @property
    def task(self) -> Task:
        """Always a regression."""
        return self.recognised.task

    @property
    def at_once(self) -> int:
        """Rows to be learned together.

        Of a table that has just begun nobody knows how many keys it has.
        """
        rows = FEWER if 0 < len(self.group.places) < MANY_KEYS else AT_ONCE
        return max(1, min(rows, ROOM // (8 * max(1, self.encoder.width))))

    @property
    def started(self) -> bool:
        """Whether anything was learned."""
        return bool(self.counts.all.any())

    @property
    def effective_step_size(self) -> float:
        """Geometric mean over all keys; NaN before the first row."""
        weights, steps = self.group.weights()
        used = weights[self.counts.all > 0]
        return float(np.exp((used @ np.log(steps)).mean())) if len(used) else math.nan

    def strange(self, batch: Any) -> dict[int, str]:
        """Which rows of a batch cannot be used, whatever their key, and why."""
        return self.like.strange(batch)

    def usable(
        self, batch: Any, numbers: NDArray[np.int64]
    ) -> tuple[Any, NDArray[np.int64], tuple[Refusal, ...]]:
        """The rows that can be used, whatever their key, and refusals of the others, by their
        numbers in the input.
        """
        self.like.numbering = self.numbering
        return self.like.usable(batch, numbers)

    def track(self, batch: Any, numbers: NDArray[np.int64]) -> Tracked:
        """Predict and learn rows, those of each key in their order (see ``Tracker.track``)."""
        last = int(numbers[-1]) if len(numbers) else self.last
        batch, numbers, refusals = self.usable(batch, numbers)
        column = batch.column(self.settings.target)
        targets = np.ascontiguousarray(self.like.blank.contestants.targets(column))
        rows, whose = self._encoded(batch), self._numbers(batch)
        by_key = self._by_key(whose)
        said, known, scored, bounds = self._play(whose, by_key, rows, targets)
        errors = np.where(scored, (said - targets) ** 2, 0.0)
        running = self.predictions.running(errors, scored)
        columns = [
            pa.array(numbers if self.numbering is None else self.numbering[numbers - 1]),
            *(batch.column(field.name).cast(field.type) for field in self.fields),
            _masked(said, known),
            *(_masked(end, known & np.isfinite(end)) for end in (bounds.T if self.bands else ())),
            *(
                _masked(values, there)
                for values, there in ((targets, ~np.isnan(targets)), (errors, scored))
            ),
            running,
        ]
        self.rows, self.refused, self.last = (
            self.rows + len(batch),
            self.refused + len(refusals),
            last,
        )
        self.unlabelled += column.null_count
        return Tracked(
            pa.record_batch(columns, schema=self.schema),
            refusals,
            self._appeared(batch, columns[0]),
        )

    def _encoded(self, batch: Any) -> Matrix:
        """Rows of numbers, in room that is used again: pages of new memory cost more than what
        is written there.
        """
        if len(batch) > len(self._room):
            self._room = np.empty((len(batch), self.encoder.width))
        for first in range(0, len(batch), SLICE):
            some = batch.slice(first, SLICE)
            self._room[first : first + len(some)] = self.encoder.encode(
                some, np.empty((len(some), 0))
            ).rows
        return self._room[: len(batch)]

    def _by_key(self, whose: Any) -> Any:
        """Places of the rows, key by key and in their order."""
        from swordplay.tracking.bulk_kernel import (
            sort_by_key,
        )  # numba is imported with the first row

        places = np.empty(len(whose), dtype=np.int64)
        sort_by_key(whose, np.zeros(len(self.counts), dtype=np.int64), places)
        return places

    def _appeared(self, batch: Any, rows: Any) -> tuple[str, ...]:
        """What to say of columns that were not there before."""
        known = {self.settings.target, *self.late, *(one.name for one in self.plans)}
        found = [
            name
            for name in batch.schema.names
            if name not in known and batch.column(name).null_count < len(batch)
        ]
        self.late += found
        first = {
            name: rows[int(batch.column(name).is_valid().to_numpy(zero_copy_only=False).argmax())]
            for name in found
        }
        return tuple(
            f"Column {name!r} appears at row {row.as_py():,}, too late to join: it is left out."
            for name, row in first.items()
        )

    def _numbers(self, batch: Any) -> Any:
        """The number of each row's key; those that are new join."""
        numbers = self.known.numbers([batch.column(name) for name in self.settings.key])
        new = len(self.group.places) - len(self.counts)
        for each in (self.last_targets, self.totals, self.counts, self.sums):
            each.join_alike(new, 0)
        if self.bands:
            self.bands.join(new)
        return numbers

    def _play(
        self, numbers: Any, by_key: Any, rows: Any, targets: Vector
    ) -> tuple[Vector, Any, Any, Matrix]:
        """Predictions, which rows have one and which of these are judged, and the ends of their
        intervals.

        Rows without a target are predicted by what their key knows by then: it takes turns where
        they come in between.
        """
        said, known, scored = (
            np.zeros(len(rows)),
            np.zeros(len(rows), dtype=bool),
            np.zeros(len(rows), dtype=bool),
        )
        bounds, orders = np.full((len(rows), 2), np.nan), np.zeros(len(rows), dtype=np.int64)
        for turn, learn in turns(numbers, by_key, ~np.isnan(targets)):
            if learn and len(turn) == len(
                rows
            ):  # as they come: the rows of a key are in their order
                said = self.group.play(numbers, orders, rows, targets, self._crew, turn)[:, 0]
                known = scored = self._judged(numbers, said, targets)
            elif learn:
                who = numbers[turn]
                said[turn] = self.group.play(numbers, orders, rows, targets, self._crew, turn)[
                    turn, 0
                ]
                known[turn] = scored[turn] = self._judged(who, said[turn], targets[turn])
            else:
                known[turn] = self.counts.all[numbers[turn]] > 0
                said[turn] = self.group.ask(numbers[turn], rows[turn])[:, 0]
            if self.bands:
                self.bands.say(numbers, said, targets, turn[known[turn]], bounds, learn=learn)
        return said, known, scored, bounds

    def _judged(self, who: Any, said: Vector, targets: Vector) -> Any:
        """Hold predictions against their targets and the baselines; which rows had one."""
        from swordplay.tracking.bulk_kernel import (
            judge,
        )  # numba is imported with the first row

        seen = np.empty(len(who), dtype=bool)
        judge(
            who,
            said,
            targets,
            self.last_targets.all,
            self.totals.all,
            self.counts.all,
            self.sums.all,
            seen,
        )
        return seen

    # ------------------------------------------------------------------ what there is to tell

    def remarks(self) -> tuple[OrderRemark, ...]:
        """Return the remarks on the order of the first rows within the keys."""
        return self.like.remarks()

    @property
    def trackers(self) -> list[Key]:
        """All keys in the order in which they appeared.

        One column alone is kept without the tuple around it: it takes less.
        """
        return (
            list(self.group.places)
            if len(self.settings.key) > 1
            else [(value,) for value in self.group.places]
        )

    def lines(self) -> Lines:
        """How every key went that has a prediction."""
        rows, some = self.counts.all - 1, np.flatnonzero(self.counts.all > 1)
        roots = np.sqrt(self.sums.all[some] / rows[some, None])
        keys = self.trackers
        return Lines(
            keys if len(some) == len(keys) else [keys[k] for k in some],
            rows[some],
            roots,
            ValueContestants.names,
        )

    def errors(self) -> tuple[dict[str, float], float]:
        """RMSE over all keys; there is no single best step size."""
        rows = int(np.maximum(self.counts.all - 1, 0).sum())
        if not rows:
            return {}, math.nan
        sums = [math.fsum(each) for each in self.sums.all.T.tolist()]
        return {
            name: math.sqrt(each / rows)
            for name, each in zip(ValueContestants.names, sums, strict=True)
        }, math.nan

    def intervals(self) -> Intervals | None:
        """How the intervals of all keys did together; None where there are none."""
        rows = int(np.maximum(self.counts.all - 1, 0).sum())
        if self.bands is None or not rows:
            return None
        sums = (math.fsum(each) for each in self.bands.figures.all.T.tolist())
        return intervals_of(self.settings.level, rows, dict(zip(FIGURES, sums, strict=True)))

    def story(self, source: str, *, refused: int = 0, seconds: float = 0.0) -> KeyedStory:
        """All that a report needs (see ``Tracker.story``)."""
        return keyed_story.story(self, source, refused, seconds)

    # ------------------------------------------------------------------ crash-safe

    def state(self) -> State:
        """All that the next row needs."""
        return written(self)

    @classmethod
    def resumed(cls, saved: Mapping[str, Any]) -> Self:
        """The tracker that was saved, bit by bit."""
        tracker = cls(
            KeyedTracker.resumed(
                {name: value for name, value in saved.items() if not name.startswith("bulk.")}
            )
        )
        read(tracker, saved)
        return tracker


def _masked(values: Vector, there: Any) -> Any:
    return pa.array(values, mask=None if there.all() else ~there)
