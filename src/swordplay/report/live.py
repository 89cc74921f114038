"""The live page of a server: the report's charts, fed while rows come in (``live.js``)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from swordplay.report.axes import Axis, Format
from swordplay.report.charts import Chart, Line, chart
from swordplay.report.document import POLICY, render, resource
from swordplay.report.page import HtmlPage, LiveSlot, Pair, Section, Text
from swordplay.serving.pages import PageFile

EMPTY = np.full(2, np.nan)
"""Of a line before the first row."""


def files() -> Mapping[str, PageFile]:
    """The page by its address. Making it takes a second or two."""
    policy = f"{POLICY}; connect-src 'self'"
    body = render(page(), own=resource("live.js"), policy=policy).encode("utf-8")
    return {"/": PageFile(body, "text/html; charset=utf-8", "frame-ancestors 'none'")}


def page() -> HtmlPage:
    """What is on it, before anything is known."""
    now = Section(
        "Now",
        (
            Text("Waiting for the server.", lead=True),
            LiveSlot("live-figures", ""),
        ),
    )
    error = _chart(
        "Error",
        "How far off numbers were, stretch by stretch; of classes, the share of wrong ones over a "
        "hundred answers or more.",
        "error",
    )
    sure = _chart(
        "Coverage",
        "The share of truths inside their intervals, over a hundred answers or more; 90\u202f% "
        "are meant to be.",
        "coverage",
        "other",
        "percent",
    )
    step = _chart(
        "Effective step size", "The larger, the faster the model forgets.", "step size", "hindsight"
    )
    course = Section("Since the first row", (error, Pair((sure, step))))
    last = Section("Last answers", (LiveSlot("live-last", "None yet."),))
    series = Section("Models", (LiveSlot("live-series", "None yet."),))
    footer = (
        "Every figure is of the model as it is now. Nothing on this page was loaded from elsewhere."
    )
    return HtmlPage(
        "swordplay serve",
        "What the models of this server know and how well they do.",
        (now, course, last, series),
        footer,
    )


def _chart(
    title: str, words: str, name: str, colour: str = "sword", look: Format = "number"
) -> Chart:
    """A line over the answered rows whose numbers come later."""
    line = Line(name, EMPTY, colour, width=2.0)
    drawn = chart(
        title,
        words,
        np.array([0.0, 1.0]),
        (line,),
        Axis(0.0, 1.0, "answered rows"),
        Axis(0.0, 1.0, format=look),
    )
    spec = drawn.spec
    spec["signals"].append({"name": "reach", "value": [0.0, 1.0]})
    spec["scales"][1]["domain"] = {"signal": "reach"}
    spec["data"][1]["values"] = []  # one line needs no name at its end
    return drawn._replace(readout=drawn.readout | {"head": "up to row"}, group="course")
