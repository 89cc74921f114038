"""Exponentials, logarithms and cosines as short series without branches.

Each is computed for one number or for four side by side. They agree with the functions of ``math``
to the last few bits, at a fifth of the cost where several are needed. Arguments have to be finite
and of moderate size, as those of the second-order layer are.
"""

from __future__ import annotations

import math
from typing import Any

from swordplay.compile import bits_to_float, float_to_bits, inline_ordered, unrolled_loop
from swordplay.compile.simd4 import LANES, exp2_int, load_at, select, store_at
from swordplay.core.types import Vector

WHOLE = 6755399441055744.0
"""1.5 * 2^52: added to a number of moderate size, what is left in its last bits is the nearest
whole number.
"""
PER_LN2, LN2_HIGH, LN2_LOW = (
    1.4426950408889634,
    6.93147180369123816490e-01,
    1.90821492927058770002e-10,
)
"""1/ln 2, and ln 2 in two parts, of which a small multiple of the first is exact."""
E2, E3, E4, E5, E6, E7, E8, E9, E10, E11, E12 = (1.0 / math.factorial(n) for n in range(2, 13))
"""Of the exponential series: enough for 1e-16 up to ln(2)/2."""
C1, C2, C3, C4, C5, C6, C7, C8, C9, C10, C11 = (
    (-1.0) ** n / math.factorial(2 * n) for n in range(1, 12)
)
"""Of the cosine: enough for 1e-16 up to pi/2."""
PI_LOW = 1.2246467991473532e-16
"""What pi is beyond the double nearest to it."""
BRINK = math.sqrt(2.0) - 1.0
"""From here on half of 1 + e is nearer to 1 than 1 + e is."""
LN2 = math.log(2.0)


@inline_ordered
def power_of_e(x: Any) -> Any:
    """e^x, for x between -700 and 700: 2^k e^r with a whole k and r below ln(2)/2 in magnitude."""
    shifted = x * PER_LN2 + WHOLE
    k = shifted - WHOLE
    r = x - k * LN2_HIGH - k * LN2_LOW
    s = E7 + r * (E8 + r * (E9 + r * (E10 + r * (E11 + r * E12))))
    s = 1.0 + r * (1.0 + r * (E2 + r * (E3 + r * (E4 + r * (E5 + r * (E6 + r * s))))))
    return s * exp2_int(shifted)


@inline_ordered
def cosine(x: float) -> float:
    """cos x, for x of some hundreds at the most: that of x - k pi, turned where k is odd."""
    shifted = x * (1.0 / math.pi) + WHOLE
    k = shifted - WHOLE
    r = x - k * math.pi - k * PI_LOW
    q = r * r
    s = C6 + q * (C7 + q * (C8 + q * (C9 + q * (C10 + q * C11))))
    s = 1.0 + q * (C1 + q * (C2 + q * (C3 + q * (C4 + q * (C5 + q * s)))))
    return float(bits_to_float(float_to_bits(s) ^ (float_to_bits(shifted) << 63)))


@inline_ordered
def log_loss(right: Any) -> Any:
    """ln(1 + e^-s): with e = e^-|s|, ln(1 + e) is 2 artanh(e/(2 + e)), or ln 2 and that of half
    of 1 + e.
    """
    wrong = 0.0 - right
    e = power_of_e(select(right, 0.0, wrong, right))
    z = select(e, BRINK, e - 1.0, e) / select(e, BRINK, e + 3.0, e + 2.0)
    q = z * z
    s = 1.0 / 11.0 + q * (
        1.0 / 13.0 + q * (1.0 / 15.0 + q * (1.0 / 17.0 + q * (1.0 / 19.0 + q * (1.0 / 21.0))))
    )
    s = 1.0 + q * (1.0 / 3.0 + q * (1.0 / 5.0 + q * (1.0 / 7.0 + q * (1.0 / 9.0 + q * s))))
    return 2.0 * z * s + select(e, BRINK, LN2, 0.0) + select(wrong, 0.0, wrong, 0.0)


@inline_ordered
def within(number: Any, most: float) -> Any:
    """A number, cut at ``most`` in magnitude."""
    low = select(-most, number, -most, number)
    return select(low, most, most, low)


@unrolled_loop
def put_powers(exponents: Vector, answer: Vector) -> None:
    """e^-x of each."""
    for i in range(len(exponents)):
        answer[i] = power_of_e(-exponents[i])


@unrolled_loop
def put_cosines(angles: Vector, answer: Vector) -> None:
    """cos of each."""
    for i in range(len(angles)):
        answer[i] = cosine(angles[i])


@inline_ordered
def add_log_losses(
    behind: Vector, forecasts: Vector, sign: float, most: float, fade: float, rate: float
) -> None:
    """``fade`` of each, and ``rate`` of the log loss of a forecast, in log-odds that are cut at
    ``most``.

    Four at a time, of which the last begin four before the end: some are worked out twice, to the
    same result, none alone.
    """
    end = len(behind) - LANES
    if end >= 0:
        before = load_at(behind, end)  # as they are before any of them is reached
        for i in range(0, end, LANES):
            store_at(
                behind,
                i,
                fade * load_at(behind, i)
                + rate * log_loss(within(sign * load_at(forecasts, i), most)),
            )
        store_at(
            behind,
            end,
            fade * before + rate * log_loss(within(sign * load_at(forecasts, end), most)),
        )
    else:
        for i in range(len(behind)):
            behind[i] = fade * behind[i] + rate * log_loss(within(sign * forecasts[i], most))
