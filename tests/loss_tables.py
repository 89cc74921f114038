"""Losses as arrays, so that comparators and constants of a random game come from a few
vectorised lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

import swordplay as sp
from swordplay.core.types import Array, Domain, Loss, Matrix, Vector

Indices = NDArray[np.intp]

DESCENT = 80
"""Accelerated steps towards each comparator: near enough, and the theorems hold for every point
of X anyway.
"""


@dataclass(frozen=True)
class LinearTable:
    """Losses of a linear prediction as arrays: K of them."""

    stream: sp.LinearStream

    @property
    def losses(self) -> list[Loss]:
        return list(self.stream)

    @property
    def smoothness(self) -> Vector:
        return np.asarray(
            self.stream.family.curvature * np.square(self.stream.features).sum(axis=1)
        )

    def gradient_bound(self, domain: Domain) -> float:
        return self.stream.gradient_bound(domain)

    def value(self, which: Indices, points: Matrix) -> Vector:
        """f_k(x) for each pair of a loss and a point."""
        return self._every(which).phi(self._predictions(which, points))

    def gradient(self, which: Indices, points: Matrix) -> Matrix:
        """Gradient of f_k at x for each pair of a loss and a point."""
        slopes = self._every(which).slope(self._predictions(which, points))
        return np.asarray(slopes[:, None] * self.stream.features[which])

    def stream_of(self, which: Indices) -> sp.LinearStream:
        """The losses of a match in their order."""
        whole = self.stream
        return sp.LinearStream(
            whole.features[which], whole.targets[which], whole.loss, threshold=whole.threshold
        )

    def _predictions(self, which: Indices, points: Matrix) -> Vector:
        return np.asarray(np.einsum("td,td->t", self.stream.features[which], points))

    def _every(self, which: Indices) -> sp.losses.LinearLoss:
        settings = {"threshold": self.stream.threshold} if self.stream.loss == "huber" else {}
        # Elementwise in prediction and target: one loss with many targets is many losses at once.
        return self.stream.family.trusted(np.ones(1), self.stream.targets[which], **settings)  # type: ignore[arg-type]


@dataclass(frozen=True)
class QuadraticTable:
    """Losses 0.5 |C x - e|^2 as arrays of A = C'C, b = C'e, c = 0.5 |e|^2."""

    matrices: Array
    vectors: Matrix
    constants: Vector

    @property
    def losses(self) -> list[Loss]:
        return [
            sp.QuadraticLoss(*parts)
            for parts in zip(self.matrices, self.vectors, self.constants.tolist(), strict=True)
        ]

    @property
    def smoothness(self) -> Vector:
        return np.asarray(np.linalg.eigvalsh(self.matrices)[:, -1], dtype=np.float64)

    def gradient_bound(self, domain: Domain) -> float:
        return float(longest_affine(domain, self.matrices, self.vectors).max())

    def value(self, which: Indices, points: Matrix) -> Vector:
        A, b, c = self.matrices[which], self.vectors[which], self.constants[which]
        return np.asarray(
            0.5 * np.einsum("ti,tij,tj->t", points, A, points)
            - np.einsum("ti,ti->t", b, points)
            + c
        )

    def gradient(self, which: Indices, points: Matrix) -> Matrix:
        return np.asarray(
            np.einsum("tij,tj->ti", self.matrices[which], points) - self.vectors[which]
        )

    def stream_of(self, which: Indices) -> list[Loss]:
        losses = self.losses
        return [losses[k] for k in which]


Table = LinearTable | QuadraticTable


def block_minimisers(table: Table, which: Indices, domain: Domain, lengths: list[int]) -> Array:
    """For each block length the best fixed point of each block, repeated.

    Shape ``(len(lengths), T, d)``.

    All blocks of all lengths descend at once (accelerated, restarted where a step turns back), each
    with the step its own smoothness allows.
    """
    T, rows = len(which), np.tile(which, len(lengths))
    start_of_block = np.concatenate([np.arange(T) % length == 0 for length in lengths])
    block, starts = np.cumsum(start_of_block) - 1, np.flatnonzero(start_of_block)
    steps = 1.0 / np.add.reduceat(table.smoothness[rows], starts)[:, None]
    best = ahead = np.tile(domain.center, (len(starts), 1))
    momentum = np.ones((len(starts), 1))
    for _ in range(DESCENT):
        slope = np.add.reduceat(table.gradient(rows, ahead[block]), starts)
        moved = domain.project(ahead - steps * slope)
        turned = np.einsum("bd,bd->b", ahead - moved, moved - best)[:, None] > 0
        momentum = np.where(turned, 1.0, momentum)
        grown = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        best, ahead, momentum = moved, moved + (momentum - 1) / grown * (moved - best), grown
    return np.asarray(best[block].reshape(len(lengths), T, -1))


def longest_affine(domain: Domain, matrices: Array, vectors: Matrix) -> Vector:
    r"""Largest :math:`\|Hx - h\|` over the domain, H symmetric, shape ``(n, d, d)``, h ``(n, d)``.

    Never too small.

    Convex, so on a polytope it is met at a corner. A trust region has no duality gap, so on a ball
    with :math:`k = Hc - h`

    .. math:: \max_{|z| \le r} |Hz + k|^2
        = \min_{\mu > \lambda_{\max}^2} \mu r^2 + |k|^2 + \sum_i \frac{\lambda_i^2 k_i^2}{\mu -
        \lambda_i^2}

    and every μ bounds from above.
    """
    if not isinstance(domain, sp.Ball):
        corners = _corners(domain)
        at_corners = np.einsum("nij,cj->nci", matrices, corners) - vectors[:, None]
        return np.asarray(np.linalg.norm(at_corners, axis=2).max(axis=1))
    values, bases = np.linalg.eigh(matrices)
    offset = matrices @ domain.center - vectors
    squares, push = values**2, np.square(values * np.einsum("nij,ni->nj", bases, offset))
    top, r2 = squares.max(axis=1), domain.radius**2
    # The derivative r^2 - sum push/(mu - squares)^2 is negative at `top` and positive beyond
    # `high`: bisect.
    low, high = top * 0.0, np.sqrt(push.sum(axis=1) / r2)
    for _ in range(100):
        middle = (low + high) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(push > 0, push / np.square((top + middle)[:, None] - squares), 0.0)
        rising = terms.sum(axis=1) <= r2
        low, high = np.where(rising, low, middle), np.where(rising, middle, high)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(push > 0, push / ((top + high)[:, None] - squares), 0.0)
    return np.asarray(
        np.sqrt((top + high) * r2 + np.square(offset).sum(axis=1) + terms.sum(axis=1))
    )


def _corners(domain: Domain) -> Matrix:
    if isinstance(domain, sp.Simplex):
        return domain.total * np.eye(domain.dim)
    assert isinstance(domain, sp.Box)
    return np.array(list(product(*zip(domain.lower, domain.upper, strict=True))))
