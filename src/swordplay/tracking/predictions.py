"""What is written for each row: its number, what names it, the prediction, the truth, the loss,
and the error so far.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from swordplay.core.state import ROW_COUNT_RANGE, Field, check
from swordplay.core.types import State, Vector
from swordplay.tables.lean import values_of
from swordplay.tracking.contestants import Contestants, Played
from swordplay.tracking.ranges import SUM
from swordplay.tracking.tally import Learned

MOST_VALUES, LONGEST_VALUE = 12, 40
"""Columns of a row that are shown, and characters of each."""


@final
class ScoredRows:
    """The answers for the rows of one batch, filled piece by piece.

    Parameters
    ----------
    batch
        The rows, a pyarrow record batch.
    numbers, targets, times
        Their numbers in the input, their targets and when they happened (NaN where missing), shape
        ``(T,)``.
    shown
        Names and pyarrow arrays of the columns that are told of a row that cost much.
    """

    def __init__(
        self,
        batch: Any,
        numbers: NDArray[np.int64],
        targets: Vector,
        times: Vector,
        shown: Sequence[tuple[str, Any]] = (),
    ) -> None:
        self.batch, self.numbers, self.targets, self.times, self.shown = (
            batch,
            numbers,
            targets,
            times,
            shown,
        )
        count = len(targets)
        self.predictions, self.probabilities = np.zeros(count), np.zeros(count)
        self.losses, self.errors = np.zeros(count), np.zeros(count)
        self.bounds = np.full((count, 2), np.nan)
        self.known, self.scored = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)

    def learned(self, rows: NDArray[np.intp]) -> Learned:
        """What a tally wants to know of some rows."""
        # All rows, the usual case, need not be copied.
        some: Any = rows if len(rows) < len(self.targets) else slice(None)
        said, truth, chance = self.predictions[some], self.targets[some], self.probabilities[some]
        lower, upper = (np.where(np.isfinite(ends), ends, np.nan) for ends in self.bounds[some].T)
        return Learned(self.numbers[some], said, truth, chance, self.times[some], lower, upper)

    def score(self, first: int, played: Played) -> NDArray[np.intp]:
        """Predictions and what they cost; returns the rows that were learned."""
        rows = slice(first, first + len(played.said.predictions))
        self.predictions[rows], self.known[rows] = played.said.predictions, True
        if len(played.said.probabilities):
            self.probabilities[rows] = played.said.probabilities
        learned = first + np.flatnonzero(~np.isnan(self.targets[rows]))
        self.losses[learned], self.errors[learned], self.scored[learned] = (
            played.losses,
            played.errors[:, 0],
            True,
        )
        return learned

    def values(self, rows: NDArray[np.intp], late: Collection[str]) -> list[dict[str, str]]:
        """What the first columns of some rows hold, for people.

        A column that joins ``late`` is told of where it has a value, so that it does not matter
        where batches end.
        """
        found: list[dict[str, str]] = [{} for _ in rows]
        places, unfinished = pa.array(rows), len(found)
        for name, column in self.shown:
            for one, value in zip(found, values_of(column.take(places)), strict=True):
                if len(one) < MOST_VALUES and (value is not None or name not in late):
                    one[name] = shortened(value)
                    unfinished -= len(one) == MOST_VALUES
            if not unfinished:
                break
        return found


@final
class Predictions:
    """Pages as tables, with the running error.

    ===================== ==========================================================================================
    column                what
    ===================== ==========================================================================================
    ``row``               number of the row in the input; the first row of data is 1
    carried columns       of the input, as they were read: ids, or the date of the row
    ``prediction``        made before the row was learned; missing for the very first row, before which nothing is known
    ``lower``, ``upper``  ends of its interval, missing where it has none; only where intervals are asked for
    ``probability``       of the predicted class, by the learner; only where classes are predicted
    ``truth``             the target; missing where it was missing
    ``loss``              squared error; for classes the log loss, minus the logarithm of the probability of the truth
    ``running_error``     over all rows so far: root of the mean squared error; for classes the share of mistakes
    ===================== ==========================================================================================

    Parameters
    ----------
    kind
        Pyarrow's name of the target's type.
    of_classes
        Whether classes are predicted.
    carried
        Columns of the input that stand beside each prediction: a list of pyarrow fields.
    interval
        Whether predictions have intervals.
    """  # noqa: E501

    def __init__(
        self, kind: str, of_classes: bool, carried: Sequence[Any] = (), *, interval: bool = False
    ) -> None:
        self.of_classes, self.carried, self.interval = of_classes, tuple(carried), interval
        self.target = {"double": pa.float64(), "bool": pa.bool_(), "string": pa.string()}[
            kind if of_classes else "double"
        ]
        chance = [("probability", pa.float64())] if of_classes else []
        numbers = [("loss", pa.float64()), ("running_error", pa.float64())]
        ends = [("lower", pa.float64()), ("upper", pa.float64())] if interval else []
        answers = [("prediction", self.target), *ends, *chance, ("truth", self.target), *numbers]
        self.schema = pa.schema(
            [pa.field("row", pa.int64()), *self.carried, *(pa.field(*one) for one in answers)]
        )
        self.total, self.scored = 0.0, 0
        """Sum of the errors, and number of rows that were predicted and learned."""

    @property
    def error(self) -> float:
        """The running error; NaN before the first prediction that could be judged."""
        return float(self._figure(np.array([self.total]), np.array([self.scored]))[0])

    def table(self, page: ScoredRows, contestants: Contestants) -> Any:
        """A page as a pyarrow record batch."""
        columns = [
            pa.array(page.numbers),
            *(page.batch.column(field.name).cast(field.type) for field in self.carried),
            contestants.arrow(page.predictions, page.known).cast(self.target),
            *(
                [_numbers(end, page.known & np.isfinite(end)) for end in page.bounds.T]
                if self.interval
                else []
            ),
            *([_numbers(page.probabilities, page.known)] if self.of_classes else []),
            contestants.arrow(page.targets, ~np.isnan(page.targets)).cast(self.target),
            _numbers(page.losses, page.scored),
            self.running(page.errors, page.scored),
        ]
        return pa.record_batch(columns, schema=self.schema)

    def running(self, errors: Vector, scored: Any) -> Any:
        """The running error after each of further rows, a pyarrow array.

        ``scored`` says which of them count.
        """
        totals = np.cumsum(np.concatenate([[self.total], errors]))[1:]
        counts = self.scored + np.cumsum(scored)
        if len(counts):
            self.total, self.scored = float(totals[-1]), int(counts[-1])
        return _numbers(self._figure(totals, counts), counts > 0)

    def _figure(self, totals: Vector, counts: Any) -> Vector:
        means = np.divide(totals, counts, out=np.full(len(totals), np.nan), where=counts > 0)
        return np.asarray(means if self.of_classes else np.sqrt(means))

    def state(self) -> State:
        """All that the next row needs."""
        return {"total": self.total, "scored": self.scored}

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        self.total, self.scored = float(saved["total"]), int(saved["scored"])

    def check(self, of_classes: bool) -> None:
        """Check the saved number of rows and their loss: of classes, at most 1 for each row.

        Raises
        ------
        ValueError
            Names the number that is wrong.
        """
        check("predictions.scored", self.scored, ROW_COUNT_RANGE)
        check("predictions.total", self.total, Field(0.0, self.scored) if of_classes else SUM)


def _numbers(values: Vector, known: Any) -> Any:
    return pa.array(values, mask=None if known.all() else ~known)


def shortened(value: Any, digits: int = 12) -> str:
    """A value of a table for people; numbers with at most so many digits."""
    text = (
        "" if value is None else f"{value:.{digits}g}" if isinstance(value, float) else str(value)
    )
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"
