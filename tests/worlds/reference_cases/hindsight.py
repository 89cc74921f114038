"""The best comparators of hindsight: fixed, in blocks, of a budget or a price of path length,
and the frontier.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import swordplay as sp
from worlds.reference_cases import Cases
from worlds.reference_cases.games import COMPILED, GAMES, game
from worlds.reference_cases.learners import functions, quadratics
from worlds.reference_cases.values import Sized

GAP_FORGIVES = 1e-6
"""A gap is a proof that no sequence does better by more: a remainder of the losses, compared on
this fraction of them.
"""


def best(
    domain: Any, stream: Any, budgets: tuple[float, ...], prices: tuple[float, ...], _folder: Path
) -> Mapping[str, Any]:
    """Best sequences of several budgets and prices."""
    losses, found = stream(), {}
    for name, numbers in (("path_length", budgets), ("penalty", prices)):
        for number in numbers:
            answer = sp.hindsight.best_sequence(losses, domain, **{name: number})
            found[f"{name} {number}"] = {
                "comparators": answer.comparators,
                "loss": answer.loss,
                "path length": answer.path_length,
                "penalty": answer.penalty,
                "gap": Sized(answer.gap, max(GAP_FORGIVES * abs(answer.loss) / 1e-10, 1e-300)),
            }
    return found


def fixed(domain: Any, stream: Any, _folder: Path) -> Mapping[str, Any]:
    """Best fixed point, of blocks, and of every round; and the gap of a point."""
    losses = stream()
    point = sp.hindsight.best_fixed(losses, domain)
    return {
        "fixed": point,
        "loss": sp.comparator_loss(losses, point),
        "blocks": sp.hindsight.block_minimizers(losses, domain, 20),
        "each round": sp.hindsight.minimizers(losses, domain),
        "gap of the center": sp.hindsight.gap(losses, domain, domain.center),
    }


def frontier(domain: Any, stream: Any, _folder: Path) -> Mapping[str, Any]:
    """The frontier of loss and path length."""
    curve = sp.hindsight.frontier(stream(), domain, points=6)
    return {
        "path lengths": curve.path_lengths,
        "losses": curve.losses,
        "least loss": curve.least_loss([0.5, 2.0]),
        "lower bound": curve.lower_bound([0.5, 2.0]),
    }


def regret_curve(_folder: Path) -> Mapping[str, Any]:
    """Regret against the best sequences of every path length, beside certificate and theorem."""
    stream = GAMES["ball, squared, jumps"]()
    learner = COMPILED["SwordBest"](stream)
    ledger = sp.play(learner, stream, engine="python")
    told = {"diameter": 2.0, "gradient_bound": 4.0, "horizon": len(stream)}
    curve = ledger.regret_curve(
        learner,
        path_lengths=[0.0, 1.0, 3.0, 10.0],
        bound=lambda P, _: sp.bounds.ader(**told, path_length=P),
    )
    return {"regrets": curve.regrets, "certificate": curve.certificate, "bound": curve.bound}


BALL, ONE = sp.Ball(3, 1.5), sp.Box([-1.0], [1.0])
STREAMS: dict[str, tuple[Any, Any]] = {
    **{name: (make().domain, make) for name, make in GAMES.items()},
    "ball, quadratic": (BALL, lambda: quadratics(BALL)),
    "ball, functions": (sp.Ball(2), lambda: functions(sp.Ball(2), 25)),
    "one dimension": (ONE, lambda: game(ONE, 200, seed=60, motion="walk")),
}
CASES: Cases = {}
for _name, (_domain, _stream) in STREAMS.items():
    CASES[f"sequences: {_name}"] = partial(best, _domain, _stream, (0.5, 2.0), (0.3,))
    if "functions" not in _name:
        CASES[f"fixed: {_name}"] = partial(fixed, _domain, _stream)
for _name in ("ball, squared, jumps", "box, huber, walk", "one dimension"):
    CASES[f"frontier: {_name}"] = partial(frontier, *STREAMS[_name])
CASES["regret curve"] = regret_curve
CASES["sequences: 20 columns"] = partial(
    best, sp.Ball(20), lambda: game(sp.Ball(20), 400, seed=61), (1.0,), (1.0,)
)
