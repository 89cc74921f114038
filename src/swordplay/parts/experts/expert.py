r"""State and interface of a pool of experts, and the projected step that all kinds share.

Experts over a ball whose centre c is not the origin keep the offset :math:`w = \hat x - c` beside
the point :math:`\hat x = c + w`. The certificate divides distances from the centre by the step size
:math:`\eta`. If it computed :math:`\hat x - c`, the rounding error of the coordinates would be
divided too: at a coordinate of 25 and a step size of 1e-8 that is an error of about 1e-7 in every
round.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, Protocol

import numpy as np

from swordplay.core.arguments import LARGEST_GRADIENT
from swordplay.core.state import array
from swordplay.core.types import Domain, Gradient, Matrix, Vector
from swordplay.parts.domains import Ball
from swordplay.parts.experts.step_sizes import underflow_message


class ExpertState(NamedTuple):
    """State of the N experts of one kind between two rounds, one row per expert.

    The axis "pool" is the experts of this kind; "experts" in the state of a meta is those of all
    kinds.
    """

    points: Annotated[Matrix, array("pool", "dim")]
    """x_t, shape ``(N, d)``: the points of the experts in the coming round."""
    base: Annotated[Matrix, array("pool", "dim")]
    """xhat_t, shape ``(N, d)``: the points from which experts step; for OGD equal to x_t."""
    expected_gradient: Annotated[
        Matrix, array("pool", "dim", low=-LARGEST_GRADIENT, high=LARGEST_GRADIENT)
    ]
    """M_t, shape ``(N, d)``: the gradient that each expert expects; 0 for OGD."""
    squared_error_sum: Annotated[Vector, array("pool", low=0.0)]
    """Sum of norm(g_s - M_s)^2 over the rounds so far, shape ``(N,)``."""
    offset: Annotated[Matrix | None, array("pool", "dim", optional=True)] = None
    """xhat_t - c, shape ``(N, d)``, in a ball whose centre is not the origin; else None."""


class ExpertStep(NamedTuple):
    """Step sizes and squared distances of the experts in one round, for the certificate."""

    step_sizes: Vector
    """Step sizes of this round, shape ``(N,)``; infinite before the first gradient."""
    squared_error: Vector
    """norm(g_t - M_t)^2, shape ``(N,)``: squared error of the expected gradients."""
    squared_lookahead: Vector
    """norm(x_t - xhat_t)^2, shape ``(N,)``: squared distance of points from base points."""
    change: Matrix | None = None
    """xhat_{t+1} - xhat_t, shape ``(N, d)``, without the rounding error of subtracting the points.

    None if the experts do not compute it.
    """

    @classmethod
    def with_certificate_cost(cls, step_sizes: Vector, cost: Vector) -> ExpertStep:
        """Return a step that adds ``cost``, of either sign and shape ``(N,)``, to the certificate.

        The certificate adds eta/2 squared_error and subtracts squared_lookahead / (2 eta).
        """
        inverse = np.where(np.isinf(step_sizes), 0.0, 1.0 / step_sizes)
        finite_steps = np.where(np.isinf(step_sizes), 0.0, step_sizes)
        return cls(
            step_sizes=step_sizes,
            squared_error=2 * np.maximum(cost, 0.0) * inverse,
            squared_lookahead=np.where(inverse > 0, 2 * np.maximum(-cost, 0.0) * finite_steps, 0.0),
        )


class Experts(Protocol):
    """A pool of experts over one domain: one algorithm run with N step sizes."""

    def start(self) -> ExpertState:
        """State before the first round, with all points at the centre of the domain."""
        ...

    def step(self, state: ExpertState, gradient: Gradient) -> tuple[ExpertState, ExpertStep]:
        """Play a round whose loss has this gradient.

        Returns
        -------
        ExpertState
            The state after the round.
        ExpertStep
            Step sizes and squared distances of the round.
        """
        ...

    def copy_last(self, state: ExpertState) -> ExpertState:
        """Return the state with a copy of the last expert added.

        The copy has the next step size of the pool's step-size rule.
        """
        ...

    def step_sizes(self, state: ExpertState) -> Vector:
        """Step sizes of the coming round, shape ``(N,)``."""
        ...


def start_at_center(domain: Domain, count: int) -> ExpertState:
    """Return the state of ``count`` experts before the first round: all points at the centre."""
    points = np.tile(domain.center, (count, 1))
    zeros = np.zeros_like(points)
    has_offset = type(domain) is Ball and domain.center.any()
    return ExpertState(
        points=points,
        base=points,
        expected_gradient=zeros,
        squared_error_sum=np.zeros(count),
        offset=zeros if has_offset else None,
    )


def repeat_last_row(rows: Any) -> Any:
    """Append a copy of the last row; None stays None."""
    return None if rows is None else np.concatenate([rows, rows[-1:]])


def scaled_gradients(step_sizes: Vector, gradients: Matrix) -> Matrix:
    """Return step size times gradient of each expert, shape ``(N, d)``; 0 if eta is infinite.

    Step sizes are infinite while the sum of squared errors is 0.

    Raises
    ------
    ValueError
        If a step size is infinite although the gradient is not 0, because the gradient is so small
        that its square underflows to 0.
    """
    is_infinite = np.isinf(step_sizes)
    if is_infinite.any() and (largest_entry := float(np.abs(gradients[is_infinite]).max())) > 0:
        raise ValueError(underflow_message(largest_entry))
    return np.where(is_infinite, 0.0, step_sizes)[:, None] * gradients


def squared_norms(rows: Matrix) -> Vector:
    """Squared Euclidean norm of each row."""
    return np.asarray(np.einsum("ij,ij->i", rows, rows))


class ProjectedStep(NamedTuple):
    """Points after a projected step, shapes ``(N, d)``."""

    points: Matrix
    offset: Matrix | None
    """Points minus the centre of the ball; None if offsets are not kept."""
    change: Matrix
    """New points minus old ones, computed as (projected point - unprojected point) - step.

    Subtracting the points themselves would leave rounding errors of the size of a coordinate's last
    bit, which the certificate would divide by the step size and sum up.
    """


def projected_step(
    domain: Domain, points: Matrix, offset: Matrix | None, step_vectors: Matrix
) -> ProjectedStep:
    r"""Return :math:`\Pi_X[x - s]` for the point x and the step vector s of every expert.

    Parameters
    ----------
    domain
        X.
    points
        x, shape ``(N, d)``.
    offset
        x - c, shape ``(N, d)``, c the centre of the ball; None if it is not kept.
    step_vectors
        s, the step size times the gradient, shape ``(N, d)``.
    """
    if offset is None:
        unprojected = points - step_vectors
        projected = domain.project(unprojected)
        return ProjectedStep(projected, None, (projected - unprojected) - step_vectors)
    assert isinstance(domain, Ball)
    unprojected = offset - step_vectors
    projected = domain.project_offset(unprojected)
    return ProjectedStep(
        np.asarray(domain.center + projected), projected, (projected - unprojected) - step_vectors
    )


def base_offset(state: Any, domain: Domain) -> Matrix:
    """Return xhat - c, shape ``(N, d)``, for the state of any experts and the domain's centre c."""
    offset = getattr(state, "offset", None)
    return np.asarray(state.base - domain.center if offset is None else offset)


def check_loaded_state(state: Any, domain: Domain, slack: float) -> None:
    """Check that the points of a loaded state lie in the domain, and that its offsets fit them.

    Raises
    ------
    ValueError
        If a point or an offset is wrong by more than ``slack``.
    """
    points = np.vstack([state.points, state.base])
    if not (np.isfinite(points).all() and domain.contains(points, atol=slack).all()):
        raise ValueError(
            "state has points outside the domain. Make the learner with the domain it was saved "
            "with."
        )
    if np.abs(base_offset(state, domain) + domain.center - state.base).max() > slack:
        raise ValueError(
            "state has offsets that differ from its base points minus the centre. The state is "
            "damaged: load an earlier one."
        )
