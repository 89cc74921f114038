"""Online gradient descent with every step size of a pool at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import numpy as np

from swordplay.core.types import Domain, Gradient, Vector
from swordplay.parts.experts.expert import ExpertState, Move, copied_last, squared_norms, strides
from swordplay.parts.experts.standing import at_the_center, moved
from swordplay.parts.experts.steps import Steps


@final
class OGDExperts:
    r"""Online gradient descent.

    .. math:: x_{t+1} = \Pi_X[x_t - \eta \nabla f_t(x_t)]

    N gradients a round. With non-negative L-smooth losses and :math:`\eta L < 1` its dynamic regret
    is at most :math:`[A/(2\eta) + \eta L F_T] / (1 - \eta L)`, :math:`A = D^2 + 2 D P_T`; always at
    most :math:`A/(2\eta) + \eta G^2 T / 2`.

    References
    ----------
    Zinkevich (2003); Zhao et al. (2020), the theorem on OGD and small losses.
    """

    def __init__(self, domain: Domain, steps: Steps) -> None:
        self.domain = domain
        self.steps = steps

    def settings(self) -> Mapping[str, Any]:
        """How the steps are chosen; the learner says the domain."""
        return {"steps": self.steps}

    def start(self) -> ExpertState:
        """All at the domain's centre."""
        return at_the_center(self.domain, self.steps.count())

    def step(self, state: ExpertState, gradient: Gradient) -> tuple[ExpertState, Move]:
        """One descent step of every expert."""
        gradients = gradient(state.points)
        surprise = squared_norms(gradients)
        energy = state.energy + surprise
        eta = self.steps.sizes(energy)
        points, offset, change = moved(
            self.domain, state.points, state.offset, strides(eta, gradients)
        )
        after = state._replace(points=points, base=points, energy=energy, offset=offset)
        return after, Move(
            step_sizes=eta, surprise=surprise, lead=np.zeros_like(surprise), change=change
        )

    def fork(self, state: ExpertState) -> ExpertState:
        """Copy the last expert."""
        points, replay = copied_last(state.points), copied_last(state.replay)
        energy = np.append(state.energy, self.steps.inherited(state.energy))
        return ExpertState(points, points, replay, energy, copied_last(state.offset))

    def step_sizes(self, state: ExpertState) -> Vector:
        """Step sizes for what was met so far."""
        return self.steps.sizes(state.energy)
