"""Seeded games on balls, boxes and simplices, and learners that know the constants of a game."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import swordplay as sp

Learner = Any
Make = Callable[[Any], Learner]


def game(
    domain: Any, rounds: int = 120, *, seed: int, loss: str = "squared", motion: str = "jumps"
) -> sp.PlantedStream:
    """A planted path in a domain, rows of unit length, and noise on the targets (labels, for
    logistic losses).
    """
    rng = np.random.default_rng(seed)
    size, dim = 0.5 * domain.diameter, domain.dim
    steps = {
        "jumps": lambda: np.repeat(rng.normal(size=(rounds // 30 + 1, dim)), 30, axis=0)[:rounds],
        "walk": lambda: np.cumsum(0.1 * rng.normal(size=(rounds, dim)), axis=0),
        "rotation": lambda: np.cos(np.linspace(0, 6, rounds)[:, None] + np.arange(dim)),
    }[motion]()
    path = domain.project(domain.center + 0.4 * size * steps)
    rows = rng.normal(size=(rounds, dim))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    exact = np.einsum("td,td->t", rows, path)
    if loss == "logistic":
        targets = (
            rng.random(rounds)
            < 1 / (1 + np.exp(-4 * np.einsum("td,td->t", rows, path - domain.center)))
        ).astype(float)
    else:
        targets = exact + 0.1 * size * rng.normal(size=rounds)
    return sp.PlantedStream(rows, targets, loss, domain=domain, comparators=path, threshold=0.3)


GAMES: dict[str, Callable[[], sp.PlantedStream]] = {
    "ball, squared, jumps": lambda: game(sp.Ball(3), seed=1),
    "ball, logistic, walk": lambda: game(
        sp.Ball(3, radius=2.0), seed=2, loss="logistic", motion="walk"
    ),
    "far ball, squared, rotation": lambda: game(
        sp.Ball(3, 0.5, [1e3, -2e3, 5e2]), seed=3, motion="rotation"
    ),
    "box, huber, walk": lambda: game(
        sp.Box([-1.0, 0.0, 2.0], [1.0, 0.5, 5.0]), seed=4, loss="huber", motion="walk"
    ),
    "simplex, squared, rotation": lambda: game(sp.Simplex(4, total=2.0), seed=5, motion="rotation"),
}


def bounds_of(stream: Any) -> dict[str, Any]:
    """T and G of a game."""
    return {"horizon": len(stream), "gradient_bound": float(stream.gradient_bound(stream.domain))}


def constants(stream: Any) -> dict[str, Any]:
    """T, G and L of a game."""
    return {**bounds_of(stream), "smoothness": float(stream.smoothness)}


def gradient_only(stream: Any) -> dict[str, Any]:
    """G of a game."""
    return {"gradient_bound": bounds_of(stream)["gradient_bound"]}


COMPILED: dict[str, Make] = {
    "OGD": lambda s: sp.OGD(s.domain, step_size=0.3),
    "OEGD": lambda s: sp.OEGD(s.domain, step_size=0.25),
    "Ader": lambda s: sp.Ader(s.domain, **bounds_of(s)),
    "SwordVar": lambda s: sp.SwordVar(s.domain, **constants(s)),
    "SwordSmall": lambda s: sp.SwordSmall(s.domain, **constants(s)),
    "SwordBest": lambda s: sp.SwordBest(s.domain, **constants(s)),
    "SwordPlusPlus": lambda s: sp.SwordPlusPlus(s.domain, **constants(s)),
    "Sword": lambda s: sp.Sword(s.domain),
    "SwordAgeless": lambda s: sp.SwordAgeless(s.domain, smoothness=s.smoothness, memory=50.0),
}
"""Learners that both engines play."""
READABLE: dict[str, Make] = {
    "Curved": lambda s: sp.Curved(s.domain),
    "OptimisticOGD": lambda s: sp.OptimisticOGD(s.domain),
    "RestartedOGD": lambda s: sp.RestartedOGD(s.domain, **bounds_of(s), function_variation=10.0),
    "AderTrueLosses": lambda s: sp.AderTrueLosses(s.domain, **bounds_of(s)),
    "MetaGrad": lambda s: sp.MetaGrad(s.domain, **bounds_of(s)),
    "MetaGrad, diagonal": lambda s: sp.MetaGrad(s.domain, **bounds_of(s), diagonal=True),
    "CBCE": lambda s: sp.CBCE(s.domain, **gradient_only(s)),
    "SACS": lambda s: sp.SACS(s.domain, **gradient_only(s)),
    "SAOL": lambda s: sp.SAOL(s.domain, **gradient_only(s)),
    "PBGD, two points": lambda s: sp.PBGD(s.domain, **bounds_of(s), seed=3),
    "PBGD, one point": lambda s: sp.PBGD(
        s.domain, **bounds_of(s), value_bound=20.0, points=1, inner_radius=0.1, seed=4
    ),
    "OneProjection of Ader": lambda s: sp.OneProjection(
        s.domain, lambda ball: sp.Ader(ball, **bounds_of(s))
    ),
    "OneProjection of Sword": lambda s: sp.OneProjection(s.domain, sp.Sword),
}
META: dict[str, Make] = {
    "SwordBest, FixedShare": lambda s: sp.SwordBest(
        s.domain, **constants(s), meta=sp.metas.FixedShare()
    ),
    "SwordBest, FixedShare, told": lambda s: sp.SwordBest(
        s.domain, **constants(s), meta=sp.metas.FixedShare(0.05, 0.2, range=4.0)
    ),
    "SwordBest, AdaNormalHedge": lambda s: sp.SwordBest(
        s.domain, **constants(s), meta=sp.metas.AdaNormalHedge()
    ),
    "SwordBest, AdaptMLProd": lambda s: sp.SwordBest(
        s.domain, **constants(s), meta=sp.metas.AdaptMLProd()
    ),
    "SwordSmall, Squint": lambda s: sp.SwordSmall(s.domain, **constants(s), meta=sp.metas.Squint()),
    "Sword, AdaNormalHedge": lambda s: sp.Sword(s.domain, meta=sp.metas.AdaNormalHedge()),
    "SwordAgeless, Squint": lambda s: sp.SwordAgeless(
        s.domain, smoothness=s.smoothness, meta=sp.metas.Squint(range=3.0)
    ),
    "SwordPlusPlus, FixedShare": lambda s: sp.SwordPlusPlus(
        s.domain, **constants(s), meta=sp.metas.FixedShare()
    ),
    "Ader, AdaptMLProd": lambda s: sp.Ader(
        s.domain, **bounds_of(s), meta=sp.metas.AdaptMLProd(range=5.0)
    ),
    "AderTrueLosses, FixedShare": lambda s: sp.AderTrueLosses(
        s.domain, **bounds_of(s), meta=sp.metas.FixedShare()
    ),
    "Curved, Squint": lambda s: sp.Curved(s.domain, meta=sp.metas.Squint()),
}
RATES: dict[str, Make] = {
    "SwordBest, fixed rate": lambda s: sp.SwordBest(
        s.domain, **constants(s), learning_rate=sp.rates.Fixed(0.1)
    ),
    "SwordBest, no cap": lambda s: sp.SwordBest(
        s.domain, **constants(s), learning_rate=sp.rates.SelfConfident(offset=0.0)
    ),
    "SwordVar, doubling": lambda s: sp.SwordVar(
        s.domain, **constants(s), learning_rate=sp.rates.Doubling()
    ),
    "SwordSmall, doubling, told": lambda s: sp.SwordSmall(
        s.domain, **constants(s), learning_rate=sp.rates.Doubling(initial=0.5, cap=2.0)
    ),
    "SwordBest, optimism rate": lambda s: sp.SwordBest(
        s.domain, **constants(s), optimism_rate=0.05
    ),
    "SwordBest, pools": lambda s: sp.SwordBest(
        s.domain,
        **constants(s),
        variation_pool=[0.5, 0.1, 0.02],
        small_loss_pool=0.5 ** np.arange(1, 6),
    ),
    "Ader, pool": lambda s: sp.Ader(
        s.domain, **bounds_of(s), pool=[1.0, 0.1, 0.01], learning_rate=sp.rates.Fixed(0.5)
    ),
    "SwordPlusPlus, pool": lambda s: sp.SwordPlusPlus(
        s.domain,
        **constants(s),
        pool=0.125 * 0.5 ** np.arange(5),
        learning_rate=sp.rates.SelfConfident(offset=0.0),
    ),
    "SwordAgeless, pool": lambda s: sp.SwordAgeless(
        s.domain, smoothness=s.smoothness, pool=0.5 ** np.arange(4), memory=20.0
    ),
    "SwordVar, longer pool": lambda s: sp.SwordVar(
        s.domain,
        **constants(s),
        pool=sp.pools.longer(
            sp.pools.variation(diameter=s.domain.diameter, **constants(s)), below=2, above=3
        ),
    ),
}
