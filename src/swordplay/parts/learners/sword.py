"""Sword, which needs no constants, and SwordAgeless, which forgets old losses."""

from __future__ import annotations

import math
from typing import Any, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.arguments import checked
from swordplay.core.state import damaged
from swordplay.core.types import Domain, GameConstants, Vector
from swordplay.parts import rates
from swordplay.parts.experts import (
    AdaGradNorm,
    CappedAdaGrad,
    Constant,
    DomainScale,
    Experts,
    OEGDExperts,
    OGDExperts,
)
from swordplay.parts.experts.step_sizes import step_shrink
from swordplay.parts.learners.assumptions import DeclaredConstants
from swordplay.parts.learners.certificate import MAX_DIM_OF_DUAL_SUM
from swordplay.parts.learners.meta_expert import MetaExpertLearner, MetaExpertState
from swordplay.parts.metas import (
    LearnedOptimism,
    Meta,
    OptimisticHedge,
    telescoping_with_tail,
    uniform,
)
from swordplay.parts.metas.meta import meta_or_default

FLOOR = 1e-4
"""Floor of the learning rate's denominator, relative to the largest error of a gradient.

Differences of experts below it do not count.
"""

MAX_MULTIPLIERS = 32
"""Largest pool of each kind: it lasts for 4^31 rounds. A saved state with more is damaged."""


@final
class Sword(MetaExpertLearner):
    r"""Track any moving target, given only where decisions live.

    Both kinds of experts of Sword_best, with AdaGrad steps :math:`\eta = c \hat D / \sqrt{\sum
    q_s}`, a learning rate that is large until the losses vary, and optimism that follows the better
    of its two predictions. When the pool is too small for the rounds played, the last expert of
    each kind is copied, with twice the multiplier c.

    The domain may be far too large: the steps of the first expert of each kind are capped by the
    smoothness of the losses, and :math:`\hat D` is the diameter of the domain or twice the distance
    that such an expert has reached, whichever is smaller
    (:class:`~swordplay.parts.experts.CappedAdaGrad`). Losses that do not know their smoothness are
    not protected.

    No decision changes when all losses are multiplied by one number, or when the domain and the
    losses are moved together. :meth:`certificate` is its guarantee.

    Parameters
    ----------
    domain
        Where decisions live.
    meta
        The meta, such as ``sp.metas.Squint()``; an optimistic Hedge with a
        large learning rate unless given.

    Examples
    --------
    >>> from swordplay import Ball, SquaredLoss
    >>> learner = Sword(Ball(dim=1))
    >>> for _ in range(100):
    ...     learner.observe(SquaredLoss([1.0], target=0.5))
    >>> round(float(learner.decision[0]), 2)
    0.5
    """

    _growing_axes = ("experts", "pool")

    grows = True
    uses_domain_scale = True

    def __init__(self, domain: Domain, *, meta: Meta | None = None) -> None:
        steps = AdaGradNorm(arguments.domain(domain).diameter)
        super().__init__(
            domain,
            experts=[OEGDExperts(domain, steps), OGDExperts(domain, steps)],
            prior=_prior(1),
            hedge=meta_or_default(
                meta,
                None,
                OptimisticHedge(
                    rates.SelfConfident(offset=0.0, floor=FLOOR), GameConstants(domain.diameter)
                ),
            ),
            optimism=LearnedOptimism(math.inf),
        )

    def _start(self) -> MetaExpertState:
        """Return a capped expert of each kind, and beside it one that takes its own first step."""
        fresh = (
            super()
            ._start()
            ._replace(domain_scale=DomainScale(step_shrink=step_shrink(self.domain.dim)))
        )
        return self._with_copies(fresh)

    @property
    def keeps_dual_sum(self) -> bool:
        """Whether the certificate keeps S of every expert: in few dimensions."""
        return self.domain.dim <= MAX_DIM_OF_DUAL_SUM

    def _step_rule(
        self, before: DomainScale | None, now: DomainScale | None, rounds: int
    ) -> tuple[Experts, ...]:
        """Return the experts with step sizes for the measured scale.

        An extra-gradient expert repeats the step size of its look-ahead, which was made with the
        scale before this round.
        """
        assert before is not None
        assert now is not None
        X, D = self.domain, self.domain.diameter
        return (
            OEGDExperts(
                X,
                CappedAdaGrad(D, before, before.step_shrink),
                CappedAdaGrad(D, now, now.step_shrink),
            ),
            OGDExperts(X, CappedAdaGrad(D, now, now.averaged_rounds(rounds))),
        )

    def _enlarge_pool(self, now: MetaExpertState) -> MetaExpertState:
        while len(now.experts[0].points) < pool_size(now.rounds):
            now = self._with_copies(now)
        return now

    def _with_copies(self, now: MetaExpertState) -> MetaExpertState:
        """Return the state with a copy of the last expert of each kind, of twice its multiplier."""
        size = len(now.experts[0].points)
        copied = np.append(np.arange(size), size - 1)
        parents = np.concatenate([copied, size + copied])
        kinds = self._step_rule(now.domain_scale, now.domain_scale, now.rounds)
        return now._replace(
            experts=tuple(
                kind.copy_last(was) for kind, was in zip(kinds, now.experts, strict=True)
            ),
            hedge=self._hedge.copy_experts(now.hedge, parents, _prior(size + 1)),
            certificate=now.certificate.copied(parents),
        )

    def _prior_of(self, now: MetaExpertState) -> Vector:
        return _prior(len(now.experts[0].points))

    def _check_state(self, new: MetaExpertState) -> None:
        size = max(2, pool_size(new.rounds))
        experts = len(new.hedge.weights)
        if experts != 2 * size or any(len(kind.points) != size for kind in new.experts):
            raise damaged(f"state has {experts} experts after {new.rounds} rounds")
        super()._check_state(new)
        assert new.domain_scale is not None
        error_sums = np.concatenate([kind.squared_error_sum for kind in new.experts])
        new.domain_scale.check(error_sums, self.domain.diameter)


def pool_size(rounds: int) -> int:
    """Return how many multipliers :class:`Sword` has after these rounds.

    The best multiplier is of order sqrt(1 + 2 P_T / D), and a comparator that moves in every round
    has P_T = D t: the largest multiplier 2^(n-1) is to be no less than sqrt(1 + 2 t).
    """
    size = 1
    while 4 ** (size - 1) < 1 + 2 * rounds:
        size += 1
    return size


def _prior(experts: int) -> Vector:
    """Half of the weight for each kind; small multipliers weigh most."""
    return np.tile(telescoping_with_tail(experts) / 2, 2)


DEPTH = 14
"""Halvings of the step size: the slowest expert averages over about 2^13 rounds."""
MEMORY = 2000.0
"""Rounds that the meta remembers: enough to distinguish experts that differ by a few per cent."""
SHARPNESS = 8.0
"""Factor of the learning rate, larger than the 0.5 of a meta that does not forget."""


@final
class SwordAgeless(MetaExpertLearner):
    r"""Bounded-memory Sword for endless streams: the experts of Sword_best under discounted Hedge.

    The sums of the experts' losses are discounted by :math:`1 - 1/M` a round, so that the time to
    adapt after a change does not grow with the number of rounds. In return the regret to a fixed
    expert grows with T/M instead of the root of T. :meth:`certificate` holds for any weights.

    Parameters
    ----------
    domain
        Where decisions live.
    smoothness
        L of every loss. Losses of very different smoothness are best weighted to have the same
        (:class:`WeightedLoss` with a weight of 1/L).
    pool
        Step sizes; 1/L and 13 halvings of it unless given.
    memory
        M, in rounds.
    meta
        The meta, such as ``sp.metas.FixedShare()``; a discounted Hedge unless
        given.
    """

    @checked
    def __init__(
        self,
        domain: Domain,
        *,
        smoothness: float,
        pool: Any = None,
        memory: float = MEMORY,
        meta: Meta | None = None,
    ) -> None:
        L = arguments.positive("smoothness", smoothness)
        steps = Constant(
            2.0 ** -np.arange(DEPTH) / L
            if pool is None
            else arguments.positive_vector("pool", pool)
        )
        rate = rates.SelfConfident(offset=0.0, factor=SHARPNESS, floor=1e-4, memory=memory)
        super().__init__(
            arguments.domain(domain),
            experts=[OEGDExperts(domain, steps), OGDExperts(domain, steps)],
            prior=uniform(2 * steps.count()),
            hedge=meta_or_default(
                meta, None, OptimisticHedge(rate, GameConstants(domain.diameter))
            ),
            optimism=LearnedOptimism(math.inf),
        )
        self.declared = DeclaredConstants(smoothness=L)
