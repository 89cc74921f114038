"""The pictures of a run: its errors, how fast the world moved, what was trusted, where it hurt."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from swordplay.core.types import Vector
from swordplay.report import formatting as fmt
from swordplay.report import heatmap, time_axis
from swordplay.report.axes import Axis, Format, top
from swordplay.report.charts import Chart, Dot, Line, Spec, band

if TYPE_CHECKING:
    from swordplay.tracking.story import Story, WorstRow

NO_CHANGE = "no change"
"""The baseline that sets the scale."""
COLOURS = {
    "no change": "naive",
    "majority class": "mean",
    "running mean": "mean",
    "best step size": "hindsight",
}
"""Of the baselines; the learner's is ``"sword"``."""
SETTLED = 0.01
"""Share of the run after which errors so far fit in the picture: those of the first rows are all
or nothing.
"""
MOST_WORST = 10
"""Rows that are shown of those that cost most."""
STEP_NAMES = 7
"""Most step sizes that are named beside their map."""
COLUMNS = 2048
"""Of a heat map: more than a screen has pixels for."""


def errors_so_far(story: Story) -> Chart:
    """Error over all rows up to each point."""
    ends = story.course.ends
    lines = _lines(
        story,
        {name: error(story, np.cumsum(lost) / ends) for name, lost in story.course.losses.items()},
    )
    text = (
        "Error over all rows so far. All lines rise where the target gets harder; what counts "
        "is who lies below the others."
    )
    y, lines, beyond = _error_axis(story, lines, after=int(SETTLED * len(ends)) + 1)
    return time_axis.drawn(story, "So far", text + beyond, lines, y, height=240)


def errors_lately(story: Story, remarks: Sequence[tuple[int, str]] = ()) -> Chart:
    """Error over a window of recent rows, and marks where it changed: the last row before, and
    what there is to say.
    """
    back, rows = time_axis.back(story)
    lines = _lines(
        story, {name: _lately(story, lost, back) for name, lost in story.course.losses.items()}
    )
    text = f"The same over the last {fmt.plural(rows, 'row')} or so only. Bumps are the hard times."
    y, lines, beyond = _error_axis(story, lines, after=back)
    text += f"{beyond}{' Dots mark lasting changes.' if remarks else ''}"
    ours = lines[-1].values
    dots = [
        Dot(time_axis.place(story, row), float(np.interp(row, story.course.ends, ours)), remark)
        for row, remark in remarks
    ]
    return time_axis.drawn(story, "Lately", text, lines, y, height=240, dots=dots)


def effective_step(story: Story) -> Vector:
    """The effective step size as it is drawn, smoothed over as many rows as count as lately."""
    return np.exp(time_axis.smooth(np.log(story.course.effective), time_axis.back(story)[0]))


def pace(story: Story) -> Chart:
    """Weights over step sizes as a heat map, the effective step size on top."""
    course, steps = story.course, story.step_sizes
    rows, mean = time_axis.back(story)[1], effective_step(story)
    places = np.interp(np.log(mean), np.log(steps), np.arange(len(steps), dtype=np.float64))
    every = -(-len(steps) // STEP_NAMES)
    ticks = tuple(float(k) for k in range(len(steps) - 1, -1, -every))
    names = tuple(fmt.step(float(steps[int(k)])) for k in ticks)
    y = Axis(-0.5, len(steps) - 0.5, ticks=ticks, names=names)
    line = Line("place", places, "hindsight", 2.5, label="effective step size")
    drawn = time_axis.drawn(
        story,
        "Which step sizes were trusted",
        "Each line of the map is a step size; the stronger its colour, the more weight it had. On "
        "top the last few rows decide, at the bottom thousands are averaged. The curve is the "
        f"effective step size, smoothed over {fmt.plural(rows, 'row')}.",
        [line],
        y,
        height=max(
            160, min(320, 20 * len(steps))
        ),  # a line of text for each step size, within reason
        under=[_map(story)],
        extra=[
            Line("effective step size", mean, "hindsight"),
            Line("at the end of the stretch", course.effective, "muted"),
        ],
    )
    # where the line lies on the map is nothing to read off
    return drawn._replace(readout=drawn.readout | {"fields": drawn.readout["fields"][1:]})


def optimism(story: Story) -> Chart:
    """Whether the last gradient and the last losses were trusted to come again."""
    course = story.course
    lines = [
        Line("the last gradient", course.extra, "other", 2.0),
        Line("the last losses", course.optimism, "sword", 2.0),
    ]
    text = (
        "Share of the weight on experts that take the last gradient for the next one, and share of "
        "the last losses in the guess by which all experts are weighed. High where neighbouring "
        "rows were alike, low where the last one said little."
    )
    return time_axis.drawn(
        story,
        "What was trusted to come again",
        text,
        lines,
        Axis(0.0, 1.0, format="percent"),
        height=170,
    )


def worst_dots(story: Story) -> list[Dot]:
    """The rows that cost most: their log losses, or how far the prediction lay above the truth."""
    return [
        Dot(
            time_axis.place(story, moment.at)
            if moment.time is None or not story.clock
            else moment.time,
            _height(story, moment),
            f"row {moment.row:,}: predicted {fmt.clean_text(moment.prediction, 40)}, was "
            f"{fmt.clean_text(moment.truth, 40)}",
        )
        for moment in story.worst[:MOST_WORST]
    ]


def _height(story: Story, moment: WorstRow) -> float:
    if story.task != "regression":
        return moment.loss
    return math.copysign(math.sqrt(moment.loss), float(moment.prediction) - float(moment.truth))


def losses(story: Story) -> Chart:
    """The smallest and the largest log loss of each stretch, and the rows that cost most."""
    course, dots = story.course, worst_dots(story)
    return time_axis.drawn(
        story,
        "The smallest and the largest loss",
        f"Log losses of each stretch of rows: {blind_guess(story)}, more was a surprise. No "
        "extreme is lost, however long the table. Dots are the rows in the table below.",
        [Line("largest log loss", course.highest, "sword", 1.0)],
        Axis(0.0, top([course.highest, np.array([dot.y for dot in dots] or [0.0])])),
        height=220,
        under=[band("y0", "y1", "sword")],
        dots=dots,
        extra=[Line("smallest log loss", course.lowest, "sword")],
    )


def blind_guess(story: Story) -> str:
    """The log loss of somebody who knows nothing, in words."""
    classes = max(2, len(story.classes))
    name = "a coin toss" if classes == 2 else f"a blind guess among {classes} classes"
    return f"{math.log(classes):.2f} is {name}"


def error(story: Story, mean: Vector) -> Vector:
    """Mean loss as the story measures it: the share of mistakes, or the root of the mean square."""
    return np.sqrt(mean) if story.measure == "RMSE" else mean


def _lately(story: Story, lost: Vector, back: int) -> Vector:
    # differences of long sums: rounding may leave a mean just below zero
    return error(story, np.maximum(time_axis.lately(story, lost, back), 0.0))


def _lines(story: Story, values: dict[str, Vector]) -> list[Line]:
    """One line a contestant, ours last and so on top."""
    baselines = [
        Line(name, line, COLOURS.get(name, "naive"))
        for name, line in values.items()
        if name != story.learner
    ]
    return [*baselines, Line(story.learner, values[story.learner], "sword", 2.5)]


def _error_axis(story: Story, lines: list[Line], *, after: int) -> tuple[Axis, list[Line], str]:
    """Scaled by the learner and by no change; who goes beyond is marked, and said."""
    ruling = [line.values for line in lines if line.name in (story.learner, NO_CHANGE)]
    high = top(ruling, after=after)
    high = min(high, 1.0) if story.measure != "RMSE" else high
    outside = [
        line.name
        for line in lines
        if top([line.values], after=after) > high and line.values[after:].max(initial=0.0) > high
    ]
    marked = [
        line._replace(label=f"{line.name} ↑")
        if line.name in outside and line.values[-1] > high
        else line
        for line in lines
    ]
    beyond = (
        f" The line of {' and '.join(outside)} leaves the picture at its top." if outside else ""
    )
    return Axis(0.0, high, format=_format(story)), marked, beyond


def _format(story: Story) -> Format:
    return "number" if story.measure == "RMSE" else "percent"


def _map(story: Story) -> Spec:
    """The heat map as a Vega mark: an image from the beginning to the end of the run."""
    places = time_axis.points(story)
    first, last = float(places[0]), float(places[-1])
    columns = min(COLUMNS, max(1, int(story.course.ends[-1])))
    middles = first + (np.arange(columns) + 0.5) * (last - first) / columns
    weights = story.course.weights[
        np.minimum(np.searchsorted(places[1:], middles), len(places) - 2)
    ]
    return {
        "type": "image",
        "encode": {
            "update": {
                "url": {"value": heatmap.heatmap_png(weights.T[::-1])},
                "x": {"scale": "x", "value": first},
                "width": {"signal": f"scale('x', {last!r}) - scale('x', {first!r})"},
                "y": {"value": 0},
                "height": {"signal": "height"},
                "aspect": {"value": False},
                "smooth": {"value": False},
            }
        },
    }
