"""Experts of gradient descent: OGD, OEGD (extra-gradient) and optimistic descent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import numpy as np

from swordplay.core.types import Domain, Gradient, Matrix, Vector
from swordplay.parts.experts.expert import (
    Experts,
    ExpertState,
    ExpertStep,
    projected_step,
    repeat_last_row,
    squared_norms,
    start_at_center,
    step_vectors,
)
from swordplay.parts.experts.step_sizes import Constant, StepRule


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

    def __init__(self, domain: Domain, steps: StepRule) -> None:
        self.domain = domain
        self.steps = steps

    def settings(self) -> Mapping[str, Any]:
        """How the steps are chosen; the learner says the domain."""
        return {"steps": self.steps}

    def start(self) -> ExpertState:
        """All at the domain's centre."""
        return start_at_center(self.domain, self.steps.count())

    def step(self, state: ExpertState, gradient: Gradient) -> tuple[ExpertState, ExpertStep]:
        """One descent step of every expert."""
        gradients = gradient(state.points)
        squared_error = squared_norms(gradients)
        squared_error_sum = state.squared_error_sum + squared_error
        eta = self.steps.sizes(squared_error_sum)
        points, offset, change = projected_step(
            self.domain, state.points, state.offset, step_vectors(eta, gradients)
        )
        after = state._replace(
            points=points, base=points, squared_error_sum=squared_error_sum, offset=offset
        )
        return after, ExpertStep(
            step_sizes=eta,
            squared_error=squared_error,
            squared_lookahead=np.zeros_like(squared_error),
            change=change,
        )

    def copy_last(self, state: ExpertState) -> ExpertState:
        """Copy the last expert."""
        points, expected_gradient = (
            repeat_last_row(state.points),
            repeat_last_row(state.expected_gradient),
        )
        squared_error_sum = np.append(
            state.squared_error_sum, self.steps.sum_of_copy(state.squared_error_sum)
        )
        return ExpertState(
            points, points, expected_gradient, squared_error_sum, repeat_last_row(state.offset)
        )

    def step_sizes(self, state: ExpertState) -> Vector:
        """Step sizes for what was met so far."""
        return self.steps.sizes(state.squared_error_sum)


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

    def __init__(self, domain: Domain, steps: StepRule, coming: StepRule | None = None) -> None:
        self.domain = domain
        self.steps = steps
        self._coming = steps if coming is None else coming

    def settings(self) -> Mapping[str, Any]:
        """How the steps are chosen; the learner says the domain."""
        return {"steps": self.steps}

    def start(self) -> ExpertState:
        """All at the domain's centre, expecting nothing."""
        return start_at_center(self.domain, self.steps.count())

    def step(self, state: ExpertState, gradient: Gradient) -> tuple[ExpertState, ExpertStep]:
        """One extra-gradient step of every expert."""
        gradients = gradient(state.points)
        squared_error = squared_norms(gradients - state.expected_gradient)
        squared_error_sum = state.squared_error_sum + squared_error
        eta = self.steps.sizes(state.squared_error_sum)
        # An adaptive step is infinite until a gradient is met; the round that meets it already uses
        # the next one.
        eta = np.where(np.isinf(eta), self._coming.sizes(squared_error_sum), eta)
        base, offset, change = projected_step(
            self.domain, state.base, state.offset, step_vectors(eta, gradients)
        )
        after = self._ahead(base, offset, gradient(base), squared_error_sum)
        return after, ExpertStep(
            eta,
            squared_error,
            squared_lookahead=squared_norms(state.points - state.base),
            change=change,
        )

    def copy_last(self, state: ExpertState) -> ExpertState:
        """Copy the last expert.

        The copy's point follows from the copied base with its own, next step.
        """
        base, offset, expected_gradient = (
            repeat_last_row(rows) for rows in (state.base, state.offset, state.expected_gradient)
        )
        return self._ahead(
            base,
            offset,
            expected_gradient,
            np.append(state.squared_error_sum, self._coming.sum_of_copy(state.squared_error_sum)),
        )

    def step_sizes(self, state: ExpertState) -> Vector:
        """Step sizes for what was met so far."""
        return self._coming.sizes(state.squared_error_sum)

    def _ahead(
        self, base: Matrix, offset: Any, expected_gradient: Matrix, squared_error_sum: Vector
    ) -> ExpertState:
        """x = Proj[xhat - eta M]: the same step for both halves of a round, which the
        certificate relies on.
        """
        ahead = projected_step(
            self.domain,
            base,
            offset,
            step_vectors(self._coming.sizes(squared_error_sum), expected_gradient),
        )
        return ExpertState(ahead.points, base, expected_gradient, squared_error_sum, offset)


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

    def __init__(self, domain: Domain, steps: StepRule) -> None:
        self.domain = domain
        self.steps = steps

    def settings(self) -> Mapping[str, Any]:
        """How the steps are chosen; the learner says the domain."""
        return {"steps": self.steps}

    def start(self) -> ExpertState:
        """All at the domain's centre, expecting nothing."""
        points = np.tile(self.domain.center, (self.steps.count(), 1))
        return ExpertState(
            points=points,
            base=points,
            expected_gradient=np.zeros_like(points),
            squared_error_sum=np.zeros(len(points)),
        )

    def step(self, state: ExpertState, gradient: Gradient) -> tuple[ExpertState, ExpertStep]:
        """One step of every expert, and a lean on the gradient just met."""
        gradients = gradient(state.points)
        squared_error = squared_norms(gradients - state.expected_gradient)
        squared_error_sum = state.squared_error_sum + squared_error
        eta = self.steps.sizes(state.squared_error_sum)
        # An adaptive step is infinite until a gradient is met; the round that meets it already uses
        # the next one.
        eta = np.where(np.isinf(eta), self.steps.sizes(squared_error_sum), eta)
        base = self.domain.project(state.base - step_vectors(eta, gradients))
        moved = self._ahead(base, gradients, squared_error_sum)
        return moved, ExpertStep(
            step_sizes=eta,
            squared_error=squared_error,
            squared_lookahead=squared_norms(state.points - state.base),
        )

    def expect(self, state: ExpertState, guesses: Matrix) -> ExpertState:
        """Lean on other guesses M_{t+1}, shape ``(N, d)``, instead of the last ones."""
        return self._ahead(state.base, guesses, state.squared_error_sum)

    def copy_last(self, state: ExpertState) -> ExpertState:
        """Copy the last expert.

        The copy's point follows from the copied base with its own, next step.
        """
        return self._ahead(
            repeat_last_row(state.base),
            repeat_last_row(state.expected_gradient),
            np.append(state.squared_error_sum, state.squared_error_sum[-1]),
        )

    def step_sizes(self, state: ExpertState) -> Vector:
        """Step sizes for what was met so far."""
        return self.steps.sizes(state.squared_error_sum)

    def _ahead(self, base: Matrix, guesses: Matrix, squared_error_sum: Vector) -> ExpertState:
        eta = self.steps.sizes(squared_error_sum)
        expected_gradient = np.where(np.isinf(eta)[:, None], 0.0, guesses)
        return ExpertState(
            self.domain.project(base - step_vectors(eta, expected_gradient)),
            base,
            expected_gradient,
            squared_error_sum,
        )


def has_constant_steps(experts: Experts) -> bool:
    """Whether these are known to step with the same sizes in all rounds.

    Of a stranger's nobody knows.
    """
    return isinstance(experts, OGDExperts | OEGDExperts | OptimisticExperts) and isinstance(
        experts.steps, Constant
    )
