r"""Optimism: optimism of the coming gradient :math:`M_{t+1}`, from which each expert's loss is
guessed.

.. math:: m_{t+1,i} = \langle M_{t+1}, x_{t+1,i} \rangle

A good guess lets the meta move before it is hurt; the regret pays only for how wrong the guess was.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, Protocol, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.arguments import LARGEST_GRADIENT
from swordplay.core.state import array, number
from swordplay.core.types import Gradient, Matrix, Vector
from swordplay.parts.rates import TIE

TIED = 0.5
"""The trust in two optimism that were equally wrong."""


class OptimismState(NamedTuple):
    """What an optimism rule needs for the next round."""

    replayed_gradient: Annotated[Vector, array("dim", low=-LARGEST_GRADIENT, high=LARGEST_GRADIENT)]
    """The replay_gradient gradient, shape ``(d,)``: Mv_t."""
    difference: Annotated[float, number()]
    """Dv_t - Ds_t: how much more (or less) the replayed_gradient was wrong than a guess of 0."""
    magnitude: Annotated[float, number(0.0)]
    """Dv_t + Ds_t: what the difference is the difference of."""
    trust: Annotated[float, number(0.0, 1.0)]
    """beta_t in [0, 1]: the share of the replayed_gradient that is guessed."""

    @property
    def expected_gradient(self) -> Vector:
        """M_t = beta_t Mv_t, shape ``(d,)``."""
        return self.trust * self.replayed_gradient


class Optimism(Protocol):
    """A rule that optimism the coming gradient."""

    def start(self, dim: int) -> OptimismState:
        """Nothing to replay yet: a guess of 0."""
        ...

    def step(
        self,
        state: OptimismState,
        observed: Vector,
        gradient: Gradient,
        weights: Vector,
        points: Matrix,
    ) -> OptimismState:
        """The guess for the coming round.

        Parameters
        ----------
        state
            The rule's state, with the guess that was made for this round.
        observed
            g_t, the gradient at the decision, shape ``(d,)``.
        gradient
            The field of this round's loss.
        weights
            This round's weights p_t, shape ``(N,)``.
        points
            The coming round's points x_{t+1,i}, shape ``(N, d)``.
        """
        ...


def replay_gradient(gradient: Gradient, weights: Vector, points: Matrix) -> Vector:
    r"""The last gradient field at the point where the decision will roughly be.

    .. math:: \nabla f_t(\bar x_{t+1}), \qquad \bar x_{t+1} = \sum_i p_{t,i}\, x_{t+1,i}

    Exact when :math:`f_{t+1} = f_t` and the weights stand still.

    References
    ----------
    Zhao et al. (2020), the optimism of Sword_var.
    """
    # x_{t+1} itself needs p_{t+1}, and p_{t+1} needs this guess: old weights on new points break
    # the circle, and Hedge's stability term pays for |x_{t+1} - xbar_{t+1}| <= D |p_{t+1} - p_t|_1.
    return gradient(weights @ points)


@final
class NullOptimism:
    """Guess nothing: plain Hedge, as in Sword_small."""

    def start(self, dim: int) -> OptimismState:
        """A guess of 0."""
        return OptimismState(np.zeros(dim), 0.0, 0.0, 0.0)

    def step(
        self,
        state: OptimismState,
        observed: Vector,
        gradient: Gradient,
        weights: Vector,
        points: Matrix,
    ) -> OptimismState:
        """A guess of 0 again; no gradient is asked for."""
        return state


@final
class VariationOptimism:
    """Guess that the last field comes back, as in Sword_var."""

    def start(self, dim: int) -> OptimismState:
        """A guess of 0."""
        return OptimismState(np.zeros(dim), 0.0, 0.0, 1.0)

    def step(
        self,
        state: OptimismState,
        observed: Vector,
        gradient: Gradient,
        weights: Vector,
        points: Matrix,
    ) -> OptimismState:
        """The replay_gradient gradient in full."""
        return state._replace(replayed_gradient=replay_gradient(gradient, weights, points))


@final
class LastGradientOptimism:
    """Guess that the gradient at the decision comes back, as in Sword++: no further gradient is
    asked for.
    """

    def start(self, dim: int) -> OptimismState:
        """A guess of 0."""
        return OptimismState(np.zeros(dim), 0.0, 0.0, 1.0)

    def step(
        self,
        state: OptimismState,
        observed: Vector,
        gradient: Gradient,
        weights: Vector,
        points: Matrix,
    ) -> OptimismState:
        """The gradient just seen, in full."""
        return state._replace(replayed_gradient=observed)


@final
class LearnedOptimism:
    r"""Learn which of the two optimism to trust, as in Sword_best.

    .. math:: M_{t+1} = \beta_{t+1} \nabla f_t(\bar x_{t+1}), \qquad
        \beta_{t+1} = \frac{1}{1 + e^{\kappa (D^v_t - D^s_t)}},

    :math:`D^v_t = \sum_{s=2}^t \|g_s - M^v_s\|^2`, :math:`D^s_t = \sum_{s=2}^t \|g_s\|^2`. For any
    rate :math:`\sum_t \|g_t - M_t\|^2 \le 2 \min\{D^v_T, D^s_T\} + 3 G^2 + \ln 2 / \kappa`.

    Parameters
    ----------
    rate
        :math:`\kappa`. The paper's 2 is right only for G <= 1/4; :math:`1/(8 G^2)` always is. With
        infinity the rule follows the leader, and with it the guess no longer depends on the losses'
        unit.

    References
    ----------
    Zhao et al. (2020), Sword_best.
    """

    def __init__(self, rate: float) -> None:
        self.rate = rate if rate == math.inf else arguments.positive("rate", rate)

    def settings(self) -> Mapping[str, Any]:
        """The rate, which may be infinite."""
        return {"rate": self.rate}

    def start(self, dim: int) -> OptimismState:
        """A guess of 0."""
        return OptimismState(np.zeros(dim), 0.0, 0.0, TIED)

    def step(
        self,
        state: OptimismState,
        observed: Vector,
        gradient: Gradient,
        weights: Vector,
        points: Matrix,
    ) -> OptimismState:
        """Add the errors of the last replayed gradient, then replay the field."""
        # Round 1 has a replayed gradient of 0: |g_1|^2 enters both sums and cancels.
        missed = observed - state.replayed_gradient
        by_variation, by_zero = float(missed @ missed), float(observed @ observed)
        difference = state.difference + by_variation - by_zero
        magnitude = state.magnitude + by_variation + by_zero
        return OptimismState(
            replay_gradient(gradient, weights, points),
            difference,
            magnitude,
            trust(self.rate, difference, magnitude),
        )


def trust(rate: float, difference: float, magnitude: float) -> float:
    """1 / (1 + exp(rate * difference)), in a form that cannot overflow.

    1/2 where the two optimism tie up to rounding.
    """
    if abs(difference) <= TIE * magnitude:
        return TIED
    score = rate * difference
    if score >= 0:
        return math.exp(-score) / (1.0 + math.exp(-score))
    return 1.0 / (1.0 + math.exp(score))
