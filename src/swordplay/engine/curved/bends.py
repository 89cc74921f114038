r"""Curves of the scaled columns: fixed once and for all, so that whoever learns from them goes on with a convex loss.

A curve is :math:`|z_a|`, or :math:`\sqrt 2 \cos(\omega_a z_a + \omega_b z_b + \varphi)` of one or two columns (random Fourier
features, Rahimi and Recht 2007, of few columns each). Experts learn by how much the mixture of all others has to be corrected
along them, and have to earn their weight. Where they are far behind, they are asked once in a while only.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from swordplay.base.compiling import exact
from swordplay.base.types import Matrix, Vector
from swordplay.engine.curved.layout import CENTER, KNOWN, SHAPE, SPREAD, STRAIGHT, Book
from swordplay.engine.curved.newton import LANES

FARTHEST = 4.0
"""Scaled entries beyond this are cut: a curve says nothing of what lies so far out."""
ASLEEP = 7.0
"""How far behind the best all that bend have to be to be asked seldom: their weight is below a thousandth then."""
SELDOM = 8.0
"""Rounds from one time to the next then."""
QUICK, QUICKER = 1.5, 3.0
"""How fast waves run along a column, in spreads; every other one is a quicker one."""
SEED = 20


@exact
def place(columns: Matrix, raw: Vector, j: int) -> float:
    """A scaled entry, cut; 0 where it is missing or its scaling is not fixed."""
    if columns[SPREAD, j] > 0.0 and raw[j] == raw[j]:
        return float(min(max((raw[j] - columns[CENTER, j]) / columns[SPREAD, j], -FARTHEST), FARTHEST))
    return 0.0


@exact
def put_bends(columns: Matrix, shapes: Matrix, raw: Vector, bent: Vector) -> None:
    """Write one, and every curve at a row."""
    bent[0] = 1.0
    for k in range(len(shapes)):
        one = place(columns, raw, int(shapes[k, 0]))
        if shapes[k, 2] == 0.0:
            bent[1 + k] = abs(one)
        else:
            other = place(columns, raw, int(shapes[k, 1]))
            bent[1 + k] = math.sqrt(2.0) * math.cos(shapes[k, 2] * one + shapes[k, 3] * other + shapes[k, 4])


@exact
def count_asked(book: Book) -> int:
    """How many forecasts of the top are asked in this round: all, or those without curves where these are asleep."""
    if len(book.top_behind) == STRAIGHT or book.known[KNOWN.active] % SELDOM == 0.0:
        return len(book.top_behind)
    for k in range(LANES):
        if book.top_behind[STRAIGHT + k] < ASLEEP:
            return len(book.top_behind)
    return STRAIGHT


def drawn(dim: int, count: int) -> Any:
    """Shapes of curves of so many columns: half of them, or one a column, are kinks, the others waves of two columns."""
    rng = np.random.default_rng((SEED, dim, count))
    shapes = np.zeros((count, SHAPE))
    kinks = min(dim, count // 2)
    shapes[:kinks, 0] = rng.permutation(dim)[:kinks]
    for k in range(kinks, count):
        some = rng.permutation(dim)[:2]
        speed = (QUICK, QUICKER)[k % 2] / math.sqrt(len(some))
        shapes[k, : len(some)], shapes[k, 2 : 2 + len(some)] = some, speed * rng.normal(size=len(some))
        shapes[k, 4] = rng.uniform(0.0, 2.0 * math.pi)
    return shapes
