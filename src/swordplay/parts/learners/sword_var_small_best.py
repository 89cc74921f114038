"""SwordVar, SwordSmall and SwordBest: the algorithms of the paper, which need T, G and L."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, final

from swordplay.core import arguments
from swordplay.core.arguments import explain_overflow
from swordplay.core.types import Domain, GameConstants, Vector
from swordplay.parts import pools, rates
from swordplay.parts.experts import Constant, Experts, OEGDExperts, OGDExperts
from swordplay.parts.learners.assumptions import DeclaredConstants
from swordplay.parts.learners.meta_expert import MetaExpertLearner
from swordplay.parts.metas import (
    LearnedOptimism,
    Meta,
    NullOptimism,
    Optimism,
    OptimisticHedge,
    VariationOptimism,
    uniform,
)
from swordplay.parts.metas.meta import meta_or_default


class _TunedLearner(MetaExpertLearner):
    """A meta-expert learner whose step sizes and learning rate follow from T, G and L."""

    def __init__(
        self,
        domain: Domain,
        experts: Sequence[Experts],
        pool_size: int,
        declared: DeclaredConstants,
        learning_rate: rates.Rate | None,
        default_rate: rates.Rate,
        optimism: Optimism,
        meta: Meta | None,
    ) -> None:
        rate = arguments.rate("learning_rate", learning_rate, default_rate)
        constants = GameConstants(domain.diameter, declared.gradient_bound)
        chosen_meta = meta_or_default(
            meta, learning_rate=learning_rate, default=OptimisticHedge(rate, constants)
        )
        super().__init__(domain, experts, uniform(pool_size), chosen_meta, optimism)
        self.declared = declared


def _checked_constants(
    domain: Any, horizon: int, gradient_bound: float, smoothness: float
) -> tuple[Domain, float, float, Vector]:
    """Check the constants of the game, and return them with the default pool of step sizes."""
    arguments.domain(domain)
    G = arguments.positive("gradient_bound", gradient_bound)
    L = arguments.positive("smoothness", smoothness)
    # If (D G)^2 overflows, this raises an OverflowError, which @explain_overflow turns into a
    # message about the arguments. pools.safe would name a constant that is computed from them.
    rates.max_squared_loss_error(GameConstants(domain.diameter, G))
    pool = pools.safe(diameter=domain.diameter, gradient_bound=G, smoothness=L, horizon=horizon)
    return domain, G, L, pool


def _constant_steps_of(name: str, pool: Any, default: Vector) -> Constant:
    """Return a pool as constant step sizes, or ``default`` if None; ``name`` is for messages."""
    return Constant(default if pool is None else arguments.positive_vector(name, pool))


@final
class SwordVar(_TunedLearner):
    r"""Extra-gradient experts and replayed gradients: regret that scales with gradient variation.

    The dynamic regret is of order :math:`\sqrt{(1 + P_T + V_T)(1 + P_T)}` against every comparator
    at once.

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
        Step sizes; ``pools.safe`` unless given.
    learning_rate
        Rate of the meta; ``SelfConfident(cap=1/(L D^2))`` unless given.
    meta
        The meta, such as ``sp.metas.Squint()``. Unless given, an optimistic Hedge with
        ``learning_rate``.

    References
    ----------
    Zhao et al. (2020), Sword_var, Theorem 3. ``bounds.sword_var`` is its bound,
    all constants explicit.
    """

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
        domain, G, L, safe_pool = _checked_constants(domain, horizon, gradient_bound, smoothness)
        steps = _constant_steps_of("pool", pool, safe_pool)
        rate = rates.SelfConfident(cap=1 / (L * domain.diameter**2))
        super().__init__(
            domain,
            [OEGDExperts(domain, steps)],
            steps.count(),
            DeclaredConstants(int(horizon), G, L),
            learning_rate,
            rate,
            VariationOptimism(),
            meta,
        )


@final
class SwordSmall(_TunedLearner):
    r"""Gradient-descent experts without optimism: regret that scales with the comparators' loss.

    The dynamic regret is of order :math:`\sqrt{(1 + P_T + F_T)(1 + P_T)}` against every comparator
    at once, for non-negative losses.

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
        Step sizes; ``pools.safe`` unless given.
    learning_rate
        Rate of the meta; ``SelfConfident(offset=(D G / 2)^2, factor=1)`` unless given.
    meta
        The meta, such as ``sp.metas.Squint()``. Unless given, an optimistic Hedge with
        ``learning_rate``.

    References
    ----------
    Zhao et al. (2020), Sword_small, Theorem 5. ``bounds.sword_small`` is its bound, all
    constants explicit.
    """

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
        domain, G, L, safe_pool = _checked_constants(domain, horizon, gradient_bound, smoothness)
        steps = _constant_steps_of("pool", pool, safe_pool)
        # Without optimism the losses of a round differ by at most D G, so that their squared half
        # range is at most (D G / 2)^2. (Losses minus optimism differ by at most 2 D G.)
        rate = rates.SelfConfident(offset=(domain.diameter * G / 2) ** 2, factor=1.0)
        super().__init__(
            domain,
            [OGDExperts(domain, steps)],
            steps.count(),
            DeclaredConstants(int(horizon), G, L, True),
            learning_rate,
            rate,
            NullOptimism(),
            meta,
        )


@final
class SwordBest(_TunedLearner):
    r"""Both kinds of experts and learned optimism: the better of Sword_var and Sword_small.

    The dynamic regret is of order
    :math:`\sqrt{(1 + P_T + \min\{V_T, F_T\})(1 + P_T)}` against every comparator at once.

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
    variation_pool, small_loss_pool
        Step sizes of the extra-gradient and of the gradient-descent experts; ``pools.safe`` unless
        given.
    learning_rate
        Rate of the meta; ``SelfConfident(cap=1/(L D^2))`` unless given.
    optimism_rate
        Learning rate of the Hedge over the two predictions; :math:`1/(8 G^2)` unless
        given. The claim of the paper about its value of 2 needs G <= 1/4.
    meta
        The meta, such as ``sp.metas.Squint()``. Unless given, an optimistic Hedge with
        ``learning_rate``.

    References
    ----------
    Zhao et al. (2020), Sword_best, Theorem 7. ``bounds.sword_best`` is its bound, all
    constants explicit.
    """

    @explain_overflow
    def __init__(
        self,
        domain: Domain,
        *,
        horizon: int,
        gradient_bound: float,
        smoothness: float,
        variation_pool: Any = None,
        small_loss_pool: Any = None,
        learning_rate: rates.Rate | None = None,
        optimism_rate: float | None = None,
        meta: Meta | None = None,
    ) -> None:
        domain, G, L, safe_pool = _checked_constants(domain, horizon, gradient_bound, smoothness)
        variation_steps = _constant_steps_of("variation_pool", variation_pool, safe_pool)
        small_loss_steps = _constant_steps_of("small_loss_pool", small_loss_pool, safe_pool)
        # 1 / (8 G^2); G^2 itself could overflow
        kappa = 1 / (8 * G) / G if optimism_rate is None else optimism_rate
        if not (isinstance(kappa, float) and kappa == math.inf):
            kappa = arguments.positive("optimism_rate", kappa)
        super().__init__(
            domain,
            [OEGDExperts(domain, variation_steps), OGDExperts(domain, small_loss_steps)],
            variation_steps.count() + small_loss_steps.count(),
            DeclaredConstants(int(horizon), G, L, True),
            learning_rate,
            rates.SelfConfident(cap=1 / (L * domain.diameter**2)),
            LearnedOptimism(kappa),
            meta,
        )
