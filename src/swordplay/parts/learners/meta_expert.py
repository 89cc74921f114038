"""Meta-expert learners: experts with many step sizes, whose points a meta averages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from swordplay.core.state import OBSERVED, ROUNDING, damaged, save
from swordplay.core.types import Array, Domain, GameConstants, Gradient, Matrix, Vector
from swordplay.parts.experts import (
    DomainScale,
    Experts,
    ExpertState,
    ExpertStep,
    base_offset,
    has_constant_steps,
)
from swordplay.parts.experts.expert import squared_norms
from swordplay.parts.learners.assumptions import ObservedLoss, linearisation_gap
from swordplay.parts.learners.certificate import CertificateState, Displacement
from swordplay.parts.learners.learner import SLACK, CertifiedLearner, frozen, require_measurable
from swordplay.parts.metas import (
    Composition,
    Meta,
    NoLearningRate,
    Optimism,
    OptimismState,
    OptimisticHedge,
)


class MetaExpertState(NamedTuple):
    """The states of all parts of a meta-expert learner."""

    rounds: Annotated[int, OBSERVED]
    experts: tuple[ExpertState, ...]
    """One entry for each kind of experts."""
    hedge: Any
    """The meta's state: :class:`~swordplay.parts.metas.HedgeState`, or that of another meta."""
    optimism: OptimismState
    certificate: CertificateState
    domain_scale: DomainScale | None = None
    """Measured width of the domain in use, where step sizes depend on it."""


class MetaExpertLearner(CertifiedLearner[MetaExpertState]):
    r"""Experts with many step sizes, averaged by a meta.

    .. math:: x_t = \sum_i p_{t,i}\, x_{t,i}, \qquad \ell_{t,i} = \langle \nabla f_t(x_t), x_{t,i}
        \rangle + c \|x_{t,i} - x_{t-1,i}\|^2

    with c = 0 but for Sword++. A subclass gives the parts; :class:`Sword` also gives a step rule
    and enlarges its pool.

    Parameters
    ----------
    domain
        Where decisions live.
    experts
        Kinds of experts; their points are stacked in this order.
    prior
        Weights before the first round, shape ``(N,)``.
    hedge
        The meta.
    optimism
        The rule that predicts the coming gradient.
    movement_charge
        c, what the meta adds to an expert's loss for each squared unit that it moves.

    References
    ----------
    Zhao et al. (2020), Algorithms 1 to 4.
    """

    shared_gradient: ClassVar[bool] = False
    """Whether all experts descend along the gradient at the decision."""
    grows: ClassVar[bool] = False
    """Whether the pool is enlarged as rounds go by."""
    uses_domain_scale: ClassVar[bool] = False
    """Whether the step of the first expert of each kind is capped by the losses' smoothness, and
    the steps of the others follow the width of the domain that it uses.
    """

    def __init__(
        self,
        domain: Domain,
        experts: Sequence[Experts],
        prior: Vector,
        hedge: Meta,
        optimism: Optimism,
        movement_charge: float = 0.0,
    ) -> None:
        self._experts = tuple(experts)
        self._prior = prior
        self._hedge = hedge
        self._optimism = optimism
        self._movement_charge = movement_charge
        super().__init__(domain)

    def _advance(self, now: MetaExpertState, loss: ObservedLoss) -> MetaExpertState:
        points = stacked(now.experts)  # x_{t,i}, shape (N, d)
        decision = self._decide(now)  # x_t = sum_i p_{t,i} x_{t,i}
        gradient = loss.gradient(decision)  # g_t = grad f_t(x_t)
        linear_losses = points @ gradient  # <g_t, x_{t,i}>
        linear_regret = decision @ gradient - linear_losses  # <g_t, x_t - x_{t,i}>

        # Algorithms 2 and 4: each expert descends along the gradient at its own point, or at x_t.
        scale = self._measured_scale(now, loss, gradient)
        field = _constant_field(gradient) if self.shared_gradient else loss.gradient
        experts, moves = _descend(
            self._step_rule(now.domain_scale, scale, now.rounds), now.experts, field
        )
        require_measurable(experts, loss)
        gap = (
            0.0
            if self.shared_gradient
            else linearisation_gap(loss, decision, points, linear_regret)
        )

        # Algorithms 1 and 3: the meta learns from l_{t,i} and from the error of M_t ...
        error = gradient - now.optimism.expected_gradient
        meta = self._hedge.learn(
            now.hedge, linear_losses + self._charged(now), float(error @ error)
        )
        now = now._replace(
            rounds=now.rounds + 1,
            experts=experts,
            domain_scale=scale,
            hedge=meta,
            certificate=now.certificate.with_round(
                linear_regret, moves, self._lengths(now.experts, experts), gap
            ),
        )
        now = self._enlarge_pool(now)

        # ... and weighs the experts by these and by the prediction m_{t+1} of the coming losses.
        ahead = stacked(now.experts)  # x_{t+1,i}
        optimism = self._optimism.step(
            now.optimism, gradient, loss.gradient, now.hedge.weights, ahead
        )
        expected = ahead @ optimism.expected_gradient + self._charge(points, ahead)  # m_{t+1,i}
        return now._replace(optimism=optimism, hedge=self._hedge.weigh(now.hedge, expected))

    def _step_rule(
        self, before: DomainScale | None, now: DomainScale | None, rounds: int
    ) -> tuple[Experts, ...]:
        """Return the experts of a round, given the measured scale before it and with its loss."""
        return self._experts

    def _enlarge_pool(self, now: MetaExpertState) -> MetaExpertState:
        """Return the state with as many experts as its rounds need; most pools keep their size."""
        return now

    def _measured_scale(
        self, now: MetaExpertState, loss: ObservedLoss, gradient: Vector
    ) -> DomainScale | None:
        """Return the measured scale with a loss more, where the learner measures one."""
        if now.domain_scale is None:
            return None
        capped = base_offset(now.experts[1], self.domain)[0]  # the first descent expert
        return now.domain_scale.with_loss(
            loss.smoothness or 0.0,
            float(np.linalg.norm(gradient)),
            float(np.linalg.norm(capped)),
        )

    def _charge(self, points: Matrix, ahead: Matrix) -> Vector | float:
        """Return what the meta charges each expert for moving from ``points`` to ``ahead``."""
        if self._movement_charge == 0.0:
            return 0.0
        return self._movement_charge * squared_norms(ahead - points)

    def _charged(self, now: MetaExpertState) -> Vector | float:
        """Return what this round's predicted losses hold beyond <M_t, x_{t,i}>: the charge."""
        if self._movement_charge == 0.0:
            return 0.0
        return np.asarray(
            now.hedge.optimism - stacked(now.experts) @ now.optimism.expected_gradient
        )

    @property
    def parts(self) -> Composition:
        """What this learner is made of."""
        # Only a Hedge has a learning rate that the engine could ask for.
        hedge = (
            self._hedge
            if isinstance(self._hedge, OptimisticHedge)
            else OptimisticHedge(NoLearningRate(), GameConstants(1.0))
        )
        return Composition(
            self.domain,
            self._experts,
            self._prior,
            hedge.rate,
            hedge.constants,
            self._optimism,
            self.shared_gradient,
            grows=self.grows,
            uses_domain_scale=self.uses_domain_scale,
            keeps_dual_sum=self.keeps_dual_sum,
            movement_charge=self._movement_charge,
        )

    @property
    def keeps_dual_sum(self) -> bool:
        """Whether the certificate keeps S of every expert, which constant steps do not need."""
        return False

    @property
    def weights(self) -> Vector:
        """p_t of the coming round, shape ``(N,)``: positive, with a sum of 1."""
        return frozen(self._state.hedge.weights)

    @property
    def points(self) -> Matrix:
        """x_{t,i} of the coming round, shape ``(N, d)``."""
        return frozen(stacked(self._state.experts))

    @property
    def step_sizes(self) -> Vector:
        """Step size of each expert, shape ``(N,)``."""
        return frozen(self._concatenated_steps(self._state))

    @property
    def advantages(self) -> Vector:
        """Linearised regret to each expert so far, sum of <g_t, x_t - x_{t,i}>, shape ``(N,)``."""
        return frozen(self._state.certificate.linear_regret)

    @property
    def effective_step_size(self) -> float:
        """Weighted geometric mean of the step sizes: large if the best point moves fast."""
        return float(np.exp(self.weights @ np.log(self.step_sizes)))

    @property
    def trust(self) -> float:
        """Share of the replayed gradient in the meta's predicted gradient, in [0, 1]."""
        return self._state.optimism.trust

    @property
    def _constant_steps(self) -> Any:
        kinds = zip(self._experts, self._state.experts, strict=True)
        return np.concatenate(
            [np.full(len(now.base), has_constant_steps(kind)) for kind, now in kinds]
        )

    def _start(self) -> MetaExpertState:
        return MetaExpertState(
            rounds=0,
            experts=tuple(kind.start() for kind in self._experts),
            hedge=self._hedge.start(self._prior),
            optimism=self._optimism.start(self.domain.dim),
            certificate=CertificateState.at_start(
                len(self._prior), self.domain.dim if self.keeps_dual_sum else None
            ),
        )

    def _decide(self, now: MetaExpertState) -> Vector:
        return np.asarray(now.hedge.weights @ stacked(now.experts))

    def _lengths(self, before: Sequence[ExpertState], after: Sequence[ExpertState]) -> Displacement:
        """Return the squared distances of the base points from the centre, before and after."""
        then, now = (
            np.concatenate([base_offset(kind, self.domain) for kind in kinds])
            for kinds in (before, after)
        )
        return Displacement.of(then, now)

    def _concatenated_steps(self, now: MetaExpertState) -> Vector:
        kinds = self._step_rule(now.domain_scale, now.domain_scale, now.rounds)
        return np.concatenate(
            [kind.step_sizes(was) for kind, was in zip(kinds, now.experts, strict=True)]
        )

    def settings(self) -> Mapping[str, Any]:
        """Return what a saved state and the learner that loads it must have in common."""
        return {
            **super().settings(),
            "step_sizes": self._concatenated_steps(self._start()),
            "prior": self._prior,
            "experts": self._experts,
            "meta": self._hedge,
            "optimism": self._optimism,
        }

    def _prior_of(self, now: MetaExpertState) -> Vector:
        """Prior weights of the experts of a state, shape ``(N,)``."""
        return self._prior

    def _check_level(self, new: MetaExpertState) -> None:
        """Refuse a rate whose level is below its first one: doubled from 0 it would never grow."""
        level, first = (save(one.hedge).get("rate.level", 0.0) for one in (new, self._start()))
        if level < first * (1.0 - ROUNDING):
            raise damaged(f"state['hedge.rate.level'] must be {first:g} or more, got {level:g}")

    def _check_state(self, new: MetaExpertState) -> None:
        super()._check_state(new)
        weights = new.hedge.weights
        if not ((weights > 0).all() and abs(weights.sum() - 1.0) <= SLACK):
            raise ValueError(
                "state['hedge.weights'] must be positive with a sum of 1. The state is damaged: "
                "load an earlier one."
            )
        if not np.allclose(new.hedge.log_prior, np.log(self._prior_of(new)), rtol=SLACK):
            raise ValueError(
                "state['hedge.log_prior'] is not that of this learner. The state is damaged: load "
                "an earlier one."
            )
        self._check_level(new)
        points, guess = stacked(new.experts), new.optimism.expected_gradient
        slack = SLACK * float(np.abs(guess).max() * np.abs(points).max()) * len(guess)
        if not np.allclose(new.hedge.optimism, points @ guess + self._charged(new), atol=slack):
            raise ValueError(
                "state['hedge.optimism'] are not those of its optimism. The state is damaged: load "
                "an earlier one."
            )
        most = self._movement_charge * self.domain.diameter**2
        slack = SLACK * (most + float(np.abs(new.hedge.optimism).max()))
        charged = np.asarray(self._charged(new))
        if not ((charged >= -slack) & (charged <= most + slack)).all():
            raise ValueError(
                "state['hedge.optimism'] do not fit its points and its optimism. The state is "
                "damaged: load an earlier one."
            )


def _descend(
    kinds: Sequence[Experts], states: Sequence[ExpertState], field: Gradient
) -> tuple[tuple[ExpertState, ...], ExpertStep]:
    """Step each kind of experts along a gradient field, and join what the steps showed."""
    experts, moves = zip(
        *(kind.step(was, field) for kind, was in zip(kinds, states, strict=True)), strict=True
    )
    changes = [move.change for move in moves if move.change is not None]
    return experts, ExpertStep(
        step_sizes=np.concatenate([move.step_sizes for move in moves]),
        squared_error=np.concatenate([move.squared_error for move in moves]),
        squared_lookahead=np.concatenate([move.squared_lookahead for move in moves]),
        change=np.concatenate(changes) if len(changes) == len(moves) else None,
    )


def _constant_field(gradient: Vector) -> Gradient:
    """Return the field that is the same gradient at every point."""

    def field(points: Array) -> Array:
        return np.broadcast_to(gradient, points.shape)

    return field


def stacked(experts: Sequence[ExpertState]) -> Matrix:
    """Return the points of all kinds of experts, shape ``(N, d)``."""
    return (
        experts[0].points
        if len(experts) == 1
        else np.concatenate([kind.points for kind in experts])
    )
