"""Charts of the prediction intervals over a run: their coverage beside the level, their width."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from swordplay.report import formatting as fmt
from swordplay.report import time_axis
from swordplay.report.axes import Axis, top
from swordplay.report.charts import Chart, Line
from swordplay.tracking.band import BOUNDED, COVERED, WIDTH

if TYPE_CHECKING:
    from swordplay.tracking.story import Intervals, RunStory, Story


def in_words(story: RunStory, found: Intervals) -> str:
    """Describe level, coverage and mean width of the intervals in words."""
    wide = (
        ""
        if found.mean_width is None
        else f" They were {fmt.number(found.mean_width)} wide on average."
    )
    first = (
        f" {fmt.plural(found.unbounded, 'row')} had none with ends, the first ones among them."
        if found.unbounded
        else ""
    )
    return (
        "Each prediction came with an interval that was to hold the actual value in "
        f"{fmt.percent(found.level)} of the rows. It did so in {fmt.percent(found.coverage)} of "
        f"{fmt.plural(story.rows, 'row')}.{wide}{first}"
    )


def coverage(story: Story, found: Intervals) -> Chart:
    """Draw the recent coverage of the intervals beside their level."""
    back, rows = time_axis.back(story)
    share = np.clip(time_axis.lately(story, story.course.figures[COVERED], back), 0.0, 1.0)
    lines = [
        Line("asked for", np.full(len(share), found.level), "muted", 1.5, (5, 3)),
        Line("held", share, "sword", 2.0),
    ]
    low = max(0.0, min(float(share[back:].min(initial=found.level)), found.level) - 0.05)
    text = (
        f"Share of actual values inside their interval, over the last {fmt.plural(rows, 'row')} "
        "or so. No window of rows "
        "has more than 20 misses beyond those that were asked for, whatever happens."
    )
    return time_axis.drawn(
        story, "Did the intervals hold?", text, lines, Axis(low, 1.0, format="percent"), height=180
    )


def width(story: Story) -> Chart:
    """Draw the mean width of the intervals over the run."""
    figures = story.course.figures
    counts = figures[BOUNDED]
    mean = np.divide(figures[WIDTH], counts, out=np.full(len(counts), np.nan), where=counts > 0)
    text = (
        "Mean width of the intervals, from lower to upper end. It widens where the world "
        "moves, and narrows where it is calm."
    )
    after = (
        int(0.02 * len(mean)) + 1
    )  # the first ones, before anything is known, would set the scale
    return time_axis.drawn(
        story,
        "How unsure it was",
        text,
        [Line("width", mean, "sword", 2.0)],
        Axis(0.0, top([np.nan_to_num(mean)], after=after)),
        height=200,
    )
