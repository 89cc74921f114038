"""The pieces that a chart is drawn with, in Vega's language: axes, lines, bars, dots, and names
at the ends of lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from swordplay.core.types import Vector
from swordplay.report.axes import Axis

Spec = dict[str, Any]

LABEL_GAP = 16.0
"""Pixels between two names at the ends of lines: one line of text."""
LABELS = {
    "number": "format(datum.value, abs(datum.value) >= 1e6 ? '~s' : ',~g')",
    "percent": "format(100 * datum.value, '~g') + '\u202f%'",
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


def scale(name: str, axis: Axis, domain: Any, length: str) -> Spec:
    """A direction; on an axis of dates there is no zero to begin at."""
    scale: Spec = {
        "name": name,
        "type": axis.scale,
        "domain": domain,
        "range": length,
        "nice": False,
    }
    return scale if axis.scale == "utc" else scale | {"zero": False}


def axis_of(orient: str, scale: str, axis: Axis, height: int) -> Spec:
    """The ticks of a direction, and what they are called."""
    left = orient == "left"
    room = (
        80 if axis.scale == "utc" else 110
    )  # Vega rounds a wish for dates down to whole years, months or days
    count = max(2, height // 55) if left else {"signal": f"max(2, floor(width / {room}))"}
    spec: Spec = {"orient": orient, "scale": scale, "grid": left, "tickCount": count}
    if axis.ticks:
        spec["values"] = list(axis.ticks)
    if not left:
        spec |= {
            "title": axis.title,
            "titleAnchor": "end",
            "labelFlush": True,
            "labelOverlap": "greedy",
            "labelSeparation": 8,
        }
    if axis.scale == "utc":
        return spec  # Vega names days, months and years as it finds room for them
    text = f"{scale}_names[format(datum.value, '~g')]" if axis.names else LABELS[axis.format]
    return spec | {"encode": {"labels": {"update": {"text": {"signal": text}}}}}


def tick_names(scale: str, axis: Axis) -> list[Spec]:
    """What ticks are called, as a signal: names are data, never part of an expression."""
    names = {f"{tick:g}": name for tick, name in zip(axis.ticks, axis.names, strict=False)}
    return [{"name": f"{scale}_names", "value": names}] if names else []


def line_mark(k: int, line: Line) -> Spec:
    """The k-th line, with gaps where there is no number."""
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


def bar_marks(width: float) -> Spec:
    """Bars from zero to the first line's values, a hair apart."""
    edges: Spec = {
        "x": {"scale": "x", "field": "x", "offset": 0.5},
        "x2": {"scale": "x", "signal": f"datum.x + {width!r}", "offset": -0.5},
        "y": {"scale": "y", "field": "y0"},
        "y2": {"scale": "y", "value": 0},
    }
    look: Spec = {"fill": {"value": "var(--sword)"}, "fillOpacity": {"value": 0.75}}
    return {"type": "rect", "from": {"data": "table"}, "encode": {"update": edges | look}}


def point_marks(k: int, line: Line) -> Spec:
    """A dot at each point.

    They are not clipped, as half a dot at an edge is ugly, but vanish when zoomed away.
    """
    place: Spec = {
        "x": {"scale": "x", "field": "x"},
        "y": {"scale": "y", "field": f"y{k}"},
        "size": {"value": 30},
    }
    seen = {"signal": f"isValid(datum.y{k}) && inrange(datum.x, span) ? 1 : 0"}
    look: Spec = {"fill": {"value": f"var(--{line.colour})"}, "opacity": seen}
    return {"type": "symbol", "from": {"data": "table"}, "encode": {"update": place | look}}


def dot_marks() -> Spec:
    """Dots that stand out."""
    look: Spec = {
        "fill": {"value": "var(--alarm)"},
        "stroke": {"value": "var(--paper)"},
        "strokeWidth": {"value": 1.5},
    }
    place: Spec = {
        "x": {"scale": "x", "field": "x"},
        "y": {"scale": "y", "field": "y"},
        "size": {"value": 60},
    }
    return {"type": "symbol", "from": {"data": "dots"}, "encode": {"update": place | look}}


def clipped(marks: list[Spec]) -> Spec:
    """Marks that stay inside the axes when the page zooms."""
    size = {"width": {"signal": "width"}, "height": {"signal": "height"}}
    return {"type": "group", "clip": True, "encode": {"update": size}, "marks": marks}


def end_labels(lines: Sequence[Line], y: Axis, height: int) -> list[Spec]:
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


def spread(heights: Sequence[float], gap: float) -> list[float]:
    """Move ascending heights as little as possible so that neighbours are ``gap`` apart or more.

    Neighbours that would touch become a block around the mean of what they asked for; blocks that
    touch are merged.

    >>> [round(height, 3) for height in spread([0.0, 0.01, 0.5], gap=0.1)]
    [-0.045, 0.055, 0.5]
    """
    blocks: list[list[float]] = []
    for height in heights:
        blocks.append([height])
        while (
            len(blocks) > 1
            and _centre(blocks[-1]) - _centre(blocks[-2])
            < gap * (len(blocks[-1]) + len(blocks[-2])) / 2
        ):
            last = blocks.pop()
            blocks[-1] += last
    return [
        _centre(block) + gap * (i - (len(block) - 1) / 2)
        for block in blocks
        for i in range(len(block))
    ]


def _centre(block: Sequence[float]) -> float:
    return sum(block) / len(block)


def label_marks() -> Spec:
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
