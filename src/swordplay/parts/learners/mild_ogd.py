"""MildOGD: Ader for losses that arrive after a delay, in any order."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.arguments import explain_overflow
from swordplay.core.state import OBSERVED_ROUNDS_RANGE, array
from swordplay.core.types import Array, Domain, GameConstants, Loss, Matrix, Vector
from swordplay.parts import pools, rates
from swordplay.parts.experts import Constant, ExpertState, OGDExperts
from swordplay.parts.learners.assumptions import DeclaredConstants, ObservedLoss
from swordplay.parts.learners.learner import SAVED_TOLERANCE, UncertifiedLearner, read_only
from swordplay.parts.metas import HedgeState, OptimisticHedge, telescoping


class MildOGDState(NamedTuple):
    """State of Ader, and the decisions of the K rounds whose losses have not arrived."""

    rounds: Annotated[int, OBSERVED_ROUNDS_RANGE]
    """Number of decisions that were played."""
    experts: ExpertState
    meta: HedgeState
    """The state of the meta."""
    outstanding: Annotated[
        Vector, array("outstanding", low=0.0, high=OBSERVED_ROUNDS_RANGE.high, whole=True)
    ]
    """Numbers of the rounds whose losses have not arrived, ascending, shape ``(K,)``."""
    decisions: Annotated[Matrix, array("outstanding", "dim")]
    """x_s of these rounds, shape ``(K, d)``."""
    points: Annotated[Array, array("outstanding", "experts", "dim")]
    """x_{s,i} of these rounds, shape ``(K, N, d)``."""


@final
class MildOGD(UncertifiedLearner):
    r"""Ader for losses that arrive late and in any order.

    When the loss of round s arrives, its gradient :math:`g_s` at :math:`x_s` moves every expert
    from its present point, and the meta learns :math:`\langle g_s, x_{s,i} \rangle`. Without
    delays this is Ader. The regret is of order :math:`\sqrt{(1 + \delta) T (1 + P_T)}` if losses
    arrive in the order of their rounds, :math:`\delta` rounds late on average.

    If the loss of a round is known at once, call ``observe(loss)``. Otherwise call ``number =
    wait()``, which plays the round and does not block, and ``arrive(number, loss)`` when the loss
    arrives.

    Parameters
    ----------
    domain
        X, the set of decisions.
    horizon
        T, the number of rounds that will be played.
    gradient_bound
        G, the largest norm of a gradient on the domain.
    delay
        :math:`\delta`, mean delay of a loss in rounds. Step sizes and learning rate are those of
        Ader for :math:`T (1 + 2 \delta)` rounds, because a delayed step costs :math:`\eta G^2
        (1/2 + \delta)` instead of :math:`\eta G^2/2`.

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

    _growing_axes = ("outstanding",)

    guarantee = "of order sqrt((1 + delay) T (1 + P_T))"

    @explain_overflow
    def __init__(
        self, domain: Domain, *, horizon: int, gradient_bound: float, delay: float = 0.0
    ) -> None:
        D, G = (
            arguments.domain(domain).diameter,
            arguments.positive_with_safe_square("gradient_bound", gradient_bound),
        )
        effective_horizon = math.ceil(
            arguments.integer("horizon", horizon) * (1 + 2 * arguments.nonnegative("delay", delay))
        )
        steps = Constant(pools.ader(diameter=D, gradient_bound=G, horizon=effective_horizon))
        self._experts = OGDExperts(domain, steps)
        self._hedge = OptimisticHedge(
            rates.Fixed(math.sqrt(2 / (effective_horizon * G**2 * D**2))), GameConstants(D, G)
        )
        self._prior = telescoping(steps.count())
        super().__init__(domain)
        self.declared = DeclaredConstants(int(horizon), G)

    @property
    def weights(self) -> Vector:
        """p_t of the coming round, shape ``(N,)``."""
        return read_only(self._state.meta.weights)

    @property
    def step_sizes(self) -> Vector:
        """Step size of each expert, shape ``(N,)``."""
        return read_only(self._experts.step_sizes(self._state.experts))

    @property
    def outstanding(self) -> list[int]:
        """Numbers of the rounds whose losses have not arrived."""
        return [int(number) for number in self._state.outstanding]

    @property
    def _learned_rounds(self) -> int:
        return self.rounds - len(self._state.outstanding)

    def settings(self) -> Mapping[str, Any]:
        """Return the settings that are saved with a state and compared when it is loaded."""
        return {**super().settings(), "step_sizes": self.step_sizes, "meta": self._hedge}

    def wait(self) -> int:
        """Play one round without its loss, which :meth:`arrive` brings later.

        Returns
        -------
        int
            The number of the round, from 0, for :meth:`arrive`.
        """
        state = self._state
        self._replace_state(self._with_outstanding(state), self._loss_extremes)
        return int(state.rounds)

    def arrive(self, number: int, loss: Loss) -> None:
        """Learn from the loss of an earlier round; on an error nothing changes.

        Parameters
        ----------
        number
            The number of the round, which :meth:`wait` returned.
        loss
            The loss of that round.
        """
        state = self._state
        indices = np.flatnonzero(state.outstanding == number)
        if not indices.size:
            raise ValueError(
                "number must be that of a round whose loss is still to come, got "
                f"{arguments.short_repr(number)}."
            )
        observed = ObservedLoss(loss)
        index = int(indices[0])
        new_state = self._with_arrived(state, index, observed)
        self._replace_state(new_state, self._extremes_with(observed, state.decisions[index]))

    def _start(self) -> MildOGDState:
        experts = self._experts.start()
        N, d = experts.points.shape
        return MildOGDState(
            0,
            experts,
            self._hedge.start(self._prior),
            np.zeros(0),
            np.zeros((0, d)),
            np.zeros((0, N, d)),
        )

    def _advance(self, state: MildOGDState, loss: ObservedLoss) -> MildOGDState:
        return self._with_arrived(self._with_outstanding(state), len(state.outstanding), loss)

    def _decide(self, state: MildOGDState) -> Vector:
        return np.asarray(state.meta.weights @ state.experts.points)

    def _with_outstanding(self, state: MildOGDState) -> MildOGDState:
        """Return the state with one more round, whose loss is outstanding."""
        return state._replace(
            rounds=state.rounds + 1,
            outstanding=np.append(state.outstanding, state.rounds),
            decisions=np.vstack([state.decisions, self._decide(state)]),
            points=np.concatenate([state.points, state.experts.points[None]]),
        )

    def _with_arrived(self, state: MildOGDState, index: int, loss: ObservedLoss) -> MildOGDState:
        """Return the state after the loss of the round ``outstanding[index]`` has arrived."""
        gradient = loss.gradient(state.decisions[index])  # g_s
        experts, _ = self._experts.step(
            state.experts, lambda points: np.broadcast_to(gradient, points.shape)
        )
        losses = state.points[index] @ gradient  # <g_s, x_{s,i}>
        # The gradient error is 0: the rate, which is fixed, does not depend on it.
        hedge = self._hedge.weigh(self._hedge.learn(state.meta, losses, 0.0), np.zeros_like(losses))
        is_outstanding = np.arange(len(state.outstanding)) != index
        return MildOGDState(
            state.rounds,
            experts,
            hedge,
            state.outstanding[is_outstanding],
            state.decisions[is_outstanding],
            state.points[is_outstanding],
        )

    def _points_to_check(self, state: MildOGDState) -> Array:
        d = self.domain.dim
        return np.vstack(
            [
                state.experts.points,
                state.experts.base,
                state.decisions,
                state.points.reshape(-1, d),
            ]
        )

    def _check_state(self, new_state: MildOGDState) -> None:
        super()._check_state(new_state)
        if abs(new_state.meta.weights.sum() - 1.0) > SAVED_TOLERANCE or not np.allclose(
            new_state.meta.log_prior, np.log(self._prior), rtol=SAVED_TOLERANCE
        ):
            raise ValueError(
                "state['meta.weights'] must have a sum of 1, and state['meta.log_prior'] must be "
                "that of this learner. The state is damaged: load an earlier one."
            )
        numbers = new_state.outstanding
        if not (
            (np.diff(numbers, prepend=-1) > 0).all()
            and (numbers == np.floor(numbers)).all()
            and (numbers < new_state.rounds).all()
        ):
            raise ValueError(
                "state['outstanding'] must hold ascending numbers of rounds. The state is damaged: "
                "load an earlier one."
            )
