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
from swordplay.base.types import Matrix
from swordplay.engine.curved.series import power_of_e

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
def ask(group: Matrix, rows: Matrix, width: int, leaned: Matrix, notes: Matrix) -> None:
    """<theta, a> and a'P a of every lane; U'a is left in ``leaned`` for :func:`learn`.

    ``rows`` holds the row a that each lane is told, shape ``(w, LANES)`` like ``leaned``. The lanes are written out, and become
    vector instructions; in a loop over them sums would go through memory.
    """
    place = 2 * width + 2
    z0 = z1 = z2 = z3 = s0 = s1 = s2 = s3 = 0.0
    for j in range(width):
        r0, r1, r2, r3 = rows[j, 0], rows[j, 1], rows[j, 2], rows[j, 3]
        f0, f1, f2, f3 = r0, r1, r2, r3
        for i in range(j):
            f0 += group[place + i, 0] * rows[i, 0]
            f1 += group[place + i, 1] * rows[i, 1]
            f2 += group[place + i, 2] * rows[i, 2]
            f3 += group[place + i, 3] * rows[i, 3]
        place += j
        leaned[j, 0], leaned[j, 1], leaned[j, 2], leaned[j, 3] = f0, f1, f2, f3
        d = width + j
        z0, z1, z2, z3 = z0 + group[j, 0] * r0, z1 + group[j, 1] * r1, z2 + group[j, 2] * r2, z3 + group[j, 3] * r3
        s0, s1 = s0 + group[d, 0] * f0 * f0, s1 + group[d, 1] * f1 * f1
        s2, s3 = s2 + group[d, 2] * f2 * f2, s3 + group[d, 3] * f3 * f3
    notes[SCORE, 0], notes[SCORE, 1], notes[SCORE, 2], notes[SCORE, 3] = z0, z1, z2, z3
    notes[LEVERAGE, 0], notes[LEVERAGE, 1], notes[LEVERAGE, 2], notes[LEVERAGE, 3] = s0, s1, s2, s3


@lane_loop
def score(group: Matrix, rows: Matrix, width: int, notes: Matrix) -> None:
    """<theta, a> alone, in the same order of additions."""
    z0 = z1 = z2 = z3 = 0.0
    for j in range(width):
        z0, z1 = z0 + group[j, 0] * rows[j, 0], z1 + group[j, 1] * rows[j, 1]
        z2, z3 = z2 + group[j, 2] * rows[j, 2], z3 + group[j, 3] * rows[j, 3]
    notes[SCORE, 0], notes[SCORE, 1], notes[SCORE, 2], notes[SCORE, 3] = z0, z1, z2, z3


@lane_loop
def miss_numbers(group: Matrix, width: int, target: float, weight: float, notes: Matrix) -> None:
    """Residuals of a squared loss, clipped at LOUDEST usual ones, which they then tell; curvature 1."""
    usual = 2 * width + 1
    for k in range(LANES):
        residual, most = target - notes[SCORE, k], LOUDEST * group[usual, k]
        notes[RESIDUAL, k] = min(max(residual, -most), most)
        group[usual, k] += (min(abs(residual), 2.0 * most) - group[usual, k]) / STEADY
        notes[CURVATURE, k] = min(weight, HEAVIEST / max(notes[LEVERAGE, k], 1e-300))


@lane_loop
def miss_labels(target: float, weight: float, offset: float, notes: Matrix) -> None:
    """Of a logistic loss of score and offset: (y - p)/h with h = p (1 - p), FLATTEST at the least."""
    for k in range(LANES):
        chance = 1.0 / (1.0 + power_of_e(-min(max(notes[SCORE, k] + offset, -30.0), 30.0)))
        bend = max(chance * (1.0 - chance), FLATTEST)
        notes[RESIDUAL, k] = (target - chance) / bend
        notes[CURVATURE, k] = min(weight * bend, HEAVIEST / max(notes[LEVERAGE, k], 1e-300))


@exact
def learn(group: Matrix, width: int, leaned: Matrix, gain: Matrix, notes: Matrix) -> None:
    """theta += P a r/(gamma/h + a'P a) and P <- (P - P a a'P/(gamma/h + a'P a))/gamma; ``gain`` is scratch like ``leaned``."""
    shrink(group, width, leaned, gain, notes)
    turn(group, width, leaned, gain, notes)


@lane_loop
def shrink(group: Matrix, width: int, leaned: Matrix, gain: Matrix, notes: Matrix) -> None:
    r"""Delta of the new P, and what its U follows from: all that takes divisions.

    With :math:`f = U'a`, :math:`v = \Delta f` and :math:`\alpha_j = \gamma/h + \sum_{i \le j} f_i v_i`, the new entries are
    :math:`\Delta_j \alpha_{j-1}/(\alpha_j \gamma)`. v is left in ``gain``, :math:`-f_j/\alpha_{j-1}` in ``leaned``, and the
    residual is divided by the last alpha.
    """
    c, most = 2 * width, 1.0 / RIDGE
    g0, g1, g2, g3 = group[c, 0], group[c, 1], group[c, 2], group[c, 3]
    o0, o1, o2, o3 = 1.0 / g0, 1.0 / g1, 1.0 / g2, 1.0 / g3
    b0, b1, b2, b3 = g0 / notes[CURVATURE, 0], g1 / notes[CURVATURE, 1], g2 / notes[CURVATURE, 2], g3 / notes[CURVATURE, 3]
    i0, i1, i2, i3 = 1.0 / b0, 1.0 / b1, 1.0 / b2, 1.0 / b3
    for j in range(width):
        d = width + j
        f0, f1, f2, f3 = leaned[j, 0], leaned[j, 1], leaned[j, 2], leaned[j, 3]
        d0, d1, d2, d3 = group[d, 0], group[d, 1], group[d, 2], group[d, 3]
        v0, v1, v2, v3 = d0 * f0, d1 * f1, d2 * f2, d3 * f3
        a0, a1, a2, a3 = b0 + f0 * v0, b1 + f1 * v1, b2 + f2 * v2, b3 + f3 * v3
        gain[j, 0], gain[j, 1], gain[j, 2], gain[j, 3] = v0, v1, v2, v3
        leaned[j, 0], leaned[j, 1], leaned[j, 2], leaned[j, 3] = -f0 * i0, -f1 * i1, -f2 * i2, -f3 * i3
        i0, i1, i2, i3 = 1.0 / a0, 1.0 / a1, 1.0 / a2, 1.0 / a3
        n0, n1, n2, n3 = d0 * (b0 * i0 * o0), d1 * (b1 * i1 * o1), d2 * (b2 * i2 * o2), d3 * (b3 * i3 * o3)
        group[d, 0], group[d, 1], group[d, 2], group[d, 3] = min(n0, most), min(n1, most), min(n2, most), min(n3, most)
        b0, b1, b2, b3 = a0, a1, a2, a3
    r = RESIDUAL
    notes[r, 0], notes[r, 1], notes[r, 2], notes[r, 3] = notes[r, 0] * i0, notes[r, 1] * i1, notes[r, 2] * i2, notes[r, 3] * i3


@lane_loop
def turn(group: Matrix, width: int, leaned: Matrix, gain: Matrix, notes: Matrix) -> None:
    """U of the new P, column by column, while ``gain`` becomes P a, which moves theta."""
    place = 2 * width + 2
    for j in range(width):
        l0, l1, l2, l3 = leaned[j, 0], leaned[j, 1], leaned[j, 2], leaned[j, 3]
        v0, v1, v2, v3 = gain[j, 0], gain[j, 1], gain[j, 2], gain[j, 3]
        for i in range(place, place + j):
            u0, u1, u2, u3 = group[i, 0], group[i, 1], group[i, 2], group[i, 3]
            q0, q1, q2, q3 = gain[i - place, 0], gain[i - place, 1], gain[i - place, 2], gain[i - place, 3]
            group[i, 0], group[i, 1], group[i, 2], group[i, 3] = u0 + l0 * q0, u1 + l1 * q1, u2 + l2 * q2, u3 + l3 * q3
            q0, q1, q2, q3 = q0 + v0 * u0, q1 + v1 * u1, q2 + v2 * u2, q3 + v3 * u3
            gain[i - place, 0], gain[i - place, 1], gain[i - place, 2], gain[i - place, 3] = q0, q1, q2, q3
        place += j
    r0, r1, r2, r3 = notes[RESIDUAL, 0], notes[RESIDUAL, 1], notes[RESIDUAL, 2], notes[RESIDUAL, 3]
    for j in range(width):
        group[j, 0], group[j, 1] = group[j, 0] + gain[j, 0] * r0, group[j, 1] + gain[j, 1] * r1
        group[j, 2], group[j, 3] = group[j, 2] + gain[j, 2] * r2, group[j, 3] + gain[j, 3] * r3


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
