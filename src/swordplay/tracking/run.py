"""A job from its first row to its last: read ahead, learn, write behind, and save where one is."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import Any, final

from swordplay.tables import Batch, Table, TableError, open_table
from swordplay.tables.reading import BLOCK
from swordplay.tables.typed import BATCH_ROWS
from swordplay.tracking import job as jobs
from swordplay.tracking import trackers
from swordplay.tracking.accounts import Outcome, Progress
from swordplay.tracking.errors import TrackingError, unusable
from swordplay.tracking.first_rows import begin_tracker, collect_first_rows, concat_batches
from swordplay.tracking.job import Job
from swordplay.tracking.life import FEW, Life
from swordplay.tracking.ordered import everything, ordered
from swordplay.tracking.pieces import Piece, at_most, at_once, larger, pieces
from swordplay.tracking.state_lock import locked
from swordplay.tracking.threads import AHEAD, GLANCE, MANY, Ahead
from swordplay.tracking.tracker import Tracker
from swordplay.tracking.trackers import AnyTracker


def run(
    job: Job,
    watch: Callable[[Progress], None] = lambda _: None,
    told: Callable[[], bool] = lambda: False,
    *,
    compared: Callable[[float], None] = lambda share: None,
    is_locked: bool = False,
) -> Outcome:
    """Track a table to its end.

    Parameters
    ----------
    job
        What to do.
    watch
        Called after every batch, and at first if the job goes on.
    told
        Asked now and then whether to stop; if so the state is saved, and the predictions stay
        partial.
    compared
        Called with the share that was compared, from 0 to 1, while the rows that an earlier run has
        read are read again.
    is_locked
        Whether the caller has the lock of the state; otherwise it is taken here, before the state
        is read.

    Raises
    ------
    TableError, TrackingError, CheckpointError
        One or two lines: what is wrong, where, and what to do.
    KeyboardInterrupt
        If it was told to stop before it had begun.
    """
    with locked(None if is_locked else job.state, job.wait):
        return _Run(job, watch, told, compared).go()


@final
class _Run(Life):
    """A life from its beginning to its end."""

    def go(self) -> Outcome:
        """Begin or go on, until the end or until told to stop."""
        with ExitStack() as stack:
            before = None if self.job.order else self.position
            again: dict[str, Any] = {
                "resumable": self.job.state is not None and not self.job.order,
                "compared": self.compared,
            }
            self.table = self.opened or open_table(
                self.job.source, position=before, **again, **self.job.reading
            )
            stack.callback(self.table.close)
            stack.enter_context(self.outputs)
            stack.callback(self.judging.close)
            if self.job.order:
                self.table = self._ordered(self.table)
            self.position, self.schema = self.position or self.table.start, self.table.schema
            reader = Ahead(
                self.table.batches(),
                MANY if self.job.settings.key and not self.table.live else AHEAD,
            )
            stack.callback(reader.close)
            stack.callback(
                self.table.close
            )  # comes first on the way out: the reader may be waiting for a pipe
            trackers.prepare(self.job.settings)
            batches = reader.arriving(GLANCE)
            waiting, self.tracker = self._begin(batches)
            self.tracker.numbering = self.numbering
            format = self.position.format if self.position else "csv"
            self.outputs.begin(self.tracker.schema, format)
            jobs.forget(self.job)
            if self.saved:
                self._tell()
            rest = itertools.chain(waiting, batches)
            try:
                stopped = self._all(
                    larger(
                        rest,
                        lambda: at_once(self.tracker, self.job.save_every),
                        live=self.table.live,
                    )
                )
            except (TableError, TrackingError) as error:
                self._fail(error)
            partial = self._end(stopped, news=self.rows > self.before)
        remarks = (*self.remarks, *(one.text for one in self.tracker.remarks()))
        done = (self._refused(), self._seconds(), remarks, self.before, self.rows - self.before)
        return Outcome(self.tracker, *done, stopped, self.refusals, partial, self.lasting.compiling)

    def _ordered(self, table: Table) -> Table:
        """The table in another order; bad rows are put on their list."""
        batches = everything(table, self.told)
        rows = max(1, self.job.block_size * BATCH_ROWS // BLOCK)
        found = ordered(
            table,
            self.job.order,
            batches,
            position=self.position,
            batch_rows=rows,
            rows=self.job.rows,
        )
        if not self.saved:
            self.outputs.refuse(found.refusals)
            self.bad, self.refusals = len(found.refusals), found.refusals[:FEW]
        self.numbering = found.numbers
        return found.table

    def _begin(self, batches: Iterator[Batch | None]) -> tuple[list[Batch], AnyTracker]:
        """Return a tracker and, if it is new, the batches that it was made from."""
        if self.saved:
            return [], self.saved.tracker
        self.remarks = tuple(self.table.remarks)
        waiting, self.trouble = collect_first_rows(
            batches, self.job.settings.target, live=self.table.live, should_stop=self.told
        )
        if not any(len(one.rows) for one in waiting):
            refusals = [row for one in waiting for row in one.refusals]
            self.outputs.refuse(refusals)
            raise self._useless(len(refusals))
        rows = concat_batches([one.rows for one in waiting])
        # Columns may have joined: every batch gets the columns of all.
        waiting = [
            one._replace(rows=concat_batches([rows.slice(0, 0), one.rows])) for one in waiting
        ]
        tracker = begin_tracker(self.job.settings, rows, self.schema)
        if tracker.recognised.hint:
            self.remarks += (tracker.recognised.hint,)
        return waiting, tracker

    def _all(self, batches: Iterable[Batch | None]) -> bool:
        """Track batch after batch; whether it was told to stop before the end."""
        try:
            stopped = self._each(batches)
        except (TableError, TrackingError):
            self.judging.settle()
            raise
        self.judging.settle()
        if stopped:
            return True
        if self.trouble is not None:
            raise self.trouble
        return False

    def _each(self, batches: Iterable[Batch | None]) -> bool:
        for batch in batches:
            size = at_most(self.tracker, self.job.save_every)
            for piece in self._pieces(batch, size) if batch is not None else [None]:
                if piece is None:
                    self.judging.settle()
                else:
                    self._one(piece)
                if self.job.state is not None and self.clock.is_time(self.learned):
                    self._save(finished=False)
                if self.told():
                    return True
            if self.job.rows is not None and self.learned >= self.job.rows:
                break
        return False

    def _pieces(self, batch: Batch, size: int) -> Iterator[Piece]:
        return pieces(
            batch, self.learned, self.job.rows, size, first_of_all=self.learned == self.before
        )

    def _one(self, piece: Piece) -> None:
        """Track a piece; with ``--on-bad stop`` up to the first row that cannot be used."""
        found = self.tracker.strange(piece.rows) if self.job.refused is None else {}
        if not found:
            self._learn(piece)
            return
        first = min(found)
        if first:
            self._learn(piece.first(first), told=False)
        bad = self.tracker.usable(piece.rows.slice(first, 1), piece.numbers[first : first + 1])[2][
            0
        ]
        raise unusable(self.table.name, bad)

    def _learn(self, piece: Piece, told: bool = True) -> None:
        """Track a piece and write what comes of it.

        If that fails on a stream, the piece is as if it had not been there.

        Nothing is told of the first piece where its next row ends the run: that counts as one which
        could not be started.
        """
        if self._may_wait and isinstance(self.tracker, Tracker):
            learnt = self.tracker.learn(piece.rows, piece.numbers)
            self.judging.call(piece, self.tracker.judge, learnt)
            self.learned = piece.last
            return
        self.judging.settle()
        before = (
            self.tracker.state() if self.outputs.stream and self.job.state is not None else None
        )
        tracked = self.tracker.track(piece.rows, piece.numbers)
        self.learned = piece.last
        try:
            self._judged(piece, tracked, told)
        except TableError:
            self.broken = before is None
            if before is not None:
                self.tracker = trackers.resumed(before)
                self.tracker.numbering = self.numbering
            raise

    @property
    def _may_wait(self) -> bool:
        """Whether a piece may be judged while the next one is learned.

        Whoever reads a pipe waits for nothing, and the first piece decides much and has kernels
        compiled.
        """
        return self.rows > self.before and not self.table.live and not self.outputs.stream
