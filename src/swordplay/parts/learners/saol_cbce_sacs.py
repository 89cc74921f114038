"""SAOL, CBCE and SACS: gradient descent begun on each interval of a geometric cover."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, NamedTuple, Protocol, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.state import DAMAGED, OBSERVED, array, damaged
from swordplay.core.types import Array, Domain, Matrix, Vector
from swordplay.parts.experts import AdaGradNorm
from swordplay.parts.experts.expert import squared_norms, step_vectors
from swordplay.parts.experts.step_sizes import check_error_sums
from swordplay.parts.learners.assumptions import ObservedLoss, Told
from swordplay.parts.learners.learner import UncertifiedLearner, frozen
from swordplay.parts.metas.meta import normalized_weights
from swordplay.parts.metas.other_metas import log_potential_slope
from swordplay.parts.rates import TIE


class Life(NamedTuple):
    """Where the experts of a round stand in their lives, shapes ``(K,)``."""

    started: Vector
    """The round in which each began."""
    age: Vector
    """Which round of its life this is, from 1."""
    length: Vector
    """How many rounds it will live."""


class Sleeping(Protocol):
    """Weighs those experts that are awake."""

    def scores(self, memory: Matrix, life: Life) -> Vector:
        """Logarithms of weights, not normalised, shape ``(K,)``; minus infinity for nothing."""
        ...

    def prior(self, life: Life) -> Vector:
        """What they are where nobody has earned anything, shape ``(K,)``."""
        ...

    def learn(self, memory: Matrix, life: Life, regrets: Vector) -> Matrix:
        """The rows after a round, shape ``(K, 2)``; a new expert's row is 0."""
        ...

    def sane(self, memory: Matrix, life: Life) -> Any:
        """Which rows regrets from -1 to 1 can have led to, before a round; shape ``(K,)``.

        A saved state is asked.
        """
        ...


@final
class Multiplicative:
    r"""Products with one rate for each length, as in SAOL.

    .. math:: p_k \propto \eta_k w_k, \qquad w_k \leftarrow w_k (1 + \eta_k r_k), \qquad \eta_k =
        \min\{1/2, 2^{-k/2}\}

    The first column holds :math:`\ln w_k`.

    References
    ----------
    Daniely, Gonen, Shalev-Shwartz (2015), "Strongly adaptive online learning".
    """

    def scores(self, memory: Matrix, life: Life) -> Vector:
        """ln(eta w)."""
        return np.asarray(np.log(self._rates(life)) + memory[:, 0])

    def prior(self, life: Life) -> Vector:
        """Never asked for: products stay positive."""
        return np.asarray(np.log(self._rates(life)))

    def learn(self, memory: Matrix, life: Life, regrets: Vector) -> Matrix:
        """Multiply."""
        return np.asarray(
            memory
            + np.stack([np.log1p(self._rates(life) * regrets), np.zeros(len(memory))], axis=1)
        )

    def sane(self, memory: Matrix, life: Life) -> Any:
        """A round changes a logarithm by ln 2 at the most."""
        return (np.abs(memory[:, 0]) <= life.length) & (memory[:, 1] == 0.0)

    def _rates(self, life: Life) -> Vector:
        return np.asarray(np.minimum(0.5, life.length**-0.5))


@final
class CoinBetting:
    r"""Bets on the regrets, as in CBCE.

    .. math:: p_k \propto \pi_k [w_k]_+, \qquad w_k = \frac{\sum z_{s,k}}{\text{age}} \Big(1 + \sum
        z_{s,k} w_{s,k}\Big), \qquad z_k = r_k \text{ if } w_k > 0, \text{ else } [r_k]_+

    over the rounds of the expert's life so far, with :math:`\pi_k = 1/(\tau^2 (1 + \lfloor \log_2
    \tau \rfloor))` for an expert that began in round :math:`\tau`. The columns hold :math:`\sum z`
    and the logarithm of the wealth in brackets.

    References
    ----------
    Jun, Orabona, Wright, Willett (2017), "Improved strongly adaptive online learning using coin
    betting".
    """

    def scores(self, memory: Matrix, life: Life) -> Vector:
        """ln(prior [w]+)."""
        with np.errstate(divide="ignore"):
            return np.asarray(
                self.prior(life) + np.log(np.maximum(memory[:, 0] / life.age, 0.0)) + memory[:, 1]
            )

    def prior(self, life: Life) -> Vector:
        """-ln(tau^2 (1 + floor(log2 tau)))."""
        return np.asarray(-2 * np.log(life.started) - np.log1p(np.floor(np.log2(life.started))))

    def learn(self, memory: Matrix, life: Life, regrets: Vector) -> Matrix:
        """Win or lose what was bet."""
        fraction = memory[:, 0] / life.age
        coins = np.where(fraction > 0, regrets, np.maximum(regrets, 0.0))
        return np.stack([memory[:, 0] + coins, memory[:, 1] + np.log1p(coins * fraction)], axis=1)

    def sane(self, memory: Matrix, life: Life) -> Any:
        """A coin a round, so that never everything is bet.

        A round loses all but one part in its age.
        """
        return (np.abs(memory[:, 0]) <= life.age - 1.0) & (
            np.abs(memory[:, 1]) <= np.log(2.0 * life.age) * life.age
        )


@final
class Normal:
    """AdaNormalHedge of experts that begin with nothing, as in SACS.

    The columns hold the regrets R and their magnitudes C.

    References
    ----------
    Zhang, Liu, Zhou (2019), "Adaptive regret of convex and smooth functions"; Luo and Schapire
    (2015).
    """

    def scores(self, memory: Matrix, life: Life) -> Vector:
        """The slope of the potential."""
        return log_potential_slope(memory[:, 0], memory[:, 1])

    def prior(self, life: Life) -> Vector:
        """One is as good as the other."""
        return np.zeros(len(life.age))

    def learn(self, memory: Matrix, life: Life, regrets: Vector) -> Matrix:
        """Add the regrets and their magnitudes."""
        return np.asarray(memory + np.stack([regrets, np.abs(regrets)], axis=1))

    def sane(self, memory: Matrix, life: Life) -> Any:
        """One a round, and no regret beyond its magnitude."""
        return (np.abs(memory[:, 0]) <= memory[:, 1]) & (memory[:, 1] <= life.length)


class CoverState(NamedTuple):
    """The experts of the coming round, by the length of their intervals: row k lives for 2^k
    rounds.
    """

    rounds: Annotated[int, OBSERVED]
    points: Annotated[Matrix, array("intervals", "dim")]
    """Where they stand, shape ``(K, d)``; rows that sleep are left as they were."""
    energy: Annotated[Vector, array("intervals", low=0.0)]
    """Sum of their squared gradients, shape ``(K,)``."""
    memory: Annotated[Matrix, array("intervals", 2)]
    """What the meta remembers of each, shape ``(K, 2)``."""


class _Cover(UncertifiedLearner):
    """Experts on the intervals of a geometric cover, under a meta for experts that sleep.

    In round t (from 1) the interval of length 2^k that holds t begins at the last multiple of 2^k.
    The compact cover has only every second one, those that begin at an odd multiple: then one
    expert begins in every round.
    """

    _growing_axes = ("intervals",)

    compact: ClassVar[bool] = False

    def __init__(self, domain: Domain, *, gradient_bound: float, meta: Sleeping) -> None:
        D = arguments.domain(domain).diameter
        self.range = arguments.positive("gradient_bound", gradient_bound) * D
        """D G: how far apart the values of one loss may lie."""
        self._steps = AdaGradNorm(D)
        self._meta = meta
        super().__init__(domain)
        self.told = Told(gradient_bound=float(gradient_bound))

    def settings(self) -> Mapping[str, Any]:
        """What the learner was made with."""
        return {**super().settings(), "range": self.range, "meta": self._meta}

    @property
    def points(self) -> Matrix:
        """x_{t,k} of those that are awake in the coming round, shape ``(N, d)``."""
        return frozen(self._state.points[self._awake(self._state)])

    @property
    def weights(self) -> Vector:
        """p_t of those that are awake in the coming round, shape ``(N,)``."""
        return frozen(self._weigh(self._state))

    @property
    def step_sizes(self) -> Vector:
        """Step sizes of those that are awake in the coming round, shape ``(N,)``.

        Inf where no gradient was met yet.
        """
        return frozen(self._sizes(self._state.energy[self._awake(self._state)]))

    def _advance(self, state_: CoverState, loss: ObservedLoss) -> CoverState:
        awake = self._awake(state_)
        at = state_.points[awake]
        lost = loss.value(np.vstack([self._decide(state_), at]), arguments.LARGEST_GRADIENT)
        # Experts that stand where the decision is owe nothing: rounding must not decide whom the
        # meta bets on.
        saved = np.where(
            np.abs(lost[0] - lost[1:]) > TIE * (abs(lost[0]) + np.abs(lost[1:])),
            lost[0] - lost[1:],
            0.0,
        )
        regrets = np.clip(saved / self.range, -1.0, 1.0)
        gradients = loss.gradient(at)
        energy = state_.energy.copy()
        energy[awake] += squared_norms(gradients)
        eta = self._sizes(energy[awake])
        points, memory = state_.points.copy(), state_.memory.copy()
        points[awake] = self.domain.project(at - step_vectors(eta, gradients))
        memory[awake] = self._meta.learn(memory[awake], _life(state_.rounds + 1, awake), regrets)
        return self._begun(CoverState(state_.rounds + 1, points, energy, memory))

    def _sizes(self, energy: Vector) -> Vector:
        """D / (2 sqrt(energy)) each: the first step of the pool, for experts that have nothing
        in common.
        """
        return np.asarray(
            self._steps.sizes(energy) / 2.0 ** np.arange(len(energy))
        )  # powers of two: nothing is rounded

    def _begun(self, state_: CoverState) -> CoverState:
        """Those intervals begun that begin with the coming round.

        Of the compact cover also those that nobody will wake.
        """
        t = state_.rounds + 1
        rows = t.bit_length()
        begins = [k for k in range(rows) if t % 2**k == 0]
        grown = rows - len(state_.energy)
        points = np.vstack([state_.points, np.tile(self.domain.center, (grown, 1))])
        energy = np.append(state_.energy, np.zeros(grown))
        memory = np.vstack([state_.memory, np.zeros((grown, 2))])
        points[begins], energy[begins], memory[begins] = self.domain.center, 0.0, 0.0
        return CoverState(state_.rounds, points, energy, memory)

    def _start(self) -> CoverState:
        return self._begun(
            CoverState(0, np.zeros((0, self.domain.dim)), np.zeros(0), np.zeros((0, 2)))
        )

    def _awake(self, state_: CoverState) -> Any:
        """Rows of the experts that are awake in the coming round."""
        t = state_.rounds + 1
        return np.array([k for k in range(len(state_.energy)) if not self.compact or (t >> k) % 2])

    def _weigh(self, state_: CoverState) -> Vector:
        awake = self._awake(state_)
        life = _life(state_.rounds + 1, awake)
        return normalized_weights(
            self._meta.scores(state_.memory[awake], life), self._meta.prior(life)
        )

    def _decide(self, state_: CoverState) -> Vector:
        return np.asarray(self._weigh(state_) @ state_.points[self._awake(state_)])

    def _feasible(self, state_: CoverState) -> Array:
        return state_.points

    def _require_sane(self, new: CoverState) -> None:
        super()._require_sane(new)
        if len(new.energy) != (new.rounds + 1).bit_length():
            raise damaged(f"state has {len(new.energy)} experts after {new.rounds} rounds")
        check_error_sums("energy", new.energy)
        right = self._meta.sane(new.memory, _life(new.rounds + 1, np.arange(len(new.energy))))
        if not right.all():
            row = int(right.argmin())
            raise ValueError(
                f"state['memory'] holds {new.memory[row]} in row {row}, and no losses lead to "
                f"that. {DAMAGED}"
            )


def _life(t: int, awake: Any) -> Life:
    """Of the experts of these rows, in round t."""
    started = (t >> awake) << awake
    return Life(started.astype(np.float64), (t - started + 1).astype(np.float64), 2.0**awake)


@final
class SAOL(_Cover):
    r"""Strongly adaptive online learning: on every interval about as good as a gradient descent
    begun there.

    Regret to any fixed decision on *every* interval I of order :math:`D G \sqrt{|I|} \ln t`:
    ``bounds.saol``. About :math:`\log_2 t` experts are awake; each is asked for a value and a
    gradient a round.

    Parameters
    ----------
    domain
        Where decisions live.
    gradient_bound
        G, no gradient on the domain is longer.

    References
    ----------
    Daniely, Gonen, Shalev-Shwartz (2015), "Strongly adaptive online learning".
    """

    guarantee = "sp.bounds.saol, on every interval"

    def __init__(self, domain: Domain, *, gradient_bound: float) -> None:
        super().__init__(domain, gradient_bound=gradient_bound, meta=Multiplicative())


@final
class CBCE(_Cover):
    r"""Coin betting for changing environments: SAOL with the logarithm under the root.

    Regret to any fixed decision on *every* interval I of order :math:`D G \sqrt{|I| \ln t}`:
    ``bounds.cbce``. About :math:`\log_2 t` experts are awake; each is asked for a value and a
    gradient a round.

    Parameters
    ----------
    domain
        Where decisions live.
    gradient_bound
        G, no gradient on the domain is longer.

    References
    ----------
    Jun, Orabona, Wright, Willett (2017), "Improved strongly adaptive online learning using coin
    betting".
    """

    guarantee = "sp.bounds.cbce, on every interval"

    def __init__(self, domain: Domain, *, gradient_bound: float) -> None:
        super().__init__(domain, gradient_bound=gradient_bound, meta=CoinBetting())


@final
class SACS(_Cover):
    r"""A strongly adaptive learner for convex and smooth losses, whose regret is small where losses
    are.

    Regret to any fixed decision on *every* interval I of order :math:`D G \sqrt{|I| \ln t}`:
    ``bounds.sacs``. Every second interval is left out, so half as many experts are awake.

    Parameters
    ----------
    domain
        Where decisions live.
    gradient_bound
        G, no gradient on the domain is longer.

    References
    ----------
    Zhang, Liu, Zhou (2019), "Adaptive regret of convex and smooth functions".
    """

    compact = True
    guarantee = "sp.bounds.sacs, on every interval"

    def __init__(self, domain: Domain, *, gradient_bound: float) -> None:
        super().__init__(domain, gradient_bound=gradient_bound, meta=Normal())
