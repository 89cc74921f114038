r"""Recursive least squares with forgetting, four experts side by side.

An expert with discount :math:`\gamma` keeps coefficients :math:`\theta` and :math:`P = A^{-1}` of the discounted past
:math:`A_t = \gamma A_{t-1} + h_t a_t a_t^\top`. P is kept as :math:`U \Delta U^\top`, U triangular with ones on its diagonal
and :math:`\Delta` diagonal (Bierman 1977): it stays positive whatever is rounded, and to forget is to divide :math:`\Delta`. No
entry of :math:`\Delta` passes 1/RIDGE, so that a column that stands still, or equals another, is forgotten up to what was known
of it in the beginning, and not beyond: nothing winds up.

A group of LANES experts has one width w. It lies in rows of LANES numbers, from a row ``at`` on: w of
:math:`\theta`, w of :math:`\Delta`, one of discounts, one of usual residuals, and w (w - 1)/2 of U, column by column.
"""

from __future__ import annotations

import math
from typing import Any

from swordplay.base.compiling import exact, lane_loop
from swordplay.base.types import Matrix, Vector

LANES = 4
"""Experts side by side: as many doubles as a vector register of today holds."""
RIDGE = 1.0
"""What is known of every coefficient in the beginning, in rows: that it is 0."""
LOUDEST = 10.0
"""Residuals beyond this many usual ones pull no harder."""
STEADY = 128.0
"""Rows over which the usual residual is a mean; it begins with one spread of the target."""
HEAVIEST = 1.0
"""Leverage h a'P a of a row at the most: one that lies far from all others teaches no more than that."""
FLATTEST = 1e-3
"""Curvature p (1 - p) of a logistic loss at the least: a class that seems certain could never be unlearned."""
SCORE, LEVERAGE, RESIDUAL, CURVATURE = 0, 1, 2, 3
"""Rows of what is worked out in a round, LANES numbers each."""


def rows_of(width: int) -> int:
    """Rows of numbers that a group of this width takes."""
    return 2 * width + 2 + width * (width - 1) // 2


group_rows = exact(rows_of)
"""The same, for kernels."""


@lane_loop
def ask(group: Matrix, bare: Vector, row: Vector, width: int, leaned: Matrix, notes: Matrix) -> None:
    """<theta, a> and a'P a of every lane; U'a is left in ``leaned``, shape ``(w, LANES)``, for :func:`learn`.

    The first two lanes are told ``bare``, the others ``row``. The lanes are written out: in a loop over them sums would go
    through memory, at three times the cost.
    """
    place = 2 * width + 2
    z0 = z1 = z2 = z3 = s0 = s1 = s2 = s3 = 0.0
    for j in range(width):
        f0 = f1 = bare[j]
        f2 = f3 = row[j]
        for i in range(j):
            f0 += group[place + i, 0] * bare[i]
            f1 += group[place + i, 1] * bare[i]
            f2 += group[place + i, 2] * row[i]
            f3 += group[place + i, 3] * row[i]
        place += j
        leaned[j, 0], leaned[j, 1], leaned[j, 2], leaned[j, 3] = f0, f1, f2, f3
        d = width + j
        z0, z1 = z0 + group[j, 0] * bare[j], z1 + group[j, 1] * bare[j]
        z2, z3 = z2 + group[j, 2] * row[j], z3 + group[j, 3] * row[j]
        s0, s1 = s0 + group[d, 0] * f0 * f0, s1 + group[d, 1] * f1 * f1
        s2, s3 = s2 + group[d, 2] * f2 * f2, s3 + group[d, 3] * f3 * f3
    notes[SCORE, 0], notes[SCORE, 1], notes[SCORE, 2], notes[SCORE, 3] = z0, z1, z2, z3
    notes[LEVERAGE, 0], notes[LEVERAGE, 1], notes[LEVERAGE, 2], notes[LEVERAGE, 3] = s0, s1, s2, s3


@lane_loop
def score(group: Matrix, bare: Vector, row: Vector, width: int, notes: Matrix) -> None:
    """<theta, a> alone, in the same order of additions."""
    z0 = z1 = z2 = z3 = 0.0
    for j in range(width):
        z0, z1 = z0 + group[j, 0] * bare[j], z1 + group[j, 1] * bare[j]
        z2, z3 = z2 + group[j, 2] * row[j], z3 + group[j, 3] * row[j]
    notes[SCORE, 0], notes[SCORE, 1], notes[SCORE, 2], notes[SCORE, 3] = z0, z1, z2, z3


@exact
def miss_numbers(group: Matrix, width: int, target: float, weight: float, notes: Matrix) -> None:
    """Residuals of a squared loss, clipped at LOUDEST usual ones, which they then tell; curvature 1."""
    usual = 2 * width + 1
    for k in range(LANES):
        residual, most = target - notes[SCORE, k], LOUDEST * group[usual, k]
        notes[RESIDUAL, k] = min(max(residual, -most), most)
        group[usual, k] += (min(abs(residual), 2.0 * most) - group[usual, k]) / STEADY
        notes[CURVATURE, k] = min(weight, HEAVIEST / max(notes[LEVERAGE, k], 1e-300))


@exact
def miss_labels(target: float, weight: float, offset: float, notes: Matrix) -> None:
    """Of a logistic loss of score and offset: (y - p)/h with h = p (1 - p), FLATTEST at the least."""
    for k in range(LANES):
        chance = 1.0 / (1.0 + math.exp(-min(max(notes[SCORE, k] + offset, -30.0), 30.0)))
        bend = max(chance * (1.0 - chance), FLATTEST)
        notes[RESIDUAL, k] = (target - chance) / bend
        notes[CURVATURE, k] = min(weight * bend, HEAVIEST / max(notes[LEVERAGE, k], 1e-300))


@lane_loop
def learn(group: Matrix, width: int, leaned: Matrix, gain: Matrix, notes: Matrix) -> None:
    """theta += P a r/(gamma/h + a'P a) and P <- (P - P a a'P/(gamma/h + a'P a))/gamma; ``gain`` is scratch like ``leaned``."""
    place = 2 * width + 2
    for k in range(LANES):
        # gamma/h, and what is added to it column by column; its inverse; and that of the discount.
        notes[LEVERAGE, k] = group[2 * width, k] / notes[CURVATURE, k]
        notes[CURVATURE, k] = 1.0 / notes[LEVERAGE, k]
        notes[SCORE, k] = 1.0 / group[2 * width, k]
    for j in range(width):
        for k in range(LANES):
            before, inverse = notes[LEVERAGE, k], notes[CURVATURE, k]
            along = group[width + j, k] * leaned[j, k]
            notes[LEVERAGE, k] = before + leaned[j, k] * along
            notes[CURVATURE, k] = 1.0 / notes[LEVERAGE, k]
            less = before * notes[CURVATURE, k] * notes[SCORE, k]
            group[width + j, k] = min(group[width + j, k] * less, 1.0 / RIDGE)
            gain[j, k] = along
            leaned[j, k] = -leaned[j, k] * inverse
        l0, l1, l2, l3 = leaned[j, 0], leaned[j, 1], leaned[j, 2], leaned[j, 3]
        v0, v1, v2, v3 = gain[j, 0], gain[j, 1], gain[j, 2], gain[j, 3]
        for i in range(j):
            u0, u1, u2, u3 = group[place + i, 0], group[place + i, 1], group[place + i, 2], group[place + i, 3]
            q0, q1, q2, q3 = gain[i, 0], gain[i, 1], gain[i, 2], gain[i, 3]
            group[place + i, 0], group[place + i, 1] = u0 + l0 * q0, u1 + l1 * q1
            group[place + i, 2], group[place + i, 3] = u2 + l2 * q2, u3 + l3 * q3
            gain[i, 0], gain[i, 1], gain[i, 2], gain[i, 3] = q0 + v0 * u0, q1 + v1 * u1, q2 + v2 * u2, q3 + v3 * u3
        place += j
    for k in range(LANES):
        notes[RESIDUAL, k] *= notes[CURVATURE, k]
    for j in range(width):
        for k in range(LANES):
            group[j, k] += gain[j, k] * notes[RESIDUAL, k]


def fresh(group: Any, discounts: Any) -> None:
    """Write what a group knows in the beginning: nothing, but its discounts."""
    width = width_of(len(group))
    group[:] = 0.0
    group[width : 2 * width] = 1.0 / RIDGE
    group[2 * width] = discounts
    group[2 * width + 1] = 1.0


def width_of(rows: int) -> int:
    """The width of a group of so many rows."""
    return (math.isqrt(8 * rows - 7) - 3) // 2
