"""A job from its first row to its last: read ahead, learn, write behind, and save where one is."""

from __future__ import annotations

import itertools
import json
import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import NamedTuple, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from swordplay.tables import Batch, Table, open_table
from swordplay.tables.reading import BLOCK
from swordplay.tables.typed import BATCH_ROWS
from swordplay.tracking import job as jobs
from swordplay.tracking import trackers
from swordplay.tracking.errors import TrackingError
from swordplay.tracking.job import Job, Saved
from swordplay.tracking.ordered import everything, ordered
from swordplay.tracking.outputs import Outputs
from swordplay.tracking.threads import Ahead
from swordplay.tracking.trackers import AnyTracker

HEAD_ROWS = 10_000
"""Rows from which the task and the kind of each column are decided, if so many arrive quickly."""
PATIENCE = 1.0
"""Seconds after the first rows. Of an input that is slow or live, the task is then decided from the rows that have come."""
BETWEEN_SAVES = 10.0
"""Seconds between two checkpoints."""
GLANCE = 0.1
"""Seconds after which a wait looks whether it should go on."""


class Progress(NamedTuple):
    """How far a run is."""

    tracker: AnyTracker
    rows: int
    """Rows of the input that are done."""
    consumed: int
    size: int | None
    """Bytes of the input, read and in all, where that is known."""
    refused: int
    resumed: int
    """Rows that an earlier run had done."""
    remarks: tuple[str, ...]
    """What was noticed about the input."""


class Outcome(NamedTuple):
    """How a run ended."""

    tracker: AnyTracker
    refused: int
    seconds: float
    """Over all runs of the job."""
    remarks: tuple[str, ...]
    """What was noticed about the input."""
    resumed: int
    """Rows that an earlier run had done."""
    news: int
    """Rows done by this one."""
    stopped: bool
    """Whether it was told to stop before the end."""


def run(job: Job, watch: Callable[[Progress], None] = lambda _: None, told: Callable[[], bool] = lambda: False) -> Outcome:
    """Track a table to its end.

    Parameters
    ----------
    job
        What to do.
    watch
        Called after every batch, and at first if the job goes on.
    told
        Asked now and then whether to stop; if so the state is saved, and the predictions stay partial.

    Raises
    ------
    TableError, TrackingError, CheckpointError
        One or two lines: what is wrong, where, and what to do.
    KeyboardInterrupt
        If it was told to stop before it had begun.
    """
    return _Run(job, watch, told).go()


@final
class _Run:
    """One life of a job."""

    def __init__(self, job: Job, watch: Callable[[Progress], None], told: Callable[[], bool]) -> None:
        self.job, self.watch, self.told = job, watch, told
        self.began = time.monotonic()
        self.saved = jobs.load(job)
        self.position = self.saved.position if self.saved else None
        self.last_save, self.rows_at_save = self.began, self.rows
        self.outputs = Outputs(job, self.saved)

    @property
    def rows(self) -> int:
        """Rows of the input that are done."""
        return self.position.row if self.position else 0

    def go(self) -> Outcome:
        """Begin or go on, until the end or until told to stop."""
        job, before = self.job, self.rows
        with ExitStack() as stack:
            table = open_table(
                job.source,
                format=job.format,
                target=job.settings.target,
                drop=job.order.unwanted(job.settings.unread),
                keep=job.order.wanted(job.settings.read),
                position=None if job.order else self.position,
                on_bad=job.on_bad,
                encoding=job.encoding,
                types=job.settings.types,
                missing=job.settings.missing,
                header=job.settings.header,
                block_size=job.block_size,
            )
            stack.enter_context(self.outputs)
            numbers = None
            if job.order:
                table, numbers = self._ordered(table)
            reader = Ahead(table.batches())
            stack.callback(reader.close)
            stack.callback(table.close)  # comes first on the way out: the reader may be waiting for a pipe
            self.remarks = self.saved.remarks if self.saved else tuple(table.remarks)
            batches = self._batches(reader)
            waiting, self.tracker = self._begin(batches)
            self.tracker.numbering = numbers
            self.outputs.begin(self.tracker.schema)
            jobs.forget(job)
            if self.saved:
                self._tell(table, before)
            stopped = self._all(itertools.chain(waiting, batches), table, before)
            self._end(stopped, news=self.rows > before)
        remarks = (*self.remarks, *(one.text for one in self.tracker.remarks()))
        return Outcome(self.tracker, self._refused(), self._seconds(), remarks, before, self.rows - before, stopped)

    def _ordered(self, table: Table) -> tuple[Table, NDArray[np.int64]]:
        """The table in another order, and the numbers of its rows in the input; bad rows are put on their list."""
        with ExitStack() as stack:
            reader = Ahead(table.batches())
            stack.callback(reader.close)
            stack.callback(table.close)
            batches = everything(self._batches(reader), self.told)
        rows = max(1, self.job.block_size * BATCH_ROWS // BLOCK)
        found = ordered(table, self.job.order, batches, position=self.position, batch_rows=rows, rows=self.job.rows)
        if not self.saved:
            self.outputs.refuse(found.refusals)
        return found.table, found.numbers

    def _batches(self, reader: Ahead[Batch]) -> Iterator[Batch | None]:
        """Batches as they come; None whenever none has come for a while."""
        while True:
            try:
                batch = reader.take(GLANCE)
            except TimeoutError:
                yield None
                continue
            if batch is None:
                return
            yield batch

    def _begin(self, batches: Iterator[Batch | None]) -> tuple[list[Batch], AnyTracker]:
        """A tracker, and the batches that had to be looked at in order to make one."""
        if self.saved:
            return [], self.saved.tracker
        waiting: list[Batch] = []
        deadline = math.inf
        for batch in batches:
            if batch is not None:
                waiting.append(batch)
            if batch is not None and len(batch.rows):
                deadline = min(deadline, time.monotonic() + PATIENCE)
            if sum(len(one.rows) for one in waiting) >= HEAD_ROWS or time.monotonic() > deadline:
                break
            if self.told():
                raise KeyboardInterrupt
        if not any(len(one.rows) for one in waiting):
            refusals = [row for one in waiting for row in one.refusals]
            self.outputs.refuse(refusals)
            raise self._useless(len(refusals))
        rows = [one.rows for one in waiting if len(one.rows)]
        head = pa.Table.from_batches(rows).slice(0, HEAD_ROWS).combine_chunks().to_batches()[0]
        return waiting, trackers.begin(self.job.settings, head)

    def _all(self, batches: Iterable[Batch | None], table: Table, before: int) -> bool:
        """Track batch after batch; whether it was told to stop before the end."""
        for batch in batches:
            if batch is not None:
                self._one(batch)
                self._tell(table, before)
                if self.job.rows is not None and self.rows >= self.job.rows:
                    return False
            if self._is_time_to_save():
                self._save(finished=False)
            if self.told():
                return True
        return False

    def _tell(self, table: Table, before: int) -> None:
        done = (self.rows, table.consumed, table.size, self._refused())
        self.watch(Progress(self.tracker, *done, before, self.remarks))

    def _one(self, batch: Batch) -> None:
        batch = _up_to(batch, self.job.rows)
        tracked = self.tracker.track(batch.rows, batch.numbers)
        if tracked.refusals and self.job.refused is None:
            row = tracked.refusals[0]
            raise TrackingError(
                f"{self.job.source}, row {row.row}, column {row.column!r}: {row.value} {row.reason}. "
                "Repair it, or leave such rows out with --on-bad skip."
            )
        self.outputs.write(tracked.predictions, sorted(batch.refusals + tracked.refusals))
        self.position = batch.position

    def _is_time_to_save(self) -> bool:
        if self.job.state is None or self.rows == self.rows_at_save:
            return False
        if self.job.save_every is not None:
            return self.rows >= self.rows_at_save + self.job.save_every
        return time.monotonic() >= self.last_save + BETWEEN_SAVES

    def _save(self, *, finished: bool) -> None:
        assert self.position is not None
        output, refused = self.outputs.sync()
        essence = json.dumps(self.job.essence())
        saved = Saved(self.tracker, essence, self.position, output, refused, self.remarks, self._seconds(), finished)
        jobs.save(self.job, saved)
        self.last_save, self.rows_at_save = time.monotonic(), self.rows

    def _end(self, stopped: bool, news: bool) -> None:
        """Give the outputs their names, unless it was told to stop or has nothing to add."""
        if self.saved and self.saved.finished and not news:
            return
        if self.job.state is not None:
            self._save(finished=False)
        if stopped:
            return
        if not self.tracker.started:
            raise self._useless(self._refused())
        self.outputs.finish(self.tracker.schema)
        if self.job.state is not None:
            self._save(finished=True)

    def _useless(self, refused: int) -> TrackingError:
        """No row could be learned from; those that were refused are listed all the same."""
        self.outputs.finish_refused()
        listed = f" ({refused:,} refused, listed in {self.job.refused})" if refused else ""
        return TrackingError(
            f"{self.job.source}: there is no row with a target to learn from{listed}. Give a table with such rows."
        )

    def _refused(self) -> int:
        return (self.position.refused if self.position else 0) + self.tracker.refused

    def _seconds(self) -> float:
        return (self.saved.seconds if self.saved else 0.0) + time.monotonic() - self.began


def _up_to(batch: Batch, last: int | None) -> Batch:
    """The rows of a batch up to one of the input."""
    if last is None or batch.position.row <= last:
        return batch
    count = int(np.searchsorted(batch.numbers, last, side="right"))
    refusals = tuple(one for one in batch.refusals if one.row <= last)
    position = batch.position._replace(row=last, refused=batch.position.refused - len(batch.refusals) + len(refusals))
    return Batch(batch.rows.slice(0, count), batch.numbers[:count], position, refusals)
