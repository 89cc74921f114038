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
"""1.5 * 2^52: adding it to a number of moderate size leaves the nearest integer in the low bits of
the mantissa.
"""
PER_LN2, LN2_HIGH, LN2_LOW = (
    1.4426950408889634,
    6.93147180369123816490e-01,
    1.90821492927058770002e-10,
)
"""1/ln 2, and ln 2 in two parts: small multiples of the first part are exact."""
E2, E3, E4, E5, E6, E7, E8, E9, E10, E11, E12 = (1.0 / math.factorial(n) for n in range(2, 13))
"""Coefficients of the exponential series: enough for 1e-16 up to ln(2)/2."""
C1, C2, C3, C4, C5, C6, C7, C8, C9, C10, C11 = (
    (-1.0) ** n / math.factorial(2 * n) for n in range(1, 12)
)
"""Coefficients of the cosine: enough for 1e-16 up to pi/2."""
PI_LOW = 1.2246467991473532e-16
"""pi minus the double nearest to it."""
BRINK = math.sqrt(2.0) - 1.0
"""Above this e, |ln((1 + e)/2)| < ln(1 + e), so that its series is shorter."""
LN2 = math.log(2.0)


@inline_ordered
def exp(x: Any) -> Any:
    """Return e^x = 2^k e^r for -700 <= x <= 700, with an integer k and |r| <= ln(2)/2."""
    shifted = x * PER_LN2 + WHOLE
    k = shifted - WHOLE
    r = x - k * LN2_HIGH - k * LN2_LOW
    s = E7 + r * (E8 + r * (E9 + r * (E10 + r * (E11 + r * E12))))
    s = 1.0 + r * (1.0 + r * (E2 + r * (E3 + r * (E4 + r * (E5 + r * (E6 + r * s))))))
    return s * exp2_int(shifted)


@inline_ordered
def cosine(x: float) -> float:
    """Return cos x = (-1)^k cos(x - k pi), for x of some hundreds at most."""
    shifted = x * (1.0 / math.pi) + WHOLE
    k = shifted - WHOLE
    r = x - k * math.pi - k * PI_LOW
    q = r * r
    s = C6 + q * (C7 + q * (C8 + q * (C9 + q * (C10 + q * C11))))
    s = 1.0 + q * (C1 + q * (C2 + q * (C3 + q * (C4 + q * (C5 + q * s)))))
    return float(bits_to_float(float_to_bits(s) ^ (float_to_bits(shifted) << 63)))


@inline_ordered
def log_loss(margin: Any) -> Any:
    """Return ln(1 + e^-s), s = ``margin``.

    With e = e^-|s|, ln(1 + e) = 2 artanh(e/(2 + e)), or ln 2 + ln((1 + e)/2) for e > BRINK.
    """
    # select(a, b, x, y) is x if a > b else y
    negative = 0.0 - margin
    e = exp(select(margin, 0.0, negative, margin))
    z = select(e, BRINK, e - 1.0, e) / select(e, BRINK, e + 3.0, e + 2.0)
    q = z * z
    series = 1.0 / 11.0 + q * (
        1.0 / 13.0 + q * (1.0 / 15.0 + q * (1.0 / 17.0 + q * (1.0 / 19.0 + q * (1.0 / 21.0))))
    )
    series = 1.0 / 9.0 + q * series
    series = 1.0 + q * (1.0 / 3.0 + q * (1.0 / 5.0 + q * (1.0 / 7.0 + q * series)))
    excess = select(negative, 0.0, negative, 0.0)  # max(-s, 0)
    return 2.0 * z * series + select(e, BRINK, LN2, 0.0) + excess


@inline_ordered
def within(number: Any, most: float) -> Any:
    """Return a number clipped to the magnitude ``most``."""
    low = select(-most, number, -most, number)
    return select(low, most, most, low)


@unrolled_loop
def exp_negative_all(exponents: Vector, answer: Vector) -> None:
    """Write e^-x of each number."""
    for i in range(len(exponents)):
        answer[i] = exp(-exponents[i])


@unrolled_loop
def cos_all(angles: Vector, answer: Vector) -> None:
    """Write the cosine of each number."""
    for i in range(len(angles)):
        answer[i] = cosine(angles[i])


@inline_ordered
def add_log_losses(
    lag_behind: Vector, forecasts: Vector, sign: float, most: float, decay: float, rate: float
) -> None:
    """lag_behind_i = decay lag_behind_i + rate ln(1 + e^-s_i), s_i = sign forecast_i, clipped.

    ``lag_behind`` is the discounted loss of each forecast minus that of the best (see ``mixing``).

    Four at a time. The last four overlap with those before them, so that none is computed alone.
    """
    end = len(lag_behind) - LANES
    if end >= 0:
        before = load_at(lag_behind, end)  # the old values: the loop overwrites some of these four
        for i in range(0, end, LANES):
            store_at(
                lag_behind,
                i,
                decay * load_at(lag_behind, i)
                + rate * log_loss(within(sign * load_at(forecasts, i), most)),
            )
        store_at(
            lag_behind,
            end,
            decay * before + rate * log_loss(within(sign * load_at(forecasts, end), most)),
        )
    else:
        for i in range(len(lag_behind)):
            lag_behind[i] = decay * lag_behind[i] + rate * log_loss(
                within(sign * forecasts[i], most)
            )
