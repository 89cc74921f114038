r"""Recursive least squares with forgetting, four experts side by side.

An expert with discount :math:`\gamma` keeps coefficients :math:`\theta` and :math:`P = A^{-1}` of
the discounted past :math:`A_t = \gamma A_{t-1} + h_t a_t a_t^\top`. P is kept as :math:`U \Delta
U^\top`, U triangular with ones on its diagonal and :math:`\Delta` diagonal (Bierman 1977): it stays
positive whatever is rounded, and to forget is to divide :math:`\Delta`. No entry of :math:`\Delta`
passes 1/RIDGE, so that a column that stands still, or equals another, is forgotten up to what was
known of it in the beginning, and not beyond: nothing winds up.

A group of LANES experts has one width w. It lies in rows of LANES numbers, from a row ``at`` on: w
of :math:`\theta`, w of :math:`\Delta`, one of discounts, one of usual residuals, and w (w - 1)/2 of
U, column by column.
"""

from __future__ import annotations

import math
from typing import Any

from swordplay.compile import inline_ordered, unrolled_loop
from swordplay.compile.simd4 import broadcast, load_row, select, smaller, store_row
from swordplay.core.types import Matrix
from swordplay.engine.second_order.approximations import power_of_e, within

LANES = 4
"""Experts side by side: as many doubles as a vector register of today holds."""
RIDGE = 1.0
"""What is known of every coefficient in the beginning, in rows: that it is 0."""
LOUDEST = 10.0
"""Residuals beyond this many usual ones pull no harder."""
STEADY = 128.0
"""Rows over which the usual residual is a mean; it begins with one spread of the target."""
HEAVIEST = 1.0
"""Leverage h a'P a of a row at the most: one that lies far from all others teaches no more than
that.
"""
FLATTEST = 1e-3
"""Curvature p (1 - p) of a logistic loss at the least: a class that seems certain could never be
unlearned.
"""
SUREST = 30.0
"""Log-odds beyond this are no surer: their chances are 1e-13, and 1 less that."""
SCORE, LEVERAGE, RESIDUAL, CURVATURE = 0, 1, 2, 3
"""Rows of what is worked out in a round, LANES numbers each."""


def rows_of(width: int) -> int:
    """Rows of numbers that a group of this width takes."""
    return 2 * width + 2 + width * (width - 1) // 2


group_rows = inline_ordered(rows_of)
"""The same, for kernels."""


@inline_ordered
def column(width: int, j: int) -> int:
    """Where column j of U begins in a group."""
    return 2 * width + 2 + j * (j - 1) // 2


@inline_ordered
def along(group: Matrix, place: int, f: Any, v: Any, q: Any) -> Any:
    """One entry of U on the way along its row: it takes its part of the sum, and adds to it what
    it was.
    """
    u = load_row(group, place)
    store_row(group, place, u - f * q)
    return q + v * u


@unrolled_loop
def ask(group: Matrix, rows: Matrix, width: int, leaned: Matrix, notes: Matrix) -> None:
    """<theta, a> and a'P a of every lane; U'a is left in ``leaned`` for :func:`learn`.

    ``rows`` holds the row a that each lane is told, shape ``(w, LANES)`` like ``leaned``. The short
    columns of U that are left over come first, then four columns at a time: their sums do not wait
    for each other.
    """
    z = s = broadcast(0.0)
    first = width % 4
    for j in range(first):
        b, r = column(width, j), load_row(rows, j)
        f = r
        for i in range(j):
            f = f + load_row(group, b + i) * load_row(rows, i)
        store_row(leaned, j, f)
        z, s = z + load_row(group, j) * r, s + load_row(group, width + j) * f * f
    for j in range(first, width, 4):
        b = column(width, j)
        c = b + j
        d = c + j + 1
        e = d + j + 2
        r0, r1, r2, r3 = (
            load_row(rows, j),
            load_row(rows, j + 1),
            load_row(rows, j + 2),
            load_row(rows, j + 3),
        )
        z = (
            z
            + load_row(group, j) * r0
            + load_row(group, j + 1) * r1
            + load_row(group, j + 2) * r2
            + load_row(group, j + 3) * r3
        )
        f0, f1, f2, f3 = r0, r1, r2, r3
        for i in range(j):
            r = load_row(rows, i)
            f0 = f0 + load_row(group, b + i) * r
            f1 = f1 + load_row(group, c + i) * r
            f2 = f2 + load_row(group, d + i) * r
            f3 = f3 + load_row(group, e + i) * r
        f1 = f1 + load_row(group, c + j) * r0
        f2 = f2 + load_row(group, d + j) * r0 + load_row(group, d + j + 1) * r1
        f3 = (
            f3
            + load_row(group, e + j) * r0
            + load_row(group, e + j + 1) * r1
            + load_row(group, e + j + 2) * r2
        )
        store_row(leaned, j, f0)
        store_row(leaned, j + 1, f1)
        store_row(leaned, j + 2, f2)
        store_row(leaned, j + 3, f3)
        s = s + load_row(group, width + j) * f0 * f0 + load_row(group, width + j + 1) * f1 * f1
        s = s + load_row(group, width + j + 2) * f2 * f2 + load_row(group, width + j + 3) * f3 * f3
    store_row(notes, SCORE, z)
    store_row(notes, LEVERAGE, s)


@unrolled_loop
def score(group: Matrix, rows: Matrix, width: int, notes: Matrix) -> None:
    """<theta, a> alone, in the same order of additions."""
    z = broadcast(0.0)
    for j in range(width):
        z = z + load_row(group, j) * load_row(rows, j)
    store_row(notes, SCORE, z)


@unrolled_loop
def miss_numbers(group: Matrix, width: int, target: float, weight: float, notes: Matrix) -> None:
    """Residuals of a squared loss, clipped at LOUDEST usual ones, which they then tell.

    Curvature 1.
    """
    usual = 2 * width + 1
    for k in range(LANES):
        residual, most = target - notes[SCORE, k], LOUDEST * group[usual, k]
        notes[RESIDUAL, k] = min(max(residual, -most), most)
        group[usual, k] += (min(abs(residual), 2.0 * most) - group[usual, k]) / STEADY
        notes[CURVATURE, k] = min(weight, HEAVIEST / max(notes[LEVERAGE, k], 1e-300))


@inline_ordered
def miss_labels(target: float, weight: float, offset: float, notes: Matrix) -> None:
    """Of a logistic loss of score and offset: (y - p)/h with h = p (1 - p), FLATTEST at the
    least.
    """
    chance = 1.0 / (1.0 + power_of_e(0.0 - within(load_row(notes, SCORE) + offset, SUREST)))
    slope, leverage = chance * (1.0 - chance), load_row(notes, LEVERAGE)
    bend = select(slope, FLATTEST, slope, FLATTEST)
    store_row(notes, RESIDUAL, (target - chance) / bend)
    store_row(
        notes,
        CURVATURE,
        smaller(weight * bend, HEAVIEST / select(leverage, 1e-300, leverage, 1e-300)),
    )


@unrolled_loop
def learn(group: Matrix, width: int, leaned: Matrix, gain: Matrix, notes: Matrix) -> None:
    r"""theta += P a r/(gamma/h + a'P a) and P <- (P - P a a'P/(gamma/h + a'P a))/gamma.

    ``gain`` is scratch like ``leaned``.

    U is walked through four rows at a time; the divisions of all columns are made on the way along
    the first four, and hidden by it.
    """
    discount = load_row(group, 2 * width)
    longer, alpha = broadcast(1.0) / discount, discount / load_row(notes, CURVATURE)
    inverse = broadcast(1.0) / alpha
    for j in range(min(width, 4)):
        alpha, inverse = shrink(group, width, j, leaned, gain, longer, alpha, inverse)
    i = 0
    if width >= 4:
        q0, q1, q2, q3 = begin(group, width, 0, leaned, gain)
        place = column(width, 4)
        for j in range(4, width):
            alpha, inverse = shrink(group, width, j, leaned, gain, longer, alpha, inverse)
            f, v = load_row(leaned, j), load_row(gain, j)
            q0, q1 = along(group, place, f, v, q0), along(group, place + 1, f, v, q1)
            q2, q3 = along(group, place + 2, f, v, q2), along(group, place + 3, f, v, q3)
            place += j
        move(group, 0, q0, q1, q2, q3, load_row(notes, RESIDUAL) * inverse)
        i = 4
    residual = load_row(notes, RESIDUAL) * inverse
    while i + 4 <= width:
        q0, q1, q2, q3 = begin(group, width, i, leaned, gain)
        place = column(width, i + 4) + i
        for j in range(i + 4, width):
            f, v = load_row(leaned, j), load_row(gain, j)
            q0, q1 = along(group, place, f, v, q0), along(group, place + 1, f, v, q1)
            q2, q3 = along(group, place + 2, f, v, q2), along(group, place + 3, f, v, q3)
            place += j
        move(group, i, q0, q1, q2, q3, residual)
        i += 4
    while i < width:
        q = load_row(gain, i)
        for j in range(i + 1, width):
            q = along(group, column(width, j) + i, load_row(leaned, j), load_row(gain, j), q)
        store_row(group, i, load_row(group, i) + q * residual)
        i += 1


@inline_ordered
def shrink(
    group: Matrix,
    width: int,
    j: int,
    leaned: Matrix,
    gain: Matrix,
    longer: Any,
    alpha: Any,
    inverse: Any,
) -> tuple[Any, Any]:
    r"""Entry j of the new Delta, and what column j of the new U follows from.

    The next alpha, and 1 divided by it.

    With :math:`f = U'a`, :math:`v = \Delta f` and :math:`\alpha_j = \gamma/h + \sum_{i \le j} f_i
    v_i`, the new entries are :math:`\Delta_j \alpha_{j-1}/(\alpha_j \gamma)`. v is left in
    ``gain``, and :math:`f_j/\alpha_{j-1}` in ``leaned``.
    """
    f, delta = load_row(leaned, j), load_row(group, width + j)
    v = delta * f
    store_row(gain, j, v)
    store_row(leaned, j, f * inverse)
    following = alpha + f * v
    inverse = broadcast(1.0) / following
    store_row(group, width + j, smaller(delta * (alpha * inverse * longer), broadcast(1.0 / RIDGE)))
    return following, inverse


@inline_ordered
def begin(
    group: Matrix, width: int, i: int, leaned: Matrix, gain: Matrix
) -> tuple[Any, Any, Any, Any]:
    """The triangle where four rows of U begin; their entries of P a as far as they are added up."""
    v1, v2, v3 = load_row(gain, i + 1), load_row(gain, i + 2), load_row(gain, i + 3)
    place = column(width, i + 1) + i
    q0 = along(group, place, load_row(leaned, i + 1), v1, load_row(gain, i))
    place, f = place + i + 1, load_row(leaned, i + 2)
    q0, q1 = along(group, place, f, v2, q0), along(group, place + 1, f, v2, v1)
    place, f = place + i + 2, load_row(leaned, i + 3)
    return (
        along(group, place, f, v3, q0),
        along(group, place + 1, f, v3, q1),
        along(group, place + 2, f, v3, v2),
        v3,
    )


@inline_ordered
def move(group: Matrix, i: int, q0: Any, q1: Any, q2: Any, q3: Any, residual: Any) -> None:
    """Four entries of theta, from i on, along their entries of P a."""
    store_row(group, i, load_row(group, i) + q0 * residual)
    store_row(group, i + 1, load_row(group, i + 1) + q1 * residual)
    store_row(group, i + 2, load_row(group, i + 2) + q2 * residual)
    store_row(group, i + 3, load_row(group, i + 3) + q3 * residual)


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
