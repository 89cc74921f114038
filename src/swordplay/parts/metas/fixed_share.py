"""Fixed share: a Hedge that never gives up on anybody."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Vector
from swordplay.parts.metas.meta import checked_prior, normalised, shared_among_children, surprises

SHARE = 0.01
"""Worlds that change about once in a hundred rounds."""


class FixedShareState(NamedTuple):
    """What the meta needs for the next round; shapes ``(N,)``."""

    log_prior: Vector
    posterior: Vector
    """Weights after all losses so far and the sharing, before the guesses."""
    guesses: Vector
    weights: Vector
    """p_t."""
    unit: float
    """Losses count relative to this."""


@final
class FixedShare:
    r"""Exponential weights of which a share is handed out again in every round, so that a change of
    leader is quick.

    .. math:: v_i \propto q_{t,i}\, e^{-\varepsilon \ell_{t,i}}, \qquad q_{t+1} = (1 - \alpha) v +
        \alpha \pi, \qquad p_{t+1,i} \propto q_{t+1,i}\, e^{-\varepsilon m_{t+1,i}}

    Against every sequence of experts that changes m times, with losses in units of ``range``:
    ``bounds.fixed_share``.

    Parameters
    ----------
    share
        :math:`\alpha` in (0, 1): the leader is expected to change once in :math:`1/\alpha` rounds.
    learning_rate
        :math:`\varepsilon`, for losses in units of ``range``; :math:`\sqrt{8 \alpha (1 +
        \ln(N/\alpha))}` unless given, which is best where the leader changes as often as expected.
    range
        How far the losses of a round (less their guesses) may lie apart, such as D G. Unless given
        it is measured: the largest regret so far.

    References
    ----------
    Herbster and Warmuth (1998), "Tracking the best expert".
    """

    def __init__(
        self,
        share: float = SHARE,
        learning_rate: float | None = None,
        *,
        range: float | None = None,
    ) -> None:
        self.share = arguments.positive("share", share)
        if self.share >= 1:
            raise ValueError(f"share must be below 1, got {self.share}. Try {SHARE}.")
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
        """All that it was given."""
        return {"share": self.share, "learning_rate": self.learning_rate, "range": self.range}

    def start(self, prior: Vector) -> FixedShareState:
        """Weights equal to the prior."""
        prior = checked_prior(prior)
        return FixedShareState(np.log(prior), prior, np.zeros_like(prior), prior, self.range or 0.0)

    def learn(self, state: FixedShareState, losses: Vector, surprise: float) -> FixedShareState:
        """Take in the losses, then share."""
        unit = surprises(state.weights, losses, state.guesses, state.unit).unit
        prior = np.exp(state.log_prior)
        if unit == 0:
            return state
        scores = np.log(state.posterior) - self._rate(len(losses)) * (losses - losses.min()) / unit
        posterior = (1 - self.share) * normalised(scores, state.log_prior) + self.share * prior
        return state._replace(posterior=posterior, unit=unit)

    def weigh(self, state: FixedShareState, guesses: Vector) -> FixedShareState:
        """The weights of the coming round."""
        scores = np.log(state.posterior)
        if state.unit > 0:
            scores = scores - self._rate(len(guesses)) * (guesses - guesses.min()) / state.unit
        return state._replace(guesses=guesses, weights=normalised(scores, state.log_prior))

    def fork(self, state: FixedShareState, parents: Vector, prior: Vector) -> FixedShareState:
        """More experts, each with a part of its parent's weight."""
        posterior, weights = (
            shared_among_children(each, parents, prior) for each in (state.posterior, state.weights)
        )
        return FixedShareState(
            np.log(prior), posterior, state.guesses[parents], weights, state.unit
        )

    def _rate(self, experts: int) -> float:
        return (
            default_rate(self.share, experts) if self.learning_rate is None else self.learning_rate
        )


def default_rate(share: float, experts: int) -> float:
    r""":math:`\sqrt{8 \alpha (1 + \ln(N/\alpha))}`.

    With a change every :math:`1/\alpha` rounds the bound is at most :math:`\alpha (1 +
    \ln(N/\alpha))/\varepsilon + \varepsilon/8` a round, and this is where its two terms are equal.
    """
    return math.sqrt(8 * share * (1 + math.log(experts / share)))
