"""The machine behind every meta-expert learner: experts move, a Hedge weighs them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from swordplay.core import state
from swordplay.core.types import Domain, Gradient, Matrix, Setting, Vector
from swordplay.parts.experts import Experts, ExpertState, Gauge, Move, from_center, is_steady
from swordplay.parts.learners import certificate
from swordplay.parts.learners.assumptions import above_tangent
from swordplay.parts.learners.learner import SLACK, StatefulLearner, frozen
from swordplay.parts.learners.sanity import require_level
from swordplay.parts.metas import Meta, Optimism, OptimismState, OptimisticHedge, OwnRate, Parts


class EnsembleState(NamedTuple):
    """All parts of a meta-expert learner."""

    rounds: int
    experts: tuple[ExpertState, ...]
    """One entry per kind of experts."""
    hedge: Any
    """The meta's state: :class:`~swordplay.parts.metas.HedgeState`, or that of another meta."""
    optimism: OptimismState
    certificate: certificate.CertificateState
    gauge: Gauge | tuple[()] = ()
    """What the steps of the experts are measured by, where they are."""


class Ensemble(StatefulLearner[EnsembleState]):
    r"""Many step sizes at once, weighed by an optimistic Hedge.

    .. math:: x_t = \sum_i p_{t,i}\, x_{t,i}, \qquad \ell_{t,i} = \langle \nabla f_t(x_t), x_{t,i}
        \rangle

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
        The rule that guesses the coming gradient.
    """

    shared: ClassVar[bool] = False
    """Whether all experts descend along the gradient at the decision."""
    grows: ClassVar[bool] = False
    """Whether experts are forked as rounds go by."""
    capped: ClassVar[bool] = False
    """Whether the first expert of each kind is capped, and the steps of the others are made for
    how far it has been.
    """

    def __init__(
        self,
        domain: Domain,
        experts: Sequence[Experts],
        prior: Vector,
        hedge: Meta,
        optimism: Optimism,
    ) -> None:
        self._experts = tuple(experts)
        self._prior = prior
        self._hedge = hedge
        self._optimism = optimism
        super().__init__(domain)

    @property
    def parts(self) -> Parts:
        """What this learner is made of."""
        # Only a Hedge has a learning rate that the engine could ask for.
        hedge = (
            self._hedge
            if isinstance(self._hedge, OptimisticHedge)
            else OptimisticHedge(OwnRate(), Setting(1.0))
        )
        return Parts(
            self.domain,
            self._experts,
            self._prior,
            hedge.rate,
            hedge.setting,
            self._optimism,
            self.shared,
            grows=self.grows,
            capped=self.capped,
            headed=self.headed,
        )

    @property
    def headed(self) -> bool:
        """Whether the certificate keeps S of every expert, which only steps that change have a
        use for.
        """
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
        """What the decisions owe to each expert so far, sum of <g_t, x_t - x_{t,i}>, shape
        ``(N,)``.
        """
        return frozen(self._state.certificate.advantage)

    @property
    def effective_step_size(self) -> float:
        """Weighted geometric mean of the step sizes: how fast the world seems to move."""
        return float(np.exp(self.weights @ np.log(self.step_sizes)))

    @property
    def trust(self) -> float:
        """Share of the replayed gradient that the meta's guess is made of, in [0, 1]."""
        return self._state.optimism.trust

    @property
    def _steady(self) -> Any:
        kinds = zip(self._experts, self._state.experts, strict=True)
        return np.concatenate([np.full(len(was.base), is_steady(kind)) for kind, was in kinds])

    def _start(self) -> EnsembleState:
        return EnsembleState(
            rounds=0,
            experts=tuple(kind.start() for kind in self._experts),
            hedge=self._hedge.start(self._prior),
            optimism=self._optimism.start(self.domain.dim),
            certificate=certificate.start(len(self._prior)),
        )

    def _step(self, state_: EnsembleState, gradient: Gradient) -> EnsembleState:
        points = stacked(state_.experts)
        decision = self._decide(state_)
        observed = gradient(decision)  # g_t
        losses = points @ observed  # <g_t, x_{t,i}>

        gauge = self._measured(state_, gradient, observed)
        moved, moves = self._move(state_, gradient, observed, gauge)
        missed = observed - state_.optimism.guess
        now = state_._replace(
            rounds=state_.rounds + 1,
            experts=moved,
            gauge=gauge,
            hedge=self._hedge.learn(
                state_.hedge, losses + self._corrections(state_), float(missed @ missed)
            ),
            certificate=certificate.step(
                state_.certificate,
                decision @ observed - losses,
                moves,
                self._lengths(state_, moved),
                0.0
                if self.shared
                else above_tangent(gradient, decision, points, decision @ observed - losses),
            ),
        )
        now = self._grow(now)

        ahead = stacked(now.experts)  # x_{t+1,i}
        optimism = self._optimism.step(
            state_.optimism, observed, gradient, now.hedge.weights, ahead
        )
        guesses = ahead @ optimism.guess + self._coming_corrections(points, ahead)
        return now._replace(optimism=optimism, hedge=self._hedge.weigh(now.hedge, guesses))

    def _require_sane(self, new: EnsembleState) -> None:
        super()._require_sane(new)
        weights = new.hedge.weights
        if not ((weights > 0).all() and abs(weights.sum() - 1.0) <= SLACK):
            raise ValueError(
                "state['hedge.weights'] must be positive with a sum of 1. The state is damaged: "
                "load an earlier one."
            )
        fresh = self._template(state.save(new)).hedge
        if not np.allclose(new.hedge.log_prior, fresh.log_prior, rtol=SLACK):
            raise ValueError(
                "state['hedge.log_prior'] is not that of this learner. The state is damaged: load "
                "an earlier one."
            )
        require_level(state.save(new.hedge), state.save(fresh))
        points, guess = stacked(new.experts), new.optimism.guess
        slack = SLACK * float(np.abs(guess).max() * np.abs(points).max()) * len(guess)
        if not np.allclose(new.hedge.guesses, points @ guess + self._corrections(new), atol=slack):
            raise ValueError(
                "state['hedge.guesses'] are not those of its optimism. The state is damaged: load "
                "an earlier one."
            )

    def settings(self) -> Mapping[str, Any]:
        """What the learner was made with."""
        return {
            **super().settings(),
            "step_sizes": self._concatenated_steps(self._start()),
            "prior": self._prior,
            "experts": self._experts,
            "meta": self._hedge,
            "optimism": self._optimism,
        }

    def _lengths(self, before: EnsembleState, after: Sequence[ExpertState]) -> certificate.Lengths:
        """How far the experts' base points were and are from the centre."""
        then, now = (
            np.concatenate([from_center(kind, self.domain) for kind in all_])
            for all_ in (before.experts, after)
        )
        return certificate.Lengths.of(then, now)

    def _decide(self, state_: EnsembleState) -> Vector:
        return np.asarray(state_.hedge.weights @ stacked(state_.experts))

    def _move(
        self,
        state_: EnsembleState,
        gradient: Gradient,
        observed: Vector,
        gauge: Gauge | tuple[()] = (),
    ) -> tuple[tuple[ExpertState, ...], Move]:
        """Every kind of experts along its gradient field."""
        field, kinds = self._field(gradient, observed), self._kinds(state_, gauge)
        moved, moves = zip(
            *(kind.step(was, field) for kind, was in zip(kinds, state_.experts, strict=True)),
            strict=True,
        )
        known = all(len(move.change) for move in moves)
        sizes, surprises, leads = (
            np.concatenate([move[part] for move in moves]) for part in range(3)
        )
        return moved, Move(
            sizes,
            surprises,
            leads,
            np.concatenate([move.change for move in moves]) if known else (),
        )

    def _kinds(self, state_: EnsembleState, gauge: Gauge | tuple[()]) -> tuple[Experts, ...]:
        """The experts of the coming round, with what its loss has shown.

        Most learners have the same ones for ever.
        """
        return self._experts

    def _measured(
        self, state_: EnsembleState, gradient: Gradient, observed: Vector
    ) -> Gauge | tuple[()]:
        """What steps are measured by, with this round; most learners measure nothing."""
        return state_.gauge

    def _field(self, gradient: Gradient, observed: Vector) -> Gradient:
        """What the experts descend along: the loss's gradients at their own points, or the one
        that all share.
        """
        return (lambda points: np.broadcast_to(observed, points.shape)) if self.shared else gradient

    def _corrections(self, state_: EnsembleState) -> Vector | float:
        """What the meta's losses of this round have beyond <g_t, x_{t,i}>.

        Nothing for most learners.
        """
        return 0.0

    def _coming_corrections(self, points: Matrix, ahead: Matrix) -> Vector | float:
        """What the meta's guesses of the coming round have beyond <M_{t+1}, x_{t+1,i}>.

        Nothing for most learners.
        """
        return 0.0

    def _grow(self, state_: EnsembleState) -> EnsembleState:
        """Room for more experts; most learners keep the ones they have."""
        return state_

    def _concatenated_steps(self, state_: EnsembleState) -> Vector:
        kinds = self._kinds(state_, state_.gauge)
        return np.concatenate(
            [kind.step_sizes(was) for kind, was in zip(kinds, state_.experts, strict=True)]
        )


def stacked(experts: Sequence[ExpertState]) -> Matrix:
    """The points of all kinds of experts, shape ``(N, d)``."""
    return (
        experts[0].points
        if len(experts) == 1
        else np.concatenate([kind.points for kind in experts])
    )
