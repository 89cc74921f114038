"""The paper's experiment, as a section of a page."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from swordplay.report import formatting as fmt
from swordplay.report.axes import Axis, powers, tens
from swordplay.report.charts import Chart, Line, chart
from swordplay.report.page import Block, Pair, Section, TableBlock, Text
from swordplay.theory.reproduce import INSTANCES, Row, Tuning

PANELS: tuple[tuple[str, tuple[Tuning, ...]], ...] = (
    ("the paper's fixed rates", ("paper", "baseline")),
    ("rates that tune themselves", ("self-confident", "none", "baseline")),
)
"""The charts of each instance: how learners are tuned, in words and as ``Row.tuning``."""
TITLES = {
    "gradual": "Instance 1: gradients hardly vary",
    "alternating": "Instance 2: comparators lose nothing",
}

COLOURS = {
    "Ader": "naive",
    "SwordVar": "mean",
    "SwordSmall": "hindsight",
    "SwordBest": "other",
    "Sword": "sword",
}
AIR = 0.9
"""Between the first and last points and the edges."""
TUNINGS = {
    "paper": "the paper's rates",
    "self-confident": "tunes itself",
    "none": "nothing to set",
    "baseline": "baseline",
}


def reproduce_section(rows: Sequence[Row]) -> Section:
    """Regret against the horizon on both instances, and a table with the bounds.

    Parameters
    ----------
    rows
        What :func:`swordplay.theory.reproduce.reproduce` returned.
    """
    if not rows:
        raise ValueError(
            "rows must not be empty. Give what swordplay.theory.reproduce.reproduce() returned."
        )
    text = (
        "The paper's two instances, each shown twice: with the paper's rates, which must know the "
        "future, and with rates that tune themselves. A straight line is a power of the number of "
        "rounds, a flat one regret that has stopped growing."
    )
    blocks: list[Block] = [Text(text)]
    for instance in INSTANCES:
        here = [row for row in rows if row.instance == instance]
        if here:
            blocks += [
                Pair(
                    tuple(
                        regret_chart(here, tuned, tunings, TITLES[instance])
                        for tuned, tunings in PANELS
                    )
                ),
                _table(here, instance),
            ]
    if any(row.assumes_optimism_claim for row in rows):
        blocks.append(
            Text(
                "* takes the paper's claim about learned optimism at its word, which holds for G "
                "<= 1/4 only."
            )
        )
    return Section("The paper's experiment, played again", tuple(blocks))


def regret_chart(rows: Sequence[Row], tuned: str, tunings: Sequence[str], title: str = "") -> Chart:
    """Draw regret against the horizon for the learners that are tuned in one way.

    Parameters
    ----------
    rows
        Of one instance.
    tuned, tunings
        An entry of :data:`PANELS`.
    title
        Above the chart.
    """
    rounds = sorted({row.rounds for row in rows})
    lines = []
    for learner, colour in COLOURS.items():
        found = {
            row.rounds: row.regret
            for row in rows
            if row.learner == learner and row.tuning in tunings
        }
        values = np.array([found.get(T, np.nan) for T in rounds])
        values[values <= 0.0] = np.nan  # a logarithm has no place for them
        if np.isfinite(values).any():
            lines.append(Line(learner, values, colour, 2.5 if learner == "Sword" else 1.8))
    regrets = [row.regret for row in rows if row.regret > 0.0] or [1.0]
    first, last = AIR * rounds[0], rounds[-1] / AIR
    x = Axis(first, last, title="rounds T", scale="log", ticks=tens(first, last))
    low, high = powers(min(regrets), max(regrets))
    y = Axis(low, high, scale="log", ticks=tens(low, high))
    return chart(
        title,
        f"Dynamic regret, {tuned}.",
        np.array(rounds, dtype=np.float64),
        lines,
        x,
        y,
        head="rounds",
        marks=True,
    )


def _table(rows: Sequence[Row], instance: str) -> TableBlock:
    """Everybody at the largest horizon, the smallest regret first."""
    largest = max(row.horizon for row in rows)
    last = sorted((row for row in rows if row.horizon == largest), key=lambda row: row.regret)
    cells = tuple(
        (
            row.learner,
            TUNINGS[row.tuning],
            fmt.number(row.regret),
            "–" if row.bound is None else fmt.number(row.bound) + "*" * row.assumes_optimism_claim,
            "–" if row.certificate is None else fmt.number(row.certificate),
        )
        for row in last
    )
    strong = tuple(k for k, row in enumerate(last) if row.learner == "Sword")
    caption = f"{TITLES[instance]}; after {largest:,} rounds"
    return TableBlock(
        caption, ("learner", "tuning", "regret", "bound", "certificate"), cells, (2, 3, 4), strong
    )
