"""Accelerated projected gradient descent on sums of losses over many blocks of rounds at once.

:func:`sums_over_blocks` turns a stream into convex functions, one for each block of rounds;
:func:`minimize` minimises all of them over one domain and certifies how far each result is from the
minimum.
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
from swordplay.parts.losses import SquaredLoss, gradient_of
from swordplay.parts.streams import LinearStream
from swordplay.parts.streams.linear import LinearRounds
from swordplay.theory.hindsight.cones import inner
from swordplay.theory.hindsight.losses_in_domain import require_dim, require_nonempty
from swordplay.theory.variation_quadratic import as_quadratic

ROUNDING = 1e-13
"""Relative rounding error of sums of gradients; no gap can be smaller."""
CHUNK = 1 << 21
"""Numbers of a stream that are converted into block sums at a time (16 MB)."""
MAX_SPECTRUM_DIM = 256
"""Largest width of Gram matrices whose largest eigenvalue is computed; else the trace bounds it."""


class Minima(NamedTuple):
    """Results of :func:`minimize` for B functions."""

    points: Matrix
    """The best points found, shape ``(B, d)``."""
    gaps: Vector
    """Largest amount by which each function may exceed its minimum at its point, ``(B,)``."""
    is_within_tolerance: bool
    """Whether every gap is within its target."""


def minimize(sums: BlockSums, domain: Domain, tolerance: float, max_steps: int) -> Minima:
    r"""Minimise convex functions over a domain, each with a certified gap.

    Accelerated projected gradient descent from the domain's centre, with restarts:

    .. math:: x_{k+1} = \Pi_X[y_k - \nabla F(y_k) / L], \qquad
        y_{k+1} = \Pi_X\big[x_{k+1} + \tfrac{m_k - 1}{m_{k+1}} (x_{k+1} - x_k)\big]

    Each function F has its own momentum m, which restarts when it points uphill, and its own L,
    which is doubled when the gradient changes faster than L allows. A function is finished when its
    gap is within ``tolerance * D * sum of gradient norms`` (and rounding error).

    Parameters
    ----------
    sums
        B convex functions.
    domain
        X.
    tolerance
        Largest gap, relative to D times the sum of gradient norms at the centre.
    max_steps
        Most steps.

    References
    ----------
    Beck, Teboulle (2009), FISTA; O'Donoghue, Candès (2015), "Adaptive restart for accelerated
    gradient schemes".
    """
    D = domain.diameter
    targets = tolerance * D * sums.gradient_norms
    targets += ROUNDING * (
        (D + np.linalg.norm(domain.center)) * sums.gradient_norms + D**2 * sums.smoothness
    )
    best = np.tile(domain.center, (len(targets), 1))
    best_gaps = gaps(domain, best, sums.gradients(best))

    # `unfinished` holds indices of functions; sums, x, y, momentum and L hold these functions only.
    unfinished = np.flatnonzero(best_gaps > targets)
    sums, x = sums.select(unfinished), best[unfinished]
    y, momentum = x, np.ones(len(unfinished))
    L = np.where(sums.smoothness > 0, sums.smoothness, 1.0)
    for _ in range(max_steps):
        if not len(unfinished):
            break
        gradients_at_y = sums.gradients(y)
        stepped = domain.project(y - gradients_at_y / L[:, None])
        gradients_at_stepped = sums.gradients(stepped)
        # L is too small if the gradient changes faster than L along the step, beyond rounding.
        step = stepped - y
        step_length = np.sqrt(inner(step, step))
        rounding = ROUNDING * np.sqrt(inner(gradients_at_y, gradients_at_y)) * step_length
        is_steep = (
            inner(gradients_at_stepped - gradients_at_y, step)
            > L * step_length**2 * (1.0 + ROUNDING) + rounding
        )
        L = np.where(is_steep, 2.0 * L, L)

        # Finished functions keep their result, so that no result depends on the other functions.
        new_gaps = gaps(domain, stepped, gradients_at_stepped)
        is_better = (new_gaps < best_gaps[unfinished]) & (
            best_gaps[unfinished] > targets[unfinished]
        )
        best[unfinished[is_better]] = stepped[is_better]
        best_gaps[unfinished[is_better]] = new_gaps[is_better]

        is_uphill = inner(y - stepped, stepped - x) > 0
        momentum = np.where(is_uphill | is_steep, 1.0, momentum)
        next_momentum = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        extrapolated = domain.project(
            stepped + ((momentum - 1.0) / next_momentum)[:, None] * (stepped - x)
        )
        # Where L was too small the step is not taken: the next one starts at x with the larger L.
        x, y = np.where(is_steep[:, None], x, stepped), np.where(is_steep[:, None], x, extrapolated)
        momentum = np.where(is_steep, 1.0, next_momentum)

        # Finished functions are removed once they are half of all: selecting copies the arrays.
        remaining = np.flatnonzero(best_gaps[unfinished] > targets[unfinished])
        if len(remaining) <= len(unfinished) // 2:
            sums, unfinished = sums.select(remaining), unfinished[remaining]
            x, y, momentum, L = x[remaining], y[remaining], momentum[remaining], L[remaining]
    return Minima(best, best_gaps, bool((best_gaps <= targets).all()))


def gaps(domain: Domain, points: Matrix, gradients: Matrix) -> Vector:
    r"""Bounds on how much convex functions exceed their minima, from their gradients alone.

    .. math:: f(x) - \min_X f \le \max_{z \in X} \langle \nabla f(x), x - z \rangle
        = \langle \nabla f(x), x \rangle + \sigma_X(-\nabla f(x))

    Parameters
    ----------
    domain
        X.
    points, gradients
        x and ∇f(x) of B functions, shape ``(B, d)``.

    References
    ----------
    Jaggi (2013), "Revisiting Frank-Wolfe", section 2.
    """
    return np.maximum(inner(gradients, points) + domain.support(-gradients), 0.0)


class BlockSums(Protocol):
    """B convex functions, each the sum of the losses of one block of rounds."""

    @property
    def smoothness(self) -> Vector:
        """Upper bound on, or first guess of, each function's smoothness, shape ``(B,)``."""
        ...

    @property
    def gradient_norms(self) -> Vector:
        r""":math:`\sum_t \|\nabla f_t(c)\|` of each block at the domain's centre, ``(B,)``."""
        ...

    def gradients(self, points: Matrix) -> Matrix:
        """Gradient of each function at its own point, shape ``(B, d)``."""
        ...

    def select(self, blocks: NDArray[np.intp]) -> Self:
        """The functions of the given indices."""
        ...


@dataclass(frozen=True)
class QuadraticSums:
    """Quadratics x'Hx/2 - b'x with H of shape ``(B, d, d)`` and b of shape ``(B, d)``."""

    matrices: Array
    vectors: Matrix
    smoothness: Vector
    gradient_norms: Vector

    def gradients(self, points: Matrix) -> Matrix:
        """H x - b."""
        return np.asarray((self.matrices @ points[:, :, None])[..., 0] - self.vectors)

    def select(self, blocks: NDArray[np.intp]) -> QuadraticSums:
        """The functions of the given indices."""
        return QuadraticSums(
            self.matrices[blocks],
            self.vectors[blocks],
            self.smoothness[blocks],
            self.gradient_norms[blocks],
        )


@dataclass(frozen=True)
class RowSums:
    """Sums of losses of linear predictions: features ``(B, m, d)``, targets ``(B, m)``."""

    rows: LinearRounds
    smoothness: Vector
    gradient_norms: Vector

    def gradients(self, points: Matrix) -> Matrix:
        """Sum over the rows of slope times features."""
        A = self.rows.features
        slopes = self.rows.slopes((A @ points[:, :, None])[..., 0])
        return np.asarray((slopes[:, None, :] @ A)[:, 0])

    def select(self, blocks: NDArray[np.intp]) -> RowSums:
        """The functions of the given indices."""
        rows = LinearRounds(self.rows.features[blocks], self.rows.targets[blocks], self.rows.family)
        return RowSums(rows, self.smoothness[blocks], self.gradient_norms[blocks])


@dataclass(frozen=True)
class SparseRowSum:
    """The sum of sparse losses of linear predictions, all in one block: features ``(T, d)``."""

    rows: LinearRounds
    smoothness: Vector
    gradient_norms: Vector

    def gradients(self, points: Matrix) -> Matrix:
        """Sum over the rows of slope times features."""
        return np.asarray(
            self.rows.features.T @ self.rows.slopes(self.rows.predictions(points[0]))
        )[None]

    def select(self, blocks: NDArray[np.intp]) -> SparseRowSum:
        """The sum itself, as there is only one."""
        return self


@dataclass(frozen=True)
class BlackBoxSums:
    """Sums of any losses, evaluated block by block and loss by loss."""

    blocks: Sequence[Sequence[Loss]]
    smoothness: Vector
    gradient_norms: Vector

    def gradients(self, points: Matrix) -> Matrix:
        """Sum of the gradients of each block at its own point."""
        return np.array(
            [
                _gradients(block, point).sum(axis=0)
                for block, point in zip(self.blocks, points, strict=True)
            ]
        )

    def select(self, blocks: NDArray[np.intp]) -> BlackBoxSums:
        """The functions of the given indices."""
        return BlackBoxSums(
            [self.blocks[i] for i in blocks], self.smoothness[blocks], self.gradient_norms[blocks]
        )


@singledispatch
def sums_over_blocks(
    stream: Iterable[Loss], domain: Domain, length: int | None
) -> Iterator[BlockSums]:
    """Sums of the stream's losses over blocks of ``length`` rounds, or over all rounds (None).

    Long streams are split: each item holds consecutive blocks of about :data:`CHUNK` numbers.
    """
    losses = list(arguments.stream(stream))
    require_nonempty(len(losses))
    rows = LinearRounds.of_losses(losses)
    return (
        iter([_sums_of_losses(losses, domain, length or len(losses))])
        if rows is None
        else _sums_of_rows(rows, domain, length)
    )


@sums_over_blocks.register
def _(stream: LinearStream, domain: Domain, length: int | None) -> Iterator[BlockSums]:
    require_nonempty(len(stream))
    return _sums_of_rows(LinearRounds.of_stream(stream), domain, length)


def _sums_of_rows(rows: LinearRounds, domain: Domain, length: int | None) -> Iterator[BlockSums]:
    require_dim(rows.dim, domain)
    if rows.sparse and length is None:
        yield _sparse_sum(rows, domain)
        return
    length = min(length or len(rows), len(rows))
    rows_per_chunk = max(1, CHUNK // (length * rows.dim)) * length
    for start in range(0, len(rows), rows_per_chunk):
        yield _dense_sums(rows[start : start + rows_per_chunk].dense(), domain, length)


def _dense_sums(rows: LinearRounds, domain: Domain, length: int) -> BlockSums:
    # Rows of zeros complete the last block: their gradient is 0 for any slope.
    missing_rows = -len(rows) % length
    A = np.concatenate([rows.features, np.zeros((missing_rows, rows.dim))]).reshape(
        -1, length, rows.dim
    )
    y = np.concatenate([rows.targets, np.zeros(missing_rows)]).reshape(-1, length)
    rows, transposed = LinearRounds(A, y, rows.family), np.swapaxes(A, 1, 2)
    gradient_norms = (
        np.abs(rows.slopes(A @ domain.center)) * np.sqrt(np.einsum("bmd,bmd->bm", A, A))
    ).sum(axis=1)
    if isinstance(rows.family, SquaredLoss) and length >= rows.dim:
        # More rounds than coordinates: the normal equations are smaller than the rows.
        gram = transposed @ A
        return QuadraticSums(
            gram, (transposed @ y[..., None])[..., 0], _largest_eigenvalues(gram), gradient_norms
        )
    gram = transposed @ A if length >= rows.dim else A @ transposed
    return RowSums(rows, rows.family.curvature * _largest_eigenvalues(gram), gradient_norms)


def _sparse_sum(rows: LinearRounds, domain: Domain) -> SparseRowSum:
    squared_norms = np.asarray(rows.features.multiply(rows.features).sum(axis=1)).ravel()
    gradient_norms = np.abs(rows.slopes(rows.predictions(domain.center))) @ np.sqrt(squared_norms)
    smoothness = rows.family.curvature * squared_norms.sum()
    return SparseRowSum(rows, np.array([smoothness]), np.array([gradient_norms]))


def _sums_of_losses(losses: Sequence[Loss], domain: Domain, length: int) -> BlockSums:
    starts = range(0, len(losses), length)
    blocks = [losses[i : i + length] for i in starts]
    gradient_norms = np.array(
        [np.linalg.norm(_gradients(block, domain.center), axis=1).sum() for block in blocks]
    )
    quadratics = [quadratic for quadratic in map(as_quadratic, losses) if quadratic is not None]
    if len(quadratics) == len(losses):
        matrices = np.add.reduceat([quadratic.matrix for quadratic in quadratics], starts)
        vectors = np.add.reduceat([quadratic.vector for quadratic in quadratics], starts)
        return QuadraticSums(matrices, vectors, _largest_eigenvalues(matrices), gradient_norms)
    # If the smoothness of a loss is unknown, descent starts from a guess and doubles it.
    guesses = [sum(loss.smoothness or 0.0 for loss in block) for block in blocks]
    return BlackBoxSums(
        blocks, np.maximum(guesses, gradient_norms / domain.diameter), gradient_norms
    )


def _gradients(losses: Sequence[Loss], point: Vector) -> Matrix:
    return np.array([gradient_of(loss)(point) for loss in losses])


def _largest_eigenvalues(matrices: Any) -> Vector:
    """Largest eigenvalue of each positive semidefinite matrix; the trace of wide ones."""
    if matrices.shape[-1] > MAX_SPECTRUM_DIM:
        return np.asarray(np.trace(matrices, axis1=1, axis2=2))
    return np.asarray(np.linalg.eigvalsh(matrices)[:, -1])
