"""Losses that come late: Ader that learns in the order of arrival."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.arguments import checked
from swordplay.core.state import OBSERVED, array
from swordplay.core.types import Array, Domain, GameConstants, Loss, Matrix, Vector
from swordplay.parts import pools, rates
from swordplay.parts.experts import Constant, ExpertState, OGDExperts
from swordplay.parts.learners.assumptions import ObservedLoss, Told
from swordplay.parts.learners.learner import SLACK, UncertifiedLearner, frozen
from swordplay.parts.metas import HedgeState, OptimisticHedge, telescoping


class LateState(NamedTuple):
    """What Ader needs, and what was decided in the K rounds whose losses are still to come."""

    rounds: Annotated[int, OBSERVED]
    """Rounds decided, whether their losses came or not."""
    experts: ExpertState
    hedge: HedgeState
    late: Annotated[Vector, array("late", low=0.0, high=OBSERVED.high, whole=True)]
    """Numbers of the rounds whose losses are still to come, ascending, shape ``(K,)``."""
    decisions: Annotated[Matrix, array("late", "dim")]
    """What was decided in them, shape ``(K, d)``."""
    points: Annotated[Array, array("late", "experts", "dim")]
    """Where the experts stood in them, shape ``(K, N, d)``."""


@final
class MildOGD(UncertifiedLearner):
    r"""Ader for losses that arrive late and in any order.

    When the loss of round s arrives, its gradient :math:`g_s` at :math:`x_s` moves every expert
    from where it stands by then, and the meta is told :math:`\langle g_s, x_{s,i} \rangle`. Without
    delays this is Ader. Regret of order :math:`\sqrt{(1 + d) T (1 + P_T)}` for a mean delay d and
    losses in order.

    A round is ``observe(loss)`` if its loss is there at once, or ``number = wait()``, and later
    ``arrive(number, loss)``.

    Parameters
    ----------
    domain
        Where decisions live.
    horizon
        T, how many rounds will be played.
    gradient_bound
        G, no gradient on the domain is longer.
    delay
        Mean number of rounds that a loss is late by. Steps and rate are those of Ader for :math:`T
        (1 + 2 d)` rounds: a delayed step costs :math:`\eta G^2 (1/2 + \text{delay})` in place of
        :math:`\eta G^2/2`.

    Examples
    --------
    >>> from swordplay import Ball, SquaredLoss
    >>> learner = MildOGD(Ball(dim=1), horizon=100, gradient_bound=2.0, delay=1)
    >>> first = learner.wait()
    >>> learner.observe(SquaredLoss([1.0], target=1.0))
    >>> learner.arrive(first, SquaredLoss([1.0], target=1.0))
    >>> learner.rounds, learner.outstanding
    (2, [])

    References
    ----------
    Wan, Zhang (2023), "Non-stationary online convex optimization with arbitrary delays", Mild-OGD.
    """

    _growing_axes = ("late",)

    guarantee = "of order sqrt((1 + delay) T (1 + P_T))"

    @checked
    def __init__(
        self, domain: Domain, *, horizon: int, gradient_bound: float, delay: float = 0.0
    ) -> None:
        D, G = (
            arguments.domain(domain).diameter,
            arguments.safe_size("gradient_bound", gradient_bound),
        )
        lasting = math.ceil(
            arguments.integer("horizon", horizon) * (1 + 2 * arguments.nonnegative("delay", delay))
        )
        steps = Constant(pools.ader(diameter=D, gradient_bound=G, horizon=lasting))
        self._experts = OGDExperts(domain, steps)
        self._hedge = OptimisticHedge(
            rates.Fixed(math.sqrt(2 / (lasting * G**2 * D**2))), GameConstants(D, G)
        )
        self._prior = telescoping(steps.count())
        super().__init__(domain)
        self.told = Told(int(horizon), G)

    @property
    def weights(self) -> Vector:
        """p_t of the coming round, shape ``(N,)``."""
        return frozen(self._state.hedge.weights)

    @property
    def step_sizes(self) -> Vector:
        """Step size of each expert, shape ``(N,)``."""
        return frozen(self._experts.step_sizes(self._state.experts))

    @property
    def outstanding(self) -> list[int]:
        """Numbers of the rounds whose losses are still to come."""
        return [int(number) for number in self._state.late]

    def settings(self) -> Mapping[str, Any]:
        """What the learner was made with."""
        return {**super().settings(), "step_sizes": self.step_sizes, "meta": self._hedge}

    def wait(self) -> int:
        """Leave a round without its loss.

        The answer is the number to call it by when the loss arrives.
        """
        state_ = self._state
        self._replace_state(self._waiting(state_), self._seen)
        return int(state_.rounds)

    def arrive(self, number: int, loss: Loss) -> None:
        """Learn from the loss of an earlier round: the whole of it happens or, on an error,
        nothing does.
        """
        state_ = self._state
        place = np.flatnonzero(state_.late == number)
        if not place.size:
            raise ValueError(
                "number must be that of a round whose loss is still to come, got "
                f"{arguments.short_repr(number)}."
            )
        observed = ObservedLoss(loss)
        new = self._arrived(state_, int(place[0]), observed)
        extremes = observed.extremes(state_.decisions[place[0]])
        self._replace_state(new, self._seen.merged(extremes))

    def _start(self) -> LateState:
        experts = self._experts.start()
        N, d = experts.points.shape
        return LateState(
            0,
            experts,
            self._hedge.start(self._prior),
            np.zeros(0),
            np.zeros((0, d)),
            np.zeros((0, N, d)),
        )

    def _advance(self, state_: LateState, loss: ObservedLoss) -> LateState:
        return self._arrived(self._waiting(state_), len(state_.late), loss)

    def _decide(self, state_: LateState) -> Vector:
        return np.asarray(state_.hedge.weights @ state_.experts.points)

    def _waiting(self, state_: LateState) -> LateState:
        return state_._replace(
            rounds=state_.rounds + 1,
            late=np.append(state_.late, state_.rounds),
            decisions=np.vstack([state_.decisions, self._decide(state_)]),
            points=np.concatenate([state_.points, state_.experts.points[None]]),
        )

    def _arrived(self, state_: LateState, place: int, loss: ObservedLoss) -> LateState:
        observed = loss.gradient(state_.decisions[place])  # g_s
        moved, _ = self._experts.step(
            state_.experts, lambda points: np.broadcast_to(observed, points.shape)
        )
        losses = state_.points[place] @ observed
        hedge = self._hedge.weigh(
            self._hedge.learn(state_.hedge, losses, 0.0), np.zeros_like(losses)
        )
        rest = np.arange(len(state_.late)) != place
        late, decisions, points = state_.late[rest], state_.decisions[rest], state_.points[rest]
        return LateState(state_.rounds, moved, hedge, late, decisions, points)

    def _feasible(self, state_: LateState) -> Array:
        d = self.domain.dim
        return np.vstack(
            [
                state_.experts.points,
                state_.experts.base,
                state_.decisions,
                state_.points.reshape(-1, d),
            ]
        )

    def _require_sane(self, new: LateState) -> None:
        super()._require_sane(new)
        if abs(new.hedge.weights.sum() - 1.0) > SLACK or not np.allclose(
            new.hedge.log_prior, np.log(self._prior), rtol=SLACK
        ):
            raise ValueError(
                "state['hedge.weights'] must have a sum of 1. The state is damaged: load an "
                "earlier one."
            )
        late = new.late
        if not (
            (np.diff(late, prepend=-1) > 0).all()
            and (late == np.floor(late)).all()
            and (late < new.rounds).all()
        ):
            raise ValueError(
                "state['late'] must hold ascending numbers of rounds. The state is damaged: load "
                "an earlier one."
            )
