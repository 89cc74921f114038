r"""What the metas promise on their own: regret of the weights to one expert, explicit numbers.

Regret is :math:`\sum_t \langle p_t, \ell_t \rangle - \ell_{t,i}` for any losses of which no two lie
further apart in a round than ``range``. Each of these holds for the meta of that name made with
that range and without guesses.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from swordplay.core import arguments
from swordplay.core.arguments import checked

PANELS, PANEL = 300, 0.1
"""Of the integrals of Squint, in the logarithm of the rate: down to rates of 5e-14, below which
the integrand is linear.
"""
NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(8)
RATES = 0.5 * np.exp(-PANEL * (np.arange(PANELS)[:, None] + (NODES + 1) / 2))
SMALLEST_RATE = 0.5 * math.exp(-PANEL * PANELS)
DOUBLINGS, HALVINGS = 60, 54
"""Steps of a search for a root: up to a bracket, and down to rounding."""


@checked
def fixed_share(
    *,
    experts: int,
    share: float,
    learning_rate: float,
    switches: int,
    horizon: int,
    range: float = 1.0,
) -> float:
    r"""Fixed share against every sequence of experts with m switches, from a uniform prior.

    .. math:: \frac1\varepsilon \Big[(m+1) \ln N + m \ln\frac1\alpha + (T - 1 - m)
        \ln\frac1{1-\alpha}\Big]
        + \frac{\varepsilon T}{8}

    in units of ``range``: the sequence has at least the weight :math:`(1/N) (\alpha/N)^m
    (1-\alpha)^{T-1-m}`, and the mean loss of a round exceeds its mix loss by at most
    :math:`\varepsilon/8` (Hoeffding).

    References
    ----------
    Herbster and Warmuth (1998); Cesa-Bianchi, Gaillard, Lugosi, Stoltz (2012).
    """
    N, m, T = (
        arguments.integer("experts", experts),
        arguments.integer("switches", switches, least=0),
        arguments.integer("horizon", horizon),
    )
    if m > T - 1:
        raise ValueError(
            f"switches must be below the horizon of {T}, got {m}. There are {T - 1} places for "
            "them."
        )
    alpha, eps, unit = (
        arguments.positive(name, value)
        for name, value in (("share", share), ("learning_rate", learning_rate), ("range", range))
    )
    stays = (T - 1 - m) * -math.log1p(-alpha) if m < T - 1 else 0.0
    return unit * (((m + 1) * math.log(N) - m * math.log(alpha) + stays) / eps + eps * T / 8)


@checked
def ada_normal_hedge(*, prior: float, magnitude: float, horizon: int, range: float = 1.0) -> float:
    r"""AdaNormalHedge against an expert of prior weight :math:`\pi`.

    .. math:: \sqrt{3 C \ln\frac{B}{\pi}}, \qquad B = 1 + \tfrac32 (1 + \ln(1 + T)), \qquad C =
        \sum_t |r_t|

    in units of ``range``. The potential :math:`e^{[R]_+^2/(3C)}` grows by at most :math:`w r + 3
    |r|/(2 (C + 1))` a round, and the weights make the first term vanish on average.

    References
    ----------
    Luo and Schapire (2015), Theorem 1; for one expert its ln(1 + ln N) is not needed.
    """
    q, T, unit = (
        _share("prior", prior),
        arguments.integer("horizon", horizon),
        arguments.positive("range", range),
    )
    C = arguments.nonnegative("magnitude", magnitude) / unit
    return unit * math.sqrt(3 * C * math.log((1 + 1.5 * (1 + math.log1p(T))) / q))


@checked
def adapt_ml_prod(
    *, prior: float, experts: int, squares: float, horizon: int, range: float = 1.0
) -> float:
    r"""Adapt-ML-Prod against an expert of prior weight :math:`\pi`, with :math:`\gamma = \ln N`.

    .. math:: \ln\tfrac1\pi \max\{2, \gamma^{-1/2}\} + 2 \sqrt{\gamma V}
        + \ln\Big(1 + \tfrac{N}{2e} (1 + \ln(1 + T))\Big) \max\Big\{2, \sqrt{\tfrac{1 +
          V}{\gamma}}\Big\},
        \qquad V = \sum_t r_t^2

    in units of ``range``. Gaillard et al. bound the same three sums by
    :math:`C \sqrt{(1 + V)/\gamma} + 2 C`, :math:`C = 3 \gamma + \ln(1 + \ldots)`; this keeps them
    apart.

    References
    ----------
    Gaillard, Stoltz, van Erven (2014), Theorem 3 and Corollary 4.
    """
    q, N, T = (
        _share("prior", prior),
        arguments.integer("experts", experts),
        arguments.integer("horizon", horizon),
    )
    unit = arguments.positive("range", range)
    V, gamma = arguments.nonnegative("squares", squares) / unit**2, math.log(max(N, 2))
    growth = math.log1p(N / (2 * math.e) * (1 + math.log1p(T)))
    first, last = max(2.0, 1 / math.sqrt(gamma)), max(2.0, math.sqrt((1 + V) / gamma))
    return unit * (-math.log(q) * first + 2 * math.sqrt(gamma * V) + growth * last)


@checked
def squint(*, prior: float, squares: float, horizon: int, range: float = 1.0) -> float:
    r"""Squint against an expert of prior weight :math:`\pi`.

    The largest R with

    .. math:: \pi J(R, V) \le -(1 - \pi) J(-T, T), \qquad
        J(R, V) = \int_0^{1/2} \frac{e^{\eta R - \eta^2 V} - 1}{\eta}\, d\eta, \qquad V = \sum_t
        r_t^2

    in units of ``range``; of order :math:`\sqrt{V (\ln(1/\pi) + \ln\ln T)}`. The sum of all
    :math:`\pi_j J(R_j, V_j)` starts at 0 and never grows, and no expert's J is below :math:`J(-T,
    T)`.

    References
    ----------
    Koolen and van Erven (2015), the improper prior; their Theorem 4 bounds the same inequality in
    closed form.
    """
    q, T, unit = (
        _share("prior", prior),
        arguments.integer("horizon", horizon),
        arguments.positive("range", range),
    )
    V = arguments.nonnegative("squares", squares) / unit**2
    owed = -(1 - q) * _potential(-float(T), float(T)) / q
    return unit * largest(lambda regret: _potential(regret, V) <= owed)


def _potential(regret: float, squares: float) -> float:
    """J(R, V), in the logarithm of the rate: rate = e^-u / 2, d rate / rate = du."""
    exponents = np.minimum(RATES * regret - RATES**2 * squares, 700.0)
    return float((np.expm1(exponents) @ NODE_WEIGHTS).sum() * PANEL / 2) + SMALLEST_RATE * regret


def largest(holds: Callable[[float], bool]) -> float:
    """The largest number from 0 on for which something holds that fails from some point on.

    It must hold at 0.
    """
    low, high = 0.0, 1.0
    for _ in range_of(DOUBLINGS):
        if not holds(high):
            break
        low, high = high, 2 * high
    for _ in range_of(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return high


range_of = range
"""The built-in one; in the bounds ``range`` is a length."""


def _share(name: str, value: float) -> float:
    """A number in (0, 1]."""
    number = arguments.positive(name, value)
    if number > 1:
        raise ValueError(
            f"{name} must be at most 1, got {number}. It is the weight of one expert before the "
            "first round."
        )
    return number
