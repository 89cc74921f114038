"""Figures of regret. matplotlib is imported when the first one is drawn, never before."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from swordplay.core import arguments
from swordplay.core.files import write_atomic
from swordplay.theory.reproduce import INSTANCES, Row, Tuning

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg")
"""What a figure can be saved as."""

INK, FAINT = "#222222", "#d9d9d9"
LABEL: dict[str, Any] = {"va": "center", "fontsize": 8.5}
LABEL_GAP = 0.062
"""Least distance between two labels, as a share of a panel's height: a line of text and some
air.
"""


class Style(NamedTuple):
    """How one learner looks in every panel."""

    colour: str
    marker: str
    size: float = 4.5
    """Of the marker; what is drawn first is larger, so that lines on top of each other all show."""


# Okabe and Ito's colours (and Tol's purple), which stay apart for colour-blind eyes; markers do
# without any colour.
STYLES = {
    "Ader": Style("#7f7f7f", "v"),
    "SwordVar": Style("#0072b2", "o", size=7),
    "SwordSmall": Style("#d55e00", "s"),
    "SwordBest": Style("#009e73", "D", size=3.5),
    "Sword": Style("#aa3377", "P"),
}
PANELS: tuple[tuple[str, tuple[Tuning, ...]], ...] = (
    ("the paper's fixed rates", ("paper", "baseline")),
    ("rates that tune themselves", ("self-confident", "none", "baseline")),
)
TITLES = {
    "gradual": "Instance 1: gradients hardly vary",
    "alternating": "Instance 2: comparators lose nothing",
}
SETTINGS: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "svg.hashsalt": "swordplay",  # the same rows give the same file
}


def regret_figure(rows: Sequence[Row]) -> Figure:
    """Dynamic regret against the horizon, log-log: an instance a column, a way of tuning a row.

    A straight line is a power of T, a flat one regret that has stopped growing.

    Parameters
    ----------
    rows
        What :func:`swordplay.theory.reproduce.reproduce` returned.
    """
    if not rows:
        raise ValueError(
            "rows must not be empty. Give what swordplay.theory.reproduce.reproduce() returned."
        )
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    with mpl.rc_context(SETTINGS):
        figure = Figure(
            figsize=(8.6, 5.4),
            layout=ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08),
            facecolor="white",
        )
        FigureCanvasAgg(figure)
        grid = figure.subplots(len(PANELS), len(INSTANCES), sharex=True, sharey=True)
        for axes_row, (tuned, tunings) in zip(grid, PANELS, strict=True):
            for axes, instance in zip(axes_row, INSTANCES, strict=True):
                _panel(
                    axes,
                    [row for row in rows if row.instance == instance and row.tuning in tunings],
                )
                axes.set_title(tuned, loc="left", fontsize=9, color=INK)
        for axes, instance in zip(grid[0], INSTANCES, strict=True):
            axes.set_title(
                TITLES[instance], loc="left", y=1.13, fontsize=10, fontweight="bold", color=INK
            )
            axes.text(0.0, 1.035, PANELS[0][0], transform=axes.transAxes, color=INK)
        for axes in grid[-1]:
            axes.set_xlabel("rounds T")
        for axes in grid[:, 0]:
            axes.set_ylabel("dynamic regret")
        # settles limits and layout, which the labels need to make room for each other
        figure.draw_without_rendering()
        for axes in grid.flat:
            _label(axes)
    return figure


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure as PNG or SVG, whichever the suffix says, all or nothing."""
    target = Path(path)
    if target.suffix.lower() not in SUFFIXES:
        raise ValueError(
            f"path must end in one of {list(SUFFIXES)}, got {arguments.short_repr(str(path))}."
        )
    import matplotlib as mpl

    kind = target.suffix.lower()[1:]
    image = io.BytesIO()
    with mpl.rc_context(SETTINGS):
        figure.savefig(
            image, format=kind, dpi=144, metadata={"Date": None} if kind == "svg" else {}
        )
    write_atomic(target, image.getvalue())


def _panel(axes: Axes, rows: Sequence[Row]) -> None:
    """One line per learner."""
    for learner, style in STYLES.items():
        line = sorted((row.rounds, row.regret) for row in rows if row.learner == learner)
        if line:
            look: dict[str, Any] = {
                "color": style.colour,
                "marker": style.marker,
                "markersize": style.size,
                "linewidth": style.size / 2.7,
            }
            axes.plot(*zip(*line, strict=True), **look, label=learner, zorder=3)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.grid(which="major", color=FAINT, lw=0.6, zorder=0)
    axes.minorticks_off()
    axes.spines[["top", "right"]].set_visible(False)


def _label(axes: Axes) -> None:
    """Names at the right ends of the lines, moved apart where they would touch."""
    to_share = axes.transData + axes.transAxes.inverted()
    ends = [
        (to_share.transform(np.asarray(line.get_xydata())[-1:]).item(1), line)
        for line in axes.get_lines()
    ]
    ends.sort(key=lambda end: end[0])
    for (_, line), height in zip(
        ends, spread([height for height, _ in ends], LABEL_GAP), strict=True
    ):
        axes.text(
            1.02,
            height,
            str(line.get_label()),
            color=line.get_color(),
            transform=axes.transAxes,
            **LABEL,
        )


def spread(heights: Sequence[float], gap: float) -> list[float]:
    """Ascending heights, moved as little as need be so that neighbours are at least ``gap`` apart.

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
