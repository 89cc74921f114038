"""Online extra-gradient descent with every step size of a pool at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import numpy as np

from swordplay.core.types import Domain, Gradient, Matrix, Vector
from swordplay.parts.experts.expert import ExpertState, Move, copied_last, squared_norms, strides
from swordplay.parts.experts.standing import at_the_center, moved
from swordplay.parts.experts.steps import Steps


@final
class OEGDExperts:
    r"""Online extra-gradient descent: step, then step again along the last field, in case it comes
    back.

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
        The same for the round after, where what steps are made of changes from round to round;
        ``steps`` unless given.

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
        return at_the_center(self.domain, self.steps.count())

    def step(self, state: ExpertState, gradient: Gradient) -> tuple[ExpertState, Move]:
        """One extra-gradient step of every expert."""
        gradients = gradient(state.points)
        surprise = squared_norms(gradients - state.replay)
        energy = state.energy + surprise
        eta = self.steps.sizes(state.energy)
        # An adaptive step is infinite until a gradient is met; the round that meets it already uses
        # the next one.
        eta = np.where(np.isinf(eta), self._coming.sizes(energy), eta)
        base, offset, change = moved(self.domain, state.base, state.offset, strides(eta, gradients))
        after = self._ahead(base, offset, gradient(base), energy)
        return after, Move(
            eta, surprise, lead=squared_norms(state.points - state.base), change=change
        )

    def fork(self, state: ExpertState) -> ExpertState:
        """Copy the last expert.

        The copy's point follows from the copied base with its own, next step.
        """
        base, offset, replay = (
            copied_last(rows) for rows in (state.base, state.offset, state.replay)
        )
        return self._ahead(
            base, offset, replay, np.append(state.energy, self._coming.inherited(state.energy))
        )

    def step_sizes(self, state: ExpertState) -> Vector:
        """Step sizes for what was met so far."""
        return self._coming.sizes(state.energy)

    def _ahead(self, base: Matrix, offset: Any, replay: Matrix, energy: Vector) -> ExpertState:
        """x = Proj[xhat - eta M]: the same step for both halves of a round, which the
        certificate relies on.
        """
        ahead = moved(self.domain, base, offset, strides(self._coming.sizes(energy), replay))
        return ExpertState(ahead.points, base, replay, energy, offset)
