"""Numbers and names as a reader wants to see them."""

import doctest
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swordplay.report import formatting as fmt
from tolerances import THREE_DIGITS


def test_the_examples_are_true():
    result = doctest.testmod(fmt)
    assert result.attempted > 0
    assert result.failed == 0


@given(st.floats(1e-4, 9.9e6))
def test_numbers_keep_three_digits(value):
    assert float(fmt.number(value).replace(",", "")) == pytest.approx(value, rel=THREE_DIGITS)
    assert fmt.number(-value) == f"−{fmt.number(value)}"


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.0, "0"), (math.nan, "–"), (math.inf, "∞"), (9.9996, "10.0"), (1e-7, "1.00×10⁻⁷")],
)
def test_odd_numbers(value, said):
    assert fmt.number(value) == said


@given(st.text())
def test_whatever_is_shown_is_short_one_line_and_has_bytes(text):
    shown = fmt.clean_text(text, 30)
    assert len(shown) <= 30
    assert len(shown.splitlines()) <= 1
    shown.encode("utf-8")


@given(
    st.text(alphabet="abc äß漢\u202f", min_size=1, max_size=30).map(
        lambda text: " ".join(text.split(" "))
    )
)
def test_plain_text_is_shown_as_it_is(text):
    assert fmt.clean_text(text, 30).replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize(
    ("month", "said"),
    [(1, "early 2012"), (4, "early 2012"), (5, "mid-2012"), (9, "late 2012"), (12, "late 2012")],
)
def test_years_in_thirds(month, said):
    time = float(np.datetime64(f"2012-{month:02d}-01", "ms").astype(np.int64))
    assert fmt.approximate_time(time, 5 * fmt.YEAR) == said
    assert fmt.approximate_time(time, 4.9 * fmt.YEAR).endswith(" 2012")
    assert fmt.approximate_time(1e300, 5 * fmt.YEAR) == "an unknown time"
