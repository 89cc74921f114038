"""The paper's own tuning: its pools, its fixed rates and its optimism rate of 2.

The rates are made of quantities that are known only afterwards (the gradient variation, the run's
own squared gradients), so this tuning serves to reproduce and not to use: the learners' defaults
need nothing of the future.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Literal, final

from swordplay.core import arguments
from swordplay.parts import pools, rates
from swordplay.parts.learners import SwordBest, SwordSmall, SwordVar
from swordplay.parts.streams import PlantedStream
from swordplay.theory.game import Kept, play
from swordplay.theory.ledger import Ledger
from swordplay.theory.quantities import squared_gradients
from swordplay.theory.reproduce import constants
from swordplay.theory.reproduce.constants import Game
from swordplay.theory.reproduce.meter import Meter

OPTIMISM_RATE = 2.0
"""kappa of Sword_best as the paper has it; its claim is right only for G <= 1/4."""
MOST_REPEATS = 6
"""How often a run is repeated to find the rate that fits its own squared gradients.

Two to five do in practice.
"""
SAME_RATE = 0.01
"""Two rates within this relative distance count as the same: the regrets then agree to about as
much.
"""

DECISIONS: tuple[Kept, ...] = ("decisions",)
"""All that a run has to write down for its squared gradients."""

PaperSword = SwordVar | SwordSmall | SwordBest
SwordName = Literal["SwordVar", "SwordSmall", "SwordBest"]


class PaperTuning(ABC):
    """One of the paper's learners in one game."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.variation_pool = pools.variation(diameter=game.diameter, **game.told)
        self.small_loss_pool = pools.small_loss(diameter=game.diameter, **game.told)

    @abstractmethod
    def rate(self, squares: float) -> float:
        """The paper's rate for a run with the squared gradients Fbar_T = ``squares``."""

    @abstractmethod
    def learner(self, rate: float) -> PaperSword:
        """The learner with the paper's pools and this fixed rate."""


@final
class PaperVar(PaperTuning):
    """Sword_var: the rate knows V_T and not the run."""

    def rate(self, squares: float) -> float:
        """min{1/(sqrt8 D^2 L), sqrt((2 + ln N)/(2 D^2 V_T))}."""
        D, L, V = self.game.diameter, self.game.smoothness, self.game.variation
        return rates.paper_variation(
            diameter=D, smoothness=L, experts=len(self.variation_pool), variation=V
        )

    def learner(self, rate: float) -> SwordVar:
        """Extra-gradient experts."""
        domain, fixed = self.game.stream.domain, rates.Fixed(rate)
        return SwordVar(domain, **self.game.told, pool=self.variation_pool, learning_rate=fixed)


@final
class PaperSmall(PaperTuning):
    """Sword_small: the rate knows Fbar_T of the run."""

    def rate(self, squares: float) -> float:
        """sqrt((2 + ln N)/(D^2 Fbar_T))."""
        D, N = self.game.diameter, len(self.small_loss_pool)
        return rates.paper_small_loss(diameter=D, experts=N, squared_gradients=squares)

    def learner(self, rate: float) -> SwordSmall:
        """Gradient-descent experts."""
        domain, fixed = self.game.stream.domain, rates.Fixed(rate)
        return SwordSmall(domain, **self.game.told, pool=self.small_loss_pool, learning_rate=fixed)


@final
class PaperBest(PaperTuning):
    """Sword_best: the rate knows both."""

    def rate(self, squares: float) -> float:
        """min{1/(sqrt8 D^2 L), sqrt((2 + ln N)/(D^2 (min{2 V_T, Fbar_T} + ln 2)))}."""
        D, L, V = self.game.diameter, self.game.smoothness, self.game.variation
        N = len(self.variation_pool) + len(self.small_loss_pool)
        return rates.paper_best(
            diameter=D, smoothness=L, experts=N, variation=V, squared_gradients=squares
        )

    def learner(self, rate: float) -> SwordBest:
        """Both kinds of experts, and optimism learned at the paper's rate."""
        return SwordBest(
            self.game.stream.domain,
            **self.game.told,
            variation_pool=self.variation_pool,
            small_loss_pool=self.small_loss_pool,
            learning_rate=rates.Fixed(rate),
            optimism_rate=OPTIMISM_RATE,
        )


TUNINGS: dict[str, type[PaperTuning]] = {
    "SwordVar": PaperVar,
    "SwordSmall": PaperSmall,
    "SwordBest": PaperBest,
}


def to_fixed_point(tuning: PaperTuning, meter: Meter) -> tuple[PaperSword, Ledger, float]:
    """The run that was played with the rate which its own squared gradients ask for, and that
    rate.
    """
    stream, rounds = tuning.game.stream, tuning.game.horizon
    asked = tuning.rate(
        tuning.game.gradient_bound**2 * rounds
    )  # no run has more squared gradients than that
    for spare in reversed(range(MOST_REPEATS)):  # noqa: B007
        rate = asked
        learner = tuning.learner(rate)
        ledger = play(learner, stream, keep=DECISIONS, progress=meter.run(rounds))
        asked = tuning.rate(squared_gradients(stream, ledger.decisions))
        if math.isclose(asked, rate, rel_tol=SAME_RATE):
            break
    meter.spare(spare * rounds)
    return learner, ledger, rate


def paper_tuned(name: SwordName, stream: PlantedStream) -> PaperSword:
    """A fresh learner with the paper's pools, fixed rates and optimism rate for this stream.

    The rates of Sword_small and Sword_best are made of the squared gradients of their own run,
    which are found by repeating the run until the rate it was played with is the rate it asks for.

    Parameters
    ----------
    name
        ``"SwordVar"``, ``"SwordSmall"`` or ``"SwordBest"``.
    stream
        The stream, with its domain and comparators.

    Examples
    --------
    >>> from swordplay import play
    >>> from swordplay.parts import streams
    >>> stream = streams.paper.gradual(100)
    >>> ledger = play(paper_tuned("SwordVar", stream), stream)
    >>> round(ledger.regret(stream.comparators), 1)
    4.1
    """
    if name not in TUNINGS:
        raise ValueError(f"name must be one of {list(TUNINGS)}, got {arguments.short_repr(name)}.")
    tuning = TUNINGS[name](constants.game(stream))
    *_, rate = to_fixed_point(tuning, Meter())
    return tuning.learner(rate)
