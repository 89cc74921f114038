"""What the learner leaves behind for whoever judges it: answers for rows, and looks at itself where stretches end.

A learner need not wait until its answers are judged: it can go on with the next rows in the meantime. So all that anybody
wants to know of it later is noted here while it is true, and where stretches will end is counted by the learner itself
(:class:`Marks`), as the recorder may be some stretches behind.
"""

from __future__ import annotations

from typing import Any, NamedTuple, final

import numpy as np

from swordplay.application.tracking.contestants import Answers, Contestants, Debut
from swordplay.application.tracking.course import EVERY, Recorder, Sample, room_for, sample
from swordplay.application.tracking.predictions import Page
from swordplay.application.tracking.proven import Due
from swordplay.application.tracking.totals import NO_END, Totals
from swordplay.base.types import Matrix, Vector
from swordplay.data.tables import Refusal
from swordplay.estimators.head import Standing


class Look(NamedTuple):
    """The learner at the end of a stretch, as far as the recorder will ask."""

    sample: Sample
    coefficients: dict[int, Vector] | None
    """None where it will not."""
    standing: tuple[Standing | None, ...]
    """Nothing where it will not, or the one answer."""


class Stretch(NamedTuple):
    """Rows up to the end of a stretch, or of the passage."""

    learned: int
    """How many of them were learned."""
    told: list[Any]
    """What single step sizes learn from (see ``Answers``)."""
    look: Look | None
    """Where the stretch ends."""


class Passage(NamedTuple):
    """Consecutive rows with the same columns."""

    first: int
    """Its first row, on the page."""
    rows: Matrix
    answers: Answers
    stretches: list[Stretch]
    debut: Debut | None = None
    """If it is a row whose target nobody could have predicted; the answers are then those of when it was learned."""


class Learnt(NamedTuple):
    """A batch that was learned and has to be judged."""

    page: Page
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
            self.width, self.closed, self.open = recorder.width, recorder.closed, recorder.open
            self.due = Due.of(recorder.windows)

    @property
    def room(self) -> int:
        """Rows that the open stretch has left."""
        return NO_END if self.endless else self.width - self.open

    def passed(self, rows: int, contestants: Contestants) -> Look | None:
        """So many rows were learned, no more than there is room for; a look at the learner if that ends the stretch."""
        if self.endless:
            return None
        self.open += rows
        if self.room:
            return None
        self.closed, self.open = self.closed + 1, 0
        coefficients = None if self.closed % EVERY else contestants.coefficients
        standing = self.due.at(self.closed * self.width, contestants.standing)
        while self.closed >= room_for(self.width) and not self.closed % (2 * EVERY):
            self.closed, self.width = self.closed // 2, 2 * self.width
        return Look(sample(list(contestants.models.values())), coefficients, standing)


def learn_debut(contestants: Contestants, marks: Marks, row: Matrix, target: Vector, first: int) -> Passage:
    """A row whose target nobody could have predicted."""
    answers, debut = contestants.learn_debut(row, target)
    count = int(debut.chances is not None)
    look = marks.passed(count, contestants) if count else None
    return Passage(first, row, answers, [Stretch(count, [], look)], debut)


def learn_rows(contestants: Contestants, marks: Marks, rows: Matrix, targets: Vector, first: int) -> Passage:
    """Rows up to the end of each stretch, where the learner is looked at, and beyond."""
    learned = np.flatnonzero(~np.isnan(targets))
    found, stretches = list[Answers](), list[Stretch]()
    start = done = 0
    while start < len(rows):
        count = min(marks.room, len(learned) - done)
        whole = count == marks.room
        stop = int(learned[done + count - 1]) + 1 if whole else len(rows)
        found.append(contestants.learn(rows[start:stop], targets[start:stop]))
        stretches.append(Stretch(count, found[-1].told, marks.passed(count, contestants)))
        start, done = stop, done + count
    said = found[0].said if len(found) == 1 else np.concatenate([one.said for one in found])
    plan = found[0].plan if len(found) == 1 else np.concatenate([one.plan for one in found])
    return Passage(first, rows, Answers(said, found[0].before, [], plan), stretches)
