"""The interface of all metas, priors over experts, and regrets in a common unit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, cast, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Domain, GameConstants, Vector
from swordplay.parts.experts import Experts
from swordplay.parts.metas.optimism import Optimism
from swordplay.parts.rates import OptimismError, Rate, RateState

PRIOR_SUM = 1e-9
"""How far from 1 the sum of a prior may be: rounding of thousands of terms."""
SMALLEST_WEIGHT = float(np.finfo(np.float64).tiny)
"""Weights stay positive: an expert that underflowed would otherwise look like one that does not
exist.
"""
BISECTIONS = 60
"""Of the interval in which weights and optimism agree: what is left of it is less than rounding."""


class MetaState(Protocol):
    """The entries that every meta's state has, shapes ``(N,)``."""

    @property
    def log_prior(self) -> Vector:
        """Logarithms of the weights before the first round."""
        ...

    @property
    def optimism(self) -> Vector:
        """m_t: the losses that the weights of this round were made for."""
        ...

    @property
    def weights(self) -> Vector:
        """p_t: positive, with a sum of 1."""
        ...


class Meta(Protocol):
    """Weighs experts by their losses.

    Its state is a named tuple with the entries of :class:`MetaState`.
    """

    def start(self, prior: Vector) -> Any:
        """Weights equal to the prior, shape ``(N,)``."""
        ...

    def learn(self, state: Any, losses: Vector, gradient_error: float) -> Any:
        """Take in the losses l_t of a round, shape ``(N,)``; the weights still stand.

        ``gradient_error`` is norm(g_t - M_t)^2, for the metas that are tuned by it.
        """
        ...

    def weigh(self, state: Any, optimism: Vector) -> Any:
        """The weights of the coming round, for optimism m_{t+1} of its losses, shape ``(N,)``."""
        ...

    def copy_experts(self, state: Any, parents: Vector, prior: Vector) -> Any:
        """More experts, each with the past of its parent.

        A parent's weight is shared among its children.
        """
        ...


@final
class NoLearningRate:
    """Stands where a learner says its learning rate, for a meta that has none: the compiled
    engine refuses it by its class.
    """

    decay = 1.0

    def start(self, constants: GameConstants, entropy: float) -> RateState:
        """No rate."""
        return RateState(0.0, 0.0, 0.0)

    def step(
        self, state: RateState, signal: OptimismError, constants: GameConstants, entropy: float
    ) -> tuple[RateState, bool]:
        """No rate."""
        return state, False


class ScaledRegrets(NamedTuple):
    """A round as the metas that count regrets see it."""

    regrets: Vector
    """r_i = <p, l> - l_i in the unit: what expert i would have saved, shape ``(N,)``."""
    expected: Vector
    """The same for the optimism, <p, m> - m_i; 0 for each where there are none."""
    unit: float
    """What no regret may differ from its expectation by: the range given, or the largest
    difference so far.
    """
    shrink: float
    """What sums in the unit before have to be multiplied with: 1, unless the unit has grown."""


def scaled_regrets(weights: Vector, losses: Vector, optimism: Vector, unit: float) -> ScaledRegrets:
    """The regrets of a round, in the unit that they are measured in.

    0 while no two losses ever differed.
    """
    regrets = weights @ losses - losses
    expected = weights @ optimism - optimism
    grown = max(unit, float(np.abs(regrets - expected).max()))
    scale = grown or 1.0
    return ScaledRegrets(
        regrets / scale, expected / scale, grown, unit / scale if unit != grown else 1.0
    )


def checked_prior(prior: Vector) -> Vector:
    """A prior with a sum of 1."""
    prior = arguments.positive_vector("prior", prior)
    if abs(prior.sum() - 1.0) > PRIOR_SUM:
        raise ValueError(f"prior must have a sum of 1, got {prior.sum()}. Divide it by its sum.")
    return prior


def normalized_weights(scores: Vector, log_prior: Vector) -> Vector:
    """Weights in proportion to e^scores; the prior's where every score is minus infinity."""
    scores = scores if np.isfinite(scores.max()) else log_prior
    weights = np.exp(scores - scores.max())
    return np.asarray(np.maximum(weights / weights.sum(), SMALLEST_WEIGHT))


def split_among_copies(weights: Vector, parents: Vector, prior: Vector) -> Vector:
    """The weights after a copy_experts: each parent's, split as the prior splits its family."""
    family = np.bincount(parents, weights=prior)[parents]
    return np.asarray(weights[parents] * prior / family)


def solve_self_consistent(optimism: Vector, weights_for: Callable[[Vector], Vector]) -> Vector:
    r"""Weights p that agree with the regrets which they expect, :math:`\hat r_i = \langle p, m
    \rangle - m_i`.

    The expected regrets need the weights, and the weights need the expected regrets. With a number
    c in place of :math:`\langle p, m \rangle` the weights are a function of c, and :math:`\langle
    p(c), m \rangle - c` falls from above 0 at the least guess to below 0 at the largest: halving
    finds where it is 0.

    Parameters
    ----------
    optimism
        m, shape ``(N,)``.
    weights_for
        From expected regrets of shape ``(N,)`` to weights.
    """
    low, high = float(optimism.min()), float(optimism.max())
    if low == high:
        return weights_for(np.zeros_like(optimism))
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if weights_for(middle - optimism) @ optimism > middle:
            low = middle
        else:
            high = middle
    return weights_for((low + high) / 2 - optimism)


def meta_or_default(meta: Any, learning_rate: Any, default: Meta) -> Meta:
    """The meta that a learner was given, or its default one, which has the learning rate."""
    if meta is None:
        return default
    if learning_rate is not None:
        raise ValueError(
            "learning_rate is that of the default meta: give meta or learning_rate, not both."
        )
    if not all(
        callable(getattr(meta, part, None)) for part in ("start", "learn", "weigh", "copy_experts")
    ):
        raise TypeError(
            "meta must be a meta such as sp.metas.Squint(), with start, learn, weigh and "
            f"copy_experts; got {arguments.short_repr(meta)}."
        )
    return cast(Meta, meta)


def uniform(experts: int) -> Vector:
    """1/N each."""
    return np.full(arguments.integer("experts", experts), 1.0 / experts)


def telescoping(experts: int) -> Vector:
    r""":math:`\pi_i = (1 + 1/N) / (i (i+1))`, i = 1..N: small steps are thought likelier (Ader)."""
    i = np.arange(1.0, experts + 1.0)
    return np.asarray((1.0 + 1.0 / experts) / (i * (i + 1.0)))


def telescoping_with_tail(experts: int) -> Vector:
    r""":math:`\pi_i = 1/((i+1)(i+2))`, i = 0..N-1, the last one holding what all later ones would:
    a sum of 1.

    When an expert is added, the last one's weight 1/N splits into 1/(N (N+1)) and 1/(N+1) and no
    other changes.
    """
    i = np.arange(float(experts))
    prior = 1.0 / ((i + 1.0) * (i + 2.0))
    prior[-1] = 1.0 / experts
    return np.asarray(prior)


class Composition(NamedTuple):
    """The parts of a learner; for a lone expert those of the meta are placeholders."""

    domain: Domain
    experts: tuple[Experts, ...]
    """Kinds of experts, in the order in which their points are stacked."""
    prior: Vector
    """Weights before the first round, shape ``(N,)``."""
    rate: Rate
    constants: GameConstants
    optimism: Optimism
    shared_gradient: bool = False
    """Whether all experts descend along the gradient at the decision."""
    has_meta: bool = True
    """Whether there is a meta; a lone expert has none."""
    grows: bool = False
    """Whether the fastest expert of each kind is forked as rounds go by."""
    uses_domain_scale: bool = False
    """Whether the first expert of each kind is capped (``experts.step_sizes``)."""
    keeps_dual_sum: bool = False
    """Whether the certificate keeps a vector an expert, the sum of its steps over their sizes."""
    movement_charge: float = 0.0
    """What the meta charges each expert for the squared distance that it moves; 2L in Sword++."""
