"""Rounds that share a comparator: blocks of neighbours as one round each.

Long streams in many dimensions: comparators move seldom, so that rounds are solved in blocks,
cut where they must be.

Rounds that share a comparator are one round of a shorter chain. Its solution is one of the whole
problem if forces no longer than λ hold the rounds of every block together; they follow from the
gradients by summation. Where one is too long, its block is cut in two and the chain solved again.
The gap is certified on all rounds, whatever the blocks.

References
----------
Bleakley, Vert (2011), "The group fused lasso for multiple change-point detection", for the active
set of cuts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, final

import numpy as np

from swordplay.core.types import Array, Matrix, Vector
from swordplay.theory.hindsight import interior_point
from swordplay.theory.hindsight.cones import inner
from swordplay.theory.hindsight.duality import Answer, balance, lower_bound, objective
from swordplay.theory.hindsight.losses_in_domain import Frame, Rounds, SlopedRows


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


LIGHT = 2e8
"""Multiplications of a Newton step, T n^3, up to which the whole chain is solved at once."""
BLOCKS = 24
"""Blocks to begin with."""
TURNS = 24
"""Times that blocks are cut before the whole chain is solved."""
FINE = 0.4
"""Blocks per round from which on cutting is no help: the whole chain is solved."""
SHARE = 0.5
"""Of the target: what the chain of blocks may leave of it."""
HASTE = 1e-3
"""Of the gap so far: what the chain of blocks may leave of it, as long as blocks have to be cut
anyway.
"""
STILL = 1e-4
"""Of the diameter: shorter moves do not tell where those for another penalty will be."""
CUTS = 4
"""Pieces that a block is cut into at the most, each time."""


def is_heavy(rounds: Rounds) -> bool:
    """Whether the whole chain is too long, in too many dimensions, to be solved at once."""
    count, dim = rounds.features.shape
    return bool(float(count) * dim**3 > LIGHT)


def minimize(
    rounds: Rounds,
    frame: Frame,
    penalty: float,
    target: float,
    progress: Callable[[int, int, str], None] | None = None,
    starts: Any = None,
) -> Answer:
    """As :func:`interior_point.minimize`, from blocks that begin at ``starts`` (a few of one length
    unless given).
    """
    count = len(rounds.features)
    starts = (
        np.unique(np.linspace(0, count, BLOCKS, endpoint=False).astype(int))
        if starts is None
        else starts
    )
    best = interior_point.standing(rounds, frame, penalty)
    for turn in range(1, TURNS + 1):
        if best.gap <= target or len(starts) > FINE * count:
            break
        blocks = BlockedRounds(rounds, starts)
        found = interior_point.minimize(
            blocks, frame, penalty, max(SHARE * target, HASTE * best.gap)
        )
        whole, forces = _unfolded(blocks, frame, penalty, found)
        best = best.or_better(whole)
        if progress is not None:
            progress(turn, TURNS, f"{len(starts)} blocks, gap {best.gap:.1e}")
        more = _cuts(blocks, np.sqrt(inner(forces, forces)) / penalty)
        if not len(more):
            break
        starts = np.union1d(starts, more)
    return (
        best
        if best.gap <= target
        else best.or_better(interior_point.minimize(rounds, frame, penalty, target, progress))
    )


def moving(points: Matrix, diameter: float) -> Any:
    """First rounds of the pieces between moves, shape ``(K,)``: blocks to begin with for another
    penalty.
    """
    moves = np.diff(points, axis=0)
    return np.append(0, 1 + np.flatnonzero(np.sqrt(inner(moves, moves)) > STILL * diameter))


def _unfolded(
    blocks: BlockedRounds, frame: Frame, penalty: float, found: Answer
) -> tuple[Answer, Matrix]:
    """The blocks' answer as one for all rounds, and the forces that hold the rounds of a block
    together.
    """
    points, rounds = blocks.spread(found.points), blocks.rounds
    gradients = rounds.gradients(points)
    # What a block's boundary has to push, by all of its rounds alike.
    pushes = -balance(blocks.gather(gradients), found.forces) / blocks.lengths[:, None]
    ahead = np.concatenate([np.zeros((1, points.shape[1])), found.forces])
    within = np.cumsum(gradients + blocks.spread(pushes), axis=0)
    reset = np.concatenate([np.zeros((1, points.shape[1])), within[blocks.starts[1:] - 1]])
    forces = (within + blocks.spread(ahead - reset))[:-1]
    if len(found.forces):
        forces[blocks.starts[1:] - 1] = found.forces
    lengths = np.sqrt(inner(forces, forces))
    short = forces * np.minimum(1.0, penalty / np.maximum(lengths, penalty))[:, None]
    intercepts = rounds.values(points) - inner(gradients, points)
    bound = lower_bound(frame, gradients, intercepts, short)
    return Answer(points, objective(rounds, points, penalty), bound, short), forces


def _cuts(blocks: BlockedRounds, pulls: Vector) -> Any:
    """Rounds before which a block has to be cut: where the force that holds it together is
    longest, and longer than λ.
    """
    cuts = []
    for start, length in zip(blocks.starts, blocks.lengths, strict=True):
        inside = pulls[start : start + length - 1]
        if not len(inside) or inside.max() <= 1.0:
            continue
        edges = np.unique(np.linspace(0, len(inside), CUTS, endpoint=False).astype(int))
        for first, last in zip(edges, np.append(edges[1:], len(inside)), strict=True):
            at = first + int(inside[first:last].argmax())
            if inside[at] > 1.0:
                cuts.append(start + at + 1)
    return np.array(cuts, dtype=int)
