r"""Recursive least squares with forgetting, four experts side by side.

An expert with discount :math:`\gamma` keeps coefficients :math:`\theta` and :math:`P = A^{-1}` of
the discounted past :math:`A_t = \gamma A_{t-1} + h_t a_t a_t^\top`. P is kept as :math:`U \Delta
U^\top`, U triangular with ones on its diagonal and :math:`\Delta` diagonal (Bierman 1977): it stays
positive whatever is rounded, and forgetting divides :math:`\Delta`. No entry of :math:`\Delta`
passes its initial value 1/RIDGE: without this limit, the entry of a column that is constant, or
equals another, would grow without end.

A group of LANES experts has one width w. It is a matrix with LANES columns: w rows of
:math:`\theta`, w of :math:`\Delta`, one of discounts, one of usual residuals, and w (w - 1)/2 of U,
column by column.
"""

from __future__ import annotations

import math
from typing import Any

from swordplay.compile import inline_ordered, unrolled_loop
from swordplay.compile.simd4 import broadcast, load_row, select, smaller, store_row
from swordplay.core.types import Matrix
from swordplay.engine.second_order.approximations import exp, within

LANES = 4
"""Experts side by side: the number of doubles in a vector register."""
RIDGE = 1.0
"""Ridge penalty of every coefficient, in units of one row of weight 1 and size 1."""
MAX_RESIDUAL = 10.0
"""Residuals are clipped at this many usual residuals."""
RESIDUAL_MEMORY = 128.0
"""The usual residual is the mean absolute residual of about this many rows.

It starts at 1, the spread of the target.
"""
MAX_LEVERAGE = 1.0
"""Limit of the leverage h a'P a of a row, which limits how much a single far row can change."""
MIN_CURVATURE = 1e-3
"""Least curvature p (1 - p) of a logistic loss: certainty could never be unlearned otherwise."""
MAX_LOG_ODDS = 30.0
"""Log-odds are clipped here: the probabilities are 1e-13, and 1 minus that."""
SCORE, LEVERAGE, RESIDUAL, CURVATURE = 0, 1, 2, 3
"""Rows of ``stats``: what is computed in a round, LANES numbers each."""


def rows_of(width: int) -> int:
    """Return the height of a group of this width: the number of rows of its matrix."""
    return 2 * width + 2 + width * (width - 1) // 2


group_rows = inline_ordered(rows_of)
"""``rows_of`` for kernels."""


@inline_ordered
def column_start(width: int, j: int) -> int:
    """Return the row of a group where column j of U begins."""
    return 2 * width + 2 + j * (j - 1) // 2


@inline_ordered
def advance(group: Matrix, place: int, f: Any, v: Any, q: Any) -> Any:
    """U_ij -= f q and return q + v U_ij, with the old U_ij: one step along a row of U.

    Here f is f_j / alpha_{j-1} (see :func:`shrink_variance`), v is v_j, and q is the sum of entry i
    of P a over the columns before j.
    """
    u = load_row(group, place)
    store_row(group, place, u - f * q)
    return q + v * u


@unrolled_loop
def ask(group: Matrix, rows: Matrix, width: int, factor_products: Matrix, stats: Matrix) -> None:
    """Write <theta, a>, a'P a and, for :func:`learn`, f = U'a of every expert.

    Column k of ``rows`` is the row a of expert k, shape ``(w, LANES)`` like ``factor_products``,
    which takes f; a'P a = sum of Delta f^2. The w % 4 shortest columns of U come first, then four
    columns at a time, whose sums do not wait for each other.
    """
    z = s = broadcast(0.0)
    first = width % 4
    for j in range(first):
        b, r = column_start(width, j), load_row(rows, j)
        f = r
        for i in range(j):
            f = f + load_row(group, b + i) * load_row(rows, i)
        store_row(factor_products, j, f)
        z, s = z + load_row(group, j) * r, s + load_row(group, width + j) * f * f
    for j in range(first, width, 4):
        b = column_start(width, j)  # where columns j to j + 3 begin: b, c, d and e
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
        store_row(factor_products, j, f0)
        store_row(factor_products, j + 1, f1)
        store_row(factor_products, j + 2, f2)
        store_row(factor_products, j + 3, f3)
        s = s + load_row(group, width + j) * f0 * f0 + load_row(group, width + j + 1) * f1 * f1
        s = s + load_row(group, width + j + 2) * f2 * f2 + load_row(group, width + j + 3) * f3 * f3
    store_row(stats, SCORE, z)
    store_row(stats, LEVERAGE, s)


@unrolled_loop
def score(group: Matrix, rows: Matrix, width: int, stats: Matrix) -> None:
    """Write <theta, a> alone, with additions in the order of :func:`ask`."""
    z = broadcast(0.0)
    for j in range(width):
        z = z + load_row(group, j) * load_row(rows, j)
    store_row(stats, SCORE, z)


@unrolled_loop
def squared_residuals(
    group: Matrix, width: int, target: float, weight: float, stats: Matrix
) -> None:
    """Write r = y - <theta, a>, clipped, and h: the weight, limited by the leverage.

    The usual residual of each expert is updated.
    """
    usual = 2 * width + 1
    for k in range(LANES):
        residual, limit = target - stats[SCORE, k], MAX_RESIDUAL * group[usual, k]
        stats[RESIDUAL, k] = min(max(residual, -limit), limit)
        group[usual, k] += (min(abs(residual), 2.0 * limit) - group[usual, k]) / RESIDUAL_MEMORY
        stats[CURVATURE, k] = min(weight, MAX_LEVERAGE / max(stats[LEVERAGE, k], 1e-300))


@inline_ordered
def logistic_residuals(target: float, weight: float, offset: float, stats: Matrix) -> None:
    """Write r = (y - p)/h and h = max(p (1 - p), MIN_CURVATURE), p the logistic of score + offset.

    h is weighted and limited by the leverage.
    """
    p = 1.0 / (1.0 + exp(0.0 - within(load_row(stats, SCORE) + offset, MAX_LOG_ODDS)))
    slope, leverage = p * (1.0 - p), load_row(stats, LEVERAGE)
    curvature = select(slope, MIN_CURVATURE, slope, MIN_CURVATURE)
    store_row(stats, RESIDUAL, (target - p) / curvature)
    limit = MAX_LEVERAGE / select(leverage, 1e-300, leverage, 1e-300)
    store_row(stats, CURVATURE, smaller(weight * curvature, limit))


@unrolled_loop
def learn(group: Matrix, width: int, factor_products: Matrix, gain: Matrix, stats: Matrix) -> None:
    r"""theta += P a r/(gamma/h + a'P a) and P <- (P - P a a'P/(gamma/h + a'P a))/gamma.

    ``gain`` is scratch like ``factor_products``.

    Four rows of U are updated at a time. The divisions of all columns are made while the first four
    rows are updated, which hides their latency.
    """
    discount = load_row(group, 2 * width)
    growth, alpha = broadcast(1.0) / discount, discount / load_row(stats, CURVATURE)
    inverse = broadcast(1.0) / alpha
    for j in range(min(width, 4)):
        alpha, inverse = shrink_variance(
            group, width, j, factor_products, gain, growth, alpha, inverse
        )
    # From here on, f of a column is f_j/alpha_{j-1}, which ``shrink_variance`` has written.
    i = 0
    if width >= 4:
        q0, q1, q2, q3 = start_rows(group, width, 0, factor_products, gain)
        place = column_start(width, 4)
        for j in range(4, width):
            alpha, inverse = shrink_variance(
                group, width, j, factor_products, gain, growth, alpha, inverse
            )
            f, v = load_row(factor_products, j), load_row(gain, j)
            q0, q1 = advance(group, place, f, v, q0), advance(group, place + 1, f, v, q1)
            q2, q3 = advance(group, place + 2, f, v, q2), advance(group, place + 3, f, v, q3)
            place += j
        move_coefficients(group, 0, q0, q1, q2, q3, load_row(stats, RESIDUAL) * inverse)
        i = 4
    residual = load_row(stats, RESIDUAL) * inverse
    while i + 4 <= width:
        q0, q1, q2, q3 = start_rows(group, width, i, factor_products, gain)
        place = column_start(width, i + 4) + i
        for j in range(i + 4, width):
            f, v = load_row(factor_products, j), load_row(gain, j)
            q0, q1 = advance(group, place, f, v, q0), advance(group, place + 1, f, v, q1)
            q2, q3 = advance(group, place + 2, f, v, q2), advance(group, place + 3, f, v, q3)
            place += j
        move_coefficients(group, i, q0, q1, q2, q3, residual)
        i += 4
    while i < width:
        q = load_row(gain, i)
        for j in range(i + 1, width):
            place = column_start(width, j) + i
            q = advance(group, place, load_row(factor_products, j), load_row(gain, j), q)
        store_row(group, i, load_row(group, i) + q * residual)
        i += 1


@inline_ordered
def shrink_variance(
    group: Matrix,
    width: int,
    j: int,
    factor_products: Matrix,
    gain: Matrix,
    growth: Any,
    alpha: Any,
    inverse: Any,
) -> tuple[Any, Any]:
    r"""Update entry j of Delta; return alpha_j and 1/alpha_j.

    With :math:`f = U'a`, :math:`v = \Delta f` and :math:`\alpha_j = \gamma/h + \sum_{i \le j} f_i
    v_i`, the new entry is :math:`\Delta_j \alpha_{j-1}/(\alpha_j \gamma)`. For column j of U,
    ``gain`` takes v and ``factor_products`` :math:`f_j/\alpha_{j-1}`.
    """
    f, delta = load_row(factor_products, j), load_row(group, width + j)
    v = delta * f
    store_row(gain, j, v)
    store_row(factor_products, j, f * inverse)
    following = alpha + f * v
    inverse = broadcast(1.0) / following
    store_row(group, width + j, smaller(delta * (alpha * inverse * growth), broadcast(1.0 / RIDGE)))
    return following, inverse


@inline_ordered
def start_rows(
    group: Matrix, width: int, i: int, factor_products: Matrix, gain: Matrix
) -> tuple[Any, Any, Any, Any]:
    """Update U_ij for i < j among four successive indices; return q of these four rows."""
    v1, v2, v3 = load_row(gain, i + 1), load_row(gain, i + 2), load_row(gain, i + 3)
    place = column_start(width, i + 1) + i
    q0 = advance(group, place, load_row(factor_products, i + 1), v1, load_row(gain, i))
    place, f = place + i + 1, load_row(factor_products, i + 2)
    q0, q1 = advance(group, place, f, v2, q0), advance(group, place + 1, f, v2, v1)
    place, f = place + i + 2, load_row(factor_products, i + 3)
    return (
        advance(group, place, f, v3, q0),
        advance(group, place + 1, f, v3, q1),
        advance(group, place + 2, f, v3, v2),
        v3,
    )


@inline_ordered
def move_coefficients(
    group: Matrix, i: int, q0: Any, q1: Any, q2: Any, q3: Any, residual: Any
) -> None:
    """theta += P a r for four entries from i on."""
    store_row(group, i, load_row(group, i) + q0 * residual)
    store_row(group, i + 1, load_row(group, i + 1) + q1 * residual)
    store_row(group, i + 2, load_row(group, i + 2) + q2 * residual)
    store_row(group, i + 3, load_row(group, i + 3) + q3 * residual)


def initialize(group: Any, discounts: Any) -> None:
    """Write the initial state of a group: its discounts, theta = 0, Delta = 1/RIDGE, U = 1."""
    width = width_of(len(group))
    group[:] = 0.0
    group[width : 2 * width] = 1.0 / RIDGE
    group[2 * width] = discounts
    group[2 * width + 1] = 1.0


def width_of(rows: int) -> int:
    """Return the width of a group with this number of rows."""
    return (math.isqrt(8 * rows - 7) - 3) // 2
