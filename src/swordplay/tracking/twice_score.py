"""How good predictions were whose targets came later, beside baselines that knew as little when
the rows were new.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, final

from swordplay.core.state import ROWS, Field, check_number
from swordplay.estimators.model import LARGEST
from swordplay.late import Ticket
from swordplay.tables.encoder_sanity import refuse
from swordplay.tracking.sanity import SUM, TOTAL

SUMS = ("learner", "no change", "mean or majority", "covered", "bounded", "width")
"""What is summed over all answers that could be judged: squared errors or mistakes, then of the
intervals.
"""

VALUE = Field(-LARGEST, LARGEST)


class Said(NamedTuple):
    """What the baselines said of a row when it was new; None before anything was known."""

    last: Any = None
    """The last target,"""
    usual: Any = None
    """and the mean of all, or their commonest class."""

    def require_sane(self, of_classes: bool) -> None:
        """Refuse what no baseline says: numbers that are none, where numbers are predicted."""
        for name, one in self._asdict().items() if not of_classes else ():
            check_number(f"said.{name}", one, VALUE)


@final
class Score:
    """Sums over all answers, and what the next row's baselines say."""

    def __init__(self) -> None:
        self.told = self.judged = 0
        """Answers, and those to rows with a prediction."""
        self.sums = dict.fromkeys(SUMS, 0.0)
        self.last: Any = None
        """The target that was told last."""
        self.total = 0.0
        """Of all targets, where they are numbers;"""
        self.counts: dict[Any, int] = {}
        """of classes how often each was told, in the order in which they came."""

    def says(self) -> Said:
        """What the baselines say of a row that is new now."""
        if not self.told:
            return Said()
        if self.counts:
            return Said(self.last, max(self.counts, key=lambda one: self.counts[one]))
        return Said(self.last, self.total / self.told)

    def judge(
        self, said: Said, ticket: Ticket, truth: Any, loss: float | None, *, of_classes: bool
    ) -> None:
        """One answer more.

        Parameters
        ----------
        said, ticket
            What the baselines and the learner said.
        truth, loss
            The target, and what the learner's prediction cost; None where there was none.
        of_classes
            Whether classes are predicted.
        """
        if loss is not None:
            self.judged += 1
            for name, one in zip(SUMS, (ticket.prediction, said.last, said.usual), strict=False):
                self.sums[name] += float(one != truth) if of_classes else (one - truth) ** 2
            if ticket.lower is not None and ticket.upper is not None:
                self.sums["covered"] += ticket.lower <= truth <= ticket.upper
                if math.isfinite(ticket.upper - ticket.lower):
                    self.sums["bounded"] += 1.0
                    self.sums["width"] += ticket.upper - ticket.lower
        self.told, self.last = self.told + 1, truth
        if of_classes:
            self.counts[truth] = self.counts.get(truth, 0) + 1
        else:
            self.total += truth

    def saved(self) -> list[Any]:
        """As values of JSON."""
        return [
            self.told,
            self.judged,
            list(self.sums.values()),
            self.last,
            self.total,
            list(self.counts.items()),
        ]

    @classmethod
    def of_saved(cls, saved: Sequence[Any], of_classes: bool) -> Score:
        """And back, checked."""
        score = cls()
        score.told, score.judged, sums, score.last, score.total, counts = saved
        score.sums, score.counts = (
            dict(zip(SUMS, map(float, sums), strict=True)),
            {label: int(n) for label, n in counts},
        )
        check_number("score.told", score.told, ROWS)
        check_number("score.judged", score.judged, ROWS)
        for name, one in score.sums.items():
            check_number(f"score.{name}", one, SUM)
        check_number("score.total", score.total, TOTAL)
        if score.judged > score.told or (
            bool(score.counts) if not of_classes else any(n < 1 for n in score.counts.values())
        ):
            raise refuse("the sums over its answers are not those of any answers")
        if score.told:
            Said(score.last, 0.0).require_sane(of_classes)
        return score
