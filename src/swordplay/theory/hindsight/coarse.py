r"""Long streams in many dimensions: comparators move seldom, so that rounds are solved in blocks,
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
from typing import Any

import numpy as np

from swordplay.core.types import Matrix, Vector
from swordplay.theory.hindsight import interior
from swordplay.theory.hindsight.blocks import BlockedRounds
from swordplay.theory.hindsight.cones import inner
from swordplay.theory.hindsight.dual import Answer, balance, lower_bound, objective
from swordplay.theory.hindsight.frame import Frame
from swordplay.theory.hindsight.rounds import Rounds

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
    """As :func:`interior.minimize`, from blocks that begin at ``starts`` (a few of one length
    unless given).
    """
    count = len(rounds.features)
    starts = (
        np.unique(np.linspace(0, count, BLOCKS, endpoint=False).astype(int))
        if starts is None
        else starts
    )
    best = interior.standing(rounds, frame, penalty)
    for turn in range(1, TURNS + 1):
        if best.gap <= target or len(starts) > FINE * count:
            break
        blocks = BlockedRounds(rounds, starts)
        found = interior.minimize(blocks, frame, penalty, max(SHARE * target, HASTE * best.gap))
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
        else best.or_better(interior.minimize(rounds, frame, penalty, target, progress))
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
