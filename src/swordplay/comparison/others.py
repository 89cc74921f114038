"""The rest of the field: baselines of the literature that play the same game when they are asked
for (``--learners all``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from swordplay.comparison.field import Field, Said
from swordplay.core.types import Learner
from swordplay.parts.domains import Ball
from swordplay.parts.learners import (
    CBCE,
    PBGD,
    SACS,
    SAOL,
    AderTrueLosses,
    MetaGrad,
    OptimisticOGD,
    RestartedOGD,
    SwordBest,
)
from swordplay.parts.metas import AdaNormalHedge, AdaptMLProd, FixedShare, Meta, Squint

PERIODS = (10, 100, 1_000, 10_000)
"""Rounds between restarts, of which the best counts: the one that the theory asks for needs the
future.
"""
WIDEST_NEWTON = 64
"""Columns up to which MetaGrad keeps the whole curvature: beyond, every round decomposes a large
matrix.
"""
Make = Callable[[Ball], Learner]


class Other(NamedTuple):
    """What it had to be told that only hindsight knows, and how it is made: once, or with
    several settings by their label.
    """

    told: str
    makes: Mapping[str, Make]


def others(field: Field) -> dict[str, Other]:
    """By name, learners that the readable loop plays, some ten to a hundred times slower than
    the engine.
    """
    T, G, L = len(field.rows), field.gradient_bound, field.smoothness
    metas: dict[str, Callable[[], Meta]] = {
        "fixed share": FixedShare,
        "AdaNormalHedge": AdaNormalHedge,
        "Adapt-ML-Prod": AdaptMLProd,
        "Squint": Squint,
    }
    diagonal = field.domain.dim > WIDEST_NEWTON
    found = {
        "sp.AderTrueLosses": _one("T, G", lambda X: AderTrueLosses(X, horizon=T, gradient_bound=G)),
        "sp.OptimisticOGD": _one("", OptimisticOGD),
        "best sp.RestartedOGD": Other(
            "G, period", {str(every): _restarted(T, G, every) for every in PERIODS if every <= T}
        ),
        "sp.SAOL": _one("G", lambda X: SAOL(X, gradient_bound=G)),
        "sp.CBCE": _one("G", lambda X: CBCE(X, gradient_bound=G)),
        "sp.SACS": _one("G", lambda X: SACS(X, gradient_bound=G)),
        "sp.MetaGrad": _one(
            "T, G", lambda X: MetaGrad(X, horizon=T, gradient_bound=G, diagonal=diagonal)
        ),
        "sp.PBGD": _one("T, G", lambda X: PBGD(X, horizon=T, gradient_bound=G)),
    }
    swapped = {
        f"SwordBest+{name}": _one("T, G, L", _weighed(meta, T, G, L))
        for name, meta in metas.items()
    }
    return found | swapped


def player(make: Make) -> Callable[[Field], Said]:
    """Lets a fresh learner play every stream of the field in the readable loop."""

    def play(field: Field) -> Said:
        columns = []
        for stream in field.streams:
            learner, said = make(field.domain), np.empty(len(stream))
            for t, (row, loss) in enumerate(zip(stream.features, stream, strict=True)):
                said[t] = row @ learner.decision
                learner.observe(loss)
            columns.append(said)
        return field.said(np.column_stack(columns))

    return play


def _one(told: str, make: Make) -> Other:
    return Other(told, {"": make})


def _restarted(horizon: int, gradient_bound: float, every: int) -> Make:
    return lambda X: RestartedOGD(X, horizon=horizon, gradient_bound=gradient_bound, every=every)


def _weighed(meta: Callable[[], Meta], T: int, G: float, L: float) -> Make:
    return lambda X: SwordBest(X, horizon=T, gradient_bound=G, smoothness=L, meta=meta())
