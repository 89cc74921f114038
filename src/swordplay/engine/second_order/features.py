r"""Fixed scaling of columns, and fixed nonlinear features of the scaled columns.

A column has one scaling, fixed by its first values: matrices of the past would be wrong in a basis
that moves.

A feature is :math:`|z_a|`, or :math:`\sqrt 2 \cos(\omega_a z_a + \omega_b z_b + \varphi)` of one or
two columns (random Fourier features, Rahimi and Recht 2007, of few columns each). Features are
fixed, so the losses of the experts that use them stay convex. These experts learn by how much the
mixture of all others has to be corrected along the features, and start with little weight. While
they do not improve the mixture, they are evaluated only once in a while.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from swordplay.compile import inline_ordered
from swordplay.compile.simd4 import broadcast, store_row
from swordplay.core.types import Matrix, Vector
from swordplay.engine.second_order.approximations import put_cosines
from swordplay.engine.second_order.layout import (
    CENTER,
    COLUMN_ROWS,
    COUNT,
    FIRST,
    KNOWN,
    SHAPE,
    SPREAD,
    STRAIGHT,
    WARM_UP,
    Book,
)

FEWEST_AWAY = 3
"""Values away from the centre by which a spread is measured: of three, one may be an outlier."""
TO_SPREAD = 2.0
"""The spread in lower medians of eight distances.

Roughly, as it only tells how much the ridge weighs.
"""
SMALLEST_SPREAD = 1e-9
"""Spreads below this share of the centre are rounding."""
LEAST_SPREAD = 1e-80
"""Of any column: the largest values that there may be, 1e60, have squares in units of it that
are still numbers.
"""


@inline_ordered
def follow_column(columns: Matrix, j: int, value: float, intercept: bool) -> None:
    """Count a value of a column whose scaling is not fixed.

    Fix it once enough are known that differ.

    The first values are kept in order. Where they are not enough, since most are the same, a new
    one that differs takes the place of a usual one. Centre and spread are medians, so that an
    outlier does no harm.
    """
    if columns[SPREAD, j] > 0.0 or value != value or (columns[COUNT, j] == 0.0 and value == 0.0):
        # a column begins with its first value that is not 0: one that joins late has the past of
        # one of zeros
        return
    count = int(columns[COUNT, j])
    if count == WARM_UP:
        usual = columns[FIRST + WARM_UP // 2, j]
        if value == usual:
            return
        count -= 1  # the last of the usual ones makes room
        place = FIRST + WARM_UP // 2
        while place < COLUMN_ROWS - 1 and columns[place + 1, j] == usual:
            place += 1
        while place < COLUMN_ROWS - 1:
            columns[place, j] = columns[place + 1, j]
            place += 1
    place = FIRST + count
    while place > FIRST and columns[place - 1, j] > value:
        columns[place, j] = columns[place - 1, j]
        place -= 1
    columns[place, j] = value
    columns[COUNT, j] = count + 1.0
    if count + 1 == WARM_UP:
        fix_column(columns, j, intercept)


@inline_ordered
def fix_column(columns: Matrix, j: int, intercept: bool) -> None:
    """Centre and spread of a column from its first values.

    The lower median of the distances of those that are away.
    """
    center = columns[FIRST + WARM_UP // 2, j] if intercept else 0.0
    away = 0
    for i in range(FIRST, COLUMN_ROWS):
        away += 1 if columns[i, j] != center else 0
    if away < FEWEST_AWAY:
        return
    # The (away + 1) // 2 nearest of them, one after the other: eight values are few.
    spread = 0.0
    for _ in range((away + 1) // 2):
        nearest = math.inf
        for i in range(FIRST, COLUMN_ROWS):
            far = abs(columns[i, j] - center)
            if spread < far < nearest:
                nearest = far
        if nearest == math.inf:
            break
        spread = nearest
    if spread > SMALLEST_SPREAD * abs(center) and TO_SPREAD * spread >= LEAST_SPREAD:
        columns[CENTER, j] = center
        columns[SPREAD, j] = TO_SPREAD * spread


FARTHEST = 4.0
"""Scaled entries beyond this are cut: a curve says nothing of what lies so far out."""
EARLY = 500.0
"""Rounds in which all are asked."""
LEAD = 0.1
"""How far ahead of all without curves one with curves has to be for these to be asked in every
round afterwards, where targets
are numbers: it takes a five-hundredth of the squared error over the rounds that are remembered."""
ASLEEP = 7.0
"""How far behind all with curves have to be to be asked seldom where targets are labels: their
weight is below a thousandth.
"""
SELDOM = 8.0
"""Rounds from one time to the next else."""
PACE, PACE_OF_LABELS = 4, 2
"""Rounds from one in which those who correct learn to the next, once the early ones are over and
curves are asked in every
round. Labels tell less than numbers, so fewer of them are left out."""
QUICK, QUICKER = 1.5, 3.0
"""How fast waves run along a column, in spreads; every other one is a quicker one."""
SEED = 20
ROOT2 = math.sqrt(2.0)
"""Times a cosine: a wave has a mean square of 1."""


@inline_ordered
def near(rows: Matrix, place: float, first: int) -> float:
    """A scaled column of a row, cut."""
    return float(min(max(rows[first + int(place), 0], -FARTHEST), FARTHEST))


@inline_ordered
def put_bends(rows: Matrix, first: int, shapes: Matrix, angles: Vector, bent: Matrix) -> None:
    """Write one, and every curve at a row whose scaled columns begin at a place of ``rows``.

    ``angles`` is scratch.
    """
    count, kinks = len(shapes), 0
    store_row(bent, 0, broadcast(1.0))
    while kinks < count and shapes[kinks, 2] == 0.0:
        store_row(bent, 1 + kinks, broadcast(abs(near(rows, shapes[kinks, 0], first))))
        kinks += 1
    for k in range(kinks, count):
        one, other = near(rows, shapes[k, 0], first), near(rows, shapes[k, 1], first)
        angles[k] = shapes[k, 2] * one + shapes[k, 3] * other + shapes[k, 4]
    waves = angles[count : 2 * count]
    put_cosines(angles[kinks:count], waves[kinks:])
    for k in range(kinks, count):
        store_row(
            bent,
            1 + k,
            broadcast(
                ROOT2 * waves[k] if shapes[k, 2] != 0.0 else abs(near(rows, shapes[k, 0], first))
            ),
        )


@inline_ordered
def count_asked(book: Book, logistic: bool) -> int:
    """How many forecasts of the top are asked in this round: all, or those without curves where
    these are asleep.
    """
    everybody, active = len(book.top_behind), book.known[KNOWN.active]
    if everybody == STRAIGHT or active < EARLY or active % SELDOM == 0.0:
        return everybody
    # In plain loops, as Python asks it, too.
    straight, bending = book.top_behind[0], book.top_behind[STRAIGHT]
    for k in range(everybody):
        if k < STRAIGHT:
            straight = min(straight, book.top_behind[k])
        else:
            bending = min(bending, book.top_behind[k])
    return everybody if bending < straight + (ASLEEP if logistic else -LEAD) else STRAIGHT


@inline_ordered
def rests(book: Book, count: int) -> bool:
    """Whether nobody who corrects learns in this round, in which so many of the top are asked.

    So it is between two rounds of a pace, once the early ones are over, where curves are asked in
    every round.
    """
    active = book.known[KNOWN.active]
    return count > STRAIGHT and active >= EARLY and active % book.known[KNOWN.pace] != 0.0


@functools.cache  # a table of many keys makes a model for each of them
def drawn(dim: int, count: int) -> Any:
    """Shapes of curves of so many columns: half of them, or one a column, are kinks, the others
    waves of two columns.
    """
    rng = np.random.default_rng((SEED, dim, count))
    shapes = np.zeros((count, SHAPE))
    kinks = min(dim, count // 2)
    shapes[:kinks, 0] = rng.permutation(dim)[:kinks]
    for k in range(kinks, count):
        some = rng.permutation(dim)[:2]
        speed = (QUICK, QUICKER)[k % 2] / math.sqrt(len(some))
        shapes[k, : len(some)], shapes[k, 2 : 2 + len(some)] = (
            some,
            speed * rng.normal(size=len(some)),
        )
        shapes[k, 4] = rng.uniform(0.0, 2.0 * math.pi)
    shapes.flags.writeable = False
    return shapes
