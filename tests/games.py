"""Random games: a seed makes a domain, losses with certified constants, a planted path, and at
times an adversary.

Every game is small enough for its constants to be known, not estimated: G is the longest gradient
over the domain, L the largest smoothness, and every loss is nowhere negative, on the domain or off
it, as the small-loss theorems ask.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

import swordplay as sp
from loss_tables import Indices, LinearTable, QuadraticTable, Table, block_minimisers
from swordplay.core.types import Array, Domain, Learner, Loss, Matrix, Vector

Random = np.random.Generator

FAMILIES = ("squared", "logistic", "huber", "quadratic")
DYNAMICS = ("jumps", "walk", "noise", "alternation", "rotation", "adaptive")
BLOCKS = (1, 2, 5, 20, 100)
"""Block lengths of the block-wise best comparators; 1 gives the minimiser of each round."""
LONGEST = 700
LARGEST_MARGIN = 30.0
"""Of a logistic loss anywhere on its domain: beyond 700 its gradient is 0 in double precision,
and nothing is played for.
"""


@dataclass(frozen=True)
class Match:
    """A game as one learner played it."""

    game: Game
    which: Indices
    """Index of each round's loss in the table, shape ``(T,)``."""
    total_loss: float

    def comparators(self) -> dict[str, Matrix]:
        """Sequences worth competing with, each of shape ``(T, d)`` and in the domain."""
        T = len(self.which)
        lengths = [*(length for length in BLOCKS if length < T), T]
        paths = block_minimisers(self.game.table, self.which, self.game.domain, lengths)
        named = {f"blocks of {length}": path for length, path in zip(lengths, paths, strict=True)}
        return {**named, "planted": self.game.path}

    @property
    def variation(self) -> float:
        """V_T, or a certified upper bound where the losses are neither squared nor quadratic."""
        return float(sp.gradient_variation(self.game.table.stream_of(self.which), self.game.domain))

    def comparator_loss(self, comparators: Matrix) -> float:
        """F_T; rounding may not push a sum of non-negative losses below 0."""
        return max(0.0, float(self.game.table.value(self.which, comparators).sum()))


@dataclass(frozen=True)
class Game:
    """A domain, losses, a planted path, and who picks the loss of a round."""

    seed: int
    domain: Domain
    table: Table
    dynamics: str
    path: Matrix
    """Planted comparators, shape ``(T, d)``."""
    patience: int = 1
    """How many rounds an adversary stays with its pick."""
    spite: float = 1.0
    """How often an adversary picks what hurts the planted path's rival most.

    Else what surprises most.
    """
    losses: list[Loss] = field(init=False)
    gradient_bound: float = field(init=False)
    smoothness: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "losses", self.table.losses)
        object.__setattr__(self, "gradient_bound", self.table.gradient_bound(self.domain))
        object.__setattr__(self, "smoothness", float(self.table.smoothness.max()))

    def __repr__(self) -> str:
        family = self.table.stream.loss if isinstance(self.table, LinearTable) else "quadratic"
        return (
            f"Game(seed={self.seed}, {self.domain!r}, {family}, {self.dynamics}, T={self.horizon})"
        )

    @property
    def horizon(self) -> int:
        return len(self.path)

    @property
    def adaptive(self) -> bool:
        return self.dynamics == "adaptive"

    def play(self, learner: Learner, *, compiled: bool = False) -> Match:
        """The protocol: decide, be told the loss, pay.

        An adversary sees the decision before it picks.

        With ``compiled`` the engine plays where it can, some thirty times faster: losses of a
        linear prediction; adversaries, who see every decision, on a ball only.
        """
        if (
            compiled
            and isinstance(self.table, LinearTable)
            and (isinstance(self.domain, sp.Ball) or not self.adaptive)
        ):
            return self._play_compiled(learner, self.table.stream)
        pick = self._adversary() if self.adaptive else lambda t, decision: t
        which, total = [], 0.0
        for t in range(self.horizon):
            decision = learner.decision
            k = pick(t, decision)
            total += float(self.losses[k].value(decision))
            learner.observe(self.losses[k])
            which.append(k)
        return Match(self, np.array(which), total)

    def _play_compiled(self, learner: Learner, stream: sp.LinearStream) -> Match:
        if not self.adaptive:
            return Match(
                self,
                np.arange(len(stream)),
                float(sp.play(learner, stream, keep=("losses",)).losses.sum()),
            )
        engine = sp.engine.online(learner, stream.loss, threshold=stream.threshold)
        pick, which, total = self._adversary(), [], 0.0
        for t in range(self.horizon):
            decision = engine.decision
            k = pick(t, decision)
            total += float(self.losses[k].value(decision))
            engine.learn(stream.features[k], stream.targets[k])
            which.append(k)
        return Match(self, np.array(which), total)

    def _adversary(self) -> Callable[[int, Vector], int]:
        """Picks from the table, so that G and L hold whatever it does.

        Seeded, so that every learner meets the same.
        """
        rng = np.random.default_rng([self.seed, 1])
        everyone = np.arange(len(self.losses))
        last = 0

        def pick(t: int, decision: Vector) -> int:
            nonlocal last
            if t % self.patience:
                return last
            here, there = (np.tile(point, (len(everyone), 1)) for point in (decision, self.path[t]))
            if rng.random() < self.spite:
                score = self.table.value(everyone, here) - self.table.value(everyone, there)
            else:
                gradients = self.table.gradient(everyone, here)
                score = np.linalg.norm(gradients - gradients[last], axis=1)
            last = int(np.argmax(score))
            return last

        return pick


def random_game(seed: int) -> Game:
    """The game of a seed: seeds count through families and dynamics, all else is drawn."""
    rng = np.random.default_rng(seed)
    family, dynamics = FAMILIES[seed % 4], DYNAMICS[seed // 4 % 6]
    domain = _domain(rng)
    T = (
        int(rng.integers(150, LONGEST + 1))
        if rng.random() < 0.06
        else round(10 ** rng.uniform(1, 2.2))
    )
    path = _path(rng, domain, dynamics, T)
    # An adversary draws from a bank of losses instead of a list of one per round.
    planted = _points(rng, domain, int(rng.integers(2, 9))) if dynamics == "adaptive" else path
    table = _table(rng, domain, family, planted, noisy=dynamics == "noise")
    return Game(
        seed,
        domain,
        table,
        dynamics,
        path,
        int(rng.choice([1, 1, 2, 7])),
        float(rng.choice([0.0, 0.7, 1.0])),
    )


def _domain(rng: Random) -> Domain:
    dim, size = int(rng.integers(1, 7)), 10 ** rng.uniform(-1, 1)
    center = size * rng.choice([0.0, 1.0, 5.0]) * rng.normal(size=dim)
    kind = rng.integers(3)
    if kind == 0:
        return sp.Ball(dim, radius=size, center=center)
    if kind == 1:
        half = size * rng.uniform(0.2, 1.0, size=dim)
        return sp.Box(center - half, center + half)
    return sp.Simplex(max(2, dim), total=size)


def _points(rng: Random, domain: Domain, count: int) -> Matrix:
    """Points of the domain, some on its boundary, some inside."""
    outer = domain.project(domain.center + domain.diameter * rng.normal(size=(count, domain.dim)))
    share = np.minimum(1.0, rng.uniform(0.0, 1.5, size=(count, 1)))
    return domain.center + share * (outer - domain.center)


def _path(rng: Random, domain: Domain, dynamics: str, T: int) -> Matrix:
    """Where the target moves."""
    t = np.arange(T)
    if dynamics == "walk":
        stride = domain.diameter * 10 ** rng.uniform(-2.5, -0.5)
        path = [_points(rng, domain, 1)[0]]
        for step in stride * rng.normal(size=(T - 1, domain.dim)):
            path.append(domain.project(path[-1] + step))
        return np.array(path)
    if dynamics == "alternation":
        turn = (t // rng.integers(1, 4)) % 2
        return _points(rng, domain, 4)[turn + 2 * (t > T // 2)]
    if dynamics == "rotation":
        angle = 2 * math.pi * t / T * 10 ** rng.uniform(-0.5, 1.5)
        first, second = rng.normal(size=(2, domain.dim)) * domain.diameter / 2
        return domain.project(
            domain.center + np.outer(np.cos(angle), first) + np.outer(np.sin(angle), second)
        )
    ages = 1 if dynamics == "noise" else int(rng.integers(1, 2 + T // 8))
    return _points(rng, domain, ages)[np.sort(rng.integers(0, ages, size=T))]


def _table(rng: Random, domain: Domain, family: str, path: Matrix, noisy: bool) -> Table:
    """Losses whose minimisers are the path, but for noise and, at times, a pull from outside the
    domain.
    """
    width = int(rng.integers(1, domain.dim + 2)) if family == "quadratic" else 1
    rows = _rows(rng, len(path), width, domain.dim)  # C_t, or a_t as its only row
    reach = np.linalg.norm(rows, axis=2) * domain.diameter
    noise = rng.choice([0.3, 1.0, 3.0]) if noisy else rng.choice([0.0, 0.0, 0.1, 1.0])
    sides = rng.choice([-1.0, 1.0], size=reach.shape) if rng.random() < 0.5 else 1.0
    pull = (
        reach * noise * rng.normal(size=reach.shape)
        + reach.max() * rng.choice([0.0, 0.0, 2.0]) * sides
    )
    targets = np.einsum("tkd,td->tk", rows, path) + pull
    if family == "quadratic":
        matrices = np.einsum("tki,tkj->tij", rows, rows)
        return QuadraticTable(
            matrices, np.einsum("tki,tk->ti", rows, targets), 0.5 * np.square(targets).sum(axis=1)
        )
    features = rows[:, 0]
    if family == "logistic":
        labels = (targets[:, 0] > features @ domain.center).astype(float)
        widest = np.maximum(domain.support(features), domain.support(-features)).max()
        return LinearTable(
            sp.LinearStream(features * min(1.0, LARGEST_MARGIN / widest), labels, "logistic")
        )
    threshold = float(reach.mean() * 10 ** rng.uniform(-1.5, 0.5))
    return LinearTable(
        sp.LinearStream(
            features,
            targets[:, 0],
            "huber" if family == "huber" else "squared",
            threshold=threshold,
        )
    )


def _rows(rng: Random, T: int, width: int, dim: int) -> Array:
    """Feature rows: fresh ones each round, one for ever, one that turns slowly, or two sizes
    that take turns.
    """
    scale = 10 ** rng.uniform(-1, 1)
    fresh = scale * rng.normal(size=(T, width, dim))
    kind = rng.integers(4)
    if kind == 0:
        return fresh
    if kind == 1:
        return np.repeat(fresh[:1], T, axis=0)
    if kind == 2:
        angle = np.linspace(0, rng.uniform(0.1, 6), T)[:, None, None]
        return np.asarray(np.cos(angle) * fresh[0] + np.sin(angle) * fresh[1])
    return np.asarray(
        fresh[0] * np.where(np.arange(T) % 2, rng.uniform(0.2, 1.0), 1.0)[:, None, None]
    )
