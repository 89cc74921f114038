"""Second-order experts: Newton steps on discounted curvature, with a grid of discounts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, NoReturn, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.state import array
from swordplay.core.types import Array, Domain, Gradient, Matrix, Vector
from swordplay.parts.experts.expert import ExpertStep, scaled_gradients, squared_norms
from swordplay.parts.experts.step_sizes import AdaGradNorm

PROBE_DISTANCE = 2.0**-10
"""Distance, in diameters, between a point and its probe, where a second gradient is taken.

It is short enough for the difference of the two gradients to show the curvature at the point, and
long enough for the difference to keep most of its digits.
"""
MIN_GRADIENT_CHANGE = 1e-12
"""If two gradients differ by less than this, relative to them, the loss counts as not curved."""


class NewtonState(NamedTuple):
    """State of N second-order experts between two rounds, one row per expert.

    The first four fields mean the same as in :class:`ExpertState`.
    """

    points: Annotated[Matrix, array("pool", "dim")]
    """x_t, shape ``(N, d)``."""
    base: Annotated[Matrix, array("pool", "dim")]
    """xhat_t, shape ``(N, d)``: auxiliary points of gradient descent, for the certificate only."""
    expected_gradient: Annotated[Matrix, array("pool", "dim")]
    """0, shape ``(N, d)``: these experts expect no gradient."""
    squared_error_sum: Annotated[Vector, array("pool", low=0.0)]
    """Sum of the squared gradients so far, shape ``(N,)``; their errors, as 0 is expected."""
    curvature: Annotated[Array, array("pool", "dim", "dim", semidefinite=True)]
    """S_t, discounted sum of the measured curvatures, shape ``(N, d, d)``."""
    discounted_squares: Annotated[Vector, array("pool", low=0.0)]
    """E_t, discounted sum of the squared gradients, shape ``(N,)``."""


@final
class NewtonExperts:
    r"""Newton steps on discounted curvature: least squares with forgetting, for any convex loss.

    .. math:: S_t = \gamma S_{t-1} + \frac{y_t y_t^\top}{\langle y_t, s_t \rangle}, \quad
        E_t = \gamma E_{t-1} + \|g_t\|^2, \quad
        A_t = S_t + \frac{\rho \sqrt{E_t}}{D} I, \quad x_{t+1} = \Pi_X[x_t - A_t^{-1} g_t]

    with :math:`g_t = \nabla f_t(x_t)`, a short step :math:`s_t` along the gradient, :math:`y_t =
    \nabla f_t(x_t + s_t) - g_t`, and the diameter D of the domain X. For a loss of a linear
    prediction, :math:`f = \varphi(\langle a, x \rangle)`, the fraction is :math:`\varphi'' a
    a^\top`, and the step is that of recursive least squares (of Newton's method for a logistic
    loss). For any other convex loss the fraction is the curvature along the gradient, which is at
    most the Hessian of the loss.

    As :math:`E_t \ge \|g_t\|^2`, no step is longer than :math:`D/\rho`, even where columns are
    constant, equal, or have been 0 for a long time (no covariance wind-up). For losses without
    curvature this is gradient descent with step sizes :math:`D/(\rho \sqrt{E_t})`.

    A round takes 2N gradients and :math:`O(N d^3)` operations. While no projection is needed and
    the losses are squared, the dynamic regret of an expert is at most ``bounds.curved_expert``. The
    terms that an expert adds to the certificate hold for every loss.

    Parameters
    ----------
    domain
        X.
    discounts
        :math:`\gamma_k` in (0, 1), shape ``(N,)``; an expert remembers about :math:`1/(1 -
        \gamma)` rounds.
    ridge
        :math:`\rho > 0`. Decisions do not change when all losses are multiplied by one number.

    References
    ----------
    Jacobsen and Cutkosky (2024), "Online linear regression in dynamic environments via
    discounting"; Vovk (2001); Azoury and Warmuth (2001); Hazan, Agarwal and Kale (2007) for the
    Newton step.
    """

    def __init__(self, domain: Domain, discounts: Any, ridge: float) -> None:
        self.domain = domain
        self.discounts = arguments.positive_vector("discounts", discounts).copy()
        if not (self.discounts < 1.0).all():
            raise ValueError(
                f"discounts must lie in (0, 1), got {self.discounts.max()}. Give 1 - 1/(rounds to "
                "remember)."
            )
        self.discounts.flags.writeable = False
        self.ridge = arguments.positive("ridge", ridge)
        self._base_steps = AdaGradNorm(domain.diameter)

    def settings(self) -> Mapping[str, Any]:
        """Settings to save: discounts and ridge. The learner itself saves the domain."""
        return {"discounts": self.discounts, "ridge": self.ridge}

    def start(self) -> Any:
        """State before the first round, with all points at the centre of the domain."""
        N, d = len(self.discounts), self.domain.dim
        points = np.tile(self.domain.center, (N, 1))
        return NewtonState(
            points, points, np.zeros((N, d)), np.zeros(N), np.zeros((N, d, d)), np.zeros(N)
        )

    def step(self, state: Any, gradient: Gradient) -> tuple[Any, ExpertStep]:
        """Play one round: one Newton step of every expert."""
        g = gradient(state.points)
        squares = squared_norms(g)
        discounted_squares = self.discounts * state.discounted_squares + squares
        curvature = self.discounts[:, None, None] * state.curvature + self._curvature_of(
            state.points, g, gradient
        )
        squared_error_sum = state.squared_error_sum + squares
        eta = self._base_step_sizes(squared_error_sum)
        base = self.domain.project(state.base - scaled_gradients(eta, g))
        state_before_step = NewtonState(
            state.points,
            base,
            state.expected_gradient,
            squared_error_sum,
            curvature,
            discounted_squares,
        )
        points = self.domain.project(state.points - self._newton_steps(state_before_step, g))
        return state_before_step._replace(points=points), _certificate_record(
            eta, g, state.points, state.base, base
        )

    def copy_last(self, state: Any) -> NoReturn:
        """Refuse: a grid of discounts does not grow.

        Raises
        ------
        NotImplementedError
            Always.
        """
        raise NotImplementedError(
            "NewtonExperts cannot be copied, as their number is fixed. Give more discounts to the "
            "constructor."
        )

    def step_sizes(self, state: Any) -> Vector:
        """Return 1 - discount in place of step sizes, shape ``(N,)``.

        It is the last round's share of the total weight of an infinite discounted sum.
        """
        return np.asarray(1.0 - self.discounts)

    def regularised_curvatures(self, state: Any) -> Array:
        """Return A_t of the last step, shape ``(N, d, d)``."""
        return np.asarray(
            state.curvature + self.ridges(state)[:, None, None] * np.eye(self.domain.dim)
        )

    def ridges(self, state: Any) -> Vector:
        """Return the factor of I in A_t, rho sqrt(E_t)/D, shape ``(N,)``."""
        return np.asarray(self.ridge * np.sqrt(state.discounted_squares) / self.domain.diameter)

    def _curvature_of(self, points: Matrix, g: Matrix, gradient: Gradient) -> Array:
        """Return y y' / <y, s> of each expert, shape ``(N, d, d)``; 0 if the loss is not curved."""
        norms = np.sqrt(squared_norms(g))
        probe_offset = (
            PROBE_DISTANCE * self.domain.diameter * g / np.where(norms > 0, norms, 1.0)[:, None]
        )
        # At the boundary one of the two directions leads out of the domain, and the projection
        # shortens the step: take the step that moves farther along the gradient.
        backward, forward = (
            self.domain.project(points + sign * probe_offset) - points for sign in (-1.0, 1.0)
        )
        backward_length, forward_length = (
            np.abs(np.einsum("ij,ij->i", probe_step, g)) for probe_step in (backward, forward)
        )
        probes = self.domain.project(
            points + np.where((backward_length >= forward_length)[:, None], backward, forward)
        )
        y, s = gradient(probes) - g, probes - points
        product = np.einsum("ij,ij->i", y, s)  # <y, s>
        is_curved = product > MIN_GRADIENT_CHANGE * norms * np.sqrt(squared_norms(s))
        roots = y / np.sqrt(np.where(is_curved, product, np.inf))[:, None]  # y / sqrt(<y, s>)
        return np.asarray(roots[:, :, None] * roots[:, None, :])

    def _newton_steps(self, state: NewtonState, g: Matrix) -> Matrix:
        """Return A^-1 g of each expert, shape ``(N, d)``; 0 before the first gradient other than 0.

        A and g are divided by the ridge, so that small losses do not underflow.
        """
        ridges = self.ridges(state)
        divisors = np.where(ridges > 0, ridges, 1.0)
        A = state.curvature / divisors[:, None, None] + np.eye(self.domain.dim)
        return np.asarray(np.linalg.solve(A, (g / divisors[:, None])[:, :, None])[:, :, 0])

    def _base_step_sizes(self, squared_error_sum: Vector) -> Vector:
        """Return D / (2 sqrt(sum)) of each expert: the step sizes of the auxiliary points."""
        # AdaGradNorm multiplies the size of expert i by 2^i / 2. Calling it for one expert at a
        # time gives 1/2 to all.
        return np.array([self._base_steps.sizes(np.array([q]))[0] for q in squared_error_sum])


def _certificate_record(
    eta: Vector, g: Matrix, points: Matrix, base: Matrix, new_base: Matrix
) -> ExpertStep:
    r"""Return the certificate's terms for ``points``, from the steps of the auxiliary points.

    .. math:: \langle g, x - u \rangle \le \langle g, x - \hat x' \rangle - \tfrac{1}{2\eta} \|\hat
        x' - \hat x\|^2
        + \tfrac{1}{2\eta} (\|u - \hat x\|^2 - \|u - \hat x'\|^2)

    for any comparator u and the step of size :math:`\eta` from ``base`` :math:`\hat x` to
    ``new_base`` :math:`\hat x'`, x being ``points``. The sum of the first two terms, the cost of
    the round, does not depend on u.
    """
    inverse = np.where(np.isinf(eta), 0.0, 1.0 / eta)
    # <g, x - xhat'> - norm(xhat' - xhat)^2 / (2 eta)
    cost = (
        np.einsum("ij,ij->i", g, points - new_base) - inverse * squared_norms(new_base - base) / 2
    )
    return ExpertStep.with_certificate_cost(eta, cost)
