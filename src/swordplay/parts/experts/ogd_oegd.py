"""Experts of gradient descent: OGD, OEGD (extra-gradient) and optimistic descent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import numpy as np

from swordplay.core.types import Domain, Gradient, Matrix, Vector
from swordplay.parts.experts.expert import (
    Experts,
    ExpertState,
    Move,
    at_the_center,
    copied_last,
    moved,
    squared_norms,
    strides,
)
from swordplay.parts.experts.step_sizes import Constant, Steps


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


def is_steady(experts: Experts) -> bool:
    """Whether these are known to step with the same sizes in all rounds.

    Of a stranger's nobody knows.
    """
    return isinstance(experts, OGDExperts | OEGDExperts | OptimisticExperts) and isinstance(
        experts.steps, Constant
    )
