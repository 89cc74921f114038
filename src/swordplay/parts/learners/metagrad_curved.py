"""MetaGrad and Curved: Newton steps with many learning rates, or with many discounts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.arguments import explain_overflow
from swordplay.core.state import OBSERVED_ROUNDS_RANGE, Field, array
from swordplay.core.types import Array, Domain, GameConstants, Matrix, Vector
from swordplay.parts import rates
from swordplay.parts.domains import enclosing_ball
from swordplay.parts.experts import NewtonExperts
from swordplay.parts.learners.assumptions import DeclaredConstants, ObservedLoss
from swordplay.parts.learners.learner import SAVED_TOLERANCE, UncertifiedLearner, read_only
from swordplay.parts.learners.meta_expert import MetaExpertLearner
from swordplay.parts.learners.one_projection_pbgd import surrogate_gradient
from swordplay.parts.learners.sword import RATE_FLOOR
from swordplay.parts.metas import LearnedOptimism, Meta, OptimisticHedge, telescoping, uniform
from swordplay.parts.metas.meta import meta_or_default, normalized_weights

BISECTIONS = 60
"""Bisections to find the multiplier of a projection; 2^-60 is below the rounding error."""


class MetaGradState(NamedTuple):
    """State of MetaGrad between two rounds: points and weights of experts, sum of curvatures."""

    rounds: Annotated[int, OBSERVED_ROUNDS_RANGE]
    points: Annotated[Matrix, array("experts", "dim")]
    """w_i, the point in the ball of the expert with learning rate eta_i, shape ``(N, d)``."""
    curvature: Annotated[Array, Field(semidefinite=True)]
    """Sum of g g', shape ``(d, d)``, or of its diagonal, shape ``(d,)``."""
    log_weights: Annotated[Vector, array("experts")]
    """ln pi_{t,i} up to a constant, the largest being 0, shape ``(N,)``.

    It is ln(prior) minus the sum of the surrogate losses l_i(w_i), divided by d if ``diagonal``.
    """


@final
class MetaGrad(UncertifiedLearner):
    r"""Online Newton steps at a grid of learning rates eta, averaged with weights pi times eta.

    .. math:: y_t = \frac{\sum_i \pi_{t,i} \eta_i w_{t,i}}{\sum_i \pi_{t,i} \eta_i}, \qquad \eta_i =
        \frac{2^{-i}}{5 D G}, \qquad \ell_i(w) = -\eta_i \langle y_t - w, g_t \rangle + \eta_i^2
        \langle y_t - w, g_t \rangle^2

    After each round :math:`w_i` makes a Newton step on :math:`\ell_i`, and :math:`\pi_i` is
    multiplied by :math:`e^{-\ell_i(w_i)}` (by :math:`e^{-\ell_i(w_i)/d}` if ``diagonal``). The
    points :math:`w_i` lie in a ball that contains the domain, and :math:`g_t` is the surrogate
    gradient of :class:`OneProjection`. D is the diameter of the ball. The prior of :math:`\pi` is
    in proportion to :math:`1/((i + 1) (i + 2))`, i = 0, 1, ... The regret to a fixed decision u is
    of order :math:`\sqrt{V d \ln T}`, :math:`V = \sum_t \langle g_t, y_t - u \rangle^2`:
    ``bounds.metagrad``. There is no bound for comparators that move.

    Parameters
    ----------
    domain
        X, the set of decisions.
    horizon
        T: the grid has :math:`1 + \lceil \tfrac12 \log_2 T \rceil` rates.
    gradient_bound
        G, the largest norm of a gradient on the domain.
    diagonal
        Keep the diagonal of the curvature only, d numbers instead of d^2. :math:`\langle y_t - w,
        g_t \rangle^2` is then replaced by :math:`\sum_j (y_{t,j} - w_j)^2 g_{t,j}^2` in
        :math:`\ell_i` and in V.

    References
    ----------
    Van Erven and Koolen (2016), "MetaGrad: multiple learning rates in online learning".
    """

    guarantee = "sp.bounds.metagrad"

    @explain_overflow
    def __init__(
        self, domain: Domain, *, horizon: int, gradient_bound: float, diagonal: bool = False
    ) -> None:
        self._ball = enclosing_ball(arguments.domain(domain))
        if not isinstance(diagonal, bool | np.bool_):
            raise TypeError(
                f"diagonal must be True or False, got {arguments.short_repr(diagonal)} "
                f"({type(diagonal).__name__})."
            )
        self.diagonal = bool(diagonal)
        self.rates = metagrad_rates(
            self._ball.diameter,
            arguments.positive_with_safe_square("gradient_bound", gradient_bound),
            horizon,
        )
        """eta_i, shape ``(N,)``, largest first."""
        super().__init__(domain)
        self.declared = DeclaredConstants(int(horizon), float(gradient_bound))

    def settings(self) -> Mapping[str, Any]:
        """Return the settings that are saved with a state and compared when it is loaded."""
        return {**super().settings(), "rates": self.rates, "diagonal": self.diagonal}

    @property
    def weights(self) -> Vector:
        """Weights of the experts in the coming decision, shape ``(N,)``."""
        return read_only(self._weigh(self._state))

    @property
    def points(self) -> Matrix:
        """w_i, shape ``(N, d)``."""
        return read_only(self._state.points)

    def _start(self) -> MetaGradState:
        d, N = self.domain.dim, len(self.rates)
        log_prior = np.log(telescoping(N))  # in proportion to 1 / (k (k+1)), k = 1..N
        curvature = np.zeros(d) if self.diagonal else np.zeros((d, d))
        return MetaGradState(
            0, np.tile(self.domain.center, (N, 1)), curvature, log_prior - log_prior.max()
        )

    def _advance(self, state: MetaGradState, loss: ObservedLoss) -> MetaGradState:
        mean = self._weigh(state) @ state.points  # y_t
        decision = self.domain.project(mean)
        g = surrogate_gradient(loss.gradient(decision), mean - decision, self.domain)
        eta = self.rates[:, None]
        from_mean = state.points - mean  # w_i - y_t
        if self.diagonal:
            curvature = state.curvature + g * g
            squares = (from_mean * g) ** 2
            gradients = eta * g * (1 + 2 * eta * g * from_mean)
        else:
            curvature = state.curvature + np.outer(g, g)
            products = from_mean @ g  # <w_i - y_t, g_t>
            squares = products[:, None] ** 2
            gradients = eta * g * (1 + 2 * eta * products[:, None])  # of l_i at w_i
        # l_i(w_i) = eta_i <w_i - y_t, g_t> + eta_i^2 <w_i - y_t, g_t>^2
        surrogate_losses = self.rates * (from_mean @ g) + self.rates**2 * squares.sum(axis=1)
        # The bound needs e^-surrogate <= 1 + a linear function of w. For z_j = eta g_j (y_j - w_j)
        # e^(z_j - z_j^2) <= 1 + z_j holds in each coordinate j. As exp is convex, the inequality
        # carries over to means over coordinates, but not to sums: a diagonal surrogate is divided
        # by d.
        log_weights = state.log_weights - surrogate_losses / (
            self.domain.dim if self.diagonal else 1
        )
        points = self._newton_step(state.points, gradients, curvature)
        return MetaGradState(state.rounds + 1, points, curvature, log_weights - log_weights.max())

    def _newton_step(self, points: Matrix, gradients: Matrix, curvature: Array) -> Matrix:
        """Return each expert's Newton step from w_i, projected onto the ball, shape ``(N, d)``.

        With P = I/D^2 + 2 eta_i^2 curvature, it is the point of the ball that is nearest to
        w_i - P^-1 gradient_i in the norm of P.
        """
        # P is diagonal in the basis of the eigenvectors of the curvature; row i has its diagonal.
        eigenvalues, basis = (curvature, None) if self.diagonal else np.linalg.eigh(curvature)
        P = 1 / self._ball.diameter**2 + 2 * self.rates[:, None] ** 2 * np.maximum(eigenvalues, 0.0)
        from_center = points - self._ball.center
        if basis is not None:
            from_center, gradients = from_center @ basis, gradients @ basis
        nearest = _project_in_norms(from_center - gradients / P, P, self._ball.radius)
        if basis is not None:
            nearest = nearest @ basis.T
        return np.asarray(self._ball.project(self._ball.center + nearest))

    def _weigh(self, state: MetaGradState) -> Vector:
        """Return weights in proportion to pi_{t,i} eta_i, shape ``(N,)``."""
        scores = state.log_weights + np.log(self.rates)
        return normalized_weights(scores)

    def _decide(self, state: MetaGradState) -> Vector:
        return np.array(self.domain.project(self._weigh(state) @ state.points))

    def _points_to_check(self, state: MetaGradState) -> Array:
        # Projected, so that the base class's check of the domain passes: the points need only lie
        # in the ball, which _check_state checks.
        return self.domain.project(state.points)

    def _check_state(self, new_state: MetaGradState) -> None:
        super()._check_state(new_state)
        slack = SAVED_TOLERANCE * (self._ball.diameter + float(np.linalg.norm(self._ball.center)))
        if not self._ball.contains(new_state.points, atol=slack).all():
            raise ValueError(
                "state has points outside the ball around the domain. Make the learner with the "
                "domain it was saved with."
            )
        if not self.diagonal and not np.allclose(new_state.curvature, new_state.curvature.T):
            raise ValueError(
                "state['curvature'] must be symmetric. The state is damaged: load an earlier one."
            )


def _project_in_norms(from_center: Matrix, precision: Matrix, radius: float) -> Matrix:
    """Return the minimiser of (z - w)' P (z - w) over norm(z) <= radius, for each row w.

    Each P is diagonal, a row of ``precision``, so that z = P w / (P + m) with a multiplier m >= 0.
    """
    is_outside = np.linalg.norm(from_center, axis=1) > radius
    if not is_outside.any():
        return from_center
    w, P = from_center[is_outside], precision[is_outside]
    # m is bisected between low and high
    low, high = np.zeros(len(w)), P.max(axis=1) * np.linalg.norm(w, axis=1) / radius
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        is_too_long = np.linalg.norm(P * w / (P + middle[:, None]), axis=1) > radius
        low, high = np.where(is_too_long, middle, low), np.where(is_too_long, high, middle)
    nearest = from_center.copy()
    nearest[is_outside] = P * w / (P + high[:, None])
    return nearest


def metagrad_rates(diameter: float, gradient_bound: float, horizon: int) -> Vector:
    r"""Return :math:`2^{-i}/(5 D G)`, i = 0 .. :math:`\lceil \tfrac12 \log_2 T \rceil`."""
    count = math.ceil(0.5 * math.log2(arguments.integer("horizon", horizon))) + 1
    return np.asarray(2.0 ** -np.arange(count) / (5 * diameter * gradient_bound))


MIN_LOG2_MEMORY = 3
"""Binary logarithm of the shortest memory of an expert, in rounds."""
MAX_LOG2_MEMORY = 13
"""Binary logarithm of the longest memory of an expert, in rounds."""
RIDGE = 0.125
"""Ridge of the Newton steps: a step, before its projection, has at most 1/RIDGE = 8 diameters."""


@final
class Curved(MetaExpertLearner):
    r"""Newton steps with many discounts at once, under the Hedge of :class:`Sword`.

    Gradient descent is slow on ill-conditioned losses, such as those of features that are
    correlated or on different scales; Newton steps are not. The discounts are :math:`1 - 2^{-k}`, k
    = 3 to 13, leaving out those whose memory of :math:`2^k` rounds is shorter than 2 d (k = 13 is
    always used).

    No decision changes when all losses are multiplied by one number.

    The learner has no theorem that is known before the run; its guarantee is :meth:`certificate`.

    Parameters
    ----------
    domain
        X, the set of decisions.
    meta
        The meta, such as ``sp.metas.Squint()``. Unless given, an optimistic Hedge with a
        large learning rate.

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
            meta=meta_or_default(
                meta,
                default=OptimisticHedge(
                    # offset=0: the first rate is infinite, as no bound on the losses is known.
                    # floor: as in Sword.
                    rates.SelfConfident(offset=0.0, floor=RATE_FLOOR),
                    GameConstants(domain.diameter),
                ),
            ),
            # infinite: follow the prediction with the smaller error, in any unit of the losses
            optimism=LearnedOptimism(rate=math.inf),
        )


def curved_discounts(dim: int) -> Vector:
    """Return 1 - 2^-k for k from 3 to 13 and 2^k >= 2 dim; k = 13 alone in more dimensions.

    >>> curved_discounts(20)[:2].tolist()
    [0.984375, 0.9921875]
    """
    min_log2 = min(max(MIN_LOG2_MEMORY, math.ceil(math.log2(2 * dim))), MAX_LOG2_MEMORY)
    return np.asarray(1.0 - 2.0 ** -np.arange(min_log2, MAX_LOG2_MEMORY + 1))
