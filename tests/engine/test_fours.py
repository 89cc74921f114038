"""Four numbers side by side, beside arrays of numpy."""

import numba
import numpy as np
import pytest

from swordplay.base import fours
from swordplay.engine.curved import series
from tolerances import ROUNDING

RNG = np.random.default_rng(0)


@numba.njit
def worked_out(vector, i, number, answer):
    """Every operation, of four and of a number before and behind them."""
    some = fours.take_from(vector, i)
    others = fours.four_of(vector[0], vector[1], vector[2], vector[3])
    fours.put_into(answer, 0, some + others)
    fours.put_into(answer, 4, some - number)
    fours.put_into(answer, 8, number * others)
    fours.put_into(answer, 12, number / some)
    fours.put_into(answer, 16, fours.pick(some, others, some, number))
    fours.put_into(answer, 20, fours.smaller(some, others))
    fours.put_into(answer, 24, fours.two_to(fours.same(series.WHOLE + 3.0)))
    answer[28] = fours.pick(number, 0.5, 1.0, 2.0)
    answer[29] = fours.two_to(series.WHOLE - 2.0)
    for k in range(4):
        answer[30 + k] = fours.one_of(some, k)


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


def test_four_numbers_of_a_vector_with_gaps_are_refused():
    @numba.njit
    def read(vector):
        return fours.one_of(fours.take_from(vector, 0), 0)

    with pytest.raises(numba.core.errors.TypingError, match="without gaps"):
        read(np.zeros(20)[::2])


@pytest.mark.parametrize("count", range(1, 14))
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_log_losses_are_added_to_each_once(count, sign):
    behind, forecasts = RNG.uniform(0.0, 14.0, size=count), RNG.normal(scale=20.0, size=count)
    wanted = 0.9 * behind + 0.3 * np.logaddexp(0.0, -np.clip(sign * forecasts, -15.0, 15.0))
    series.add_log_losses(behind, forecasts, sign, 15.0, 0.9, 0.3)
    assert np.max(np.abs(behind / wanted - 1.0)) < ROUNDING
