"""Places of the numbers of a second-order layer in its arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

from swordplay.compile import inline
from swordplay.core.types import Matrix, Vector
from swordplay.engine.second_order.newton import LANES


class _Setting(NamedTuple):
    logistic: int = 0
    intercept: int = 1
    dim: int = 2
    """Columns of a row."""
    lags: int = 3
    """Last targets that experts are told of."""
    compete: int = 4
    """1 where two experts without lags, two with lags and 'no change' compete, else 0: all have
    the lags.
    """
    recent: int = 5
    """Numbers that are kept of the last rows: the lags, one at the least.

    And the last error where lags compete.
    """
    width: int = 6
    """Of the experts."""
    corrections: int = 7
    """Width of those that correct the mixture."""
    bends: int = 8
    """Curves of the columns, by which others correct it; 0 for none."""


SETTING = _Setting()
"""Places in the array ``setting``."""


class _Known(NamedTuple):
    rounds: int = 0
    """Rows learned."""
    active: int = 1
    """Rows learned by the experts: the target's scaling is fixed first."""
    stay: int = 2
    """Share of labels that stayed what they were."""
    gain: int = 3
    """Loss of the mixture less that of the first-order forecasts, summed.

    In losses of smoothness 1.
    """
    pace: int = 4
    """Rounds from one in which those with curves learn to the next, once the early ones are
    over.
    """


KNOWN = _Known()
"""Places in ``Book.known``."""
KNOWN_COUNT = len(KNOWN)
COUNT, CENTER, SPREAD, FIRST = range(4)
"""Rows of ``Book.columns``: values counted, centre and spread (0 until it is fixed), and from
FIRST on the first values.
"""
WARM_UP = 8
"""Values of a column before its scaling is fixed."""
COLUMN_ROWS = FIRST + WARM_UP
STRAIGHT = 1 + LANES
"""Forecasts of the top without curves: the plain mixture and the corrected ones.

Those with curves stand behind them.
"""
NOTES = 4
SHAPE = 5
"""Numbers of a curve: two columns, how fast it runs along them, and where it begins (see
``features``).
"""


class Book(NamedTuple):
    """What a layer knows, beside its experts; all are parts of one array."""

    known: Any
    ends: Any
    """The usual range of the scaled target, shape ``(2,)``."""
    recent: Any
    """The last targets, scaled, the newest first.

    And where lags compete, the last error without them.
    """
    columns: Any
    """Shape ``(COLUMN_ROWS, d + 1)``, the target last."""
    behind: Any
    """How far behind the best each of N forecasts is (see ``mixing``)."""
    sums: Any
    """Their discounted losses, and behind them the discounted rounds, ``(N + 1,)``."""
    top_behind: Any
    top_sums: Any
    shapes: Any
    """Of the curves, shape ``(m, SHAPE)``."""


class Desk(NamedTuple):
    """Scratch: vectors, and matrices of LANES columns."""

    said: Any
    weights: Any
    top: Any
    top_weights: Any
    angles: Any
    """Of the curves that are waves, and behind them their cosines."""
    rows: Any
    """What each expert is told: one, lags, scaled columns; shape ``(w, LANES)``."""
    leaned: Any
    """See ``newton.ask``."""
    notes: Any
    """Shape ``(NOTES, LANES)``."""
    sides: Any
    """The same three for those that correct the mixture,"""
    side_leaned: Any
    side_notes: Any
    bent: Any
    """and for those that correct it along curves: one, and every curve."""
    bent_leaned: Any
    bent_notes: Any
    gain: Any


def forecasts(compete: float) -> int:
    """N: first order, LANES of second order, and no change where lags compete."""
    return 2 + LANES if compete == 1.0 else 1 + LANES


count_forecasts = inline(forecasts)
"""The same, for kernels."""


def tops(bends: float) -> int:
    """Forecasts of the top."""
    return STRAIGHT + LANES if bends > 0.0 else STRAIGHT


count_tops = inline(tops)
"""The same, for kernels."""


def parts_of(numbers: Vector, setting: Vector, N: int) -> Book:
    """The parts of the one array, for N forecasts."""
    dim, recent, bends = (
        int(setting[SETTING.dim]),
        int(setting[SETTING.recent]),
        int(setting[SETTING.bends]),
    )
    top = STRAIGHT + LANES if bends > 0 else STRAIGHT
    a = KNOWN_COUNT
    b = a + 2
    c = b + recent
    d = c + COLUMN_ROWS * (dim + 1)
    e = d + N
    f = e + N + 1
    g = f + top
    h = g + top + 1
    i = h + SHAPE * bends
    columns, shapes = (
        numbers[c:d].reshape((COLUMN_ROWS, dim + 1)),
        numbers[h:i].reshape((bends, SHAPE)),
    )
    return Book(
        numbers[:a],
        numbers[a:b],
        numbers[b:c],
        columns,
        numbers[d:e],
        numbers[e:f],
        numbers[f:g],
        numbers[g:h],
        shapes,
    )


book_of = inline(parts_of)
"""The same, for kernels."""


def book_size(dim: int, recent: int, compete: bool, bends: int) -> int:
    """Length of the one array."""
    N = forecasts(float(compete))
    return (
        KNOWN_COUNT
        + 2
        + recent
        + COLUMN_ROWS * (dim + 1)
        + 2 * N
        + 1
        + 2 * tops(bends)
        + 1
        + SHAPE * bends
    )


@inline
def desk_of(scratch: Matrix, slate: Vector, setting: Vector) -> Desk:
    """The parts of the two scratch arrays."""
    width, corrections, bent = (
        int(setting[SETTING.width]),
        int(setting[SETTING.corrections]),
        1 + int(setting[SETTING.bends]),
    )
    N, top = count_forecasts(setting[SETTING.compete]), count_tops(setting[SETTING.bends])
    a, b = N, 2 * N
    c, d = b + top, b + 2 * top
    one, two = 2 * width + NOTES, 2 * corrections + NOTES
    three = one + two + 2 * bent + NOTES
    ours, sides, curves = scratch[:one], scratch[one : one + two], scratch[one + two : three]
    return Desk(
        slate[:a],
        slate[a:b],
        slate[b:c],
        slate[c:d],
        slate[d : d + 2 * bent],
        ours[:width],
        ours[width : 2 * width],
        ours[2 * width :],
        sides[:corrections],
        sides[corrections : 2 * corrections],
        sides[2 * corrections :],
        curves[:bent],
        curves[bent : 2 * bent],
        curves[2 * bent :],
        scratch[three:],
    )


def desk_size(
    width: int, corrections: int, compete: bool, bends: int
) -> tuple[tuple[int, int], int]:
    """Shape and length of the two scratch arrays."""
    bent = 1 + bends
    shape = 2 * (width + corrections + bent) + 3 * NOTES + max(width, corrections, bent), LANES
    return shape, 2 * forecasts(float(compete)) + 2 * tops(bends) + 2 * bent
