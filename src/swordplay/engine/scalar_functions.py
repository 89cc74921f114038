"""Losses, their derivatives, exp and log of single numbers; sums and extremes over experts.

Functions of single numbers are called within loops over experts, which LLVM turns into vector
instructions. They therefore choose between numbers where other code would branch, and ``exp`` and
``log`` are polynomials: calls of the C library are not vectorised.
"""

from __future__ import annotations

import math
from typing import Any

from swordplay.compile import (
    bits_to_float,
    expert_loop,
    float_to_bits,
    inline,
    inline_ordered,
    larger,
    named_rows,
    smaller,
)
from swordplay.engine.layout import (
    BLOCK,
    HUBER,
    PINBALL,
    SQUARED,
    ExpertRows,
    LearnerArrays,
)

# 1.5 * 2^52: adding it rounds to a whole number and leaves that in the low bits
SHIFTER = 6755399441055744.0
LOG2_E = 1.4426950408889634
# ln 2 in two pieces, the first with trailing zeros: k * LN2_HIGH is exact
LN2_HIGH = 0.693147180369123816490
LN2_LOW = 1.90821492927058770002e-10
SMALLEST_EXPONENT = -500.0


@inline
def loss_value(loss: int, threshold: float, prediction: float, target: float) -> float:
    """φ(z, y) of ``losses.SquaredLoss``, ``HuberLoss``, ``PinballLoss`` or ``LogisticLoss``.

    ``threshold`` is that of the Huber loss, or the level of the pinball loss.
    """
    residual = prediction - target
    if loss == SQUARED:
        return 0.5 * residual * residual
    if loss == HUBER:
        clipped = min(max(residual, -threshold), threshold)
        return clipped * (residual - 0.5 * clipped)
    if loss == PINBALL:
        return max(-threshold * residual, (1.0 - threshold) * residual)
    margin = (2.0 * target - 1.0) * prediction
    # log(1 + exp(-m)) without overflow: for m < 0 it is -m + log(1 + exp(m)).
    return max(-margin, 0.0) + math.log1p(math.exp(-abs(margin)))


@inline
def loss_value_in_loop(loss: int, threshold: float, prediction: float, target: float) -> float:
    """φ(z, y) of every loss but the squared one, for loops over experts."""
    residual = prediction - target
    if loss == HUBER:
        clipped = min(max(residual, -threshold), threshold)
        return clipped * (residual - 0.5 * clipped)
    if loss == PINBALL:
        return max((1.0 - threshold) * residual, -threshold * residual)
    margin = (2.0 * target - 1.0) * prediction
    return max(-margin, 0.0) + log1p(exp_negative(-abs(margin)))


@inline
def loss_slope(loss: int, threshold: float, prediction: float, target: float) -> float:
    """Derivative of φ(z, y) in the prediction z."""
    residual = prediction - target
    if loss == SQUARED:
        return residual
    if loss == HUBER:
        return min(max(residual, -threshold), threshold)
    if loss == PINBALL:
        return (1.0 - threshold if residual > 0.0 else 0.0) - (threshold if residual < 0.0 else 0.0)
    # -s / (1 + exp(m)) with s = 2 y - 1 and m = s z. For m > 0 it is written with exp(-m), which
    # does not overflow: -s exp(-m) / (1 + exp(-m)).
    sign = 2.0 * target - 1.0
    margin = sign * prediction
    small = exp_negative(-abs(margin))
    return -sign * (small if margin > 0.0 else 1.0) / (1.0 + small)


@inline
def curvature(loss: int) -> float:
    """Largest second derivative of φ in the prediction; 0 for the pinball loss."""
    if loss == PINBALL:
        return 0.0
    return 1.0 if loss in (SQUARED, HUBER) else 0.25


@inline_ordered
def exp_negative(exponent: float) -> float:
    """exp of a number that is not positive, to the last bit or two, for loops over experts.

    exp(x) = 2^k exp(r) with k = round(x / ln 2) and |r| <= ln(2)/2, where a Taylor polynomial of
    degree 13 is exact to rounding. 2^k is written straight into the exponent bits. Below -500 the
    result stays at exp(-500), about 1e-217, whose product with a short step is still a normal
    number: subnormal numbers cost a sixth of a round of Sword++ (Intel Emerald Rapids).
    """
    x = max(exponent, SMALLEST_EXPONENT)
    shifted = x * LOG2_E + SHIFTER
    k = shifted - SHIFTER
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    # Neighbouring terms are paired (Estrin's scheme): a chain of five multiplications instead of
    # thirteen.
    r2 = r * r
    r4 = r2 * r2
    low = (1.0 + r) + (0.5 + r * (1.0 / 6.0)) * r2
    middle = (1.0 / 24.0 + r * (1.0 / 120.0)) + (1.0 / 720.0 + r * (1.0 / 5040.0)) * r2
    high = (1.0 / 40320.0 + r * (1.0 / 362880.0)) + (1.0 / 3628800.0 + r * (1.0 / 39916800.0)) * r2
    top = 1.0 / 479001600.0 + r * (1.0 / 6227020800.0)
    series = low + r4 * (middle + r4 * (high + r4 * top))
    return series * bits_to_float((float_to_bits(shifted) + 1023) << 52)


@inline_ordered
def log1p(small: float) -> float:
    """log(1 + s) for s from 0 to 1, to the last digits.

    log(1 + s) = 2 artanh(u) with u = s / (2 + s) <= 1/3, and artanh(u) = u (1 + v/3 + v^2/5 + ...)
    with v = u^2 <= 1/9: seventeen terms are exact to rounding.
    """
    u = small / (2.0 + small)
    v = u * u
    v2 = v * v
    v4 = v2 * v2
    a = (1.0 + v * (1.0 / 3.0)) + (1.0 / 5.0 + v * (1.0 / 7.0)) * v2
    b = (1.0 / 9.0 + v * (1.0 / 11.0)) + (1.0 / 13.0 + v * (1.0 / 15.0)) * v2
    c = (1.0 / 17.0 + v * (1.0 / 19.0)) + (1.0 / 21.0 + v * (1.0 / 23.0)) * v2
    d = (1.0 / 25.0 + v * (1.0 / 27.0)) + (1.0 / 29.0 + v * (1.0 / 31.0)) * v2
    return 2.0 * u * (a + v4 * (b + v4 * (c + v4 * (d + v4 * (1.0 / 33.0)))))


# ------------------------------------------------------------------- loops over experts


@inline
def expert_rows(learner: LearnerArrays) -> ExpertRows:
    """Rows of ``learner.experts`` by name; they can be indexed and nothing else."""
    rows: ExpertRows = named_rows(ExpertRows, learner.experts)
    return rows


@inline
def columns_of(learner: LearnerArrays) -> int:
    """Number of columns C, written so that LLVM sees that it is a multiple of BLOCK."""
    return int(BLOCK * (learner.experts.shape[1] // BLOCK))


@expert_loop
def minimum(n: int, row: Any) -> float:
    """Least of the first n entries."""
    least = math.inf
    for i in range(n):
        least = smaller(least, row[i])
    return float(least)


@expert_loop
def dot(n: int, left: Any, right: Any) -> float:
    """Sum of left_i right_i over the first n entries."""
    total = 0.0
    for i in range(n):
        total += left[i] * right[i]
    return total


@expert_loop
def add_scaled(n: int, total: Any, more: Any, factor: float) -> None:
    """total += factor * more, for the first n entries."""
    for i in range(n):
        total[i] += factor * more[i]


@expert_loop
def track_maximum(n: int, values: Any, largest_so_far: Any) -> None:
    """largest_so_far = maximum(largest_so_far, values), for the first n entries."""
    for i in range(n):
        largest_so_far[i] = larger(largest_so_far[i], values[i])
