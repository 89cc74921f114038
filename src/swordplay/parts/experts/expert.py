"""What every kind of experts agrees on."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from swordplay.core.types import Gradient, Matrix, Vector
from swordplay.parts.experts.steps import too_short


class ExpertState(NamedTuple):
    """What N experts need for their next round, a row each."""

    points: Matrix
    """x_t, shape ``(N, d)``: where the experts stand in the coming round."""
    base: Matrix
    """xhat_t, shape ``(N, d)``: where they step from (the points themselves for OGD)."""
    replay: Matrix
    """M_t, shape ``(N, d)``: the gradient they expect (0 for OGD)."""
    energy: Vector
    """Sum of the squared surprises so far, shape ``(N,)``."""
    offset: Any = ()
    """xhat_t - c, shape ``(N, d)``, in a ball whose centre is not the origin: to more digits
    than ``base`` has there.
    """


class Move(NamedTuple):
    """What a round showed about each expert, for the certificate.

    Shapes ``(N,)`` but for the last.
    """

    step_sizes: Vector
    """The steps this round was played with; inf if no gradient was ever met."""
    surprise: Vector
    """Squared distance of gradient and expectation, norm(g_t - M_t)^2."""
    lead: Vector
    """Squared distance that optimism moved the points ahead, norm(x_t - xhat_t)^2."""
    change: Any = ()
    """xhat_{t+1} - xhat_t, shape ``(N, d)``, from whoever knows it better than the difference of
    the two does.
    """


class Experts(Protocol):
    """A pool of experts over one domain."""

    def start(self) -> ExpertState:
        """All at the domain's centre."""
        ...

    def step(self, state: ExpertState, gradient: Gradient) -> tuple[ExpertState, Move]:
        """Move all experts along a gradient field."""
        ...

    def fork(self, state: ExpertState) -> ExpertState:
        """Copy the last expert; the copy goes on with the next step size of the pool."""
        ...

    def step_sizes(self, state: ExpertState) -> Vector:
        """Step sizes of the coming round, shape ``(N,)``."""
        ...


def copied_last(rows: Any) -> Any:
    """The rows, and the last one again; nothing where nothing is kept."""
    return np.concatenate([rows, rows[-1:]]) if len(rows) else rows


def strides(step_sizes: Vector, gradients: Matrix) -> Matrix:
    """Step size times gradient, row by row.

    An infinite step means no gradient was ever met: stand still.

    Raises
    ------
    ValueError
        If a gradient was met, but is so short that its square vanished.
    """
    endless = np.isinf(step_sizes)
    if endless.any() and (longest := float(np.abs(gradients[endless]).max())) > 0:
        raise ValueError(too_short(longest))
    return np.where(endless, 0.0, step_sizes)[:, None] * gradients


def squared_norms(rows: Matrix) -> Vector:
    """Squared Euclidean norm of each row."""
    return np.asarray(np.einsum("ij,ij->i", rows, rows))
