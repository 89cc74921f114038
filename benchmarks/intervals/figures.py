"""What is told of intervals: coverage, width, the Winkler score, the worst windows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from benchmarks.intervals.peers import BURN_IN


class Figures(NamedTuple):
    """Of one method on one stream."""

    coverage: float
    width: float
    median_width: float
    winkler: float
    """Width plus 2 / alpha times what the truth lies outside by, on average."""
    worst_100: float
    """Largest deviation of coverage from the level on any window of 100 rows.

    NaN if there are fewer.
    """
    worst_500: float
    longest: int
    """Longest run of misses."""
    infinite: float
    """Share of intervals without an end."""
    microseconds: float
    """A row."""
    scores: Any
    """The Winkler score of every row."""


def measure(
    bounds: Any, forecasts: Any, truths: Any, alpha: float, seconds: float = 0.0
) -> Figures:
    """Figures of bounds of shape ``(T, 2)``, the first ``BURN_IN`` rows left out.

    An infinite interval has no width: in its place stands the widest residual so far, as whoever
    draws it would do. Coverage and windows count the intervals as they were given.
    """
    missed = ((truths < bounds[:, 0]) | (truths > bounds[:, 1]))[BURN_IN:]
    widest = np.concatenate([[0.0], np.maximum.accumulate(np.abs(truths - forecasts))[:-1]])
    lower = np.where(np.isfinite(bounds[:, 0]), bounds[:, 0], forecasts - widest)[BURN_IN:]
    upper = np.where(np.isfinite(bounds[:, 1]), bounds[:, 1], forecasts + widest)[BURN_IN:]
    y = truths[BURN_IN:]
    width = upper - lower
    outside = np.maximum(lower - y, 0.0) + np.maximum(y - upper, 0.0)
    scores = width + 2.0 / alpha * outside
    balance = np.concatenate([[0.0], np.cumsum(missed - alpha)])
    return Figures(
        coverage=float(1.0 - missed.mean()),
        width=float(width.mean()),
        median_width=float(np.median(width)),
        winkler=float(np.mean(scores)),
        worst_100=_worst(balance, 100),
        worst_500=_worst(balance, 500),
        longest=_longest(missed),
        infinite=float(np.mean(~np.isfinite(bounds[BURN_IN:]).all(axis=1))),
        microseconds=seconds / len(truths) * 1e6,
        scores=scores,
    )


BLOCK = 25
"""Rows that are taken together where the chance in a ratio is told: scores of neighbouring rows
go together.
"""


def chance(ours: Any, theirs: Any) -> float:
    """The standard error of the ratio of two mean scores of the same rows, from how it differs
    between blocks of them.
    """
    count = len(ours) // BLOCK
    a, b = (scores[: count * BLOCK].reshape(count, BLOCK).sum(axis=1) for scores in (ours, theirs))
    off = a - a.sum() / b.sum() * b
    return float(np.sqrt(np.sum(off**2)) / b.sum())


def _worst(balance: Any, rows: int) -> float:
    return (
        float(np.abs(balance[rows:] - balance[:-rows]).max() / rows)
        if len(balance) > rows
        else np.nan
    )


def _longest(missed: Any) -> int:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], missed.astype(int), [0]])))
    return int((edges[1::2] - edges[::2]).max(initial=0))
