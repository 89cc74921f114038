"""SAOL, CBCE and SACS: gradient descent started on each interval of a geometric cover."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, NamedTuple, Protocol, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.state import DAMAGED, OBSERVED_ROUNDS_RANGE, array, damaged
from swordplay.core.types import Array, Domain, Matrix, Vector
from swordplay.parts.experts import AdaGradNorm
from swordplay.parts.experts.expert import scaled_gradients, squared_norms
from swordplay.parts.experts.step_sizes import check_error_sums
from swordplay.parts.learners.assumptions import DeclaredConstants, ObservedLoss
from swordplay.parts.learners.learner import UncertifiedLearner, read_only
from swordplay.parts.metas.meta import normalized_weights
from swordplay.parts.metas.other_metas import log_potential_slope
from swordplay.parts.rates import TIE_TOLERANCE


class IntervalPosition(NamedTuple):
    """Start, age and length of the K intervals that contain a round, shapes ``(K,)``."""

    start: Vector
    """Round in which each interval begins."""
    age: Vector
    """Number of the round within each interval, counted from 1."""
    length: Vector
    """Number of rounds of each interval."""


class SleepingMeta(Protocol):
    r"""Computes weights of experts whose intervals contain the round; the others sleep.

    In each round the cover has at most one interval of each length :math:`2^k`, with one expert.
    The meta stores two numbers for each expert, a row of ``memory``, whose meaning depends on the
    meta. Regrets :math:`r_k = f_t(x_t) - f_t(x_{t,k})` are divided by the largest possible regret.
    """

    def scores(self, memory: Matrix, position: IntervalPosition) -> Vector:
        """Return logarithms of the weights up to a constant, shape ``(K,)``; -inf for weight 0."""
        ...

    def prior(self, position: IntervalPosition) -> Vector:
        """Return the scores that are used if all scores are -inf, shape ``(K,)``."""
        ...

    def learn(self, memory: Matrix, position: IntervalPosition, regrets: Vector) -> Matrix:
        """Return the rows after a round, shape ``(K, 2)``; those of a new expert are 0."""
        ...

    def is_possible(self, memory: Matrix, position: IntervalPosition) -> Any:
        """Whether regrets in [-1, 1] can lead to each row of a saved memory, shape ``(K,)``."""
        ...


@final
class MultiplicativeWeights:
    r"""Multiplicative weights with one learning rate for each interval length, as in SAOL.

    .. math:: p_k \propto \eta_k w_k, \qquad w_k \leftarrow w_k (1 + \eta_k r_k), \qquad \eta_k =
        \min\{1/2, 2^{-k/2}\}

    A row of the memory holds :math:`\ln w_k` and 0.

    References
    ----------
    Daniely, Gonen, Shalev-Shwartz (2015), "Strongly adaptive online learning".
    """

    def scores(self, memory: Matrix, position: IntervalPosition) -> Vector:
        """Return ln(eta_k w_k)."""
        log_weights = memory[:, 0]
        return np.asarray(np.log(self._rates(position)) + log_weights)

    def prior(self, position: IntervalPosition) -> Vector:
        """Return ln(eta_k); it is never used, because the scores are finite."""
        return np.asarray(np.log(self._rates(position)))

    def learn(self, memory: Matrix, position: IntervalPosition, regrets: Vector) -> Matrix:
        """Multiply each weight by 1 + eta_k r_k."""
        log_factors = np.log1p(self._rates(position) * regrets)
        return np.asarray(memory + np.stack([log_factors, np.zeros(len(memory))], axis=1))

    def is_possible(self, memory: Matrix, position: IntervalPosition) -> Any:
        """Check ln w_k, which changes by at most ln 2 a round: factors lie in [1/2, 3/2]."""
        return (np.abs(memory[:, 0]) <= position.length) & (memory[:, 1] == 0.0)

    def _rates(self, position: IntervalPosition) -> Vector:
        return np.asarray(np.minimum(0.5, position.length**-0.5))


@final
class CoinBetting:
    r"""Bets on the regrets, as in CBCE.

    .. math:: p_k \propto \pi_k [w_k]_+, \qquad w_k = \frac{\sum z_{s,k}}{\text{age}} \Big(1 + \sum
        z_{s,k} w_{s,k}\Big), \qquad z_k = r_k \text{ if } w_k > 0, \text{ else } [r_k]_+

    with sums over the rounds s of the interval so far, and :math:`\pi_k = 1/(\tau^2 (1 + \lfloor
    \log_2 \tau \rfloor))` for an interval that begins in round :math:`\tau`. The bracket is the
    wealth. A row of the memory holds :math:`\sum z_{s,k}` and the logarithm of the wealth.

    References
    ----------
    Jun, Orabona, Wright, Willett (2017), "Improved strongly adaptive online learning using coin
    betting".
    """

    def scores(self, memory: Matrix, position: IntervalPosition) -> Vector:
        """Return ln(pi_k [w_k]_+)."""
        outcome_sum, log_wealth = memory.T
        with np.errstate(divide="ignore"):
            return np.asarray(
                self.prior(position)
                + np.log(np.maximum(outcome_sum / position.age, 0.0))
                + log_wealth
            )

    def prior(self, position: IntervalPosition) -> Vector:
        """Return ln(pi_k) = -ln(tau^2 (1 + floor(log2(tau)))), tau being the start."""
        return np.asarray(-2 * np.log(position.start) - np.log1p(np.floor(np.log2(position.start))))

    def learn(self, memory: Matrix, position: IntervalPosition, regrets: Vector) -> Matrix:
        """Add the outcomes z, and multiply the wealth by 1 + z times the fraction that was bet."""
        outcome_sum, log_wealth = memory.T
        fraction = outcome_sum / position.age
        z = np.where(fraction > 0, regrets, np.maximum(regrets, 0.0))
        return np.stack([outcome_sum + z, log_wealth + np.log1p(z * fraction)], axis=1)

    def is_possible(self, memory: Matrix, position: IntervalPosition) -> Any:
        """Check that abs(sum of z) is below the age, and ln(wealth) at most age ln(2 age)."""
        return (np.abs(memory[:, 0]) <= position.age - 1.0) & (
            np.abs(memory[:, 1]) <= np.log(2.0 * position.age) * position.age
        )


@final
class SleepingNormalHedge:
    """AdaNormalHedge with equal priors, as in SACS.

    A row of the memory holds the sums of the regrets and of their magnitudes.

    References
    ----------
    Zhang, Liu, Zhou (2019), "Adaptive regret of convex and smooth functions"; Luo and Schapire
    (2015).
    """

    def scores(self, memory: Matrix, position: IntervalPosition) -> Vector:
        """Return the logarithm of the slope of the potential of AdaNormalHedge."""
        regret_sums, magnitude_sums = memory.T
        return log_potential_slope(regret_sums, magnitude_sums)

    def prior(self, position: IntervalPosition) -> Vector:
        """Return equal scores."""
        return np.zeros(len(position.age))

    def learn(self, memory: Matrix, position: IntervalPosition, regrets: Vector) -> Matrix:
        """Add the regrets and their magnitudes."""
        return np.asarray(memory + np.stack([regrets, np.abs(regrets)], axis=1))

    def is_possible(self, memory: Matrix, position: IntervalPosition) -> Any:
        """Check that magnitudes grow by at most 1 a round and are not below abs(sum of regrets)."""
        return (np.abs(memory[:, 0]) <= memory[:, 1]) & (memory[:, 1] <= position.length)


class CoverState(NamedTuple):
    """State before a round; row k belongs to the interval of 2^k rounds that contains it."""

    rounds: Annotated[int, OBSERVED_ROUNDS_RANGE]
    points: Annotated[Matrix, array("intervals", "dim")]
    """x_{t,k}, shape ``(K, d)``; rows of experts that sleep are not read."""
    squared_gradient_sum: Annotated[Vector, array("intervals", low=0.0)]
    """Sum of the squared gradients in each interval, shape ``(K,)``."""
    memory: Annotated[Matrix, array("intervals", 2)]
    """The two numbers that the meta stores for each expert, shape ``(K, 2)``."""


class _CoverLearner(UncertifiedLearner):
    """Experts on the intervals of a geometric cover, under a meta for sleeping experts.

    The interval of length 2^k that contains round t, counted from 1, begins at the last multiple of
    2^k up to t. The compact cover contains only the intervals that begin at an odd multiple of
    their length, so that one expert begins in every round.
    """

    _growing_axes = ("intervals",)

    is_compact: ClassVar[bool] = False
    """Whether the cover is the compact one."""

    def __init__(self, domain: Domain, *, gradient_bound: float, meta: SleepingMeta) -> None:
        D = arguments.domain(domain).diameter
        self.range = arguments.positive("gradient_bound", gradient_bound) * D
        """D G, the largest difference of two values of one loss."""
        self._steps = AdaGradNorm(D)
        self._meta = meta
        super().__init__(domain)
        self.declared = DeclaredConstants(gradient_bound=float(gradient_bound))

    def _advance(self, state: CoverState, loss: ObservedLoss) -> CoverState:
        awake_rows = self._awake_rows(state)
        points = state.points[awake_rows]
        values = loss.value(np.vstack([self._decide(state), points]), arguments.LARGEST_GRADIENT)
        # f_t(x_t) - f_t(x_{t,k}). Differences within rounding error are set to 0: where a point
        # equals the decision, the meta would bet on the sign of the error.
        differences = values[0] - values[1:]
        exceeds_rounding = np.abs(differences) > TIE_TOLERANCE * (
            abs(values[0]) + np.abs(values[1:])
        )
        regrets = np.clip(np.where(exceeds_rounding, differences, 0.0) / self.range, -1.0, 1.0)
        gradients = loss.gradient(points)
        squared_sums = state.squared_gradient_sum.copy()
        squared_sums[awake_rows] += squared_norms(gradients)
        steps = scaled_gradients(self._step_sizes_for(squared_sums[awake_rows]), gradients)
        next_points, memory = state.points.copy(), state.memory.copy()
        next_points[awake_rows] = self.domain.project(points - steps)
        memory[awake_rows] = self._meta.learn(
            memory[awake_rows], _position(state.rounds + 1, awake_rows), regrets
        )
        return self._with_new_intervals(
            CoverState(state.rounds + 1, next_points, squared_sums, memory)
        )

    @property
    def points(self) -> Matrix:
        """x_{t,k} of the experts of the coming round, shape ``(N, d)``."""
        return read_only(self._state.points[self._awake_rows(self._state)])

    @property
    def weights(self) -> Vector:
        """p_t of the experts of the coming round, shape ``(N,)``."""
        return read_only(self._weigh(self._state))

    @property
    def step_sizes(self) -> Vector:
        """Step sizes of the coming round, inf before the first gradient, shape ``(N,)``."""
        return read_only(
            self._step_sizes_for(self._state.squared_gradient_sum[self._awake_rows(self._state)])
        )

    def settings(self) -> Mapping[str, Any]:
        """Return the settings that are saved with a state and compared when it is loaded."""
        return {**super().settings(), "range": self.range, "meta": self._meta}

    def _step_sizes_for(self, sums: Vector) -> Vector:
        """Return D / (2 sqrt(sum)) for each expert."""
        # AdaGradNorm gives expert i a factor of 2^i, which is divided out.
        return np.asarray(self._steps.sizes(sums) / 2.0 ** np.arange(len(sums)))

    def _with_new_intervals(self, state: CoverState) -> CoverState:
        """Return the state with new experts for the intervals that begin with the coming round.

        These include intervals that the compact cover leaves out; their experts sleep.
        """
        t = state.rounds + 1
        rows = t.bit_length()
        starting_rows = [k for k in range(rows) if t % 2**k == 0]
        added_rows = rows - len(state.squared_gradient_sum)
        points = np.vstack([state.points, np.tile(self.domain.center, (added_rows, 1))])
        sums = np.append(state.squared_gradient_sum, np.zeros(added_rows))
        memory = np.vstack([state.memory, np.zeros((added_rows, 2))])
        points[starting_rows] = self.domain.center
        sums[starting_rows] = 0.0
        memory[starting_rows] = 0.0
        return CoverState(state.rounds, points, sums, memory)

    def _start(self) -> CoverState:
        return self._with_new_intervals(
            CoverState(0, np.zeros((0, self.domain.dim)), np.zeros(0), np.zeros((0, 2)))
        )

    def _awake_rows(self, state: CoverState) -> Any:
        """Return the rows of the experts of the coming round, shape ``(N,)``."""
        t, rows = state.rounds + 1, range(len(state.squared_gradient_sum))
        return np.array([k for k in rows if not self.is_compact or (t >> k) % 2])

    def _weigh(self, state: CoverState) -> Vector:
        awake_rows = self._awake_rows(state)
        position = _position(state.rounds + 1, awake_rows)
        scores = self._meta.scores(state.memory[awake_rows], position)
        return normalized_weights(scores, self._meta.prior(position))

    def _decide(self, state: CoverState) -> Vector:
        return np.asarray(self._weigh(state) @ state.points[self._awake_rows(state)])

    def _points_to_check(self, state: CoverState) -> Array:
        return state.points

    def _check_state(self, new_state: CoverState) -> None:
        super()._check_state(new_state)
        rows = len(new_state.squared_gradient_sum)
        if rows != (new_state.rounds + 1).bit_length():
            raise damaged(f"state has {rows} experts after {new_state.rounds} rounds")
        check_error_sums("squared_gradient_sum", new_state.squared_gradient_sum)
        position = _position(new_state.rounds + 1, np.arange(len(new_state.squared_gradient_sum)))
        is_possible = self._meta.is_possible(new_state.memory, position)
        if not is_possible.all():
            row = int(is_possible.argmin())
            raise ValueError(
                f"state['memory'] holds {new_state.memory[row]} in row {row}, which no losses lead "
                f"to. {DAMAGED}"
            )


def _position(t: int, rows: Any) -> IntervalPosition:
    """Return start, age and length of the intervals of these rows in round t, counted from 1."""
    start = (t >> rows) << rows
    return IntervalPosition(start.astype(np.float64), (t - start + 1).astype(np.float64), 2.0**rows)


@final
class SAOL(_CoverLearner):
    r"""Strongly adaptive online learning: small regret to a fixed decision on every interval.

    The regret against any fixed decision on *every* interval I is of order
    :math:`D G \sqrt{|I|} \ln t`:
    ``bounds.saol``. In round t it needs about :math:`\log_2 t` values and gradients.

    Parameters
    ----------
    domain
        X, the set of decisions.
    gradient_bound
        G, the largest norm of a gradient on the domain.

    References
    ----------
    Daniely, Gonen, Shalev-Shwartz (2015), "Strongly adaptive online learning".
    """

    guarantee = "sp.bounds.saol, on every interval"

    def __init__(self, domain: Domain, *, gradient_bound: float) -> None:
        super().__init__(domain, gradient_bound=gradient_bound, meta=MultiplicativeWeights())


@final
class CBCE(_CoverLearner):
    r"""Coin betting for changing environments: SAOL with the logarithm under the root.

    The regret against any fixed decision on *every* interval I is of order
    :math:`D G \sqrt{|I| \ln t}`:
    ``bounds.cbce``. In round t it needs about :math:`\log_2 t` values and gradients.

    Parameters
    ----------
    domain
        X, the set of decisions.
    gradient_bound
        G, the largest norm of a gradient on the domain.

    References
    ----------
    Jun, Orabona, Wright, Willett (2017), "Improved strongly adaptive online learning using coin
    betting".
    """

    guarantee = "sp.bounds.cbce, on every interval"

    def __init__(self, domain: Domain, *, gradient_bound: float) -> None:
        super().__init__(domain, gradient_bound=gradient_bound, meta=CoinBetting())


@final
class SACS(_CoverLearner):
    r"""A strongly adaptive learner whose regret is small where smooth losses are small.

    The regret against any fixed decision on *every* interval I is at most of order
    :math:`D G \sqrt{|I| \ln t}` (``bounds.sacs``), and smaller where the losses are small. Its
    cover is the compact one, which needs half of the values and gradients.

    Parameters
    ----------
    domain
        X, the set of decisions.
    gradient_bound
        G, the largest norm of a gradient on the domain.

    References
    ----------
    Zhang, Liu, Zhou (2019), "Adaptive regret of convex and smooth functions".
    """

    is_compact = True
    guarantee = "sp.bounds.sacs, on every interval"

    def __init__(self, domain: Domain, *, gradient_bound: float) -> None:
        super().__init__(domain, gradient_bound=gradient_bound, meta=SleepingNormalHedge())
