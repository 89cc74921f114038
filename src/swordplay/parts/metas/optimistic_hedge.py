"""Optimistic Hedge: exponential weights on past losses and on a prediction of the next loss."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, final

import numpy as np

from swordplay.core.state import array
from swordplay.core.types import GameConstants, Vector
from swordplay.parts.metas.meta import SMALLEST_WEIGHT, checked_prior, split_among_copies
from swordplay.parts.rates import OptimismError, Rate, RateState


class HedgeState(NamedTuple):
    """State of the meta between two rounds, arrays of shape ``(N,)``."""

    log_prior: Annotated[Vector, array("experts", low=-1e3, high=0.0)]
    """Logarithms of the weights before the first round."""
    cumulative: Annotated[Vector, array("experts", low=0.0)]
    """Discounted sum of the losses of each expert since a restart, minus the smallest such sum."""
    optimism: Annotated[Vector, array("experts")]
    """m_t: the losses that were expected when the weights of this round were computed."""
    weights: Annotated[Vector, array("experts", low=0.0, high=1.0)]
    """p_t, positive with a sum of 1."""
    rate: RateState
    """State of the learning rate."""


@final
class OptimisticHedge:
    r"""Exponential weights on past losses plus a prediction of the next one.

    .. math:: p_{t+1,i} \propto \pi_i \exp\Big(-\varepsilon_{t+1} \big(\textstyle\sum_{s \le t}
        \ell_{s,i} + m_{t+1,i}\big)\Big)

    The current rate multiplies the whole cumulative loss (follow the regularised leader, not mirror
    descent). The formula is for a rate whose ``decay`` is 1. With decay < 1 the sum is multiplied
    by the decay before each loss is added. For rates that never increase and every expert i

    .. math:: \sum_t \langle p_t, \ell_t \rangle - \ell_{t,i} \le \frac{\lambda}{\varepsilon_T}
        + \sum_t \varepsilon_t\, \mathrm{hr}(\ell_t - m_t)^2 - \sum_{t \ge 2} \frac{\|p_t -
          p_{t-1}\|_1^2}{4 \varepsilon_{t-1}}.

    with :math:`\lambda = \ln(1 / \min_i \pi_i)` and the half range :math:`\mathrm{hr}(v) = (\max v
    - \min v)/2`. With an optimism of 0 this is Hedge. λ, the term of the prior in this bound, is
    called ``prior_cost``.

    Parameters
    ----------
    rate
        Rule for the learning rate :math:`\varepsilon_t`.
    constants
        Constants of the game that the rate may depend on.

    References
    ----------
    Zhao et al. (2020), the lemma on OptimisticHedge. The half range replaces the infinity norm of
    the paper: weights do not change when a constant is added to all losses.
    """

    def __init__(self, rate: Rate, constants: GameConstants) -> None:
        self.rate = rate
        self.constants = constants

    def settings(self) -> Mapping[str, Any]:
        """Rate and constants, saved with a learner's state."""
        return {"rate": self.rate, **self.constants._asdict()}

    def start(self, prior: Vector) -> HedgeState:
        """State before the first round, with weights equal to the prior."""
        prior = checked_prior(prior)
        zeros = np.zeros_like(prior)
        log_prior = np.log(prior)
        return HedgeState(
            log_prior, zeros, zeros, prior, self.rate.start(self.constants, prior_cost(log_prior))
        )

    def learn(self, state: HedgeState, losses: Vector, squared_gradient_error: float) -> HedgeState:
        """Return the state with the losses l_t of a round added; the weights do not change yet."""
        error = OptimismError(
            squared_loss_error=half_range(losses - state.optimism) ** 2,
            squared_gradient_error=squared_gradient_error,
        )
        rate, restarts = self.rate.step(
            state.rate, error, self.constants, prior_cost(state.log_prior)
        )
        # rates.Doubling restarts when the sum of squared gradient errors passes its guess. The sums
        # of losses then begin at 0, without the loss of this round.
        cumulative = (
            np.zeros_like(losses) if restarts else self.rate.decay * state.cumulative + losses
        )
        return state._replace(cumulative=cumulative - cumulative.min(), rate=rate)

    def weigh(self, state: HedgeState, optimism: Vector) -> HedgeState:
        """Return the state with the weights p_{t+1}, given m_{t+1} of shape ``(N,)``."""
        weights = exponential_weights(
            state.log_prior, state.cumulative + optimism, state.rate.value
        )
        return state._replace(optimism=optimism, weights=weights)

    def copy_experts(self, state: HedgeState, parents: Vector, prior: Vector) -> HedgeState:
        """Return a state with copies of experts; copies share the weight of their parent."""
        return HedgeState(
            np.log(prior),
            state.cumulative[parents],
            state.optimism[parents],
            split_among_copies(state.weights, parents, prior),
            state.rate,
        )


def half_range(values: Vector) -> float:
    """Return hr(v), half the difference of the largest and the smallest value."""
    return float(values.max() - values.min()) / 2


def prior_cost(log_prior: Vector) -> float:
    """Return λ = ln(1 / smallest prior), the prior's term in the regret bound; ln N if uniform."""
    return -float(log_prior.min())


def exponential_weights(log_prior: Vector, losses: Vector, rate: float) -> Vector:
    """Return ``prior * exp(-rate * losses)``, normalized to a sum of 1.

    An infinite rate gives all weight to the experts with the least loss. Weights below
    ``SMALLEST_WEIGHT`` are then raised to it, so that none is 0.
    """
    gaps = losses - losses.min()
    with np.errstate(invalid="ignore", over="ignore"):
        penalty = np.where(gaps > 0, rate * gaps, 0.0)
    scores = log_prior - penalty
    weights = np.exp(scores - scores.max())
    return np.asarray(np.maximum(weights / weights.sum(), SMALLEST_WEIGHT))
