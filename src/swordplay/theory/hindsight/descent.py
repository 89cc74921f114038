"""Sums of losses over blocks of rounds, all blocks at once: what hindsight minimises.

Many convex problems over one domain at once, each with a certificate of how far it is from
its minimum.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from swordplay.core import arguments
from swordplay.core.types import Array, Domain, Loss, Matrix, Vector
from swordplay.parts.losses import SquaredLoss
from swordplay.parts.streams import LinearStream
from swordplay.parts.streams.linear import Rows
from swordplay.theory.variation_quadratic import as_quadratic

CHUNK = 1 << 21
"""Numbers of a stream that are folded into blocks together (16 MB)."""
SPECTRUM_DIM = 256
"""Gram matrices up to this width have their largest eigenvalue computed.

Beyond it their trace bounds it.
"""


class Objective(Protocol):
    """B convex functions, each the sum of the losses of one block of rounds."""

    @property
    def curvature(self) -> Vector:
        """A bound on, or a first guess at, each function's smoothness, shape ``(B,)``."""
        ...

    @property
    def steepness(self) -> Vector:
        r""":math:`\sum_t \|\nabla f_t(c)\|` of each block at the domain's centre: no sum of
        gradients is larger there.
        """
        ...

    def gradient(self, points: Matrix) -> Matrix:
        """The gradient of each function at its own point, shape ``(B, d)``."""
        ...

    def take(self, blocks: NDArray[np.intp]) -> Self:
        """Some of the functions."""
        ...


@dataclass(frozen=True)
class QuadraticSums:
    """Quadratics x'Hx/2 - b'x with H of shape ``(B, d, d)`` and b of shape ``(B, d)``."""

    matrices: Array
    vectors: Matrix
    curvature: Vector
    steepness: Vector

    def gradient(self, points: Matrix) -> Matrix:
        """H x - b."""
        return np.asarray((self.matrices @ points[:, :, None])[..., 0] - self.vectors)

    def take(self, blocks: NDArray[np.intp]) -> QuadraticSums:
        """Some of the blocks."""
        return QuadraticSums(
            self.matrices[blocks],
            self.vectors[blocks],
            self.curvature[blocks],
            self.steepness[blocks],
        )


@dataclass(frozen=True)
class RowSums:
    """Losses of a linear prediction folded into blocks: features ``(B, m, d)``, targets ``(B,
    m)``.
    """

    rows: Rows
    curvature: Vector
    steepness: Vector

    def gradient(self, points: Matrix) -> Matrix:
        """Slopes at the predictions, times the features."""
        A = self.rows.features
        slopes = self.rows.slopes((A @ points[:, :, None])[..., 0])
        return np.asarray((slopes[:, None, :] @ A)[:, 0])

    def take(self, blocks: NDArray[np.intp]) -> RowSums:
        """Some of the blocks."""
        rows = Rows(self.rows.features[blocks], self.rows.targets[blocks], self.rows.family)
        return RowSums(rows, self.curvature[blocks], self.steepness[blocks])


@dataclass(frozen=True)
class SparseSum:
    """Sparse losses of a linear prediction, all in one block: features ``(T, d)``."""

    rows: Rows
    curvature: Vector
    steepness: Vector

    def gradient(self, points: Matrix) -> Matrix:
        """Slopes at the predictions, times the features."""
        return np.asarray(
            self.rows.features.T @ self.rows.slopes(self.rows.predictions(points[0]))
        )[None]

    def take(self, blocks: NDArray[np.intp]) -> SparseSum:
        """The block."""
        return self


@dataclass(frozen=True)
class LossSums:
    """Any losses, block by block and loss by loss."""

    blocks: Sequence[Sequence[Loss]]
    curvature: Vector
    steepness: Vector

    def gradient(self, points: Matrix) -> Matrix:
        """Sum of the gradients."""
        return np.array(
            [
                _gradients(block, point).sum(axis=0)
                for block, point in zip(self.blocks, points, strict=True)
            ]
        )

    def take(self, blocks: NDArray[np.intp]) -> LossSums:
        """Some of the blocks."""
        return LossSums(
            [self.blocks[i] for i in blocks], self.curvature[blocks], self.steepness[blocks]
        )


@singledispatch
def objectives(stream: Iterable[Loss], domain: Domain, length: int | None) -> Iterator[Objective]:
    """The stream in blocks of ``length`` rounds, or as one block.

    A few blocks at a time, in order.
    """
    losses = list(arguments.stream(stream))
    _require_rounds(len(losses))
    rows = Rows.of_losses(losses)
    return (
        iter([_of_losses(losses, domain, length or len(losses))])
        if rows is None
        else _of_rows(rows, domain, length)
    )


@objectives.register
def _(stream: LinearStream, domain: Domain, length: int | None) -> Iterator[Objective]:
    _require_rounds(len(stream))
    return _of_rows(Rows.of_stream(stream), domain, length)


def require_dim(dim: int, domain: Domain) -> None:
    """Refuse a stream and a domain of different widths."""
    if dim != domain.dim:
        raise ValueError(
            f"domain must have the stream's dimension {dim}, got {domain!r} of {domain.dim}."
        )


def _require_rounds(rounds: int) -> None:
    if rounds == 0:
        raise ValueError(
            "stream must hold at least one round, got none: there is nothing to minimise."
        )


def _of_rows(rows: Rows, domain: Domain, length: int | None) -> Iterator[Objective]:
    require_dim(rows.dim, domain)
    if rows.sparse and length is None:
        yield _sparse_sum(rows, domain)
        return
    length = min(length or len(rows), len(rows))
    size = max(1, CHUNK // (length * rows.dim)) * length
    for start in range(0, len(rows), size):
        yield _folded(rows[start : start + size].dense(), domain, length)


def _folded(rows: Rows, domain: Domain, length: int) -> Objective:
    # Rows of zeros fill up the last block: their gradient is zero whatever their slope.
    missing = -len(rows) % length
    A = np.concatenate([rows.features, np.zeros((missing, rows.dim))]).reshape(-1, length, rows.dim)
    y = np.concatenate([rows.targets, np.zeros(missing)]).reshape(-1, length)
    rows, transposed = Rows(A, y, rows.family), np.swapaxes(A, 1, 2)
    steepness = (
        np.abs(rows.slopes(A @ domain.center)) * np.sqrt(np.einsum("bmd,bmd->bm", A, A))
    ).sum(axis=1)
    if isinstance(rows.family, SquaredLoss) and length >= rows.dim:
        # More rounds than coordinates: the normal equations are smaller than the rows.
        gram = transposed @ A
        return QuadraticSums(
            gram, (transposed @ y[..., None])[..., 0], _largest_eigenvalues(gram), steepness
        )
    gram = transposed @ A if length >= rows.dim else A @ transposed
    return RowSums(rows, rows.family.curvature * _largest_eigenvalues(gram), steepness)


def _sparse_sum(rows: Rows, domain: Domain) -> SparseSum:
    squares = np.asarray(rows.features.multiply(rows.features).sum(axis=1)).ravel()
    steepness = np.abs(rows.slopes(rows.predictions(domain.center))) @ np.sqrt(squares)
    return SparseSum(rows, np.array([rows.family.curvature * squares.sum()]), np.array([steepness]))


def _of_losses(losses: Sequence[Loss], domain: Domain, length: int) -> Objective:
    starts = range(0, len(losses), length)
    blocks = [losses[i : i + length] for i in starts]
    steepness = np.array(
        [np.linalg.norm(_gradients(block, domain.center), axis=1).sum() for block in blocks]
    )
    forms = [form for form in map(as_quadratic, losses) if form is not None]
    if len(forms) == len(losses):
        matrices = np.add.reduceat([form.matrix for form in forms], starts)
        vectors = np.add.reduceat([form.vector for form in forms], starts)
        return QuadraticSums(matrices, vectors, _largest_eigenvalues(matrices), steepness)
    # Where a smoothness is unknown the descent finds one: it starts from a guess and doubles it.
    guesses = [sum(loss.smoothness or 0.0 for loss in block) for block in blocks]
    return LossSums(blocks, np.maximum(guesses, steepness / domain.diameter), steepness)


def _gradients(losses: Sequence[Loss], point: Vector) -> Matrix:
    return np.array([arguments.gradient_of(loss)(point) for loss in losses])


def _largest_eigenvalues(matrices: Any) -> Vector:
    if matrices.shape[-1] > SPECTRUM_DIM:
        return np.asarray(np.trace(matrices, axis1=1, axis2=2))
    return np.asarray(np.linalg.eigvalsh(matrices)[:, -1])


ROUNDING = 1e-13
"""Relative error that sums of gradients may carry: no gap can be closed below it."""


class Minima(NamedTuple):
    """Points of shape ``(B, d)``, and how far above the minimum each may be, shape ``(B,)``."""

    points: Matrix
    gaps: Vector
    closed: bool
    """Whether every gap is within its target."""


def gaps(domain: Domain, points: Matrix, gradients: Matrix) -> Vector:
    r"""How far above the minimum over the domain a convex function can be at each point, from its
    gradient alone.

    .. math:: f(x) - \min_X f \le \max_{z \in X} \langle \nabla f(x), x - z \rangle
        = \langle \nabla f(x), x \rangle + \sigma_X(-\nabla f(x))

    References
    ----------
    Jaggi (2013), "Revisiting Frank-Wolfe", section 2.
    """
    return np.maximum(_inner(gradients, points) + domain.support(-gradients), 0.0)


def minimize(objective: Objective, domain: Domain, tolerance: float, steps: int) -> Minima:
    r"""Accelerated projected gradient descent from the domain's centre, with restarts.

    .. math:: x_{k+1} = \Pi_X[y_k - \nabla F(y_k) / L], \qquad
        y_{k+1} = \Pi_X\big[x_{k+1} + \tfrac{m_k - 1}{m_{k+1}} (x_{k+1} - x_k)\big]

    A problem's momentum m starts anew whenever it points uphill, its L doubles whenever the
    gradient turns out to change faster, and it leaves the race once its gap is within ``tolerance *
    D * steepness`` (and rounding).

    References
    ----------
    Beck, Teboulle (2009), FISTA; O'Donoghue, Candès (2015), "Adaptive restart for accelerated
    gradient schemes".
    """
    D = domain.diameter
    targets = tolerance * D * objective.steepness
    targets += ROUNDING * (
        (D + np.linalg.norm(domain.center)) * objective.steepness + D**2 * objective.curvature
    )
    best = np.tile(domain.center, (len(targets), 1))
    best_gaps = gaps(domain, best, objective.gradient(best))

    racing = np.flatnonzero(best_gaps > targets)
    objective, x = objective.take(racing), best[racing]
    y, momentum, L = (
        x,
        np.ones(len(racing)),
        np.where(objective.curvature > 0, objective.curvature, 1.0),
    )
    for _ in range(steps):
        if not len(racing):
            break
        at_y = objective.gradient(y)
        moved = domain.project(y - at_y / L[:, None])
        at_moved = objective.gradient(moved)
        # Too small an L shows as a gradient that changes faster than L along the step; rounding
        # does not count.
        step = moved - y
        length = np.sqrt(_inner(step, step))
        noise = ROUNDING * np.sqrt(_inner(at_y, at_y)) * length
        steep = _inner(at_moved - at_y, step) > L * length**2 * (1.0 + ROUNDING) + noise
        L = np.where(steep, 2.0 * L, L)

        # Who has arrived stands still, so that no answer depends on the company it was found in.
        new_gaps = gaps(domain, moved, at_moved)
        better = (new_gaps < best_gaps[racing]) & (best_gaps[racing] > targets[racing])
        best[racing[better]], best_gaps[racing[better]] = moved[better], new_gaps[better]

        uphill = _inner(y - moved, moved - x) > 0
        momentum = np.where(uphill | steep, 1.0, momentum)
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        ahead = domain.project(moved + ((momentum - 1.0) / following)[:, None] * (moved - x))
        # A step that was too long is taken back: from x again, with the larger L.
        x, y = np.where(steep[:, None], x, moved), np.where(steep[:, None], x, ahead)
        momentum = np.where(steep, 1.0, following)

        left = np.flatnonzero(best_gaps[racing] > targets[racing])
        if len(left) <= len(racing) // 2:
            objective, racing = objective.take(left), racing[left]
            x, y, momentum, L = x[left], y[left], momentum[left], L[left]
    return Minima(best, best_gaps, bool((best_gaps <= targets).all()))


def _inner(left: Array, right: Array) -> Vector:
    return np.asarray(np.einsum("ij,ij->i", left, right))
