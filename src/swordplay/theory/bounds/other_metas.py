r"""Bounds of the metas beside optimistic Hedge: regret of the weighted mean to one expert.

Regret is :math:`\sum_t \langle p_t, \ell_t \rangle - \ell_{t,i}` for any losses that differ by at
most ``range`` within a round. Each bound holds for the meta of its name, made with that range and
without optimism.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np

from swordplay.core import arguments
from swordplay.theory.bounds.theorem import (
    NonNegative,
    NonNegativeInt,
    Positive,
    PositiveInt,
    theorem,
)

PANELS = 300
"""Number of panels into which the range of ln(rate) is cut to integrate Squint's potential.

They reach down to rates of 5e-14, below which the integrand over the rate is constant.
"""
PANEL_WIDTH = 0.1
"""Width of a panel in ln(rate)."""
NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(8)
"""Nodes and weights of Gauss-Legendre quadrature on [-1, 1]."""
RATES = 0.5 * np.exp(-PANEL_WIDTH * (np.arange(PANELS)[:, None] + (NODES + 1) / 2))
"""The rates at which the integrand is evaluated, one row for each panel."""
MIN_RATE = 0.5 * math.exp(-PANEL_WIDTH * PANELS)
"""Lower end of the last panel."""
MAX_EXPONENT = 700.0
"""The exponential of a larger number would overflow."""
MAX_DOUBLINGS = 60
"""Most doublings of the upper end of a bracket, until the bracket holds a root."""
HALVINGS = 54
"""Halvings of a bracket after which its two ends differ by rounding only."""


def _prior_weight(name: str, value: Any) -> float:
    """Check that a value is a weight in (0, 1]."""
    number = arguments.positive(name, value)
    if number > 1:
        raise ValueError(
            f"{name} must be at most 1, got {number}. It is the weight of one expert before the "
            "first round."
        )
    return number


PriorWeight = Annotated[float, _prior_weight]
"""The weight of one expert before the first round, a number in (0, 1]."""


@theorem
def fixed_share(
    *,
    experts: PositiveInt,
    share: Positive,
    learning_rate: Positive,
    switches: NonNegativeInt,
    horizon: PositiveInt,
    range: Positive = 1.0,
) -> float:
    r"""Regret bound of fixed share against every sequence of experts with m switches.

    .. math:: \frac1\varepsilon \Big[(m+1) \ln N + m \ln\frac1\alpha + (T - 1 - m)
        \ln\frac1{1-\alpha}\Big]
        + \frac{\varepsilon T}{8}

    in units of ``range``, from a uniform prior: the sequence has at least the weight :math:`(1/N)
    (\alpha/N)^m (1-\alpha)^{T-1-m}`, and the mean loss of a round exceeds its mix loss by at most
    :math:`\varepsilon/8` (Hoeffding).

    References
    ----------
    Herbster and Warmuth (1998); Cesa-Bianchi, Gaillard, Lugosi, Stoltz (2012).
    """
    N, m, T, alpha, eps = experts, switches, horizon, share, learning_rate
    if m > T - 1:
        raise ValueError(
            f"switches must be below the horizon of {T}, got {m}. There are {T - 1} places for "
            "them."
        )
    if alpha >= 1:
        raise ValueError(f"share must be below 1, got {alpha}. Give the share of the meta.")
    stay_term = (T - 1 - m) * -math.log1p(-alpha) if m < T - 1 else 0.0
    return range * (((m + 1) * math.log(N) - m * math.log(alpha) + stay_term) / eps + eps * T / 8)


@theorem
def ada_normal_hedge(
    *, prior: PriorWeight, magnitude: NonNegative, horizon: PositiveInt, range: Positive = 1.0
) -> float:
    r"""Regret bound of AdaNormalHedge against an expert of prior weight :math:`\pi`.

    .. math:: \sqrt{3 C \ln\frac{B}{\pi}}, \qquad B = 1 + \tfrac32 (1 + \ln(1 + T)), \qquad C =
        \sum_t |r_t|

    in units of ``range``, with :math:`r_t` the regret of a round and ``magnitude`` the sum C. Let R
    be the sum of all :math:`r_t`. The potential :math:`e^{[R]_+^2/(3C)}` of an expert of weight w
    grows by at most :math:`w r + 3 |r|/(2 (C + 1))` a round; the mean of w r over the experts is 0.

    References
    ----------
    Luo and Schapire (2015), Theorem 1; for one expert its ln(1 + ln N) is not needed.
    """
    T, C = horizon, magnitude / range
    return range * math.sqrt(3 * C * math.log((1 + 1.5 * (1 + math.log1p(T))) / prior))


@theorem
def adapt_ml_prod(
    *,
    prior: PriorWeight,
    experts: PositiveInt,
    squares: NonNegative,
    horizon: PositiveInt,
    range: Positive = 1.0,
) -> float:
    r"""Regret bound of Adapt-ML-Prod against an expert of prior weight :math:`\pi`.

    .. math:: \ln\tfrac1\pi \max\{2, \gamma^{-1/2}\} + 2 \sqrt{\gamma V}
        + \ln\Big(1 + \tfrac{N}{2e} (1 + \ln(1 + T))\Big) \max\Big\{2, \sqrt{\tfrac{1 +
          V}{\gamma}}\Big\},
        \qquad V = \sum_t r_t^2

    in units of ``range``, with :math:`\gamma = \ln N` and ``squares`` the sum V of squared regrets
    of the rounds. Gaillard et al. bound the three terms together by :math:`C \sqrt{(1 + V)/\gamma}
    + 2 C`, :math:`C = 3 \gamma + \ln(1 + \ldots)`.

    References
    ----------
    Gaillard, Stoltz, van Erven (2014), Theorem 3 and Corollary 4.
    """
    N, T = experts, horizon
    V, gamma = squares / range**2, math.log(max(N, 2))
    prior_term = -math.log(prior) * max(2.0, 1 / math.sqrt(gamma))
    log_potential = math.log1p(N / (2 * math.e) * (1 + math.log1p(T)))
    potential_term = log_potential * max(2.0, math.sqrt((1 + V) / gamma))
    return range * (prior_term + 2 * math.sqrt(gamma * V) + potential_term)


@theorem
def squint(
    *, prior: PriorWeight, squares: NonNegative, horizon: PositiveInt, range: Positive = 1.0
) -> float:
    r"""Regret bound of Squint against an expert of prior weight :math:`\pi`.

    The largest R with

    .. math:: \pi J(R, V) \le -(1 - \pi) J(-T, T), \qquad
        J(R, V) = \int_0^{1/2} \frac{e^{\eta R - \eta^2 V} - 1}{\eta}\, d\eta, \qquad V = \sum_t
        r_t^2

    in units of ``range``, with ``squares`` the sum V of squared regrets of the rounds; of order
    :math:`\sqrt{V (\ln(1/\pi) + \ln\ln T)}`. The sum of all :math:`\pi_j J(R_j, V_j)` starts at 0
    and never grows, and no expert's J is below :math:`J(-T, T)`.

    References
    ----------
    Koolen and van Erven (2015), the improper prior; their Theorem 4 bounds the same inequality in
    closed form.
    """
    T, V = horizon, squares / range**2
    max_potential = -(1 - prior) * _potential(-float(T), float(T)) / prior
    return range * largest_solution(lambda regret: _potential(regret, V) <= max_potential)


def _potential(regret: float, squares: float) -> float:
    """J(R, V) for R = ``regret`` and V = ``squares``, by quadrature in u = -ln(2 eta).

    d eta / eta = -du. Below MIN_RATE the integrand (e^(eta R - eta^2 V) - 1) / eta is close to R.
    """
    exponents = np.minimum(RATES * regret - RATES**2 * squares, MAX_EXPONENT)
    return float((np.expm1(exponents) @ NODE_WEIGHTS).sum() * PANEL_WIDTH / 2) + MIN_RATE * regret


def largest_solution(holds: Callable[[float], bool]) -> float:
    """The largest non-negative number for which a condition holds, rounded up.

    The condition must hold up to that number and fail beyond it.
    """
    low, high = 0.0, 1.0
    for _ in range(MAX_DOUBLINGS):
        if not holds(high):
            break
        low, high = high, 2 * high
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return high
