"""What the learner leaves behind for whoever judges it: answers for rows, and looks at itself where
stretches end.

A learner need not wait until its answers are judged: it can go on with the next rows in the
meantime. So all that anybody wants to know of it later is noted here while it is true, and where
stretches will end is counted by the learner itself (:class:`Marks`), as the recorder may be some
stretches behind.
"""

from __future__ import annotations

from typing import NamedTuple, final

import numpy as np

from swordplay.core.types import Matrix, Vector
from swordplay.tables import Refusal
from swordplay.tracking.contestants import Answers, Contestants, Debut
from swordplay.tracking.course import Recorder
from swordplay.tracking.looks import LearnerSnapshot, sample
from swordplay.tracking.predictions import ScoredRows
from swordplay.tracking.rungs import NO_END
from swordplay.tracking.stretches import EVERY
from swordplay.tracking.totals import Totals


class Passage(NamedTuple):
    """Consecutive rows with the same columns."""

    first: int
    """Its first row, on the page."""
    rows: Matrix
    answers: Answers
    looks: dict[int, LearnerSnapshot]
    """At the learner, by rows on record."""
    debut: Debut | None = None
    """If it is a row whose target nobody could have predicted.

    The answers are then those of when it was learned.
    """


class Learnt(NamedTuple):
    """A batch that was learned and has to be judged."""

    page: ScoredRows
    passages: list[Passage]
    refusals: tuple[Refusal, ...]
    clock: str
    """The column that dates the rows, empty where there is none."""
    late: frozenset[str]
    """Columns that are told of only where they have a value."""
    remarks: tuple[str, ...]
    last: int | None
    """Number of the last row as it is read; None if there is none."""
    width: int
    """Columns at the end."""


@final
class Marks:
    """Where stretches end: what the recorder counts, counted by a learner that is ahead of it.

    Parameters
    ----------
    recorder
        As it is when nobody is ahead of it.
    """

    def __init__(self, recorder: Recorder | Totals) -> None:
        self.endless = isinstance(recorder, Totals)
        if isinstance(recorder, Recorder):
            self.grid = recorder.grid

    def lasting(self, rows: int) -> int:
        """Of so many rows to come: how wide stretches are behind them.

        Looks at other ends do not outlast them.
        """
        return NO_END if self.endless else self.grid.after(rows).width

    def ahead(self, lasting: int) -> int:
        """Rows up to the next look."""
        if self.endless:
            return NO_END
        return lasting - self.grid.rows % lasting

    def passed(
        self, rows: int, lasting: int, contestants: Contestants
    ) -> dict[int, LearnerSnapshot]:
        """So many rows were learned, no more than up to the next look, which is taken if it is
        due.
        """
        if self.endless or not rows:
            return {}
        self.grid = self.grid.after(rows)
        at = self.grid.rows
        if at % lasting:
            return {}
        coefficients = None if at % (EVERY * lasting) else contestants.coefficients
        return {at: LearnerSnapshot(sample(list(contestants.models.values())), coefficients)}


def learn_debut(
    contestants: Contestants, marks: Marks, row: Matrix, target: Vector, first: int
) -> Passage:
    """A row whose target nobody could have predicted."""
    answers, debut = contestants.learn_debut(row, target)
    count = int(debut.chances is not None)
    looks = marks.passed(count, marks.lasting(count), contestants) if count else {}
    return Passage(first, row, answers, looks, debut)


def learn_rows(
    contestants: Contestants, marks: Marks, rows: Matrix, targets: Vector, first: int
) -> Passage:
    """Rows up to each look at the learner, and beyond."""
    learned = np.flatnonzero(~np.isnan(targets))
    looks, lasting = dict[int, LearnerSnapshot](), marks.lasting(len(learned))
    parts = contestants.in_parts(rows, targets)
    start = done = 0
    while start < len(rows):
        ahead = marks.ahead(lasting)
        count = min(ahead, len(learned) - done)
        stop = int(learned[done + count - 1]) + 1 if count == ahead else len(rows)
        parts.learn(start, stop)
        looks |= marks.passed(count, lasting, contestants)
        start, done = stop, done + count
    return Passage(first, rows, parts.answers(), looks)
