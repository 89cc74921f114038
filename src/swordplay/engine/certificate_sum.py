"""S, the certificate's sum of (w_{t+1} - w_t) / eta_t, for experts whose steps change.

Twin of ``certificate.step``. Where S is kept, its coordinates are more rows of ``experts``, behind
those of ``EXPERT``, one row for each coordinate: code that copies or makes room for the numbers of
an expert does so for these rows too. ``EXPERT.max_dual_norm``, the largest norm of S so far,
is kept as a square then: a root for each expert would cost as much as the rest.
"""

from __future__ import annotations

import math
from typing import Any

from swordplay.compile import expert_loop, inline, larger, tail_view
from swordplay.core.types import Matrix, Vector
from swordplay.engine.layout import BLOCK, EXPERT, VECTOR, LearnerArrays
from swordplay.engine.scalar_functions import columns_of

FIRST = len(EXPERT)
"""Row of the first coordinate."""


@inline
def is_kept(numbers: Matrix) -> bool:
    """Whether these are numbers of a learner that keeps S."""
    return bool(numbers.shape[0] > FIRST)


@inline
def stay(me: LearnerArrays, smallest: float) -> None:
    """For rounds that have added to S already, or of learners that do not keep it."""


@inline
def lean(me: LearnerArrays, smallest: float) -> None:
    """Add a round on a ball, whose features are the last ones by now.

    A step that is not projected is -eta k a, so that S changes by -k a, k the slope. A projection
    by the factor f takes it on to f w, w the point before: by (1 - 1/f) of the point after, over
    eta. ``smallest`` is infinite if no expert was projected.
    """
    numbers, last = me.experts, me.vectors[VECTOR.last_row]
    if not is_kept(numbers):
        return
    S, slope, push, pull = (
        tail_view(numbers, FIRST),
        numbers[EXPERT.slope],
        numbers[EXPERT.projection_push],
        numbers[EXPERT.max_dual_norm],
    )
    lengths, change, projected = (
        numbers[EXPERT.scratch],
        numbers[EXPERT.pending_update],
        smallest < math.inf,
    )
    if projected:
        weigh_pushes(columns_of(numbers), numbers[EXPERT.inverse_step], numbers[EXPERT.scale], push)
    for i in range(0, columns_of(numbers), BLOCK):
        k, length, longest = tail_view(slope, i), tail_view(lengths, i), tail_view(pull, i)
        if projected:
            lean_back(
                i,
                len(last),
                S,
                k,
                tail_view(push, i),
                tail_view(change, i),
                last,
                me.coordinates,
                length,
                longest,
            )
        else:
            lean_straight(i, len(last), S, k, last, length, longest)


@expert_loop
def weigh_pushes(n: int, inverse: Vector, scale: Vector, push: Vector) -> None:
    """From 1/f - 1 to what W, which is unscaled, is multiplied by."""
    for i in range(n):
        push[i] *= inverse[i] * scale[i]


@expert_loop
def lean_straight(
    i: int, dim: int, S: Matrix, slope: Vector, a: Vector, length: Vector, pull: Vector
) -> None:
    """Update a block of experts, from column i on, none of which was projected.

    The sums of squares of the block stay in a register.
    """
    for k in range(BLOCK):
        length[k] = 0.0
    for j in range(dim):
        line, now = tail_view(S[j], i), a[j]
        for k in range(BLOCK):
            s = line[k] - slope[k] * now
            line[k] = s
            length[k] += s * s
    for k in range(BLOCK):
        pull[k] = larger(pull[k], length[k])


@expert_loop
def lean_back(
    i: int,
    dim: int,
    S: Matrix,
    slope: Vector,
    push: Vector,
    change: Vector,
    a: Vector,
    coords: Any,
    length: Vector,
    pull: Vector,
) -> None:
    """Update a block of experts, from column i on, some of which were projected."""
    for k in range(BLOCK):
        length[k] = 0.0
    for j in range(dim):
        line, point, now = tail_view(S[j], i), tail_view(coords[j], i), a[j]
        for k in range(BLOCK):
            s = line[k] - (slope[k] + push[k] * change[k]) * now - push[k] * point[k]
            line[k] = s
            length[k] += s * s
    for k in range(BLOCK):
        pull[k] = larger(pull[k], length[k])


@inline
def lean_by(numbers: Matrix, i: int, base: Vector, factor: float) -> None:
    """Add a multiple of a base point to S of expert i: negative before its step, else positive."""
    if is_kept(numbers):
        for j in range(len(base)):
            numbers[FIRST + j, i] += factor * numbers[EXPERT.inverse_step, i] * base[j]


@inline
def note_pull(numbers: Matrix, i: int) -> None:
    """Keep the largest squared norm of S of expert i so far."""
    if is_kept(numbers):
        total = 0.0
        for j in range(FIRST, numbers.shape[0]):
            total += numbers[j, i] * numbers[j, i]
        numbers[EXPERT.max_dual_norm, i] = max(numbers[EXPERT.max_dual_norm, i], total)
