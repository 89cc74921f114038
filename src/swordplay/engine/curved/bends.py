r"""Curves of the scaled columns: fixed once and for all, so that whoever learns from them goes on
with a convex loss.

A curve is :math:`|z_a|`, or :math:`\sqrt 2 \cos(\omega_a z_a + \omega_b z_b + \varphi)` of one or
two columns (random Fourier features, Rahimi and Recht 2007, of few columns each). Experts learn by
how much the mixture of all others has to be corrected along them, and have to earn their weight.
Where they do not pay, they are asked once in a while only.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from swordplay.compile import inline_exact
from swordplay.compile.simd4 import broadcast, store_row
from swordplay.core.types import Matrix, Vector
from swordplay.engine.curved.layout import KNOWN, SHAPE, STRAIGHT, Book
from swordplay.engine.curved.series import put_cosines

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


@inline_exact
def near(rows: Matrix, place: float, first: int) -> float:
    """A scaled column of a row, cut."""
    return float(min(max(rows[first + int(place), 0], -FARTHEST), FARTHEST))


@inline_exact
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


@inline_exact
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


@inline_exact
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
