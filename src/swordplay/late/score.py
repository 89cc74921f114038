"""How many tickets there were, and how good the predictions on them were."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from swordplay.core.state import ROW_COUNT, Field, check
from swordplay.core.types import Matrix, State, Vector
from swordplay.late.ticket import Ticket

FEWEST = 8
"""Answers that are worth a table."""


class Score(NamedTuple):
    """Counts and sums over all tickets of a model; replaced, never written into."""

    asked: int = 0
    told: int = 0
    """Tickets that had an answer,"""
    dropped: int = 0
    """and those that were given up."""
    judged: int = 0
    """Answers to tickets with a prediction,"""
    guarded: int = 0
    """of these with an interval,"""
    missed: int = 0
    """and intervals that did not hold the truth."""
    loss: float = 0.0
    """Sum over the judged: squared errors, or minus the logarithms of the probabilities of the
    true labels.
    """
    error: float = 0.0
    """The same of squared errors, or of mistakes."""

    @property
    def pending(self) -> int:
        """Tickets that wait."""
        return self.asked - self.told - self.dropped

    def judge(
        self, tickets: Iterable[Ticket], truths: Sequence[Any], given: Matrix | None = None
    ) -> tuple[Score, list[float | None]]:
        """The score after some answers more, and the losses of these predictions.

        None where there was none.

        Where all are numbers with intervals they may be ``given`` as a table, ``(T, 3)``; the sums
        are the same, bit by bit.
        """
        if given is not None and len(truths) > FEWEST:
            return self._judge_table(given, np.array(truths, dtype=np.float64))
        asked, told, dropped, judged, guarded, missed, total, error = self
        losses: list[float | None] = []
        for ticket, truth in zip(tickets, truths, strict=True):
            loss = ticket.loss(truth, told)
            losses.append(loss)
            told += 1
            if loss is None:
                continue
            judged += 1
            total += loss
            if ticket.probabilities is not None:
                error += float(ticket.prediction != truth)
                continue
            error += loss
            if ticket.lower is not None:
                guarded += 1
                missed += ticket.missed(truth)
        return Score(asked, told, dropped, judged, guarded, missed, total, error), losses

    def _judge_table(self, given: Matrix, truths: Vector) -> tuple[Score, list[float | None]]:
        said, lower, upper = given.T
        off, count = said - truths, len(truths)
        losses = off * off
        loss, error = (
            float(np.add.accumulate(np.append(start, losses))[-1])
            for start in (self.loss, self.error)
        )
        missed = self.missed + count - int(np.count_nonzero((lower <= truths) & (truths <= upper)))
        counts = (
            self.asked,
            self.told + count,
            self.dropped,
            self.judged + count,
            self.guarded + count,
            missed,
        )
        return Score(*counts, loss, error), losses.tolist()

    def lines(self, of_classes: bool, level: float | None) -> list[str]:
        """What there is to say, for people."""
        counts = (
            f"{self.asked:,} asked, {self.told:,} told, {self.dropped:,} dropped, "
            f"{self.pending:,} pending"
        )
        lines = [f"LateModel: {counts}"]
        if self.judged:
            rate = self.error / self.judged
            said = f"share of mistakes {rate:.4g}" if of_classes else f"RMSE {rate**0.5:.6g}"
            lines.append(
                f"  as asked    {said} over {self.judged:,} answer{'s' * (self.judged != 1)}"
            )
        if self.guarded and level is not None:
            held = 1.0 - self.missed / self.guarded
            lines.append(
                f"  intervals   {100 * held:.1f} % held the truth, of {100 * level:g} % wanted"
            )
        return lines

    def state(self) -> State:
        """All of it by name."""
        return self._asdict()

    @classmethod
    def of_state(cls, saved: Mapping[str, Any]) -> Score:
        """What was saved, checked."""
        found = {name: type(usual)(saved[name]) for name, usual in cls()._asdict().items()}
        for name, value in found.items():
            check(
                f"score.{name}",
                saved[name],
                ROW_COUNT if type(value) is int else Field(0.0, np.inf),
            )
        score = cls(**found)
        if not score.missed <= score.guarded <= score.judged <= score.told or score.pending < 0:
            raise ValueError(f"its counts are {found}, and no tickets lead to these.")
        return score
