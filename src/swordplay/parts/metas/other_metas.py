"""Metas of other papers: FixedShare, AdaNormalHedge, AdaptMLProd and Squint."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.state import OBSERVED_ROUNDS_RANGE, array, number
from swordplay.core.types import Vector
from swordplay.parts.metas.meta import (
    checked_prior,
    normalized_weights,
    scaled_regrets,
    solve_self_consistent,
    split_among_copies,
)

MAX_REGRET = 1e100
"""Loaded states with larger sums of regrets, or larger ``log_products``, are refused.

The squares of these numbers must not overflow.
"""
DEFAULT_SHARE = 0.01
"""Default share of FixedShare, for a best expert that changes once in 100 rounds."""

MAX_RATE = 0.5
"""Largest rate of AdaptMLProd and Squint.

With x a rate times a regret in [-1, 1], ln(1 + x) >= x - x^2 and e^(x - x^2) <= 1 + x hold for
x >= -1/2.
"""

MAX_QUADRATURE_SQUARES = 1.0
"""Largest V for which the integral of Squint is computed by quadrature.

Up to this and ``MAX_QUADRATURE_REGRET`` the integrand is so smooth that 32 nodes give the integral
up to rounding error. Beyond either limit the closed form has no cancellation.
"""
MAX_QUADRATURE_REGRET = 50.0
"""Largest abs(R) for which the integral of Squint is computed by quadrature."""

LEGENDRE_NODES, LEGENDRE_WEIGHTS = np.polynomial.legendre.leggauss(32)
"""Nodes in [-1, 1] and weights of Gauss-Legendre quadrature."""

MIN_ASYMPTOTIC_ARGUMENT = 25.0
"""Smallest x for which e^(x^2) erfc(x) is computed by its asymptotic series.

Its first six terms are exact up to rounding there. For large x, e^(x^2) overflows and erfc(x)
underflows.
"""


class FixedShareState(NamedTuple):
    """State of the meta between two rounds, arrays of shape ``(N,)``."""

    log_prior: Annotated[Vector, array("experts", low=-1e3, high=0.0)]
    """Logarithms of the weights before the first round."""
    posterior: Annotated[Vector, array("experts", low=sys.float_info.min, high=1.0)]
    """Weights after all losses so far and the redistribution, without the optimism."""
    optimism: Annotated[Vector, array("experts")]
    """m_t: the losses that were expected when the weights of this round were computed."""
    weights: Annotated[Vector, array("experts", low=0.0, high=1.0)]
    """p_t, positive with a sum of 1."""
    unit: Annotated[float, number(0.0)]
    """Unit of the losses: ``range`` (0 if not given), grown to the largest difference so far."""


@final
class FixedShare:
    r"""Hedge that redistributes a share of the weights in each round, to follow the best expert.

    .. math:: v_i \propto q_{t,i}\, e^{-\varepsilon \ell_{t,i}}, \qquad q_{t+1} = (1 - \alpha) v +
        \alpha \pi, \qquad p_{t+1,i} \propto q_{t+1,i}\, e^{-\varepsilon m_{t+1,i}}

    with the prior :math:`\pi`, the losses :math:`\ell_t`, the predicted losses :math:`m_{t+1}` and
    the posterior :math:`q_1 = \pi`.
    ``bounds.fixed_share`` bounds the regret against every sequence of experts that changes m times,
    with losses in units of ``range``.

    Parameters
    ----------
    share
        :math:`\alpha` in (0, 1), for a best expert that changes once in :math:`1/\alpha` rounds.
    learning_rate
        :math:`\varepsilon`, for losses in units of ``range``; :math:`\sqrt{8 \alpha (1 +
        \ln(N/\alpha))}` unless given, which minimises the bound if the best expert changes that
        often.
    range
        Bound on the differences of the losses of a round (minus their optimism), such as D G.
        Unless given it is measured: the largest difference so far.

    References
    ----------
    Herbster and Warmuth (1998), "Tracking the best expert".
    """

    def __init__(
        self,
        share: float = DEFAULT_SHARE,
        learning_rate: float | None = None,
        *,
        range: float | None = None,
    ) -> None:
        self.share = arguments.positive("share", share)
        if self.share >= 1:
            raise ValueError(f"share must be below 1, got {self.share}. Try {DEFAULT_SHARE}.")
        self.learning_rate = (
            None if learning_rate is None else arguments.positive("learning_rate", learning_rate)
        )
        self.range = None if range is None else arguments.positive("range", range)

    def __repr__(self) -> str:
        return (
            f"FixedShare(share={self.share}, learning_rate={self.learning_rate}, "
            f"range={self.range})"
        )

    def settings(self) -> Mapping[str, Any]:
        """Constructor arguments, saved with a learner's state."""
        return {"share": self.share, "learning_rate": self.learning_rate, "range": self.range}

    def start(self, prior: Vector) -> FixedShareState:
        """State before the first round, with weights equal to the prior."""
        prior = checked_prior(prior)
        return FixedShareState(np.log(prior), prior, np.zeros_like(prior), prior, self.range or 0.0)

    def learn(
        self, state: FixedShareState, losses: Vector, squared_gradient_error: float
    ) -> FixedShareState:
        """Return the state with the losses of the round added and a share redistributed."""
        unit = scaled_regrets(state.weights, losses, state.optimism, state.unit).unit
        if unit == 0:  # no two losses have differed so far, after their optimism is subtracted
            return state
        prior = np.exp(state.log_prior)
        scores = np.log(state.posterior) - self._rate(len(losses)) * (losses - losses.min()) / unit
        posterior = (1 - self.share) * normalized_weights(
            scores, state.log_prior
        ) + self.share * prior
        return state._replace(posterior=posterior, unit=unit)

    def weigh(self, state: FixedShareState, optimism: Vector) -> FixedShareState:
        """Return the state with the weights p_{t+1}, given m_{t+1} of shape ``(N,)``."""
        scores = np.log(state.posterior)
        if state.unit > 0:
            scores = scores - self._rate(len(optimism)) * (optimism - optimism.min()) / state.unit
        return state._replace(
            optimism=optimism, weights=normalized_weights(scores, state.log_prior)
        )

    def copy_experts(
        self, state: FixedShareState, parents: Vector, prior: Vector
    ) -> FixedShareState:
        """Return a state with copies of experts; copies share the weight of their parent."""
        posterior, weights = (
            split_among_copies(shares, parents, prior)
            for shares in (state.posterior, state.weights)
        )
        return FixedShareState(
            np.log(prior), posterior, state.optimism[parents], weights, state.unit
        )

    def _rate(self, experts: int) -> float:
        return (
            fixed_share_default_rate(self.share, experts)
            if self.learning_rate is None
            else self.learning_rate
        )


def fixed_share_default_rate(share: float, experts: int) -> float:
    r"""Return the default rate of FixedShare, :math:`\sqrt{8 \alpha (1 + \ln(N/\alpha))}`.

    If the best expert changes every :math:`1/\alpha` rounds, the regret bound is at most
    :math:`\alpha (1 + \ln(N/\alpha))/\varepsilon + \varepsilon/8` a round. At this rate both terms
    are equal.
    """
    return math.sqrt(8 * share * (1 + math.log(experts / share)))


class AdaNormalHedgeState(NamedTuple):
    """State of the meta between two rounds, arrays of shape ``(N,)``."""

    log_prior: Annotated[Vector, array("experts", low=-1e3, high=0.0)]
    """Logarithms of the weights before the first round."""
    regrets: Annotated[Vector, array("experts", low=-MAX_REGRET, high=MAX_REGRET)]
    """R: sum of r_i = <p, l> - l_i so far, in the unit."""
    magnitudes: Annotated[Vector, array("experts", low=0.0, high=OBSERVED_ROUNDS_RANGE.high)]
    """C: sum of abs(r_i) so far, in the unit."""
    optimism: Annotated[Vector, array("experts")]
    """m_t: the losses that were expected when the weights of this round were computed."""
    weights: Annotated[Vector, array("experts", low=0.0, high=1.0)]
    """p_t, positive with a sum of 1."""
    unit: Annotated[float, number(0.0)]
    """Unit of the regrets: ``range`` (0 if not given), grown to the largest difference so far."""


@final
class AdaNormalHedge:
    r"""Weights from regrets and their magnitudes, without a learning rate.

    .. math:: p_{t+1,i} \propto \tfrac12 \pi_i \big[e^{[R_i + 1]_+^2 / (3 (C_i + 1))} - e^{[R_i -
        1]_+^2 / (3 (C_i + 1))}\big], \qquad R_i = \sum_s r_{s,i}, \quad C_i = \sum_s |r_{s,i}|

    with regrets :math:`r_{s,i} = \langle p_s, \ell_s \rangle - \ell_{s,i}` in units of ``range``.
    For every expert :math:`R_i \le \sqrt{3 C_i \ln(B/\pi_i)}`,
    :math:`B = 1 + \tfrac32 \sum_j \pi_j (1 + \ln(1 + C_j))`: ``bounds.ada_normal_hedge``. The
    optimism is stored but not used: no bound is proved for an optimistic form.

    Parameters
    ----------
    range
        Bound on the differences of the losses of a round, such as D G. Unless given it is measured:
        the largest difference so far. The bound is proved for a range that is given.

    References
    ----------
    Luo and Schapire (2015), "Achieving all with no parameters: AdaNormalHedge".
    """

    def __init__(self, *, range: float | None = None) -> None:
        self.range = None if range is None else arguments.positive("range", range)

    def __repr__(self) -> str:
        return f"AdaNormalHedge(range={self.range})"

    def settings(self) -> Mapping[str, Any]:
        """Constructor arguments, saved with a learner's state."""
        return {"range": self.range}

    def start(self, prior: Vector) -> AdaNormalHedgeState:
        """State before the first round, with weights equal to the prior."""
        prior = checked_prior(prior)
        zeros = np.zeros_like(prior)
        return AdaNormalHedgeState(np.log(prior), zeros, zeros, zeros, prior, self.range or 0.0)

    def learn(
        self, state: AdaNormalHedgeState, losses: Vector, squared_gradient_error: float
    ) -> AdaNormalHedgeState:
        """Return the state with the regrets of the round added."""
        scaled = scaled_regrets(state.weights, losses, np.zeros_like(losses), state.unit)
        return state._replace(
            regrets=scaled.unit_ratio * state.regrets + scaled.regrets,
            magnitudes=scaled.unit_ratio * state.magnitudes + np.abs(scaled.regrets),
            unit=scaled.unit,
        )

    def weigh(self, state: AdaNormalHedgeState, optimism: Vector) -> AdaNormalHedgeState:
        """Return the state with the weights p_{t+1}; the optimism is stored and not used."""
        scores = state.log_prior + log_potential_slope(state.regrets, state.magnitudes)
        return state._replace(
            optimism=optimism, weights=normalized_weights(scores, state.log_prior)
        )

    def copy_experts(
        self, state: AdaNormalHedgeState, parents: Vector, prior: Vector
    ) -> AdaNormalHedgeState:
        """Return a state with copies of experts; copies share the weight of their parent."""
        return AdaNormalHedgeState(
            np.log(prior),
            state.regrets[parents],
            state.magnitudes[parents],
            state.optimism[parents],
            split_among_copies(state.weights, parents, prior),
            state.unit,
        )


def log_potential_slope(regrets: Vector, magnitudes: Vector) -> Vector:
    r"""Return the logarithm of :math:`\tfrac12 [e^{[R+1]_+^2/(3(C+1))} - e^{[R-1]_+^2/(3(C+1))}]`.

    Minus infinity where R <= -1.
    """
    # Both exponents have the denominator 3 (C + 1). One published implementation has 3 (C - 1) in
    # the second, which is 0 in the first rounds.
    upper, lower = (
        np.maximum(regrets + shift, 0.0) ** 2 / (3 * (magnitudes + 1)) for shift in (1.0, -1.0)
    )
    # ln((e^upper - e^lower) / 2) without overflow
    with np.errstate(divide="ignore"):
        return np.asarray(upper + np.log(-np.expm1(lower - upper)) - np.log(2.0))


class AdaptMLProdState(NamedTuple):
    """State of the meta between two rounds, arrays of shape ``(N,)``."""

    log_prior: Annotated[Vector, array("experts", low=-1e3, high=0.0)]
    """Logarithms of the weights before the first round."""
    log_products: Annotated[Vector, array("experts", low=-MAX_REGRET, high=MAX_REGRET)]
    """ln w_i of the next round."""
    squares: Annotated[Vector, array("experts", low=0.0, high=4.0 * OBSERVED_ROUNDS_RANGE.high)]
    """V: sum of (r_i - rhat_i)^2 so far, in the unit."""
    rates: Annotated[Vector, array("experts", low=1e-20, high=MAX_RATE)]
    """eta_i of the next round."""
    optimism: Annotated[Vector, array("experts")]
    """m_t: the losses that were expected when the weights of this round were computed."""
    weights: Annotated[Vector, array("experts", low=0.0, high=1.0)]
    """p_t, positive with a sum of 1."""
    unit: Annotated[float, number(0.0)]
    """Unit of the regrets: ``range`` (0 if not given), grown to the largest difference so far."""


@final
class AdaptMLProd:
    r"""Weights from products of 1 + rate times regret, with one rate per expert.

    .. math:: \eta_{t,i} = \min\Big\{\tfrac12, \sqrt{\frac{\ln N}{1 + V_i}}\Big\}, \quad
        w_{t+1,i} = \big(w_{t,i} (1 + \eta_{t,i} (r_{t,i} - \hat r_{t,i}))\,
        e^{\eta_{t,i} \hat r_{t,i}}\big)^{\eta_{t+1,i}/\eta_{t,i}},
        \quad p_{t,i} \propto \eta_{t,i} w_{t,i} e^{\eta_{t,i} \hat r_{t,i}}

    with :math:`V_i = \sum_s (r_{s,i} - \hat r_{s,i})^2`, the regrets :math:`r_{t,i} = \langle p_t,
    \ell_t \rangle - \ell_{t,i}` and the expected regrets :math:`\hat r_{t,i} = \langle p_t, m_t
    \rangle - m_{t,i}` (0 without optimism), all in units of ``range``. The regret is of order
    :math:`\sqrt{V_i \ln N}`: ``bounds.adapt_ml_prod``.

    Parameters
    ----------
    range
        Bound on the differences of the losses of a round (minus their optimism), such as D G
        without optimism and 2 D G with it. Unless given it is measured: the largest difference so
        far. The bound is proved for a range that is given.

    References
    ----------
    Gaillard, Stoltz, van Erven (2014), "A second-order bound with excess losses"; with optimism:
    Wei, Hong, Lu (2016).
    """

    def __init__(self, *, range: float | None = None) -> None:
        self.range = None if range is None else arguments.positive("range", range)

    def __repr__(self) -> str:
        return f"AdaptMLProd(range={self.range})"

    def settings(self) -> Mapping[str, Any]:
        """Constructor arguments, saved with a learner's state."""
        return {"range": self.range}

    def start(self, prior: Vector) -> AdaptMLProdState:
        """State before the first round, with weights equal to the prior."""
        prior = checked_prior(prior)
        zeros = np.zeros_like(prior)
        rates = _adapt_ml_prod_rates(zeros, len(prior))
        return AdaptMLProdState(
            np.log(prior), np.log(prior), zeros, rates, zeros, prior, self.range or 0.0
        )

    def learn(
        self, state: AdaptMLProdState, losses: Vector, squared_gradient_error: float
    ) -> AdaptMLProdState:
        """Return the state with the products multiplied and the rates of the next round."""
        scaled = scaled_regrets(state.weights, losses, state.optimism, state.unit)
        squares = (
            scaled.unit_ratio**2 * state.squares + (scaled.regrets - scaled.expected_regrets) ** 2
        )
        rates = np.minimum(state.rates, _adapt_ml_prod_rates(squares, len(losses)))
        # ln of (1 + eta (r - rhat)) e^(eta rhat)
        log_factors = (
            np.log1p(state.rates * (scaled.regrets - scaled.expected_regrets))
            + state.rates * scaled.expected_regrets
        )
        return state._replace(
            log_products=rates / state.rates * (state.log_products + log_factors),
            squares=squares,
            rates=rates,
            unit=scaled.unit,
        )

    def weigh(self, state: AdaptMLProdState, optimism: Vector) -> AdaptMLProdState:
        """Return the state with the weights p_{t+1}, given m_{t+1} of shape ``(N,)``."""
        scores = np.log(state.rates) + state.log_products
        unit = state.unit or 1.0
        weights = solve_self_consistent(
            optimism,
            lambda expected: normalized_weights(
                scores + state.rates * expected / unit, state.log_prior
            ),
        )
        return state._replace(optimism=optimism, weights=weights)

    def copy_experts(
        self, state: AdaptMLProdState, parents: Vector, prior: Vector
    ) -> AdaptMLProdState:
        """Return a state with copies of experts; copies share the weight of their parent."""
        # Sum of the prior over all copies of the same parent.
        prior_sums = np.bincount(parents, weights=prior)[parents]
        return AdaptMLProdState(
            np.log(prior),
            state.log_products[parents] + np.log(prior / prior_sums),
            state.squares[parents],
            state.rates[parents],
            state.optimism[parents],
            split_among_copies(state.weights, parents, prior),
            state.unit,
        )


def _adapt_ml_prod_rates(squares: Vector, experts: int) -> Vector:
    """Return min{1/2, sqrt(ln N/(1 + V))} of each expert; ln 2 replaces ln N for N = 1."""
    return np.asarray(np.minimum(MAX_RATE, np.sqrt(math.log(max(experts, 2)) / (1 + squares))))


class SquintState(NamedTuple):
    """State of the meta between two rounds, arrays of shape ``(N,)``."""

    log_prior: Annotated[Vector, array("experts", low=-1e3, high=0.0)]
    """Logarithms of the weights before the first round."""
    regrets: Annotated[Vector, array("experts", low=-MAX_REGRET, high=MAX_REGRET)]
    """R: sum of the regrets r_i so far, in the unit."""
    squares: Annotated[Vector, array("experts", low=0.0, high=4.0 * OBSERVED_ROUNDS_RANGE.high)]
    """V: sum of (r_i - rhat_i)^2 so far, in the unit."""
    optimism: Annotated[Vector, array("experts")]
    """m_t: the losses that were expected when the weights of this round were computed."""
    weights: Annotated[Vector, array("experts", low=0.0, high=1.0)]
    """p_t, positive with a sum of 1."""
    unit: Annotated[float, number(0.0)]
    """Unit of the regrets: ``range`` (0 if not given), grown to the largest difference so far."""


@final
class Squint:
    r"""Exponential weights, integrated over all learning rates up to 1/2 with a prior of 1/rate.

    .. math:: p_{t+1,i} \propto \pi_i \int_0^{1/2} e^{\eta (R_i + \hat r_i) - \eta^2 V_i}\, d\eta,
        \qquad R_i = \sum_s r_{s,i}, \quad V_i = \sum_s (r_{s,i} - \hat r_{s,i})^2

    with the regrets :math:`r_{t,i} = \langle p_t, \ell_t \rangle - \ell_{t,i}` and the expected
    regrets :math:`\hat r_{t,i} = \langle p_t, m_t \rangle - m_{t,i}` (0 without optimism), all in
    units of ``range``. The regret is of order :math:`\sqrt{V_i (\ln(1/\pi_i) + \ln\ln T)}`:
    ``bounds.squint``.

    Parameters
    ----------
    range
        Bound on the differences of the losses of a round (minus their optimism), such as D G
        without optimism and 2 D G with it. Unless given it is measured: the largest difference so
        far. The bound is proved for a range that is given.

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
        """Constructor arguments, saved with a learner's state."""
        return {"range": self.range}

    def start(self, prior: Vector) -> SquintState:
        """State before the first round, with weights equal to the prior."""
        prior = checked_prior(prior)
        zeros = np.zeros_like(prior)
        return SquintState(np.log(prior), zeros, zeros, zeros, prior, self.range or 0.0)

    def learn(
        self, state: SquintState, losses: Vector, squared_gradient_error: float
    ) -> SquintState:
        """Return the state with the regrets of the round added."""
        scaled = scaled_regrets(state.weights, losses, state.optimism, state.unit)
        return state._replace(
            regrets=scaled.unit_ratio * state.regrets + scaled.regrets,
            squares=scaled.unit_ratio**2 * state.squares
            + (scaled.regrets - scaled.expected_regrets) ** 2,
            unit=scaled.unit,
        )

    def weigh(self, state: SquintState, optimism: Vector) -> SquintState:
        """Return the state with the weights p_{t+1}, given m_{t+1} of shape ``(N,)``."""
        unit = state.unit or 1.0  # where the unit is 0, so are all regrets minus expected ones

        def weights_for(expected: Vector) -> Vector:
            scores = [
                log_integral(R, V)
                for R, V in zip(state.regrets + expected / unit, state.squares, strict=True)
            ]
            return normalized_weights(state.log_prior + np.array(scores), state.log_prior)

        return state._replace(
            optimism=optimism, weights=solve_self_consistent(optimism, weights_for)
        )

    def copy_experts(self, state: SquintState, parents: Vector, prior: Vector) -> SquintState:
        """Return a state with copies of experts; copies share the weight of their parent."""
        return SquintState(
            np.log(prior),
            state.regrets[parents],
            state.squares[parents],
            state.optimism[parents],
            split_among_copies(state.weights, parents, prior),
            state.unit,
        )


def log_integral(regret: float, squares: float) -> float:
    r"""Return the logarithm of :math:`\int_0^{1/2} e^{\eta R - \eta^2 V} d\eta`, any R and V >= 0.

    With :math:`x = \eta \sqrt V - R/(2 \sqrt V)` the integral is :math:`e^{R^2/(4V)} V^{-1/2}
    \int_a^b e^{-x^2} dx`, :math:`a = -R/(2 \sqrt V)`, :math:`b = (V - R)/(2 \sqrt V)`. Where a and
    b have one sign, the factor :math:`e^{R^2/(4V)} = e^{a^2}` is multiplied into the error
    functions, so that neither overflows or underflows.
    """
    R, V = float(regret), float(squares)
    # Small V and R: Gauss-Legendre quadrature.
    if V <= MAX_QUADRATURE_SQUARES and abs(R) <= MAX_QUADRATURE_REGRET:
        eta = MAX_RATE * (LEGENDRE_NODES + 1) / 2
        exponents = eta * R - eta**2 * V
        largest = float(exponents.max())
        return largest + math.log(
            MAX_RATE / 2 * float(LEGENDRE_WEIGHTS @ np.exp(exponents - largest))
        )
    # V = 0: (e^(R/2) - 1) / R.
    if V == 0:
        return max(R, 0.0) / 2 + math.log(-math.expm1(-abs(R) / 2) / abs(R))
    root_V = math.sqrt(V)
    a, b = -R / (2 * root_V), (V - R) / (2 * root_V)
    log_factor = math.log(math.sqrt(math.pi) / (2 * root_V))
    last_exponent = R / 2 - V / 4  # eta R - eta^2 V at eta = 1/2, equal to a^2 - b^2
    # 0 <= a <= b: e^(a^2) (erfc(a) - erfc(b)).
    if a >= 0:
        return log_factor + math.log(
            _scaled_erfc(a) - _exp_at_most_1(last_exponent) * _scaled_erfc(b)
        )
    # a <= b <= 0: e^(a^2) (erfc(-b) - erfc(-a)).
    if b <= 0:
        return (
            log_factor
            + last_exponent
            + math.log(_scaled_erfc(-b) - _exp_at_most_1(-last_exponent) * _scaled_erfc(-a))
        )
    # a < 0 < b: e^(a^2) (erf(b) + erf(-a)), a sum without cancellation.
    return log_factor + a * a + math.log(math.erf(b) + math.erf(-a))


def _exp_at_most_1(exponent: float) -> float:
    """Return min{e^x, 1}."""
    return math.exp(min(exponent, 0.0))


def _scaled_erfc(x: float) -> float:
    """Return e^(x^2) erfc(x) for x >= 0."""
    if x < MIN_ASYMPTOTIC_ARGUMENT:
        return math.exp(x * x) * math.erfc(x)
    # (1 - u + 3 u^2 - 15 u^3 + 105 u^4 - 945 u^5) / (x sqrt(pi)), u = 1 / (2 x^2)
    u = 1 / (2 * x * x)
    return (1 - u * (1 - 3 * u * (1 - 5 * u * (1 - 7 * u * (1 - 9 * u))))) / (
        x * math.sqrt(math.pi)
    )
