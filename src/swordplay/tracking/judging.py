"""What the answers of a learner are worth: beside baselines and single step sizes, with
intervals, and stretch by stretch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from swordplay.tracking.contestants import Played
from swordplay.tracking.passages import Learnt, Passage
from swordplay.tracking.story import WorstRow

if TYPE_CHECKING:
    from swordplay.tracking.tracker import Tracker


def judge(tracker: Tracker, passage: Passage, learnt: Learnt) -> None:
    """Put the rows of a passage to the page and, stretch by stretch, on record."""
    (first, rows, answers, _, debut), page = passage, learnt.page
    targets = page.targets[first : first + len(rows)]
    tracker.contestants.widen_rungs(rows.shape[1])
    if debut is not None:
        losses = tracker.recorder.rungs_of(1).losses[0]
        played = tracker.contestants.judge_debut(debut, answers, targets, losses)
        if played is None:
            return
    else:
        played = tracker.contestants.judge(answers, targets)
        if tracker.band is not None:
            page.bounds[first : first + len(rows)], played = tracker.band.judge(
                played, targets, rows
            )
    _record(tracker, played, page.score(first, played), passage, learnt)


def _record(
    tracker: Tracker, played: Played, learned: NDArray[np.intp], passage: Passage, learnt: Learnt
) -> None:
    """Put the rows of a passage that were learned on record, as many stretches at a time as
    there are between two events.
    """
    recorder, page, count = tracker.recorder, learnt.page, len(learned)
    times = page.times[learned] if learnt.clock else None
    told = _Told(passage.answers.told if passage.debut is None else [])
    before = recorder.rows
    start = 0
    while start < count:
        stop = start + recorder.together(count - start)
        tracker.contestants.climb(told.take(stop - start), recorder.rungs_of(stop - start))
        recorder.add(played.part(start, stop), None if times is None else times[start:stop], start)
        recorder.close(passage.looks)
        start = stop

    def moments(places: list[int]) -> Iterator[WorstRow]:
        rows = learned[places]
        for place, row, values in zip(
            places, rows.tolist(), page.values(rows, learnt.late), strict=True
        ):
            said, truth = (
                tracker.contestants.shown(one) for one in (page.predictions[row], page.targets[row])
            )
            time = None if math.isnan(page.times[row]) else float(page.times[row])
            number, loss = int(page.numbers[row]), float(played.losses[place])
            yield WorstRow(number, said, truth, loss, values, before + place + 1, time)

    recorder.tell(moments)


class _Told:
    """What single step sizes learn from, some rows at a time.

    Parameters
    ----------
    parts
        See ``Answers.told``.
    """

    def __init__(self, parts: list[Any]) -> None:
        self._parts, self._first = parts, 0

    def take(self, rows: int) -> list[Any]:
        """The next rows; none where there is nothing to learn from."""
        found = []
        while rows and self._parts:
            scratch, labels = self._parts[0]
            stop = min(len(labels), self._first + rows)
            rows -= stop - self._first
            found.append((scratch.part(self._first, stop), labels[self._first : stop]))
            self._first = stop
            if stop == len(labels):
                self._parts, self._first = self._parts[1:], 0
        return found
