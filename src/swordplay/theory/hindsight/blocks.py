r"""Best comparator sequence for a given penalty, for long streams in many dimensions, by blocks.

Moves are penalised by λ times their length, so comparators move seldom. Consecutive rounds that
share a comparator form a block, and the blocks form a shorter chain. The solution of this chain
solves the whole problem if the moves inside of the blocks, which are 0, have dual variables of
norm at most λ. Cumulative sums of gradients are candidates for these dual variables. Where a
candidate has a norm above λ, its block is split, and the chain is solved again (an active-set
method). The gap is certified for all rounds, whatever the blocks are.

References
----------
Bleakley, Vert (2011), "The group fused lasso for multiple change-point detection", for the active
set of change points.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, final

import numpy as np

from swordplay.core.types import Array, Matrix, Vector
from swordplay.theory.hindsight import interior_point
from swordplay.theory.hindsight.cones import row_norms
from swordplay.theory.hindsight.duality import (
    Progress,
    Solution,
    clip_duals,
    solution_of_points,
    stationarity_residuals,
)
from swordplay.theory.hindsight.losses_in_domain import (
    Curvature,
    DomainCoordinates,
    Losses,
    SlopeLimitedRows,
)

MAX_NEWTON_WORK = 2e8
"""Multiplications of a Newton step, T n^3, up to which the whole chain is solved at once."""
INITIAL_BLOCKS = 24
"""Number of blocks before the first split."""
MAX_REFINEMENTS = 24
"""Most repetitions of solving and splitting; after them the whole chain is solved."""
MAX_BLOCKS_PER_ROUND = 0.4
"""Blocks per round of the game beyond which the whole chain is solved."""
BLOCK_CHAIN_GAP = 0.5
"""Gap to which the chain of blocks is solved, as a fraction of the target gap."""
COARSE_BLOCK_CHAIN_GAP = 1e-3
"""Gap to which the chain of blocks is solved at first, as a fraction of the best gap so far."""
SHORTEST_MOVE = 1e-4
"""Shortest move, in diameters, at which :func:`block_starts` begins a new block."""
SPLITS_PER_BLOCK = 4
"""Most splits of one block at a time."""


def needs_blocks(losses: Losses) -> bool:
    """Whether a Newton step of the whole chain costs more than ``MAX_NEWTON_WORK``."""
    rounds, dim = losses.features.shape
    return bool(float(rounds) * dim**3 > MAX_NEWTON_WORK)


def solve(
    losses: Losses,
    coordinates: DomainCoordinates,
    penalty: float,
    target_gap: float,
    progress: Progress | None = None,
    starts: Any = None,
) -> Solution:
    """Minimise the losses plus λ times the path length, with a certified gap.

    Parameters
    ----------
    losses, coordinates
        The losses, and the domain in coordinates of its affine hull; points are in these.
    penalty
        λ > 0.
    target_gap
        Gap at which to stop; the result may have a larger one.
    progress
        Called after each solution of the chain of blocks.
    starts
        First rounds of the initial blocks, ascending from 0. None stands for
        :data:`INITIAL_BLOCKS` blocks of one length.
    """
    rounds = len(losses.features)
    starts = (
        np.unique(np.linspace(0, rounds, INITIAL_BLOCKS, endpoint=False).astype(int))
        if starts is None
        else starts
    )
    best = interior_point.solution_at_center(losses, coordinates, penalty)
    for refinement in range(1, MAX_REFINEMENTS + 1):
        if best.gap <= target_gap or len(starts) > MAX_BLOCKS_PER_ROUND * rounds:
            break
        blocks = BlockLosses(losses, starts)
        chain_gap = max(BLOCK_CHAIN_GAP * target_gap, COARSE_BLOCK_CHAIN_GAP * best.gap)
        block_solution = interior_point.solve(blocks, coordinates, penalty, chain_gap)
        points, duals = _points_and_duals(blocks, block_solution)
        best = best.with_best_parts_of(
            solution_of_points(losses, coordinates, penalty, points, clip_duals(duals, penalty))
        )
        if progress is not None:
            progress(refinement, MAX_REFINEMENTS, f"{len(starts)} blocks, gap {best.gap:.1e}")
        splits = _splits(blocks, row_norms(duals) / penalty)
        if not len(splits):
            break
        starts = np.union1d(starts, splits)
    if best.gap <= target_gap:
        return best
    return best.with_best_parts_of(
        interior_point.solve(losses, coordinates, penalty, target_gap, progress)
    )


def block_starts(points: Matrix, diameter: float) -> Any:
    """First rounds of the blocks into which the moves of a solution divide the rounds, ``(K,)``.

    They are the initial blocks for the next penalty.
    """
    moves = np.diff(points, axis=0)
    lengths = row_norms(moves)
    return np.append(0, 1 + np.flatnonzero(lengths > SHORTEST_MOVE * diameter))


def _points_and_duals(blocks: BlockLosses, block_solution: Solution) -> tuple[Matrix, Matrix]:
    """Comparators of all rounds for a solution of the blocks, and dual variables of all moves.

    Dual variables of moves between blocks are those of the solution. Inside of a block they are
    cumulative sums of the gradients of losses and of the domain's constraints. The latter are known
    for the whole block only, and are distributed evenly over its rounds. The dual variables inside
    of a block may have norms above the penalty.
    """
    points = blocks.spread_to_rounds(block_solution.points)
    gradients = blocks.losses.gradients(points)
    zero_row = np.zeros((1, points.shape[1]))
    constraint_gradients = (
        -stationarity_residuals(blocks.sum_rounds(gradients), block_solution.duals)
        / blocks.lengths[:, None]
    )
    # Stationarity inside of a block: z_{t+1} = z_t + gradients of round t.
    sums = np.cumsum(gradients + blocks.spread_to_rounds(constraint_gradients), axis=0)
    # For each block: the sum of all rounds before it, and the dual variable of the move into it.
    sums_before = np.concatenate([zero_row, sums[blocks.starts[1:] - 1]])
    entering_duals = np.concatenate([zero_row, block_solution.duals])
    duals = (sums + blocks.spread_to_rounds(entering_duals - sums_before))[:-1]
    if len(block_solution.duals):
        duals[blocks.starts[1:] - 1] = block_solution.duals
    return points, duals


def _splits(blocks: BlockLosses, relative_norms: Vector) -> Any:
    """Rounds at which blocks are split: where dual variables have norms above the penalty.

    Parameters
    ----------
    blocks
        The present blocks.
    relative_norms
        Norms of the dual variables of all moves, divided by the penalty, shape ``(T - 1,)``.
    """
    splits = []
    for start, length in zip(blocks.starts, blocks.lengths, strict=True):
        norms_inside = relative_norms[start : start + length - 1]
        if not len(norms_inside) or norms_inside.max() <= 1.0:
            continue
        # At most one split in each of SPLITS_PER_BLOCK parts of the block, at the largest norm.
        part_starts = np.unique(
            np.linspace(0, len(norms_inside), SPLITS_PER_BLOCK, endpoint=False).astype(int)
        )
        part_ends = np.append(part_starts[1:], len(norms_inside))
        for part_start, part_end in zip(part_starts, part_ends, strict=True):
            largest = part_start + int(norms_inside[part_start:part_end].argmax())
            if norms_inside[largest] > 1.0:
                splits.append(start + largest + 1)
    return np.array(splits, dtype=int)


@final
class BlockLosses:
    r"""Sums of the losses of consecutive rounds, as functions of one comparator for each block.

    The Hessian of round t is :math:`h_t a_t a_t^\top + M_t`, with the weight h of its features a
    and a matrix M (:class:`~swordplay.theory.hindsight.losses_in_domain.Curvature`).

    Parameters
    ----------
    losses
        T losses.
    starts
        First round of each of the K blocks, ascending from 0, shape ``(K,)``.

    Attributes
    ----------
    lengths
        Number of rounds of each block, shape ``(K,)``.
    has_affine_gradients
        Whether Hessians are the same at all points. Rows with bounded slopes do not count: the
        interior-point method treats them apart, as ``slope_limited_rows``.
    """

    def __init__(self, losses: Losses, starts: Any) -> None:
        self.losses, self.starts = losses, np.asarray(starts)
        self.lengths = np.diff(np.append(self.starts, len(losses.features)))
        self.has_affine_gradients = losses.has_affine_gradients

    @cached_property
    def features(self) -> Matrix:
        """Zeros, shape ``(K, n)``: a sum of h a a' has no single a, so all of it is in M."""
        return np.zeros((len(self.starts), self.losses.features.shape[1]))

    @cached_property
    def slope_limited_rows(self) -> BlockRows | None:
        """Rows of all rounds (not blocks), with limits of slopes; None if no slope is bounded."""
        rows = self.losses.slope_limited_rows
        return None if rows is None else BlockRows(rows, self)

    def spread_to_rounds(self, points: Matrix) -> Matrix:
        """Comparator of each round, shape ``(T, n)``, from those of the blocks, ``(K, n)``."""
        return np.repeat(points, self.lengths, axis=0)

    def sum_rounds(self, values: Array) -> Array:
        """Sum over the rounds of each block: shape ``(T, ...)`` to shape ``(K, ...)``."""
        return np.asarray(np.add.reduceat(values, self.starts, axis=0))

    def values(self, points: Matrix) -> Vector:
        """Sum of the losses of each block, shape ``(K,)``."""
        return self.sum_rounds(self.losses.values(self.spread_to_rounds(points)))

    def gradients(self, points: Matrix) -> Matrix:
        """Sum of the gradients of each block, shape ``(K, n)``."""
        return self.sum_rounds(self.losses.gradients(self.spread_to_rounds(points)))

    def curvature(self, points: Matrix) -> Curvature:
        """Sum of the Hessians of each block, as matrices."""
        matrices = (
            self._constant_matrices
            if self.has_affine_gradients
            else self._matrices(self.losses.curvature(self.spread_to_rounds(points)))
        )
        return Curvature(np.zeros(len(self.starts)), matrices)

    def curvature_of(self, second_derivatives: Vector) -> Curvature:
        """Sum of the Hessians of each block for given second derivatives of the rows, ``(T,)``."""
        row_curvature = Curvature(second_derivatives, np.empty(0))
        return Curvature(np.zeros(len(self.starts)), self._matrices(row_curvature))

    @cached_property
    def _constant_matrices(self) -> Array:
        """Hessians of losses with affine gradients, which are the same at all points."""
        origin = np.zeros((len(self.starts), self.losses.features.shape[1]))
        return self._matrices(self.losses.curvature(self.spread_to_rounds(origin)))

    def _matrices(self, curvature: Curvature) -> Array:
        """Sum over each block of h a a' + M, shape ``(K, n, n)``."""
        features = self.losses.features
        sums = np.empty((len(self.starts), features.shape[1], features.shape[1]))
        for k, (start, length) in enumerate(zip(self.starts, self.lengths, strict=True)):
            rows = features[start : start + length]
            weights = curvature.feature_weights[start : start + length, None]
            np.matmul((rows * weights).T, rows, out=sums[k])
        return sums + self.sum_rounds(curvature.matrices) if len(curvature.matrices) else sums


@final
class BlockRows:
    """The slope-limited rows of all rounds, each assigned to the block that contains its round.

    It has the members of :class:`~swordplay.theory.hindsight.losses_in_domain.SlopeLimitedRows`:
    those of ``rows``, except ``spread_to_rows``, ``sum_rows`` and ``curvature_of``.

    Parameters
    ----------
    rows
        The rows, one in each round.
    blocks
        The blocks.
    """

    def __init__(self, rows: SlopeLimitedRows, blocks: BlockLosses) -> None:
        self.features, self.shifts = rows.features, rows.shifts
        self.slope_limits, self.secant_curvatures = rows.slope_limits, rows.secant_curvatures
        self.residuals = rows.residuals
        self.invert_slopes = rows.invert_slopes
        self.conjugates = rows.conjugates
        # For the interior-point method a block is one round, with a row for each of its rounds.
        self.spread_to_rows, self.sum_rows = blocks.spread_to_rounds, blocks.sum_rounds
        self.curvature_of = blocks.curvature_of
