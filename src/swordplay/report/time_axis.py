"""The time axis of charts over a run: its dates where they go forward, else its row numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

import numpy as np
from numpy.typing import NDArray

from swordplay.core.types import Vector
from swordplay.report import formatting as fmt
from swordplay.report.axes import Axis
from swordplay.report.charts import Chart, ChartLook, Line, chart

if TYPE_CHECKING:
    from swordplay.tracking.changes import DetectedChange
    from swordplay.tracking.story import Story

TIME = "time"
"""Group of the charts over a run, which zoom together."""
LATELY = 0.02
"""Share of the run that recent means are taken over."""
FEWEST_LATELY = 100
"""Fewest rows of a recent mean: a share of mistakes among fewer is mostly chance."""


def points(story: Story) -> Vector:
    """Return the begin and the ends of all windows, shape ``(B + 1,)``, as dates or row numbers."""
    return story.course.times if story.clock else rows(story)


def rows(story: Story) -> Vector:
    """Return the begin and the ends of all windows, shape ``(B + 1,)``, as row numbers."""
    return np.concatenate([[0.0], story.course.ends])


def axis(story: Story) -> Axis:
    """Return the horizontal axis of charts over the run."""
    places = points(story)
    title = fmt.clean_text(story.clock, 40) if story.clock else "row"
    return Axis(
        float(places[0]), float(places[-1]), title=title, scale="utc" if story.clock else "linear"
    )


def place(story: Story, row: float) -> float:
    """Return the place on the axis of a row, counted among those that were learned."""
    return float(np.interp(row, rows(story), points(story)))


def when(story: Story, row: int, time: float | None) -> str:
    """Describe the time of a row, such as ``"in May 2012"`` or ``"around row 5,210"``.

    Parameters
    ----------
    story
        The run, whose length says how fine a date may be.
    row
        Its place among the rows that were learned.
    time
        When it was, if that is known.
    """
    if time is None or not story.clock:
        return f"around row {row:,}"
    span = float(story.course.times[-1] - story.course.times[0])
    text = fmt.time_text(time, span)
    return f"{'in' if span >= 2 * fmt.YEAR else 'on'} {text}"


def when_changed(story: Story, change: DetectedChange) -> str:
    """Describe the time of a change: one time for a jump, begin and end for a slow change."""
    if change.since_row is None:
        return when(story, change.row, change.time)
    if change.since_time is None or change.time is None:
        return f"from around row {change.since_row:,} to row {change.row:,}"
    span = float(story.course.times[-1] - story.course.times[0])
    began, ended = (fmt.approximate_time(time, span) for time in (change.since_time, change.time))
    return f"from {began} to {ended}"


def drawn(
    story: Story,
    title: str,
    text: str,
    lines: Sequence[Line],
    y: Axis,
    *,
    at: NDArray[np.int64] | None = None,
    **look: Unpack[ChartLook],
) -> Chart:
    """Draw lines over the run, with the value of each window at its end.

    The value of the first window stands at the begin of the run as well.

    Parameters
    ----------
    story, title, text, lines, y, look
        As for :func:`chart`; lines have the shape ``(B,)``.
    at
        The stretches that lines tell of, counted from 1, where it is not each of them.
    """
    some = np.arange(len(story.course.ends) + 1) if at is None else np.concatenate([[0], at])
    parts = lines, look.get("extra", ())
    begun = [
        [line._replace(values=np.concatenate([line.values[:1], line.values])) for line in part]
        for part in parts
    ]
    usual: ChartLook = {
        "stretch": True,
        "group": TIME,
        "rows": rows(story)[some],
        **look,
        "extra": begun[1],
    }
    return chart(title, text, points(story)[some], begun[0], axis(story), y, **usual)


def back(story: Story) -> tuple[int, int]:
    """Return the number of windows of a recent mean, and about how many rows they have."""
    ends = story.course.ends
    count = max(round(LATELY * len(ends)), int(np.ceil(FEWEST_LATELY * len(ends) / ends[-1])))
    count = min(count, len(ends))
    return count, int(np.ceil(ends[-1] * count / len(ends)))


def smooth(values: Vector, count: int) -> Vector:
    """Return the moving average over ``count`` values or one more; NaN stays NaN."""
    side = count // 2
    known = np.isfinite(values)
    sums = np.concatenate([[0.0], np.cumsum(np.where(known, values, 0.0))])
    counts = np.concatenate([[0], np.cumsum(known)])
    k = np.arange(len(values))
    first, stop = np.maximum(k - side, 0), np.minimum(k + side + 1, len(values))
    return np.asarray(
        np.where(
            known, (sums[stop] - sums[first]) / np.maximum(counts[stop] - counts[first], 1), np.nan
        )
    )


def lately(story: Story, sums: Vector, count: int) -> Vector:
    """Return the mean per row over the last ``count`` windows, at the end of each window.

    Parameters
    ----------
    story
        The run.
    sums
        Sum over the rows of each window, shape ``(B,)``.
    count
        Number of windows.
    """
    totals, ends = np.concatenate([[0.0], np.cumsum(sums)]), rows(story)
    first = np.maximum(np.arange(1, len(ends)) - count, 0)
    return np.asarray((totals[1:] - totals[first]) / np.maximum(ends[1:] - ends[first], 1.0))
