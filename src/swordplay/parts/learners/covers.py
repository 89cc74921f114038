"""Strongly adaptive learners: a gradient descent begins on every interval of a cover, and a meta
trusts those that do well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.state import COUNT, DAMAGED, check_number
from swordplay.core.types import Array, Domain, Gradient, Loss, Matrix, Vector
from swordplay.parts.experts import AdaGradNorm
from swordplay.parts.experts.expert import squared_norms, strides
from swordplay.parts.learners.assumptions import Told, WatchedLoss
from swordplay.parts.learners.baseline import Baseline
from swordplay.parts.learners.learner import frozen
from swordplay.parts.learners.sanity import require_energy
from swordplay.parts.metas.meta import normalised
from swordplay.parts.metas.sleeping import CoinBetting, Life, Multiplicative, Normal, Sleeping
from swordplay.parts.rates import TIE


class CoverState(NamedTuple):
    """The experts of the coming round, by the length of their intervals: row k lives for 2^k
    rounds.
    """

    rounds: int
    points: Matrix
    """Where they stand, shape ``(K, d)``; rows that sleep are left as they were."""
    energy: Vector
    """Sum of their squared gradients, shape ``(K,)``."""
    memory: Matrix
    """What the meta remembers of each, shape ``(K, 2)``."""


class _Cover(Baseline):
    """Experts on the intervals of a geometric cover, under a meta for experts that sleep.

    In round t (from 1) the interval of length 2^k that holds t begins at the last multiple of 2^k.
    The compact cover has only every second one, those that begin at an odd multiple: then one
    expert begins in every round.
    """

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

    def observe(self, loss: Loss) -> None:
        """Learn from a loss: the whole round happens or, on an error, nothing does."""
        watched, values, decision = WatchedLoss(loss), arguments.values_of(loss), self.decision
        new = self._learn(self._state, watched, values)
        seen = watched.added_to(self._seen, decision)
        self._take(new)
        self._seen = seen

    def _learn(self, state_: CoverState, gradient: Gradient, values: Gradient) -> CoverState:
        awake = self._awake(state_)
        at = state_.points[awake]
        lost = values(np.vstack([self._decide(state_), at]))
        # Experts that stand where the decision is owe nothing: rounding must not decide whom the
        # meta bets on.
        saved = np.where(
            np.abs(lost[0] - lost[1:]) > TIE * (abs(lost[0]) + np.abs(lost[1:])),
            lost[0] - lost[1:],
            0.0,
        )
        regrets = np.clip(saved / self.range, -1.0, 1.0)
        gradients = gradient(at)
        energy = state_.energy.copy()
        energy[awake] += squared_norms(gradients)
        eta = self._sizes(energy[awake])
        points, memory = state_.points.copy(), state_.memory.copy()
        points[awake] = self.domain.project(at - strides(eta, gradients))
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

    def _template(self, saved: Mapping[str, Any]) -> CoverState:
        """As many rows as the rounds of a saved state ask for."""
        check_number("rounds", saved.get("rounds", 0), COUNT)
        rows = (int(saved.get("rounds", 0)) + 1).bit_length()
        return CoverState(0, np.zeros((rows, self.domain.dim)), np.zeros(rows), np.zeros((rows, 2)))

    def _awake(self, state_: CoverState) -> Any:
        """Rows of the experts that are awake in the coming round."""
        t = state_.rounds + 1
        return np.array([k for k in range(len(state_.energy)) if not self.compact or (t >> k) % 2])

    def _weigh(self, state_: CoverState) -> Vector:
        awake = self._awake(state_)
        life = _life(state_.rounds + 1, awake)
        return normalised(self._meta.scores(state_.memory[awake], life), self._meta.prior(life))

    def _decide(self, state_: CoverState) -> Vector:
        return np.asarray(self._weigh(state_) @ state_.points[self._awake(state_)])

    def _step(self, state_: CoverState, gradient: Gradient) -> CoverState:
        raise NotImplementedError("a cover learns from values as well: see _learn")

    def _feasible(self, state_: CoverState) -> Array:
        return state_.points

    def _require_sane(self, new: CoverState) -> None:
        super()._require_sane(new)
        require_energy("energy", new.energy)
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
