r"""What changed, and when: jumps of the error and of coefficients, found in the stretches of a run.

A series of B means is cut into pieces of constant level by optimal partitioning, with a price for each cut:

.. math:: \min_{\tau_1 < \dots < \tau_m} \sum_{j=0}^{m} \sum_{t \in (\tau_j, \tau_{j+1}]} (x_t - \bar x_j)^2
    + m \cdot c \, \sigma^2 \log B

The variance :math:`\sigma^2` is that of the mean of many neighbours: neighbours that resemble one another, as coefficients of
a learner do, count as fewer. It is told from medians of differences, which a few jumps cannot move. With c = 4 and
independent normal noise, fewer than one series of a hundred without a jump is cut anywhere (``test_changes.py``).

References
----------
Jackson et al. (2005), "An algorithm for optimal partitioning of data on an interval"; Killick, Fearnhead and Eckley (2012).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swordplay.tracking.story import Driver, Story
from swordplay.types import Vector

PRICE = 4.0
"""c, of a cut."""
MOST_BLOCKS = 128
"""Neighbouring stretches are joined to at most so many blocks: what is left of their noise is nearly independent."""
FEWEST_ROWS = 64
"""In a block: the mean error of fewer is mostly chance."""
FEWEST_BLOCKS = 12
"""With fewer there is nothing to find."""
SHORTEST = 3
"""Blocks between two cuts."""
LAGS = (1, 2, 4, 8)
"""Distances of blocks whose differences tell the variance."""
NORMAL = 0.4549
"""Median of a squared normal variable of variance 1."""
SETTLING = 0.05
"""Share of the run at its beginning where nothing counts as a change: the learner is learning its first coefficients."""
LOUD = 1.4
"""Errors have to grow, or shrink, by this factor to be worth a word;"""
LARGE = 0.15
"""and a coefficient has to move by this share of the spread of what is predicted."""
MOST = 6
"""Changes that are told, the strongest ones."""


class Change(NamedTuple):
    """A level that was another before."""

    what: str
    """``"error"`` or the name of a column."""
    about: str
    """The class whose log-odds a coefficient moves; empty otherwise."""
    row: int
    """The first row of the new level, about, among the rows that were predicted and then learned."""
    time: float | None
    """When that was, in milliseconds since 1970; None where there is no clock."""
    before: float
    after: float
    """Levels: the error (RMSE or share of mistakes), or the coefficient per spread of its column."""
    strength: float
    """How clear it is: the gain of the cut in units of the price of one."""


def changes(story: Story) -> tuple[Change, ...]:
    """The clearest changes of a run, in the order of time."""
    course = story.course
    if not len(course.ends):
        return ()
    found = _of_errors(story)
    scale = _scale(story)
    for driver in story.drivers:
        found += _of_coefficient(story, driver, scale)
    chosen = sorted(found, key=lambda one: -one.strength)[:MOST]
    return tuple(sorted(chosen, key=lambda one: (one.row, one.what)))


def cuts(values: Vector) -> list[int]:
    """Where a series jumps: the first places of new levels, ascending.

    Parameters
    ----------
    values
        Shape ``(B,)``, finite.
    """
    return [place for place, _ in _cuts(values)]


def _cuts(values: Vector) -> list[tuple[int, float]]:
    """Cuts, and the gain of each in units of its price."""
    count = len(values)
    variance = long_run_variance(values)
    if count < FEWEST_BLOCKS or not variance > 0.0:
        return []
    price = PRICE * variance * np.log(count)
    sums, squares = (
        np.concatenate([[0.0], np.cumsum(part)]) for part in (values - values.mean(), (values - values.mean()) ** 2)
    )

    def cost(first: NDArray[np.int64] | int, stop: int) -> Vector:
        return np.asarray(squares[stop] - squares[first] - (sums[stop] - sums[first]) ** 2 / (stop - first))

    best, back = np.full(count + 1, np.inf), np.zeros(count + 1, dtype=np.int64)
    best[0] = -price
    for stop in range(SHORTEST, count + 1):
        firsts = np.array([0, *range(SHORTEST, stop - SHORTEST + 1)])
        totals = best[firsts] + cost(firsts, stop) + price
        k = int(totals.argmin())
        best[stop], back[stop] = totals[k], firsts[k]
    edges = [count]
    while edges[-1]:
        edges.append(int(back[edges[-1]]))
    edges = edges[::-1]
    gains = []
    for first, place, stop in zip(edges, edges[1:], edges[2:], strict=False):
        gain = float(cost(first, stop) - cost(first, place) - cost(place, stop))
        gains.append((place, gain / price))
    return gains


def long_run_variance(values: Vector) -> float:
    r"""Variance of noise, times how many neighbours say the same: :math:`\sigma^2 (1 + \rho) / (1 - \rho)`.

    From medians of squared differences at several distances: far ones know the variance, near ones the resemblance ρ.
    """
    spans = [lag for lag in LAGS if 2 * lag < len(values)]
    if not spans:
        return 0.0
    by_lag = [float(np.median((values[lag:] - values[:-lag]) ** 2)) / (2.0 * NORMAL) for lag in spans]
    variance = max(by_lag)
    if not variance > 0.0:
        return 0.0
    alike = min(max(1.0 - by_lag[0] / variance, 0.0), 0.98)
    return variance * (1.0 + alike) / (1.0 - alike)


def _of_errors(story: Story) -> list[Change]:
    """Jumps of the learner's error, in its logarithm (of a share of mistakes: in the share itself)."""
    course = story.course
    edges = _blocks(np.concatenate([[0.0], course.ends]))
    rows = np.diff(np.concatenate([[0.0], course.ends])[edges])
    lost = np.diff(np.concatenate([[0.0], np.cumsum(course.losses[story.learner])])[edges])
    means = np.maximum(lost, 0.0) / rows
    if story.task == "regression":
        floor = 1e-12 * float(means.max(initial=0.0)) or 1.0
        return _told(story, "error", "", 0.5 * np.log(np.maximum(means, floor)), edges, np.log(LOUD), np.exp)
    levels = np.arcsin(np.sqrt(np.minimum(means, 1.0)))  # the noise of a share is then the same everywhere
    found = _told(story, "error", "", levels, edges, 0.0, lambda level: np.sin(level) ** 2)
    return [one for one in found if max(one.before, one.after) >= LOUD * min(one.before, one.after)]


def _of_coefficient(story: Story, driver: Driver, scale: float) -> list[Change]:
    known = np.flatnonzero(np.isfinite(driver.path))
    if not len(known):
        return []
    begun = int(known[0])  # columns and classes that join late are not there before
    marks = np.concatenate([[story.course.marks[begun - 1] if begun else 0], story.course.marks[begun:]])
    ends = np.concatenate([[0.0], story.course.ends])[marks]
    edges = _blocks(ends)
    sums = np.concatenate([[0.0], np.cumsum(np.nan_to_num(driver.path[begun:]))])
    means = np.diff(sums[edges]) / np.diff(edges)
    return _told(story, driver.name, driver.about, means, marks[edges], LARGE * scale, lambda level: level)


def _told(
    story: Story, what: str, about: str, levels: Vector, edges: NDArray[np.int64], least: float, shown: Callable[[float], float]
) -> list[Change]:
    course = story.course
    ends = np.concatenate([[0.0], course.ends])
    found = _cuts(levels)
    places = [0, *(place for place, _ in found), len(levels)]
    told = []
    for k, (place, strength) in enumerate(found, start=1):
        before, after = float(levels[places[k - 1] : place].mean()), float(levels[place : places[k + 1]].mean())
        edge = int(edges[place])
        if abs(after - before) < least or ends[edge] < SETTLING * ends[-1]:
            continue
        time = float(course.times[edge]) if story.clock else None
        told.append(Change(what, about, int(ends[edge]) + 1, time, float(shown(before)), float(shown(after)), strength))
    return told


def _blocks(ends: Vector) -> NDArray[np.int64]:
    """Edges of blocks of neighbouring stretches, as places in ``ends``, which begins with 0: few, and of enough rows."""
    stretches = len(ends) - 1
    rows = max(float(ends[-1] - ends[0]), 1.0)
    blocks = int(min(MOST_BLOCKS, stretches, max(1.0, rows // FEWEST_ROWS)))
    return np.unique(np.round(np.linspace(0, stretches, blocks + 1)).astype(np.int64))


def _scale(story: Story) -> float:
    """What a coefficient is large or small beside: the spread of the target, or 1 for log-odds."""
    if story.task != "regression":
        return 1.0
    return float(story.errors.get("running mean", 0.0))
