"""Adapt-ML-Prod: a rate for each expert, which shrinks with what that expert's regrets vary."""

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
"""ln(1 + x) >= x - x^2 holds from -1/2 on."""


class AdaptMLProdState(NamedTuple):
    """What the meta needs for the next round; shapes ``(N,)``."""

    log_prior: Vector
    log_products: Vector
    """Logarithms of the experts' products w."""
    squares: Vector
    """V: sum of squared surprises (r_i - rhat_i)^2 so far, in the unit."""
    rates: Vector
    """eta_i of the coming round."""
    guesses: Vector
    weights: Vector
    """p_t."""
    unit: float
    """Regrets count relative to this."""


@final
class AdaptMLProd:
    r"""Products of 1 + rate times regret, with one rate per expert.

    .. math:: \eta_{t,i} = \min\Big\{\tfrac12, \sqrt{\frac{\ln N}{1 + V_i}}\Big\}, \quad
        w_{t+1,i} = \big(w_{t,i} (1 + \eta_{t,i} (r_{t,i} - \hat r_{t,i}))\,
        e^{\eta_{t,i} \hat r_{t,i}}\big)^{\eta_{t+1,i}/\eta_{t,i}},
        \quad p_{t,i} \propto \eta_{t,i} w_{t,i} e^{\eta_{t,i} \hat r_{t,i}}

    :math:`V_i = \sum (r_{s,i} - \hat r_{s,i})^2`, where :math:`\hat r` are the regrets that the
    guesses expect (0 without optimism), all in units of ``range``. Regret of order :math:`\sqrt{V_i
    \ln N}`: ``bounds.adapt_ml_prod``.

    Parameters
    ----------
    range
        How far the losses of a round (less their guesses) may lie apart, such as D G, and twice
        that with guesses. Unless given it is measured: the largest surprise so far; the bound is
        proved for a range that is given.

    References
    ----------
    Gaillard, Stoltz, van Erven (2014), "A second-order bound with excess losses"; with guesses Wei,
    Hong, Lu (2016).
    """

    def __init__(self, *, range: float | None = None) -> None:
        self.range = None if range is None else arguments.positive("range", range)

    def __repr__(self) -> str:
        return f"AdaptMLProd(range={self.range})"

    def settings(self) -> Mapping[str, Any]:
        """The range, if one was given."""
        return {"range": self.range}

    def start(self, prior: Vector) -> AdaptMLProdState:
        """Weights equal to the prior."""
        prior = checked_prior(prior)
        nothing = np.zeros_like(prior)
        rates = _rates(nothing, len(prior))
        return AdaptMLProdState(
            np.log(prior), np.log(prior), nothing, rates, nothing, prior, self.range or 0.0
        )

    def learn(self, state: AdaptMLProdState, losses: Vector, surprise: float) -> AdaptMLProdState:
        """Multiply, and shrink the rates."""
        met = surprises(state.weights, losses, state.guesses, state.unit)
        squares = met.shrink**2 * state.squares + (met.regrets - met.expected) ** 2
        rates = np.minimum(state.rates, _rates(squares, len(losses)))
        won = np.log1p(state.rates * (met.regrets - met.expected)) + state.rates * met.expected
        return state._replace(
            log_products=rates / state.rates * (state.log_products + won),
            squares=squares,
            rates=rates,
            unit=met.unit,
        )

    def weigh(self, state: AdaptMLProdState, guesses: Vector) -> AdaptMLProdState:
        """The weights of the coming round."""
        scores = np.log(state.rates) + state.log_products
        unit = state.unit or 1.0
        weights = consistent(
            guesses,
            lambda expected: normalised(scores + state.rates * expected / unit, state.log_prior),
        )
        return state._replace(guesses=guesses, weights=weights)

    def fork(self, state: AdaptMLProdState, parents: Vector, prior: Vector) -> AdaptMLProdState:
        """More experts, each with the past of its parent."""
        family = np.bincount(parents, weights=prior)[parents]
        return AdaptMLProdState(
            np.log(prior),
            state.log_products[parents] + np.log(prior / family),
            state.squares[parents],
            state.rates[parents],
            state.guesses[parents],
            shared_among_children(state.weights, parents, prior),
            state.unit,
        )


def _rates(squares: Vector, experts: int) -> Vector:
    """min{1/2, sqrt(ln N/(1 + V))}; one expert alone needs no rate and is given that of two."""
    return np.asarray(np.minimum(LARGEST_RATE, np.sqrt(math.log(max(experts, 2)) / (1 + squares))))
