"""One life of a job: how far it is, what it tells, and how it is saved and ends, well or not."""

from __future__ import annotations

import json
from abc import ABC
from collections.abc import Callable
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from swordplay.core.checkpoint import CheckpointError
from swordplay.tables import Position, Table, TableError
from swordplay.tables.table import not_resumable
from swordplay.tracking import job as jobs
from swordplay.tracking import learning
from swordplay.tracking.accounts import Progress, share_done
from swordplay.tracking.errors import TrackingError, nothing_to_learn
from swordplay.tracking.job import Job, RunState
from swordplay.tracking.keeping import Kept, kept_by
from swordplay.tracking.outputs import Outputs
from swordplay.tracking.pieces import Piece
from swordplay.tracking.saving import RunClock, SaveClock
from swordplay.tracking.threads import Aside
from swordplay.tracking.tracker import Tracked
from swordplay.tracking.trackers import AnyTracker

FEW = 5  # refused rows that are told one by one; all of them are listed in a file


class Life(ABC):
    """What is known of a life of a job; ``run`` lives it.

    Parameters
    ----------
    job, watch, told, compared
        As for ``run``.
    """

    table: Table
    tracker: AnyTracker

    def __init__(
        self,
        job: Job,
        watch: Callable[[Progress], None],
        told: Callable[[], bool],
        compared: Callable[[float], None] = lambda share: None,
    ) -> None:
        self.watch, self.told, self.compared = watch, told, compared
        self.lasting = RunClock()
        self.opened, self.saved = learning.opened(job, jobs.load(job), compared)
        self.job, saved = job, self.saved
        self.position = saved.position if saved else None
        """In the input, at the end of the last batch that is done,"""
        self.rows = self.before = saved.done if saved else 0
        """and rows of the input that are done, now and when this life began,"""
        self.position_at: Callable[[int], Position] = not_resumable
        """The position after a row of the batch that is under way."""
        self.learned = self.rows
        """and those that are learned, the last of which may still have to be judged."""
        self.judging = Aside(self._judged)
        self.bad = saved.bad if saved else 0
        self.refusals, self.remarks = (saved.refusals, saved.remarks) if saved else ((), ())
        self.broken = (
            False  # whether predictions cannot be written, so that the learner is ahead of them
        )
        self.trouble: TableError | None = None
        """What ended a pipe before its first rows were learned."""
        self.numbering: NDArray[np.int64] | None = None
        """The numbers that the rows have in the input, where they are read in another order."""
        self.clock = SaveClock(job.save_every, self.rows)
        self.outputs = Outputs(job, saved)

    def _judged(self, piece: Piece, tracked: Tracked, told: bool = True) -> None:
        """Write what has come of a piece, and tell, unless ``told`` says no."""
        refusals = tuple(sorted(piece.refusals + tracked.refusals))
        self.outputs.write(tracked.predictions, refusals)
        self.remarks += tracked.remarks
        self.bad, self.refusals = self.bad + len(piece.refusals), (self.refusals + refusals)[:FEW]
        self.rows, self.position = piece.last, piece.position or self.position
        self.position_at = piece.position_at
        if told:
            self._tell(piece)

    def _tell(self, piece: Piece | None = None) -> None:
        ahead = piece.ahead if piece is not None and piece.position is None else None
        share = share_done(self.table, self.position, ahead, self.rows)
        self.watch(
            Progress(
                self.tracker,
                self.rows,
                share,
                self._refused(),
                self.before,
                self.remarks,
                self.refusals,
            )
        )

    def _save(self, *, finished: bool) -> None:
        self.judging.settle()
        assert self.position is not None
        # Exactly where the tracker stands, so that the digests cover all rows that it has learned.
        position = self.position if self.rows <= self.position.row else self.position_at(self.rows)
        output, refused = self.outputs.sync()
        saved = RunState(
            tracker=self.tracker,
            essence=json.dumps(self.job.essence()),
            position=position,
            done=self.rows,
            output=output,
            refused=refused,
            remarks=self.remarks,
            bad=self.bad,
            refusals=self.refusals,
            seconds=self._seconds(),
            finished=finished,
        )
        jobs.save(self.job, saved)
        self.clock.saved(self.rows)

    def _end(self, stopped: bool, news: bool) -> str | None:
        """Give the outputs their names, unless it was told to stop or has nothing to add.

        What is left of them then.
        """
        if self.saved and self.saved.finished and not news:
            return None
        if self.job.state is not None:
            self._save(finished=False)
        if stopped:
            return self.outputs.keep() if self.job.state is None and self.table.live else None
        if not self.tracker.started:
            raise self._useless(self._refused())
        self.outputs.finish()
        if self.job.state is not None:
            self._save(finished=True)
        return None

    def _fail(self, error: TableError | TrackingError) -> NoReturn:
        """Keep what there is, and say so."""
        kept = kept_by(self.job, self.rows, self._keep()) if self.rows > self.before else ""
        raise type(error)(f"{error}{kept}") from error.__cause__ or error

    def _keep(self) -> Kept:
        """Save the run as it was after the last good row or, without a state, leave the
        predictions that there are.
        """
        try:
            if self.job.state is None:
                return Kept(0, self.outputs.keep())
            if not self.broken and not self.judging.failed:
                self._save(finished=False)
        except (
            TableError,
            CheckpointError,
        ):  # a full disk, say: what was saved before is still there
            pass
        file = self.job.output is not None and not self.outputs.stream
        return Kept(self.clock.rows, f"{self.job.output}.partial" if file else None)

    def _useless(self, refused: int) -> TrackingError:
        """No row could be learned from; those that were refused are listed all the same."""
        self.outputs.finish_refused()
        return nothing_to_learn(self.table.name, refused, self.job.refused)

    def _refused(self) -> int:
        return self.bad + self.tracker.refused

    def _seconds(self) -> float:
        return self.lasting.seconds(self.saved.seconds if self.saved else 0.0)
