r"""Learning rates of the metas: how sharply the weights follow the losses.

A rate sees, after each round, how wrong the optimism was, and answers with the rate of the next
round. In the formulas :math:`\lambda = \ln(1/\min_i \pi_i)` is the entropy of the prior (:math:`\ln
N` if uniform) and :math:`A_t = \sum_{s \le t} \mathrm{hr}(\ell_s - m_s)^2` with the half range
:math:`\mathrm{hr}(v) = (\max v - \min v)/2`, which is all that a Hedge feels of its losses.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, final

from swordplay.core import arguments
from swordplay.core.arguments import checked
from swordplay.core.types import Setting

TIE = 1e-12
"""Sums that differ by less than this, relatively, differ by rounding."""


class RateState(NamedTuple):
    """What a rate remembers."""

    total: float
    """The quantity watched so far: A_t, or the squared surprise of the gradients."""
    level: float
    """What the total is presumed to stay below, where the rate guesses.

    Else the largest surprise so far.
    """
    value: float
    """The rate of the coming round."""


class Signal(NamedTuple):
    """How wrong the optimism of a round was, in the two units that rates are made of."""

    mismatch: float
    """Squared half range of losses minus guesses, hr(l_t - m_t)^2."""
    surprise: float
    """Squared distance of the gradient from its guess, norm(g_t - M_t)^2."""


class Rate(Protocol):
    """A schedule of learning rates, never increasing within one life of the meta."""

    @property
    def retention(self) -> float:
        """What the meta keeps of its past losses from one round to the next: 1, or a little less
        to stay young.
        """
        ...

    def start(self, setting: Setting, entropy: float) -> RateState:
        """The state before the first round."""
        ...

    def step(
        self, state: RateState, signal: Signal, setting: Setting, entropy: float
    ) -> tuple[RateState, bool]:
        """The next state, and whether the meta has to start afresh with it."""
        ...


@final
class Fixed:
    """One rate for ever, such as the paper's, which knows the future.

    Parameters
    ----------
    value
        The rate, greater than 0.
    """

    retention = 1.0

    def __init__(self, value: float) -> None:
        self.value = arguments.positive("value", value)

    def __repr__(self) -> str:
        return f"Fixed({self.value})"

    def settings(self) -> Mapping[str, Any]:
        """The one rate."""
        return {"value": self.value}

    def start(self, setting: Setting, entropy: float) -> RateState:
        """The one rate."""
        return RateState(total=0.0, level=0.0, value=self.value)

    def step(
        self, state: RateState, signal: Signal, setting: Setting, entropy: float
    ) -> tuple[RateState, bool]:
        """The same again."""
        return state, False


@final
class SelfConfident:
    r"""A rate tuned by the run itself, as if its past were all there is.

    .. math:: \varepsilon_t = \min\Big\{c, \sqrt{\frac{f \lambda}{o + A_{t-1} + \rho^2 D^2
        \max_{s<t} \|g_s - M_s\|^2}}\Big\}, \text{ never above } \varepsilon_{t-1}

    Parameters
    ----------
    cap
        c; none unless given. Sword_var and Sword_best use 1/(L D^2) by default.
    offset
        o; :math:`D^2 G^2` unless given, what the first round may bring. With 0 the rate is infinite
        until the losses first differ from the guesses: follow the leader.
    factor
        f.
    memory
        How many rounds the meta remembers; all unless given. With a memory M every sum, that of the
        experts' losses included, fades by 1 - 1/M a round, and the rate may rise again: the time to
        change one's mind after a jump then does not grow with age. The price is a regret that grows
        with the number of memories that have passed.
    floor
        :math:`\rho`; for an offset of 0. Following the leader exactly would follow rounding errors
        wherever the leaders tie. A floor of 1e-4 blurs differences below a ten-thousandth of the
        largest surprise and costs the regret as much.
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
        """All that it was given."""
        return {
            name: getattr(self, name) for name in ("cap", "offset", "factor", "floor", "memory")
        }

    def start(self, setting: Setting, entropy: float) -> RateState:
        """The rate before anything was seen."""
        ceiling = math.inf if self.cap is None else self.cap
        return self._tuned(0.0, 0.0, ceiling, setting, entropy)

    def step(
        self, state: RateState, signal: Signal, setting: Setting, entropy: float
    ) -> tuple[RateState, bool]:
        """Add the round's mismatch and retune."""
        total = self.retention * state.total + signal.mismatch
        level = max(self.retention * state.level, signal.surprise)
        return self._tuned(total, level, self._ceiling(state.value), setting, entropy), False

    @property
    def retention(self) -> float:
        """1, or 1 - 1/M with a memory M."""
        return 1.0 if self.memory is None else 1.0 - 1.0 / self.memory

    def _ceiling(self, last: float) -> float:
        """Without a memory the rate never rises; with one, only the cap holds it."""
        if self.memory is None:
            return last
        return math.inf if self.cap is None else self.cap

    def _tuned(
        self, total: float, level: float, ceiling: float, setting: Setting, entropy: float
    ) -> RateState:
        offset = largest_mismatch(setting) if self.offset is None else self.offset
        denominator = offset + total + (self.floor * setting.diameter) ** 2 * level
        tuned = math.sqrt(self.factor * entropy / denominator) if denominator > 0 else math.inf
        return RateState(total=total, level=level, value=min(ceiling, tuned))


@final
class Doubling:
    r"""The doubling trick: guess the total surprise, and start the meta afresh when the guess is
    passed.

    .. math:: \varepsilon = \min\Big\{c, \sqrt{\frac{2 + \lambda}{D^2 B}}\Big\}
        \text{ while } \textstyle\sum_{s \le t} \|g_s - M_s\|^2 \le B, \text{ then } B \leftarrow 2B

    The surprise is what each paper rate is made of: for Sword_small (M = 0) it is :math:`\bar F_T`,
    for Sword_var it stands in for :math:`2 V_T`, for Sword_best for their minimum. Nothing of the
    future is needed.

    Parameters
    ----------
    initial
        The first guess B; :math:`G^2` unless given.
    cap
        c; none unless given. The paper's is :math:`1/(\sqrt 8 D^2 L)`.
    """

    retention = 1.0

    def __init__(self, initial: float | None = None, cap: float | None = None) -> None:
        self.initial = None if initial is None else arguments.positive("initial", initial)
        self.cap = None if cap is None else arguments.positive("cap", cap)

    def __repr__(self) -> str:
        return f"Doubling(initial={self.initial}, cap={self.cap})"

    def settings(self) -> Mapping[str, Any]:
        """The first guess and the cap."""
        return {"initial": self.initial, "cap": self.cap}

    def start(self, setting: Setting, entropy: float) -> RateState:
        """The rate of the first guess."""
        if self.initial is None and setting.gradient_bound is None:
            raise ValueError(
                "initial must be given to Doubling where the learner has no gradient_bound. Try "
                "initial=1.0."
            )
        guess = float(setting.gradient_bound or 0.0) ** 2 if self.initial is None else self.initial
        return self._guessed(0.0, guess, setting, entropy)

    def step(
        self, state: RateState, signal: Signal, setting: Setting, entropy: float
    ) -> tuple[RateState, bool]:
        """Add the round's surprise; double the guess as often as it takes to hold."""
        total = state.total + signal.surprise
        if total <= state.level * (
            1.0 + TIE
        ):  # a sum that meets its guess exactly must not be decided by rounding
            return state._replace(total=total), False
        # The smallest doubling that holds; the exponent is bounded because both numbers are finite
        # doubles.
        guess = math.ldexp(state.level, math.ceil(math.log2(total) - math.log2(state.level) - TIE))
        return self._guessed(total, guess, setting, entropy), True

    def _guessed(self, total: float, guess: float, setting: Setting, entropy: float) -> RateState:
        tuned = math.sqrt((2 + entropy) / (setting.diameter**2 * guess))
        return RateState(
            total=total, level=guess, value=tuned if self.cap is None else min(self.cap, tuned)
        )


@checked
def paper_variation(*, diameter: float, smoothness: float, experts: int, variation: float) -> float:
    r"""The paper's rate of Sword_var, :math:`\min\{1/(\sqrt8 D^2 L), \sqrt{(2 + \ln N)/(2 D^2
    V_T)}\}`.
    """
    return _capped(diameter, smoothness, experts, 2 * arguments.nonnegative("variation", variation))


@checked
def paper_small_loss(*, diameter: float, experts: int, squared_gradients: float) -> float:
    r"""The paper's rate of Sword_small, :math:`\sqrt{(2 + \ln N)/(D^2 \bar F_T)}`, with the
    run's own :math:`\bar F_T`.
    """
    D = arguments.positive("diameter", diameter)
    total = arguments.positive("squared_gradients", squared_gradients)
    return math.sqrt((2 + math.log(arguments.integer("experts", experts))) / (D**2 * total))


@checked
def paper_best(
    *, diameter: float, smoothness: float, experts: int, variation: float, squared_gradients: float
) -> float:
    r"""The paper's rate of Sword_best, that of Sword_var with :math:`\min\{2 V_T, \bar F_T\} +
    \ln 2` for :math:`2 V_T`.
    """
    smaller = min(
        2 * arguments.nonnegative("variation", variation),
        arguments.nonnegative("squared_gradients", squared_gradients),
    )
    return _capped(diameter, smoothness, experts, smaller + math.log(2))


def _capped(diameter: float, smoothness: float, experts: int, total: float) -> float:
    D = arguments.positive("diameter", diameter)
    cap = 1 / (math.sqrt(8) * D**2 * arguments.positive("smoothness", smoothness))
    entropy = math.log(arguments.integer("experts", experts))
    return min(cap, math.sqrt((2 + entropy) / (D**2 * total))) if total > 0 else cap


def largest_mismatch(setting: Setting) -> float:
    """(D G)^2, which no round can pass: losses and guesses each range over at most D G."""
    if setting.gradient_bound is None:
        raise ValueError(
            "offset must be given to SelfConfident where the learner has no gradient_bound. Try "
            "offset=0."
        )
    return (setting.diameter * setting.gradient_bound) ** 2
