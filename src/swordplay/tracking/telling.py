"""What a tracker has to tell of how it went: errors, means, and the whole story for a report."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from swordplay.core.types import Vector
from swordplay.estimators.model_report import summary_text
from swordplay.tracking import verdict
from swordplay.tracking.band import BOUNDED, COVERED, WIDTH
from swordplay.tracking.classes import BRIER, LOG_LOSS
from swordplay.tracking.contestants import LEARNER, NO_CHANGE
from swordplay.tracking.course import Recorder
from swordplay.tracking.drivers import drivers
from swordplay.tracking.errors import TrackingError
from swordplay.tracking.looks import POOL, sample
from swordplay.tracking.story import Column, Intervals, Story, Task

if TYPE_CHECKING:
    from swordplay.tracking.tracker import Tracker
    from swordplay.tracking.trackers import AnyTracker


class Common(TypedDict):
    """What is told alike of a run over one series and over many: fields of ``RunStory``."""

    source: str
    target: str
    task: Task
    learner: str
    refused: int
    unlabelled: int
    seconds: float
    measure: str


def common(tracker: AnyTracker, source: str, refused: int, seconds: float) -> Common:
    """What is told of every run that has learned something; the others are refused."""
    if not tracker.started:
        raise TrackingError(
            f"no row has a value of the target {tracker.settings.target!r}, so nothing was learned."
        )
    return {
        "source": source,
        "target": tracker.settings.target,
        "task": tracker.task,
        "learner": LEARNER,
        "refused": refused,
        "unlabelled": tracker.unlabelled,
        "seconds": seconds,
        "measure": "RMSE" if tracker.task == "regression" else "error rate",
    }


def errors(tracker: Tracker) -> tuple[dict[str, float], float]:
    """RMSE or share of mistakes of the learner and of all baselines, and the best single step
    size.
    """
    if not tracker.recorder.rows:
        return {}, math.nan
    totals, best = tracker.recorder.totals()
    means = {name: total / tracker.recorder.rows for name, total in totals.items()}
    return {
        n: math.sqrt(m) for n, m in means.items()
    } if tracker.task == "regression" else means, best


def means(tracker: Tracker) -> dict[str, float]:
    """Mean absolute errors of the learner and of two baselines.

    For classes log loss and Brier score of the learner.

    The Brier score of two classes is that of the second one, as usual; of more it is the sum over
    all of them.
    """
    if not isinstance(tracker.recorder, Recorder) or not tracker.recorder.rows:
        return {}
    sums = (
        tracker.recorder.figures[: tracker.recorder.closed + 1].sum(axis=0) / tracker.recorder.rows
    )
    told = dict(zip(tracker.recorder.figure_names, sums.tolist(), strict=True))
    if tracker.task == "regression":
        return {name: told[name] for name in tracker.contestants.names}
    return {
        LOG_LOSS: told[LOG_LOSS],
        BRIER: told[BRIER] / (2.0 if tracker.task == "binary" else 1.0),
    }


def intervals(tracker: Tracker) -> Intervals | None:
    """How the intervals did; None where there are none."""
    if (
        tracker.band is None
        or not isinstance(tracker.recorder, Recorder)
        or not tracker.recorder.rows
    ):
        return None
    sums = tracker.recorder.figures[: tracker.recorder.closed + 1].sum(axis=0)
    told = dict(zip(tracker.recorder.figure_names, sums.tolist(), strict=True))
    return intervals_of(tracker.settings.level, tracker.recorder.rows, told)


def intervals_of(level: float | None, rows: int, sums: Mapping[str, float]) -> Intervals:
    """How intervals did over so many rows, from the sums of the figures of :mod:`band`."""
    assert level is not None
    width = sums[WIDTH] / sums[BOUNDED] if sums[BOUNDED] else None
    return Intervals(level, sums[COVERED] / rows, width, rows - int(sums[BOUNDED]))


def story(tracker: Tracker, source: str, refused: int, seconds: float) -> Story:
    """All that a report needs (see ``Tracker.story``)."""
    facts = common(tracker, source, refused, seconds)
    assert isinstance(tracker.recorder, Recorder), "one of many keys has no story of its own"
    models, (found, best) = list(tracker.contestants.models.values()), errors(tracker)
    of_classes, spreads = tracker.recognised.of_classes, models[0].columns.places[1]
    classes = (
        tuple(tracker.contestants.shown(code) for code in range(len(tracker.tally.confusion)))
        if of_classes
        else ()
    )
    course = tracker.recorder.course(sample(models), tracker.contestants.coefficients)
    about = {
        k: classes[k] if of_classes and k < len(classes) else ""
        for k in tracker.contestants.coefficients
    }
    signed = course.coefficients
    if tracker.task == "binary" and len(classes) == 2 and classes[0] > classes[1]:
        about, signed = (
            {1: classes[0]},
            -signed,
        )  # one asks what speaks for "1", "yes" and "up", not for "0", "no", "down"
    names = tracker.encoder.names(tracker.settings.target)
    blocks = of_classes and verdict.in_blocks(
        found.get(NO_CHANGE, 1.0), tracker.recorder.rows, tracker.tally.confusion
    )
    return Story(
        **facts,
        rows=tracker.recorder.rows,
        errors=found,
        more=means(tracker),
        intervals=intervals(tracker),
        best_step=best,
        columns=tuple(Column(*one) for one in tracker.encoder.columns(spreads)),
        course=course,
        step_sizes=POOL,
        drivers=drivers(signed, names, spreads, about),
        watched=(min(course.coefficients.shape[2], len(names)), len(names)),
        clock=tracker.clock if forward(course.times) else "",
        last=tracker.tally.last,
        residuals=tracker.tally.errors,
        classes=classes,
        confusion=tracker.tally.confusion.copy(),
        sureness=tracker.tally.sureness,
        worst=tracker.recorder.worst(tracker.last),
        summary=summary_text(LEARNER, tracker.contestants.models, bound=False),
        remarks=(
            *(remark.text for remark in tracker.remarks()),
            *((verdict.BLOCKS,) if blocks else ()),
        ),
    )


def forward(times: Vector) -> bool:
    """Whether times are all known and never go back, and not all the same: then they can stand
    under a picture.
    """
    return bool(
        len(times) > 1
        and np.isfinite(times).all()
        and (np.diff(times) >= 0.0).all()
        and times[-1] > times[0]
    )
