"""Squint: all rates at once, integrated out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Vector
from swordplay.parts.metas.meta import (
    checked_prior,
    consistent,
    normalised,
    shared_among_children,
    surprises,
)

LARGEST_RATE = 0.5
"""e^(x - x^2) <= 1 + x holds from -1/2 on."""
FLAT_SQUARES, FLAT_REGRET = 1.0, 50.0
"""Below both the integrand is so smooth that 32 nodes give the integral to rounding.

Above either nothing cancels.
"""
NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(32)
ASYMPTOTIC = 25.0
"""From here on six terms of the asymptotic series are exact, and e^(x^2) erfc(x) would soon be
infinity times 0.
"""


class SquintState(NamedTuple):
    """What the meta needs for the next round; shapes ``(N,)``."""

    log_prior: Vector
    regrets: Vector
    """R: sum of the regrets r_i so far, in the unit."""
    squares: Vector
    """V: sum of squared surprises (r_i - rhat_i)^2 so far, in the unit."""
    guesses: Vector
    weights: Vector
    """p_t."""
    unit: float
    """Regrets count relative to this."""


@final
class Squint:
    r"""Exponential weights under every rate up to 1/2, with the improper prior 1/rate.

    .. math:: p_{t+1,i} \propto \pi_i \int_0^{1/2} e^{\eta (R_i + \hat r_i) - \eta^2 V_i}\, d\eta,
        \qquad R_i = \sum_s r_{s,i}, \quad V_i = \sum_s (r_{s,i} - \hat r_{s,i})^2

    :math:`\hat r` are the regrets that the guesses expect (0 without optimism), all in units of
    ``range``. Regret of order :math:`\sqrt{V_i (\ln(1/\pi_i) + \ln\ln T)}`: ``bounds.squint``.

    Parameters
    ----------
    range
        How far the losses of a round (less their guesses) may lie apart, such as D G, and twice
        that with guesses. Unless given it is measured: the largest surprise so far; the bound is
        proved for a range that is given.

    References
    ----------
    Koolen and van Erven (2015), "Second-order quantile methods for experts and combinatorial
    games".
    """

    def __init__(self, *, range: float | None = None) -> None:
        self.range = None if range is None else arguments.positive("range", range)

    def __repr__(self) -> str:
        return f"Squint(range={self.range})"

    def settings(self) -> Mapping[str, Any]:
        """The range, if one was given."""
        return {"range": self.range}

    def start(self, prior: Vector) -> SquintState:
        """Weights equal to the prior."""
        prior = checked_prior(prior)
        nothing = np.zeros_like(prior)
        return SquintState(np.log(prior), nothing, nothing, nothing, prior, self.range or 0.0)

    def learn(self, state: SquintState, losses: Vector, surprise: float) -> SquintState:
        """Add the regrets of the round."""
        met = surprises(state.weights, losses, state.guesses, state.unit)
        return state._replace(
            regrets=met.shrink * state.regrets + met.regrets,
            squares=met.shrink**2 * state.squares + (met.regrets - met.expected) ** 2,
            unit=met.unit,
        )

    def weigh(self, state: SquintState, guesses: Vector) -> SquintState:
        """The weights of the coming round."""
        unit = state.unit or 1.0  # nothing was met where it is 0

        def weights_for(expected: Vector) -> Vector:
            scores = [
                log_integral(R, V)
                for R, V in zip(state.regrets + expected / unit, state.squares, strict=True)
            ]
            return normalised(state.log_prior + np.array(scores), state.log_prior)

        return state._replace(guesses=guesses, weights=consistent(guesses, weights_for))

    def fork(self, state: SquintState, parents: Vector, prior: Vector) -> SquintState:
        """More experts, each with the past of its parent."""
        return SquintState(
            np.log(prior),
            state.regrets[parents],
            state.squares[parents],
            state.guesses[parents],
            shared_among_children(state.weights, parents, prior),
            state.unit,
        )


def log_integral(regret: float, squares: float) -> float:
    r"""Logarithm of :math:`\int_0^{1/2} e^{\eta R - \eta^2 V} d\eta`, for any R and V >= 0.

    With :math:`x = \eta \sqrt V - R/(2 \sqrt V)` the integral is :math:`e^{R^2/(4V)} V^{-1/2}
    \int_a^b e^{-x^2} dx`, :math:`a = -R/(2 \sqrt V)`, :math:`b = (V - R)/(2 \sqrt V)`. Where a and
    b have one sign, the factor in front is taken inside scaled error functions, which neither
    overflow nor vanish.
    """
    R, V = float(regret), float(squares)
    if V <= FLAT_SQUARES and abs(R) <= FLAT_REGRET:
        eta = LARGEST_RATE * (NODES + 1) / 2
        exponents = eta * R - eta**2 * V
        top = float(exponents.max())
        return top + math.log(LARGEST_RATE / 2 * float(NODE_WEIGHTS @ np.exp(exponents - top)))
    if V == 0:  # (e^(R/2) - 1)/R
        return max(R, 0.0) / 2 + math.log(-math.expm1(-abs(R) / 2) / abs(R))
    root = math.sqrt(V)
    a, b = -R / (2 * root), (V - R) / (2 * root)
    front = math.log(math.sqrt(math.pi) / (2 * root))
    end = R / 2 - V / 4  # the exponent at a rate of 1/2, a^2 - b^2
    if a >= 0:
        return front + math.log(_scaled_erfc(a) - _fading(end) * _scaled_erfc(b))
    if b <= 0:
        return front + end + math.log(_scaled_erfc(-b) - _fading(-end) * _scaled_erfc(-a))
    return front + a * a + math.log(math.erf(b) + math.erf(-a))


def _fading(exponent: float) -> float:
    """e^x for x below 0."""
    return math.exp(min(exponent, 0.0))


def _scaled_erfc(x: float) -> float:
    """e^(x^2) erfc(x) for x >= 0."""
    if x < ASYMPTOTIC:
        return math.exp(x * x) * math.erfc(x)
    u = 1 / (2 * x * x)
    return (1 - u * (1 - 3 * u * (1 - 5 * u * (1 - 7 * u * (1 - 9 * u))))) / (
        x * math.sqrt(math.pi)
    )
