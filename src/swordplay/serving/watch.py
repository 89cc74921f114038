"""What is going on in a series: error and coverage now and over time, and the last rows.

Summed up, never growing.
"""

from __future__ import annotations

import functools
import json
import math
import operator
import sys
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from swordplay.core.arguments import short_repr
from swordplay.core.state import ROUND_COUNT, Field, OneOf, damaged, read_json
from swordplay.core.types import Matrix, Vector

MOST_POINTS = 200
"""Points of a line over time: when there are more, two and two become one."""
NOW = 500
"""Answers that count as now."""
LAST = 12
"""Rows that are shown."""


class Point(NamedTuple):
    """A stretch of answered rows."""

    rows: int
    """Up to which it goes, counted from the first."""
    error: float
    """Its mean."""
    coverage: float | None
    """The share of truths inside their intervals; None where there are none."""
    step: float | None
    """The effective step size at its end."""


LARGEST = sys.float_info.max
LENGTH = ROUND_COUNT._replace(low=1.0)
"""A number of rows, one or more."""
SIZE = Field(0.0, LARGEST)
"""A finite number, 0 or above, such as an error."""
END = OneOf((None, Field(-math.inf, math.inf)))
"""An end of an interval, which may be infinite; None without intervals."""
PLAIN = OneOf((None, str, bool, int, Field(-LARGEST, LARGEST)))
"""A prediction or a target."""
SHARE = OneOf((None, Field(0.0, 1.0)))
"""A share of rows; None without intervals."""
SAVED = (
    # asks, tells, drops, error, covered, bounded, stretch, judged
    (ROUND_COUNT, ROUND_COUNT, ROUND_COUNT, SIZE, ROUND_COUNT, ROUND_COUNT, LENGTH, ROUND_COUNT),
    [(LENGTH, SIZE, SHARE, OneOf((None, SIZE)))],  # points
    (
        ROUND_COUNT,
        SIZE,
        ROUND_COUNT,
        ROUND_COUNT,
    ),  # last stretch: rows, errors, covered, bounded
    [
        (SIZE, Field(-1.0, 1.0, whole=True))
    ],  # newest errors; whether the truth was inside, -1 for no interval
    [(str, PLAIN, END, END, PLAIN, OneOf((None, SIZE)))],  # newest rows
)
"""Shape of the JSON text of a series."""


@final
class Watch:
    """Sums of one series.

    Every answered row is one more in the stretch at the end; a stretch that is full becomes a
    point.
    """

    def __init__(self) -> None:
        self.asks = self.tells = self.drops = 0
        self.judged = 0
        """Answers to rows with a prediction; those without count for nothing else."""
        self.error = 0.0
        """The sum of all errors."""
        self.covered = self.bounded = 0
        """Truths inside their intervals, and how many intervals there were."""
        self.points: list[Point] = []
        self.stretch = 1
        self._open: tuple[int, float, int, int] = (0, 0.0, 0, 0)
        self._now: deque[tuple[float, int]] = deque(
            maxlen=NOW
        )  # error, and 1 inside, 0 outside, -1 no interval
        self._last: deque[list[Any]] = deque(maxlen=LAST)

    def told(
        self,
        tickets: Sequence[Any],
        ys: Sequence[Any],
        errors: Sequence[float | None],
        step: Callable[[], float | None],
    ) -> None:
        """Count answered rows; ``step`` tells the effective step size where a stretch is full."""
        for ticket, y, one in list(zip(tickets, ys, errors, strict=True))[-LAST:]:
            self._last.append([ticket.id, ticket.prediction, ticket.lower, ticket.upper, y, one])
        # An infinite interval holds every truth, and says so.
        inside = [
            -1 if one[2] is None else int(one[2] <= y <= one[3])
            for one, y in zip(tickets, ys, strict=True)
        ]
        judged: list[float] = [one for one in errors if one is not None]
        if len(judged) < len(errors):
            inside = [one for one, error in zip(inside, errors, strict=True) if error is not None]
        self.tells += len(tickets)
        self._count(judged, inside, step)

    def told_table(
        self,
        ids: list[str],
        given: Matrix,
        ys: Vector,
        errors: list[float],
        step: Callable[[], float | None],
    ) -> None:
        """Add rows whose predictions and interval ends are in a table, shape ``(T, 3)``."""
        last = zip(
            ids[-LAST:], given[-LAST:].tolist(), ys[-LAST:].tolist(), errors[-LAST:], strict=True
        )
        self._last.extend([name, *row, y, one] for name, row, y, one in last)
        self.tells += len(ids)
        self._count(
            errors, ((given[:, 1] <= ys) & (ys <= given[:, 2])).astype(np.int64).tolist(), step
        )

    def _count(
        self, judged: list[float], inside: list[int], step: Callable[[], float | None]
    ) -> None:
        """Rows with a prediction: their errors, and 1 inside, 0 outside, -1 no interval."""
        self.judged += len(judged)
        self.error = functools.reduce(
            operator.add, judged, self.error
        )  # in their order, as one after the other
        self.bounded += len(inside) - inside.count(-1)
        self.covered += inside.count(1)
        self._now.extend(zip(judged[-NOW:], inside[-NOW:], strict=True))
        before, first = self.tells - len(judged), 0
        while first < len(judged):
            last = min(len(judged), first + self.left)
            count, total, covered, bounded = self._open
            some = inside[first:last]
            bounded, covered = bounded + len(some) - some.count(-1), covered + some.count(1)
            self._open = (
                count + len(some),
                functools.reduce(operator.add, judged[first:last], total),
                covered,
                bounded,
            )
            if not self.left:
                self._close_stretch(before + last, step())
            first = last

    @property
    def left(self) -> int:
        """Rows until the stretch at the end is full."""
        return self.stretch - self._open[0]

    def _close_stretch(self, rows: int, step: float | None) -> None:
        """Let the stretch at the end, which goes up to so many rows, become a point."""
        count, total, covered, bounded = self._open
        self.points.append(Point(rows, total / count, covered / bounded if bounded else None, step))
        self._open = (0, 0.0, 0, 0)
        if len(self.points) >= MOST_POINTS:
            self.points = [_merged(*self.points[k : k + 2]) for k in range(0, MOST_POINTS, 2)]
            self.stretch *= 2

    def now(self) -> dict[str, Any]:
        """Mean error, and coverage, of the last answers."""
        inside = [one for _, one in self._now if one >= 0]
        return {
            "rows": len(self._now),
            "error": sum(error for error, _ in self._now) / len(self._now) if self._now else None,
            "coverage": sum(inside) / len(inside) if inside else None,
        }

    def ever(self) -> dict[str, Any]:
        """The same since the first row."""
        return {
            "rows": self.tells,
            "error": self.error / self.judged if self.judged else None,
            "coverage": self.covered / self.bounded if self.bounded else None,
        }

    def last(self) -> list[dict[str, Any]]:
        """The newest answered rows, the newest first."""
        names = ("id", "prediction", "lower", "upper", "y", "error")
        return [dict(zip(names, map(_plain, row), strict=True)) for row in reversed(self._last)]

    def dumps(self) -> str:
        """Write all sums as JSON."""
        counts = [
            self.asks,
            self.tells,
            self.drops,
            self.error,
            self.covered,
            self.bounded,
            self.stretch,
            self.judged,
        ]
        return json.dumps([counts, self.points, self._open, list(self._now), list(self._last)])

    @classmethod
    def loads(cls, text: str) -> Watch:
        """Read what :meth:`dumps` wrote.

        Raises
        ------
        ValueError
            If it has another shape, or counts that contradict each other.
        """
        counts, points, open_, now, last = read_json("watch", text, SAVED)
        watch = cls()
        (
            watch.asks,
            watch.tells,
            watch.drops,
            watch.error,
            watch.covered,
            watch.bounded,
            watch.stretch,
            watch.judged,
        ) = counts
        watch.points = [Point(*point) for point in points]
        watch._open = tuple(open_)
        watch._now.extend(tuple(one) for one in now)
        watch._last.extend(last)
        if not watch.covered <= watch.bounded <= watch.judged <= watch.tells:
            raise damaged(
                f"state['watch'] has counts that contradict each other, {short_repr(counts)}"
            )
        if len(points) >= MOST_POINTS:
            raise damaged(
                f"state['watch'] must have fewer than {MOST_POINTS} points, got {len(points)}"
            )
        rows, _, covered, bounded = open_
        if not covered <= bounded <= rows:
            raise damaged(
                "state['watch'] has counts of the last stretch that contradict each other, "
                f"{short_repr(open_)}"
            )
        return watch


def _merged(first: Point, second: Point) -> Point:
    """Two stretches of equal length as one."""
    both = [point.coverage for point in (first, second) if point.coverage is not None]
    coverage = sum(both) / len(both) if both else None
    return Point(second.rows, (first.error + second.error) / 2, coverage, second.step)


def _plain(value: Any) -> Any:
    """A value as JSON has it: nothing for what is infinite."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
