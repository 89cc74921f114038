"""Newton systems on a chain of rounds: a Hessian for each round, a coupling for each move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from swordplay.core.types import Array, Matrix, Vector
from swordplay.parts.streams.linear import row_products
from swordplay.theory.hindsight.duality import stationarity_residuals

MAX_STORED_NUMBERS = 1 << 27
"""Largest size of the factors of all rounds together (1 GB as doubles).

Longer chains keep the factors of one segment at a time and compute them again when needed.
"""
MULTIPLICATIONS_PER_CALL = 1 << 26
"""Largest work of one compiled call, a fraction of a second, so that Ctrl-C takes effect soon."""


@dataclass(frozen=True)
class Hessians:
    r"""Hessian of each round, :math:`h a a^\top + M + \rho I + q q^\top + \sum_i k_i G_i G_i^\top`.

    Attributes
    ----------
    features, feature_weights
        a, shape ``(T, n)``, and h, shape ``(T,)``.
    matrices
        M, shape ``(T, n, n)``, or ``(0, n, n)`` if all are 0.
    identity_weights, ball_directions
        ρ, shape ``(T,)``, and q, shape ``(T, n)``, from the constraint of a ball.
    normals, normal_weights
        G, shape ``(m, n)``, and k, shape ``(T, m)``, from the constraints of half-spaces.
    """

    features: Matrix
    feature_weights: Vector
    matrices: Array
    identity_weights: Vector
    ball_directions: Matrix
    normals: Matrix
    normal_weights: Matrix

    def multiply(self, points: Matrix) -> Matrix:
        """H_t times row t of ``points`` for each round t, shape ``(T, n)``."""
        feature_part = (self.feature_weights * row_products(self.features, points))[
            :, None
        ] * self.features
        ball_part = (
            self.identity_weights[:, None] * points
            + row_products(self.ball_directions, points)[:, None] * self.ball_directions
        )
        half_space_part = (self.normal_weights * (points @ self.normals.T)) @ self.normals
        matrix_part = (self.matrices @ points[:, :, None])[..., 0] if len(self.matrices) else 0.0
        return feature_part + ball_part + half_space_part + matrix_part


class MoveMatrices(NamedTuple):
    r"""The matrices :math:`C_t = c_t I + p_t p_t^\top` of the T - 1 moves."""

    scales: Vector
    """c, shape ``(T - 1,)``."""
    directions: Matrix
    """p, shape ``(T - 1, n)``."""

    def multiply(self, duals: Matrix) -> Matrix:
        """C_t z_t for each move, where the rows of ``duals`` are z_t, shape ``(T - 1, n)``."""
        direction_part = row_products(self.directions, duals)[:, None] * self.directions
        return np.asarray(self.scales[:, None] * duals + direction_part)


class Segment(NamedTuple):
    """Rounds of one compiled call, the first arguments of the kernels of a chain."""

    first: int
    """First round of the segment."""
    end: int
    """The round after the last one of the segment."""
    first_stored: int
    """The round whose factors are ``factors[0]``."""


class Chain:
    r"""Solver of the Newton systems of a chain, by block elimination.

    .. math:: \min_x \sum_t \tfrac12 x_t^\top H_t x_t - b_t^\top x_t
        + \tfrac12 \|x_t - x_{t-1} - m_t\|^2_{C_t^{-1}}

    The matrices C may be arbitrarily small (then the moves are nearly m) or large. Time is
    proportional to :math:`T n^3`, memory to :data:`MAX_STORED_NUMBERS` at most and a few arrays of
    :math:`T n` numbers.

    Parameters
    ----------
    rounds, dim
        T and n.
    """

    def __init__(self, rounds: int, dim: int) -> None:
        # Imported here, so that importing the package does not import numba.
        from swordplay.theory.hindsight import kernels

        self._kernels = kernels
        self._rounds, self._dim = rounds, dim
        numbers_per_round = dim * (dim + 1)
        multiplications_per_round = 4 * dim**3 + 16  # roughly, with an offset for small dim
        segment_length = max(
            1,
            min(
                MULTIPLICATIONS_PER_CALL // multiplications_per_round,
                MAX_STORED_NUMBERS // numbers_per_round,
            ),
        )
        self._segment_starts = range(0, rounds, segment_length)
        self._stores_all_factors = rounds * numbers_per_round <= MAX_STORED_NUMBERS
        stored_rounds = rounds if self._stores_all_factors else min(segment_length, rounds)
        self._factors = np.empty((stored_rounds, dim + 1, dim))
        # For each segment, the information matrix (see `kernels`) of all rounds before it.
        self._information_before = np.zeros((len(self._segment_starts) + 1, dim, dim))
        self._work = np.empty((5, dim, dim))

    def factorize(self, hessians: Hessians, move_matrices: MoveMatrices) -> None:
        """Factorize the system of H and C for the following calls of :meth:`solve`."""
        self._hessians, self._move_matrices = hessians, move_matrices
        for segment_index in range(len(self._segment_starts)):
            self._factorize_segment(segment_index)

    def solve(
        self, linear_terms: Matrix, wanted_moves: Matrix, refine: bool
    ) -> tuple[Matrix, Matrix]:
        r"""Minimiser x and dual variables :math:`C_t^{-1}(x_t - x_{t-1} - m_t)` of the moves.

        Parameters
        ----------
        linear_terms, wanted_moves
            b, shape ``(T, n)``, and m, shape ``(T - 1, n)``.
        refine
            Whether to add one step of iterative refinement. Without it, half of the digits are lost
            if some Hessians are far larger than others.
        """
        points, duals = self._solve(linear_terms, wanted_moves)
        if refine:
            residuals = linear_terms - stationarity_residuals(
                self._hessians.multiply(points), duals
            )
            move_residuals = wanted_moves - (
                np.diff(points, axis=0) - self._move_matrices.multiply(duals)
            )
            point_corrections, dual_corrections = self._solve(residuals, move_residuals)
            points, duals = points + point_corrections, duals + dual_corrections
        return points, duals

    def _solve(self, linear_terms: Matrix, wanted_moves: Matrix) -> tuple[Matrix, Matrix]:
        points, duals = np.empty_like(linear_terms), np.empty_like(wanted_moves)
        carry = np.zeros(self._dim)  # passed on between rounds; afterwards only a buffer
        for segment_index in range(len(self._segment_starts)):
            segment = self._load_factors(segment_index)
            self._kernels.filter_forward(
                *segment, linear_terms, wanted_moves, self._factors, carry, points
            )
        for segment_index in reversed(range(len(self._segment_starts))):
            segment = self._load_factors(segment_index)
            self._kernels.smooth_backward(
                *segment, wanted_moves, *self._move_matrices, self._factors, carry, points, duals
            )
        return points, duals

    def _load_factors(self, segment_index: int) -> Segment:
        """Compute the factors of a segment unless they are stored; return the segment."""
        return (
            self._segment(segment_index)
            if self._stores_all_factors
            else self._factorize_segment(segment_index)
        )

    def _segment(self, segment_index: int) -> Segment:
        first = self._segment_starts[segment_index]
        end = min(first + self._segment_starts.step, self._rounds)
        return Segment(first, end, 0 if self._stores_all_factors else first)

    def _factorize_segment(self, segment_index: int) -> Segment:
        """Compute the factors of a segment and the information for the next; return the segment."""
        segment, hessians = self._segment(segment_index), self._hessians
        self._information_before[segment_index + 1] = self._information_before[segment_index]
        self._kernels.factorize(
            *segment,
            hessians.features,
            hessians.feature_weights,
            hessians.matrices,
            hessians.identity_weights,
            hessians.ball_directions,
            hessians.normals,
            hessians.normal_weights,
            *self._move_matrices,
            self._information_before[segment_index + 1],
            self._work,
            self._factors,
        )
        return segment
