"""What the answers of a learner are worth: beside baselines and single step sizes, with intervals, and stretch by stretch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from swordplay.application.tracking.contestants import Played
from swordplay.application.tracking.passages import Learnt, Look, Passage
from swordplay.application.tracking.story import Moment
from swordplay.base.types import Vector

if TYPE_CHECKING:
    from swordplay.application.tracking.tracker import Tracker


def judge(tracker: Tracker, passage: Passage, learnt: Learnt) -> None:
    """Put the rows of a passage to the page and, stretch by stretch, on record."""
    (first, rows, answers, stretches, debut), page = passage, learnt.page
    targets = page.targets[first : first + len(rows)]
    tracker.contestants.widen_rungs(rows.shape[1])
    if debut is not None:
        played = tracker.contestants.judge_debut(debut, answers, targets, tracker.recorder.open_rungs)
        if played is None:
            return
    else:
        played = tracker.contestants.judge(answers, targets)
        if tracker.band is not None:
            page.bounds[first : first + len(rows)], played = tracker.band.judge(played, targets, rows)
    learned, start = page.score(first, played), 0
    for stretch in stretches:
        tracker.contestants.climb(stretch.told, tracker.recorder.open_rungs)
        stop = start + stretch.learned
        if stretch.learned:
            _note(tracker, played.part(start, stop), learned[start:stop], learnt)
        if (look := stretch.look) is not None:
            _close(tracker, look)
        start = stop


def _note(tracker: Tracker, played: Played, learned: NDArray[np.intp], learnt: Learnt) -> None:
    """Put rows of the page on record that were learned."""
    page = learnt.page

    def moment(k: int) -> Moment:
        row = int(learned[k])
        said, truth = (tracker.contestants.shown(one) for one in (page.predictions[row], page.targets[row]))
        time = None if math.isnan(page.times[row]) else float(page.times[row])
        at = tracker.recorder.rows + k + 1
        return Moment(int(page.numbers[row]), said, truth, float(played.losses[k]), page.values(row, learnt.late), at, time)

    tracker.recorder.add(played, page.times[learned] if learnt.clock else None, moment)


def _close(tracker: Tracker, look: Look) -> None:
    """End a stretch with what was noted of the learner then; it is all that is asked for, or the counts went apart."""

    def coefficients() -> dict[int, Vector]:
        assert look.coefficients is not None, "nobody looked at the coefficients"
        return look.coefficients

    tracker.recorder.close(look.sample, coefficients, lambda: look.standing[0])
