"""Ader, the baseline: optimal for convex losses, blind to smoothness."""

from __future__ import annotations

import math
from typing import Any, final

from swordplay.core import arguments
from swordplay.core.arguments import checked
from swordplay.core.types import Domain, Setting
from swordplay.parts import pools, rates
from swordplay.parts.experts import Constant, OGDExperts
from swordplay.parts.learners.assumptions import Told
from swordplay.parts.learners.ensemble import Ensemble
from swordplay.parts.metas import Meta, NullOptimism, OptimisticHedge, telescoping
from swordplay.parts.metas.meta import chosen


@final
class Ader(Ensemble):
    r"""Many step sizes that all descend along one shared gradient.

    Dynamic regret of order :math:`\sqrt{T (1 + P_T)}`, whatever the losses; one gradient a round.

    Parameters
    ----------
    domain
        Where decisions live.
    horizon
        T, how many rounds will be played.
    gradient_bound
        G, no gradient on the domain is longer.
    pool
        Step sizes; those of Ader unless given.
    learning_rate
        Rate of the meta; :math:`\sqrt{2 / (T G^2 D^2)}` unless given.
    meta
        What weighs the experts, such as ``sp.metas.Squint()``; an optimistic Hedge with the
        learning rate unless given.

    References
    ----------
    Zhang, Lu, Zhou (2018), "Adaptive online learning in dynamic environments", the version with
    surrogate losses.
    """

    shared = True  # the surrogate loss <g_t, x> has the same gradient everywhere

    @checked
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
        D, G, T = (
            arguments.domain(domain).diameter,
            arguments.positive("gradient_bound", gradient_bound),
            horizon,
        )
        default_pool = pools.ader(diameter=D, gradient_bound=G, horizon=T)
        steps = Constant(default_pool if pool is None else arguments.positive_vector("pool", pool))
        default_rate = rates.Fixed(math.sqrt(2 / (arguments.integer("horizon", T) * (G * D) ** 2)))
        rate = arguments.rate("learning_rate", learning_rate, default_rate)
        super().__init__(
            domain,
            experts=[OGDExperts(domain, steps)],
            prior=telescoping(steps.count()),
            hedge=chosen(meta, learning_rate, OptimisticHedge(rate, Setting(D, G))),
            optimism=NullOptimism(),
        )
        self.told = Told(int(T), G)
