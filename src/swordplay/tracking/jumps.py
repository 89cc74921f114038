r"""Where a series of means changes its level: jumps, and slow changes that are none.

A series of B means is cut into pieces of constant level by optimal partitioning, with a price for
each cut:

.. math:: \min_{\tau_1 < \dots < \tau_m} \sum_{j=0}^{m} \sum_{t \in (\tau_j, \tau_{j+1}]} (x_t -
    \bar x_j)^2
    + m \cdot c \, \sigma^2 \log B

The variance :math:`\sigma^2` is that of the mean of many neighbours: neighbours that resemble one
another, as coefficients of a learner do, count as fewer. It is told from medians of differences,
which a few jumps cannot move. With c = 3 and independent normal noise, fewer than one series of a
hundred without a jump is cut anywhere (``test_jumps.py``).

A cut says that levels of long pieces differ, not that anything happened there: slopes and seasons
are cut, too. So :func:`jumps` looks at the neighbourhood of each cut, and :func:`slope` at the
whole of a series that was cut and did not jump.

References
----------
Jackson et al. (2005), "An algorithm for optimal partitioning of data on an interval"; Killick,
Fearnhead and Eckley (2012).
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swordplay.core.types import Vector

PRICE = 3.0
"""c, of a cut."""
FEWEST_BLOCKS = 12
"""With fewer there is nothing to find."""
SHORTEST = 3
"""Blocks between two cuts."""
LAGS = (1, 2, 4, 8)
"""Distances of blocks whose differences tell the variance."""
NORMAL = 0.4549
"""Median of a squared normal variable of variance 1."""
NEIGHBOURHOOD = 16
"""Levels beside a cut are those of a sixteenth of the run on each side, and of three blocks at
least: long enough that a
passing bump is no new level, short enough to be near the date. Of eight years it is half a year:
seasons show as swings."""
SWINGS = 4.0
"""A jump is so many times as large as the median difference of neighbouring levels elsewhere.

Of a wave or a slope none is: the largest difference of a wave is 1.4 times its median one, if it
goes up and down at once 2 times."""
REACH = 3
"""So many neighbourhoods before a jump the level had not been beyond the middle of the jump, and so
many after it does not come
back: of eight years a year and a half, in which every season has come and gone."""
MOSTLY = 2.0 / 3.0
"""A jump is at least this share of the change over its wider surroundings, and at least this share
of it is a step beside a
slope through them: the rest of a slow change happens before and after any date."""
CLEAR = 4.0
"""The step is so many of its standard errors: a cut stands where noise looks most like a step,
so two would be chance.
"""
PARTS = 5
"""A slow change goes through so many equal parts of the run in one direction,"""
BACK = 0.2
"""but for steps back of this share of all of it,"""
THERE = 0.9
"""and has arrived in the first part whose level has done this share of the way."""


class Jump(NamedTuple):
    """A place where the level is another than just before."""

    place: int
    """The first block of the new level."""
    before: slice
    after: slice
    """The blocks on both sides; without the two beside the cut, in one of which the jump may be."""
    strength: float
    """The gain of the cut in units of its price."""


class Slope(NamedTuple):
    """A slow change of level."""

    before: slice
    after: slice
    """The blocks of the part it starts from, and of the one where it has arrived."""
    strength: float
    """The gain of the clearest cut in units of its price."""


def jumps(values: Vector, least: float, floor: float = 0.0) -> list[Jump]:
    """The cuts where the level jumps, ascending.

    The medians of the neighbourhoods on both sides differ by ``least`` or more, and by more than
    neighbouring levels do elsewhere in the series; no level in the wider surroundings lies on the
    other side; and most of the change is a step.

    Parameters
    ----------
    values
        Shape ``(B,)``, finite.
    least
        Smaller jumps are not worth a word.
    floor
        The variance of the noise is at least this.
    """
    width = _width(values)
    return [
        Jump(place, slice(max(place - width, 0), place - 1), slice(place + 1, place + width), gain)
        for place, gain in _cuts(values, floor)
        if _is_jump(values, place, least)
    ]


def slope(values: Vector, least: float, floor: float = 0.0) -> Slope | None:
    """The slow change of a series that is cut somewhere: its level goes one way, and the middle
    halves of both ends lie apart.

    Parameters
    ----------
    values, least, floor
        As for :func:`jumps`.
    """
    found = _cuts(values, floor)
    if not found:
        return None
    edges = np.round(np.linspace(0, len(values), PARTS + 1)).astype(np.int64).tolist()
    parts = [slice(first, stop) for first, stop in itertools.pairwise(edges)]
    levels = np.array([np.median(values[part]) for part in parts])
    way = levels[-1] - levels[0]
    done = (levels - levels[0]) * np.sign(way) / (abs(way) or 1.0)
    last = int(np.argmax(done >= THERE))
    if abs(levels[last] - levels[0]) < least or (np.diff(done) < -BACK).any():
        return None
    low, high = (
        values[part] for part in ((parts[0], parts[last]) if way > 0.0 else (parts[last], parts[0]))
    )
    if np.quantile(low, 0.75) >= np.quantile(high, 0.25):
        return None
    return Slope(parts[0], parts[last], max(gain for _, gain in found))


def _width(values: Vector) -> int:
    return max(SHORTEST, len(values) // NEIGHBOURHOOD)


def _is_jump(values: Vector, place: int, least: float) -> bool:
    width = _width(values)
    change = _difference(values, place, width)
    elsewhere = [
        abs(_difference(values, k, width))
        for k in range(width, len(values) - width + 1)
        if abs(k - place) >= 2 * width
    ]
    if abs(change) < least or abs(change) < SWINGS * float(np.median(elsewhere or [0.0])):
        return False
    before, after = (
        values[max(place - REACH * width, 0) : place],
        values[place : place + REACH * width],
    )
    earlier, later = _levels(before, width), _levels(after, width)
    step, error = _step(before, after)
    if abs(change) < MOSTLY * abs(later[-1] - earlier[0]) or step * np.sign(change) < max(
        MOSTLY * abs(change), CLEAR * error
    ):
        return False
    middle = 0.5 * (earlier[-1] + later[0])
    return bool(
        ((earlier - middle) * change < 0.0).all() and ((later - middle) * change > 0.0).all()
    )


def _levels(values: Vector, width: int) -> Vector:
    """Medians of all windows of a width; one of all, if there is not so much."""
    windows = np.lib.stride_tricks.sliding_window_view(values, min(width, len(values)))
    return np.asarray(np.median(windows, axis=1))


def _difference(values: Vector, place: int, width: int) -> float:
    return float(
        np.median(values[place : place + width]) - np.median(values[max(place - width, 0) : place])
    )


def _step(before: Vector, after: Vector) -> tuple[float, float]:
    """The step between two neighbourhoods that is left when both may rise or fall along one
    slope, and its standard error.
    """
    values = np.concatenate([before, after])
    line = np.column_stack([np.ones(len(values)), np.arange(len(values))])
    stairs = (np.arange(len(values)) >= len(before)).astype(np.float64)
    bend, rest = (
        one - line @ np.linalg.lstsq(line, one, rcond=None)[0] for one in (stairs, values)
    )
    step = float(bend @ rest / (bend @ bend))
    left = rest - step * bend
    return step, float(np.sqrt(left @ left / (len(values) - 3) / (bend @ bend)))


def cuts(values: Vector) -> list[int]:
    """Where a series jumps: the first places of new levels, ascending.

    Parameters
    ----------
    values
        Shape ``(B,)``, finite.
    """
    return [place for place, _ in _cuts(values)]


def _cuts(values: Vector, floor: float = 0.0) -> list[tuple[int, float]]:
    """Cuts, and the gain of each in units of its price."""
    count = len(values)
    variance = max(long_run_variance(values), floor)
    if count < FEWEST_BLOCKS or not variance > 0.0:
        return []
    price = PRICE * variance * np.log(count)
    sums, squares = (
        np.concatenate([[0.0], np.cumsum(part)])
        for part in (values - values.mean(), (values - values.mean()) ** 2)
    )

    def cost(first: NDArray[np.int64] | int, stop: int) -> Vector:
        return np.asarray(
            squares[stop] - squares[first] - (sums[stop] - sums[first]) ** 2 / (stop - first)
        )

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
    r"""Variance of noise, times how many neighbours say the same: :math:`\sigma^2 (1 + \rho) / (1 -
    \rho)`.

    From medians of squared differences at several distances: far ones know the variance, near ones
    the resemblance ρ.
    """
    spans = [lag for lag in LAGS if 2 * lag < len(values)]
    if not spans:
        return 0.0
    by_lag = [
        float(np.median((values[lag:] - values[:-lag]) ** 2)) / (2.0 * NORMAL) for lag in spans
    ]
    variance = max(by_lag)
    if not variance > 0.0:
        return 0.0
    alike = min(max(1.0 - by_lag[0] / variance, 0.0), 0.98)
    return variance * (1.0 + alike) / (1.0 - alike)
