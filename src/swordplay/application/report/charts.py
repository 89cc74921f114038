"""Charts in Vega's language: lines over one axis, names beside their ends, and what a pointer reads off.

Colours are names of the page's style sheet (``var(--sword)``), so that a chart follows the page into the dark and on paper.
A chart is data: nothing is drawn before the page is written.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from swordplay.application.report.axes import Axis
from swordplay.application.report.figures import spread
from swordplay.base.types import Vector

Spec = dict[str, Any]

WIDTH = 720
"""Of the still pictures, in CSS pixels; in the page a chart is as wide as its column."""
LABEL_GAP = 16.0
"""Pixels between two names at the ends of lines: one line of text."""
LABELS = {
    "number": "format(datum.value, abs(datum.value) >= 1e6 ? '~s' : ',~g')",
    "percent": "format(100 * datum.value, '~g') + '\u202f%'",
}
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


class Line(NamedTuple):
    """One line, named at its right end."""

    name: str
    values: Vector
    colour: str
    """A name of the style sheet, such as ``"sword"``."""
    width: float = 1.5
    dash: tuple[float, ...] = ()
    label: str = ""
    """What stands at its end, unless its name."""


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
    """What a pointer reads off: ``{"head": ..., "stretch": whether points end stretches of rows, "fields": [...]}``."""
    group: str = ""
    """Charts of one group zoom together."""


def chart(
    title: str,
    words: str,
    points: Vector,
    lines: Sequence[Line],
    x: Axis,
    y: Axis,
    *,
    height: int = 220,
    under: Sequence[Spec] = (),
    dots: Sequence[Dot] = (),
    extra: Sequence[Line] = (),
    head: str = "",
    stretch: bool = False,
    group: str = "",
    marks: bool = False,
    rows: Vector | None = None,
    bars: float = 0.0,
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
    height
        In CSS pixels.
    under
        Vega marks drawn before the lines.
    dots
        Drawn after the lines.
    extra
        Read off by the pointer but not drawn.
    head
        What the pointer calls a point, such as ``"path length"``.
    stretch
        Whether each point ends a stretch of rows.
    group
        Charts of one group zoom together.
    marks
        Whether each point of a line gets a dot of its own.
    rows
        The number of rows at each point, where the axis is another one (or the points end stretches), shape ``(B,)``.
    bars
        Width of bars that begin at the points and are drawn instead of the one line; 0 for lines.
    """
    columns = {"x": points} | ({} if rows is None else {"row": rows})
    columns |= {f"y{k}": line.values for k, line in enumerate((*lines, *extra))}
    drawn = [*under, *((_bars(bars),) if bars else (_line(k, line) for k, line in enumerate(lines)))]
    data: list[Spec] = [
        {"name": "table", "values": csv(columns), "format": {"type": "csv", "parse": dict.fromkeys(columns, "number")}}
    ]
    data.append({"name": "labels", "values": [] if bars else _labels(lines, y, height)})
    if dots:
        data.append({"name": "dots", "values": [dot._asdict() for dot in dots]})
        drawn.append(_dots())
    spec: Spec = {
        "width": WIDTH,
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "padding": {"left": 2, "right": 6, "top": 8, "bottom": 2},
        "config": CONFIG,
        "signals": [
            {"name": "span", "value": [x.low, x.high]},
            {"name": "roomy", "value": True},
            *_tick_names("x", x),
            *_tick_names("y", y),
        ],
        "data": data,
        "scales": [
            _scale("x", x, {"signal": "span"}, "width"),
            _scale("y", y, [y.low, y.high], "height"),
        ],
        "axes": [_axis("left", "y", y, height), _axis("bottom", "x", x, height)],
        "marks": [_clipped(drawn), *(_marks(k, line) for k, line in enumerate(lines) if marks), _names()],
    }
    fields = [
        {"field": f"y{k}", "name": line.name, "colour": line.colour, "format": y.format}
        for k, line in enumerate((*lines, *extra))
    ]
    keys = tuple((line.label or line.name, line.colour) for line in lines) if len(lines) > 1 else ()
    readout = {"head": head, "stretch": stretch, "fields": fields, "dated": x.scale == "utc", "bars": bars}
    return Chart(title, words, spec, keys, readout, group)


def band(low: str, high: str, colour: str, opacity: float = 0.2) -> Spec:
    """A band between two columns of the chart's table, such as ``"y0"`` and ``"y1"``, to be drawn under the lines."""
    edges: Spec = {"x": {"scale": "x", "field": "x"}, "y": {"scale": "y", "field": low}, "y2": {"scale": "y", "field": high}}
    look: Spec = {"fill": {"value": f"var(--{colour})"}, "fillOpacity": {"value": opacity}}
    return {"type": "area", "from": {"data": "table"}, "encode": {"update": edges | look}}


def csv(columns: Mapping[str, Vector]) -> str:
    """Numbers as Vega reads them, nothing where there is no number. Where points lie is told with all digits."""
    digits = [15 if name in ("x", "row") else 6 for name in columns]
    lines = [
        ",".join(f"{value:.{most}g}" if math.isfinite(value) else "" for value, most in zip(values, digits, strict=True))
        for values in np.column_stack(list(columns.values())).tolist()
    ]
    return "\n".join([",".join(columns), *lines])


def _scale(name: str, axis: Axis, domain: Any, length: str) -> Spec:
    """A direction; on an axis of dates there is no zero to begin at."""
    scale: Spec = {"name": name, "type": axis.scale, "domain": domain, "range": length, "nice": False}
    return scale if axis.scale == "utc" else scale | {"zero": False}


def _axis(orient: str, scale: str, axis: Axis, height: int) -> Spec:
    left = orient == "left"
    room = 80 if axis.scale == "utc" else 110  # Vega rounds a wish for dates down to whole years, months or days
    count = max(2, height // 55) if left else {"signal": f"max(2, floor(width / {room}))"}
    spec: Spec = {"orient": orient, "scale": scale, "grid": left, "tickCount": count}
    if axis.ticks:
        spec["values"] = list(axis.ticks)
    if not left:
        spec |= {"title": axis.title, "titleAnchor": "end", "labelFlush": True, "labelOverlap": "greedy", "labelSeparation": 8}
    if axis.scale == "utc":
        return spec  # Vega names days, months and years as it finds room for them
    text = f"{scale}_names[format(datum.value, '~g')]" if axis.names else LABELS[axis.format]
    return spec | {"encode": {"labels": {"update": {"text": {"signal": text}}}}}


def _tick_names(scale: str, axis: Axis) -> list[Spec]:
    """What ticks are called, as a signal: names are data, never part of an expression."""
    names = {f"{tick:g}": name for tick, name in zip(axis.ticks, axis.names, strict=False)}
    return [{"name": f"{scale}_names", "value": names}] if names else []


def _line(k: int, line: Line) -> Spec:
    return {
        "type": "line",
        "from": {"data": "table"},
        "encode": {
            "update": {
                "x": {"scale": "x", "field": "x"},
                "y": {"scale": "y", "field": f"y{k}"},
                "defined": {"signal": f"isValid(datum.y{k})"},
                "stroke": {"value": f"var(--{line.colour})"},
                "strokeWidth": {"value": line.width},
                "strokeDash": {"value": list(line.dash)},
                "strokeJoin": {"value": "round"},
            }
        },
    }


def _bars(width: float) -> Spec:
    """Bars from zero to the first line's values, a hair apart."""
    edges: Spec = {
        "x": {"scale": "x", "field": "x", "offset": 0.5},
        "x2": {"scale": "x", "signal": f"datum.x + {width!r}", "offset": -0.5},
        "y": {"scale": "y", "field": "y0"},
        "y2": {"scale": "y", "value": 0},
    }
    look: Spec = {"fill": {"value": "var(--sword)"}, "fillOpacity": {"value": 0.75}}
    return {"type": "rect", "from": {"data": "table"}, "encode": {"update": edges | look}}


def _marks(k: int, line: Line) -> Spec:
    """A dot at each point. They are not clipped, as half a dot at an edge is ugly, but vanish when zoomed away."""
    place: Spec = {"x": {"scale": "x", "field": "x"}, "y": {"scale": "y", "field": f"y{k}"}, "size": {"value": 30}}
    seen = {"signal": f"isValid(datum.y{k}) && inrange(datum.x, span) ? 1 : 0"}
    look: Spec = {"fill": {"value": f"var(--{line.colour})"}, "opacity": seen}
    return {"type": "symbol", "from": {"data": "table"}, "encode": {"update": place | look}}


def _dots() -> Spec:
    look: Spec = {"fill": {"value": "var(--alarm)"}, "stroke": {"value": "var(--paper)"}, "strokeWidth": {"value": 1.5}}
    place: Spec = {"x": {"scale": "x", "field": "x"}, "y": {"scale": "y", "field": "y"}, "size": {"value": 60}}
    return {"type": "symbol", "from": {"data": "dots"}, "encode": {"update": place | look}}


def _clipped(marks: list[Spec]) -> Spec:
    """Marks that stay inside the axes when the page zooms."""
    size = {"width": {"signal": "width"}, "height": {"signal": "height"}}
    return {"type": "group", "clip": True, "encode": {"update": size}, "marks": marks}


def _labels(lines: Sequence[Line], y: Axis, height: int) -> list[Spec]:
    """Names for the right ends of the lines, moved apart where they would touch."""
    ends = sorted(((1.0 - y.place(_last(line.values))) * height, k) for k, line in enumerate(lines))
    heights = spread([end for end, _ in ends], LABEL_GAP)
    return [
        {
            "y": place,
            "text": line.label or line.name,
            "colour": f"var(--{line.colour})",
            "weight": 600 if line.width > 2 else 400,
        }
        for place, line in zip(heights, (lines[k] for _, k in ends), strict=True)
    ]


def _names() -> Spec:
    """The names themselves; none where there is no room for them."""
    return {
        "type": "text",
        "from": {"data": "labels"},
        "encode": {
            "update": {
                "x": {"signal": "width + 8"},
                "y": {"field": "y"},
                "text": {"signal": "roomy ? datum.text : ''"},
                "baseline": {"value": "middle"},
                "fill": {"field": "colour"},
                "fontWeight": {"field": "weight"},
            }
        },
    }


def _last(values: Vector) -> float:
    known = values[np.isfinite(values)]
    return float(known[-1]) if len(known) else 0.0
