"""Sword, which needs no constants, and SwordAgeless, which forgets old losses."""

from __future__ import annotations

import math
from typing import Any, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.arguments import explain_overflow
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
    base_offset,
)
from swordplay.parts.experts.step_sizes import step_shrink
from swordplay.parts.learners.assumptions import DeclaredConstants, ObservedLoss
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

RATE_FLOOR = 1e-4
"""``floor`` of the learning rate (:class:`~swordplay.parts.rates.SelfConfident`).

Experts get similar weights if their losses differ by less than RATE_FLOOR D max_s norm(g_s - M_s).
"""


@final
class Sword(MetaExpertLearner):
    r"""Meta-expert learner that needs no constants, only the domain.

    Both kinds of experts of Sword_best (extra-gradient and gradient descent), with AdaGrad steps
    :math:`\eta = c \hat D / \sqrt{\sum_s q_s}`, :math:`q_s = \|g_s - M_s\|^2`, and a learning rate
    that is large until the losses vary. The optimism takes the better of two predictions of the
    next gradient: the gradient of the last loss near the next decision, or 0. When the pool is too
    small for the rounds played, the last expert of each kind is copied, with twice the multiplier
    c.

    The domain may be far larger than needed. The smoothness of the losses limits the step size of
    the first expert of each kind. :math:`\hat D` is the diameter of the domain or, if smaller, a
    width measured from how far the first gradient-descent expert has moved
    (:class:`~swordplay.parts.experts.CappedAdaGrad`). If the smoothness of all losses is unknown,
    the step sizes are those for the whole domain.

    No decision changes when all losses are multiplied by one number, or when the domain and the
    losses are moved together. :meth:`certificate` is its guarantee.

    Parameters
    ----------
    domain
        X, the set of decisions.
    meta
        The meta, such as ``sp.metas.Squint()``. Unless given, an optimistic Hedge with a
        large learning rate.

    Examples
    --------
    >>> from swordplay import Ball, SquaredLoss
    >>> learner = Sword(Ball(dim=1))
    >>> for _ in range(100):
    ...     learner.observe(SquaredLoss([1.0], target=0.5))
    >>> round(float(learner.decision[0]), 2)
    0.5
    """

    _growing_axes = ("experts", "pool")  # a loaded state may have another number of experts

    grows = True  # read by the engine; here :meth:`_enlarge_pool` grows the pool
    uses_domain_scale = True  # read by the engine; here :meth:`_experts_at_scale` uses the scale

    def __init__(self, domain: Domain, *, meta: Meta | None = None) -> None:
        steps = AdaGradNorm(arguments.domain(domain).diameter)
        super().__init__(
            domain,
            experts=[OEGDExperts(domain, steps), OGDExperts(domain, steps)],
            prior=_prior(1),
            meta=meta_or_default(
                meta,
                default=OptimisticHedge(
                    # offset=0: the first rate is infinite, as no bound on the losses is known
                    rates.SelfConfident(offset=0.0, floor=RATE_FLOOR),
                    GameConstants(domain.diameter),
                ),
            ),
            optimism=LearnedOptimism(math.inf),
        )

    def _start(self) -> MetaExpertState:
        """Return the first state: one capped expert of each kind, and a copy that is not capped."""
        scale = DomainScale(step_shrink=step_shrink(self.domain.dim))
        return self._with_copies(super()._start()._replace(domain_scale=scale))

    @property
    def keeps_dual_sum(self) -> bool:
        """Whether the certificate keeps a dual sum S of every expert: in few dimensions only."""
        return self.domain.dim <= MAX_DIM_OF_DUAL_SUM

    def _experts_at_scale(
        self, scale_before: DomainScale | None, scale_after: DomainScale | None, rounds: int
    ) -> tuple[Experts, ...]:
        """Return the experts of a round with step sizes for the measured scale.

        Extra-gradient experts have two rules, because their first step must use the step size with
        which x_t was computed, from the scale before this round. The last argument of a rule is the
        cap divisor m: ϱ for extra-gradient, the rounds to average over for descent.
        """
        assert scale_before is not None
        assert scale_after is not None
        X, D = self.domain, self.domain.diameter
        return (
            OEGDExperts(
                X,
                CappedAdaGrad(D, scale_before, scale_before.step_shrink),
                CappedAdaGrad(D, scale_after, scale_after.step_shrink),
            ),
            OGDExperts(X, CappedAdaGrad(D, scale_after, scale_after.descent_cap_divisor(rounds))),
        )

    def _measured_scale(
        self, state: MetaExpertState, loss: ObservedLoss, gradient: Vector
    ) -> DomainScale | None:
        assert state.domain_scale is not None
        _extra_gradient, descent = state.experts  # in the order of the constructor
        capped_offset = base_offset(descent, self.domain)[0]  # CappedAdaGrad caps the first expert
        return state.domain_scale.with_loss(
            loss.smoothness or 0.0,
            float(np.linalg.norm(gradient)),
            float(np.linalg.norm(capped_offset)),
        )

    def _enlarge_pool(self, state: MetaExpertState) -> MetaExpertState:
        while len(state.experts[0].points) < pool_size(state.rounds):
            state = self._with_copies(state)
        return state

    def _with_copies(self, state: MetaExpertState) -> MetaExpertState:
        """Return the state with a copy of the last expert of each kind, with twice its c."""
        size = len(state.experts[0].points)
        parents_in_kind = np.append(np.arange(size), size - 1)
        parents = np.concatenate([parents_in_kind, size + parents_in_kind])
        kinds = self._experts_at_scale(state.domain_scale, state.domain_scale, state.rounds)
        return state._replace(
            experts=tuple(
                experts.copy_last(experts_state)
                for experts, experts_state in zip(kinds, state.experts, strict=True)
            ),
            meta=self._meta.copy_experts(state.meta, parents, _prior(size + 1)),
            certificate=state.certificate.of_experts(parents),
        )

    def _prior_of(self, state: MetaExpertState) -> Vector:
        return _prior(len(state.experts[0].points))

    def _check_state(self, new_state: MetaExpertState) -> None:
        size = max(2, pool_size(new_state.rounds))
        expert_count = len(new_state.meta.weights)
        if expert_count != 2 * size or any(
            len(experts_state.points) != size for experts_state in new_state.experts
        ):
            raise damaged(f"state has {expert_count} experts after {new_state.rounds} rounds")
        super()._check_state(new_state)
        assert new_state.domain_scale is not None
        error_sums = np.concatenate(
            [experts_state.squared_error_sum for experts_state in new_state.experts]
        )
        new_state.domain_scale.check(error_sums, self.domain.diameter)


def pool_size(rounds: int) -> int:
    """Return the number n of experts of each kind that :class:`Sword` has after t rounds.

    Their multipliers c are 2^0 / 2, ..., 2^(n-1) / 2. The best c is of order
    sqrt(1 + 2 P_t / D) / 2, where the path length P_t of a comparator is at most D t. Hence n is
    the least number with 2^(n-1) >= sqrt(1 + 2 t).
    """
    size = 1
    while 4 ** (size - 1) < 1 + 2 * rounds:
        size += 1
    return size


def _prior(experts: int) -> Vector:
    """Return the prior: half of the weight for each kind, most of it for small multipliers."""
    return np.tile(telescoping_with_tail(experts) / 2, 2)


AGELESS_POOL_SIZE = 14
"""Default number of step sizes, 1/L and 13 halvings of it.

An expert with the smallest step size averages over about 2^13 rounds.
"""
DEFAULT_MEMORY = 2000.0
"""Default memory of the meta, in rounds.

It is long enough to distinguish experts whose losses differ by a few per cent.
"""
RATE_FACTOR = 8.0
"""``factor`` of the learning rate, larger than the 0.5 of a meta that does not forget.

No guarantee depends on it: the certificate of :class:`SwordAgeless` holds for any weights.
"""


@final
class SwordAgeless(MetaExpertLearner):
    r"""Bounded-memory Sword for endless streams: the experts of Sword_best under discounted Hedge.

    The sums of the experts' losses are multiplied by :math:`1 - 1/K` in every round, so that the
    time to adapt after a change does not grow with the number T of rounds. In return the regret to
    a fixed expert grows in proportion to T/K instead of the root of T.
    :meth:`certificate` holds for any weights.

    Parameters
    ----------
    domain
        X, the set of decisions.
    smoothness
        L of every loss. If losses differ much in smoothness, give each a weight of 1 / its own L
        (:class:`WeightedLoss`), and ``smoothness=1``.
    pool
        Step sizes; 1/L and 13 halvings of it unless given.
    memory
        K, the number of rounds that the meta remembers.
    meta
        The meta, such as ``sp.metas.FixedShare()``. Unless given, a discounted Hedge.
    """

    @explain_overflow
    def __init__(
        self,
        domain: Domain,
        *,
        smoothness: float,
        pool: Any = None,
        memory: float = DEFAULT_MEMORY,
        meta: Meta | None = None,
    ) -> None:
        L = arguments.positive("smoothness", smoothness)
        steps = Constant(
            2.0 ** -np.arange(AGELESS_POOL_SIZE) / L
            if pool is None
            else arguments.positive_vector("pool", pool)
        )
        # offset=0: the first rate is infinite, as no bound on the losses is known
        rate = rates.SelfConfident(offset=0.0, factor=RATE_FACTOR, floor=RATE_FLOOR, memory=memory)
        super().__init__(
            arguments.domain(domain),
            experts=[OEGDExperts(domain, steps), OGDExperts(domain, steps)],
            prior=uniform(2 * steps.count()),
            meta=meta_or_default(
                meta, default=OptimisticHedge(rate, GameConstants(domain.diameter))
            ),
            optimism=LearnedOptimism(math.inf),
        )
        self.declared = DeclaredConstants(smoothness=L)
