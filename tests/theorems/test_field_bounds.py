"""The theorems of the systems beside the Swords, on random games: no regret above its bound, against any comparator."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

import swordplay as sp
from games import Game, random_game
from swordplay.theory.regret import bounds
from theorems.test_bounds import Facts
from tolerances import THEOREM

QUICK, DEEP, CHUNK = 100, 1_000, 50
"""Games in every run, games of the campaign, and how many of those make one test."""


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
            "variation": lambda f: bounds.sword_plus_plus(**told, path_length=f.path_length, variation=f.variation),
            "loss": lambda f: bounds.sword_plus_plus(**told, path_length=f.path_length, comparator_loss=f.comparator_loss),
            "certificate": lambda f: plus.certificate(f.path_length),
        },
    )


def check(game: Game) -> dict[str, float]:
    """Play a game with every entrant; the largest share of each limit that was used up."""
    used: dict[str, float] = {}
    for name, learner, limits in entrants(game):
        match = game.play(learner)
        variation = match.variation
        for label, path in match.comparators().items():
            facts = Facts(sp.path_length(path), match.comparator_loss(path), variation)
            regret = match.total_loss - facts.comparator_loss
            for what, limit in limits.items():
                bound = limit(facts)
                slack = THEOREM * (match.total_loss + facts.comparator_loss + abs(bound))
                assert regret <= bound + slack, f"{game}: {name} {what} of {bound} broken by {regret}, comparators {label}"
                key = f"{name} {what}"
                used[key] = max(used.get(key, -math.inf), regret / bound if bound > 0 else -math.inf)
    return used


def merged(shares: Iterator[dict[str, float]]) -> dict[str, float]:
    most: dict[str, float] = {}
    for one in shares:
        for name, share in one.items():
            most[name] = max(most.get(name, -math.inf), share)
    return most


def test_no_bound_is_broken(record_property: Callable[[str, object], None]) -> None:
    used = merged(check(random_game(seed)) for seed in range(QUICK))
    record_property("used", used)
    assert min(used.values()) > 0.02  # none is idle


@pytest.mark.deep
@pytest.mark.parametrize("first", range(QUICK, QUICK + DEEP, CHUNK))
def test_no_bound_is_broken_in_the_campaign(first: int, record_property: Callable[[str, object], None]) -> None:
    record_property("used", merged(check(random_game(seed)) for seed in range(first, first + CHUNK)))
