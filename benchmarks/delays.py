"""Answers that come late: what a delay costs on the shipped streams, and what learning late is
worth.

``python -m benchmarks.delays`` plays the shipped streams with answers 0, 100 and 10,000 rows late
and writes the table into ``docs/late.md``. The first tenth of a stream is history, asked and told
row by row. From there on row t is asked, then row t - delay is told; where answers are late, a few
rows at a time. Beside the error of these tickets stands that of the same model, had it stopped
learning after the history.
"""

from __future__ import annotations

import copy
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

from swordplay import datasets
from swordplay.late import LateModel

DELAYS = (0, 100, 10_000)
MOST_TOGETHER = 50
"""Rows that are asked and told at a time; no more than a tenth of the delay."""
STREAMS = {"bikesharing": "regression", "electricity": "classification", "sulfur": "regression"}
LEARNED = 0.1
"""Share of the rows that are history."""
PAGE = Path(__file__).parents[1] / "docs" / "late.md"
BEGIN, END = "<!-- delays: begin -->", "<!-- delays: end -->"


class Line(NamedTuple):
    """One stream with one delay."""

    stream: str
    rows: int
    delay: int
    judged: int
    late: float
    """RMSE or share of mistakes of the tickets,"""
    stopped: float
    """the same of a model that stopped learning,"""
    coverage: float
    """and the share of intervals that held the truth, NaN for classes."""


def play(stream: str, delay: int, rows: int | None = None) -> Line:
    """A stream, or its first rows, with every answer so many rows late."""
    data = getattr(datasets, stream)()
    X, y = data.features[:rows], data.targets[:rows].tolist()
    rows_by_name = [dict(zip(data.names, row, strict=True)) for row in X.tolist()]
    model = LateModel(STREAMS[stream])
    count = len(y)
    history = int(LEARNED * count)
    for t in range(history):
        model.tell(model.ask(rows_by_name[t]), y[t])
    said = [ticket.prediction for ticket in copy.deepcopy(model).ask_many(rows_by_name[history:])]
    tickets = []
    told, block = history, max(1, min(delay // 10, MOST_TOGETHER))
    for t in range(history, count, block):
        tickets += model.ask_many(rows_by_name[t : t + block])
        ready = max(told, min(t + block, count) - delay)
        model.tell_many(tickets[told - history : ready - history], y[told:ready])
        told = ready
    own = [ticket.prediction for ticket in tickets]
    held = [
        t.lower <= truth <= t.upper
        for t, truth in zip(tickets, y[history:], strict=True)
        if t.lower is not None
    ]
    error = mistakes if STREAMS[stream] == "classification" else rmse
    coverage = float(np.mean(held)) if held else float("nan")
    return Line(
        stream,
        count,
        delay,
        count - history,
        error(own, y[history:]),
        error(said, y[history:]),
        coverage,
    )


def rmse(said: list[float], truths: list[float]) -> float:
    return float(np.sqrt(np.mean((np.array(said) - np.array(truths)) ** 2)))


def mistakes(said: list[object], truths: list[object]) -> float:
    return float(np.mean([one != other for one, other in zip(said, truths, strict=True)]))


def table(lines: list[Line]) -> str:
    """The lines in Markdown."""
    text = [
        "| stream | rows | answers late by | judged | asked and told | stopped learning | "
        "intervals held |"
    ]
    text.append("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for line in lines:
        classes = STREAMS[line.stream] == "classification"
        late, stopped = (
            f"{100 * value:.1f} %" if classes else f"{value:.4g}"
            for value in (line.late, line.stopped)
        )
        held = "" if np.isnan(line.coverage) else f"{100 * line.coverage:.1f} %"
        measure = "mistakes" if classes else "RMSE"
        text.append(
            f"| {line.stream} ({measure}) | {line.rows:,} | {line.delay:,} | {line.judged:,} | "
            f"{late} | {stopped} | {held} |"
        )
    return "\n".join(text)


def main() -> None:
    lines = []
    for stream in STREAMS:
        for delay in DELAYS:
            lines.append(play(stream, delay))
            print(lines[-1], file=sys.stderr, flush=True)
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    PAGE.write_text(f"{before}{BEGIN}\n{table(lines)}\n{END}{after}", encoding="utf-8")
    print(table(lines))


if __name__ == "__main__":
    main()
