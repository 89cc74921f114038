"""``KeyTable``: the models of many keys in arrays, learned and predicted by several threads.

It is the only holder of many keys. ``Keyed`` puts a folder behind it, Spark writes it in pages, and
``swordplay track --key`` adds baselines.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, final

import numpy as np

from swordplay.core.state import Field, check
from swordplay.core.types import Array, Matrix, Vector
from swordplay.engine.second_order import class_calibration
from swordplay.estimators.class_probabilities import ClassCalibration, probabilities_of
from swordplay.keyed import kernels, key_bytes
from swordplay.keyed.interval_layout import IntervalLayout
from swordplay.keyed.kernels import KeyRuns
from swordplay.keyed.key_bytes import KeyStates
from swordplay.keyed.record_layout import KeyModel, RecordLayout, WarmUpRows

NEVER = np.iinfo(np.int64).min
"""The time before all times: that of a key without rows."""
MIN_THREAD_ROWS = 2000
"""Fewest rows that are worth a thread: some milliseconds of work."""
CALL_ROWS = 4096
"""Rows of a compiled call: with ten columns a megabyte, which stays in the cache."""
FIRST_CLEANING = 1000
"""First rows that are no longer needed are dropped when twice as many keys have some, and then
whenever their number has doubled."""
MIN_ROOM = 16
"""Fewest rows that a growing array has room for."""
MAX_CALIBRATION = 1e12
"""Largest number of a saved calibration."""


@final
class KeyTable:
    """The models of many keys.

    Parameters
    ----------
    settings
        What the keys learn with.
    threads
        Number of threads; results do not depend on it.
    digests
        Eight bytes each that stand for settings: the first is written with every state, and a state
        with a digest that is not among them is refused. None accepts all.
    initial
        The state that every key begins with; that of no rows unless given.
    layout
        The layout of the records, which takes milliseconds to make: given to tables that are used
        one after the other in one thread.
    """

    def __init__(
        self,
        settings: KeyModel,
        *,
        threads: int = 1,
        digests: tuple[bytes, ...] | None = (bytes(8),),
        initial: KeyStates | None = None,
        layout: RecordLayout | None = None,
    ) -> None:
        layout = layout or RecordLayout(settings)
        self.settings, self.layout = settings, layout
        self._digests = digests
        self._threads = KeyThreads(threads)
        self._layouts = [layout, *(layout.with_own_buffers() for _ in range(threads - 1))]
        intervals = None if settings.level is None else IntervalLayout(settings.level)
        self._interval_layouts = [] if intervals is None else [intervals]
        if intervals is not None:
            self._interval_layouts += [intervals.with_own_buffers() for _ in range(threads - 1)]
        self._calibrates = settings.models > 1 and settings.curves is not None
        self.numbers: dict[Any, int] = {}
        """Number of each key, in the order in which they joined."""
        self.initial = initial or self._untrained()
        """The state that every key begins with."""
        self._last_seen = GrowingArray(np.empty(0, dtype=np.int64))
        self._slots = GrowingArray(np.empty(0, dtype=np.int64))
        """Where the first rows of each key are; slot 0 is that of all keys that need none."""
        self._records = [GrowingArray(record[:0]) for record in self.initial.records]
        self._calibrations = GrowingArray(self.initial.calibrations[:0])
        self._class_counts = GrowingArray(self.initial.class_counts[:0])
        self._intervals = GrowingArray(self.initial.intervals[:0])
        self._warm_up = [
            [GrowingArray(part) for part in layout.warm_up_rows(1)] for _ in self._records
        ]
        self._cleaned = 0
        """Keys with first rows after those of others were dropped the last time."""

    def _untrained(self) -> KeyStates:
        """The state of a key without rows."""
        models = range(self.settings.models)
        calibration = ClassCalibration().state()["numbers"] if self._calibrates else np.empty(0)
        intervals = self._interval_layouts[0].fresh if self._interval_layouts else np.empty(0)
        return KeyStates(
            last_seen=np.array([NEVER]),
            first_rows=np.array([1]),
            records=[self.layout.fresh[None] for _ in models],
            warm_up=[self.layout.warm_up_rows(1) for _ in models],
            calibrations=calibration[None],
            class_counts=np.zeros((1, self.settings.classes), dtype=np.int64),
            intervals=intervals[None],
        )

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def last_seen(self) -> Any:
        """Time of the last row that each key has learned, shape ``(K,)``."""
        return self._last_seen.rows

    @property
    def class_counts(self) -> Any:
        """Rows that each key has learned of each class, shape ``(K, classes)``."""
        return self._class_counts.rows

    # ------------------------------------------------------------------ rows

    def add(self, keys: Sequence[Any]) -> Any:
        """Return the numbers of different keys; new ones join."""
        found = list(map(self.numbers.get, keys))
        if None in found:
            new = [key for key, number in zip(keys, found, strict=True) if number is None]
            self._join_initial(new)
            found = list(map(self.numbers.get, keys))
        return np.array(found, dtype=np.int64)

    def numbers_of(self, keys: Sequence[Any]) -> Any:
        """Return the numbers of different keys; each new one has a negative number of its own."""
        found = [self.numbers.get(key, -1 - place) for place, key in enumerate(keys)]
        return np.array(found, dtype=np.int64)

    def learn(
        self, numbers: Any, times: Any, rows: Matrix, targets: Vector, by_key: Any = None
    ) -> Matrix:
        """Predict rows, each before its own target is learned.

        Parameters
        ----------
        numbers
            Of the key of each row, shape ``(T,)``.
        times
            Of each row, shape ``(T,)``.
        rows, targets
            Shapes ``(T, d)`` and ``(T,)``; targets of classes are their places.
        by_key
            Places of the rows to learn, sorted by key, those of a key in their order in time; all,
            as they come, unless given.

        Returns
        -------
        Predictions ``(T, 1)``, or probabilities ``(T, classes)``. Those of rows that are not
        learned mean nothing.
        """
        by_key = np.arange(len(numbers)) if by_key is None else by_key
        runs = self._runs(numbers[by_key])
        scores = np.zeros((len(numbers), self.settings.models))
        for k, records in enumerate(self._records):
            truths = targets if len(self._records) == 1 else (targets == k).astype(np.float64)
            self._learn_model(
                records.rows, self._warm_up_of(k), runs, by_key, rows, truths, scores[:, k]
            )
        self._last_seen.rows[runs.records] = times[by_key[runs.starts[1:] - 1]]
        if not self.settings.classes:
            return scores
        labels = targets[by_key]
        np.add.at(self._class_counts.rows, (numbers[by_key], labels.astype(np.intp)), 1)
        follows = np.ones(len(runs.records), dtype=bool)
        return self._probabilities(self._calibrations.rows, runs, follows, by_key, scores, labels)

    def _learn_model(
        self,
        records: Matrix,
        warm_up: WarmUpRows,
        runs: KeyRuns,
        by_key: Any,
        rows: Matrix,
        targets: Vector,
        scores: Vector,
    ) -> None:
        """Let one model of each key learn; scores are written at the places of the rows."""

        def learn(thread: int, places: Any, some: KeyRuns) -> None:
            layout = self._layouts[thread]
            scores[places] = layout.learn(records, warm_up, some, rows[places], targets[places])

        self._threads.share(learn, runs, by_key)

    def predict(
        self, numbers: Any, rows: Matrix, by_key: Any = None, follows: Any = None
    ) -> Matrix:
        """Predict rows by what each key knows now; nothing is learned.

        Parameters
        ----------
        numbers
            Of the key of each row. A new key has a negative number of its own, and comes before
            all others in the order of ``by_key``.
        rows, by_key
            As in :meth:`learn`.
        follows
            Whether the first of these rows follows the last learned row of its key, by the number
            of the key; it does unless given. Of all other rows the last targets are not known.

        Returns
        -------
        As in :meth:`learn`.
        """
        by_key = np.arange(len(numbers)) if by_key is None else by_key
        scores = np.zeros((len(numbers), self.settings.models))
        answer = np.zeros((len(numbers), max(1, self.settings.classes)))
        sorted_numbers = numbers[by_key]
        new = int(np.count_nonzero(sorted_numbers < 0))
        for part, known in ((slice(0, new), False), (slice(new, None), True)):
            places = by_key[part]
            if not len(places):
                continue
            runs = self._runs(sorted_numbers[part])
            if not known:
                runs = runs._replace(records=np.zeros_like(runs.records))
            follow = np.ones(len(runs.records), dtype=bool)
            if known and follows is not None:
                follow = follows[runs.records]
            for k, records in enumerate(self._records):
                values = records.rows if known else self.initial.records[k]
                self._predict_model(values, runs, follow, places, rows, scores[:, k])
            calibrations = self._calibrations.rows if known else self.initial.calibrations
            found = self._probabilities(calibrations, runs, follow, places, scores, np.empty(0))
            answer[places] = found[places]
        return answer

    def _predict_model(
        self,
        records: Matrix,
        runs: KeyRuns,
        follows: Any,
        by_key: Any,
        rows: Matrix,
        scores: Vector,
    ) -> None:
        """Let one model of each key predict; scores are written at the places of the rows."""
        for a, b in call_parts(runs.starts, 0, len(runs.records)):
            places, some = part_of_runs(runs, by_key, a, b)
            scores[places] = self.layout.predict(records, some, follows[a:b], rows[places])

    def _probabilities(
        self,
        calibrations: Matrix,
        runs: KeyRuns,
        follows: Any,
        by_key: Any,
        scores: Matrix,
        labels: Vector,
    ) -> Matrix:
        """Predictions, or probabilities of all classes, of rows with these scores."""
        classes = self.settings.classes
        if not classes:
            return scores
        if not self._calibrates:
            return probabilities_of(scores, classes)
        answer = np.zeros((len(scores), classes))
        calibrated = np.empty((len(by_key), classes))
        scratch = np.empty((5, max(3, classes)))
        kernels.calibrate_keys(
            calibrations, runs, follows, scores[by_key], labels, scratch, calibrated
        )
        answer[by_key] = calibrated
        return answer

    def intervals(
        self, numbers: Any, predictions: Vector, targets: Vector | None, by_key: Any = None
    ) -> Array:
        """Intervals around predictions, each made before its own target is learned.

        Parameters
        ----------
        numbers
            Of the key of each row; negative for a new key, whose intervals are infinite.
        predictions, targets
            Shape ``(T,)``; without targets nothing is learned.
        by_key
            As in :meth:`learn`; the intervals of other rows are infinite.

        Returns
        -------
        Lower and upper ends, shape ``(T, 2)``.
        """
        bounds = np.empty((len(numbers), 2))
        bounds[:] = -np.inf, np.inf
        by_key = np.arange(len(numbers)) if by_key is None else by_key
        by_key = by_key[numbers[by_key] >= 0]
        if not self._interval_layouts or not len(by_key):
            return bounds
        runs, records = self._runs(numbers[by_key]), self._intervals.rows

        def play(thread: int, places: Any, some: KeyRuns) -> None:
            layout = self._interval_layouts[thread]
            if targets is None:
                bounds[places] = layout.predict(records, some, predictions[places])
            else:
                bounds[places] = layout.learn(records, some, predictions[places], targets[places])

        self._threads.share(play, runs, by_key)
        return bounds

    def weights(self) -> tuple[Matrix, Vector]:
        """Weights of the experts of each key's first model, ``(K, N)``, and their step sizes."""
        return self.layout.weights(self._records[0].rows)

    def weight_of_last_targets(self) -> Vector:
        """Weight of forecasts that use the last targets in the next mixture of each key's model."""
        return self.layout.weight_of_last_targets(self._records[0].rows)

    def records(self, number: int) -> list[tuple[Vector, WarmUpRows]]:
        """The record and the first rows of each model of a key."""
        slot = int(self._slots.rows[number])
        return [
            (records.rows[number], WarmUpRows(*(part[slot] for part in self._warm_up_of(k))))
            for k, records in enumerate(self._records)
        ]

    def calibration(self, number: int) -> Vector:
        """The calibration of a key; empty where there are two classes or none."""
        return np.asarray(self._calibrations.rows[number])

    # ------------------------------------------------------------------ joining and leaving

    def keep(self, numbers: Any) -> None:
        """Keep the keys with these numbers, in increasing order; forget the others."""
        names = list(self.numbers)
        self.numbers = {names[number]: place for place, number in enumerate(numbers.tolist())}
        for array in self._arrays():
            array.keep(numbers)
        self._drop_first_rows()

    def forget(self, before: int) -> bool:
        """Forget keys that have learned nothing since a time; whether there were any."""
        kept = np.flatnonzero(self.last_seen >= before)
        if len(kept) == len(self):
            return False
        self.keep(kept)
        return True

    def _arrays(self) -> list[GrowingArray]:
        """All arrays with an entry for each key."""
        return [
            self._last_seen,
            self._slots,
            *self._records,
            self._calibrations,
            self._class_counts,
            self._intervals,
        ]

    def _join_initial(self, keys: Sequence[Any]) -> None:
        """Let keys join with what every key begins with, which is written nowhere else."""
        initial, count = self.initial, len(keys)
        needed = bool(initial.first_rows[0])
        self._join_numbers(keys, np.full(count, needed))
        self._last_seen.extend(count, initial.last_seen[0])
        for k, records in enumerate(self._records):
            records.extend(count, initial.records[k][0])
            if needed:
                for mine, first in zip(self._warm_up[k], initial.warm_up[k], strict=True):
                    mine.extend(count, first[0])
        self._calibrations.extend(count, initial.calibrations[0])
        self._class_counts.extend(count, initial.class_counts[0])
        self._intervals.extend(count, initial.intervals[0])

    def join(self, keys: Sequence[Any], states: KeyStates) -> None:
        """Let keys join with their states."""
        count = len(keys)
        self._join_numbers(keys, states.first_rows > 0)
        self._last_seen.extend(count, states.last_seen)
        for k, records in enumerate(self._records):
            records.extend(count, states.records[k])
            for mine, first in zip(self._warm_up[k], states.warm_up[k], strict=True):
                mine.extend(len(first), first)
        self._calibrations.extend(count, states.calibrations)
        self._class_counts.extend(count, states.class_counts)
        self._intervals.extend(count, states.intervals)

    def _join_numbers(self, keys: Sequence[Any], needs_first_rows: Any) -> None:
        """Give keys their numbers, and slots to those that need their first rows."""
        known = len(self.numbers)
        self.numbers.update(zip(keys, range(known, known + len(keys)), strict=True))
        with_first_rows = len(self._warm_up[0][0]) - 1
        new = int(np.count_nonzero(needs_first_rows))
        if with_first_rows + new > 2 * max(FIRST_CLEANING, self._cleaned):
            self._drop_first_rows()
            with_first_rows = self._cleaned = len(self._warm_up[0][0]) - 1
        slots = np.where(needs_first_rows, with_first_rows + np.cumsum(needs_first_rows), 0)
        self._slots.extend(len(keys), slots)

    def _drop_first_rows(self) -> None:
        """Drop the first rows of keys that need them no more."""
        slots = self._slots.rows
        numbers = np.flatnonzero(slots)
        needed = self._need_first_rows(numbers)
        kept = np.append(0, slots[numbers[needed]])
        for model in self._warm_up:
            for part in model:
                part.keep(kept)
        slots[numbers] = 0
        slots[numbers[needed]] = np.arange(1, len(kept))

    def _need_first_rows(self, numbers: Any) -> Any:
        """Mask of the keys, among some with first rows, that still need them."""
        needed = np.zeros(len(numbers), dtype=bool)
        slots = self._slots.rows[numbers]
        for k, records in enumerate(self._records):
            needed |= self.layout.still_needed(records.rows, self._warm_up_of(k), numbers, slots)
        return needed

    def _warm_up_of(self, k: int) -> WarmUpRows:
        """The first rows of one model of all keys, by slot."""
        return WarmUpRows(*(part.rows for part in self._warm_up[k]))

    def _runs(self, numbers: Any) -> KeyRuns:
        """Runs of rows of equal keys."""
        keys, starts = key_runs(numbers)
        known = np.maximum(keys, 0)
        slots = self._slots.rows[known] if len(self) else np.zeros_like(keys)
        return KeyRuns(keys, slots, starts)

    # ------------------------------------------------------------------ bytes

    def to_bytes(self, numbers: Any = None) -> bytes:
        """The state of some keys, or of all, in their order."""
        return key_bytes.to_bytes(self.states(numbers), (self._digests or (bytes(8),))[0])

    def states(self, numbers: Any = None) -> KeyStates:
        """All that is known of some keys, or of all, in their order."""
        some = np.arange(len(self)) if numbers is None else np.asarray(numbers, dtype=np.int64)
        slots = self._slots.rows[some]
        young = np.flatnonzero(slots)
        young = young[self._need_first_rows(some[young])]
        held = np.zeros(len(some), dtype=np.int64)
        for records in self._records:
            seen = 1 + self.layout.rows_seen(records.rows[some[young]])
            held[young] = np.maximum(held[young], seen)
        return KeyStates(
            self._last_seen.rows[some],
            held,
            [records.rows[some] for records in self._records],
            [
                WarmUpRows(*(part[slots[young]] for part in self._warm_up_of(k)))
                for k in range(len(self._records))
            ],
            self._calibrations.rows[some],
            self._class_counts.rows[some],
            self._intervals.rows[some],
        )

    def read(self, saved: Sequence[tuple[int, bytes]]) -> KeyStates:
        """Read and check states that :meth:`to_bytes` wrote: numbers of keys, and their bytes.

        Raises
        ------
        ValueError
            If a state was saved with other settings, or is damaged.
        """
        width = self.initial.calibrations.shape[1]
        states = key_bytes.join(
            [
                key_bytes.from_bytes(data, keys, self.layout, width, self._digests)
                for keys, data in saved
            ]
        )
        keys = len(states.last_seen)
        self._check(states)
        intervals = self._own_intervals(states.intervals, keys)
        return states._replace(intervals=intervals)

    def from_bytes(self, saved: Iterable[tuple[Sequence[Any], bytes]]) -> None:
        """Let keys join with states that :meth:`to_bytes` wrote: lists of keys, and their bytes.

        Intervals of another level begin anew.

        Raises
        ------
        ValueError
            If a state was saved with other settings, or is damaged. Nothing has joined then.
        """
        parts = list(saved)
        if parts:
            states = self.read([(len(keys), data) for keys, data in parts])
            self.join([key for keys, _ in parts for key in keys], states)

    def _own_intervals(self, saved: Matrix, keys: int) -> Matrix:
        """Intervals of the level of this table; those that were not saved begin now."""
        if not self._interval_layouts:
            return np.empty((keys, 0))
        layout = self._interval_layouts[0]
        if saved.shape[1] != len(layout.fresh):
            return np.tile(layout.fresh, (keys, 1))
        own = layout.of_this_level(saved)
        layout.check(own)
        return own

    def _check(self, states: KeyStates) -> None:
        """Refuse numbers that no rows lead to."""
        for records, warm_up in zip(states.records, states.warm_up, strict=True):
            self.layout.check(records, states.first_rows > 0, warm_up)
        check("rows of classes", states.class_counts, Field(0.0, 2.0**53))
        if self._calibrates and len(states.calibrations):
            check_calibrations(states.calibrations, self.settings.classes)


def check_calibrations(numbers: Matrix, classes: int) -> None:
    """Refuse saved calibrations of keys with numbers that no rows lead to."""
    name, place = "calibration", class_calibration.PLACE
    check(name, numbers, Field(-MAX_CALIBRATION, MAX_CALIBRATION))
    check(name, numbers[:, place.last_label], Field(-1.0, classes - 1.0, whole=True))
    check(name, numbers[:, place.lag_behind : place.tau], Field(0.0, 14.0))
    taus = Field(1.0 / class_calibration.MAX_TAU, class_calibration.MAX_TAU)
    check(name, numbers[:, [place.tau, place.stay_tau]], taus)
    curvatures = [place.tau_curvature, place.stay_tau_curvature, place.stay_curvature]
    least = Field(class_calibration.RIDGE / 2.0, MAX_CALIBRATION)
    check(name, numbers[:, curvatures], least)


# ---------------------------------------------------------------------- rows in runs and waves


def key_runs(numbers: Any) -> tuple[Any, Any]:
    """The key of each run of equal numbers, and where the runs begin and the last one ends."""
    if not len(numbers):
        return np.empty(0, dtype=np.int64), np.zeros(1, dtype=np.int64)
    starts = np.concatenate([[0], np.flatnonzero(np.diff(numbers)) + 1, [len(numbers)]])
    return numbers[starts[:-1]], starts


def call_parts(starts: Any, a: int, b: int) -> Iterator[tuple[int, int]]:
    """Cut runs a to b into parts of about ``CALL_ROWS`` rows; no run is cut."""
    while a < b:
        last = int(np.searchsorted(starts, starts[a] + CALL_ROWS, side="right")) - 1
        last = min(b, max(a + 1, last))
        yield a, last
        a = last


def part_of_runs(runs: KeyRuns, by_key: Any, a: int, b: int) -> tuple[Any, KeyRuns]:
    """The places of the rows of runs a to b, and these runs over these rows alone."""
    first, stop = runs.starts[a], runs.starts[b]
    some = KeyRuns(runs.records[a:b], runs.slots[a:b], runs.starts[a : b + 1] - first)
    return by_key[first:stop], some


def learn_predict_waves(numbers: Any, by_key: Any, has_target: Any) -> Iterator[tuple[Any, bool]]:
    """Yield ``(places, learned)``: rows that are learned, or only predicted, in one call.

    In each wave every key contributes its next run of rows that all have, or all lack, a target.

    Parameters
    ----------
    numbers
        Of the key of each row.
    by_key
        Places of the rows, sorted by key, those of a key in their order.
    has_target
        Mask of the rows with a target.
    """
    if has_target[by_key].all():
        yield by_key, True
        return
    keys, has = numbers[by_key], has_target[by_key]
    is_new_key = np.concatenate([[True], np.diff(keys) != 0])
    is_new_run = is_new_key | np.concatenate([[True], np.diff(has.astype(np.int8)) != 0])
    wave_of_row = np.cumsum(is_new_run)
    wave_of_row -= np.maximum.accumulate(np.where(is_new_key, wave_of_row, 0))
    for wave in range(int(wave_of_row.max(initial=-1)) + 1):
        for learned in (False, True):
            places = by_key[(wave_of_row == wave) & (has == learned)]
            if len(places):
                yield places, learned


Work = Callable[[int, Any, KeyRuns], None]


@final
class KeyThreads:
    """Threads that share keys among them; kernels let others run beside them.

    Parameters
    ----------
    threads
        How many.
    """

    def __init__(self, threads: int) -> None:
        self._count = threads
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0
        """The process whose threads these are: a fork has none of them."""

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_pool": None}

    def share(self, work: Work, runs: KeyRuns, by_key: Any) -> None:
        """Call ``work(thread, places, runs)`` for parts of the runs, on as many threads as pay.

        Parameters
        ----------
        work
            Is given the number of the thread, the places of some rows, and their runs.
        runs, by_key
            Runs of rows, and the places of the rows.
        """
        rows, count = int(runs.starts[-1]), len(runs.records)
        used = max(1, min(self._count, rows // MIN_THREAD_ROWS))
        cuts = np.searchsorted(runs.starts, np.linspace(0, rows, used + 1)).tolist()
        cuts[0], cuts[-1] = 0, count

        def work_through(thread: int, a: int, b: int) -> None:
            for first, last in call_parts(runs.starts, a, b):
                work(thread, *part_of_runs(runs, by_key, first, last))

        if used == 1:
            work_through(0, 0, count)
            return
        if self._pool is None or self._process != os.getpid():
            self._pool, self._process = ThreadPoolExecutor(self._count), os.getpid()
        spans = zip(range(used), cuts[:-1], cuts[1:], strict=True)
        for result in [self._pool.submit(work_through, *span) for span in spans]:
            result.result()


@final
class GrowingArray:
    """An array that doubles its room whenever it is full.

    Room without rows costs no memory: the system provides pages when they are written to.

    Parameters
    ----------
    rows
        The first ones, shape ``(K, ...)``.
    """

    def __init__(self, rows: Any) -> None:
        self._room, self._count = rows.copy(), len(rows)

    def __len__(self) -> int:
        return self._count

    @property
    def rows(self) -> Any:
        """A view of all rows; it does not follow when rows are appended."""
        return self._room[: self._count]

    def extend(self, count: int, rows: Any) -> None:
        """Append rows, or one row so many times."""
        first, self._count = self._count, self._count + count
        if self._count > len(self._room):
            shape = (max(MIN_ROOM, 2 * self._count), *self._room.shape[1:])
            room = np.empty(shape, dtype=self._room.dtype)
            room[:first] = self._room[:first]
            self._room = room
        self._room[first : self._count] = rows

    def keep(self, places: Any) -> None:
        """Keep the rows at these places, in this order."""
        self._room = self.rows[places]
        self._count = len(self._room)
