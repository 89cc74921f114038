"""Optimistic descent: every expert leans on a guess of the coming gradient that somebody gives,
or on the last gradient.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import numpy as np

from swordplay.core.types import Domain, Gradient, Matrix, Vector
from swordplay.parts.experts.expert import ExpertState, Move, copied_last, squared_norms, strides
from swordplay.parts.experts.steps import Steps


@final
class OptimisticExperts:
    r"""Optimistic mirror descent in the Euclidean norm.

    .. math:: \hat x_{t+1} = \Pi_X[\hat x_t - \eta g_t], \qquad x_{t+1} = \Pi_X[\hat x_{t+1} - \eta
        M_{t+1}]

    :math:`M_{t+1} = g_t` unless :meth:`expect` says otherwise. N gradients a round. An expert that
    has met no gradient yet has no step to lean with: it stays at the centre, and its guess counts
    as 0.

    References
    ----------
    Rakhlin and Sridharan (2013), "Online learning with predictable sequences"; Chiang et al.
    (2012).
    """

    def __init__(self, domain: Domain, steps: Steps) -> None:
        self.domain = domain
        self.steps = steps

    def settings(self) -> Mapping[str, Any]:
        """How the steps are chosen; the learner says the domain."""
        return {"steps": self.steps}

    def start(self) -> ExpertState:
        """All at the domain's centre, expecting nothing."""
        points = np.tile(self.domain.center, (self.steps.count(), 1))
        return ExpertState(
            points=points, base=points, replay=np.zeros_like(points), energy=np.zeros(len(points))
        )

    def step(self, state: ExpertState, gradient: Gradient) -> tuple[ExpertState, Move]:
        """One step of every expert, and a lean on the gradient just met."""
        gradients = gradient(state.points)
        surprise = squared_norms(gradients - state.replay)
        energy = state.energy + surprise
        eta = self.steps.sizes(state.energy)
        # An adaptive step is infinite until a gradient is met; the round that meets it already uses
        # the next one.
        eta = np.where(np.isinf(eta), self.steps.sizes(energy), eta)
        base = self.domain.project(state.base - strides(eta, gradients))
        moved = self._ahead(base, gradients, energy)
        return moved, Move(
            step_sizes=eta, surprise=surprise, lead=squared_norms(state.points - state.base)
        )

    def expect(self, state: ExpertState, guesses: Matrix) -> ExpertState:
        """Lean on other guesses M_{t+1}, shape ``(N, d)``, instead of the last ones."""
        return self._ahead(state.base, guesses, state.energy)

    def fork(self, state: ExpertState) -> ExpertState:
        """Copy the last expert.

        The copy's point follows from the copied base with its own, next step.
        """
        return self._ahead(
            copied_last(state.base),
            copied_last(state.replay),
            np.append(state.energy, state.energy[-1]),
        )

    def step_sizes(self, state: ExpertState) -> Vector:
        """Step sizes for what was met so far."""
        return self.steps.sizes(state.energy)

    def _ahead(self, base: Matrix, guesses: Matrix, energy: Vector) -> ExpertState:
        eta = self.steps.sizes(energy)
        replay = np.where(np.isinf(eta)[:, None], 0.0, guesses)
        return ExpertState(self.domain.project(base - strides(eta, replay)), base, replay, energy)
