"""Online extra-gradient descent with every step size of a pool at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import numpy as np

from swordplay.base.types import Domain, Gradient, Matrix, Vector
from swordplay.parts.experts.expert import ExpertState, Move, copied_last, squared_norms, strides
from swordplay.parts.experts.steps import Steps


@final
class OEGDExperts:
    r"""Online extra-gradient descent: step, then step again along the last field, in case it comes back.

    .. math:: \hat x_{t+1} = \Pi_X[\hat x_t - \eta \nabla f_t(x_t)], \qquad
        x_{t+1} = \Pi_X[\hat x_{t+1} - \eta \nabla f_t(\hat x_{t+1})]

    2N gradients a round. With :math:`\eta L < 1` its dynamic regret is at most
    :math:`A/(2\eta) + \eta V_T / (2(1 - \eta^2 L^2)) + \eta G^2/2`, :math:`A = D^2 + 2 D P_T`.

    Parameters
    ----------
    domain
        Where the experts live.
    steps
        How long their steps are.
    coming
        The same for the round after, where what steps are made of changes from round to round; ``steps`` unless given.

    References
    ----------
    Zhao et al. (2020), the theorem on OEGD; Chiang et al. (2012).
    """

    def __init__(self, domain: Domain, steps: Steps, coming: Steps | None = None) -> None:
        self.domain = domain
        self.steps = steps
        self._coming = steps if coming is None else coming

    def settings(self) -> Mapping[str, Any]:
        """How the steps are chosen; the learner says the domain."""
        return {"steps": self.steps}

    def start(self) -> ExpertState:
        """All at the domain's centre, expecting nothing."""
        points = np.tile(self.domain.center, (self.steps.count(), 1))
        return ExpertState(points=points, base=points, replay=np.zeros_like(points), energy=np.zeros(len(points)))

    def step(self, state: ExpertState, gradient: Gradient) -> tuple[ExpertState, Move]:
        """One extra-gradient step of every expert."""
        gradients = gradient(state.points)
        surprise = squared_norms(gradients - state.replay)
        energy = state.energy + surprise
        eta = self.steps.sizes(state.energy)
        # An adaptive step is infinite until a gradient is met; the round that meets it already uses the next one.
        eta = np.where(np.isinf(eta), self._coming.sizes(energy), eta)
        base = self.domain.project(state.base - strides(eta, gradients))
        replay = gradient(base)
        moved = ExpertState(self._ahead(base, replay, energy), base, replay, energy)
        return moved, Move(step_sizes=eta, surprise=surprise, lead=squared_norms(state.points - state.base))

    def fork(self, state: ExpertState) -> ExpertState:
        """Copy the last expert; the copy's point follows from the copied base with its own, next step."""
        base, replay = copied_last(state.base), copied_last(state.replay)
        energy = np.append(state.energy, state.energy[-1])
        return ExpertState(self._ahead(base, replay, energy), base, replay, energy)

    def step_sizes(self, state: ExpertState) -> Vector:
        """Step sizes for what was met so far."""
        return self._coming.sizes(state.energy)

    def _ahead(self, base: Matrix, replay: Matrix, energy: Vector) -> Matrix:
        """x = Proj[xhat - eta M]: the same step for both halves of a round, which the certificate relies on."""
        return self.domain.project(base - strides(self._coming.sizes(energy), replay))
