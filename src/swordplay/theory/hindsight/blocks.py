"""Rounds that share a comparator: blocks of neighbours as one round each."""

from __future__ import annotations

from functools import cached_property
from typing import Any, final

import numpy as np

from swordplay.core.types import Array, Matrix, Vector
from swordplay.theory.hindsight.rounds import Rounds, SlopedRows


@final
class BlockedRounds:
    """Sums of the losses of neighbouring rounds, as functions of one comparator a block.

    Parameters
    ----------
    rounds
        T losses.
    starts
        First round of each block, ascending from 0, shape ``(K,)``.
    """

    def __init__(self, rounds: Rounds, starts: Any) -> None:
        self.rounds, self.starts = rounds, np.asarray(starts)
        self.lengths = np.diff(np.append(self.starts, len(rounds.features)))
        self.affine = rounds.affine

    @cached_property
    def features(self) -> Matrix:
        """None: the matrices say it all."""
        return np.zeros((len(self.starts), self.rounds.features.shape[1]))

    @cached_property
    def capped(self) -> BlockedRows | None:
        """The rows of all blocks, where some have capped slopes."""
        return None if self.rounds.capped is None else BlockedRows(self.rounds.capped, self)

    def spread(self, points: Matrix) -> Matrix:
        """Every round's comparator, shape ``(T, n)``, from those of the blocks, shape ``(K,
        n)``.
        """
        return np.repeat(points, self.lengths, axis=0)

    def gather(self, rows: Array) -> Array:
        """Sums over each block, shape ``(K, ...)``."""
        return np.asarray(np.add.reduceat(rows, self.starts, axis=0))

    def values(self, points: Matrix) -> Vector:
        """Sums of the losses."""
        return self.gather(self.rounds.values(self.spread(points)))

    def gradients(self, points: Matrix) -> Matrix:
        """Sums of the gradients."""
        return self.gather(self.rounds.gradients(self.spread(points)))

    def curvature(self, points: Matrix) -> tuple[Vector, Array]:
        """Sums of the Hessians."""
        return np.zeros(len(self.starts)), self._quadratic if self.affine else self._matrices(
            *self._bends(points)
        )

    def stacked(self, bends: Vector) -> tuple[Vector, Array]:
        """The same, for rows that bend so much."""
        return np.zeros(len(self.starts)), self._matrices(bends, np.empty(0))

    @cached_property
    def _quadratic(self) -> Array:
        return self._matrices(*self._bends(self.features))

    def _bends(self, points: Matrix) -> tuple[Vector, Array]:
        return self.rounds.curvature(self.spread(points))

    def _matrices(self, bends: Vector, matrices: Array) -> Array:
        rows = self.rounds.features
        out = np.empty((len(self.starts), rows.shape[1], rows.shape[1]))
        for block, (start, length) in enumerate(zip(self.starts, self.lengths, strict=True)):
            some = rows[start : start + length]
            np.matmul((some * bends[start : start + length, None]).T, some, out=out[block])
        return out + self.gather(matrices) if len(matrices) else out


@final
class BlockedRows:
    """Rows with capped slopes, several a block.

    Parameters
    ----------
    rows
        The rows of the rounds.
    blocks
        Which rounds are one.
    """

    def __init__(self, rows: SlopedRows, blocks: BlockedRounds) -> None:
        self._rows, self._blocks = rows, blocks
        self.features, self.shifts, self.caps = rows.features, rows.shifts, rows.caps
        self.residuals, self.uncapped, self.at_slopes, self.conjugates = (
            rows.residuals,
            rows.uncapped,
            rows.at_slopes,
            rows.conjugates,
        )
        self.spread, self.gather, self.stacked = blocks.spread, blocks.gather, blocks.stacked
