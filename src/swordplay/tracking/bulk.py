"""``BulkTracker``: the models of all keys of a table of numbers, in one ``KeyTable``.

The predictions are those of ``KeyedTracker``, which has a whole tracker for every key and is a
hundred times slower and larger: a table with words or classes needs one for each key. Intervals are
made of predictions and targets only, and not of the columns.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from typing import Any, Self, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from swordplay.core.state import (
    ROW_COUNT_RANGE,
    Field,
    add_prefix,
    check,
    check_number,
    damaged,
    entry_bytes,
    strip_prefix,
)
from swordplay.core.types import Matrix, State, Vector
from swordplay.estimators.model_settings import LARGEST
from swordplay.keyed.key_table import GrowingArray, KeyTable, learn_predict_waves
from swordplay.keyed.record_layout import KeyModel
from swordplay.tables import Refusal
from swordplay.tables.column_plans import EMPTY
from swordplay.tables.encoder import Encoder
from swordplay.tracking import keyed_story
from swordplay.tracking.band import FIGURES
from swordplay.tracking.date_order import OrderRemark
from swordplay.tracking.key_index import KeyIndex, read_keys
from swordplay.tracking.keyed import KeyedTracker
from swordplay.tracking.keyed_story import Key, KeyedStory, Lines
from swordplay.tracking.ranges import SUM, TOTAL
from swordplay.tracking.story import Intervals, Task
from swordplay.tracking.telling import intervals_of
from swordplay.tracking.tracker import Tracked
from swordplay.tracking.values import ValueContestants

COUNTS = ("rows", "unlabelled", "refused", "last")
MAX_KEYS = 1 << 31
SLACK = 1e-6
"""Relative rounding of sums."""
KINDS = ("number", "truth", "date", "date and time", "time", "left out")
"""Kinds of columns that can be tracked in bulk."""
BATCH_ROWS = 1 << 20
"""Rows that are best learned together: each key is then taken from memory once for ten rows, if
there are a hundred thousand keys."""
MANY_KEYS = 1 << 14
FEW_KEYS_BATCH_ROWS = 1 << 17
"""Rows of a batch where there are fewer than ``MANY_KEYS``: progress, saves and stops come sooner.
"""
MAX_BATCH_BYTES = 1 << 27
"""Most bytes of the encoded rows of a batch."""
ENCODED_ROWS = 1 << 13
"""Rows that are encoded in one call, so that they stay in the cache."""
THREADS = 2
"""Threads that learn; others read ahead and write behind."""


def fits(keyed: KeyedTracker) -> bool:
    """Whether a table can be tracked in bulk: a regression on numbers, truths and dates."""
    return not keyed.recognised.of_classes and not slow(keyed)


def slow(keyed: KeyedTracker) -> list[str]:
    """Columns that cannot be tracked in bulk: words, as categories are per key, and empty ones."""
    return [one.name for one in keyed.plans if one.kind not in KINDS or one.why == EMPTY]


@final
class BulkTracker:
    """Models, intervals and baselines of many keys, with the interface of one tracker.

    Parameters
    ----------
    like
        A tracker of the same table that has learned nothing, with all that the first rows decided.
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
        """One for all keys, as numbers need no categories; columns that appear late do not join."""
        self.late: list[str] = []
        """Columns that have appeared late."""
        settings = like.settings
        model = KeyModel(
            self.encoder.width,
            settings.loss,
            lags=settings.lags,
            curves=settings.curves,
            lag_columns=settings.columns_of_lags > 0,
            level=settings.level,
        )
        self.table = KeyTable(model, threads=min(THREADS, len(os.sched_getaffinity(0))))
        self._index = KeyIndex(self.table)
        self.last_targets = GrowingArray(np.empty(0))
        self.totals = GrowingArray(np.empty(0))
        """Sum of the targets of each key."""
        self.counts = GrowingArray(np.empty(0, dtype=np.int64))
        """Rows that each key has learned."""
        self.sums = GrowingArray(np.empty((0, 3)))
        """Squared errors of each key: of the model, of the last value, of the mean."""
        self.figures = GrowingArray(np.empty((0, len(FIGURES))))
        """Sums over the intervals of each key (see ``band``)."""
        self.apart = GrowingArray(np.empty(0, dtype=np.int64))
        """1 for a key that had a row without a target since the last row that it learned, else 0.
        """
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
        """Rows that are best learned together; many before the number of keys is known."""
        rows = FEW_KEYS_BATCH_ROWS if 0 < len(self.table) < MANY_KEYS else BATCH_ROWS
        return max(1, min(rows, MAX_BATCH_BYTES // (8 * max(1, self.encoder.width))))

    @property
    def started(self) -> bool:
        """Whether anything was learned."""
        return bool(self.counts.rows.any())

    @property
    def effective_step_size(self) -> float:
        """Geometric mean over all keys; NaN before the first row."""
        weights, steps = self.table.weights()
        used = weights[self.counts.rows > 0]
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
        rows, keys = self._encoded(batch), self._numbers(batch)
        by_key = self._by_key(keys)
        predictions, is_predicted, is_scored, bounds = self._predict_and_learn(
            keys, by_key, rows, targets
        )
        errors = np.where(is_scored, (predictions - targets) ** 2, 0.0)
        running = self.predictions.running(errors, is_scored)
        columns = [
            pa.array(numbers if self.numbering is None else self.numbering[numbers - 1]),
            *(batch.column(field.name).cast(field.type) for field in self.fields),
            _masked(predictions, is_predicted),
            *(
                _masked(end, is_predicted & np.isfinite(end))
                for end in (bounds.T if self._has_bounds else ())
            ),
            *(
                _masked(values, is_valid)
                for values, is_valid in ((targets, ~np.isnan(targets)), (errors, is_scored))
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

    @property
    def _has_bounds(self) -> bool:
        return self.settings.level is not None

    def _encoded(self, batch: Any) -> Matrix:
        """Encode rows into memory that is used again: new pages cost more than the encoding."""
        if len(batch) > len(self._room):
            self._room = np.empty((len(batch), self.encoder.width))
        for first in range(0, len(batch), ENCODED_ROWS):
            some = batch.slice(first, ENCODED_ROWS)
            self._room[first : first + len(some)] = self.encoder.encode(
                some, np.empty((len(some), 0))
            ).rows
        return self._room[: len(batch)]

    def _by_key(self, keys: Any) -> Any:
        """Places of the rows, key by key and in their order."""
        from swordplay.tracking.bulk_kernel import (
            sort_by_key,
        )  # numba is imported with the first row

        places = np.empty(len(keys), dtype=np.int64)
        sort_by_key(keys, np.zeros(len(self.counts), dtype=np.int64), places)
        return places

    def _appeared(self, batch: Any, rows: Any) -> tuple[str, ...]:
        """Return a remark for each column that was not there before."""
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
        """The number of each row's key; new keys join."""
        numbers = self._index.numbers([batch.column(name) for name in self.settings.key])
        new = len(self.table) - len(self.counts)
        for array in self.key_arrays().values():
            array.extend(new, 0)
        return numbers

    def key_arrays(self) -> dict[str, GrowingArray]:
        """Arrays with an entry for each key, by their names in a saved state."""
        return {
            "last": self.last_targets,
            "totals": self.totals,
            "counts": self.counts,
            "sums": self.sums,
            "figures": self.figures,
            "apart": self.apart,
        }

    def _predict_and_learn(
        self, numbers: Any, by_key: Any, rows: Any, targets: Vector
    ) -> tuple[Vector, Any, Any, Matrix]:
        """Predict rows, and learn those that have a target.

        Returns
        -------
        predictions, is_predicted, is_scored, bounds
            Predictions, the rows that have one, the rows keys prediction is compared with a
            target, and the ends of intervals, shape ``(T, 2)``.
        """
        count = len(rows)
        predictions, times = np.zeros(count), np.zeros(count, dtype=np.int64)
        is_predicted, is_scored = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
        bounds = np.full((count, 2), np.nan)
        for places, learns in learn_predict_waves(numbers, by_key, ~np.isnan(targets)):
            keys = numbers[places]
            if learns:
                found = self.table.learn(numbers, times, rows, targets, places)
                if len(places) == count:  # of all rows, in the order of the input
                    predictions = found[:, 0]
                    is_predicted = is_scored = self._scored(numbers, predictions, targets)
                else:
                    predictions[places] = found[places, 0]
                    is_scored[places] = self._scored(keys, predictions[places], targets[places])
                    is_predicted[places] = is_scored[places]
                self.apart.rows[keys] = 0
            else:
                is_predicted[places] = self.counts.rows[keys] > 0
                follows = self.apart.rows == 0
                predictions[places] = self.table.predict(numbers, rows, places, follows)[places, 0]
                self.apart.rows[keys[is_predicted[places]]] = 1
            if self._has_bounds:
                some = places[is_predicted[places]]
                self._make_intervals(numbers, predictions, targets, some, bounds, learns)
        return predictions, is_predicted, is_scored, bounds

    def _make_intervals(
        self,
        numbers: Any,
        predictions: Vector,
        targets: Vector,
        places: Any,
        bounds: Matrix,
        learns: bool,
    ) -> None:
        """Write the intervals of the rows at some places; with ``learns`` their targets count."""
        from swordplay.tracking.bulk_kernel import hold  # numba is imported with the first row

        known = targets if learns else None
        bounds[places] = self.table.intervals(numbers, predictions, known, places)[places]
        if learns:
            hold(numbers[places], targets[places], bounds[places], self.figures.rows)

    def _scored(self, keys: Any, predictions: Vector, targets: Vector) -> Any:
        """Add the errors of predictions and baselines; return which rows had a prediction."""
        from swordplay.tracking.bulk_kernel import judge  # numba is imported with the first row

        had_prediction = np.empty(len(keys), dtype=bool)
        judge(
            keys,
            predictions,
            targets,
            self.last_targets.rows,
            self.totals.rows,
            self.counts.rows,
            self.sums.rows,
            had_prediction,
        )
        return had_prediction

    # ------------------------------------------------------------------ what there is to tell

    def remarks(self) -> tuple[OrderRemark, ...]:
        """Return the remarks on the order of the first rows within the keys."""
        return self.like.remarks()

    @property
    def trackers(self) -> list[Key]:
        """All keys in the order in which they appeared.

        The table holds the keys of a single column without tuples, which take less memory.
        """
        return (
            list(self.table.numbers)
            if len(self.settings.key) > 1
            else [(value,) for value in self.table.numbers]
        )

    def lines(self) -> Lines:
        """How every key went that has a prediction."""
        rows, some = self.counts.rows - 1, np.flatnonzero(self.counts.rows > 1)
        roots = np.sqrt(self.sums.rows[some] / rows[some, None])
        keys = self.trackers
        return Lines(
            keys if len(some) == len(keys) else [keys[k] for k in some],
            rows[some],
            roots,
            ValueContestants.names,
        )

    def errors(self) -> tuple[dict[str, float], float]:
        """RMSE over all keys; there is no single best step size."""
        rows = int(np.maximum(self.counts.rows - 1, 0).sum())
        if not rows:
            return {}, math.nan
        sums = [math.fsum(each) for each in self.sums.rows.T.tolist()]
        return {
            name: math.sqrt(each / rows)
            for name, each in zip(ValueContestants.names, sums, strict=True)
        }, math.nan

    def intervals(self) -> Intervals | None:
        """How the intervals of all keys did together; None where there are none."""
        rows = int(np.maximum(self.counts.rows - 1, 0).sum())
        if not self._has_bounds or not rows:
            return None
        sums = (math.fsum(each) for each in self.figures.rows.T.tolist())
        return intervals_of(self.settings.level, rows, dict(zip(FIGURES, sums, strict=True)))

    def story(self, source: str, *, refused: int = 0, seconds: float = 0.0) -> KeyedStory:
        """All that a report needs (see ``Tracker.story``)."""
        return keyed_story.story(self, source, refused, seconds)

    # ------------------------------------------------------------------ crash-safe

    def state(self) -> State:
        """Return all that the next row needs, as named arrays and texts."""
        bulk = {
            "keys": json.dumps(self.trackers),
            "late": json.dumps(self.late),
            "table": np.frombuffer(self.table.to_bytes(), dtype=np.uint8),
            **{name: array.rows.copy() for name, array in self.key_arrays().items()},
        }
        return {
            **self.like.state(),
            **add_prefix("encoder", self.encoder.state()),
            **{name: getattr(self, name) for name in COUNTS},
            **add_prefix("bulk", bulk),
        }

    @classmethod
    def resumed(cls, saved: Mapping[str, Any]) -> Self:
        """Return the tracker that was saved; all further results are identical.

        Raises
        ------
        ValueError
            If the state cannot have come from such a run.
        """
        of_like = {name: value for name, value in saved.items() if not name.startswith("bulk.")}
        tracker = cls(KeyedTracker.resumed(of_like))
        tracker._load_state(saved)
        return tracker

    def _load_state(self, saved: Mapping[str, Any]) -> None:
        bulk = strip_prefix("bulk", saved)
        keys = read_keys(bulk["keys"], self.settings.key, MAX_KEYS, self.fields)
        names = keys if len(self.settings.key) > 1 else [value for (value,) in keys]
        self.table.from_bytes([(names, entry_bytes("bulk.table", bulk["table"]))])
        ranges = {
            "last": Field(-LARGEST, LARGEST),
            "totals": TOTAL,
            "counts": ROW_COUNT_RANGE,
            "sums": SUM,
            "figures": SUM,
            "apart": Field(0.0, 1.0, whole=True),
        }
        for name, array in self.key_arrays().items():
            values = np.asarray(bulk[name])
            if values.shape != (len(keys), *array.rows.shape[1:]) or np.isnan(values).any():
                raise damaged(f"the {name} of the keys have shape {values.shape}")
            check(name, values, ranges[name])
            array.extend(len(keys), values.astype(array.rows.dtype))
        if (np.abs(self.totals.rows) > LARGEST * self.counts.rows * (1.0 + SLACK)).any():
            raise damaged("the totals of the keys are more than their rows can have")
        for name in COUNTS:
            check_number(name, saved[name], ROW_COUNT_RANGE)
            setattr(self, name, int(saved[name]))
        self.late = [str(name) for name in json.loads(bulk["late"])]
        encoder = strip_prefix("encoder", saved)
        self.encoder.missing, self.encoder.seen = (
            json.loads(encoder["missing"]),
            int(encoder["rows"]),
        )
        self.encoder.check()


def _masked(values: Vector, is_valid: Any) -> Any:
    """Return an Arrow array, null where not ``is_valid``."""
    return pa.array(values, mask=None if is_valid.all() else ~is_valid)
