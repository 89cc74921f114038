"""Second-order experts: discounted Newton steps with every discount of a grid at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Array, Domain, Gradient, Matrix, Vector
from swordplay.parts.experts.expert import Move, squared_norms, strides
from swordplay.parts.experts.step_sizes import AdaGradNorm

PROBE = 2.0**-10
"""How far the second gradient of a round is asked for, in diameters: near enough for the curvature
at the point itself, far
enough that the difference of two gradients keeps most of its digits."""
FLAT = 1e-12
"""Relative difference of two gradients below which it is rounding: the loss has no curvature
there.
"""


class CurvedState(NamedTuple):
    """What N second-order experts need for their next round, a row each.

    The first four entries are those of all experts.
    """

    points: Matrix
    """x_t, shape ``(N, d)``."""
    base: Matrix
    """xhat_t, shape ``(N, d)``: a shadow that descends along the same gradients.

    Only the certificate asks for it.
    """
    replay: Matrix
    """0: they expect nothing."""
    energy: Vector
    """Sum of the squared gradients so far, shape ``(N,)``."""
    curvature: Array
    """S_t, discounted sum of the curvatures that were seen, shape ``(N, d, d)``."""
    faded: Vector
    """E_t, discounted sum of the squared gradients, shape ``(N,)``."""


@final
class CurvedExperts:
    r"""Newton steps on the discounted past: least squares with forgetting, for any convex loss.

    .. math:: S_t = \gamma S_{t-1} + \frac{y_t y_t^\top}{\langle y_t, s_t \rangle}, \quad
        E_t = \gamma E_{t-1} + \|g_t\|^2, \quad
        A_t = S_t + \frac{\rho \sqrt{E_t}}{D} I, \quad x_{t+1} = \Pi_X[x_t - A_t^{-1} g_t]

    with :math:`g_t = \nabla f_t(x_t)` and :math:`y_t` what the gradient changes by on a short way
    :math:`s_t` along itself. For a loss of a linear prediction, :math:`f = \varphi(\langle a, x
    \rangle)`, the quotient is :math:`\varphi'' a a^\top` and the step that of recursive least
    squares (of Newton's method for a logistic loss); for any other convex loss it is the curvature
    along the gradient, and never more than the loss has.

    As :math:`E_t \ge \|g_t\|^2`, no step is longer than :math:`D/\rho`, whatever columns stand
    still, are equal or have faded away: nothing winds up. Where losses have no curvature, the steps
    are :math:`D/(\rho \sqrt{E_t})`, those of a gradient descent that forgets.

    2N gradients a round, :math:`O(N d^3)` in these lines. While no projection is needed and the
    losses are squared, the dynamic regret of an expert is at most ``bounds.curved_expert``; what it
    hands to the certificate holds for every loss.

    Parameters
    ----------
    domain
        Where decisions live.
    discounts
        :math:`\gamma_k` in (0, 1), shape ``(N,)``: about :math:`1/(1 - \gamma)` rounds are
        remembered.
    ridge
        :math:`\rho > 0`. No decision changes when all losses are multiplied by one number.

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
        self._shadow = AdaGradNorm(domain.diameter)

    def settings(self) -> Mapping[str, Any]:
        """Discounts and ridge; the learner says the domain."""
        return {"discounts": self.discounts, "ridge": self.ridge}

    def start(self) -> Any:
        """All at the domain's centre, nothing seen."""
        N, d = len(self.discounts), self.domain.dim
        points = np.tile(self.domain.center, (N, 1))
        return CurvedState(
            points, points, np.zeros((N, d)), np.zeros(N), np.zeros((N, d, d)), np.zeros(N)
        )

    def step(self, state: Any, gradient: Gradient) -> tuple[Any, Move]:
        """One Newton step of every expert."""
        g = gradient(state.points)
        squares = squared_norms(g)
        faded = self.discounts * state.faded + squares
        curvature = self.discounts[:, None, None] * state.curvature + self._seen(
            state.points, g, gradient
        )
        energy = state.energy + squares
        eta = self._sizes(energy)
        base = self.domain.project(state.base - strides(eta, g))
        moved = CurvedState(state.points, base, state.replay, energy, curvature, faded)
        points = self.domain.project(state.points - self._newton(moved, g))
        return moved._replace(points=points), _owed(eta, g, state.points, state.base, base)

    def fork(self, state: Any) -> NoReturn:
        """A grid of discounts does not grow.

        Raises
        ------
        NotImplementedError
            Always.
        """
        raise NotImplementedError(
            "the discounts of CurvedExperts are all there from the start: give more of them "
            "instead."
        )

    def step_sizes(self, state: Any) -> Vector:
        """1 - discount of each: the weight of the newest round among those that count, shape
        ``(N,)``.
        """
        return np.asarray(1.0 - self.discounts)

    def curvatures(self, state: Any) -> Array:
        """A_t that the last step was made with, shape ``(N, d, d)``."""
        return np.asarray(
            state.curvature + self.ridges(state)[:, None, None] * np.eye(self.domain.dim)
        )

    def ridges(self, state: Any) -> Vector:
        """The ridge in it, rho sqrt(E_t)/D, shape ``(N,)``."""
        return np.asarray(self.ridge * np.sqrt(state.faded) / self.domain.diameter)

    def _seen(self, points: Matrix, g: Matrix, gradient: Gradient) -> Array:
        """y y'/<y, s> of each expert, shape ``(N, d, d)``; 0 where the loss is flat."""
        lengths = np.sqrt(squared_norms(g))
        ahead = PROBE * self.domain.diameter * g / np.where(lengths > 0, lengths, 1.0)[:, None]
        # At the rim one of the two ways leads out of the domain and is cut short: take the longer
        # one.
        ways = [self.domain.project(points + sign * ahead) - points for sign in (-1.0, 1.0)]
        along = [np.abs(np.einsum("ij,ij->i", way, g)) for way in ways]
        probes = self.domain.project(
            points + np.where((along[0] >= along[1])[:, None], ways[0], ways[1])
        )
        y, s = gradient(probes) - g, probes - points
        bend = np.einsum("ij,ij->i", y, s)
        curved = bend > FLAT * lengths * np.sqrt(squared_norms(s))
        scaled = y / np.sqrt(np.where(curved, bend, np.inf))[:, None]
        return np.asarray(scaled[:, :, None] * scaled[:, None, :])

    def _newton(self, state: CurvedState, g: Matrix) -> Matrix:
        """A^-1 g of each; 0 where no gradient was ever met.

        In units of the ridge, so that small losses do not vanish.
        """
        ridges = self.ridges(state)
        unit = np.where(ridges > 0, ridges, 1.0)
        A = state.curvature / unit[:, None, None] + np.eye(self.domain.dim)
        return np.asarray(np.linalg.solve(A, (g / unit[:, None])[:, :, None])[:, :, 0])

    def _sizes(self, energy: Vector) -> Vector:
        """D / (2 sqrt(energy)) each: the steps of the shadow."""
        return np.array([self._shadow.sizes(one[None])[0] for one in energy])


def _owed(eta: Vector, g: Matrix, points: Matrix, base: Matrix, after: Matrix) -> Move:
    r"""What the shadow proves about the points, wherever they are.

    .. math:: \langle g, x - u \rangle \le \langle g, x - \hat x' \rangle - \tfrac{1}{2\eta} \|\hat
        x' - \hat x\|^2
        + \tfrac{1}{2\eta} (\|u - \hat x\|^2 - \|u - \hat x'\|^2)

    for the shadow's step from :math:`\hat x` to :math:`\hat x'`. The first two terms were observed:
    they enter the certificate as a price (``surprise``) where they are positive, and as a saving
    (``lead``) where not.
    """
    inverse = np.where(np.isinf(eta), 0.0, 1.0 / eta)
    price = np.einsum("ij,ij->i", g, points - after) - inverse * squared_norms(after - base) / 2
    return Move(
        step_sizes=eta,
        surprise=2 * np.maximum(price, 0.0) * inverse,
        lead=np.where(
            inverse > 0, 2 * np.maximum(-price, 0.0) * np.where(np.isinf(eta), 0.0, eta), 0.0
        ),
    )
