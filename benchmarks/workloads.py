"""Seeded streams, and the SwordBest that every contender of ours plays on them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import swordplay as sp

SEED = 20201206
"""One seed for every workload: a result can be run again."""
RADIUS = 2.0
"""Of the ball.

The planted comparators have norm 1: only the largest steps meet the boundary, now and then.
"""
NOISE = 0.1
"""Standard deviation of the targets' noise, against signals of about 1."""
POOL = 7
"""Step sizes per kind of experts.

Twice that is the 14 experts of every comparison unless a case says otherwise.
"""

KEPT: tuple[Literal["losses"]] = ("losses",)
"""All that a run of ours writes down."""

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Workload:
    """A stream in arrays, and the constants a told Sword is told."""

    features: Any
    """(T, d), a dense row-major array or a scipy CSR matrix."""
    targets: Vector
    """(T,)."""
    smoothness: float
    """L, the largest squared norm of a row."""
    gradient_bound: float
    """G on the ball."""
    radius: float = RADIUS
    """Of the ball around the origin."""

    @property
    def rounds(self) -> int:
        """T."""
        return len(self.targets)

    @property
    def dim(self) -> int:
        """d."""
        return int(self.features.shape[1])

    def head(self, rounds: int) -> Workload:
        """The first rounds, for contenders that would take all day over the rest."""
        rounds = min(rounds, self.rounds)
        return replace(self, features=self.features[:rounds], targets=self.targets[:rounds])

    def pool(self, size: int = POOL) -> Vector:
        """``size`` steps, each twice the one before, up to 1/(2L)."""
        return 2.0 ** np.arange(1.0 - size, 1.0) / (2 * self.smoothness)

    def learner(self, pool_size: int = POOL) -> sp.SwordBest:
        """A fresh SwordBest with ``2 * pool_size`` experts."""
        return sp.SwordBest(
            sp.Ball(self.dim, self.radius),
            horizon=self.rounds,
            gradient_bound=self.gradient_bound,
            smoothness=self.smoothness,
            variation_pool=self.pool(pool_size),
            small_loss_pool=self.pool(pool_size),
        )

    @property
    def peer_rate(self) -> float:
        """The rate of peers that need one, 1/(2L): the largest of our pool, so none is slowed
        down by numbers that blow up.
        """
        return 1 / (2 * self.smoothness)

    @cached_property
    def dictionaries(self) -> list[dict[str, float]]:
        """Rows as names and values, non-zeros only where the features are sparse."""
        if not hasattr(self.features, "tocsr"):
            names = [str(j) for j in range(self.dim)]
            return [dict(zip(names, row.tolist(), strict=True)) for row in self.features]
        X = self.features
        return [
            dict(zip(map(str, X.indices[i:j].tolist()), X.data[i:j].tolist(), strict=True))
            for i, j in zip(X.indptr[:-1].tolist(), X.indptr[1:].tolist(), strict=True)
        ]

    @cached_property
    def vowpal_lines(self) -> list[str]:
        """Rows in Vowpal Wabbit's text format."""
        rows = zip(self.dictionaries, self.targets.tolist(), strict=True)
        return [
            f"{target!r} | " + " ".join(f"{name}:{value!r}" for name, value in row.items())
            for row, target in rows
        ]

    def stream(self) -> sp.LinearStream:
        """The losses."""
        return sp.LinearStream(self.features, self.targets)

    def mean_loss(self, predictions: Any) -> float:
        """Half the mean squared error of predictions made before each target was known."""
        said = np.asarray(predictions, dtype=np.float64)
        return float(np.mean(np.square(said - self.targets[: len(said)]))) / 2


def dense(rounds: int, dim: int, radius: float = RADIUS) -> Workload:
    """Standard normal features.

    The comparator turns slowly on the unit sphere and jumps to its opposite half way.
    """
    rng = np.random.default_rng([SEED, rounds, dim])
    features = rng.standard_normal((rounds, dim))
    first, second = np.linalg.qr(rng.standard_normal((dim, 2)))[0].T if dim > 1 else np.ones((2, 1))
    angle = np.linspace(0.0, 4 * math.pi, rounds)
    signal = np.cos(angle) * (features @ first) + np.sin(angle) * (features @ second)
    signal[rounds // 2 :] *= -1.0
    return _told(features, signal + NOISE * rng.standard_normal(rounds), radius)


def sparse(rounds: int, dim: int, nonzeros: int, radius: float = RADIUS) -> Workload:
    """Hashed words: ``nonzeros`` distinct columns a row, a few common and most rare.

    The comparator flips half way.
    """
    from scipy.sparse import csr_matrix

    rng = np.random.default_rng([SEED, rounds, dim, nonzeros])
    # Each non-zero draws from a stratum of its own, so columns are distinct and sorted. The power
    # makes a long tail: a fifth of the draws meet the most common column of their stratum, a half
    # the most common hundred.
    width = dim // nonzeros
    ranks = (rng.random((rounds, nonzeros)) ** 6 * width).astype(np.int32)
    columns = ranks + width * np.arange(nonzeros, dtype=np.int32)
    values = rng.standard_normal((rounds, nonzeros))
    direction = rng.standard_normal((nonzeros, width)) / (1.0 + np.arange(width))
    direction /= np.linalg.norm(direction)
    signal = np.einsum("ij,ij->i", values, direction.ravel()[columns])
    signal[rounds // 2 :] *= -1.0
    starts = np.arange(rounds + 1) * nonzeros
    features = csr_matrix((values.ravel(), columns.ravel(), starts), shape=(rounds, dim))
    return _told(features, signal + NOISE * rng.standard_normal(rounds), radius)


def _told(features: Any, targets: Vector, radius: float) -> Workload:
    if hasattr(features, "tocsr"):
        squares = np.asarray(features.multiply(features).sum(axis=1)).ravel()
    else:
        squares = np.einsum("ij,ij->i", features, features)
    norms = np.sqrt(squares)
    # max over the ball of |<a, x> - y| norm(a), exact for a ball around the origin.
    steepest = (radius * norms + np.abs(targets)) * norms
    return Workload(features, targets, float(squares.max()), float(steepest.max()), radius)
