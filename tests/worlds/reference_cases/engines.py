"""The compiled engine: whole arrays, row by row, sparse, wide, single precision, many streams,
saved numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import swordplay as sp
from worlds.reference_cases import Cases
from worlds.reference_cases.games import COMPILED, GAMES, RATES, Make, game
from worlds.reference_cases.learners import WORLDS, results


def played(make: Make, world: Any, _folder: Path) -> Mapping[str, Any]:
    """A game in compiled calls, in two parts, so that a window has a certificate."""
    stream = world()
    learner, half = make(stream), len(stream) // 2
    keep = ("decisions",)
    first = sp.play(learner, stream[:half], engine="compiled", keep=keep)
    moment = learner.moment
    second = sp.play(learner, stream[half:], engine="compiled", keep=keep)
    P = sp.path_length(stream.comparators) if hasattr(stream, "comparators") else 1.0
    found = results(learner, second, moment, path_length=P)
    return {**found, "first total loss": first.total_loss}


def all_weights(make: Make, world: Any, _folder: Path) -> Mapping[str, Any]:
    """A game in one compiled call that keeps the weights of every round."""
    stream = world()
    learner = make(stream)
    ledger = sp.play(learner, stream, engine="compiled", keep=("decisions", "weights"))
    return results(learner, ledger)


def online(make: Make, world: Any, dtype: Any, _folder: Path) -> Mapping[str, Any]:
    """Row by row, predicted and learned.

    half-way its numbers are saved and loaded into another engine.
    """
    stream = world()
    learner = make(stream)
    told = {"loss": stream.loss, "threshold": stream.threshold, "dtype": dtype}
    model, said = sp.engine.online(learner, **told), []
    for t, (row, target) in enumerate(zip(stream.features, stream.targets, strict=True)):
        if t == len(stream) // 2:
            numbers = sp.checkpoint.loads(
                sp.checkpoint.dumps(model.compact_state(), kind="engine"), kind="engine"
            )
            learner = make(stream)
            model = sp.engine.online(learner, **told)
            model.load_compact_state(numbers)
        said.append((model.predict(row), model.learn(row, target)))
    weights = model.weights
    return {"said": np.array(said), "weights": weights, **results(learner, _Total(said))}


class _Total:
    """The losses of rows that were learned one by one, as a ledger has them."""

    def __init__(self, said: list[tuple[float, float]]) -> None:
        self.total_loss = float(np.array(said)[:, 1].sum())
        self.decisions = self.weights = None


def sparse(make: Make, width: int, _folder: Path) -> Mapping[str, Any]:
    """Rows with seven entries in many columns."""
    from scipy.sparse import csr_matrix

    rng = np.random.default_rng(21)
    rounds, entries = 400, 7
    columns = np.sort(np.argsort(rng.random((rounds, width)), axis=1)[:, :entries], axis=1)
    values = rng.normal(size=(rounds, entries))
    rows = csr_matrix(
        (values.ravel(), columns.ravel(), np.arange(0, rounds * entries + 1, entries)),
        shape=(rounds, width),
    )
    truth = np.repeat(rng.normal(size=(4, width)), 100, axis=0) / np.sqrt(width)
    targets = np.asarray(rows.multiply(truth).sum(axis=1)).ravel() + 0.1 * rng.normal(size=rounds)
    stream = _InBall(sp.LinearStream(rows, targets), sp.Ball(width, 2.0))
    learner = make(stream)
    ledger = sp.play(learner, stream.stream, engine="compiled")
    return {"losses": ledger.losses, **results(learner, ledger)}


class _InBall:
    """A stream and the domain it is played in."""

    def __init__(self, stream: sp.LinearStream, domain: Any) -> None:
        self.stream, self.domain = stream, domain

    def __len__(self) -> int:
        return len(self.stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def quantile(make: Any, engine: str, _folder: Path) -> Mapping[str, Any]:
    """The pinball loss of skewed targets that drift."""
    rng = np.random.default_rng(22)
    rows = np.column_stack([np.ones(400), rng.normal(size=400)])
    targets = rng.exponential(1 + np.arange(400) / 400) + 0.5 * rows[:, 1]
    stream = sp.LinearStream(rows, targets, loss="pinball", level=0.9)
    learner = make(sp.Ball(2, 5.0))
    return results(learner, sp.play(learner, stream, engine=engine))


def many(make: Make, threads: int, _folder: Path) -> Mapping[str, Any]:
    """Four streams at once."""
    worlds = [game(sp.Ball(3), 300, seed=seed) for seed in range(30, 34)]
    learners = [make(worlds[0]) for _ in worlds]
    rows, targets = (
        np.stack([getattr(world, name) for world in worlds]) for name in ("features", "targets")
    )
    losses = sp.engine.play_many(learners, rows, targets, threads=threads)
    return {
        "losses": losses,
        "decisions": np.stack([one.decision for one in learners]),
        "certificate": learners[2].certificate(1.0),
    }


def handed_over(make: Make, _folder: Path) -> Mapping[str, Any]:
    """Engine, readable loop, engine, by turns."""
    stream = GAMES["ball, squared, jumps"]()
    learner, totals = make(stream), []
    for part, engine in enumerate(("compiled", "python", "compiled", "python")):
        totals.append(
            sp.play(learner, stream[30 * part : 30 * part + 30], engine=engine).total_loss
        )
    return {
        "totals": totals,
        "decision": learner.decision,
        "certificate": learner.certificate(2.0),
        "weights": learner.weights,
    }


PINBALL = {
    "Sword": sp.Sword,
    "OGD": lambda domain: sp.OGD(domain, step_size=0.1),
    "Ader": lambda domain: sp.Ader(domain, horizon=400, gradient_bound=5.0),
}
LONG = {
    "ball, 3,000 rounds": lambda: game(sp.Ball(5), 3000, seed=40, motion="walk"),
    "ball, logistic, 2,000 rounds": lambda: game(sp.Ball(8, 4.0), 2000, seed=41, loss="logistic"),
    "ball, 70 columns": lambda: game(sp.Ball(70), 600, seed=42, loss="huber", motion="rotation"),
    "box, 2,000 rounds": lambda: game(sp.Box(-np.ones(6), np.arange(1.0, 7.0)), 2000, seed=43),
}

CASES: Cases = {}
for _world, _game in GAMES.items():
    for _name, _make in COMPILED.items():
        if _name != "SwordPlusPlus" or "ball" in _world:
            CASES[f"{_world}: {_name}"] = partial(played, _make, _game)
for _name, _make in RATES.items():
    CASES[f"ball, squared, jumps: {_name}"] = partial(
        all_weights, _make, GAMES["ball, squared, jumps"]
    )
for _world, _stream in WORLDS.items():
    for _name in ("Sword", "SwordPlusPlus"):
        CASES[f"drift, {_world}: {_name}"] = partial(all_weights, COMPILED[_name], _stream)
for _world, _game in LONG.items():
    for _name in ("Sword", "SwordBest", "SwordAgeless"):
        CASES[f"{_world}: {_name}"] = partial(played, COMPILED[_name], _game)
for _name in COMPILED:
    CASES[f"row by row: {_name}"] = partial(
        online, COMPILED[_name], GAMES["far ball, squared, rotation"], "float64"
    )
CASES["row by row, logistic: Sword"] = partial(
    online, COMPILED["Sword"], GAMES["ball, logistic, walk"], "float64"
)
CASES["single precision: SwordBest"] = partial(
    online, COMPILED["SwordBest"], GAMES["ball, squared, jumps"], "float32"
)
for _name in ("Sword", "SwordBest", "SwordPlusPlus", "Ader", "SwordAgeless"):
    CASES[f"sparse, 40 columns: {_name}"] = partial(sparse, COMPILED[_name], 40)
CASES["sparse, 5,000 columns: SwordBest"] = partial(sparse, COMPILED["SwordBest"], 5000)
for _name, _made in PINBALL.items():
    CASES[f"pinball: {_name}"] = partial(quantile, _made, "compiled")
    CASES[f"pinball, readable: {_name}"] = partial(quantile, _made, "python")
CASES["many streams: Sword"] = partial(many, COMPILED["Sword"], 2)
CASES["many streams, one thread: SwordBest"] = partial(many, COMPILED["SwordBest"], 1)
for _name in ("Sword", "SwordVar", "SwordPlusPlus"):
    CASES[f"by turns: {_name}"] = partial(handed_over, COMPILED[_name])
