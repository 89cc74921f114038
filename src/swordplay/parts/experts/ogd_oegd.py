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
    scaled_gradients,
    squared_norms,
    start_at_center,
)
from swordplay.parts.experts.step_sizes import Constant, StepRule


@final
class OGDExperts:
    r"""Online gradient descent with every step size of a pool.

    .. math:: x_{t+1} = \Pi_X[x_t - \eta \nabla f_t(x_t)]

    N gradients a round. With non-negative L-smooth losses and :math:`\eta L < 1` the dynamic regret
    of an expert is at most :math:`[A/(2\eta) + \eta L F_T] / (1 - \eta L)`, :math:`A = D^2 + 2 D
    P_T`; for all losses it is at most :math:`A/(2\eta) + \eta G^2 T / 2`. D is the diameter of the
    domain, P_T the path length and F_T the total loss of the comparators, G a bound on the norms
    of gradients.

    Parameters
    ----------
    domain
        X.
    steps
        Rule for the step sizes.

    References
    ----------
    Zinkevich (2003); Zhao et al. (2020), the theorem on OGD and small losses.
    """

    def __init__(self, domain: Domain, steps: StepRule) -> None:
        self.domain = domain
        self.steps = steps

    def settings(self) -> Mapping[str, Any]:
        """Settings to save: the rule for the step sizes. The learner itself saves the domain."""
        return {"steps": self.steps}

    def start(self) -> ExpertState:
        """Return the first state: all points at the centre, expected gradients of 0."""
        return start_at_center(self.domain, self.steps.count())

    def step(self, state: ExpertState, gradient: Gradient) -> tuple[ExpertState, ExpertStep]:
        """Play one round: one descent step of every expert."""
        gradients = gradient(state.points)  # g_t = grad f_t(x_t)
        squared_error = squared_norms(gradients)  # M_t = 0
        error_sum = state.squared_error_sum + squared_error
        eta = self.steps.sizes(error_sum)
        # x_{t+1} = Proj_X[x_t - eta g_t]
        points, offset, change = projected_step(
            self.domain, state.points, state.offset, scaled_gradients(eta, gradients)
        )
        next_state = state._replace(
            points=points, base=points, squared_error_sum=error_sum, offset=offset
        )
        return next_state, ExpertStep(
            step_sizes=eta,
            squared_error=squared_error,
            squared_lookahead=np.zeros_like(squared_error),
            change=change,
        )

    def copy_last(self, state: ExpertState) -> ExpertState:
        """Append a copy of the last expert."""
        points = repeat_last_row(state.points)
        error_sums = state.squared_error_sum
        return ExpertState(
            points,
            points,
            repeat_last_row(state.expected_gradient),
            np.append(error_sums, self.steps.sum_of_copy(error_sums)),
            repeat_last_row(state.offset),
        )

    def step_sizes(self, state: ExpertState) -> Vector:
        """Return the step sizes of the coming round, shape ``(N,)``."""
        return self.steps.sizes(state.squared_error_sum)


@final
class OEGDExperts:
    r"""Online extra-gradient descent with every step size of a pool: Algorithms 2 and 4.

    .. math:: \hat x_{t+1} = \Pi_X[\hat x_t - \eta \nabla f_t(x_t)], \qquad
        x_{t+1} = \Pi_X[\hat x_{t+1} - \eta \nabla f_t(\hat x_{t+1})]

    The second step uses the last loss as a prediction of the next one. 2N gradients a round. With
    :math:`\eta L < 1` the dynamic regret of an expert is at most :math:`A/(2\eta) + \eta V_T / (2(1
    - \eta^2 L^2)) + \eta G^2/2`, :math:`A = D^2 + 2 D P_T` (D the diameter of the domain, P_T the
    path length of the comparators, V_T the gradient variation, G a bound on gradient norms).

    Parameters
    ----------
    domain
        X.
    steps
        Rule for the step sizes of the first step.
    next_steps
        Rule for the step sizes of the second step, which belongs to the next round; ``steps``
        unless given. It is needed if step sizes depend on a measurement that each round changes:
        ``steps`` then uses its value before the loss of this round, ``next_steps`` the one after.

    References
    ----------
    Zhao et al. (2020), the theorem on OEGD; Chiang et al. (2012).
    """

    def __init__(self, domain: Domain, steps: StepRule, next_steps: StepRule | None = None) -> None:
        self.domain = domain
        self.steps = steps
        self._next_steps = steps if next_steps is None else next_steps

    def settings(self) -> Mapping[str, Any]:
        """Settings to save: the rules for the step sizes. The learner itself saves the domain."""
        rules = {"steps": self.steps, "next_steps": self._next_steps}
        return {"steps": self.steps} if self._next_steps is self.steps else rules

    def start(self) -> ExpertState:
        """Return the first state: all points at the centre, expected gradients of 0."""
        return start_at_center(self.domain, self.steps.count())

    def step(self, state: ExpertState, gradient: Gradient) -> tuple[ExpertState, ExpertStep]:
        """Play one round: one extra-gradient step of every expert."""
        gradients = gradient(state.points)  # g_t = grad f_t(x_t)
        squared_error = squared_norms(gradients - state.expected_gradient)
        error_sum = state.squared_error_sum + squared_error
        # x_t was computed with the step size for the error sum before this round: the step below
        # uses it, too. Adaptive step sizes are infinite until the first gradient other than 0; that
        # round uses the step size for the new sum.
        eta = self.steps.sizes(state.squared_error_sum)
        eta = np.where(np.isinf(eta), self._next_steps.sizes(error_sum), eta)
        # xhat_{t+1} = Proj_X[xhat_t - eta g_t]
        base, offset, change = projected_step(
            self.domain, state.base, state.offset, scaled_gradients(eta, gradients)
        )
        next_state = self._with_next_points(base, offset, gradient(base), error_sum)
        return next_state, ExpertStep(
            eta,
            squared_error,
            squared_lookahead=squared_norms(state.points - state.base),
            change=change,
        )

    def copy_last(self, state: ExpertState) -> ExpertState:
        """Append a copy of the last expert; its point is computed with its own step size."""
        error_sums = state.squared_error_sum
        return self._with_next_points(
            repeat_last_row(state.base),
            repeat_last_row(state.offset),
            repeat_last_row(state.expected_gradient),
            np.append(error_sums, self._next_steps.sum_of_copy(error_sums)),
        )

    def step_sizes(self, state: ExpertState) -> Vector:
        """Return the step sizes of the coming round, shape ``(N,)``."""
        return self._next_steps.sizes(state.squared_error_sum)

    def _with_next_points(
        self, base: Matrix, offset: Matrix | None, expected_gradient: Matrix, error_sum: Vector
    ) -> ExpertState:
        r"""State with :math:`x_{t+1} = \Pi_X[\hat x_{t+1} - \eta M_{t+1}]`.

        Round t + 1 uses the same step size for its first step (:meth:`step`): the certificate
        relies on that.
        """
        steps = scaled_gradients(self._next_steps.sizes(error_sum), expected_gradient)
        points = projected_step(self.domain, base, offset, steps).points
        return ExpertState(points, base, expected_gradient, error_sum, offset)


@final
class OptimisticExperts:
    r"""Optimistic mirror descent in the Euclidean norm with every step size of a pool.

    .. math:: \hat x_{t+1} = \Pi_X[\hat x_t - \eta g_t], \qquad x_{t+1} = \Pi_X[\hat x_{t+1} - \eta
        M_{t+1}]

    :math:`g_t = \nabla f_t(x_t)`, and :math:`M_{t+1} = g_t` unless :meth:`expect` replaces it. N
    gradients a round. The step size of an expert is infinite until its first gradient other than
    0: until then it stays at the centre, with :math:`M_{t+1} = 0`.

    The state has no offsets from the centre, which other experts keep for the certificate:
    distances are computed from the points. Their rounding error, divided by the step size, enters
    the certificate. That would matter only if the bound were much smaller than :math:`D^2 /
    \eta`; with the step sizes of OptimisticOGD, :math:`D / (2 \sqrt{\sum q_s})` with :math:`q_s =
    \|g_s - M_s\|^2`, it is itself of this order.

    Parameters
    ----------
    domain
        X.
    steps
        Rule for the step sizes.

    References
    ----------
    Rakhlin and Sridharan (2013), "Online learning with predictable sequences"; Chiang et al.
    (2012).
    """

    def __init__(self, domain: Domain, steps: StepRule) -> None:
        self.domain = domain
        self.steps = steps

    def settings(self) -> Mapping[str, Any]:
        """Settings to save: the rule for the step sizes. The learner itself saves the domain."""
        return {"steps": self.steps}

    def start(self) -> ExpertState:
        """Return the first state: all points at the centre, expected gradients of 0."""
        points = np.tile(self.domain.center, (self.steps.count(), 1))
        return ExpertState(
            points=points,
            base=points,
            expected_gradient=np.zeros_like(points),
            squared_error_sum=np.zeros(len(points)),
        )

    def step(self, state: ExpertState, gradient: Gradient) -> tuple[ExpertState, ExpertStep]:
        """Play one round, with its gradients as the expected gradients of the next."""
        gradients = gradient(state.points)  # g_t = grad f_t(x_t)
        squared_error = squared_norms(gradients - state.expected_gradient)
        error_sum = state.squared_error_sum + squared_error
        # x_t was computed with the step size for the error sum before this round: the step below
        # uses it, too. It is infinite until the first gradient other than 0; that round uses the
        # step size for the new sum.
        eta = self.steps.sizes(state.squared_error_sum)
        eta = np.where(np.isinf(eta), self.steps.sizes(error_sum), eta)
        # xhat_{t+1} = Proj_X[xhat_t - eta g_t]
        base = self.domain.project(state.base - scaled_gradients(eta, gradients))
        next_state = self._with_next_points(base, gradients, error_sum)
        return next_state, ExpertStep(
            step_sizes=eta,
            squared_error=squared_error,
            squared_lookahead=squared_norms(state.points - state.base),
        )

    def expect(self, state: ExpertState, expected_gradient: Matrix) -> ExpertState:
        """Return the state with these expected gradients M_{t+1}, shape ``(N, d)``."""
        return self._with_next_points(state.base, expected_gradient, state.squared_error_sum)

    def copy_last(self, state: ExpertState) -> ExpertState:
        """Append a copy of the last expert; its point is computed with its own step size."""
        error_sums = state.squared_error_sum
        return self._with_next_points(
            repeat_last_row(state.base),
            repeat_last_row(state.expected_gradient),
            # Only the copies of Sword's CappedAdaGrad steps start with another sum.
            np.append(error_sums, error_sums[-1]),
        )

    def step_sizes(self, state: ExpertState) -> Vector:
        """Return the step sizes of the coming round, shape ``(N,)``."""
        return self.steps.sizes(state.squared_error_sum)

    def _with_next_points(
        self, base: Matrix, expected_gradient: Matrix, error_sum: Vector
    ) -> ExpertState:
        r"""State with :math:`x_{t+1} = \Pi_X[\hat x_{t+1} - \eta M_{t+1}]`."""
        eta = self.steps.sizes(error_sum)
        expected = np.where(np.isinf(eta)[:, None], 0.0, expected_gradient)
        points = self.domain.project(base - scaled_gradients(eta, expected))
        return ExpertState(points, base, expected, error_sum)


def has_constant_steps(experts: Experts) -> bool:
    """Whether the experts are a class of this module with step sizes that never change."""
    return isinstance(experts, OGDExperts | OEGDExperts | OptimisticExperts) and isinstance(
        experts.steps, Constant
    )
