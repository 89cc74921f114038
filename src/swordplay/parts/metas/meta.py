"""Interface of metas; their priors and scaled regrets; ``Composition``, a learner's parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, cast, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Domain, GameConstants, Vector
from swordplay.parts.experts import Experts
from swordplay.parts.metas.optimism import Optimism
from swordplay.parts.rates import OptimismError, Rate, RateState

PRIOR_SUM_TOLERANCE = 1e-9
"""Allowed difference of the sum of a prior from 1: rounding errors of thousands of terms."""
SMALLEST_WEIGHT = float(np.finfo(np.float64).tiny)
"""Smallest weight, above 0: a weight of 0 could never grow again."""
BISECTIONS = 60
"""Steps of the bisection for self-consistent weights; 2^-60 is below the rounding error."""


class MetaState(Protocol):
    """The fields that the state of every meta has, shapes ``(N,)``."""

    @property
    def log_prior(self) -> Vector:
        """Logarithms of the weights before the first round."""
        ...

    @property
    def optimism(self) -> Vector:
        """m_t: the losses that were expected when the weights of this round were computed."""
        ...

    @property
    def weights(self) -> Vector:
        """p_t, positive with a sum of 1."""
        ...


class Meta(Protocol):
    """Computes the weights of experts from their losses and from predictions of their next losses.

    Its state is a named tuple with the fields of :class:`MetaState`.
    """

    def start(self, prior: Vector) -> Any:
        """State before the first round, with weights equal to the prior, shape ``(N,)``."""
        ...

    def learn(self, state: Any, losses: Vector, squared_gradient_error: float) -> Any:
        """Return the state with the losses l_t of a round added; the weights do not change yet.

        Parameters
        ----------
        state
            State of this round.
        losses
            l_t, shape ``(N,)``.
        squared_gradient_error
            norm(g_t - M_t)^2, on which some learning rates depend.
        """
        ...

    def weigh(self, state: Any, optimism: Vector) -> Any:
        """Return the state with the weights of the next round, given m_{t+1} of shape ``(N,)``."""
        ...

    def copy_experts(self, state: Any, parents: Vector, prior: Vector) -> Any:
        """Return a state with copies of experts; the weight of an expert is split among its copies.

        Parameters
        ----------
        state
            State of this round, with N experts.
        parents
            Index of the expert that each new expert is a copy of, shape ``(N',)``.
        prior
            Prior of the new experts, shape ``(N',)``.
        """
        ...


@final
class NoLearningRate:
    """Placeholder for the rate of a meta that has none; the engine does not compile such a meta."""

    decay = 1.0
    """Factor of the cumulative losses per round; 1: none."""

    def start(self, constants: GameConstants, prior_cost: float) -> RateState:
        """State with a rate of 0, which is not used; ``prior_cost`` is ln(1 / smallest prior)."""
        return RateState(0.0, 0.0, 0.0)

    def step(
        self, state: RateState, error: OptimismError, constants: GameConstants, prior_cost: float
    ) -> tuple[RateState, bool]:
        """Return the state unchanged, and False: the meta does not restart."""
        return state, False


class ScaledRegrets(NamedTuple):
    """Regrets of one round, divided by a unit, for metas that need regrets in [-1, 1].

    Only the differences r_i - rhat_i are in [-1, 1], and without optimism the regrets r_i. p_i are
    the weights, l_i the losses and m_i the predicted losses of the experts.
    """

    regrets: Vector
    """r_i = (<p, l> - l_i) / unit, shape ``(N,)``."""
    expected_regrets: Vector
    """rhat_i = (<p, m> - m_i) / unit, shape ``(N,)``; 0 without optimism."""
    unit: float
    """Largest of the initial unit and of abs(<p, l - m> - (l_i - m_i)) in all rounds so far."""
    unit_ratio: float
    """Old unit divided by new unit; sums in the old unit must be multiplied by it."""


def scaled_regrets(weights: Vector, losses: Vector, optimism: Vector, unit: float) -> ScaledRegrets:
    """Return the regrets of a round, divided by a unit that no unexpected regret exceeds.

    The unexpected regret to an expert is its regret minus its expected regret. The unit grows to
    the largest one.

    Parameters
    ----------
    weights, losses, optimism
        p, l and m of the round, shapes ``(N,)``.
    unit
        The unit so far. If it starts at 0, it is 0 before the first round in which two losses
        differ after their optimism is subtracted.
    """
    regrets = weights @ losses - losses
    expected_regrets = weights @ optimism - optimism
    new_unit = max(unit, float(np.abs(regrets - expected_regrets).max()))
    divisor = new_unit or 1.0
    return ScaledRegrets(
        regrets=regrets / divisor,
        expected_regrets=expected_regrets / divisor,
        unit=new_unit,
        unit_ratio=unit / divisor if unit != new_unit else 1.0,
    )


def checked_prior(prior: Vector) -> Vector:
    """Check that a prior is positive and has a sum of 1."""
    prior = arguments.positive_vector("prior", prior)
    if abs(prior.sum() - 1.0) > PRIOR_SUM_TOLERANCE:
        raise ValueError(f"prior must have a sum of 1, got {prior.sum()}. Divide it by its sum.")
    return prior


def normalized_weights(scores: Vector, log_prior: Vector | None = None) -> Vector:
    """Return weights proportional to e^scores; weights below SMALLEST_WEIGHT are raised to it.

    ``log_prior`` takes the place of the scores if all scores are minus infinity.
    """
    if log_prior is not None and not np.isfinite(scores.max()):
        scores = log_prior
    weights = np.exp(scores - scores.max())
    return np.asarray(np.maximum(weights / weights.sum(), SMALLEST_WEIGHT))


def split_among_copies(weights: Vector, parents: Vector, prior: Vector) -> Vector:
    """Return the weights of copies: each parent's weight, divided in proportion to the prior.

    Parameters
    ----------
    weights
        Weights of the experts before copying, shape ``(N,)``.
    parents
        Index of the expert that each new expert is a copy of, shape ``(N',)``.
    prior
        Prior of the new experts, shape ``(N',)``.
    """
    # Sum of the prior over all copies of the same parent.
    prior_sums = np.bincount(parents, weights=prior)[parents]
    return np.asarray(weights[parents] * prior / prior_sums)


def solve_self_consistent(optimism: Vector, weights_for: Callable[[Vector], Vector]) -> Vector:
    r"""Return weights p that are a function of the expected regrets, which depend on p.

    .. math:: \hat r_i = \langle p, m \rangle - m_i

    With a number c in place of :math:`\langle p, m \rangle`, the weights are a function of c. The
    difference :math:`\langle p(c), m \rangle - c` falls from at least 0 at :math:`c = \min_i m_i`
    to at most 0 at :math:`c = \max_i m_i`, and its root is found by bisection.

    Parameters
    ----------
    optimism
        m, shape ``(N,)``.
    weights_for
        Function from expected regrets, shape ``(N,)``, to weights.
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


def meta_or_default(meta: Any, *, learning_rate: Any = None, default: Meta) -> Meta:
    """Return the meta given to a learner, after a check, or ``default`` if none is given.

    Raises
    ------
    ValueError
        If both a meta and a learning rate are given: the rate is that of the default meta.
    TypeError
        If the meta lacks a method of :class:`Meta`.
    """
    if meta is None:
        return default
    if learning_rate is not None:
        raise ValueError(
            "learning_rate belongs to the default meta: give meta or learning_rate, not both."
        )
    if not all(
        callable(getattr(meta, name, None)) for name in ("start", "learn", "weigh", "copy_experts")
    ):
        raise TypeError(
            "meta must be a meta such as sp.metas.Squint(), with start, learn, weigh and "
            f"copy_experts; got {arguments.short_repr(meta)}."
        )
    return cast(Meta, meta)


def uniform(experts: int) -> Vector:
    """Return the prior 1/N for each of N experts, shape ``(N,)``."""
    return np.full(arguments.integer("experts", experts), 1.0 / experts)


def telescoping(experts: int) -> Vector:
    r"""Return Ader's prior for N experts, :math:`\pi_i = (1 + 1/N) / (i (i+1))`, i = 1..N."""
    i = np.arange(1.0, experts + 1.0)
    return np.asarray((1.0 + 1.0 / experts) / (i * (i + 1.0)))


def telescoping_with_tail(experts: int) -> Vector:
    r"""Return a prior for a growing pool: a further expert changes the last weight only.

    .. math:: \pi_i = \frac{1}{(i+1)(i+2)}, \quad i = 0, \dots, N-2, \qquad \pi_{N-1} = \frac1N

    A further expert divides 1/N into 1/(N (N+1)) and 1/(N+1).
    """
    i = np.arange(float(experts))
    prior = 1.0 / ((i + 1.0) * (i + 2.0))
    prior[-1] = 1.0 / experts
    return np.asarray(prior)


class Composition(NamedTuple):
    """The parts of a learner, from which the engine builds the compiled twin of the learner.

    The rate, the constants and the optimism are placeholders if the learner has no meta.
    """

    domain: Domain
    experts: tuple[Experts, ...]
    """Kinds of experts, in the order in which their points are stacked."""
    prior: Vector
    """Weights before the first round, shape ``(N,)``."""
    rate: Rate
    """Learning rate of the meta."""
    constants: GameConstants
    """Constants that the rate may depend on."""
    optimism: Optimism
    """Rule for the expected gradient M_t of the meta; a rule, not the expected losses m_t."""
    shared_gradient: bool = False
    """Whether all experts use the gradient at the decision instead of those at their own points."""
    has_meta: bool = True
    """Whether there is a meta; a single expert has none."""
    grows: bool = False
    """Whether the last expert of each kind is copied as rounds go by, with twice its step size."""
    uses_domain_scale: bool = False
    """Whether step sizes depend on a :class:`~swordplay.parts.experts.DomainScale`."""
    keeps_dual_sum: bool = False
    """Whether the certificate keeps the dual sum S of each expert, the sum of moves / step size."""
    movement_charge: float = 0.0
    """Factor of the squared movement of an expert in its loss for the meta; 2L in Sword++."""
