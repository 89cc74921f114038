"""Readable learners: every learner, meta, rate and pool, on every domain, loss and kind of
drift.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import swordplay as sp
from worlds.reference_cases import Cases
from worlds.reference_cases.games import (
    COMPILED,
    GAMES,
    META,
    RATES,
    READABLE,
    Make,
    bounds_of,
    constants,
    game,
)

drift = sp.streams.drift
SHOWN = ("weights", "step_sizes", "effective_step_size", "trust")
"""Attributes that a learner may have; a learner without experts has none."""


def results(
    learner: Any, ledger: Any, moment: Any = None, *, path_length: float = 1.0
) -> dict[str, Any]:
    """All that a learner and the record of its game say."""
    found = {"total loss": ledger.total_loss, "decision": learner.decision}
    if ledger.decisions is not None:
        found["decisions"] = ledger.decisions
    if ledger.weights is not None:
        found["all weights"] = np.concatenate(ledger.weights)
    for name in SHOWN:
        value = getattr(learner, name, None)
        if value is not None:
            found[name] = value
    if has_certificate(learner):
        for P in (0.0, 1.0, path_length):
            found[f"certificate {'of the path' if path_length == P else P}"] = learner.certificate(
                P
            )
        if moment is not None:
            found["certificate of a window"] = learner.certificate(1.0, since=moment)
    return found


def has_certificate(learner: Any) -> bool:
    """Whether a learner keeps a certificate of its regret; baselines say that they do not."""
    try:
        learner.certificate(0.0)
    except (AttributeError, NotImplementedError):
        return False
    return True


def played(
    make: Make, world: Any, _folder: Path, *, keep: tuple[str, ...] = ("decisions",)
) -> Mapping[str, Any]:
    """A game in the readable loop, in two parts, so that a window has a certificate."""
    stream = world()
    learner = make(stream)
    half = len(stream) // 2
    first = sp.play(learner, stream[:half], engine="python", keep=keep)
    moment = learner.moment if has_certificate(learner) and hasattr(learner, "moment") else None
    second = sp.play(learner, stream[half:], engine="python", keep=keep)
    P = sp.path_length(stream.comparators) if hasattr(stream, "comparators") else 1.0
    found = results(learner, second, moment, path_length=P)
    return {**found, "first total loss": first.total_loss}


def weighed(make: Make, world: Any, folder: Path) -> Mapping[str, Any]:
    """A game with the weights of every round."""
    return played(make, world, folder, keep=("decisions", "weights"))


def of_losses(make: Any, domain: Any, losses: Any, _folder: Path) -> Mapping[str, Any]:
    """A game of losses that are no table."""
    learner = make(domain)
    return results(learner, sp.play(learner, losses(domain), engine="python"))


def quadratics(domain: Any, rounds: int = 60) -> list[sp.QuadraticLoss]:
    """Quadratic losses around a target that jumps."""
    rng = np.random.default_rng(11)
    found = []
    for t in range(rounds):
        half = rng.normal(size=(domain.dim, domain.dim))
        if t % 15 == 0:
            target = domain.project(
                domain.center + 0.5 * domain.diameter * rng.normal(size=domain.dim)
            )
        matrix = half @ half.T / domain.dim
        matrix = (matrix + matrix.T) / 2
        found.append(
            sp.QuadraticLoss(matrix, matrix @ target, 0.5 * float(target @ matrix @ target))
        )
    return found


def functions(domain: Any, rounds: int = 60) -> list[sp.FunctionLoss]:
    """Losses given as functions: a smooth distance from a point that turns."""

    def loss(t: int) -> sp.FunctionLoss:
        target = domain.center + 0.3 * domain.diameter * np.cos(0.1 * t + np.arange(domain.dim))
        return sp.FunctionLoss(
            lambda x: np.sqrt(1 + np.square(x - target).sum(axis=-1)) - 1,
            lambda x: (x - target) / np.sqrt(1 + np.square(x - target).sum(axis=-1, keepdims=True)),
            smoothness=1.0,
        )

    return [loss(t) for t in range(rounds)]


def mixed(domain: Any, rounds: int = 60) -> list[Any]:
    """Losses of all kinds by turns, some weighted."""
    rng = np.random.default_rng(12)
    rows, targets = rng.normal(size=(rounds, domain.dim)), rng.normal(size=rounds)
    kinds = [
        lambda a, y: sp.SquaredLoss(a, y),
        lambda a, y: sp.LogisticLoss(a, int(y > 0)),
        lambda a, y: sp.HuberLoss(a, y, 0.5),
        lambda a, y: sp.WeightedLoss(sp.SquaredLoss(a, y), 2.5),
        lambda a, y: sp.PinballLoss(a, y, 0.8),
    ]
    return [kinds[t % len(kinds)](rows[t], targets[t]) for t in range(rounds)]


def late(_folder: Path) -> Mapping[str, Any]:
    """MildOGD, with losses that arrive up to seven rounds late in a seeded order."""
    stream = GAMES["ball, squared, jumps"]()
    learner = sp.MildOGD(stream.domain, **bounds_of(stream), delay=3.5)
    rng, waiting, decisions = np.random.default_rng(6), [], []
    for t, loss in enumerate(stream):
        decisions.append(learner.decision)
        waiting.append((t + int(rng.integers(0, 8)), learner.wait(), loss))
        for _, number, arrived in sorted(
            (one for one in waiting if one[0] <= t), key=lambda one: one[:2]
        ):
            learner.arrive(number, arrived)
        waiting = [one for one in waiting if one[0] > t]
    return {
        "decisions": np.array(decisions),
        "weights": learner.weights,
        "step sizes": learner.step_sizes,
        "outstanding": learner.outstanding,
    }


def forecaster(make: Any, domain: Any, _folder: Path) -> Mapping[str, Any]:
    """Forecasters of a noisy sequence that seldom moves."""
    rng = np.random.default_rng(7)
    means = np.repeat(rng.uniform(-0.5, 0.5, (6, domain.dim)), 25, axis=0)
    targets = domain.project(domain.center + means + 0.1 * rng.normal(size=means.shape))
    losses = [sp.QuadraticLoss(np.eye(domain.dim), y, 0.5 * float(y @ y)) for y in targets]
    learner = make(domain)
    return results(learner, sp.play(learner, losses, engine="python"))


def guessing(_folder: Path) -> Mapping[str, Any]:
    """OptimisticOGD with guesses that are sometimes right."""
    stream = GAMES["ball, squared, jumps"]()
    learner, decisions = sp.OptimisticOGD(stream.domain), []
    for t, loss in enumerate(stream):
        if t % 3:
            learner.expect(loss.gradient(learner.decision) * (1.0 if t % 2 else 0.5))
        decisions.append(learner.decision)
        learner.observe(loss)
    return {
        "decisions": np.array(decisions),
        "certificate": learner.certificate(1.0),
        "step sizes": learner.step_sizes,
    }


def many_steps(_folder: Path) -> Mapping[str, Any]:
    """OMGD, told how convex and smooth its quadratic losses are."""
    domain = sp.Ball(3, 2.0)
    rng = np.random.default_rng(8)
    targets = np.repeat(rng.normal(size=(4, 3)), 12, axis=0)
    matrix = np.diag([0.5, 1.0, 2.0])
    losses = [sp.QuadraticLoss(matrix, matrix @ y, 0.5 * float(y @ matrix @ y)) for y in targets]
    learner = sp.OMGD(domain, strong_convexity=0.5, smoothness=2.0)
    return results(learner, sp.play(learner, losses, engine="python"))


def saved(make: Make, world: Any, folder: Path) -> Mapping[str, Any]:
    """Saved half-way, loaded into a new learner, and played to the end."""
    stream = world()
    first, half = make(stream), len(stream) // 2
    sp.play(first, stream[:half], engine="python")
    first.save(folder / "half.ckpt")
    second = make(stream)
    second.load(folder / "half.ckpt")
    return results(second, sp.play(second, stream[half:], engine="python"))


def row_by_row(make: Make, world: Any, _folder: Path) -> Mapping[str, Any]:
    """By `sp.rounds`, and the split of the regret at the end."""
    stream = world()
    learner = make(stream)
    values = [(turn.number, turn.value, *turn.decision) for turn in sp.rounds(learner, stream)]
    again = make(stream)
    ledger = sp.play(again, stream, engine="python")
    split = ledger.split(again, stream.comparators)
    return {
        "rounds": np.array(values),
        "regret": ledger.regret(stream.comparators),
        "static regret": ledger.regret(stream.domain.center),
        "meta": split.meta,
        "expert": split.expert,
        "split by": split.step_sizes,
    }


WORLDS = {
    "jumps": lambda: drift.jumps(150, 3, every=40, noise=0.1, seed=1),
    "rotation": lambda: drift.rotation(150, 2, turns=2.0, noise=0.05, seed=2),
    "random walk": lambda: drift.random_walk(
        150, 4, step=0.05, loss="huber", threshold=0.2, seed=3
    ),
    "noise then jumps": lambda: drift.noise_then_jumps(150, 3, every=30, seed=4),
    "jumps then noise": lambda: drift.jumps_then_noise(150, 3, every=30, loss="logistic", seed=5),
    "alternation": lambda: drift.adversarial_alternation(150, 2, every=2, seed=6),
    "gradual instance": lambda: sp.streams.paper.gradual(150),
    "alternating instance": lambda: sp.streams.paper.alternating(150),
}
READABLE_GAMES = ("ball, squared, jumps", "box, huber, walk", "simplex, squared, rotation")
"""Where learners play that are no Swords.

(PBGD needs a domain with an inside, which a simplex has not.)
"""
BALL, WIDE_BOX = sp.Ball(3, 1.5, [0.2, 0.0, -0.1]), sp.Box([-2.0, -1.0, 0.0], [1.0, 3.0, 0.5])

CASES: Cases = {}
for _name, _make in {**COMPILED, **READABLE}.items():
    for _world, _game in GAMES.items():
        if _name in COMPILED or (
            _world in READABLE_GAMES and not (_name.startswith("PBGD") and "simplex" in _world)
        ):
            CASES[f"{_world}: {_name}"] = partial(played, _make, _game)
for _name, _make in {**META, **RATES}.items():
    CASES[f"ball, squared, jumps: {_name}"] = partial(weighed, _make, GAMES["ball, squared, jumps"])
for _name in ("SwordBest, FixedShare", "SwordSmall, Squint"):
    CASES[f"simplex, squared, rotation: {_name}"] = partial(
        played, META[_name], GAMES["simplex, squared, rotation"]
    )
for _world, _stream in WORLDS.items():
    for _name in ("Sword", "SwordBest"):
        CASES[f"drift, {_world}: {_name}"] = partial(weighed, COMPILED[_name], _stream)
for _kind, _losses in (("quadratic", quadratics), ("function", functions), ("mixed", mixed)):
    for _domain in (BALL, WIDE_BOX) if _kind == "quadratic" else (BALL,):
        for _name, _made in {
            "Sword": sp.Sword,
            "Curved": sp.Curved,
            "OptimisticOGD": sp.OptimisticOGD,
            "Ader": lambda domain: sp.Ader(domain, horizon=60, gradient_bound=10.0),
        }.items():
            CASES[f"{_kind} losses, {type(_domain).__name__}: {_name}"] = partial(
                of_losses, _made, _domain, _losses
            )
for _domain in (sp.Box([-1.0], [1.0]), BALL):
    CASES[f"sequence, {_domain.dim}: Aligator"] = partial(forecaster, sp.Aligator, _domain)
    CASES[f"sequence, {_domain.dim}: Arrows"] = partial(
        forecaster, lambda domain: sp.Arrows(domain, noise=0.1, horizon=150), _domain
    )
for _name in ("Sword", "SwordBest", "Ader"):
    CASES[f"saved half-way: {_name}"] = partial(saved, COMPILED[_name], GAMES["box, huber, walk"])
    CASES[f"row by row: {_name}"] = partial(
        row_by_row, COMPILED[_name], GAMES["simplex, squared, rotation"]
    )
for _name, _make in {
    "MetaGrad": READABLE["MetaGrad"],
    "CBCE": READABLE["CBCE"],
    "SwordBest, Squint": lambda s: sp.SwordBest(s.domain, **constants(s), meta=sp.metas.Squint()),
}.items():
    CASES[f"saved half-way: {_name}"] = partial(saved, _make, GAMES["ball, squared, jumps"])
CASES["late losses: MildOGD"] = late
CASES["guesses: OptimisticOGD"] = guessing
CASES["strongly convex: OMGD"] = many_steps
CASES["one dimension: Sword"] = partial(
    played, COMPILED["Sword"], partial(game, sp.Box([2.0], [7.0]), seed=9, motion="rotation")
)
