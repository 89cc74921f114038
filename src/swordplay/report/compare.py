"""The report of a comparison: all learners on the same rows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from swordplay import __version__
from swordplay.report import formatting as fmt
from swordplay.report.axes import Axis, Format, top
from swordplay.report.charts import Chart, Line, chart
from swordplay.report.document import write
from swordplay.report.page import HtmlPage, Section, TableBlock, Text
from swordplay.report.result_charts import look
from swordplay.report.track_charts import NO_CHANGE

if TYPE_CHECKING:
    from swordplay.comparison import Comparison, Result

WORSE = 1.5
"""Who errs so many times as much as the winner and no change goes beyond the picture: one that
diverged would flatten all.
"""
SETTLED = 0.05
"""Share of the run after which errors so far fit in the picture."""


def write_compare(
    found: Comparison, title: str, path: str | os.PathLike[str], *, more: Sequence[Section] = ()
) -> None:
    """Write the report of a comparison as one HTML file, all or nothing.

    Parameters
    ----------
    found
        What :func:`swordplay.comparison.compare` returned.
    title
        Of the page.
    path
        Of the file; one that is there is replaced.
    more
        Sections that follow.
    """
    facts = (
        f"{fmt.plural(found.rows, 'row')} of {fmt.plural(found.width, 'column')}, "
        "everybody in the same order"
    )
    footer = f"Made by swordplay {__version__}. This file is complete in itself and loads nothing."
    write(HtmlPage(title, facts, (compare_section(found), *more), footer), path)


def compare_section(found: Comparison) -> Section:
    """Who erred least, how it went, and a table of ranks, costs and regrets."""
    best, shown = found.results[0], _shown(found)
    count = fmt.plural(len(found.results), "learner")
    text = f"Of {count}, {best.name} erred least: {found.measure} {shown(best.error)}."
    return Section(
        "Learners compared",
        (Text(text, lead=True), _course(found), _table(found), Text(_legend(found))),
    )


def _course(found: Comparison) -> Chart:
    """Errors so far, the first in rank on top."""
    ends = found.ends.astype(np.float64)
    lines = [
        Line(one.name, one.course, colour, 2.5 if one.rank == 1 else 1.5, dash)
        for one, (colour, dash) in zip(
            found.results, map(look, range(len(found.results))), strict=True
        )
    ][::-1]
    form: Format = "number" if found.measure == "RMSE" else "percent"
    high = _high(found, after=int(SETTLED * len(ends)))
    y = Axis(0.0, high if form == "number" else min(high, 1.0), format=form)
    x = Axis(float(ends[0]), max(float(ends[-1]), float(ends[0]) + 1.0), title="row")
    text = "Error over all rows so far, predicted before each was learned."
    beyond = [line.name for line in lines[::-1] if not line.values[-1] <= y.high]
    if beyond:
        text += f" At the end beyond the picture (↑): {', '.join(beyond)}."
    lines = [
        line._replace(label=f"{line.name} ↑") if line.name in beyond else line for line in lines
    ]
    return chart("How it went", text, ends, lines, x, y, height=300, head="row")


def _high(found: Comparison, after: int) -> float:
    """Where the picture ends: the winner and no change fit in it, and everybody who errs little
    more than these.
    """
    ruling = [one.course for one in found.results if one.rank == 1 or one.name == NO_CHANGE]
    scale = WORSE * top(ruling, after=after)
    return top(
        [one.course for one in found.results if top([one.course], after=after) <= scale] or ruling,
        after=after,
    )


def _table(found: Comparison) -> TableBlock:
    shown = _shown(found)
    rows = tuple(
        (
            str(one.rank),
            one.name,
            _told(one),
            shown(one.error),
            fmt.number(one.microseconds),
            *(fmt.number(one.regrets[mark.name]) for mark in found.benchmarks),
        )
        for one in found.results
    )
    head = (
        "rank",
        "learner",
        "told",
        found.measure,
        "µs a row",
        *(f"regret to {mark.name}" for mark in found.benchmarks),
    )
    return TableBlock("", head, rows, (0, *range(3, len(head))), strong=(0,))


def _legend(found: Comparison) -> str:
    marks = "; ".join(
        f"{mark.name} travels {fmt.number(mark.path_length)}" for mark in found.benchmarks
    )
    return (
        "Regret is the loss beyond that of the best coefficients of hindsight; below 0 the learner "
        f"did better. How far these move: {marks}. Told is what a learner had to be told that only "
        "hindsight knows: T how many rounds, G how steep, L how smooth. SwordRegressor and "
        "SwordClassifier are what swordplay track runs."
    )


def _told(one: Result) -> str:
    return f"step{fmt.TIE}{one.setting}" if one.setting else one.told or "nothing"


def _shown(found: Comparison) -> fmt.Shown:
    return fmt.number if found.measure == "RMSE" else fmt.percent
