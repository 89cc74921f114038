"""S, the certificate's sum of (w_{t+1} - w_t) / eta_t, for experts whose steps change: twin of ``certificate.step``.

Where it is kept, its coordinates are more rows of ``numbers``, behind those of ``EXPERT``, a row for each coordinate: whatever
copies or makes room for the numbers of an expert does so for these. The pull, the longest that S has been, is kept as a square
then: a root for each expert would cost as much as the rest.
"""

from __future__ import annotations

import math
from typing import Any

from swordplay.base.compiling import expert_loop, part
from swordplay.base.types import Matrix, Vector
from swordplay.engine.blocks import columns_of, keep_larger
from swordplay.engine.layout import EXPERT, VECTOR, Arrays

FIRST = len(EXPERT)
"""Row of the first coordinate."""


@part
def is_kept(numbers: Matrix) -> bool:
    """Whether these are numbers of a learner that keeps S."""
    return bool(numbers.shape[0] > FIRST)


@part
def stay(me: Arrays, smallest: float) -> None:
    """For rounds that have added to S already, or of learners that do not keep it."""


@part
def lean(me: Arrays, smallest: float) -> None:
    """Add a round on a ball, whose features are the last ones by now.

    A step that is not projected is -eta k a, so that S changes by -k a, k the slope. A projection by the factor f takes it on
    to f w, w the point before: by (1 - 1/f) of the point after, over eta. ``smallest`` is infinite if nobody was projected.
    """
    numbers = me.numbers
    if not is_kept(numbers):
        return
    n, last = columns_of(numbers), me.vectors[VECTOR.last]
    slope, push, change = numbers[EXPERT.slope], numbers[EXPERT.push], numbers[EXPERT.coefficient]
    length, coords = numbers[EXPERT.scratch], me.coords
    if smallest < math.inf:
        weigh_pushes(n, numbers[EXPERT.inverse], numbers[EXPERT.scale], push)
    else:
        push[:] = 0.0
    length[:] = 0.0
    whole = len(last) - len(last) % 4
    for j in range(0, whole, 4):
        at = FIRST + j
        lean_four(
            n,
            slope,
            push,
            change,
            last[j : j + 4],
            coords[j],
            coords[j + 1],
            coords[j + 2],
            coords[j + 3],
            numbers[at],
            numbers[at + 1],
            numbers[at + 2],
            numbers[at + 3],
            length,
        )
    for j in range(whole, len(last)):
        lean_one(n, slope, push, change, last[j], coords[j], numbers[FIRST + j], length)
    keep_larger(n, length, numbers[EXPERT.pull])


@expert_loop
def weigh_pushes(n: int, inverse: Vector, scale: Vector, push: Vector) -> None:
    """From 1/f - 1 to what W, which is unscaled, is multiplied by."""
    for i in range(n):
        push[i] *= inverse[i] * scale[i]


@expert_loop
def lean_four(
    n: int,
    slope: Vector,
    push: Vector,
    change: Vector,
    a: Vector,
    w0: Any,
    w1: Any,
    w2: Any,
    w3: Any,
    s0: Vector,
    s1: Vector,
    s2: Vector,
    s3: Vector,
    length: Vector,
) -> None:
    """Four coordinates at a time, so that lengths are loaded and stored a quarter as often."""
    a0, a1, a2, a3 = a[0], a[1], a[2], a[3]
    for i in range(n):
        p = push[i]
        k = slope[i] + p * change[i]
        s0[i] -= k * a0 + p * w0[i]
        s1[i] -= k * a1 + p * w1[i]
        s2[i] -= k * a2 + p * w2[i]
        s3[i] -= k * a3 + p * w3[i]
        length[i] += (s0[i] * s0[i] + s1[i] * s1[i]) + (s2[i] * s2[i] + s3[i] * s3[i])


@expert_loop
def lean_one(n: int, slope: Vector, push: Vector, change: Vector, a: float, W: Any, S: Vector, length: Vector) -> None:
    """The coordinate that is left over."""
    for i in range(n):
        s = S[i] - (slope[i] + push[i] * change[i]) * a - push[i] * W[i]
        S[i] = s
        length[i] += s * s


@part
def lean_by(numbers: Matrix, i: int, base: Vector, factor: float) -> None:
    """Add a base point to S of expert i, where points are written out: less before its step, plus after it."""
    if is_kept(numbers):
        for j in range(len(base)):
            numbers[FIRST + j, i] += factor * numbers[EXPERT.inverse, i] * base[j]


@part
def note_pull(numbers: Matrix, i: int) -> None:
    """Whether S of expert i is longer than ever."""
    if is_kept(numbers):
        total = 0.0
        for j in range(FIRST, numbers.shape[0]):
            total += numbers[j, i] * numbers[j, i]
        numbers[EXPERT.pull, i] = max(numbers[EXPERT.pull, i], total)
