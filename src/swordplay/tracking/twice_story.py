"""What a run over rows that come twice has to tell, and how its predictions are written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from swordplay.late import Ticket
from swordplay.tracking.band import BOUNDED, COVERED, WIDTH
from swordplay.tracking.contestants import LEARNER, NO_CHANGE
from swordplay.tracking.keyed_story import column
from swordplay.tracking.story import RunStory
from swordplay.tracking.telling import common, intervals_of

if TYPE_CHECKING:
    from swordplay.tracking.twice import TwiceTracker


@final
@dataclass(frozen=True, kw_only=True)
class TwiceStory(RunStory):
    """What a run over rows that come twice has to tell: made at its end, read by
    ``report.twice``.
    """

    id: tuple[str, ...]
    """Columns by which rows are recognised."""
    asked: int
    """Rows that were predicted,"""
    answered: int
    """those of them whose target came,"""
    pending: int
    """those that wait for it,"""
    dropped: int
    """and those that were given up, as too many waited."""


def errors(tracker: TwiceTracker) -> dict[str, float]:
    """RMSE or share of mistakes of the learner and the baselines.

    Empty before anything could be judged.
    """
    score, of_classes = tracker.score, tracker.recognised.of_classes
    if not score.judged:
        return {}
    names = (LEARNER, NO_CHANGE, "majority class" if of_classes else "running mean")
    means = (total / score.judged for total in list(score.sums.values())[: len(names)])
    return {
        name: mean if of_classes else math.sqrt(mean)
        for name, mean in zip(names, means, strict=True)
    }


def story(tracker: TwiceTracker, source: str, refused: int, seconds: float) -> TwiceStory:
    """All that a report needs (see ``Tracker.story``)."""
    facts, score, late = (
        common(tracker, source, refused, seconds),
        tracker.score,
        tracker.model.score,
    )
    sums = {
        COVERED: score.sums["covered"],
        BOUNDED: score.sums["bounded"],
        WIDTH: score.sums["width"],
    }
    bands = tracker.model.level is not None and score.judged > 0
    given_up = (
        f"{tracker.dropped:,} of the rows that waited longest were given up: more waited than may."
    )
    return TwiceStory(
        **facts,
        rows=score.judged,
        errors=errors(tracker),
        intervals=intervals_of(tracker.settings.level, score.judged, sums) if bands else None,
        columns=tuple(column(one) for one in tracker.encoder.plans),
        id=tuple(tracker.settings.id or ()),
        asked=late.asked,
        answered=late.told,
        pending=late.pending,
        dropped=tracker.dropped,
        remarks=(given_up,) if tracker.dropped else (),
    )


def table(
    tracker: TwiceTracker,
    batch: Any,
    numbers: NDArray[np.int64],
    tickets: Sequence[Ticket],
    losses: Sequence[float | None],
) -> Any:
    """What is written for the rows of a batch: a row that is answered has the prediction of when it
    was new.

    Parameters
    ----------
    tracker, batch, numbers
        The rows as they were read, and their numbers in the input.
    tickets, losses
        What was predicted, and what that cost; None where the target is not known, or nothing was
        predicted.
    """
    predictions, target = tracker.predictions, batch.column(tracker.settings.target)
    scored = np.array([loss is not None for loss in losses], dtype=bool)
    costs = np.array([0.0 if loss is None else loss for loss in losses])
    if predictions.of_classes:
        truths = target.to_pylist()
        wrong = [one.prediction != truth for one, truth in zip(tickets, truths, strict=True)]
        errors = np.where(scored, np.array(wrong, dtype=np.float64), 0.0)
    else:
        errors = costs
    chance = [
        None if one.probabilities is None else one.probabilities[one.prediction] for one in tickets
    ]
    columns = [
        pa.array(numbers),
        *(batch.column(field.name).cast(field.type) for field in predictions.carried),
        pa.array([one.prediction for one in tickets], type=predictions.target),
        *(
            [_ends(one.lower for one in tickets), _ends(one.upper for one in tickets)]
            if predictions.interval
            else []
        ),
        *([pa.array(chance, type=pa.float64())] if predictions.of_classes else []),
        target.cast(predictions.target),
        pa.array(costs, mask=~scored),
        predictions.running(errors, scored),
    ]
    return pa.record_batch(columns, schema=predictions.schema)


def _ends(values: Any) -> Any:
    """Ends of intervals; those that are infinite are missing."""
    return pa.array(
        [value if value is not None and math.isfinite(value) else None for value in values],
        type=pa.float64(),
    )
