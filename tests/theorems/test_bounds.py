"""The theorems, on random games: no regret above its bound, no regret above its certificate,
against any comparator.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import swordplay as sp
from games import Game, Match, random_game
from loss_tables import longest_affine
from swordplay import bounds
from swordplay.core.types import Matrix
from swordplay.parts import pools, rates
from swordplay.parts.learners.learner import StatefulLearner
from tolerances import SPHERE_GRID, THEOREM

QUICK, DEEP, CHUNK = 24, 10_000, 50
"""Games in every run (one turn of 4 families and 6 dynamics), games of the campaign, and how
many of those make one test.
"""
READABLE = 11
"""Of so many games of the campaign one is played by the readable learners: what dominates its
time is their Python.
"""
SHARP = (31, 44, 46, 79)
"""Games that come close to the certificates: a walk in a ball, two adversaries, a walk on an
interval.
"""


class Facts(NamedTuple):
    """What a bound may ask about a match and one comparator sequence."""

    path_length: float
    comparator_loss: float
    variation: float


Bound = Callable[[Facts], float]


class Contestant(NamedTuple):
    """A learner and, where a theorem speaks of it, its bound."""

    name: str
    learner: StatefulLearner[Any]
    bound: Bound | None


def contestants(game: Game) -> Iterator[Contestant]:
    yield from singles(game)
    yield from safe(game)
    yield from tuned_by_the_paper(game)


def singles(game: Game) -> Iterator[Contestant]:
    """One step size each: tiny, tuned for the worst case, and just short of 1/L."""
    D, G, L, T = game.domain.diameter, game.gradient_bound, game.smoothness, game.horizon

    def descent(step: float) -> Bound:
        known: dict[str, Any] = {
            "diameter": D,
            "step_size": step,
            "smoothness": L,
            "gradient_bound": G,
            "horizon": T,
        }
        return lambda facts: bounds.ogd(
            **known, path_length=facts.path_length, comparator_loss=facts.comparator_loss
        )

    def extra_gradient(step: float) -> Bound:
        known: dict[str, Any] = {
            "diameter": D,
            "step_size": step,
            "smoothness": L,
            "gradient_bound": G,
        }
        return lambda facts: bounds.oegd(
            **known, path_length=facts.path_length, variation=facts.variation
        )

    for step in (0.02 / L, min(D / (G * math.sqrt(T)), 0.5 / L), 0.97 / L):
        yield Contestant("OGD", sp.OGD(game.domain, step), descent(step))
        yield Contestant("OEGD", sp.OEGD(game.domain, step), extra_gradient(step))


def safe(game: Game) -> Iterator[Contestant]:
    """The library's defaults, Ader, and the one without settings, which answers with its
    certificate alone.
    """
    D, G, T = game.domain.diameter, game.gradient_bound, game.horizon
    known: dict[str, Any] = {"gradient_bound": G, "smoothness": game.smoothness}
    var = sp.SwordVar(game.domain, horizon=T, **known)
    small = sp.SwordSmall(game.domain, horizon=T, **known)
    best = sp.SwordBest(game.domain, horizon=T, **known)
    yield Contestant(
        "SwordVar",
        var,
        lambda facts: bounds.sword_var(
            diameter=D,
            **known,
            experts=len(var.weights),
            path_length=facts.path_length,
            variation=facts.variation,
        ),
    )
    yield Contestant(
        "SwordSmall",
        small,
        lambda facts: bounds.sword_small(
            diameter=D,
            **known,
            experts=len(small.weights),
            path_length=facts.path_length,
            comparator_loss=facts.comparator_loss,
        ),
    )
    yield Contestant(
        "SwordBest",
        best,
        lambda facts: bounds.sword_best(
            diameter=D, **known, experts=len(best.weights), **facts._asdict()
        ),
    )
    yield Contestant(
        "Ader",
        sp.Ader(game.domain, horizon=T, gradient_bound=G),
        lambda facts: bounds.ader(
            diameter=D, gradient_bound=G, path_length=facts.path_length, horizon=T
        ),
    )
    yield Contestant("Sword", sp.Sword(game.domain), None)


def tuned_by_the_paper(game: Game) -> Iterator[Contestant]:
    """The paper's pools, its rates (with a guess where they need a future that an adversary has
    not made yet) and doubling.
    """
    D, L, T = game.domain.diameter, game.smoothness, game.horizon
    known: dict[str, Any] = {"gradient_bound": game.gradient_bound, "smoothness": L, "horizon": T}
    V = game.gradient_bound**2 * T if game.adaptive else Match(game, np.arange(T), 0.0).variation
    F = game.gradient_bound**2 * T
    pv, ps = pools.variation(diameter=D, **known), pools.small_loss(diameter=D, **known)
    var = rates.paper_variation(diameter=D, smoothness=L, experts=len(pv), variation=V)
    small = rates.paper_small_loss(diameter=D, experts=len(ps), squared_gradients=F)
    best = rates.paper_best(
        diameter=D, smoothness=L, experts=len(pv) + len(ps), variation=V, squared_gradients=F
    )
    two: dict[str, Any] = {"variation_pool": pv, "small_loss_pool": ps}
    yield Contestant(
        "SwordVar, paper",
        sp.SwordVar(game.domain, **known, pool=pv, learning_rate=rates.Fixed(var)),
        None,
    )
    yield Contestant(
        "SwordSmall, paper",
        sp.SwordSmall(game.domain, **known, pool=ps, learning_rate=rates.Fixed(small)),
        None,
    )
    yield Contestant(
        "SwordBest, paper",
        sp.SwordBest(
            game.domain, **known, **two, learning_rate=rates.Fixed(best), optimism_rate=2.0
        ),
        None,
    )
    yield Contestant(
        "SwordBest, doubling",
        sp.SwordBest(game.domain, **known, learning_rate=rates.Doubling()),
        None,
    )


def check(game: Game, *, compiled: bool = False) -> dict[str, float]:
    """Play a game with every contestant; the largest share of each bound that was used up."""
    used: dict[str, float] = {}
    comparators: dict[str, Matrix] = {}
    variation = 0.0
    for name, learner, bound in contestants(game):
        match = game.play(learner, compiled=compiled)
        # Without an adversary all contestants met the same losses.
        if game.adaptive or not comparators:
            comparators, variation = match.comparators(), match.variation
        for label, path in comparators.items():
            F, P = match.comparator_loss(path), sp.path_length(path)
            regret = match.total_loss - F
            limits = {f"{name} certificate": learner.certificate(P)}
            if bound is not None:
                limits[f"{name} bound"] = bound(Facts(P, F, variation))
            for what, limit in limits.items():
                slack = THEOREM * (match.total_loss + F + abs(limit))
                assert regret <= limit + slack, (
                    f"{game}: {what} of {limit} broken by {regret}, comparators {label}"
                )
                if limit > 0:
                    used[what] = max(used.get(what, -math.inf), regret / limit)
    return used


@pytest.mark.parametrize("seed", range(QUICK))
def test_no_bound_is_broken(seed: int, record_property: Callable[[str, object], None]) -> None:
    """Every family and all dynamics by the readable learners, half of the games, and by the
    engine where it can.
    """
    record_property("used", check(random_game(seed), compiled=(seed + seed // 4) % 2 == 1))


@pytest.mark.deep
@pytest.mark.parametrize("first", range(QUICK, QUICK + DEEP, CHUNK))
def test_no_bound_is_broken_in_the_campaign(
    first: int, record_property: Callable[[str, object], None]
) -> None:
    """By the engine where it can, which is most of the games.

    Every READABLE-th of all, and quadratic losses, in Python.
    """
    for seed in range(first, first + CHUNK):
        record_property("used", check(random_game(seed), compiled=seed % READABLE != 0))


def test_the_certificates_are_not_idle() -> None:
    """These games use up more than half of every certificate: one that were twice as good would
    be wrong.
    """
    used = [check(random_game(seed), compiled=True) for seed in SHARP]
    certified = {what for shares in used for what in shares if what.endswith("certificate")}
    assert len(certified) == 11
    for what in certified:
        assert max(shares[what] for shares in used if what in shares) > 0.5, what


@pytest.mark.parametrize(
    "seed", [*range(24), *(pytest.param(seed, marks=pytest.mark.deep) for seed in range(24, 48))]
)
def test_the_games_keep_their_word(seed: int) -> None:
    """G, L and V are never below what sampled points show, and every loss is non-negative, also
    off the domain.
    """
    game, rng = random_game(seed), np.random.default_rng(seed)
    match = game.play(sp.OGD(game.domain, 0.5 / game.smoothness))
    anywhere = game.domain.center + 3 * game.domain.diameter * rng.normal(
        size=(60, game.domain.dim)
    )
    inside = game.domain.project(anywhere)
    gradients = np.array([game.losses[k].gradient(inside) for k in match.which])
    assert np.linalg.norm(gradients, axis=2).max() <= game.gradient_bound * (1 + THEOREM)
    sampled = np.square(np.diff(gradients, axis=0)).sum(axis=2).max(axis=1).sum()
    assert sampled <= match.variation + THEOREM * game.gradient_bound**2
    for k in match.which:
        ahead = np.linalg.norm(np.diff(game.losses[k].gradient(anywhere), axis=0), axis=1)
        assert (
            ahead
            <= (1 + THEOREM) * game.smoothness * np.linalg.norm(np.diff(anywhere, axis=0), axis=1)
        ).all()
        values = game.losses[k].value(anywhere)
        assert (values >= -THEOREM * np.abs(values).max()).all()
    for path in match.comparators().values():
        assert game.domain.contains(path, atol=THEOREM * game.domain.diameter).all()


def test_longest_affine_is_met_on_the_ball() -> None:
    """The dual bound of the ball is tight: dense sampling of the sphere comes close, from below."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        ball = sp.Ball(2, radius=rng.uniform(0.1, 3), center=rng.normal(size=2))
        half, h = rng.normal(size=(1, 2, 2)), rng.normal(size=(1, 2))
        H = half + half.transpose(0, 2, 1)
        angles = np.linspace(0, 2 * math.pi, 20_001)
        circle = ball.center + ball.radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        met = np.linalg.norm(circle @ H[0] - h, axis=1).max()
        assert met <= longest_affine(ball, H, h)[0] * (1 + THEOREM)
        assert longest_affine(ball, H, h)[0] <= met * (1 + SPHERE_GRID)
