"""Ader as it was first written: every expert its own gradient, and true losses for the meta."""

from __future__ import annotations

import math
from typing import Any, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.arguments import checked
from swordplay.core.types import Domain, Gradient, Loss, Setting
from swordplay.parts import pools, rates
from swordplay.parts.experts import Constant, OGDExperts
from swordplay.parts.learners import certificate
from swordplay.parts.learners.assumptions import Told, WatchedLoss
from swordplay.parts.learners.ensemble import Ensemble, EnsembleState, stacked
from swordplay.parts.metas import Meta, NullOptimism, OptimisticHedge, OwnRate, Parts, telescoping
from swordplay.parts.metas.meta import chosen


@final
class AderTrueLosses(Ensemble):
    r"""Ader without the surrogate: N gradients and N + 1 values a round instead of one gradient.

    .. math:: x_{t+1,i} = \Pi[x_{t,i} - \eta_i \nabla f_t(x_{t,i})], \qquad \ell_{t,i} =
        f_t(x_{t,i})

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
    meta
        What weighs the experts; a Hedge of rate :math:`\sqrt{8 / (T G^2 D^2)}` unless given: the
        values of one loss lie at most D G apart.

    References
    ----------
    Zhang, Lu, Zhou (2018), "Adaptive online learning in dynamic environments", Algorithms 1 and 2;
    ``bounds.ader_true_losses``.
    """

    @checked
    def __init__(
        self,
        domain: Domain,
        *,
        horizon: int,
        gradient_bound: float,
        pool: Any = None,
        meta: Meta | None = None,
    ) -> None:
        D, G, T = (
            arguments.domain(domain).diameter,
            arguments.positive("gradient_bound", gradient_bound),
            horizon,
        )
        default_pool = pools.ader(diameter=D, gradient_bound=G, horizon=T)
        steps = Constant(default_pool if pool is None else arguments.positive_vector("pool", pool))
        rate = rates.Fixed(math.sqrt(8 / arguments.integer("horizon", T)) / (G * D))
        super().__init__(
            domain,
            experts=[OGDExperts(domain, steps)],
            prior=telescoping(steps.count()),
            hedge=chosen(meta, None, OptimisticHedge(rate, Setting(D, G))),
            optimism=NullOptimism(),
        )
        self.told = Told(int(horizon), G)

    @property
    def parts(self) -> Parts:
        """What this learner is made of.

        The engine does not know metas that are told true losses.
        """
        return super().parts._replace(rate=OwnRate())

    def observe(self, loss: Loss) -> None:
        """Learn from a loss: the whole round happens or, on an error, nothing does."""
        watched, values, decision = WatchedLoss(loss), arguments.values_of(loss), self.decision
        new = self._learn(self._state, watched, values)
        seen = watched.added_to(self._seen, decision)
        self._take(new)
        self._seen = seen

    def _learn(self, state_: EnsembleState, gradient: Gradient, values: Gradient) -> EnsembleState:
        lost = values(np.vstack([self._decide(state_), stacked(state_.experts)]))
        moved, moves = self._move(state_, gradient, state_.optimism.guess)
        hedge = self._hedge.learn(state_.hedge, lost[1:], 0.0)
        return state_._replace(
            rounds=state_.rounds + 1,
            experts=moved,
            hedge=self._hedge.weigh(hedge, np.zeros(len(lost) - 1)),
            certificate=certificate.step(
                state_.certificate, lost[0] - lost[1:], moves, self._lengths(state_, moved)
            ),
        )
