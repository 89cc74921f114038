"""Who takes part in the experiment, and what theorem each of them brings along."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Literal, NamedTuple

from swordplay.parts.learners import (
    CBCE,
    OEGD,
    OGD,
    SACS,
    SAOL,
    Ader,
    Sword,
    SwordBest,
    SwordPlusPlus,
    SwordSmall,
    SwordVar,
)
from swordplay.theory import bounds
from swordplay.theory.game import play
from swordplay.theory.ledger import Ledger
from swordplay.theory.reproduce.constants import Game
from swordplay.theory.reproduce.meter import Meter
from swordplay.theory.reproduce.paper import MOST_REPEATS, TUNINGS, PaperSword, to_fixed_point

Tuning = Literal["paper", "self-confident", "none", "baseline"]
"""The paper's fixed rates.

The defaults, which tune themselves given T, G and L; nothing to tune; someone else's.
"""
Contestant = PaperSword | Sword | SwordPlusPlus | Ader | OGD | OEGD | SAOL | CBCE | SACS
COVER_ROUNDS = 1_000
"""The largest T of covers of experts, which only the readable loop plays: some 0.3 ms a round."""
Bound = Callable[[Game, int], float | None]
"""From a game and the number of experts to what the theorem promises.

None where there is no theorem.
"""


class Entry(NamedTuple):
    """A learner that takes part."""

    learner: str
    """Name of its class."""
    tuning: Tuning
    enter: Callable[[Game, Meter], tuple[Contestant, Ledger]]
    """Play a game."""
    bound: Bound
    runs: int = 1
    """How many runs that takes at the most."""
    most: int | None = None
    """The largest T that it plays, where the engine does not play it: more would take minutes."""
    certified: bool = True
    """Whether it has a certificate."""


def _once(make: Callable[[Game], Contestant]) -> Callable[[Game, Meter], tuple[Contestant, Ledger]]:
    """Make the learner and let it play."""

    def enter(game: Game, meter: Meter) -> tuple[Contestant, Ledger]:
        learner = make(game)
        return learner, play(learner, game.stream, keep=(), progress=meter.run(game.horizon))

    return enter


def _with_paper_rate(name: str) -> Callable[[Game, Meter], tuple[Contestant, Ledger]]:
    """Find the paper's rate and let the learner play with it."""

    def enter(game: Game, meter: Meter) -> tuple[Contestant, Ledger]:
        learner, ledger, _ = to_fixed_point(TUNINGS[name](game), meter)
        return learner, ledger

    return enter


def _var_bound(tuning: bounds.Tuning) -> Bound:
    return lambda game, experts: bounds.sword_var(
        diameter=game.diameter,
        gradient_bound=game.gradient_bound,
        smoothness=game.smoothness,
        path_length=game.path_length,
        variation=game.variation,
        experts=experts,
        tuning=tuning,
    )


def _small_bound(tuning: bounds.Tuning) -> Bound:
    return lambda game, experts: bounds.sword_small(
        diameter=game.diameter,
        gradient_bound=game.gradient_bound,
        smoothness=game.smoothness,
        path_length=game.path_length,
        comparator_loss=game.comparator_loss,
        experts=experts,
        horizon=game.horizon,
        tuning=tuning,
    )


def _best_bound(tuning: bounds.Tuning) -> Bound:
    def bound(game: Game, experts: int) -> float:
        with warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore", message=".*learned optimism"
            )  # the table has a mark for that
            return bounds.sword_best(
                diameter=game.diameter,
                gradient_bound=game.gradient_bound,
                smoothness=game.smoothness,
                path_length=game.path_length,
                variation=game.variation,
                comparator_loss=game.comparator_loss,
                experts=experts,
                horizon=game.horizon,
                tuning=tuning,
            )

    return bound


def _plus_plus_bound(game: Game, experts: int) -> float:
    return bounds.sword_plus_plus(
        diameter=game.diameter,
        gradient_bound=game.gradient_bound,
        smoothness=game.smoothness,
        path_length=game.path_length,
        variation=game.variation,
        comparator_loss=game.comparator_loss,
        experts=experts,
    )


def _cover_bound(name: str) -> Bound:
    """On both halves of an instance, where its comparator stands still: what a cover owes on
    every interval.
    """
    bound = {"SAOL": bounds.saol, "CBCE": bounds.cbce, "SACS": bounds.sacs}[name]

    def both(game: Game, experts: int) -> float:
        T, half = game.horizon, (game.horizon + 1) // 2
        D, G = game.diameter, game.gradient_bound
        halves = ((1, half), (half + 1, T))
        return sum(
            bound(diameter=D, gradient_bound=G, first=first, last=last) for first, last in halves
        )

    return both


def _cover(kind: type[SAOL] | type[CBCE] | type[SACS]) -> Entry:
    enter = _once(lambda game: kind(game.stream.domain, gradient_bound=game.gradient_bound))
    return Entry(
        kind.__name__,
        "baseline",
        enter,
        _cover_bound(kind.__name__),
        most=COVER_ROUNDS,
        certified=False,
    )


def _ader_bound(game: Game, experts: int) -> float:
    return bounds.ader(
        diameter=game.diameter,
        gradient_bound=game.gradient_bound,
        path_length=game.path_length,
        horizon=game.horizon,
    )


def extra_gradient_step(game: Game) -> float:
    """1/(4L), the longest step of the paper's theorem on OEGD."""
    return 1 / (4 * game.smoothness)


def descent_step(game: Game) -> float:
    """D/(G sqrt T), the textbook step of OGD (Zinkevich 2003)."""
    return game.diameter / (game.gradient_bound * math.sqrt(game.horizon))


def _oegd_bound(game: Game, experts: int) -> float:
    return bounds.oegd(
        diameter=game.diameter,
        step_size=extra_gradient_step(game),
        path_length=game.path_length,
        variation=game.variation,
        smoothness=game.smoothness,
        gradient_bound=game.gradient_bound,
    )


def _ogd_bound(game: Game, experts: int) -> float:
    return bounds.ogd(
        diameter=game.diameter,
        step_size=descent_step(game),
        path_length=game.path_length,
        smoothness=game.smoothness,
        comparator_loss=game.comparator_loss,
        gradient_bound=game.gradient_bound,
        horizon=game.horizon,
    )


ENTRIES: tuple[Entry, ...] = (
    Entry(
        "SwordVar", "paper", _with_paper_rate("SwordVar"), _var_bound("paper"), runs=MOST_REPEATS
    ),
    Entry(
        "SwordSmall",
        "paper",
        _with_paper_rate("SwordSmall"),
        _small_bound("paper"),
        runs=MOST_REPEATS,
    ),
    Entry(
        "SwordBest", "paper", _with_paper_rate("SwordBest"), _best_bound("paper"), runs=MOST_REPEATS
    ),
    Entry(
        "SwordVar",
        "self-confident",
        _once(lambda game: SwordVar(game.stream.domain, **game.told)),
        _var_bound("safe"),
    ),
    Entry(
        "SwordSmall",
        "self-confident",
        _once(lambda game: SwordSmall(game.stream.domain, **game.told)),
        _small_bound("safe"),
    ),
    Entry(
        "SwordBest",
        "self-confident",
        _once(lambda game: SwordBest(game.stream.domain, **game.told)),
        _best_bound("safe"),
    ),
    Entry(
        "SwordPlusPlus",
        "self-confident",
        _once(lambda game: SwordPlusPlus(game.stream.domain, **game.told)),
        _plus_plus_bound,
    ),
    Entry(
        "Sword", "none", _once(lambda game: Sword(game.stream.domain)), lambda game, experts: None
    ),
    Entry(
        "Ader",
        "baseline",
        _once(
            lambda game: Ader(
                game.stream.domain, horizon=game.horizon, gradient_bound=game.gradient_bound
            )
        ),
        _ader_bound,
    ),
    _cover(SAOL),
    _cover(CBCE),
    _cover(SACS),
    Entry(
        "OEGD",
        "baseline",
        _once(lambda game: OEGD(game.stream.domain, extra_gradient_step(game))),
        _oegd_bound,
    ),
    Entry(
        "OGD",
        "baseline",
        _once(lambda game: OGD(game.stream.domain, descent_step(game))),
        _ogd_bound,
    ),
)
"""In the order of the table."""
