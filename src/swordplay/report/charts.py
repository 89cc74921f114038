"""Charts in Vega's language: lines over one axis, names beside their ends, and what a pointer reads
off.

Colours are names of the page's style sheet (``var(--sword)``), so that a chart follows the page
into the dark and on paper. A chart is data: nothing is drawn before the page is written.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypedDict, Unpack

import numpy as np

from swordplay.core.types import Vector
from swordplay.report import chart_marks as marks
from swordplay.report.axes import Axis
from swordplay.report.chart_marks import Line, Spec

__all__ = ["Chart", "ChartLook", "Dot", "Line", "Spec", "band", "chart", "csv"]


WIDTH = 720
"""Of the still pictures, in CSS pixels; in the page a chart is as wide as its column."""
FONT = "system-ui, sans-serif"
"""The page's own: Vega measures names in it to see how much room they need."""
CONFIG: Spec = {
    "axis": {
        "labelFont": FONT,
        "titleFont": FONT,
        "labelColor": "var(--muted)",
        "labelFontSize": 12,
        "labelPadding": 6,
        "domain": False,
        "ticks": False,
        "gridColor": "var(--line)",
        "titleColor": "var(--muted)",
        "titleFontSize": 12,
        "titleFontWeight": "normal",
    },
    "text": {"fontSize": 12.5, "font": FONT},
}


class Dot(NamedTuple):
    """A place of its own, with a remark for the pointer."""

    x: float
    y: float
    remark: str


class Chart(NamedTuple):
    """A picture and what it says."""

    title: str
    words: str
    """One or two sentences that explain it."""
    spec: Spec
    keys: tuple[tuple[str, str], ...]
    """Names of the lines and their colours, for screens too narrow for names at their ends."""
    readout: Spec
    """Text shown at the pointer: ``{"head": ..., "stretch": ..., "fields": [...]}``.

    ``stretch`` is whether points end stretches of rows.
    """
    group: str = ""
    """Charts of one group zoom together."""


class ChartLook(TypedDict, total=False):
    """What a chart may have beside its lines; nothing of it unless said."""

    height: int
    """In CSS pixels; 220 unless said."""
    under: Sequence[Spec]
    """Vega marks drawn before the lines."""
    dots: Sequence[Dot]
    """Drawn after the lines."""
    extra: Sequence[Line]
    """Read off by the pointer but not drawn."""
    head: str
    """What the pointer calls a point, such as ``"path length"``."""
    stretch: bool
    """Whether each point ends a stretch of rows."""
    group: str
    """Charts of one group zoom together."""
    marks: bool
    """Whether each point of a line gets a dot of its own."""
    rows: Vector
    """The number of rows at each point, where the axis is another one (or the points end
    stretches), shape ``(B,)``.
    """
    bars: float
    """Width of bars that begin at the points and are drawn instead of the one line; 0 for lines."""


def chart(
    title: str,
    words: str,
    points: Vector,
    lines: Sequence[Line],
    x: Axis,
    y: Axis,
    **look: Unpack[ChartLook],
) -> Chart:
    """Lines over common points.

    Parameters
    ----------
    title, words
        Above the picture.
    points
        Where the lines are known, ascending, shape ``(B,)``.
    lines
        What is drawn, each of shape ``(B,)``; NaN leaves a gap.
    x, y
        The axes.
    look
        See :class:`ChartLook`.
    """
    told = (*lines, *look.get("extra", ()))
    columns = {"x": points} | ({"row": look["rows"]} if "rows" in look else {})
    columns |= {f"y{k}": line.values for k, line in enumerate(told)}
    fields = [
        {"field": f"y{k}", "name": line.name, "colour": line.colour, "format": y.format}
        for k, line in enumerate(told)
    ]
    keys = tuple((line.label or line.name, line.colour) for line in lines) if len(lines) > 1 else ()
    readout = {
        "head": look.get("head", ""),
        "stretch": look.get("stretch", False),
        "fields": fields,
        "dated": x.scale == "utc",
        "bars": look.get("bars", 0.0),
    }
    return Chart(
        title, words, _spec(columns, lines, x, y, look), keys, readout, look.get("group", "")
    )


def _spec(
    columns: Mapping[str, Vector], lines: Sequence[Line], x: Axis, y: Axis, look: ChartLook
) -> Spec:
    """The picture in Vega's language."""
    height, bars, dots = look.get("height", 220), look.get("bars", 0.0), look.get("dots", ())
    drawn = [
        *look.get("under", ()),
        *((marks.bar_marks(bars),) if bars else map(marks.line_mark, range(len(lines)), lines)),
    ]
    data: list[Spec] = [
        {
            "name": "table",
            "values": csv(columns),
            "format": {"type": "csv", "parse": dict.fromkeys(columns, "number")},
        }
    ]
    data.append({"name": "labels", "values": [] if bars else marks.end_labels(lines, y, height)})
    if dots:
        data.append({"name": "dots", "values": [dot._asdict() for dot in dots]})
        drawn.append(marks.dot_marks())
    points = (
        [marks.point_marks(k, line) for k, line in enumerate(lines)]
        if look.get("marks", False)
        else []
    )
    return {
        "width": WIDTH,
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "padding": {"left": 2, "right": 6, "top": 8, "bottom": 2},
        "config": CONFIG,
        "signals": [
            {"name": "span", "value": [x.low, x.high]},
            {"name": "roomy", "value": True},
            *marks.tick_names("x", x),
            *marks.tick_names("y", y),
        ],
        "data": data,
        "scales": [
            marks.scale("x", x, {"signal": "span"}, "width"),
            marks.scale("y", y, [y.low, y.high], "height"),
        ],
        "axes": [marks.axis_of("left", "y", y, height), marks.axis_of("bottom", "x", x, height)],
        "marks": [marks.clipped(drawn), *points, marks.label_marks()],
    }


def band(low: str, high: str, colour: str, opacity: float = 0.2) -> Spec:
    """A band between two columns of the chart's table, such as ``"y0"`` and ``"y1"``, to be
    drawn under the lines.
    """
    edges: Spec = {
        "x": {"scale": "x", "field": "x"},
        "y": {"scale": "y", "field": low},
        "y2": {"scale": "y", "field": high},
    }
    look: Spec = {"fill": {"value": f"var(--{colour})"}, "fillOpacity": {"value": opacity}}
    return {"type": "area", "from": {"data": "table"}, "encode": {"update": edges | look}}


def csv(columns: Mapping[str, Vector]) -> str:
    """Numbers as Vega reads them, nothing where there is no number.

    Where points lie is told with all digits.
    """
    digits = [15 if name in ("x", "row") else 6 for name in columns]
    lines = [
        ",".join(
            f"{value:.{most}g}" if math.isfinite(value) else ""
            for value, most in zip(values, digits, strict=True)
        )
        for values in np.column_stack(list(columns.values())).tolist()
    ]
    return "\n".join([",".join(columns), *lines])
