"""Four numbers side by side, beside arrays of numpy."""

import os
import subprocess
import sys

import numba
import numpy as np
import pytest

from swordplay.compile import simd4
from swordplay.engine.second_order import approximations
from tolerances import ROUNDING

RNG = np.random.default_rng(0)


@numba.njit
def worked_out(vector, i, number, answer):
    """Every operation, of four and of a number before and behind them."""
    some = simd4.load_at(vector, i)
    others = simd4.pack(vector[0], vector[1], vector[2], vector[3])
    simd4.store_at(answer, 0, some + others)
    simd4.store_at(answer, 4, some - number)
    simd4.store_at(answer, 8, number * others)
    simd4.store_at(answer, 12, number / some)
    simd4.store_at(answer, 16, simd4.select(some, others, some, number))
    simd4.store_at(answer, 20, simd4.smaller(some, others))
    simd4.store_at(answer, 24, simd4.exp2_int(simd4.broadcast(approximations.WHOLE + 3.0)))
    answer[28] = simd4.select(number, 0.5, 1.0, 2.0)
    answer[29] = simd4.exp2_int(approximations.WHOLE - 2.0)
    for k in range(4):
        answer[30 + k] = simd4.extract(some, k)


@pytest.mark.parametrize("i", [0, 1, 3, 5])
@pytest.mark.parametrize("number", [0.75, -2.0])
def test_what_kernels_do_with_them(i, number):
    vector, answer = RNG.normal(size=9), np.zeros(34)
    some, others = vector[i : i + 4], vector[:4]
    worked_out(vector, i, number, answer)
    wanted = [
        *(some + others),
        *(some - number),
        *(number * others),
        *(number / some),
        *np.where(some > others, some, number),
        *np.minimum(some, others),
        *[8.0] * 4,
        1.0 if number > 0.5 else 2.0,
        0.25,
        *some,
    ]
    assert answer.tolist() == wanted


COMPARE_WITH_NAN = """
import numpy as np
from swordplay.compile import simd4
a, b = np.array([np.nan, 1.0, np.nan, 2.0]), np.array([3.0, np.nan, np.nan, 1.0])
print(simd4.smaller(a, b).tolist(), simd4.select(a, b, a, b).tolist())
"""


def test_comparisons_with_nan_compiled_and_in_python():
    """A comparison with NaN is false, so that ``smaller`` and ``select`` return the last one."""

    @numba.njit
    def compare(a, b, answer):
        left, right = simd4.load_at(a, 0), simd4.load_at(b, 0)
        simd4.store_at(answer, 0, simd4.smaller(left, right))
        simd4.store_at(answer, 4, simd4.select(left, right, left, right))

    a, b = np.array([np.nan, 1.0, np.nan, 2.0]), np.array([3.0, np.nan, np.nan, 1.0])
    answer = np.zeros(8)
    compare(a, b, answer)
    np.testing.assert_array_equal(answer, [3.0, np.nan, np.nan, 1.0, 3.0, np.nan, np.nan, 2.0])
    printed = subprocess.run(
        [sys.executable, "-c", COMPARE_WITH_NAN],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert printed == f"{answer[:4].tolist()} {answer[4:].tolist()}\n"


def test_four_numbers_of_a_vector_with_gaps_are_refused():
    @numba.njit
    def read(vector):
        return simd4.extract(simd4.load_at(vector, 0), 0)

    with pytest.raises(numba.core.errors.TypingError, match="need a contiguous 1-d array"):
        read(np.zeros(20)[::2])


@pytest.mark.parametrize("count", range(1, 14))
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_log_losses_are_added_to_each_once(count, sign):
    behind, forecasts = RNG.uniform(0.0, 14.0, size=count), RNG.normal(scale=20.0, size=count)
    wanted = 0.9 * behind + 0.3 * np.logaddexp(0.0, -np.clip(sign * forecasts, -15.0, 15.0))
    approximations.add_log_losses(behind, forecasts, sign, 15.0, 0.9, 0.3)
    assert np.max(np.abs(behind / wanted - 1.0)) < ROUNDING
