"""Error and coverage of a series, recent and over time, in constant memory."""

from __future__ import annotations

import functools
import json
import math
import operator
import sys
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, final

import msgspec

from swordplay.core.arguments import short_repr
from swordplay.core.state import ROUND_COUNT_RANGE, Field, OneOf, damaged, read_json

MAX_POINTS = 200
"""Points of a curve over time: when there are as many, pairs of neighbours are merged."""
RECENT_ANSWERS = 500
"""Answers in the recent error and coverage."""
SHOWN_ROWS = 12
"""Newest answered rows that the live page shows."""


class AnsweredRows(NamedTuple):
    """Columns of answered rows, in the order in which they were learned."""

    ids: Sequence[str]
    predictions: Sequence[Any]
    lowers: Sequence[float | None]
    uppers: Sequence[float | None]
    ys: Sequence[Any]
    errors: Sequence[float | None]
    """None for rows without a prediction."""


class CurvePoint(NamedTuple):
    """Averages over consecutive answered rows: a bin of the curves over time."""

    rows: int
    """Number of the bin's last row, counted from the first row of the series."""
    error: float
    """Mean error."""
    coverage: float | None
    """Share of the answers inside their intervals; None without intervals."""
    step: float | None
    """Effective step size after the bin's last row."""


class BinSums(NamedTuple):
    """Sums over the rows of the bin that is not full yet."""

    rows: int = 0
    error: float = 0.0
    covered: int = 0
    """Answers inside their intervals."""
    bounded: int = 0
    """Rows with an interval."""


class SeriesCounts(msgspec.Struct):
    """Counts and sums since the first row of a series."""

    asks: int = 0
    tells: int = 0
    drops: int = 0
    error: float = 0.0
    """Sum of all errors."""
    covered: int = 0
    """Answers inside their intervals."""
    bounded: int = 0
    """Answered rows with an interval."""
    bin_rows: int = 1
    """Rows of a bin."""
    scored: int = 0
    """Answered rows with a prediction; others have no error."""


LARGEST = sys.float_info.max
POSITIVE_COUNT = ROUND_COUNT_RANGE._replace(low=1.0)
NON_NEGATIVE = Field(0.0, LARGEST)
INTERVAL_END = OneOf((None, Field(-math.inf, math.inf)))
VALUE = OneOf((None, str, bool, int, Field(-LARGEST, LARGEST)))
"""A prediction or a target."""
SHARE = OneOf((None, Field(0.0, 1.0)))
INSIDE = Field(-1.0, 1.0, whole=True)
"""1 for an answer inside its interval, 0 outside, -1 without an interval."""
SAVED = (
    (  # SeriesCounts
        ROUND_COUNT_RANGE,
        ROUND_COUNT_RANGE,
        ROUND_COUNT_RANGE,
        NON_NEGATIVE,
        ROUND_COUNT_RANGE,
        ROUND_COUNT_RANGE,
        POSITIVE_COUNT,
        ROUND_COUNT_RANGE,
    ),
    [(POSITIVE_COUNT, NON_NEGATIVE, SHARE, OneOf((None, NON_NEGATIVE)))],  # CurvePoint
    (ROUND_COUNT_RANGE, NON_NEGATIVE, ROUND_COUNT_RANGE, ROUND_COUNT_RANGE),  # BinSums
    [(NON_NEGATIVE, INSIDE)],  # error and coverage of the recent answers
    # id, prediction, lower, upper, y and error of the newest answered rows
    [(str, VALUE, INTERVAL_END, INTERVAL_END, VALUE, OneOf((None, NON_NEGATIVE)))],
)
"""Shape of the saved JSON."""


@final
class SeriesStats:
    """Counts, sums and curves of one series.

    Every answered row is added to the open bin; a full bin becomes a point of the curves.
    """

    def __init__(self) -> None:
        self.counts = SeriesCounts()
        self.points: list[CurvePoint] = []
        self._bin = BinSums()
        self._recent: deque[tuple[float, int]] = deque(maxlen=RECENT_ANSWERS)  # error, INSIDE
        self._newest: deque[tuple[Any, ...]] = deque(maxlen=SHOWN_ROWS)

    def add_asks(self, rows: int) -> None:
        """Count rows that were asked; a negative number takes them back."""
        self.counts.asks += rows

    def add_drops(self, rows: int) -> None:
        """Count tickets that were dropped."""
        self.counts.drops += rows

    def add_answers(self, rows: AnsweredRows, step_size: Callable[[], float | None]) -> None:
        """Add answered rows.

        Parameters
        ----------
        rows
            The rows.
        step_size
            Returns the effective step size after the last of them; called if a bin is full.
        """
        self._newest.extend(zip(*(column[-SHOWN_ROWS:] for column in rows), strict=True))
        ends = zip(rows.lowers, rows.ys, rows.uppers, strict=True)
        # An infinite interval contains every answer.
        inside = [-1 if lower is None else int(lower <= y <= upper) for lower, y, upper in ends]
        errors: Any = rows.errors
        first = self.counts.tells + 1
        numbers: Sequence[int] = range(first, first + len(errors))
        if None in errors:
            scored = [k for k, error in enumerate(errors) if error is not None]
            numbers = [numbers[k] for k in scored]
            errors = [errors[k] for k in scored]
            inside = [inside[k] for k in scored]
        counts = self.counts
        counts.tells += len(rows.ids)
        counts.scored += len(errors)
        # One after the other: sum() would round in another way.
        counts.error = functools.reduce(operator.add, errors, counts.error)
        counts.covered += inside.count(1)
        counts.bounded += len(inside) - inside.count(-1)
        self._recent.extend(zip(errors[-RECENT_ANSWERS:], inside[-RECENT_ANSWERS:], strict=True))
        self._add_to_bins(numbers, errors, inside, step_size)

    def _add_to_bins(
        self,
        numbers: Sequence[int],
        errors: list[float],
        inside: list[int],
        step_size: Callable[[], float | None],
    ) -> None:
        """Add scored rows to the open bin; their numbers are counted from the first row."""
        first = 0
        while first < len(errors):
            last = min(len(errors), first + self.rows_to_next_point)
            part, total = inside[first:last], self._bin
            self._bin = BinSums(
                total.rows + len(part),
                functools.reduce(operator.add, errors[first:last], total.error),
                total.covered + part.count(1),
                total.bounded + len(part) - part.count(-1),
            )
            if not self.rows_to_next_point:
                self._close_bin(numbers[last - 1], step_size())
            first = last

    @property
    def rows_to_next_point(self) -> int:
        """Rows until the open bin is full."""
        return self.counts.bin_rows - self._bin.rows

    def _close_bin(self, rows: int, step: float | None) -> None:
        """Make a point of the open bin, whose last row has this number."""
        total = self._bin
        coverage = total.covered / total.bounded if total.bounded else None
        self.points.append(CurvePoint(rows, total.error / total.rows, coverage, step))
        self._bin = BinSums()
        if len(self.points) >= MAX_POINTS:
            self.points = [_merge(*self.points[k : k + 2]) for k in range(0, MAX_POINTS, 2)]
            self.counts.bin_rows *= 2

    def recent(self) -> dict[str, Any]:
        """Return mean error and coverage of the recent answers."""
        inside = [one for _, one in self._recent if one >= 0]
        count = len(self._recent)
        return {
            "rows": count,
            "error": sum(error for error, _ in self._recent) / count if count else None,
            "coverage": sum(inside) / len(inside) if inside else None,
        }

    def overall(self) -> dict[str, Any]:
        """Return mean error and coverage since the first row."""
        counts = self.counts
        return {
            "rows": counts.tells,
            "error": counts.error / counts.scored if counts.scored else None,
            "coverage": counts.covered / counts.bounded if counts.bounded else None,
        }

    def newest(self) -> list[dict[str, Any]]:
        """Return the newest answered rows, the newest first; None for infinite numbers."""
        names = ("id", "prediction", "lower", "upper", "y", "error")
        return [
            dict(zip(names, map(_finite_or_none, row), strict=True))
            for row in reversed(self._newest)
        ]

    def dumps(self) -> str:
        """Encode all of it as JSON."""
        counts = msgspec.structs.astuple(self.counts)
        return json.dumps([counts, self.points, self._bin, list(self._recent), list(self._newest)])

    @classmethod
    def loads(cls, text: str) -> SeriesStats:
        """Decode what :meth:`dumps` returned.

        Raises
        ------
        ValueError
            If it has another shape, or counts that contradict each other.
        """
        counts, points, open_bin, recent, newest = read_json("stats", text, SAVED)
        stats = cls()
        stats.counts = SeriesCounts(*counts)
        stats.points = [CurvePoint(*point) for point in points]
        stats._bin = BinSums(*open_bin)
        stats._recent.extend((error, inside) for error, inside in recent)
        stats._newest.extend(tuple(row) for row in newest)
        total, part = stats.counts, stats._bin
        if not total.covered <= total.bounded <= total.scored <= total.tells:
            raise damaged(
                f"state['stats'] has counts that contradict each other, {short_repr(counts)}"
            )
        if len(points) >= MAX_POINTS:
            raise damaged(
                f"state['stats'] must have fewer than {MAX_POINTS} points, got {len(points)}"
            )
        if not part.covered <= part.bounded <= part.rows:
            raise damaged(
                "state['stats'] has counts of the open bin that contradict each other, "
                f"{short_repr(open_bin)}"
            )
        return stats


def _merge(first: CurvePoint, second: CurvePoint) -> CurvePoint:
    """Merge two neighbouring bins of equal length."""
    shares = [point.coverage for point in (first, second) if point.coverage is not None]
    coverage = sum(shares) / len(shares) if shares else None
    return CurvePoint(second.rows, (first.error + second.error) / 2, coverage, second.step)


def _finite_or_none(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
