"""MetaGrad and Curved: Newton steps at many learning rates or discounts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.arguments import checked
from swordplay.core.state import OBSERVED, Field, array
from swordplay.core.types import Array, Domain, GameConstants, Matrix, Vector
from swordplay.parts import rates
from swordplay.parts.domains import enclosing_ball
from swordplay.parts.experts import NewtonExperts
from swordplay.parts.learners.assumptions import DeclaredConstants, ObservedLoss
from swordplay.parts.learners.learner import SLACK, UncertifiedLearner, frozen
from swordplay.parts.learners.meta_expert import MetaExpertLearner
from swordplay.parts.learners.one_projection_pbgd import surrogate_gradient
from swordplay.parts.learners.sword import FLOOR
from swordplay.parts.metas import LearnedOptimism, Meta, OptimisticHedge, telescoping, uniform
from swordplay.parts.metas.meta import meta_or_default, normalized_weights

BISECTIONS = 60
"""Bisections of the interval of a projection's multiplier, which end at rounding error."""


class MetaGradState(NamedTuple):
    """The experts of MetaGrad, the curvature of its losses and the weights."""

    rounds: Annotated[int, OBSERVED]
    points: Annotated[Matrix, array("experts", "dim")]
    """w_i, the point of each learning rate's expert in the ball, shape ``(N, d)``."""
    curvature: Annotated[Array, Field(semidefinite=True)]
    """Sum of g g', shape ``(d, d)``, or of its diagonal, shape ``(d,)``."""
    log_weights: Annotated[Vector, array("experts")]
    """ln of prior times e^-(sum of surrogates), largest 0, shape ``(N,)``."""


@final
class MetaGrad(UncertifiedLearner):
    r"""Online Newton steps at a grid of learning rates, and their tilted average.

    .. math:: y_t = \frac{\sum_i \pi_{t,i} \eta_i w_{t,i}}{\sum_i \pi_{t,i} \eta_i}, \qquad \eta_i =
        \frac{2^{-i}}{5 D G}, \qquad \ell_i(w) = -\eta_i \langle y_t - w, g_t \rangle + \eta_i^2
        \langle y_t - w, g_t \rangle^2

    with :math:`w_i` moved by a Newton step on :math:`\ell_i` and :math:`\pi_i` multiplied by
    :math:`e^{-\ell_i(w_i)}`. The experts live in a ball that holds the domain, as in
    :class:`OneProjection`. Regret to a fixed decision u of order :math:`\sqrt{V d \ln T}`, :math:`V
    = \sum \langle g_t, y_t - u \rangle^2`: ``bounds.metagrad``. A fixed decision only: it does not
    track.

    Parameters
    ----------
    domain
        Where decisions live.
    horizon
        T: the grid has :math:`1 + \lceil \tfrac12 \log_2 T \rceil` rates.
    gradient_bound
        G, largest norm of a gradient on the domain.
    diagonal
        Keep the diagonal of the curvature only: d numbers instead of d^2, and the squares of the
        coordinates in V.

    References
    ----------
    Van Erven and Koolen (2016), "MetaGrad: multiple learning rates in online learning".
    """

    guarantee = "sp.bounds.metagrad"

    @checked
    def __init__(
        self, domain: Domain, *, horizon: int, gradient_bound: float, diagonal: bool = False
    ) -> None:
        self._ball = enclosing_ball(arguments.domain(domain))
        if not isinstance(diagonal, bool | np.bool_ | int):
            raise TypeError(
                f"diagonal must be True or False, got {arguments.short_repr(diagonal)} "
                f"({type(diagonal).__name__})."
            )
        self.diagonal = bool(diagonal)
        self.rates = metagrad_rates(
            self._ball.diameter, arguments.safe_size("gradient_bound", gradient_bound), horizon
        )
        """eta_i, shape ``(N,)``, largest first."""
        super().__init__(domain)
        self.declared = DeclaredConstants(int(horizon), float(gradient_bound))

    def settings(self) -> Mapping[str, Any]:
        """Return what a saved state and the learner that loads it must have in common."""
        return {**super().settings(), "rates": self.rates, "diagonal": self.diagonal}

    @property
    def weights(self) -> Vector:
        """Weights of the experts in the coming decision, shape ``(N,)``."""
        return frozen(self._weigh(self._state))

    @property
    def points(self) -> Matrix:
        """w_i, shape ``(N, d)``."""
        return frozen(self._state.points)

    def _start(self) -> MetaGradState:
        d, N = self.domain.dim, len(self.rates)
        prior = np.log(telescoping(N))
        curvature = np.zeros(d) if self.diagonal else np.zeros((d, d))
        return MetaGradState(0, np.tile(self.domain.center, (N, 1)), curvature, prior - prior.max())

    def _advance(self, now: MetaGradState, loss: ObservedLoss) -> MetaGradState:
        mean = self._weigh(now) @ now.points  # y_t
        decision = self.domain.project(mean)
        g = surrogate_gradient(loss.gradient(decision), mean - decision, self.domain)
        eta = self.rates[:, None]
        ahead = now.points - mean  # w_i - y_t
        if self.diagonal:
            curvature = now.curvature + g * g
            bowl, slope = (ahead * g) ** 2, eta * g * (1 + 2 * eta * g * ahead)
        else:
            curvature = now.curvature + np.outer(g, g)
            along = ahead @ g
            bowl, slope = along[:, None] ** 2, eta * g * (1 + 2 * eta * along[:, None])
        surrogates = self.rates * (ahead @ g) + self.rates**2 * bowl.sum(axis=1)
        log_weights = now.log_weights - surrogates / (self.domain.dim if self.diagonal else 1)
        points = self._newton(now.points, slope, curvature)
        return MetaGradState(now.rounds + 1, points, curvature, log_weights - log_weights.max())

    def _newton(self, points: Matrix, slopes: Matrix, curvature: Array) -> Matrix:
        """Return the point of the ball nearest to w - P^-1 slope in the norm of P, row by row.

        P = 1/D^2 + 2 eta^2 curvature.
        """
        spectrum, basis = (curvature, None) if self.diagonal else np.linalg.eigh(curvature)
        P = 1 / self._ball.diameter**2 + 2 * self.rates[:, None] ** 2 * np.maximum(spectrum, 0.0)
        offset, downhill = points - self._ball.center, slopes
        if basis is not None:
            offset, downhill = offset @ basis, downhill @ basis
        inside = _nearest(offset - downhill / P, P, self._ball.radius)
        return np.asarray(
            self._ball.project(self._ball.center + (inside if basis is None else inside @ basis.T))
        )

    def _weigh(self, now: MetaGradState) -> Vector:
        scores = now.log_weights + np.log(self.rates)
        return normalized_weights(scores, scores)

    def _decide(self, now: MetaGradState) -> Vector:
        return np.array(self.domain.project(self._weigh(now) @ now.points))

    def _feasible(self, now: MetaGradState) -> Array:
        return self.domain.project(now.points)  # points in the ball are checked in _check_state

    def _check_state(self, new: MetaGradState) -> None:
        super()._check_state(new)
        slack = SLACK * (self._ball.diameter + float(np.linalg.norm(self._ball.center)))
        if not self._ball.contains(new.points, atol=slack).all():
            raise ValueError(
                "state has points outside the domain. Make the learner with the domain it was "
                "saved with."
            )
        if not self.diagonal and not np.allclose(new.curvature, new.curvature.T):
            raise ValueError(
                "state['curvature'] must be symmetric. The state is damaged: load an earlier one."
            )


def _nearest(offsets: Matrix, precision: Matrix, radius: float) -> Matrix:
    """Return the minimiser of (z - w)' P (z - w) over norm(z) <= radius, for each row w.

    P is diagonal, so that z = P w / (P + m) with a multiplier m >= 0.
    """
    outside = np.linalg.norm(offsets, axis=1) > radius
    if not outside.any():
        return offsets
    w, P = offsets[outside], precision[outside]
    low, high = np.zeros(len(w)), P.max(axis=1) * np.linalg.norm(w, axis=1) / radius
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        too_long = np.linalg.norm(P * w / (P + middle[:, None]), axis=1) > radius
        low, high = np.where(too_long, middle, low), np.where(too_long, high, middle)
    nearest = offsets.copy()
    nearest[outside] = P * w / (P + high[:, None])
    return nearest


def metagrad_rates(diameter: float, gradient_bound: float, horizon: int) -> Vector:
    r""":math:`2^{-i}/(5 D G)`, i = 0 .. :math:`\lceil \tfrac12 \log_2 T \rceil`."""
    count = math.ceil(0.5 * math.log2(arguments.integer("horizon", horizon))) + 1
    return np.asarray(2.0 ** -np.arange(count) / (5 * diameter * gradient_bound))


SHORTEST, LONGEST = 3, 13
"""Binary logarithms of the shortest and the longest memory, in rounds."""
RIDGE = 0.125
"""Ridge of the Newton steps: no step is longer than 8 diameters before its projection."""


@final
class Curved(MetaExpertLearner):
    r"""Newton steps with forgetting, at many discounts, weighted by the Hedge of :class:`Sword`.

    Gradient descent is slow on ill-conditioned losses, whose columns are correlated or on different
    scales; Newton steps are not. The discounts are :math:`1 - 2^{-3}` to :math:`1 - 2^{-13}`,
    without those that remember fewer than two rounds for each coordinate.

    No decision changes when all losses are multiplied by one number. :meth:`certificate` is its
    guarantee.

    Parameters
    ----------
    domain
        Where decisions live.
    meta
        The meta, such as ``sp.metas.Squint()``; an optimistic Hedge with a
        large learning rate unless given.

    References
    ----------
    Jacobsen and Cutkosky (2024), "Online linear regression in dynamic environments via
    discounting".

    Examples
    --------
    >>> from swordplay import Ball, SquaredLoss
    >>> learner = Curved(Ball(dim=2))
    >>> for t in range(200):  # a loss of condition number 10^4
    ...     learner.observe(SquaredLoss([1.0, 0.01 * (-1) ** t], target=0.5 + 0.005 * (-1) ** t))
    >>> learner.decision.round(1)
    array([0.5, 0.5])
    """

    def __init__(self, domain: Domain, *, meta: Meta | None = None) -> None:
        discounts = curved_discounts(arguments.domain(domain).dim)
        super().__init__(
            domain,
            experts=[NewtonExperts(domain, discounts, RIDGE)],
            prior=uniform(len(discounts)),
            hedge=meta_or_default(
                meta,
                None,
                OptimisticHedge(
                    rates.SelfConfident(offset=0.0, floor=FLOOR), GameConstants(domain.diameter)
                ),
            ),
            optimism=LearnedOptimism(math.inf),
        )


def curved_discounts(dim: int) -> Vector:
    """Return 1 - 2^-k for k from 3 to 13 and 2^k >= 2 dim; k = 13 alone in more dimensions.

    >>> curved_discounts(20)[:2].tolist()
    [0.984375, 0.9921875]
    """
    shortest = max(SHORTEST, math.ceil(math.log2(2 * dim)))
    return np.asarray(1.0 - 2.0 ** -np.arange(min(shortest, LONGEST), LONGEST + 1))
