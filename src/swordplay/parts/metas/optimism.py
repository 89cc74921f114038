r"""Optimism: rules that predict the next gradient :math:`M_{t+1}` and with it the experts' losses.

.. math:: m_{t+1,i} = \langle M_{t+1}, x_{t+1,i} \rangle

The regret of the meta depends on the errors of these predictions instead of the size of the losses.
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
from swordplay.parts.rates import TIE_TOLERANCE

TIED_TRUST = 0.5
"""Trust β in the replayed gradient while it and the prediction 0 have had equal errors."""


class OptimismState(NamedTuple):
    """State of an optimism rule between two rounds."""

    replayed_gradient: Annotated[Vector, array("dim", low=-LARGEST_GRADIENT, high=LARGEST_GRADIENT)]
    """Mv_t, shape ``(d,)``: see :func:`replay_gradient`.

    The gradient of the last loss at the mean of the new points, weighted with the old weights.

    For :class:`LastGradientOptimism` it is the gradient of the last loss at the last decision.
    """
    difference: Annotated[float, number()]
    """Dv - Ds: sum of the squared errors of replayed gradients, minus that of predictions of 0."""
    magnitude: Annotated[float, number(0.0)]
    """Dv + Ds: the rounding error of the difference is relative to this sum."""
    trust: Annotated[float, number(0.0, 1.0)]
    """beta_t in [0, 1]: the factor of the replayed gradient in M_t."""

    @property
    def expected_gradient(self) -> Vector:
        """M_t = beta_t Mv_t, shape ``(d,)``."""
        return self.trust * self.replayed_gradient


class Optimism(Protocol):
    """A rule that predicts the next gradient, M_{t+1}."""

    def start(self, dim: int) -> OptimismState:
        """State before the first round, with M_1 = 0."""
        ...

    def step(
        self,
        state: OptimismState,
        observed_gradient: Vector,
        gradient_field: Gradient,
        weights: Vector,
        points: Matrix,
    ) -> OptimismState:
        """Return the state with the prediction for the next round.

        Parameters
        ----------
        state
            State with the prediction M_t of this round.
        observed_gradient
            g_t, the gradient at the decision, shape ``(d,)``.
        gradient_field
            The function from points to gradients of the loss f_t of this round.
        weights
            Weights p_t of this round, shape ``(N,)``.
        points
            Points x_{t+1,i} of the next round, shape ``(N, d)``.
        """
        ...


def replay_gradient(gradient_field: Gradient, weights: Vector, points: Matrix) -> Vector:
    r"""Return the gradient of the last loss at a point close to the next decision.

    .. math:: \nabla f_t(\bar x_{t+1}), \qquad \bar x_{t+1} = \sum_i p_{t,i}\, x_{t+1,i}

    It is the next gradient if :math:`f_{t+1} = f_t` and the weights do not change.

    References
    ----------
    Zhao et al. (2020), the optimism of Sword_var.
    """
    # x_{t+1} depends on p_{t+1}, and p_{t+1} on this prediction. Old weights with new points break
    # the cycle; the stability term in the bound of Hedge covers the error:
    # norm(x_{t+1} - xbar_{t+1}) <= D norm(p_{t+1} - p_t)_1.
    return gradient_field(weights @ points)


@final
class NullOptimism:
    """No prediction, M = 0: Hedge without optimism, as in Sword_small."""

    def start(self, dim: int) -> OptimismState:
        """State before the first round, with M_1 = 0."""
        return OptimismState(np.zeros(dim), 0.0, 0.0, 0.0)

    def step(
        self,
        state: OptimismState,
        observed_gradient: Vector,
        gradient_field: Gradient,
        weights: Vector,
        points: Matrix,
    ) -> OptimismState:
        """Return the state unchanged; no gradient is evaluated."""
        return state


@final
class VariationOptimism:
    """Predict the replayed gradient, as in Sword_var.

    It is the gradient of the last loss at the mean of the new points, weighted with the old
    weights: :func:`replay_gradient`.
    """

    def start(self, dim: int) -> OptimismState:
        """State before the first round, with M_1 = 0."""
        return OptimismState(np.zeros(dim), 0.0, 0.0, 1.0)

    def step(
        self,
        state: OptimismState,
        observed_gradient: Vector,
        gradient_field: Gradient,
        weights: Vector,
        points: Matrix,
    ) -> OptimismState:
        """Return the state with the replayed gradient as prediction."""
        return state._replace(replayed_gradient=replay_gradient(gradient_field, weights, points))


@final
class LastGradientOptimism:
    """Predict the gradient of the last loss at the last decision, as in Sword++."""

    def start(self, dim: int) -> OptimismState:
        """State before the first round, with M_1 = 0."""
        return OptimismState(np.zeros(dim), 0.0, 0.0, 1.0)

    def step(
        self,
        state: OptimismState,
        observed_gradient: Vector,
        gradient_field: Gradient,
        weights: Vector,
        points: Matrix,
    ) -> OptimismState:
        """Return the state with the observed gradient as prediction."""
        return state._replace(replayed_gradient=observed_gradient)


@final
class LearnedOptimism:
    r"""Weigh the replayed gradient against a prediction of 0 by their errors, as in Sword_best.

    .. math:: M_{t+1} = \beta_{t+1} \nabla f_t(\bar x_{t+1}), \qquad
        \beta_{t+1} = \frac{1}{1 + e^{\kappa (D^v_t - D^s_t)}},

    with the replayed gradient :math:`M^v_{t+1} = \nabla f_t(\bar x_{t+1})`, :math:`D^v_t =
    \sum_{s=2}^t \|g_s - M^v_s\|^2` and :math:`D^s_t = \sum_{s=2}^t \|g_s\|^2`. For any rate
    :math:`\sum_t \|g_t - M_t\|^2 \le 2 \min\{D^v_T, D^s_T\} + 3 G^2 + \ln 2 / \kappa`.

    Parameters
    ----------
    rate
        :math:`\kappa`. The paper's own bound on :math:`\sum_t \|g_t - M_t\|^2` holds at its rate
        of 2 only for G <= 1/4, and at :math:`1/(8 G^2)` for all G. With infinity the rule takes the
        prediction with the smaller error so far; it then does not depend on the unit of the losses.

    References
    ----------
    Zhao et al. (2020), Sword_best.
    """

    def __init__(self, rate: float) -> None:
        self.rate = rate if rate == math.inf else arguments.positive("rate", rate)

    def settings(self) -> Mapping[str, Any]:
        """The rate, saved with a learner's state."""
        return {"rate": self.rate}

    def start(self, dim: int) -> OptimismState:
        """State before the first round, with M_1 = 0."""
        return OptimismState(np.zeros(dim), 0.0, 0.0, TIED_TRUST)

    def step(
        self,
        state: OptimismState,
        observed_gradient: Vector,
        gradient_field: Gradient,
        weights: Vector,
        points: Matrix,
    ) -> OptimismState:
        """Return the state with the squared errors of both predictions added."""
        # In round 1 both predictions are 0: norm(g_1)^2 enters both sums and cancels in Dv - Ds.
        error = observed_gradient - state.replayed_gradient
        replay_error = float(error @ error)
        zero_error = float(observed_gradient @ observed_gradient)
        difference = state.difference + replay_error - zero_error
        magnitude = state.magnitude + replay_error + zero_error
        return OptimismState(
            replay_gradient(gradient_field, weights, points),
            difference,
            magnitude,
            trust(self.rate, difference, magnitude),
        )


def trust(rate: float, difference: float, magnitude: float) -> float:
    """Compute 1 / (1 + exp(rate * difference)) without overflow; 1/2 for equal errors.

    Errors are equal if they differ by rounding only: ``magnitude`` is the sum of both.
    """
    if abs(difference) <= TIE_TOLERANCE * magnitude:
        return TIED_TRUST
    score = rate * difference
    if score >= 0:
        return math.exp(-score) / (1.0 + math.exp(-score))
    return 1.0 / (1.0 + math.exp(score))
