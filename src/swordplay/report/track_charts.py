"""The pictures of a run: its errors, how fast the world moved, what was trusted, where it hurt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from swordplay.report import heat, words
from swordplay.report.axes import Axis, Format, path_axis, powers, tens, top
from swordplay.report.charts import Chart, Dot, Line, Spec, band, chart
from swordplay.types import Vector

if TYPE_CHECKING:
    from swordplay.tracking.story import Story

TIME = "time"
"""Group of the charts over rows: they zoom together."""
COLOURS = {"no change": "naive", "majority class": "mean", "running mean": "mean", "best step size": "hindsight"}
"""Of the baselines; the learner's is ``"sword"``."""
LATELY = 0.02
"""Share of the run that counts as lately,"""
FEWEST_LATELY = 100
"""and the fewest rows that do: a share of mistakes among less is mostly chance."""
SETTLED = 0.01
"""Share of the run after which errors so far fit in the picture: those of the first rows are all or nothing."""
DWARFED = 10.0
"""How many times larger a bound is at the end of its curve when its beginning is no longer seen."""
STEP_NAMES = 7
"""Most step sizes that are named beside their map."""
COLUMNS = 2048
"""Of a heat map: more than a screen has pixels for."""


def errors_so_far(story: Story) -> Chart:
    """Error over all rows up to each point."""
    ends = story.course.ends
    lines = _lines(story, {name: error(story, np.cumsum(lost), ends) for name, lost in story.course.losses.items()})
    text = "Error over all rows so far. A line that keeps falling belongs to somebody who keeps learning."
    return _over_time(story, "So far", text, lines, _error_axis(story, lines, after=int(SETTLED * len(ends)) + 1), height=240)


def errors_lately(story: Story) -> Chart:
    """Error over a window of recent rows."""
    back, rows = _back(story)
    lines = _lines(story, {name: _lately(story, lost, back) for name, lost in story.course.losses.items()})
    text = f"The same over the last {words.plural(rows, 'row')} or so only. Bumps are the hard times."
    return _over_time(story, "Lately", text, lines, _error_axis(story, lines, after=back), height=240)


def pace(story: Story) -> Chart:
    """Weights over step sizes as a heat map, the effective step size on top."""
    course, steps = story.course, story.step_sizes
    back, rows = _back(story)
    mean = np.exp(_smooth(np.log(course.effective), back))
    places = np.interp(np.log(mean), np.log(steps), np.arange(len(steps), dtype=np.float64))
    every = -(-len(steps) // STEP_NAMES)
    ticks = tuple(float(k) for k in range(len(steps) - 1, -1, -every))
    names = tuple(words.step(float(steps[int(k)])) for k in ticks)
    y = Axis(-0.5, len(steps) - 0.5, ticks=ticks, names=names)
    line = Line("place", places, "hindsight", 2.5, label="effective step size")
    drawn = _over_time(
        story,
        "Which step sizes were trusted",
        "Each line of the map is a step size; the stronger its colour, the more weight it had. On top the last few rows "
        "decide, at the bottom thousands are averaged. The curve is the effective step size, smoothed over "
        f"{words.plural(rows, 'row')}.",
        [line],
        y,
        height=max(160, min(320, 20 * len(steps))),  # a line of text for each step size, within reason
        under=[_map(story)],
        extra=[Line("effective step size", mean, "hindsight"), Line("at the end of the stretch", course.effective, "muted")],
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
        "Share of the weight on experts that take the last gradient for the next one, and share of the last losses in the "
        "guess by which all experts are weighed. High where neighbouring rows were alike, low where the last one said little."
    )
    return _over_time(story, "What was trusted to come again", text, lines, Axis(0.0, 1.0, format="percent"), height=170)


def losses(story: Story) -> Chart:
    """The smallest and the largest loss of each stretch, and the rows that cost most."""
    course = story.course
    regression = story.task == "regression"
    low, high = (np.sqrt(course.lowest), np.sqrt(course.highest)) if regression else (course.lowest, course.highest)
    unit = "error" if regression else "log loss"
    dots = [
        Dot(
            float(moment.at or moment.row),
            float(np.sqrt(moment.loss)) if regression else moment.loss,
            f"row {moment.row:,}: predicted {words.shown(moment.prediction, 40)}, was {words.shown(moment.truth, 40)}",
        )
        for moment in story.worst
    ]
    told = "how far off" if regression else "log losses: 0.69 is a coin toss, more was a surprise"
    drawn = _over_time(
        story,
        "The smallest and the largest loss",
        f"Of each stretch of rows ({told}); no extreme is lost, however long the file. Dots are the rows in the table below.",
        [Line(f"largest {unit}", high, "sword", 1.0)],
        Axis(0.0, top([high, np.array([dot.y for dot in dots] or [0.0])])),
        height=220,
        under=[band("y0", "y1", "sword")],
        dots=dots,
        extra=[Line(f"smallest {unit}", low, "sword")],
    )
    return drawn


def certificate(story: Story) -> Chart:
    """The bound on the regret as a curve over the path length of the comparators."""
    paths, bounds = story.certificate
    return chart(
        "Bound on the regret against every moving model",
        "To the right, models that move more; the curve is what the run itself proves about all of them at once, "
        "with no assumption on the data. In losses of smoothness 1.",
        paths,
        [Line("certificate", bounds, "other", 2.5)],
        path_axis(paths),
        _bound_axis(bounds),
        head="path length",
    )


def _bound_axis(bounds: Vector) -> Axis:
    """From zero, or by powers of ten where the far end would dwarf the beginning."""
    if not 0.0 < DWARFED * bounds[0] < bounds[-1]:
        return Axis(0.0, top([bounds]))
    low, high = powers(float(bounds[0]), float(bounds[-1]))
    return Axis(low, high, scale="log", ticks=tens(low, high))


def error(story: Story, lost: Vector, rows: Vector) -> Vector:
    """Mean loss as the story measures it: the share of mistakes, or the root of the mean square."""
    mean = lost / np.maximum(rows, 1.0)
    return np.sqrt(mean) if story.measure == "RMSE" else mean


def _back(story: Story) -> tuple[int, int]:
    """How many stretches count as lately, and about how many rows that is."""
    ends = story.course.ends
    back = max(round(LATELY * len(ends)), int(np.ceil(FEWEST_LATELY * len(ends) / ends[-1])))
    back = min(back, len(ends))
    return back, int(np.ceil(ends[-1] * back / len(ends)))


def _smooth(values: Vector, back: int) -> Vector:
    """Mean over the neighbours on both sides, as many in all as count as lately."""
    side = back // 2
    sums = np.concatenate([[0.0], np.cumsum(values)])
    k = np.arange(len(values))
    first, stop = np.maximum(k - side, 0), np.minimum(k + side + 1, len(values))
    return np.asarray((sums[stop] - sums[first]) / (stop - first))


def _lately(story: Story, lost: Vector, back: int) -> Vector:
    sums, ends = np.concatenate([[0.0], np.cumsum(lost)]), np.concatenate([[0.0], story.course.ends])
    first = np.maximum(np.arange(1, len(ends)) - back, 0)
    # differences of long sums: rounding may leave a mean just below zero
    return error(story, np.maximum(sums[1:] - sums[first], 0.0), ends[1:] - ends[first])


def _lines(story: Story, values: dict[str, Vector]) -> list[Line]:
    """One line a contestant, ours last and so on top."""
    baselines = [Line(name, line, COLOURS.get(name, "naive")) for name, line in values.items() if name != story.learner]
    return [*baselines, Line(story.learner, values[story.learner], "sword", 2.5)]


def _error_axis(story: Story, lines: list[Line], *, after: int) -> Axis:
    return Axis(0.0, top([line.values for line in lines], after=after), format=_format(story))


def _format(story: Story) -> Format:
    return "number" if story.measure == "RMSE" else "percent"


def _over_time(
    story: Story, title: str, text: str, lines: Sequence[Line], y: Axis, *, extra: Sequence[Line] = (), **more: Any
) -> Chart:
    """Lines over rows: a value for each stretch stands at its end, and that of the first at its beginning too."""
    ends = story.course.ends
    x = Axis(0.0, float(ends[-1]), title="row")
    begun = [[line._replace(values=np.concatenate([line.values[:1], line.values])) for line in part] for part in (lines, extra)]
    points = np.concatenate([[0.0], ends])
    return chart(title, text, points, begun[0], x, y, extra=begun[1], stretch=True, group=TIME, **more)


def _map(story: Story) -> Spec:
    """The heat map as a Vega mark: an image from the first to the last row."""
    ends = story.course.ends
    columns = min(COLUMNS, max(1, int(ends[-1])))
    middles = (np.arange(columns) + 0.5) * ends[-1] / columns
    weights = story.course.weights[np.searchsorted(ends, middles)]
    return {
        "type": "image",
        "encode": {
            "update": {
                "url": {"value": heat.picture(weights.T[::-1])},
                "x": {"scale": "x", "value": 0},
                "width": {"signal": f"scale('x', {ends[-1]:g}) - scale('x', 0)"},
                "y": {"value": 0},
                "height": {"signal": "height"},
                "aspect": {"value": False},
                "smooth": {"value": False},
            }
        },
    }
