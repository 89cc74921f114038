"""SwordPlusPlus: the regret of Sword_best from one gradient a round."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

from swordplay.core import arguments
from swordplay.core.arguments import explain_overflow
from swordplay.core.types import Domain, GameConstants
from swordplay.parts import pools, rates
from swordplay.parts.experts import Constant, OEGDExperts
from swordplay.parts.learners.assumptions import DeclaredConstants
from swordplay.parts.learners.meta_expert import MetaExpertLearner
from swordplay.parts.metas import LastGradientOptimism, Meta, OptimisticHedge, uniform
from swordplay.parts.metas.meta import meta_or_default


@final
class SwordPlusPlus(MetaExpertLearner):
    r"""Experts that share the gradient at the decision, under a meta that charges for movement.

    .. math:: \hat x_{t+1,i} = \Pi[\hat x_{t,i} - \eta_i g_t], \qquad x_{t+1,i} = \Pi[\hat x_{t+1,i}
        - \eta_i g_t], \qquad \ell_{t,i} = \langle g_t, x_{t,i} \rangle + 2 L \|x_{t,i} -
        x_{t-1,i}\|^2, \qquad m_{t+1,i} = \langle g_t, x_{t+1,i} \rangle + 2 L \|x_{t+1,i} -
        x_{t,i}\|^2

    :math:`g_t` is the gradient at the decision :math:`x_t`, and m the predicted losses. The dynamic
    regret is of order :math:`\sqrt{(1 + P_T + \min\{V_T, F_T\})(1 + P_T)}` against every comparator
    at once (:math:`P_T`: their path length, :math:`F_T`: their loss, :math:`V_T`: the gradient
    variation), with one gradient a round. Sword_best has the same order, but needs at least 2 N + 2
    gradients a round with N experts. Use Sword++ if gradients are expensive.

    Parameters
    ----------
    domain
        X, the set of decisions.
    horizon
        T, the number of rounds that will be played.
    gradient_bound
        G, the largest norm of a gradient on the domain.
    smoothness
        L, the Lipschitz constant of every gradient.
    pool
        Step sizes; ``pools.plus_plus`` unless given. The bound needs them to be at most 1/(8L).
    learning_rate
        Rate of the meta; ``SelfConfident(cap=1/(2 L D^2))`` unless given.
    meta
        The meta, such as ``sp.metas.Squint()``. Unless given, an optimistic Hedge with
        ``learning_rate``.

    References
    ----------
    Zhao, Zhang, Zhang, Zhou (2024), "Adaptivity and non-stationarity: problem-dependent dynamic
    regret for online convex optimization", Sword++. ``bounds.sword_plus_plus`` is its bound with
    all constants explicit.
    """

    shared_gradient = True  # one gradient: that at the decision

    @explain_overflow
    def __init__(
        self,
        domain: Domain,
        *,
        horizon: int,
        gradient_bound: float,
        smoothness: float,
        pool: Any = None,
        learning_rate: rates.Rate | None = None,
        meta: Meta | None = None,
    ) -> None:
        D = arguments.domain(domain).diameter
        G = arguments.positive("gradient_bound", gradient_bound)
        self.smoothness = arguments.positive("smoothness", smoothness)
        """L, the Lipschitz constant of every gradient."""
        default_pool = pools.plus_plus(
            diameter=D, gradient_bound=G, smoothness=self.smoothness, horizon=horizon
        )
        steps = Constant(default_pool if pool is None else arguments.positive_vector("pool", pool))
        constants = GameConstants(D, G)
        # Called only for its OverflowError if (D G)^2 overflows. Raised here, @explain_overflow can
        # name the arguments; without this call it would appear in the first round.
        rates.max_squared_loss_error(constants)
        rate = arguments.rate(
            "learning_rate",
            learning_rate,
            rates.SelfConfident(cap=1 / (2 * self.smoothness * D**2)),
        )
        super().__init__(
            domain,
            experts=[OEGDExperts(domain, steps)],
            prior=uniform(steps.count()),
            # learning_rate is passed to refuse a meta together with a learning rate
            meta=meta_or_default(
                meta, learning_rate=learning_rate, default=OptimisticHedge(rate, constants)
            ),
            optimism=LastGradientOptimism(),
            movement_charge=2 * self.smoothness,
        )
        self.declared = DeclaredConstants(int(horizon), G, self.smoothness)

    def settings(self) -> Mapping[str, Any]:
        """Return the settings that are saved with a state and compared when it is loaded."""
        return {**super().settings(), "smoothness": self.smoothness}
