"""Coverage at five levels, alone and at once, beside the lowest that any interval around these
forecasts could have.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.intervals.streams import Stream
from benchmarks.report import Table
from swordplay.intervals import SwordIntervals

LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)
MOST, CLOSE, LONG = 20.0, 0.002, 5000
"""What is promised: 20 misses too many on a window.

And whole streams of 5,000 rows or more off by at most 0.002.
"""

ROUNDING = 1e-9


def without_free_hits(covered: Any, balances: Any, rows: int, alphas: Any) -> Any:
    """Coverage of the rows that are no free hits, for each of the levels.

    A balance is the number of misses less alpha for each row that is no free hit (docs/theory.md),
    which tells how many free hits there were.
    """
    misses = (1.0 - covered) * rows
    counted = (misses - balances) / alphas
    return 1.0 - misses / counted


def lowest(exact: Any, level: float, most: float = MOST) -> float:
    """The lowest coverage of all rows that leaves no window of n rows with more than 20 misses
    beyond its share of n.

    ``exact`` says which truths equal their forecast: an interval that holds its forecast cannot
    miss these. Whoever misses every other row as long as no window has 20 misses too many has the
    most misses of all who keep to that: ``surplus`` is the largest sum of misses beyond their share
    over the windows that end here.
    """
    alpha, surplus, misses = 1.0 - level, 0.0, 0
    for free in exact.tolist():
        if not free and surplus + level <= most + ROUNDING:
            surplus += level
            misses += 1
        else:
            surplus = max(0.0, surplus - alpha)
    return 1.0 - misses / len(exact)


def held(bounds: Any, truths: Any) -> Any:
    """The share of truths inside, for each level."""
    y = truths[:, None]
    return ((bounds[:, :, 0] <= y) & (y <= bounds[:, :, 1])).mean(axis=0)


def alone(games: list[Stream]) -> Table:
    """Our coverage at each level by itself, from the first row on."""
    rows, off = [], [0, 0, 0]
    for stream in games:
        for who, forecasts in stream.forecasts.items():
            exact = stream.truths == forecasts
            cells = []
            for level in LEVELS:
                intervals = SwordIntervals((level,))
                covered = held(
                    intervals.interval_then_learn(forecasts, stream.truths, stream.rows),
                    stream.truths,
                )
                others = without_free_hits(covered, intervals.balances, len(exact), 1.0 - level)
                cells.append(_judged(float(covered[0]), level, float(others[0]), exact))
                off[cells[-1].count(", ")] += len(exact) >= LONG
            rows.append([stream.name, who, str(len(exact)), *cells, f"{100 * exact.mean():.1f} %"])
    header = [
        "stream",
        "forecaster",
        "rows",
        *(f"{100 * level:g} %" for level in LEVELS),
        "truths equal to their forecast",
    ]
    remark = (
        f"All rows. Bold is what is off by more than {CLOSE} on a stream of {LONG:,} rows or "
        "more. A truth that equals its "
        "forecast exactly is covered by an interval of any width, even of none. Behind such a "
        "coverage stands that of the rows "
        "that are no free hits (docs/theory.md): all of the difference is owed to these. And, "
        "where it is above the level by "
        f"more than {CLOSE}, too, the lowest coverage of all rows that any interval can have "
        "which holds its forecast and has "
        f"no more than {MOST:g} misses too many on any window (docs/intervals.md has the reason). "
        f"Of the {sum(off)} cases of "
        f"{LONG:,} rows or more, {off[0]} are within {CLOSE}, {off[2]} cannot be, and {off[1]} "
        "could be."
    )
    return Table("Coverage of SwordIntervals, each level alone", header, rows, remark)


def _judged(covered: float, level: float, others: float, exact: Any) -> str:
    if len(exact) < LONG or abs(covered - level) <= CLOSE:
        return f"{covered:.4f}"
    least = lowest(exact, level)
    behind = f", {least:.4f} at least" if least > level + CLOSE else ""
    return f"**{covered:.4f}**, {others:.4f} without free hits{behind}"


def at_once(games: list[Stream]) -> Table:
    """Our coverage at several levels at once, from the first row on."""
    rows = []
    for stream in games:
        for who, forecasts in stream.forecasts.items():
            intervals = SwordIntervals(LEVELS)
            covered = held(
                intervals.interval_then_learn(forecasts, stream.truths, stream.rows), stream.truths
            )
            off = np.abs(
                without_free_hits(
                    covered, intervals.balances, len(forecasts), 1.0 - np.array(LEVELS)
                )
                - LEVELS
            ).max()
            rows.append(
                [
                    stream.name,
                    who,
                    str(len(forecasts)),
                    *(f"{c:.4f}" for c in covered),
                    f"{off:.4f}",
                ]
            )
    header = ["stream", "forecaster", "rows", *(f"{100 * level:g} %" for level in LEVELS)]
    header += ["off by at most, free hits left out"]
    remark = (
        "All rows, five levels that never cross. The last column leaves out the free hits of "
        "docs/theory.md, in which the "
        "interval was as narrow as it can be (that of the next lower level, or none) and held the "
        "truth all the same, and "
        "tells how far the coverage of the other rows is off at any of the five levels."
    )
    return Table("Coverage of SwordIntervals at five levels at once", header, rows, remark)
