"""RestartedOGD and OMGD: gradient descent with restarts, and with several steps on each loss."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.arguments import explain_overflow
from swordplay.core.state import OBSERVED_ROUNDS_RANGE, array
from swordplay.core.types import Array, Domain, Vector
from swordplay.parts.learners.assumptions import DeclaredConstants, ObservedLoss
from swordplay.parts.learners.learner import UncertifiedLearner


class PointState(NamedTuple):
    """State between two rounds: the next decision."""

    rounds: Annotated[int, OBSERVED_ROUNDS_RANGE]
    point: Annotated[Vector, array("dim")]
    """x_t, shape ``(d,)``."""


class _PointLearner(UncertifiedLearner):
    """Base class of learners whose state is a single point, the next decision."""

    def _start(self) -> PointState:
        return PointState(0, np.array(self.domain.center))

    def _decide(self, state: PointState) -> Vector:
        return state.point.copy()

    def _points_to_check(self, state: PointState) -> Array:
        return state.point


@final
class RestartedOGD(_PointLearner):
    r"""Online gradient descent that restarts from the centre at fixed intervals.

    .. math:: \eta = \frac{D}{G \sqrt\Delta}, \qquad \Delta = \Big\lceil
        \Big(\frac{T}{V^f_T}\Big)^{2/3} \Big\rceil

    The learner restarts every :math:`\Delta` rounds. The regret against the minimisers of the
    rounds' losses is of order :math:`T^{2/3} (V^f_T)^{1/3}`:
    ``bounds.restarted_ogd``.

    Parameters
    ----------
    domain
        X, the set of decisions.
    horizon
        T, the number of rounds that will be played.
    gradient_bound
        G, the largest norm of a gradient on the domain.
    function_variation
        :math:`V^f_T`, sum of the largest changes of the loss from round to round
        (``sp.function_variation``).
    every
        :math:`\Delta`, rounds between restarts; unless given it is computed from ``horizon`` and
        ``function_variation``, at most T. Give either this or ``function_variation``.

    References
    ----------
    Besbes, Gur, Zeevi (2015), "Non-stationary stochastic optimization".
    """

    guarantee = "sp.bounds.restarted_ogd"

    @explain_overflow
    def __init__(
        self,
        domain: Domain,
        *,
        horizon: int,
        gradient_bound: float,
        function_variation: float | None = None,
        every: int | None = None,
    ) -> None:
        D, T = arguments.domain(domain).diameter, arguments.integer("horizon", horizon)
        G = arguments.positive("gradient_bound", gradient_bound)
        if (function_variation is None) == (every is None):
            raise ValueError("RestartedOGD needs function_variation or every. Give one of them.")
        self.every = (
            restart_period(T, function_variation)
            if every is None
            else arguments.integer("every", every)
        )
        """Rounds between restarts."""
        self.step_size = D / (G * math.sqrt(self.every))
        """eta."""
        super().__init__(domain)
        self.declared = DeclaredConstants(T, G)

    def settings(self) -> Mapping[str, Any]:
        """Return the settings that are saved with a state and compared when it is loaded."""
        return {**super().settings(), "step_size": self.step_size, "every": self.every}

    def _advance(self, state: PointState, loss: ObservedLoss) -> PointState:
        rounds = state.rounds + 1
        # x_{t+1} = Proj_X[x_t - eta grad f_t(x_t)], or the centre after every Delta rounds
        point = self.domain.project(state.point - self.step_size * loss.gradient(state.point))
        return PointState(
            rounds, np.array(self.domain.center) if rounds % self.every == 0 else point
        )


def restart_period(horizon: int, function_variation: Any) -> int:
    """Return Delta = ceil((T / V^f)^(2/3)), at least 1 and at most T."""
    V = arguments.nonnegative("function_variation", function_variation)
    return horizon if V == 0 else min(horizon, max(1, math.ceil((horizon / V) ** (2 / 3))))


@final
class OMGD(_PointLearner):
    r"""Online multiple gradient descent: K steps on each strongly convex and smooth loss.

    .. math:: z \leftarrow \Pi_X[z - \eta \nabla f_t(z)] \text{ K times from } x_t, \quad x_{t+1} =
        z, \qquad K = \Big\lceil \frac{1/\eta + \lambda}{2 \lambda} \ln 4 \Big\rceil, \quad \eta \le
        1/L

    The K steps halve the distance to the minimiser of f_t. The regret against the minimisers of the
    rounds' losses is of the order of their path length, or of the sum of their squared moves if
    that is smaller: ``bounds.omgd``.

    Parameters
    ----------
    domain
        X, the set of decisions.
    strong_convexity
        :math:`\lambda > 0`: every :math:`f_t(x) - \tfrac\lambda2 \|x\|^2` is convex.
    smoothness
        L, the Lipschitz constant of every gradient.
    step_size
        :math:`\eta`; 1/L unless given.

    References
    ----------
    Zhang, Yang, Yi, Jin, Zhou (2017), "Improved dynamic regret for non-degenerate functions".
    """

    guarantee = "sp.bounds.omgd"

    def __init__(
        self,
        domain: Domain,
        *,
        strong_convexity: float,
        smoothness: float,
        step_size: float | None = None,
    ) -> None:
        lam = arguments.positive("strong_convexity", strong_convexity)
        L = arguments.positive("smoothness", smoothness)
        if lam > L:
            raise ValueError(
                f"strong_convexity must not exceed smoothness, got {lam} > {L}. No loss has both."
            )
        self.step_size = 1 / L if step_size is None else arguments.positive("step_size", step_size)
        if self.step_size > 1 / L:
            raise ValueError(
                f"step_size must be at most 1/smoothness = {1 / L}, got {self.step_size}."
            )
        self.steps = math.ceil((1 / self.step_size + lam) / (2 * lam) * math.log(4))
        """K, the number of gradient steps on each loss."""
        super().__init__(arguments.domain(domain))
        self.declared = DeclaredConstants(smoothness=L)

    def settings(self) -> Mapping[str, Any]:
        """Return the settings that are saved with a state and compared when it is loaded."""
        return {**super().settings(), "step_size": self.step_size, "steps": self.steps}

    def _advance(self, state: PointState, loss: ObservedLoss) -> PointState:
        point = state.point
        for _ in range(self.steps):
            point = self.domain.project(point - self.step_size * loss.gradient(point))
        return PointState(state.rounds + 1, point)
