"""The picture of the README: ``python -m benchmarks.intervals.figure [PATH]`` draws a band that
widens when the world moves.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import numpy as np

from swordplay.intervals import SwordIntervals

FILE = Path(__file__).parents[2] / "docs" / "figures" / "intervals.svg"
FIRST, LAST, TURN, CALM = 800, 1500, 1000, 1250
"""Rows that are drawn; from TURN to CALM the world is four times as unsure."""


def main(path: Path) -> None:
    """Forecasts that know the wave and not how unsure the world is, and the intervals that find
    out.
    """
    rng = np.random.default_rng(3)
    row = np.arange(LAST)
    forecasts = 20.0 + 5.0 * np.sin(row / 40.0)
    truths = forecasts + np.where((row >= TURN) & (row < CALM), 4.0, 1.0) * rng.normal(size=LAST)
    bounds = SwordIntervals(level=0.9).interval_then_learn(forecasts, truths)
    plot = import_module("matplotlib.pyplot")
    plot.rcParams["svg.hashsalt"] = "swordplay"  # the same bytes every time
    figure, axes = plot.subplots(figsize=(9.0, 3.0))
    here = slice(FIRST, LAST)
    axes.fill_between(
        row[here], *bounds[here].T, color="#0a6ebd", alpha=0.22, lw=0, label="90 % interval"
    )
    axes.plot(row[here], forecasts[here], color="#0a6ebd", lw=1.4, label="forecast")
    axes.plot(row[here], truths[here], ".", color="#1b2733", ms=2.6, label="truth")
    for where, words in ((TURN, "four times as unsure"), (CALM, "calm again")):
        axes.axvline(where, color="#1b2733", lw=0.8, ls=":")
        axes.annotate(
            words,
            (where + 6, 0.03),
            xycoords=("data", "axes fraction"),
            color="#1b2733",
            fontsize=9,
        )
    axes.set_xlabel("row")
    axes.margins(x=0.0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper right", ncols=3, frameon=False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FILE)
