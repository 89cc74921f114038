"""Base class of meta-expert learners: a meta averages experts with many step sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from swordplay.core.state import OBSERVED_ROUNDS_RANGE, ROUNDING_TOLERANCE, damaged, save
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
from swordplay.parts.learners.learner import (
    SAVED_TOLERANCE,
    CertifiedLearner,
    read_only,
    refuse_underflow,
)
from swordplay.parts.metas import (
    Composition,
    Meta,
    NoLearningRate,
    Optimism,
    OptimismState,
    OptimisticHedge,
)


class MetaExpertState(NamedTuple):
    """State of a meta-expert learner between two rounds: the states of its parts."""

    rounds: Annotated[int, OBSERVED_ROUNDS_RANGE]
    experts: tuple[ExpertState, ...]
    """The state of each kind of experts."""
    meta: Any
    """State of the meta: :class:`~swordplay.parts.metas.HedgeState`, or that of another meta."""
    optimism: OptimismState
    certificate: CertificateState
    domain_scale: DomainScale | None = None
    """Measured smoothness and width, if the step sizes depend on them; else None."""


class MetaExpertLearner(CertifiedLearner[MetaExpertState]):
    r"""Experts with many step sizes, averaged by a meta.

    .. math:: x_t = \sum_i p_{t,i}\, x_{t,i}, \qquad \ell_{t,i} = \langle \nabla f_t(x_t), x_{t,i}
        \rangle + c \|x_{t,i} - x_{t-1,i}\|^2

    with weights :math:`p_t`, points :math:`x_{t,i}` of the experts, and c = 0 in all learners but
    Sword++. A subclass chooses the parts. :class:`Sword` also overrides :meth:`_experts_at_scale`
    and enlarges its pool.

    Parameters
    ----------
    domain
        X, the set of decisions.
    experts
        Kinds of experts; their points are stacked in this order.
    prior
        Weights before the first round, shape ``(N,)``.
    meta
        Rule for the weights of the experts.
    optimism
        Rule that predicts the next gradient.
    movement_charge
        c, the factor of an expert's squared movement in its loss for the meta.

    References
    ----------
    Zhao et al. (2020), Algorithms 1 to 4.
    """

    shared_gradient: ClassVar[bool] = False
    """Whether all experts use the gradient at the decision instead of those at their own points."""
    grows: ClassVar[bool] = False
    """Whether the pool grows with the number of rounds; for the engine."""
    uses_domain_scale: ClassVar[bool] = False
    """For the engine: whether step sizes depend on a :class:`~swordplay.parts.experts.DomainScale`.

    Then the smoothness of the losses limits the step size of the first expert of each kind. The
    step sizes of the others are proportional to the width of the part of the domain that the first
    expert has used.
    """

    def __init__(
        self,
        domain: Domain,
        experts: Sequence[Experts],
        prior: Vector,
        meta: Meta,
        optimism: Optimism,
        movement_charge: float = 0.0,
    ) -> None:
        self._experts = tuple(experts)
        self._prior = prior
        self._meta = meta
        self._optimism = optimism
        self._movement_charge = movement_charge
        super().__init__(domain)

    def _advance(self, state: MetaExpertState, loss: ObservedLoss) -> MetaExpertState:
        points = stacked(state.experts)  # x_{t,i}, shape (N, d)
        decision = self._decide(state)  # x_t = sum_i p_{t,i} x_{t,i}
        gradient = loss.gradient(decision)  # g_t = grad f_t(x_t)
        linear_losses = points @ gradient  # <g_t, x_{t,i}>
        linear_regret = decision @ gradient - linear_losses  # <g_t, x_t - x_{t,i}>

        # Algorithms 2 and 4: each expert descends along the gradient at its own point, or at x_t.
        scale = self._measured_scale(state, loss, gradient)
        gradient_field = _constant_field(gradient) if self.shared_gradient else loss.gradient
        experts, expert_step = _step_all(
            self._experts_at_scale(state.domain_scale, scale, state.rounds),
            state.experts,
            gradient_field,
        )
        refuse_underflow(experts, loss)
        gap = (
            0.0
            if self.shared_gradient
            else linearisation_gap(loss, decision, points, linear_regret)
        )

        # Algorithms 1 and 3: the meta learns from l_{t,i} and from the error of M_t ...
        prediction_error = gradient - state.optimism.expected_gradient  # g_t - M_t
        meta_state = self._meta.learn(
            state.meta,
            linear_losses + self._charge_in_predictions(state),
            float(prediction_error @ prediction_error),
        )
        state = state._replace(
            rounds=state.rounds + 1,
            experts=experts,
            domain_scale=scale,
            meta=meta_state,
            certificate=state.certificate.with_round(
                linear_regret, expert_step, self._displacement(state.experts, experts), gap
            ),
        )
        state = self._enlarge_pool(state)

        # ... and weighs the experts by their losses so far and the predicted next ones, m_{t+1}.
        next_points = stacked(state.experts)  # x_{t+1,i}
        optimism = self._optimism.step(
            state.optimism, gradient, loss.gradient, state.meta.weights, next_points
        )
        predicted_losses = next_points @ optimism.expected_gradient + self._charge_for_move(
            points, next_points
        )  # m_{t+1,i}
        return state._replace(
            optimism=optimism, meta=self._meta.weigh(state.meta, predicted_losses)
        )

    def _experts_at_scale(
        self, scale_before: DomainScale | None, scale_after: DomainScale | None, rounds: int
    ) -> tuple[Experts, ...]:
        """Return the experts of a round, which may depend on the measured scale.

        Parameters
        ----------
        scale_before
            Scale measured before the round.
        scale_after
            Scale measured with the loss of the round included.
        rounds
            Number of rounds before this one.
        """
        return self._experts

    def _enlarge_pool(self, state: MetaExpertState) -> MetaExpertState:
        """Return the state with as many experts as its rounds need; most pools keep their size."""
        return state

    def _measured_scale(
        self, state: MetaExpertState, loss: ObservedLoss, gradient: Vector
    ) -> DomainScale | None:
        """Return the measured scale with this loss included; None if the learner measures none."""
        return None

    def _charge_for_move(self, points: Matrix, next_points: Matrix) -> Vector | float:
        """Return c norm(x_{t+1,i} - x_{t,i})^2 for each expert, shape ``(N,)``; 0 if c is 0."""
        if self._movement_charge == 0.0:
            return 0.0
        return self._movement_charge * squared_norms(next_points - points)

    def _charge_in_predictions(self, state: MetaExpertState) -> Vector | float:
        """Return m_{t,i} - <M_t, x_{t,i}>, the movement charges in this round's predictions."""
        if self._movement_charge == 0.0:
            return 0.0
        return np.asarray(
            state.meta.optimism - stacked(state.experts) @ state.optimism.expected_gradient
        )

    @property
    def parts(self) -> Composition:
        """Domain, experts, prior, learning rate and optimism of this learner."""
        # The engine compiles optimistic Hedge only, and refuses a learner with NoLearningRate.
        if isinstance(self._meta, OptimisticHedge):
            rate, constants = self._meta.rate, self._meta.constants
        else:
            rate, constants = NoLearningRate(), GameConstants(1.0)
        return Composition(
            self.domain,
            self._experts,
            self._prior,
            rate,
            constants,
            self._optimism,
            self.shared_gradient,
            grows=self.grows,
            uses_domain_scale=self.uses_domain_scale,
            keeps_dual_sum=self.keeps_dual_sum,
            movement_charge=self._movement_charge,
        )

    @property
    def keeps_dual_sum(self) -> bool:
        """Whether the certificate stores a dual sum S of every expert; constant steps need none."""
        return False

    @property
    def weights(self) -> Vector:
        """p_t of the coming round, shape ``(N,)``: positive, with a sum of 1."""
        return read_only(self._state.meta.weights)

    @property
    def points(self) -> Matrix:
        """x_{t,i} of the coming round, shape ``(N, d)``."""
        return read_only(stacked(self._state.experts))

    @property
    def step_sizes(self) -> Vector:
        """Step size of each expert, shape ``(N,)``."""
        return read_only(self._concatenated_steps(self._state))

    @property
    def advantages(self) -> Vector:
        """Sum of <g_t, x_t - x_{t,i}> so far, the linearised regret to each expert, ``(N,)``."""
        return read_only(self._state.certificate.linear_regret)

    @property
    def effective_step_size(self) -> float:
        """Geometric mean of the step sizes, weighted by p_t: large if the best point moves fast."""
        return float(np.exp(self.weights @ np.log(self.step_sizes)))

    @property
    def trust(self) -> float:
        """Share of the replayed gradient in the meta's predicted gradient, in [0, 1]."""
        return self._state.optimism.trust

    @property
    def _constant_steps(self) -> Any:
        return np.concatenate(
            [
                np.full(len(expert_state.base), has_constant_steps(experts))
                for experts, expert_state in zip(self._experts, self._state.experts, strict=True)
            ]
        )

    def _start(self) -> MetaExpertState:
        return MetaExpertState(
            rounds=0,
            experts=tuple(experts.start() for experts in self._experts),
            meta=self._meta.start(self._prior),
            optimism=self._optimism.start(self.domain.dim),
            certificate=CertificateState.at_start(
                len(self._prior), self.domain.dim if self.keeps_dual_sum else None
            ),
        )

    def _decide(self, state: MetaExpertState) -> Vector:
        return np.asarray(state.meta.weights @ stacked(state.experts))

    def _displacement(
        self, before: Sequence[ExpertState], after: Sequence[ExpertState]
    ) -> Displacement:
        """Return norms and change of the base points minus the centre, over a round."""
        offset_before, offset_after = (
            np.concatenate([base_offset(state, self.domain) for state in states])
            for states in (before, after)
        )
        return Displacement.of(offset_before, offset_after)

    def _concatenated_steps(self, state: MetaExpertState) -> Vector:
        kinds = self._experts_at_scale(state.domain_scale, state.domain_scale, state.rounds)
        return np.concatenate(
            [
                experts.step_sizes(experts_state)
                for experts, experts_state in zip(kinds, state.experts, strict=True)
            ]
        )

    def settings(self) -> Mapping[str, Any]:
        """Return the settings that are saved with a state and compared when it is loaded."""
        return {
            **super().settings(),
            "step_sizes": self._concatenated_steps(self._start()),
            "prior": self._prior,
            "experts": self._experts,
            "meta": self._meta,
            "optimism": self._optimism,
        }

    def _prior_of(self, state: MetaExpertState) -> Vector:
        """Prior weights of the experts of a state, shape ``(N,)``."""
        return self._prior

    def _check_rate_level(self, new_state: MetaExpertState) -> None:
        """Refuse a saved ``level`` of the learning rate below the one before the first round.

        A level never falls. The level of ``Doubling`` is doubled, which would leave 0 at 0.
        """
        level, first_level = (
            save(state.meta).get("rate.level", 0.0) for state in (new_state, self._start())
        )
        if level < first_level * (1.0 - ROUNDING_TOLERANCE):
            raise damaged(
                f"state['meta.rate.level'] must be {first_level:g} or more, got {level:g}"
            )

    def _check_state(self, new_state: MetaExpertState) -> None:
        super()._check_state(new_state)
        weights = new_state.meta.weights
        if not ((weights > 0).all() and abs(weights.sum() - 1.0) <= SAVED_TOLERANCE):
            raise ValueError(
                "state['meta.weights'] must be positive with a sum of 1. The state is damaged: "
                "load an earlier one."
            )
        if not np.allclose(
            new_state.meta.log_prior, np.log(self._prior_of(new_state)), rtol=SAVED_TOLERANCE
        ):
            raise ValueError(
                "state['meta.log_prior'] is not that of this learner. The state is damaged: load "
                "an earlier one."
            )
        self._check_rate_level(new_state)
        points, expected_gradient = stacked(new_state.experts), new_state.optimism.expected_gradient
        charge = np.asarray(self._charge_in_predictions(new_state))
        slack = (
            SAVED_TOLERANCE
            * float(np.abs(expected_gradient).max() * np.abs(points).max())
            * len(expected_gradient)
        )
        # m_{t,i} = <M_t, x_{t,i}> + charge
        if not np.allclose(
            new_state.meta.optimism, points @ expected_gradient + charge, atol=slack
        ):
            raise ValueError(
                "state['meta.optimism'] does not match the experts' points and "
                "state['optimism.expected_gradient']. The state is damaged: load an earlier one."
            )
        max_charge = self._movement_charge * self.domain.diameter**2  # c D^2
        slack = SAVED_TOLERANCE * (max_charge + float(np.abs(new_state.meta.optimism).max()))
        if not ((charge >= -slack) & (charge <= max_charge + slack)).all():
            raise ValueError(
                "state['meta.optimism'] holds movement charges outside the possible range. The "
                "state is damaged: load an earlier one."
            )


def _step_all(
    kinds: Sequence[Experts], states: Sequence[ExpertState], gradient: Gradient
) -> tuple[tuple[ExpertState, ...], ExpertStep]:
    """Play a round with all kinds of experts; return their states and one ExpertStep for all."""
    results = [experts.step(state, gradient) for experts, state in zip(kinds, states, strict=True)]
    new_states = tuple(state for state, _ in results)
    steps = [step for _, step in results]
    changes = [step.change for step in steps if step.change is not None]
    return new_states, ExpertStep(
        step_sizes=np.concatenate([step.step_sizes for step in steps]),
        squared_error=np.concatenate([step.squared_error for step in steps]),
        squared_lookahead=np.concatenate([step.squared_lookahead for step in steps]),
        change=np.concatenate(changes) if len(changes) == len(steps) else None,
    )


def _constant_field(gradient: Vector) -> Gradient:
    """Return a function that gives the same gradient at every point."""

    def gradient_field(points: Array) -> Array:
        return np.broadcast_to(gradient, points.shape)

    return gradient_field


def stacked(states: Sequence[ExpertState]) -> Matrix:
    """Return the points of all kinds of experts one below the other, shape ``(N, d)``."""
    return (
        states[0].points if len(states) == 1 else np.concatenate([state.points for state in states])
    )
