"""Bounds of the other metas at numbers computed by hand, and by scipy."""

import math

import pytest
from scipy.integrate import quad

from swordplay import bounds
from tolerances import ROUNDING


def test_bounds_by_hand():
    # (3 ln 4 + 2 ln 10 + 7 ln(1/0.9))/0.5 + 0.5 * 10/8, twice as much in a range of 2
    plain = (3 * math.log(4) + 2 * math.log(10) - 7 * math.log(0.9)) / 0.5 + 0.625
    given = {"experts": 4, "share": 0.1, "learning_rate": 0.5, "switches": 2, "horizon": 10}
    assert bounds.fixed_share(**given) == pytest.approx(plain, rel=ROUNDING)
    assert bounds.fixed_share(**given, range=2.0) == pytest.approx(2 * plain, rel=ROUNDING)
    # sqrt(3 * 12 * ln(4 (1 + 1.5 (1 + ln 101))))
    expected = math.sqrt(36 * math.log(4 * (2.5 + 1.5 * math.log(101))))
    assert bounds.ada_normal_hedge(prior=0.25, magnitude=12.0, horizon=100) == pytest.approx(
        expected, rel=ROUNDING
    )
    assert bounds.ada_normal_hedge(
        prior=0.25, magnitude=36.0, horizon=100, range=3.0
    ) == pytest.approx(3 * expected, rel=ROUNDING)
    # N = 2, gamma = ln 2: 1/sqrt(gamma) = 1.2 < 2; V = 8: sqrt(9 / ln 2) = 3.6
    growth = math.log(1 + (1 + math.log(101)) / math.e)
    expected = (
        2 * math.log(4) + 2 * math.sqrt(8 * math.log(2)) + growth * 3 / math.sqrt(math.log(2))
    )
    given = {"prior": 0.25, "experts": 2, "horizon": 100}
    assert bounds.adapt_ml_prod(**given, squares=8.0) == pytest.approx(expected, rel=ROUNDING)
    assert bounds.adapt_ml_prod(**given, squares=72.0, range=3.0) == pytest.approx(
        3 * expected, rel=ROUNDING
    )


def potential(R, V):
    """J(R, V) by scipy."""
    inner = quad(
        lambda u: math.expm1(math.exp(-u) / 2 * R - math.exp(-2 * u) / 4 * V),
        0,
        45,
        epsrel=1e-11,
        limit=500,
    )
    return inner[0]


@pytest.mark.parametrize(
    ("prior", "V", "T", "unit"),
    [(0.5, 3.0, 10, 1.0), (0.01, 400.0, 1000, 1.0), (0.2, 16.0, 50, 2.0)],
)
def test_bound_of_squint_solves_its_inequality(prior, V, T, unit):
    R = bounds.squint(prior=prior, squares=V, horizon=T, range=unit) / unit
    assert prior * potential(R, V / unit**2) == pytest.approx(
        -(1 - prior) * potential(-T, T), rel=1e-8
    )


def test_refusals():
    with pytest.raises(ValueError, match="prior must be at most 1"):
        bounds.squint(prior=1.5, squares=1.0, horizon=5)
    given = {"experts": 2, "learning_rate": 0.1, "horizon": 5}
    with pytest.raises(ValueError, match="switches must be below the horizon"):
        bounds.fixed_share(**given, share=0.1, switches=5)
    with pytest.raises(ValueError, match=r"share must be below 1, got 1\.0"):
        bounds.fixed_share(**given, share=1, switches=2)
