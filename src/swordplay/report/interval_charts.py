"""How unsure it was: coverage of the intervals against their level, and their width, over the
run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from swordplay.report import over_time, words
from swordplay.report.axes import Axis, top
from swordplay.report.charts import Chart, Line
from swordplay.tracking.band import BOUNDED, COVERED, WIDTH

if TYPE_CHECKING:
    from swordplay.tracking.story import Intervals, RunStory, Story


def in_words(story: RunStory, found: Intervals) -> str:
    """What was asked for, and what came of it."""
    wide = (
        ""
        if found.mean_width is None
        else f" They were {words.number(found.mean_width)} wide on average."
    )
    first = (
        f" {words.plural(found.unbounded, 'row')} had none with ends, the first ones among them."
        if found.unbounded
        else ""
    )
    return (
        "Each prediction came with an interval that was to hold the actual value in "
        f"{words.percent(found.level)} of the rows. "
        f"It did so in {words.percent(found.coverage)} of "
        f"{words.plural(story.rows, 'row')}.{wide}{first}"
    )


def coverage(story: Story, found: Intervals) -> Chart:
    """The share of actual values inside their interval, lately, and the level."""
    back, rows = over_time.back(story)
    share = np.clip(over_time.lately(story, story.course.figures[COVERED], back), 0.0, 1.0)
    lines = [
        Line("asked for", np.full(len(share), found.level), "muted", 1.5, (5, 3)),
        Line("held", share, "sword", 2.0),
    ]
    low = max(0.0, min(float(share[back:].min(initial=found.level)), found.level) - 0.05)
    text = (
        f"Share of actual values inside their interval, over the last {words.plural(rows, 'row')} "
        "or so. No window of rows "
        "has more than 20 misses beyond those that were asked for, whatever happens."
    )
    return over_time.drawn(
        story, "Did the intervals hold?", text, lines, Axis(low, 1.0, format="percent"), height=180
    )


def width(story: Story) -> Chart:
    """Mean width of the intervals of each stretch."""
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
    return over_time.drawn(
        story,
        "How unsure it was",
        text,
        [Line("width", mean, "sword", 2.0)],
        Axis(0.0, top([np.nan_to_num(mean)], after=after)),
        height=200,
    )
