"""Score: counts of tickets, and losses of the predictions that were given."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple, Self

from swordplay.core.state import damaged, load, number, save
from swordplay.core.types import State
from swordplay.late.tickets import TicketBlock

MIN_PROBABILITY = 1e-15
"""Smaller probabilities count as this one, so that log losses stay finite."""
COUNT = number(0.0, 2.0**50, whole=True)
LOSS_SUM = number(0.0, math.inf)


class Score(NamedTuple):
    """Counts and sums over all tickets of a model; a change makes a new one."""

    asked: Annotated[int, COUNT] = 0
    """Tickets that were asked."""
    told: Annotated[int, COUNT] = 0
    """Tickets whose target was learned."""
    dropped: Annotated[int, COUNT] = 0
    """Tickets that were dropped."""
    judged: Annotated[int, COUNT] = 0
    """Targets of tickets with a prediction."""
    with_interval: Annotated[int, COUNT] = 0
    """Targets of tickets with an interval."""
    missed: Annotated[int, COUNT] = 0
    """Targets outside their interval."""
    loss: Annotated[float, LOSS_SUM] = 0.0
    """Sum of losses: squared errors, or minus the logarithm of the true label's probability."""
    error: Annotated[float, LOSS_SUM] = 0.0
    """Sum of squared errors, or number of wrong labels."""

    @property
    def pending(self) -> int:
        """Tickets that are pending."""
        return self.asked - self.told - self.dropped

    def add(self, block: TicketBlock, answers: Sequence[Any]) -> tuple[Score, list[float | None]]:
        """Return the score with the targets of these tickets, and the loss of each prediction.

        The loss is None for a ticket without a prediction. A label that was not known when the
        ticket was asked counts as if its probability had been 1 / (1 + told).
        """
        if block.labels is None:
            return self._add_numbers(block, answers)
        return self._add_labels(block, block.labels, answers)

    def _add_numbers(
        self, block: TicketBlock, answers: Sequence[float]
    ) -> tuple[Score, list[float | None]]:
        judged, with_interval, missed = self.judged, self.with_interval, self.missed
        loss_sum, error_sum = self.loss, self.error
        losses: list[float | None] = []
        columns = block.predictions.T.tolist()  # three lists: a list per row would take longer
        for prediction, lower, upper, y in zip(*columns, answers, strict=True):
            if prediction != prediction:  # NaN: there is none
                losses.append(None)
                continue
            loss = (prediction - y) * (prediction - y)
            losses.append(loss)
            judged += 1
            loss_sum += loss
            error_sum += loss
            if lower == lower:
                with_interval += 1
                missed += not lower <= y <= upper
        told = self.told + len(losses)
        score = self._replace(told=told, judged=judged, with_interval=with_interval, missed=missed)
        return score._replace(loss=loss_sum, error=error_sum), losses

    def _add_labels(
        self, block: TicketBlock, labels: Sequence[Any], answers: Sequence[Any]
    ) -> tuple[Score, list[float | None]]:
        places = {label: place for place, label in enumerate(labels)}
        told, judged, loss_sum, error_sum = self.told, self.judged, self.loss, self.error
        losses: list[float | None] = []
        for probabilities, y in zip(block.predictions.tolist(), answers, strict=True):
            known = [value for value in probabilities if value == value]  # NaN: not known yet
            place = places.get(y, len(known))
            unknown = 1.0 / (1.0 + told)
            told += 1
            if not known:
                losses.append(None)
                continue
            probability = known[place] if place < len(known) else unknown
            loss = -math.log(max(probability, MIN_PROBABILITY))
            losses.append(loss)
            judged += 1
            loss_sum += loss
            error_sum += float(known.index(max(known)) != place)
        return self._replace(told=told, judged=judged, loss=loss_sum, error=error_sum), losses

    def lines(self, predicts_labels: bool, level: float | None) -> list[str]:
        """Return the lines of a summary."""
        counts = (
            f"{self.asked:,} asked, {self.told:,} told, {self.dropped:,} dropped, "
            f"{self.pending:,} pending"
        )
        lines = [f"LateModel: {counts}"]
        if self.judged:
            mean = self.error / self.judged
            error = f"share of mistakes {mean:.4g}" if predicts_labels else f"RMSE {mean**0.5:.6g}"
            plural = "s" * (self.judged != 1)
            lines.append(f"  as asked    {error} over {self.judged:,} answer{plural}")
        if self.with_interval and level is not None:
            covered = 100 * (1.0 - self.missed / self.with_interval)
            lines.append(
                f"  intervals   {covered:.1f} % held the truth, of {100 * level:g} % wanted"
            )
        return lines

    def state(self) -> State:
        """Return all numbers by name."""
        return save(self)

    @classmethod
    def from_state(cls, saved: Mapping[str, Any]) -> Self:
        """Check the numbers that :meth:`state` returned, and make the score again."""
        score = load(cls, saved, prefix="score.")
        counts = score.missed, score.with_interval, score.judged, score.told
        if list(counts) != sorted(counts) or score.pending < 0:
            raise damaged(f"the counts of its score are {score}, and no tickets lead to these")
        return score
