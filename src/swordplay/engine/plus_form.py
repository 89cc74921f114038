"""Sword++ on dense rows, how a kernel begins and ends: to the form of ``plus_sum`` and back to that
of ``ball``.

Nobody outside a kernel knows of theta, the sum of gradients: it is found again from experts that
stand on a line through the centre, and written into their coordinates when the kernel ends. In
between that happens whenever norms are measured afresh.
"""

from __future__ import annotations

from typing import Any

from swordplay.compile import expert_loop, inline, larger
from swordplay.core.types import Vector
from swordplay.engine import plus_line
from swordplay.engine.blocks import columns_of, dot
from swordplay.engine.layout import BLOCK, EXPERT, LIVE, VECTOR, Arrays
from swordplay.engine.plus_own import OWN, SUM

LAST_BITS = 1e-15
"""Relative error of numbers on a line that were brought to the form of ``ball`` and back: three
roundings.
"""


@inline
def begin(me: Arrays) -> None:
    """From the form of ``ball``: nothing pending, and theta as far as it can be found again."""
    fold(me, me.numbers[EXPERT.coefficient], me.vectors[VECTOR.last])
    me.live[LIVE.prepared] = me.live[LIVE.freely] = me.live[LIVE.in_line] = me.live[
        LIVE.unadded
    ] = 0.0
    gather(me)


@inline
def gather(me: Arrays) -> None:
    """Find theta again, of a block of experts who stand on a line: those with the shortest
    steps, if any do.
    """
    numbers, live, common = me.numbers, me.live, me.vectors[SUM]
    n, eta = columns_of(numbers), numbers[EXPERT.eta]
    live[LIVE.pending], live[LIVE.first], live[LIVE.beyond] = 0.0, 0.0, float(n)
    live[LIVE.out], live[LIVE.astray], live[LIVE.widest] = 0.0, 1.0, 0.0
    common[:] = 0.0
    numbers[OWN] = 0.0
    block = 0 if eta[0] < eta[n - 1] else n - BLOCK
    shortest = 0 if block == 0 else n - 1
    for j in range(len(common)):
        common[j] = -numbers[EXPERT.scale, shortest] * me.coords[j, shortest] / eta[shortest]
    if not in_line(me, block):
        common[:] = 0.0
        return
    first, beyond = n, 0
    for begin in range(0, n, BLOCK):
        if not in_line(me, begin):
            first, beyond = min(first, begin), begin + BLOCK
    live[LIVE.first], live[LIVE.beyond] = float(first), float(beyond)
    take_out(me, first, beyond)
    find_widest(me)
    live[LIVE.out] = dot(len(common), common, common)


@inline
def in_line(me: Arrays, begin: int) -> bool:
    """Whether all of a block have xhat = -eta theta, to rounding."""
    eta, scale = (
        me.numbers[EXPERT.eta][begin : begin + BLOCK],
        me.numbers[EXPERT.scale][begin : begin + BLOCK],
    )
    for j in range(me.coords.shape[0]):
        if strays(BLOCK, me.vectors[SUM, j], scale, eta, me.coords[j][begin : begin + BLOCK]) > 0.0:
            return False
    return True


@inline
def take_out(me: Arrays, first: int, beyond: int) -> None:
    """W = (xhat + eta theta) / s of columns from ``first`` to before ``beyond``, and 0 of the
    others.
    """
    numbers, coords = me.numbers, me.coords
    for j in range(coords.shape[0]):
        for i in range(columns_of(numbers)):
            if first <= i < beyond:
                coords[j, i] += (
                    numbers[EXPERT.eta, i] * numbers[EXPERT.unscale, i] * me.vectors[SUM, j]
                )
            else:
                coords[j, i] = 0.0


@expert_loop
def strays(n: int, along: float, scale: Vector, eta: Vector, line: Any) -> float:
    """By how much s W + eta theta differs from 0 beyond rounding, one coordinate of all experts."""
    most = 0.0
    for i in range(n):
        there = eta[i] * along
        most = larger(most, abs(scale[i] * line[i] + there) - LAST_BITS * abs(there))
    return most


@inline
def find_widest(me: Arrays) -> None:
    """The longest step of those on the line; 0 if nobody is."""
    live, widest = me.live, 0.0
    for i in range(columns_of(me.numbers)):
        if not live[LIVE.first] <= i < live[LIVE.beyond]:
            widest = max(widest, me.numbers[EXPERT.eta, i])
    live[LIVE.widest] = widest


@inline
def settle(me: Arrays) -> None:
    """Back to the form of ``ball``: W + (change - eta / s) theta."""
    numbers = me.numbers
    if me.live[LIVE.in_line] == 1.0:
        plus_line.leave(me, 0.0)
    join(me)
    change = numbers[EXPERT.coefficient]
    for i in range(columns_of(numbers)):
        change[i] -= numbers[EXPERT.eta, i] * numbers[EXPERT.unscale, i]
    fold(me, change, me.vectors[SUM])
    me.vectors[SUM] = 0.0
    me.live[LIVE.pending] = 0.0


@inline
def join(me: Arrays) -> None:
    """theta += h' a', if the next row has not done so yet."""
    before, last, common = me.live[LIVE.unadded], me.vectors[VECTOR.last], me.vectors[SUM]
    if before != 0.0:
        for j in range(len(common)):
            common[j] += before * last[j]
    me.live[LIVE.unadded] = 0.0


@inline
def fold(me: Arrays, change: Vector, direction: Vector) -> None:
    """W += change * direction, and the change is no longer pending."""
    for j in range(me.coords.shape[0]):
        add_change(columns_of(me.numbers), me.coords[j], change, direction[j])
    change[:] = 0.0


@expert_loop
def add_change(n: int, line: Any, change: Vector, along: float) -> None:
    """One coordinate of all experts."""
    for i in range(n):
        line[i] += change[i] * along
