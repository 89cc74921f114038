"""Newton systems on a chain of rounds: each round has its Hessian, moves couple neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from swordplay.core.types import Array, Matrix, Vector
from swordplay.theory.hindsight.cones import inner
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
    diagonals, directions
        ρ, shape ``(T,)``, and q, shape ``(T, n)``: the part of a ball constraint.
    normals, normal_weights
        G, shape ``(m, n)``, and k, shape ``(T, m)``: the part of half-spaces.
    """

    features: Matrix
    feature_weights: Vector
    matrices: Array
    diagonals: Vector
    directions: Matrix
    normals: Matrix
    normal_weights: Matrix

    def multiply(self, points: Matrix) -> Matrix:
        """H_t times row t of ``points`` for each round t, shape ``(T, n)``."""
        by_features = (self.feature_weights * inner(self.features, points))[:, None] * self.features
        by_ball = (
            self.diagonals[:, None] * points
            + inner(self.directions, points)[:, None] * self.directions
        )
        by_half_spaces = (self.normal_weights * (points @ self.normals.T)) @ self.normals
        return (
            by_features
            + by_ball
            + by_half_spaces
            + ((self.matrices @ points[:, :, None])[..., 0] if len(self.matrices) else 0.0)
        )


class MoveMatrices(NamedTuple):
    r"""The matrices :math:`C_t = c_t I + p_t p_t^\top` of the T - 1 moves."""

    scales: Vector
    """c, shape ``(T - 1,)``."""
    directions: Matrix
    """p, shape ``(T - 1, n)``."""

    def multiply(self, duals: Matrix) -> Matrix:
        """C_t times the row of ``duals`` of that move, for each move, shape ``(T - 1, n)``."""
        along = inner(self.directions, duals)[:, None] * self.directions
        return np.asarray(self.scales[:, None] * duals + along)


class Segment(NamedTuple):
    """A range of rounds that one compiled call works on."""

    first: int
    """First round of the range."""
    end: int
    """The round after the last one of the range."""
    first_stored: int
    """The round whose factors come first in memory."""


class Chain:
    r"""Solver of the Newton systems of a chain, by block elimination.

    .. math:: \min_x \sum_t \tfrac12 x_t^\top H_t x_t - b_t^\top x_t
        + \tfrac12 \|x_t - x_{t-1} - m_t\|^2_{C_t^{-1}}

    The matrices C may be arbitrarily small (rounds that all but move together) or large. Time is
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
        segment_length = max(
            1,
            min(
                MULTIPLICATIONS_PER_CALL // (4 * dim**3 + 16),
                MAX_STORED_NUMBERS // numbers_per_round,
            ),
        )
        self._starts = range(0, rounds, segment_length)
        self._stores_all_factors = rounds * numbers_per_round <= MAX_STORED_NUMBERS
        stored_rounds = rounds if self._stores_all_factors else min(segment_length, rounds)
        self._factors = np.empty((stored_rounds, dim + 1, dim))
        # For each segment the information matrix (see `kernels`) that sums up all rounds before it.
        self._information_before = np.zeros((len(self._starts) + 1, dim, dim))
        self._work = np.empty((5, dim, dim))

    def factorize(self, hessians: Hessians, move_matrices: MoveMatrices) -> None:
        """Factorize the system of H and C for the following calls of :meth:`solve`."""
        self._hessians, self._move_matrices = hessians, move_matrices
        for segment_index in range(len(self._starts)):
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
            correction = self._solve(residuals, move_residuals)
            points, duals = points + correction[0], duals + correction[1]
        return points, duals

    def _solve(self, linear_terms: Matrix, wanted_moves: Matrix) -> tuple[Matrix, Matrix]:
        points, duals = np.empty_like(linear_terms), np.empty_like(wanted_moves)
        carry = np.zeros(self._dim)
        for segment_index in range(len(self._starts)):
            segment = self._load_factors(segment_index)
            self._kernels.filter_forward(
                *segment, linear_terms, wanted_moves, self._factors, carry, points
            )
        for segment_index in reversed(range(len(self._starts))):
            segment = self._load_factors(segment_index)
            self._kernels.smooth_backward(
                *segment, wanted_moves, *self._move_matrices, self._factors, carry, points, duals
            )
        return points, duals

    def _load_factors(self, segment_index: int) -> Segment:
        """The segment, whose factors are in memory afterwards."""
        return (
            self._segment(segment_index)
            if self._stores_all_factors
            else self._factorize_segment(segment_index)
        )

    def _segment(self, segment_index: int) -> Segment:
        first = self._starts[segment_index]
        end = min(first + self._starts.step, self._rounds)
        return Segment(first, end, 0 if self._stores_all_factors else first)

    def _factorize_segment(self, segment_index: int) -> Segment:
        segment, h = self._segment(segment_index), self._hessians
        self._information_before[segment_index + 1] = self._information_before[segment_index]
        self._kernels.factorize(
            *segment,
            h.features,
            h.feature_weights,
            h.matrices,
            h.diagonals,
            h.directions,
            h.normals,
            h.normal_weights,
            *self._move_matrices,
            self._information_before[segment_index + 1],
            self._work,
            self._factors,
        )
        return segment
