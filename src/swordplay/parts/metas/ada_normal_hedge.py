"""AdaNormalHedge: nothing to tune, and experts may sleep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Vector
from swordplay.parts.metas.meta import checked_prior, normalised, shared_among_children, surprises


class AdaNormalHedgeState(NamedTuple):
    """What the meta needs for the next round; shapes ``(N,)``."""

    log_prior: Vector
    regrets: Vector
    """R: sum of r_i = <p, l> - l_i so far, in the unit."""
    magnitudes: Vector
    """C: sum of abs(r_i) so far, in the unit."""
    guesses: Vector
    weights: Vector
    """p_t."""
    unit: float
    """Regrets count relative to this."""


@final
class AdaNormalHedge:
    r"""Weights from regrets and their magnitudes, with no rate at all.

    .. math:: p_{t+1,i} \propto \tfrac12 \pi_i \big[e^{[R_i + 1]_+^2 / (3 (C_i + 1))} - e^{[R_i -
        1]_+^2 / (3 (C_i + 1))}\big], \qquad R_i = \sum_s r_{s,i}, \quad C_i = \sum_s |r_{s,i}|

    with regrets in units of ``range``. For every expert :math:`R_i \le \sqrt{3 C_i \ln(B/\pi_i)}`,
    :math:`B = 1 + \tfrac32 \sum_j \pi_j (1 + \ln(1 + C_j))`: ``bounds.ada_normal_hedge``. The
    guesses of an optimistic learner are not used: this potential has no optimistic form with a
    proof.

    Parameters
    ----------
    range
        How far the losses of a round may lie apart, such as D G. Unless given it is measured: the
        largest regret so far; the bound is proved for a range that is given.

    References
    ----------
    Luo and Schapire (2015), "Achieving all with no parameters: AdaNormalHedge".
    """

    def __init__(self, *, range: float | None = None) -> None:
        self.range = None if range is None else arguments.positive("range", range)

    def __repr__(self) -> str:
        return f"AdaNormalHedge(range={self.range})"

    def settings(self) -> Mapping[str, Any]:
        """The range, if one was given."""
        return {"range": self.range}

    def start(self, prior: Vector) -> AdaNormalHedgeState:
        """Weights equal to the prior."""
        prior = checked_prior(prior)
        nothing = np.zeros_like(prior)
        return AdaNormalHedgeState(
            np.log(prior), nothing, nothing, nothing, prior, self.range or 0.0
        )

    def learn(
        self, state: AdaNormalHedgeState, losses: Vector, surprise: float
    ) -> AdaNormalHedgeState:
        """Add the regrets of the round."""
        met = surprises(state.weights, losses, np.zeros_like(losses), state.unit)
        return state._replace(
            regrets=met.shrink * state.regrets + met.regrets,
            magnitudes=met.shrink * state.magnitudes + np.abs(met.regrets),
            unit=met.unit,
        )

    def weigh(self, state: AdaNormalHedgeState, guesses: Vector) -> AdaNormalHedgeState:
        """The weights of the coming round; the guesses are written down and not used."""
        scores = state.log_prior + log_potential_slope(state.regrets, state.magnitudes)
        return state._replace(guesses=guesses, weights=normalised(scores, state.log_prior))

    def fork(
        self, state: AdaNormalHedgeState, parents: Vector, prior: Vector
    ) -> AdaNormalHedgeState:
        """More experts, each with the past of its parent."""
        return AdaNormalHedgeState(
            np.log(prior),
            state.regrets[parents],
            state.magnitudes[parents],
            state.guesses[parents],
            shared_among_children(state.weights, parents, prior),
            state.unit,
        )


def log_potential_slope(regrets: Vector, magnitudes: Vector) -> Vector:
    r"""Logarithm of :math:`\tfrac12 [e^{[R+1]_+^2/(3(C+1))} - e^{[R-1]_+^2/(3(C+1))}]`.

    Minus infinity where R <= -1.
    """
    # One published implementation has C - 1 in the second exponent: it divides by zero in the first
    # rounds.
    up, down = (
        np.maximum(regrets + side, 0.0) ** 2 / (3 * (magnitudes + 1)) for side in (1.0, -1.0)
    )
    with np.errstate(divide="ignore"):
        return np.asarray(up + np.log(-np.expm1(down - up)) - np.log(2.0))
