"""Figures of regret as PNG or SVG files: the charts of the report, side by side."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from swordplay.core import arguments
from swordplay.core.files import write_atomic
from swordplay.report import vega
from swordplay.report.chart_marks import Spec
from swordplay.report.charts import CONFIG, Chart
from swordplay.report.document import resource
from swordplay.report.reproduce import PANELS, TITLES, regret_chart
from swordplay.theory.reproduce import INSTANCES, Row

SUFFIXES = (".png", ".svg")
"""Formats that a figure can be saved in."""
PANEL_WIDTH = 330
"""CSS pixels of a panel, without the names at the ends of its lines."""
ROW_GAP, COLUMN_GAP = 18, 30
"""CSS pixels between panels."""
COLOUR = re.compile(r"var\(--(\w+)\)")
"""A colour of the page's style sheet."""


def regret_figure(rows: Sequence[Row]) -> Spec:
    """Draw dynamic regret against the horizon, log-log: one column for each instance of the paper.

    A straight line is a power of T, a flat one regret that has stopped growing.

    Parameters
    ----------
    rows
        What :func:`swordplay.theory.reproduce.reproduce` returned.

    Returns
    -------
    dict
        The figure in Vega's language, for :func:`save`.
    """
    if not rows:
        raise ValueError(
            "rows must not be empty. Give what swordplay.theory.reproduce.reproduce() returned."
        )
    panels = [
        _panel(regret_chart([row for row in rows if row.instance == instance], tuned, tunings))
        for tuned, tunings in PANELS
        for instance in INSTANCES
    ]
    for panel, instance in zip(panels, INSTANCES, strict=False):  # the first row has the titles
        panel["title"] |= {"text": TITLES[instance]}
    return {
        "background": "var(--paper)",
        "padding": 10,
        "config": CONFIG,
        "layout": {
            "columns": len(INSTANCES),
            "padding": {"row": ROW_GAP, "column": COLUMN_GAP},
            "bounds": "full",
            "align": "all",
        },
        "marks": panels,
    }


def save(figure: Spec, path: str | Path) -> None:
    """Write a figure as PNG or SVG, by the suffix of the path; a file that is there is replaced.

    The file is written whole or not at all.

    Parameters
    ----------
    figure
        What :func:`regret_figure` returned.
    path
        Of the file.
    """
    target = Path(path)
    kind = target.suffix.lower()
    if kind not in SUFFIXES:
        raise ValueError(
            f"path must end in one of {list(SUFFIXES)}, got {arguments.short_repr(str(path))}."
        )
    colours = dict(re.findall(r"--(\w+): (#\w+);", resource("page.css").partition("}")[0]))
    drawn = json.loads(COLOUR.sub(lambda found: colours[found[1]], json.dumps(figure)))
    image = vega.png(drawn) if kind == ".png" else vega.still(drawn, "figure").encode()
    write_atomic(target, image)


def _panel(chart: Chart) -> Spec:
    """Return a chart as a part of a larger picture."""
    spec = chart.spec
    size = {"width": {"value": PANEL_WIDTH}, "height": {"value": spec["height"]}}
    return {
        "type": "group",
        "title": {
            "text": "",
            "subtitle": chart.words,
            "anchor": "start",
            "frame": "group",
            "color": "var(--ink)",
            "subtitleColor": "var(--ink)",
        },
        "encode": {"update": size},
        "signals": [
            {"name": "width", "value": PANEL_WIDTH},
            {"name": "height", "value": spec["height"]},
            *spec["signals"],
        ],
        **{part: spec[part] for part in ("data", "scales", "axes", "marks")},
    }
