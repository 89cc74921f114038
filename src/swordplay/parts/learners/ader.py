"""Ader and AderTrueLosses: gradient descent with many step sizes under a Hedge."""

from __future__ import annotations

import math
from typing import Any, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.arguments import explain_overflow
from swordplay.core.types import Domain, GameConstants
from swordplay.parts import pools, rates
from swordplay.parts.experts import Constant, OGDExperts
from swordplay.parts.learners.assumptions import DeclaredConstants, ObservedLoss
from swordplay.parts.learners.learner import refuse_underflow
from swordplay.parts.learners.meta_expert import MetaExpertLearner, MetaExpertState, stacked
from swordplay.parts.metas import (
    Composition,
    Meta,
    NoLearningRate,
    NullOptimism,
    OptimisticHedge,
    telescoping,
)
from swordplay.parts.metas.meta import meta_or_default


@final
class Ader(MetaExpertLearner):
    r"""Gradient descent with many step sizes along one shared gradient, under a Hedge.

    The dynamic regret is of order :math:`\sqrt{T (1 + P_T)}` for any convex losses with gradients
    of norm at most G. One gradient a round.

    Parameters
    ----------
    domain
        X, the set of decisions.
    horizon
        T, the number of rounds that will be played.
    gradient_bound
        G, the largest norm of a gradient on the domain.
    pool
        Step sizes; those of Ader unless given.
    learning_rate
        Rate of the meta; :math:`\sqrt{2 / (T G^2 D^2)}` unless given.
    meta
        The meta, such as ``sp.metas.Squint()``. Unless given, an optimistic Hedge with
        ``learning_rate``.

    References
    ----------
    Zhang, Lu, Zhou (2018), "Adaptive online learning in dynamic environments", the version with
    surrogate losses.
    """

    shared_gradient = True  # the surrogate loss <g_t, x> has the same gradient everywhere

    @explain_overflow
    def __init__(
        self,
        domain: Domain,
        *,
        horizon: int,
        gradient_bound: float,
        pool: Any = None,
        learning_rate: rates.Rate | None = None,
        meta: Meta | None = None,
    ) -> None:
        D, T = arguments.domain(domain).diameter, horizon
        G = arguments.positive("gradient_bound", gradient_bound)
        default_pool = pools.ader(diameter=D, gradient_bound=G, horizon=T)
        steps = Constant(default_pool if pool is None else arguments.positive_vector("pool", pool))
        default_rate = rates.Fixed(math.sqrt(2 / (arguments.integer("horizon", T) * (G * D) ** 2)))
        rate = arguments.rate("learning_rate", learning_rate, default_rate)
        super().__init__(
            domain,
            experts=[OGDExperts(domain, steps)],
            prior=telescoping(steps.count()),
            meta=meta_or_default(
                meta,
                learning_rate=learning_rate,
                default=OptimisticHedge(rate, GameConstants(D, G)),
            ),
            optimism=NullOptimism(),
        )
        self.declared = DeclaredConstants(int(T), G)


@final
class AderTrueLosses(MetaExpertLearner):
    r"""Ader with true losses instead of surrogates: N gradients and N + 1 values a round.

    .. math:: x_{t+1,i} = \Pi[x_{t,i} - \eta_i \nabla f_t(x_{t,i})], \qquad \ell_{t,i} =
        f_t(x_{t,i})

    Parameters
    ----------
    domain
        X, the set of decisions.
    horizon
        T, the number of rounds that will be played.
    gradient_bound
        G, the largest norm of a gradient on the domain.
    pool
        Step sizes; those of Ader unless given.
    meta
        The meta. Unless given, a Hedge of rate :math:`\sqrt{8 / (T G^2 D^2)}`: the values of one
        loss differ by at most D G.

    References
    ----------
    Zhang, Lu, Zhou (2018), "Adaptive online learning in dynamic environments", Algorithms 1 and 2;
    ``bounds.ader_true_losses``.
    """

    @explain_overflow
    def __init__(
        self,
        domain: Domain,
        *,
        horizon: int,
        gradient_bound: float,
        pool: Any = None,
        meta: Meta | None = None,
    ) -> None:
        D, T = arguments.domain(domain).diameter, horizon
        G = arguments.positive("gradient_bound", gradient_bound)
        default_pool = pools.ader(diameter=D, gradient_bound=G, horizon=T)
        steps = Constant(default_pool if pool is None else arguments.positive_vector("pool", pool))
        rate = rates.Fixed(math.sqrt(8 / arguments.integer("horizon", T)) / (G * D))
        super().__init__(
            domain,
            experts=[OGDExperts(domain, steps)],
            prior=telescoping(steps.count()),
            meta=meta_or_default(meta, default=OptimisticHedge(rate, GameConstants(D, G))),
            optimism=NullOptimism(),
        )
        self.declared = DeclaredConstants(int(horizon), G)

    @property
    def parts(self) -> Composition:
        """The parts; because of ``NoLearningRate`` the engine refuses to play this learner."""
        return super().parts._replace(rate=NoLearningRate())

    def _advance(self, state: MetaExpertState, loss: ObservedLoss) -> MetaExpertState:
        points = stacked(state.experts)
        values = loss.value(
            np.vstack([self._decide(state), points]),
            arguments.LARGEST_GRADIENT,  # the limit of gradients, as values are squared, too
        )  # f_t(x_t), then f_t(x_{t,i})
        expert, expert_step = self._experts[0].step(state.experts[0], loss.gradient)
        refuse_underflow([expert], loss)
        # The gradient error is 0: the default rate of Ader does not depend on it.
        meta_state = self._meta.learn(state.meta, values[1:], 0.0)
        return state._replace(
            rounds=state.rounds + 1,
            experts=(expert,),
            meta=self._meta.weigh(meta_state, np.zeros(len(points))),
            certificate=state.certificate.with_round(
                values[0] - values[1:],
                expert_step,
                self._displacement(state.experts, (expert,)),
            ),
        )
