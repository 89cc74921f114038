"""Bounds at several arguments, pools, rates, quantities of a stream, and the paper's experiment."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import swordplay as sp
from worlds.reference_cases import Cases
from worlds.reference_cases.games import COMPILED, GAMES
from worlds.reference_cases.learners import functions, mixed, quadratics

D, G, L, T, P, V, N = (
    "diameter",
    "gradient_bound",
    "smoothness",
    "horizon",
    "path_length",
    "variation",
    "experts",
)
VALUES: dict[str, list[Any]] = {
    D: [2.0, 0.3],
    G: [3.0, 0.5],
    L: [0.5, 4.0],
    T: [50, 100_000],
    P: [0.0, 3.0, 400.0],
    V: [0.0, 6.0, 1e4],
    N: [5, 16],
    "comparator_loss": [0.0, 7.0],
    "learner_loss": [2.0, 90.0],
    "step_size": [0.1, 0.02],
    "tuning": ["safe", "paper"],
    "prior": [0.5, 0.01],
    "magnitude": [0.0, 30.0],
    "squares": [0.0, 20.0],
    "range": [1.0, 5.0],
    "share": [0.01, 0.2],
    "learning_rate": [0.05, 1.0],
    "switches": [0, 4],
    "first": [1, 5],
    "last": [12, 1000],
    "width": [3.0],
    "function_variation": [0.0, 1.5],
    "every": [1, 7],
    "surprise": [0.0, 25.0],
    "squared_path_length": [0.5],
    "first_distance": [0.0, 1.0],
    "minimizer_gradients": [9.0],
    "dim": [3, 20],
    "deviation": [7.0, 7e4],
    "squared_gradients": [60.0],
    "distance": [1.0, 0.0],
    "diagonal": [False, True],
}
"""Arguments that every bound is evaluated at, in all combinations."""
BOUNDS: dict[str, list[str]] = {
    "ogd": [D, "step_size", P, L, "comparator_loss", G, T],
    "oegd": [D, "step_size", P, V, L, G, "tuning"],
    "best_step_ogd": [D, P, L, "comparator_loss"],
    "best_step_oegd": [D, P, V, L, G],
    "sword_var": [D, G, L, P, V, N, "tuning"],
    "sword_small": [D, G, L, P, "comparator_loss", N, T, "tuning"],
    "sword_best": [D, G, L, P, V, "comparator_loss", N, T, "tuning"],
    "meta_var": [D, G, L, V, N, "tuning"],
    "meta_small": [D, G, L, "learner_loss", N, "tuning"],
    "meta_best": [D, G, L, V, "learner_loss", N, "tuning"],
    "ader": [D, G, P, T],
    "ader_true_losses": [D, G, P, T],
    "sword_plus_plus": [D, G, L, P, N, V, "comparator_loss"],
    "optimistic_ogd": [D, P, "surprise"],
    "restarted_ogd": [D, G, T, "function_variation", "every"],
    "omgd": [G, L, P, "squared_path_length", "first_distance", "minimizer_gradients"],
    "metagrad": [D, G, T, "dim", "deviation", "squared_gradients", "distance", "diagonal"],
    "saol": [D, G, "first", "last"],
    "cbce": [D, G, "first", "last"],
    "sacs": [D, G, "first", "last"],
    "aligator": ["width", "last"],
    "fixed_share": [N, "share", "learning_rate", "switches", T, "range"],
    "ada_normal_hedge": ["prior", "magnitude", T, "range"],
    "adapt_ml_prod": ["prior", N, "squares", T, "range"],
    "squint": ["prior", "squares", T, "range"],
}


def bound(name: str, _folder: Path) -> Mapping[str, Any]:
    """A bound at all combinations of its arguments; NaN where it refuses them."""
    function, values = getattr(sp.bounds, name), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for numbers in itertools.product(*(VALUES[argument] for argument in BOUNDS[name])):
            try:
                values.append(float(function(**dict(zip(BOUNDS[name], numbers, strict=True)))))
            except ValueError:
                values.append(float("nan"))
    return {"values": np.array(values), "finite": int(np.isfinite(values).sum())}


def bounds_of_sequences(_folder: Path) -> Mapping[str, Any]:
    """Bounds whose arguments are sequences: optimistic Hedge and the Newton expert."""
    rng = np.random.default_rng(50)
    mismatches = np.square(rng.normal(size=40))
    falling = 1 / np.sqrt(1 + np.cumsum(mismatches))
    g = rng.normal(size=(40, 3))
    ridges = np.sqrt(np.cumsum(np.square(g).sum(axis=1)))
    curvatures = np.cumsum(g[:, :, None] * g[:, None, :], axis=0) + ridges[:, None, None] * np.eye(
        3
    )
    newton = [
        sp.bounds.curved_expert(
            diameter=2.0,
            discount=discount,
            gradients=g,
            curvatures=curvatures,
            ridges=ridges,
            path_length=length,
        )
        for discount in (0.5, 0.99)
        for length in (0.0, 3.0)
    ]
    hedge = [
        sp.bounds.optimistic_hedge(
            experts=8, learning_rates=rates, mismatches=mismatches, tuning=tuning
        )
        for rates, tuning in ((falling, "safe"), (0.1, "safe"), (0.1, "paper"))
    ]
    return {"newton": newton, "hedge": hedge}


def pools(_folder: Path) -> Mapping[str, Any]:
    """Step sizes of every pool, at short and long horizons."""
    found = {}
    for name, told in itertools.product(
        ("variation", "small_loss", "safe", "plus_plus", "ader"), (0, 1)
    ):
        given = {
            argument: VALUES[argument][told]
            for argument in ((D, G, T) if name == "ader" else (D, G, L, T))
        }
        found[f"{name} {told}"] = getattr(sp.pools, name)(**given)
    return {**found, "longer": sp.pools.longer(found["variation 0"], below=3, above=2)}


def rates(_folder: Path) -> Mapping[str, Any]:
    """The paper's own rates, and priors."""
    given = [
        dict(zip((D, L, N, V), numbers, strict=True))
        for numbers in itertools.product((2.0, 0.3), (0.5, 4.0), (5,), (0.0, 60.0))
    ]
    small = [
        {"diameter": d, "experts": n, "squared_gradients": s}
        for d in (2.0, 0.3)
        for n in (5, 16)
        for s in (1.0, 500.0)
    ]
    return {
        "variation": [sp.rates.paper_variation(**one) for one in given],
        "small loss": [sp.rates.paper_small_loss(**one) for one in small],
        "best": [sp.rates.paper_best(**one, squared_gradients=40.0) for one in given],
        "telescoping": sp.metas.telescoping(7),
        "telescoping with tail": sp.metas.telescoping_with_tail(7),
        "uniform": sp.metas.uniform(7),
    }


def quantities(domain: Any, stream: Callable[[], Any], _folder: Path) -> Mapping[str, Any]:
    """P_T, S_T, F_T, V_T, the constants and the empirical variation of a stream in a domain."""
    losses = stream()
    count = len(losses)
    path = domain.project(
        domain.center
        + 0.3 * domain.diameter * np.cos(0.1 * np.arange(count)[:, None] + np.arange(domain.dim))
    )
    found = {
        "path length": sp.path_length(path),
        "squared path length": sp.squared_path_length(path),
        "comparator loss": sp.comparator_loss(losses, path),
        "comparator loss of 20": sp.comparator_loss(losses, path[:20], rounds=20),
        "empirical variation": sp.empirical_gradient_variation(losses, path),
        "squared gradients": sp.squared_gradients(losses, path),
    }
    for name in ("gradient_variation", "function_variation", "gradient_bound", "smoothness"):
        try:
            number = (
                sp.smoothness(losses) if name == "smoothness" else getattr(sp, name)(losses, domain)
            )
            found[name] = (
                float(number)
                if name == "smoothness"
                else {"value": float(number), "exact": number.exact}
            )
        except (TypeError, ValueError) as error:
            found[name] = type(error).__name__
    return found


def domain_of(domain: Any, _folder: Path) -> Mapping[str, Any]:
    """Projections, support function, diameter and centre of a domain."""
    rng = np.random.default_rng(51)
    points = domain.center + domain.diameter * rng.normal(size=(60, domain.dim))
    projected = domain.project(points)
    return {
        "projected": projected,
        "support": domain.support(rng.normal(size=(60, domain.dim))),
        "inside": domain.contains(points),
        "inside after": bool(domain.contains(projected, atol=1e-9).all()),
        "diameter": domain.diameter,
        "center": domain.center,
    }


def loss_of(loss: Any, _folder: Path) -> Mapping[str, Any]:
    """Values, gradients and smoothness of a loss at 50 points and at one."""
    points = np.random.default_rng(52).normal(size=(50, 3))
    return {
        "values": loss.value(points),
        "gradients": loss.gradient(points),
        "value": float(loss.value(points[0])),
        "gradient": loss.gradient(points[0]),
        "smoothness": float(loss.smoothness) if loss.smoothness is not None else None,
    }


def assumptions(make: Any, _folder: Path) -> Mapping[str, Any]:
    """What a learner has seen beside what it was told, and its theorem with and without this."""
    stream = GAMES["ball, squared, jumps"]()
    learner = make(stream)
    sp.play(learner, stream, engine="python")
    found = {"hold": learner.assumptions.hold, "broken": len(learner.assumptions.broken)}
    given = {"diameter": 2.0, "gradient_bound": 3.0, "path_length": 4.0}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found["ader"] = sp.bounds.ader(**given, horizon=120, assumptions=learner.assumptions)
    return {**found, "warnings": len(caught)}


def reproduced(_folder: Path) -> Mapping[str, Any]:
    """The numbers of `swordplay reproduce --rounds 1000 --json`."""
    import json

    from worlds.reference_cases.commands import leaves, run

    output = run("reproduce", "--rounds", "1000", "--json", "--quiet")
    return leaves(json.loads(output))


STREAMS: dict[str, tuple[Any, Callable[[], Any]]] = {
    **{name: (make().domain, make) for name, make in GAMES.items()},
    "ball, logistic, far": (sp.Ball(3, 5.0, [2.0, -1.0, 0.5]), GAMES["ball, logistic, walk"]),
    "box, squared": (sp.Box([-1.0, 0.0, 0.5], [1.0, 2.0, 0.7]), GAMES["ball, squared, jumps"]),
    "simplex, logistic": (sp.Simplex(3), GAMES["ball, logistic, walk"]),
    "ball, huber": (
        sp.Ball(4, 0.7),
        lambda: sp.streams.drift.random_walk(80, 4, loss="huber", threshold=0.1, seed=3),
    ),
    "ball, quadratic": (sp.Ball(3, 1.5), lambda: quadratics(sp.Ball(3, 1.5), 30)),
    "box, quadratic": (sp.Box([-1.0, -2.0], [0.5, 1.0]), lambda: quadratics(sp.Ball(2), 30)),
    "ball, mixed": (sp.Ball(2), lambda: mixed(sp.Ball(2), 30)),
    "ball, functions": (sp.Ball(2), lambda: functions(sp.Ball(2), 30)),
    "gradual instance": (
        sp.streams.paper.gradual(200).domain,
        lambda: sp.streams.paper.gradual(200),
    ),
    "alternating instance": (
        sp.streams.paper.alternating(200).domain,
        lambda: sp.streams.paper.alternating(200),
    ),
}
DOMAINS = {
    "ball": sp.Ball(3, 2.0, [1.0, 0.0, -1.0]),
    "far ball": sp.Ball(2, 0.1, [1e4, -1e4]),
    "box": sp.Box([-1.0, 0.0, 2.0], [1.0, 0.0, 5.0]),
    "simplex": sp.Simplex(5, total=3.0),
}
ROW = np.array([0.5, -1.0, 2.0])
LOSSES = {
    "squared": sp.SquaredLoss(ROW, 0.7),
    "logistic": sp.LogisticLoss(ROW, 1),
    "huber": sp.HuberLoss(ROW, 0.7, 0.4),
    "pinball": sp.PinballLoss(ROW, 0.7, 0.9),
    "quadratic": quadratics(sp.Ball(3), 1)[0],
    "weighted": sp.WeightedLoss(sp.LogisticLoss(ROW, 0), 3.5),
}

CASES: Cases = {f"bound: {name}": partial(bound, name) for name in BOUNDS}
CASES["bounds of sequences"] = bounds_of_sequences
CASES["pools"] = pools
CASES["rates"] = rates
for _name, (_domain, _stream) in STREAMS.items():
    CASES[f"quantities: {_name}"] = partial(quantities, _domain, _stream)
for _name, _domain in DOMAINS.items():
    CASES[f"domain: {_name}"] = partial(domain_of, _domain)
for _name, _loss in LOSSES.items():
    CASES[f"loss: {_name}"] = partial(loss_of, _loss)
for _name in ("SwordBest", "Ader"):
    CASES[f"assumptions: {_name}"] = partial(assumptions, COMPILED[_name])
CASES["reproduce"] = reproduced
