r"""Learning rates of the metas: fixed, self-confident, doubling, and those of the paper.

After each round a rate is given the errors of the predictions of this round, and returns the
learning rate of the next round. In the formulas :math:`g_s` is the gradient of round s, :math:`M_s`
its prediction, :math:`\ell_s` the losses of the experts and :math:`m_s` their predictions;
:math:`\lambda = \ln(1/\min_i \pi_i)` for the prior :math:`\pi` (:math:`\ln N` if it is uniform);
:math:`A_t = \sum_{s \le t} \mathrm{hr}(\ell_s - m_s)^2` with the half range :math:`\mathrm{hr}(v) =
(\max v - \min v)/2`, because a constant added to all losses does not change a Hedge.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, Protocol, final

from swordplay.core import arguments
from swordplay.core.arguments import explain_overflow
from swordplay.core.state import number
from swordplay.core.types import GameConstants

TIE_TOLERANCE = 1e-12
"""Relative rounding error of a sum: two sums that differ by no more count as equal."""


class RateState(NamedTuple):
    """State of a rate between two rounds."""

    total: Annotated[float, number(0.0)]
    """A_t (:class:`SelfConfident`), or the sum of squared gradient errors (:class:`Doubling`)."""
    level: Annotated[float, number(0.0)]
    """Largest squared gradient error (:class:`SelfConfident`), or guess B (:class:`Doubling`)."""
    value: Annotated[float, number(0.0, math.inf)]
    """Learning rate of the coming round."""


class OptimismError(NamedTuple):
    """Errors of the predictions (the optimism) of one round."""

    squared_loss_error: float
    """hr(l_t - m_t)^2, with hr half the range: of the losses minus the predicted losses."""
    squared_gradient_error: float
    """Squared distance of the gradient from the predicted one, norm(g_t - M_t)^2."""


class Rate(Protocol):
    """A schedule of learning rates; with a decay of 1 they never increase between two restarts."""

    @property
    def decay(self) -> float:
        """Factor in (0, 1] by which the sums of the meta are multiplied in every round."""
        ...

    def start(self, constants: GameConstants, prior_cost: float) -> RateState:
        """Return the state before the first round.

        Parameters
        ----------
        constants
            Diameter D of the domain, and G if it was given.
        prior_cost
            λ = ln(1 / smallest prior), the prior's term in the regret bound; ln N if uniform.
        """
        ...

    def step(
        self, state: RateState, error: OptimismError, constants: GameConstants, prior_cost: float
    ) -> tuple[RateState, bool]:
        """Add the errors of a round.

        Returns
        -------
        RateState
            The state with the rate of the next round.
        bool
            Whether the meta restarts: whether it sets its sums of losses to 0.
        """
        ...


@final
class Fixed:
    """One learning rate that never changes, such as the rates of the paper.

    Parameters
    ----------
    value
        The learning rate, greater than 0.
    """

    decay = 1.0

    def __init__(self, value: float) -> None:
        self.value = arguments.positive("value", value)

    def __repr__(self) -> str:
        return f"Fixed({self.value})"

    def settings(self) -> Mapping[str, Any]:
        """Constructor arguments, saved with a learner's state."""
        return {"value": self.value}

    def start(self, constants: GameConstants, prior_cost: float) -> RateState:
        """State with the given rate."""
        return RateState(total=0.0, level=0.0, value=self.value)

    def step(
        self, state: RateState, error: OptimismError, constants: GameConstants, prior_cost: float
    ) -> tuple[RateState, bool]:
        """Return the state unchanged."""
        return state, False


@final
class SelfConfident:
    r"""A rate tuned by the errors so far, without knowledge of later rounds.

    .. math:: \varepsilon_t = \min\Big\{c, \sqrt{\frac{f \lambda}{o + A_{t-1} + \rho^2 D^2
        \max_{s<t} \|g_s - M_s\|^2}}\Big\}, \text{ never above } \varepsilon_{t-1}

    Parameters
    ----------
    cap
        c; none unless given. Sword_var and Sword_best use 1/(L D^2) by default.
    offset
        o; :math:`D^2 G^2` unless given, the largest possible error of the first round. With 0 the
        rate is infinite until the losses first differ from the optimism (follow the leader).
    factor
        f.
    memory
        K, the number of rounds that the meta remembers; all unless given. Every sum, including that
        of the losses of the experts, is multiplied by 1 - 1/K in each round, and the rate can rise
        again. The time that the weights need to change after a jump then does not grow with the
        number T of rounds. In return the regret grows in proportion to T/K.
    floor
        :math:`\rho`, for ``offset=0``, where rounding errors would otherwise decide between experts
        that are equally good. With 1e-4, experts whose losses differ by less than 1e-4 times
        :math:`D \max_s \|g_s - M_s\|` have similar weights; the regret grows by at most about that
        much.
    """

    def __init__(
        self,
        cap: float | None = None,
        *,
        offset: float | None = None,
        factor: float = 0.5,
        floor: float = 0.0,
        memory: float | None = None,
    ) -> None:
        self.cap = None if cap is None else arguments.positive("cap", cap)
        self.offset = None if offset is None else arguments.nonnegative("offset", offset)
        self.factor = arguments.positive("factor", factor)
        self.floor = arguments.nonnegative("floor", floor)
        self.memory = None if memory is None else arguments.positive("memory", memory)
        if self.memory is not None and self.memory < 2:
            raise ValueError(
                f"memory must be at least 2 rounds, got {self.memory}. A few thousand is usual."
            )

    def __repr__(self) -> str:
        settings = (
            f"offset={self.offset}, factor={self.factor}, floor={self.floor}, memory={self.memory}"
        )
        return f"SelfConfident(cap={self.cap}, {settings})"

    def settings(self) -> Mapping[str, Any]:
        """Constructor arguments, saved with a learner's state."""
        return {
            name: getattr(self, name) for name in ("cap", "offset", "factor", "floor", "memory")
        }

    def start(self, constants: GameConstants, prior_cost: float) -> RateState:
        """State with the rate of the first round."""
        ceiling = math.inf if self.cap is None else self.cap
        return self._state_for_sum(0.0, 0.0, ceiling, constants, prior_cost)

    def step(
        self, state: RateState, error: OptimismError, constants: GameConstants, prior_cost: float
    ) -> tuple[RateState, bool]:
        """Add the error of the round and compute the next rate."""
        total = self.decay * state.total + error.squared_loss_error
        level = max(self.decay * state.level, error.squared_gradient_error)
        return self._state_for_sum(
            total, level, self._ceiling(state.value), constants, prior_cost
        ), False

    @property
    def decay(self) -> float:
        """1, or 1 - 1/K with a memory of K rounds."""
        return 1.0 if self.memory is None else 1.0 - 1.0 / self.memory

    def _ceiling(self, last_rate: float) -> float:
        """Upper bound on the next rate: the last rate, or with a memory the cap."""
        if self.memory is None:
            return last_rate
        return math.inf if self.cap is None else self.cap

    def _state_for_sum(
        self,
        total: float,
        level: float,
        ceiling: float,
        constants: GameConstants,
        prior_cost: float,
    ) -> RateState:
        """Return the state with the rate of the formula, at most ``ceiling``."""
        offset = max_squared_loss_error(constants) if self.offset is None else self.offset
        denominator = offset + total + (self.floor * constants.diameter) ** 2 * level
        rate = math.sqrt(self.factor * prior_cost / denominator) if denominator > 0 else math.inf
        return RateState(total=total, level=level, value=min(ceiling, rate))


@final
class Doubling:
    r"""The doubling trick: restart the meta when the sum of squared gradient errors passes a guess.

    .. math:: \varepsilon = \min\Big\{c, \sqrt{\frac{2 + \lambda}{D^2 B}}\Big\}
        \text{ while } \textstyle\sum_{s \le t} \|g_s - M_s\|^2 \le B, \text{ then } B \leftarrow 2B

    The sum takes the place of the quantity that each rate of the paper must know in advance:
    :math:`\bar F_T = \sum \|g_t\|^2` for Sword_small (where :math:`M_t = 0` and both are equal),
    :math:`2 V_T` for Sword_var, the smaller of the two for Sword_best.

    Parameters
    ----------
    initial
        First value of B; :math:`G^2` unless given.
    cap
        c; none unless given. The paper's is :math:`1/(\sqrt 8 D^2 L)`.
    """

    decay = 1.0

    def __init__(self, initial: float | None = None, cap: float | None = None) -> None:
        self.initial = None if initial is None else arguments.positive("initial", initial)
        self.cap = None if cap is None else arguments.positive("cap", cap)

    def __repr__(self) -> str:
        return f"Doubling(initial={self.initial}, cap={self.cap})"

    def settings(self) -> Mapping[str, Any]:
        """Constructor arguments, saved with a learner's state."""
        return {"initial": self.initial, "cap": self.cap}

    def start(self, constants: GameConstants, prior_cost: float) -> RateState:
        """State with the rate of the first B."""
        if self.initial is None and constants.gradient_bound is None:
            raise ValueError(
                "initial must be given to Doubling if the learner has no gradient_bound. Try "
                "initial=1.0."
            )
        guess = (
            float(constants.gradient_bound or 0.0) ** 2 if self.initial is None else self.initial
        )
        return self._state_for_guess(0.0, guess, constants, prior_cost)

    def step(
        self, state: RateState, error: OptimismError, constants: GameConstants, prior_cost: float
    ) -> tuple[RateState, bool]:
        """Add the error of the round; double B until it is at least the sum."""
        total = state.total + error.squared_gradient_error
        # The tolerance keeps rounding from deciding where the sum equals B.
        if total <= state.level * (1.0 + TIE_TOLERANCE):
            return state._replace(total=total), False
        # The smallest 2^k B that is at least the sum; k is bounded, as both are finite doubles.
        guess = math.ldexp(
            state.level, math.ceil(math.log2(total) - math.log2(state.level) - TIE_TOLERANCE)
        )
        return self._state_for_guess(total, guess, constants, prior_cost), True

    def _state_for_guess(
        self, total: float, guess: float, constants: GameConstants, prior_cost: float
    ) -> RateState:
        """Return the state with the rate that belongs to a guess B."""
        rate = math.sqrt((2 + prior_cost) / (constants.diameter**2 * guess))
        return RateState(
            total=total, level=guess, value=rate if self.cap is None else min(self.cap, rate)
        )


@explain_overflow
def paper_variation(*, diameter: float, smoothness: float, experts: int, variation: float) -> float:
    r"""The paper's rate of Sword_var.

    .. math:: \min\Big\{\frac{1}{\sqrt8 D^2 L}, \sqrt{\frac{2 + \ln N}{2 D^2 V_T}}\Big\}
    """
    return _paper_rate(
        diameter, smoothness, experts, 2 * arguments.nonnegative("variation", variation)
    )


@explain_overflow
def paper_small_loss(*, diameter: float, experts: int, squared_gradients: float) -> float:
    r"""The paper's rate of Sword_small; ``squared_gradients`` is :math:`\bar F_T = \sum \|g_t\|^2`.

    .. math:: \sqrt{(2 + \ln N) / (D^2 \bar F_T)}
    """
    D = arguments.positive("diameter", diameter)
    total = arguments.positive("squared_gradients", squared_gradients)
    return math.sqrt((2 + math.log(arguments.integer("experts", experts))) / (D**2 * total))


@explain_overflow
def paper_best(
    *, diameter: float, smoothness: float, experts: int, variation: float, squared_gradients: float
) -> float:
    r"""The paper's rate of Sword_best.

    It is that of Sword_var with :math:`\min\{2 V_T, \bar F_T\} + \ln 2` in place of :math:`2 V_T`.
    """
    smaller_quantity = min(
        2 * arguments.nonnegative("variation", variation),
        arguments.nonnegative("squared_gradients", squared_gradients),
    )
    return _paper_rate(diameter, smoothness, experts, smaller_quantity + math.log(2))


def _paper_rate(diameter: float, smoothness: float, experts: int, total: float) -> float:
    r"""Return :math:`\min\{1/(\sqrt8 D^2 L), \sqrt{(2 + \ln N) / (D^2 q)}\}`, q being ``total``."""
    D = arguments.positive("diameter", diameter)
    cap = 1 / (math.sqrt(8) * D**2 * arguments.positive("smoothness", smoothness))
    prior_cost = math.log(arguments.integer("experts", experts))  # of the uniform prior
    return min(cap, math.sqrt((2 + prior_cost) / (D**2 * total))) if total > 0 else cap


def max_squared_loss_error(constants: GameConstants) -> float:
    """Return (D G)^2: losses, and the optimism, differ among experts by at most D G."""
    if constants.gradient_bound is None:
        raise ValueError(
            "offset must be given to SelfConfident if the learner has no gradient_bound. Try "
            "offset=0."
        )
    return (constants.diameter * constants.gradient_bound) ** 2
