"""Optimistic Hedge: weights that follow the losses and lean on a guess of the next one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, final

import numpy as np

from swordplay.core.state import array
from swordplay.core.types import GameConstants, Vector
from swordplay.parts.metas.meta import SMALLEST_WEIGHT as SMALLEST_WEIGHT
from swordplay.parts.metas.meta import checked_prior, split_among_copies
from swordplay.parts.rates import OptimismError, Rate, RateState


class HedgeState(NamedTuple):
    """What the meta needs for the next round; shapes ``(N,)``."""

    log_prior: Annotated[Vector, array("experts", low=-1e3, high=0.0)]
    cumulative: Annotated[Vector, array("experts", low=0.0)]
    """Sum of the losses of each expert since the meta's (re)start, less their minimum: only
    differences count.
    """
    optimism: Annotated[Vector, array("experts")]
    """m_t: the losses that the weights of this round were made for."""
    weights: Annotated[Vector, array("experts", low=0.0, high=1.0)]
    """p_t."""
    rate: RateState


@final
class OptimisticHedge:
    r"""Exponential weights on past losses plus a guess of the coming one.

    .. math:: p_{t+1,i} \propto \pi_i \exp\Big(-\varepsilon_{t+1} \big(\textstyle\sum_{s \le t}
        \ell_{s,i} + m_{t+1,i}\big)\Big)

    The current rate multiplies the whole cumulative loss (the FTRL form, not the greedy product).
    For any rates that never increase and every expert i

    .. math:: \sum_t \langle p_t, \ell_t \rangle - \ell_{t,i} \le \frac{\lambda}{\varepsilon_T}
        + \sum_t \varepsilon_t\, \mathrm{hr}(\ell_t - m_t)^2 - \sum_{t \ge 2} \frac{\|p_t -
          p_{t-1}\|_1^2}{4 \varepsilon_{t-1}}.

    With optimism of 0 this is plain Hedge.

    Parameters
    ----------
    rate
        How the learning rate :math:`\varepsilon_t` is chosen.
    constants
        The constants that the rate may ask for.

    References
    ----------
    Zhao et al. (2020), the lemma on OptimisticHedge; the half range in place of the paper's
    infinity norm because a shift of all losses moves no weight.
    """

    def __init__(self, rate: Rate, constants: GameConstants) -> None:
        self.rate = rate
        self.constants = constants

    def settings(self) -> Mapping[str, Any]:
        """The rate, and the constants that it may ask for."""
        return {"rate": self.rate, **self.constants._asdict()}

    def start(self, prior: Vector) -> HedgeState:
        """Weights equal to the prior."""
        prior = checked_prior(prior)
        nothing = np.zeros_like(prior)
        log_prior = np.log(prior)
        return HedgeState(
            log_prior, nothing, nothing, prior, self.rate.start(self.constants, entropy(log_prior))
        )

    def learn(self, state: HedgeState, losses: Vector, gradient_error: float) -> HedgeState:
        """Take in the losses of a round; the weights still stand.

        Parameters
        ----------
        state
            The meta's state in this round.
        losses
            l_t, shape ``(N,)``.
        gradient_error
            norm(g_t - M_t)^2, for the rates that are tuned by it.
        """
        signal = OptimismError(half_range(losses - state.optimism) ** 2, gradient_error)
        rate, restart = self.rate.step(state.rate, signal, self.constants, entropy(state.log_prior))
        cumulative = (
            np.zeros_like(losses) if restart else self.rate.decay * state.cumulative + losses
        )
        return state._replace(cumulative=cumulative - cumulative.min(), rate=rate)

    def weigh(self, state: HedgeState, optimism: Vector) -> HedgeState:
        """The weights of the coming round, for optimism m_{t+1} of shape ``(N,)``."""
        weights = exponential_weights(
            state.log_prior, state.cumulative + optimism, state.rate.value
        )
        return state._replace(optimism=optimism, weights=weights)

    def copy_experts(self, state: HedgeState, parents: Vector, prior: Vector) -> HedgeState:
        """More experts, each with the past of its parent.

        A parent's weight is shared among its children.

        Parameters
        ----------
        state
            The meta's state.
        parents
            For each expert to be, the index of the one it is a copy of, shape ``(N',)``.
        prior
            The prior of the experts to be, shape ``(N',)``.
        """
        return HedgeState(
            np.log(prior),
            state.cumulative[parents],
            state.optimism[parents],
            split_among_copies(state.weights, parents, prior),
            state.rate,
        )


def half_range(values: Vector) -> float:
    """Half of what lies between the largest and the smallest value."""
    return float(values.max() - values.min()) / 2


def entropy(log_prior: Vector) -> float:
    """ln(1 / smallest prior): what it costs to find the least likely expert."""
    return -float(log_prior.min())


def exponential_weights(log_prior: Vector, losses: Vector, rate: float) -> Vector:
    """prior * exp(-rate * losses), normalised, in the log domain.

    An infinite rate follows the leaders.
    """
    gaps = losses - losses.min()
    with np.errstate(invalid="ignore", over="ignore"):
        penalty = np.where(gaps > 0, rate * gaps, 0.0)
    scores = log_prior - penalty
    weights = np.exp(scores - scores.max())
    return np.asarray(np.maximum(weights / weights.sum(), SMALLEST_WEIGHT))
