"""The theorems of the systems beside the Swords, on random games: no regret above its bound,
against any comparator.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import count, islice
from typing import Any, NamedTuple

import pytest

import swordplay as sp
from games import Game, random_game
from swordplay.core.types import Matrix
from swordplay.parts.domains import enclosing_ball
from swordplay.theory import bounds
from theorems.test_bounds import Facts
from tolerances import THEOREM

QUICK, DEEP, CHUNK = 100, 1_000, 50
"""Games in every run, games of the campaign, and how many of those make one test."""


SHORT = 60
"""Rounds of a game that every run plays at the most; the campaign plays the longer ones too."""


def short_games(number: int) -> list[int]:
    """The first seeds of short games."""
    return list(islice((seed for seed in count() if random_game(seed).horizon <= SHORT), number))


class Entrant(NamedTuple):
    """A learner, and what it owes at the most."""

    name: str
    learner: Any
    limits: dict[str, Callable[[Facts], float]]


def entrants(game: Game) -> Iterator[Entrant]:
    D, G, L, T = game.domain.diameter, game.gradient_bound, game.smoothness, game.horizon
    known: dict[str, Any] = {"gradient_bound": G, "smoothness": L}
    plus = sp.SwordPlusPlus(game.domain, horizon=T, **known)
    told: dict[str, Any] = {"diameter": D, **known, "experts": len(plus.weights)}
    yield Entrant(
        "SwordPlusPlus",
        plus,
        {
            "variation": lambda f: bounds.sword_plus_plus(
                **told, path_length=f.path_length, variation=f.variation
            ),
            "loss": lambda f: bounds.sword_plus_plus(
                **told, path_length=f.path_length, comparator_loss=f.comparator_loss
            ),
            "certificate": lambda f: plus.certificate(f.path_length),
        },
    )

    ader: dict[str, Any] = {"gradient_bound": G, "horizon": T}
    true = sp.AderTrueLosses(game.domain, **ader)
    yield Entrant(
        "AderTrueLosses",
        true,
        {
            "bound": lambda f: bounds.ader_true_losses(
                diameter=D, **ader, path_length=f.path_length
            ),
            "certificate": lambda f: true.certificate(f.path_length),
        },
    )
    once = sp.OneProjection(game.domain, lambda ball: sp.Ader(ball, **ader))
    wide = enclosing_ball(game.domain).diameter
    yield Entrant(
        "OneProjection",
        once,
        {
            "bound": lambda f: bounds.ader(diameter=wide, **ader, path_length=f.path_length),
            "certificate": lambda f: once.certificate(f.path_length),
        },
    )
    optimistic = sp.OptimisticOGD(game.domain)
    yield Entrant(
        "OptimisticOGD",
        optimistic,
        {
            "bound": lambda f: bounds.optimistic_ogd(
                diameter=D,
                path_length=f.path_length,
                surprise=optimistic.state()["experts.0.squared_error_sum"][0],
            ),
            "certificate": lambda f: optimistic.certificate(f.path_length),
        },
    )


def check(game: Game) -> dict[str, float]:
    """Play a game with every entrant; the largest share of each limit that was used up."""
    used: dict[str, float] = {}
    comparators: dict[str, Matrix] = {}
    variation = 0.0
    for name, learner, limits in entrants(game):
        match = game.play(learner)
        if game.adaptive or not comparators:  # without an adversary all meet the same losses
            comparators, variation = match.comparators(), match.variation
        for label, path in comparators.items():
            facts = Facts(sp.path_length(path), match.comparator_loss(path), variation)
            regret = match.total_loss - facts.comparator_loss
            for what, limit in limits.items():
                bound = limit(facts)
                slack = THEOREM * (match.total_loss + facts.comparator_loss + abs(bound))
                assert regret <= bound + slack, (
                    f"{game}: {name} {what} of {bound} broken by {regret}, comparators {label}"
                )
                key = f"{name} {what}"
                used[key] = max(
                    used.get(key, -math.inf), regret / bound if bound > 0 else -math.inf
                )
    return used


def merged(shares: Iterator[dict[str, float]]) -> dict[str, float]:
    most: dict[str, float] = {}
    for one in shares:
        for name, share in one.items():
            most[name] = max(most.get(name, -math.inf), float(share))
    return most


def test_no_bound_is_broken(record_property: Callable[[str, object], None]) -> None:
    used = merged(check(random_game(seed)) for seed in short_games(QUICK))
    record_property("used", used)
    assert min(used.values()) > 0.02  # none is idle


@pytest.mark.deep
@pytest.mark.parametrize("first", range(QUICK, QUICK + DEEP, CHUNK))
def test_no_bound_is_broken_in_the_campaign(
    first: int, record_property: Callable[[str, object], None]
) -> None:
    record_property(
        "used", merged(check(random_game(seed)) for seed in range(first, first + CHUNK))
    )
