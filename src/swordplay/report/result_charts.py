"""The pictures that a reader wants first: actual and predicted, what drives the target, how
wrong and how sure it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from swordplay.core.types import Vector
from swordplay.report import formatting as fmt
from swordplay.report import time_axis
from swordplay.report.axes import Axis, top
from swordplay.report.charts import Chart, Dot, Line, band, chart
from swordplay.report.page import Counts

if TYPE_CHECKING:
    from swordplay.tracking.story import Story

PALETTE = ("sword", "hindsight", "other", "alarm", "mean", "c6", "c7", "c8")
"""Colours of lines of equal rank: names of the style sheet that stay apart."""
DASHES: tuple[tuple[float, ...], ...] = ((), (6, 3), (2, 3))
"""Lines beyond the palette are dashed, so that no two look alike."""
MOST_LINES = 3
"""Classes in one picture."""
BINS = 41
"""Of the histogram: odd, so that one of them is around zero."""
SHOWN = 0.98
"""Share of the errors that the histogram shows; those beyond are counted in words."""
WILD = 4.0
"""Values so many times farther apart than all but the wildest hundredth would flatten a picture,
and go beyond it.
"""
MOST_CLASSES = 10
"""In the table of who was taken for whom."""
FEWEST = 0.001
"""Share of all rows that a point of the calibration needs, and ten of them: fewer are chance."""


def look(k: int) -> tuple[str, tuple[float, ...]]:
    """Colour and dash of the k-th of several lines: no two of the first two dozen look alike."""
    return PALETTE[k % len(PALETTE)], DASHES[k // len(PALETTE) % len(DASHES)]


def actual_and_predicted(story: Story) -> Chart:
    """Means and extremes of both over each stretch."""
    course = story.course
    width = np.diff(time_axis.rows(story))
    said, was = (course.figures[name] / width for name in ("predicted", "actual"))
    low, high, beyond = _range(course.low[:, :2], course.high[:, :2])
    lines = [Line("actual", was, "ink", 1.5), Line("predicted", said, "sword", 1.8)]
    names = ("largest predicted", "largest actual", "smallest predicted", "smallest actual")
    parts = (course.high[:, 0], course.high[:, 1], course.low[:, 0], course.low[:, 1])
    extra = [
        Line(name, part, "sword" if "predicted" in name else "ink")
        for name, part in zip(names, parts, strict=True)
    ]
    rows = int(width[0])
    text = (
        f"Lines are means over stretches of {fmt.plural(rows, 'row')}, shades reach from the "
        f"smallest to the largest value: nothing is lost, however long the table.{beyond}"
    )
    under = [band("y5", "y3", "ink", 0.13), band("y4", "y2", "sword", 0.2)]
    y = Axis(low, high)
    return time_axis.drawn(
        story, "All of the run", text, lines, y, height=260, extra=extra, under=under
    )


def last_rows(story: Story) -> Chart:
    """The last rows one by one."""
    last = story.last
    dated = bool(story.clock) and bool(
        np.isfinite(last.times).all() and (np.diff(last.times) > 0.0).all()
    )
    points = last.times if dated else last.numbers.astype(np.float64)
    lines = [
        Line("actual", last.targets, "ink", 1.5),
        Line("predicted", last.predictions, "sword", 1.8),
    ]
    banded = story.intervals is not None and bool(np.isfinite(last.lower).any())
    ends = (
        [Line("lower", last.lower, "sword"), Line("upper", last.upper, "sword")] if banded else []
    )
    low, high = _between([last.targets, last.predictions, *(line.values for line in ends)])
    inside = ""
    if banded and story.intervals is not None:
        inside = (
            " The band is the interval that was to hold "
            f"{fmt.percent(story.intervals.level)} of the actual values."
        )
    x = Axis(
        float(points[0]),
        max(float(points[-1]), float(points[0]) + 1.0),
        title=story.clock if dated else "row",
    )
    return chart(
        "The end of the run, row by row",
        f"The last {fmt.plural(len(points), 'row')} as they were; each was predicted before it "
        f"was seen.{inside}",
        points,
        lines,
        x._replace(scale="utc" if dated else "linear"),
        Axis(low, high),
        head="row",
        rows=last.numbers.astype(np.float64),
        under=[band("y2", "y3", "sword")] if banded else [],
        extra=ends,
    )


def class_shares(story: Story) -> Chart:
    """How often each class was true and how often it was predicted, lately."""
    course = story.course
    back, rows = time_axis.back(story)
    kept = sum(name.startswith("actual ") for name in course.figures)
    order = np.argsort(-story.confusion.sum(axis=1), kind="stable")
    places = [int(k) for k in order if k < kept][:MOST_LINES]
    if len(story.classes) == 2:
        places = [
            0 if story.classes[0] > story.classes[1] else 1
        ]  # the other is what is left to 100 %
    lines, one = [], len(places) == 1
    for number, k in enumerate(places):
        colour, name = (
            look(number)[0],
            "" if one else f"{fmt.clean_text(story.classes[k], 24)}, ",
        )
        for what, dash, width in (("actual", (), 1.5), ("predicted", (5, 3), 2.0)):
            share = np.clip(time_axis.lately(story, course.figures[f"{what} {k}"], back), 0.0, 1.0)
            lines.append(
                Line(
                    f"{name}{what}",
                    share,
                    "ink" if one and what == "actual" else colour,
                    width,
                    dash,
                )
            )
    which = (
        f"{fmt.clean_text(story.target, 30)} = {fmt.clean_text(story.classes[places[0]], 24)}"
        if one
        else "the class"
    )
    high = min(1.0, top([line.values for line in lines], after=back))
    text = (
        f"Share of rows over the last {fmt.plural(rows, 'row')} or so: how often {which} was "
        "true, and (dashed) how often it "
        "was predicted. Where the two part, a class is missed or seen too often."
    )
    if len(places) < len(story.classes) and len(story.classes) > 2:
        text += f" The {len(places)} most frequent of {len(story.classes)} classes."
    return time_axis.drawn(
        story,
        "Actual and predicted classes",
        text,
        lines,
        Axis(0.0, high, format="percent"),
        height=260,
    )


def coefficients(story: Story, remarks: Sequence[tuple[int, str, str, str]] = ()) -> Chart:
    """The coefficients that moved the prediction most, as they changed.

    Parameters
    ----------
    story
        The run.
    remarks
        Changes: the last row before each, the column and the class, and what there is to say.
    """
    marks = story.course.marks
    window = max(1, round(time_axis.LATELY * len(marks)))
    lines, dots = [], []
    for k, driver in enumerate(story.drivers):
        colour, dash = look(k)
        path = time_axis.smooth(driver.path, window)
        lines.append(Line(driver_name(story, driver.name, driver.about), path, colour, 1.8, dash))
        for row, name, about, remark in remarks:
            if (name, about) == (driver.name, driver.about):
                height = float(np.interp(row, time_axis.rows(story)[marks], np.nan_to_num(path)))
                dots.append(Dot(time_axis.place(story, row), height, remark))
    low, high = _between([line.values for line in lines] + [np.zeros(1)])
    unit = (
        f"How much {fmt.clean_text(story.target, 40)} changes when a column rises by one of its "
        "own standard deviations"
        if story.task == "regression"
        else f"How much the log-odds of {_positive(story)} change when a column rises by one of "
        "its own standard deviations"
    )
    swing = any(driver.swing for driver in story.drivers)
    text = f"{unit}. Above 0 it goes up with the column, below 0 down."
    text += " For dates, the size of the swing." if swing else ""
    text += " Dots mark lasting changes." if dots else ""
    return time_axis.drawn(
        story,
        "Coefficients over time",
        text,
        lines,
        Axis(low, high),
        at=marks,
        height=300,
        dots=dots,
    )


def _positive(story: Story) -> str:
    """What coefficients of classes speak for."""
    if story.task == "binary" and story.drivers:
        return f"{fmt.clean_text(story.target, 30)} = {fmt.clean_text(story.drivers[0].about, 24)}"
    return "a class"


def driver_name(story: Story, name: str, about: str) -> str:
    """A column, and of several classes the one that it speaks for."""
    return fmt.clean_text(name, 32) + (
        f" → {fmt.clean_text(about, 20)}" if about and story.task != "binary" else ""
    )


def residual_histogram(story: Story) -> Chart:
    """How many errors had which size."""
    reach = story.residuals.quantile(SHOWN) or 1.0
    edges = np.linspace(-reach, reach, BINS + 1)
    total = max(story.residuals.total, 1)
    shares = np.maximum(story.residuals.histogram(edges), 0.0) / total
    beyond = max(0.0, 1.0 - float(shares.sum()))
    text = "Prediction less truth: right of 0 it said too much, left of 0 too little."
    if beyond >= 0.0005:
        text += f" {fmt.percent(beyond)} of the errors lie farther out than the picture reaches."
    y = Axis(0.0, top([shares]), format="percent")
    line = Line("share of rows", shares, "sword")
    x = Axis(-reach, reach, title="predicted less actual")
    return chart(
        "How large errors were",
        text,
        edges[:-1],
        [line],
        x,
        y,
        head="",
        bars=float(edges[1] - edges[0]),
        height=200,
    )


def residuals_over_time(story: Story, dots: Sequence[Dot]) -> Chart:
    """The mean error of each stretch and its extremes."""
    course = story.course
    back, rows = time_axis.back(story)
    bias = time_axis.lately(story, course.figures["predicted"] - course.figures["actual"], back)
    low, high, beyond = _range(course.low[:, 2:], course.high[:, 2:])
    text = (
        f"Prediction less truth. The line is the mean over the last {fmt.plural(rows, 'row')} or "
        "so: where it leaves 0 for long, predictions are off to one side. The shade reaches from "
        f"the smallest to the largest error.{beyond} Dots are the rows in the table below."
    )
    return time_axis.drawn(
        story,
        "Errors over time",
        text,
        [Line("mean error", bias, "sword", 2.0)],
        Axis(min(low, 0.0), max(high, 0.0)),
        extra=[
            Line("largest", course.high[:, 2], "muted"),
            Line("smallest", course.low[:, 2], "muted"),
        ],
        under=[band("y2", "y1", "sword", 0.2)],
        dots=[dot for dot in dots if low <= dot.y <= high],
        height=220,
    )


def confusion(story: Story) -> Counts:
    """Who was taken for whom; classes beyond the most frequent ones together."""
    counts = story.confusion
    order = np.argsort(-counts.sum(axis=1), kind="stable")
    names = [fmt.clean_text(story.classes[k], 24) for k in order]
    counts = counts[np.ix_(order, order)]
    if len(names) > MOST_CLASSES:
        keep = MOST_CLASSES - 1
        folded = np.zeros((MOST_CLASSES, MOST_CLASSES))
        places = np.minimum(np.arange(len(names)), keep)
        np.add.at(folded, (places[:, None], places[None, :]), counts)
        counts, names = folded, [*names[:keep], f"{len(names) - keep} others"]
    caption = (
        "Each row is what was true, each column what was predicted; per cent of the row. The "
        "diagonal was right."
    )
    return Counts(caption, "actual ↓ predicted →", tuple(names), tuple(map(tuple, counts.tolist())))


def calibration(story: Story) -> Chart:
    """How often it was right, by how sure it said it was."""
    counts, said, right = story.sureness
    some = counts >= min(max(FEWEST * counts.sum(), 10.0), counts.max())
    sure, share = said[some] / counts[some], right[some] / counts[some]
    lines = [
        Line("as sure as right", sure, "naive", 1.2, (4, 3)),
        Line("how often it was right", share, "sword", 2.2),
    ]
    text = (
        "How sure it said it was of its answer, and how often it was right then. On the dashed "
        "line a probability can be taken at its word; below it, it was too sure."
    )
    low = min(0.5, float(sure.min()), float(share.min()))
    low = np.floor(10.0 * low) / 10.0
    x, y = (
        Axis(low, 1.0, title="how sure it was", format="percent"),
        Axis(low, 1.0, format="percent"),
    )
    rows = [Line("rows", counts[some], "muted")]
    drawn = chart(
        "Are its probabilities right?",
        text,
        sure,
        lines,
        x,
        y,
        head="how sure:",
        extra=rows,
        marks=True,
        height=240,
    )
    drawn.readout["fields"][-1]["format"] = "number"
    drawn.readout["format"] = "percent"
    return drawn


def _between(values: Sequence[Vector]) -> tuple[float, float]:
    """Ends of an axis with a little air at both."""
    both = np.concatenate(values)
    both = both[np.isfinite(both)]
    low, high = (float(both.min()), float(both.max())) if len(both) else (0.0, 1.0)
    air = 0.04 * (high - low) or 0.5 * abs(high) or 1.0
    return low - air, high + air


def _range(lows: Vector, highs: Vector) -> tuple[float, float, str]:
    """Ends of an axis for extremes.

    Where a few wild ones would flatten all others they go beyond it, and that is said.
    """
    low, high = _between([lows.ravel(), highs.ravel()])
    usual = _between(
        [
            np.quantile(lows, [0.01, 1.0], axis=0).ravel(),
            np.quantile(highs, [0.0, 0.99], axis=0).ravel(),
        ]
    )
    if high - low <= WILD * (usual[1] - usual[0]):
        return low, high, ""
    return *usual, " The wildest values go beyond the picture; the pointer tells them."
