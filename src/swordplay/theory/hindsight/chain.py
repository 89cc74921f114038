"""Newton systems on a chain of rounds: each round bends by itself, and moves tie neighbours
together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from swordplay.core.types import Array, Matrix, Vector
from swordplay.theory.hindsight.cones import inner
from swordplay.theory.hindsight.duality import balance

WORKSPACE = 1 << 27
"""Numbers kept of all rounds together (1 GB).

Beyond, parts of the chain are eliminated anew whenever they are needed.
"""
PIECE = 1 << 26
"""Multiplications in one compiled call: a fraction of a second, so that Ctrl-C and progress are
prompt.
"""


@dataclass(frozen=True)
class Hessians:
    r"""Of each round: :math:`h a a^\top + M + \rho I + q q^\top + \sum_i k_i G_i G_i^\top`."""

    features: Matrix
    bends: Vector
    matrices: Array
    ridges: Vector
    rims: Matrix
    normals: Matrix
    walls: Matrix

    def apply(self, points: Matrix) -> Matrix:
        """Every round's Hessian times its own vector, shape ``(T, n)``."""
        along = (self.bends * inner(self.features, points))[:, None] * self.features
        pushed = self.ridges[:, None] * points + inner(self.rims, points)[:, None] * self.rims
        walled = (self.walls * (points @ self.normals.T)) @ self.normals
        return (
            along
            + pushed
            + walled
            + ((self.matrices @ points[:, :, None])[..., 0] if len(self.matrices) else 0.0)
        )


class Chain:
    r"""Minimise :math:`\sum_t \tfrac12 x_t^\top H_t x_t - b_t^\top x_t + \tfrac12 \|x_t - x_{t-1} -
    m_t\|^2_{C_t^{-1}}`.

    The matrices :math:`C_t = c_t I + p_t p_t^\top` may be arbitrarily small (rounds that all but
    move together) or large. Time grows as :math:`T n^3`; memory is :data:`WORKSPACE` numbers and a
    few times :math:`T n`.

    Parameters
    ----------
    rounds, dim
        T and n.
    """

    def __init__(self, rounds: int, dim: int) -> None:
        from swordplay.theory.hindsight import (
            kernels,  # numba is imported with the first problem, not with the package
        )

        self._kernels = kernels
        self._rounds, self._dim = rounds, dim
        length = max(1, min(PIECE // (4 * dim**3 + 16), WORKSPACE // (dim * (dim + 1))))
        self._starts = range(0, rounds, length)
        self._resident = rounds * dim * (dim + 1) <= WORKSPACE
        self._kept = np.empty((rounds if self._resident else min(length, rounds), dim + 1, dim))
        self._passed = np.zeros((len(self._starts) + 1, dim, dim))
        self._work = np.empty((5, dim, dim))

    def eliminate(self, hessians: Hessians, compliance: tuple[Vector, Matrix]) -> None:
        """Take in the matrices."""
        self._hessians, self._compliance = hessians, compliance
        for piece in range(len(self._starts)):
            self._eliminate(piece)

    def solve(self, sides: Matrix, wanted: Matrix, refined: bool) -> tuple[Matrix, Matrix]:
        r"""The minimiser x for b, ``(T, n)``, and m, ``(T - 1, n)``.

        And the forces :math:`C_t^{-1}(x_t - x_{t-1} - m_t)`.
        """
        points, forces = self._solve(sides, wanted)
        if (
            refined
        ):  # solve for what is missing: stiff walls beside soft losses cost half of all digits
            yields, leans = self._compliance
            bent = yields[:, None] * forces + inner(leans, forces)[:, None] * leans
            left = sides - balance(self._hessians.apply(points), forces)
            missing = self._solve(left, wanted - (np.diff(points, axis=0) - bent))
            points, forces = points + missing[0], forces + missing[1]
        return points, forces

    def _solve(self, sides: Matrix, wanted: Matrix) -> tuple[Matrix, Matrix]:
        points, forces, force = np.empty_like(sides), np.empty_like(wanted), np.zeros(self._dim)
        for piece in range(len(self._starts)):
            extent = self._load(piece)
            self._kernels.filter_forwards(*extent, sides, wanted, self._kept, force, points)
        for piece in reversed(range(len(self._starts))):
            extent = self._load(piece)
            self._kernels.smooth_backwards(
                *extent, wanted, *self._compliance, self._kept, force, points, forces
            )
        return points, forces

    def _load(self, piece: int) -> tuple[int, int, int]:
        return self._extent(piece) if self._resident else self._eliminate(piece)

    def _extent(self, piece: int) -> tuple[int, int, int]:
        """First round, end, and the round that stands first in memory."""
        first = self._starts[piece]
        return first, min(first + self._starts.step, self._rounds), 0 if self._resident else first

    def _eliminate(self, piece: int) -> tuple[int, int, int]:
        extent, h = self._extent(piece), self._hessians
        self._passed[piece + 1] = self._passed[piece]
        arrays = (
            h.features,
            h.bends,
            h.matrices,
            h.ridges,
            h.rims,
            h.normals,
            h.walls,
            *self._compliance,
        )
        self._kernels.eliminate(*extent, *arrays, self._passed[piece + 1], self._work, self._kept)
        return extent
