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
from swordplay.parts.streams.linear import LinearRounds, row_products
from swordplay.theory.hindsight.cones import row_norms
from swordplay.theory.hindsight.losses_in_domain import require_dim, require_nonempty
from swordplay.theory.variation_quadratic import as_quadratic

ROUNDING = 1e-13
"""Relative rounding error of sums of gradients; no gap can be smaller."""
CHUNK_NUMBERS = 1 << 21
"""Numbers of a stream that are converted into sums over blocks at a time (16 MB)."""
MAX_SPECTRUM_DIM = 256
"""Dimension up to which largest eigenvalues are computed; beyond it the trace bounds them."""


class Minima(NamedTuple):
    """Results of :func:`minimize` for B functions."""

    points: Matrix
    """The best points found, shape ``(B, d)``."""
    gaps: Vector
    """Largest amount by which each function may exceed its minimum at its point, ``(B,)``."""
    all_within_tolerance: bool
    """Whether every gap is within its target, up to rounding."""


def minimize(sums: BlockSums, domain: Domain, tolerance: float, max_steps: int) -> Minima:
    r"""Minimise convex functions over a domain, each with a certified gap.

    Accelerated projected gradient descent from the domain's centre, with restarts:

    .. math:: x_{k+1} = \Pi_X[y_k - \nabla F(y_k) / L], \qquad
        y_{k+1} = \Pi_X\big[x_{k+1} + \tfrac{m_k - 1}{m_{k+1}} (x_{k+1} - x_k)\big]

    Each function F has its own momentum m, which restarts when it points uphill, and its own L,
    which is doubled when the gradient changes faster than L allows. A function is finished when its
    gap is at most ``tolerance * D * (sum of gradient norms)``, up to rounding error.

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
    target_gaps = tolerance * D * sums.center_gradient_norm_sums
    target_gaps += ROUNDING * (
        (D + np.linalg.norm(domain.center)) * sums.center_gradient_norm_sums
        + D**2 * sums.smoothness
    )
    best_points = np.tile(domain.center, (len(target_gaps), 1))
    best_gaps = gaps(domain, best_points, sums.gradients(best_points))

    # `unfinished` holds indices of functions. From here on sums, x, y, momentum and L have entries
    # for these functions only; best_points, best_gaps and target_gaps have entries for all.
    unfinished = np.flatnonzero(best_gaps > target_gaps)
    sums, x = sums.select(unfinished), best_points[unfinished]
    y, momentum = x, np.ones(len(unfinished))
    L = np.where(sums.smoothness > 0, sums.smoothness, 1.0)
    for _ in range(max_steps):
        if not len(unfinished):
            break
        y_gradients = sums.gradients(y)
        next_x = domain.project(y - y_gradients / L[:, None])
        next_gradients = sums.gradients(next_x)
        # L is too small if the slope along the step rises by more than L |step|, beyond rounding.
        step = next_x - y
        step_length = row_norms(step)
        rounding = ROUNDING * row_norms(y_gradients) * step_length
        is_L_too_small = (
            row_products(next_gradients - y_gradients, step)
            > L * step_length**2 * (1.0 + ROUNDING) + rounding
        )
        L = np.where(is_L_too_small, 2.0 * L, L)

        # Finished functions keep their result, so that no result depends on the other functions.
        new_gaps = gaps(domain, next_x, next_gradients)
        is_better = (new_gaps < best_gaps[unfinished]) & (
            best_gaps[unfinished] > target_gaps[unfinished]
        )
        best_points[unfinished[is_better]] = next_x[is_better]
        best_gaps[unfinished[is_better]] = new_gaps[is_better]

        is_uphill = row_products(y - next_x, next_x - x) > 0
        momentum = np.where(is_uphill | is_L_too_small, 1.0, momentum)
        next_momentum = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        next_y = domain.project(next_x + ((momentum - 1.0) / next_momentum)[:, None] * (next_x - x))
        # Where L was too small the step is not taken: the next step starts at x with the doubled L.
        x, y = (
            np.where(is_L_too_small[:, None], x, next_x),
            np.where(is_L_too_small[:, None], x, next_y),
        )
        momentum = np.where(is_L_too_small, 1.0, next_momentum)

        # Finished functions are removed once they are half of all: selecting copies the arrays.
        remaining = np.flatnonzero(best_gaps[unfinished] > target_gaps[unfinished])
        if len(remaining) <= len(unfinished) // 2:
            sums, unfinished = sums.select(remaining), unfinished[remaining]
            x, y, momentum, L = x[remaining], y[remaining], momentum[remaining], L[remaining]
    return Minima(best_points, best_gaps, bool((best_gaps <= target_gaps).all()))


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
    return np.maximum(row_products(gradients, points) + domain.support(-gradients), 0.0)


class BlockSums(Protocol):
    """B convex functions, each the sum of the losses of one block of rounds."""

    @property
    def smoothness(self) -> Vector:
        """Upper bound on, or first guess of, each function's smoothness, shape ``(B,)``."""
        ...

    @property
    def center_gradient_norm_sums(self) -> Vector:
        r""":math:`\sum_t \|\nabla f_t(c)\|` of each block at the domain's centre, ``(B,)``."""
        ...

    def gradients(self, points: Matrix) -> Matrix:
        """Gradient of each function at its own point, shape ``(B, d)``."""
        ...

    def select(self, indices: NDArray[np.intp]) -> Self:
        """The functions with these indices."""
        ...


@dataclass(frozen=True)
class QuadraticSums:
    """Quadratics x'Hx/2 - b'x."""

    matrices: Array
    """H, shape ``(B, d, d)``."""
    vectors: Matrix
    """b, shape ``(B, d)``."""
    smoothness: Vector
    center_gradient_norm_sums: Vector

    def gradients(self, points: Matrix) -> Matrix:
        """H x - b."""
        return np.asarray((self.matrices @ points[:, :, None])[..., 0] - self.vectors)

    def select(self, indices: NDArray[np.intp]) -> QuadraticSums:
        """The functions with these indices."""
        return QuadraticSums(
            self.matrices[indices],
            self.vectors[indices],
            self.smoothness[indices],
            self.center_gradient_norm_sums[indices],
        )


@dataclass(frozen=True)
class RowSums:
    """Sums of losses of linear predictions over blocks of m rounds."""

    rows: LinearRounds
    """The rounds, with features of shape ``(B, m, d)`` and targets of shape ``(B, m)``."""
    smoothness: Vector
    center_gradient_norm_sums: Vector

    def gradients(self, points: Matrix) -> Matrix:
        """Sum over the rows of slope times features."""
        A = self.rows.features
        slopes = self.rows.slopes((A @ points[:, :, None])[..., 0])
        return np.asarray((slopes[:, None, :] @ A)[:, 0])

    def select(self, indices: NDArray[np.intp]) -> RowSums:
        """The functions with these indices."""
        rows = LinearRounds(self.rows.features[indices], self.rows.targets[indices], self.rows.loss)
        return RowSums(rows, self.smoothness[indices], self.center_gradient_norm_sums[indices])


@dataclass(frozen=True)
class SparseRowSum:
    """The sum of the losses of linear predictions of a sparse table, all in one block."""

    rows: LinearRounds
    """The rounds, with sparse features of shape ``(T, d)``."""
    smoothness: Vector
    center_gradient_norm_sums: Vector

    def gradients(self, points: Matrix) -> Matrix:
        """Sum over the rows of slope times features."""
        return np.asarray(
            self.rows.features.T @ self.rows.slopes(self.rows.predictions(points[0]))
        )[None]

    def select(self, indices: NDArray[np.intp]) -> SparseRowSum:
        """The sum itself, as there is only one."""
        return self


@dataclass(frozen=True)
class BlackBoxSums:
    """Sums of any losses, each of which is evaluated by itself."""

    blocks: Sequence[Sequence[Loss]]
    smoothness: Vector
    center_gradient_norm_sums: Vector

    def gradients(self, points: Matrix) -> Matrix:
        """Sum of the gradients of each block at its own point."""
        return np.array(
            [
                _gradients(block, point).sum(axis=0)
                for block, point in zip(self.blocks, points, strict=True)
            ]
        )

    def select(self, indices: NDArray[np.intp]) -> BlackBoxSums:
        """The functions with these indices."""
        return BlackBoxSums(
            [self.blocks[i] for i in indices],
            self.smoothness[indices],
            self.center_gradient_norm_sums[indices],
        )


@singledispatch
def sums_over_blocks(
    stream: Iterable[Loss], domain: Domain, length: int | None
) -> Iterator[BlockSums]:
    """Sums of the stream's losses over blocks of ``length`` rounds; None: one block of all rounds.

    A long stream gives several batches, each with consecutive blocks of about
    :data:`CHUNK_NUMBERS` numbers.
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
    rows_per_chunk = max(1, CHUNK_NUMBERS // (length * rows.dim)) * length
    for start in range(0, len(rows), rows_per_chunk):
        yield _dense_sums(rows[start : start + rows_per_chunk].dense(), domain, length)


def _dense_sums(rows: LinearRounds, domain: Domain, length: int) -> BlockSums:
    # Rows of zeros fill the last block: their gradient is 0 for any slope. A has shape (B, m, d).
    missing_rows = -len(rows) % length
    A = np.concatenate([rows.features, np.zeros((missing_rows, rows.dim))]).reshape(
        -1, length, rows.dim
    )
    y = np.concatenate([rows.targets, np.zeros(missing_rows)]).reshape(-1, length)
    rows, transposed = LinearRounds(A, y, rows.loss), np.swapaxes(A, 1, 2)
    center_gradient_norm_sums = (
        np.abs(rows.slopes(A @ domain.center)) * np.sqrt(np.einsum("bmd,bmd->bm", A, A))
    ).sum(axis=1)
    if isinstance(rows.loss, SquaredLoss) and length >= rows.dim:
        # More rounds than coordinates: the normal equations are smaller than the rows.
        gram = transposed @ A
        return QuadraticSums(
            gram,
            (transposed @ y[..., None])[..., 0],
            _largest_eigenvalues(gram),
            center_gradient_norm_sums,
        )
    gram = transposed @ A if length >= rows.dim else A @ transposed
    return RowSums(
        rows, rows.loss.curvature * _largest_eigenvalues(gram), center_gradient_norm_sums
    )


def _sparse_sum(rows: LinearRounds, domain: Domain) -> SparseRowSum:
    squared_norms = np.asarray(rows.features.multiply(rows.features).sum(axis=1)).ravel()
    center_gradient_norm_sums = np.abs(rows.slopes(rows.predictions(domain.center))) @ np.sqrt(
        squared_norms
    )
    smoothness = rows.loss.curvature * squared_norms.sum()
    return SparseRowSum(rows, np.array([smoothness]), np.array([center_gradient_norm_sums]))


def _sums_of_losses(losses: Sequence[Loss], domain: Domain, length: int) -> BlockSums:
    starts = range(0, len(losses), length)
    blocks = [losses[i : i + length] for i in starts]
    center_gradient_norm_sums = np.array(
        [np.linalg.norm(_gradients(block, domain.center), axis=1).sum() for block in blocks]
    )
    quadratics = [quadratic for quadratic in map(as_quadratic, losses) if quadratic is not None]
    if len(quadratics) == len(losses):
        matrices = np.add.reduceat([quadratic.matrix for quadratic in quadratics], starts)
        vectors = np.add.reduceat([quadratic.vector for quadratic in quadratics], starts)
        return QuadraticSums(
            matrices, vectors, _largest_eigenvalues(matrices), center_gradient_norm_sums
        )
    # Losses of unknown smoothness add nothing: a first guess, which descent doubles where needed.
    known_smoothness = [sum(loss.smoothness or 0.0 for loss in block) for block in blocks]
    first_guesses = np.maximum(known_smoothness, center_gradient_norm_sums / domain.diameter)
    return BlackBoxSums(blocks, first_guesses, center_gradient_norm_sums)


def _gradients(losses: Sequence[Loss], point: Vector) -> Matrix:
    """Gradient of each loss at one point, shape ``(len(losses), d)``."""
    return np.array([gradient_of(loss)(point) for loss in losses])


def _largest_eigenvalues(matrices: Any) -> Vector:
    """Largest eigenvalue of each positive semidefinite matrix, or its trace for many dimensions."""
    if matrices.shape[-1] > MAX_SPECTRUM_DIM:
        return np.asarray(np.trace(matrices, axis1=1, axis2=2))
    return np.asarray(np.linalg.eigvalsh(matrices)[:, -1])
