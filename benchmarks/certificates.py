"""How tight certificates are: certificate over regret on the drift worlds.

``python -m benchmarks.certificates`` plays every world of ``sp.streams.drift``, as it is made
unless told otherwise (3 columns, 1,000 rounds, squared losses), with several seeds, and writes the
table into ``docs/theory.md``. P is the path length of the planted comparators. A certificate holds
against every comparator of that path length, so it is held against the one that it hurts most: the
best sequence of that path length, found by hindsight. Beside it stands the ratio to the planted
comparators' own regret, which may be much smaller, as they were not chosen for their losses.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import swordplay as sp

ROUNDS, DIM = 1000, 3
SEEDS = (1, 2, 3)
WORLDS: dict[str, Callable[[int], Any]] = {
    "rotation": lambda seed: sp.streams.drift.rotation(ROUNDS, DIM, seed=seed),
    "random walk": lambda seed: sp.streams.drift.random_walk(ROUNDS, DIM, seed=seed),
    "jumps": lambda seed: sp.streams.drift.jumps(ROUNDS, DIM, seed=seed),
    "noise, then jumps": lambda seed: sp.streams.drift.noise_then_jumps(ROUNDS, DIM, seed=seed),
    "jumps, then noise": lambda seed: sp.streams.drift.jumps_then_noise(ROUNDS, DIM, seed=seed),
    "alternation": lambda seed: sp.streams.drift.adversarial_alternation(
        ROUNDS, DIM, every=20, noise=0.1, seed=seed
    ),
}
LEARNERS: dict[str, Callable[[Any], Any]] = {
    "SwordBest": lambda world: sp.SwordBest(
        world.domain,
        horizon=len(world),
        gradient_bound=world.gradient_bound(world.domain),
        smoothness=world.smoothness,
    ),
    "SwordAgeless": lambda world: sp.SwordAgeless(world.domain, smoothness=world.smoothness),
    "Sword": lambda world: sp.Sword(world.domain),
}
PAGE = Path(__file__).parents[1] / "docs" / "theory.md"
BEGIN, END = "<!-- certificates: begin -->", "<!-- certificates: end -->"


class Line(NamedTuple):
    """One learner in one world."""

    world: str
    learner: str
    worst: float
    """Certificate over the regret against the best sequence of that path length,"""
    planted: float
    """and over that against the planted comparators."""


def lines(world: str, seed: int) -> list[Line]:
    """Every learner in one world."""
    stream = WORLDS[world](seed)
    path = sp.path_length(stream.comparators)
    best = sp.hindsight.best_sequence(stream, stream.domain, path_length=path)
    planted = sp.comparator_loss(stream, stream.comparators)
    found = []
    for name, make in LEARNERS.items():
        learner = make(stream)
        total = float(sp.play(learner, stream).losses.sum())
        certificate = learner.certificate(path)
        found.append(
            Line(world, name, certificate / (total - best.loss), certificate / (total - planted))
        )
    return found


def table(found: list[Line]) -> str:
    """Medians over the seeds, world by world, and over all."""
    rows = ["| world | " + " | ".join(LEARNERS) + " |", "| --- |" + " --- |" * len(LEARNERS)]
    for world in (*WORLDS, None):
        cells = []
        for learner in LEARNERS:
            mine = [
                line for line in found if line.learner == learner and world in (None, line.world)
            ]
            worst, planted = (
                float(np.median([getattr(line, name) for line in mine]))
                for name in ("worst", "planted")
            )
            cells.append(f"{worst:.2f} ({planted:.2f})")
        rows.append(f"| {world or 'median of all'} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def main() -> None:
    """Measure, and write the page."""
    found = [line for world in WORLDS for seed in SEEDS for line in lines(world, seed)]
    text, said = PAGE.read_text(encoding="utf-8"), table(found)
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n{said}\n{END}{after}", encoding="utf-8")
    sys.stdout.write(f"{said}\n")


if __name__ == "__main__":
    main()
