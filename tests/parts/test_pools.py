"""Pools are the grids of the theorems; bad constants are refused."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swordplay.parts import pools
from tolerances import ROUNDING

constants = st.fixed_dictionaries(
    {
        "diameter": st.floats(1e-2, 1e2),
        "gradient_bound": st.floats(1e-2, 1e2),
        "smoothness": st.floats(1e-2, 1e2),
        "horizon": st.integers(1, 10**6),
    }
)


def unpack(given_):
    return given_["diameter"], given_["gradient_bound"], given_["smoothness"], given_["horizon"]


@given(constants)
def test_every_pool_doubles_and_ascends(given_):
    without_smoothness = {name: value for name, value in given_.items() if name != "smoothness"}
    made = [
        pools.variation(**given_),
        pools.small_loss(**given_),
        pools.safe(**given_),
        pools.ader(**without_smoothness),
    ]
    for pool in made:
        assert pool.ndim == 1
        assert pool[0] > 0
        np.testing.assert_allclose(pool[1:] / pool[:-1], 2.0, rtol=ROUNDING)


@given(constants)
def test_the_papers_pools_are_its_formulas(given_):
    D, G, L, T = unpack(given_)
    variation, small = pools.variation(**given_), pools.small_loss(**given_)
    assert variation[0] == pytest.approx(math.sqrt(D**2 / (8 * G**2 * T)))
    assert len(variation) == max(1, math.ceil(0.5 * math.log2(G**2 * T / (2 * D**2 * L**2))) + 1)
    assert small[0] == pytest.approx(math.sqrt(D / (16 * L * G * T)))
    assert len(small) == max(1, math.ceil(0.5 * math.log2(G * T / (D * L))) + 1)
    # With the ceiling the top step may pass 1/(4L) by up to 2, and stays below 1/L: where the
    # theorems still hold.
    if len(variation) > 1:
        assert variation[-1] <= 2 / (4 * L) * (1 + ROUNDING)


@given(constants)
def test_the_safe_pool_reaches_from_half_the_smoothness_down_to_the_slowest_comparator(given_):
    D, G, L, T = unpack(given_)
    pool = pools.safe(**given_)
    assert pool[-1] == 1 / (2 * L)
    assert len(pool) == 1 + max(0, math.ceil(math.log2(G * math.sqrt(T) / (0.8 * L * D))))
    # The smallest step that any comparator needs: 0.4 D / (G sqrt T), or the top one if that is
    # larger.
    assert pool[0] <= max(0.4 * D / (G * math.sqrt(T)), 0) * (1 + ROUNDING) or len(pool) == 1


def test_pool_of_ader_is_its_formula():
    pool = pools.ader(diameter=2.0, gradient_bound=3.0, horizon=1000)
    assert len(pool) == math.ceil(0.5 * math.log2(1 + 4000 / 7)) + 1
    assert pool[0] == pytest.approx(2.0 / 3.0 * math.sqrt(7 / 2000))


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=5), st.integers(0, 5), st.integers(0, 5))
def test_a_longer_pool_contains_the_old_one(steps, below, above):
    pool = pools.longer(steps, below=below, above=above)
    assert len(pool) == len(steps) + below + above
    np.testing.assert_array_equal(pool[below : below + len(steps)], sorted(steps))
    np.testing.assert_allclose(
        pool[:below] * 2.0 ** np.arange(below, 0, -1), min(steps), rtol=ROUNDING
    )
    np.testing.assert_allclose(
        pool[below + len(steps) :] / 2.0 ** np.arange(1, above + 1), max(steps), rtol=ROUNDING
    )
    assert (np.diff(pool) >= 0).all()


@pytest.mark.parametrize("pool", [pools.variation, pools.small_loss, pools.safe])
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("diameter", 0.0, "diameter must be greater than 0, got 0.0"),
        ("gradient_bound", -1.0, "gradient_bound must be greater than 0, got -1.0"),
        ("smoothness", math.nan, "smoothness must be finite, got nan"),
        ("horizon", 0, "horizon must be at least 1, got 0"),
        ("horizon", 1.5, "horizon must be a whole number, got 1.5"),
    ],
)
def test_bad_constants_are_refused_in_words(pool, name, value, message):
    good = {"diameter": 1.0, "gradient_bound": 1.0, "smoothness": 1.0, "horizon": 10}
    with pytest.raises((ValueError, TypeError), match=message):
        pool(**{**good, name: value})


@pytest.mark.parametrize("steps", [[], [0.0], [1.0, -1.0], [math.inf], [math.nan], ["a"]])
def test_bad_pools_are_refused_in_words(steps):
    with pytest.raises((ValueError, TypeError), match="pool must"):
        pools.longer(steps)


def test_negative_lengths_are_refused():
    with pytest.raises(ValueError, match="below must be at least 0, got -1"):
        pools.longer([1.0], below=-1)
