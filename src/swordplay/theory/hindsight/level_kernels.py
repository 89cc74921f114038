"""Cuts of a chain and forces along it, compiled; for one coordinate."""

from __future__ import annotations

from swordplay.compile import kernel
from swordplay.core.types import Vector


@kernel
def cut(slopes: Vector, penalty: float, low: Vector, high: Vector) -> None:
    r"""Halve the interval of every round, by the slopes at its middle: the best comparator lies
    above it or below.

    Rounds with the same interval are one problem: :math:`\min \sum_t s_t b_t + \lambda \sum_t |b_t
    - b_{t-1}|` over :math:`b_t \in \{0, 1\}`, b = 1 for above. Neighbours with other intervals are
    known to be above or below. The slopes become the messages of the dynamic programme: what being
    above would cost, given the best past.
    """
    last = len(slopes) - 1
    message = 0.0
    for t in range(last + 1):
        if t > 0:
            if low[t - 1] == low[t] and high[t - 1] == high[t]:
                message = min(max(message, -penalty), penalty)
            else:
                message = -penalty if low[t - 1] >= high[t] else penalty
        message += slopes[t]
        slopes[t] = message
    above, low_ahead, high_ahead = False, 0.0, 0.0
    for t in range(last, -1, -1):
        if t == last:
            above = slopes[t] < 0.0
        elif low[t] == low_ahead and high[t] == high_ahead:
            above = slopes[t] < -penalty or (above and slopes[t] <= penalty)
        else:
            above = slopes[t] + (-penalty if low_ahead >= high[t] else penalty) < 0.0
        low_ahead, high_ahead = low[t], high[t]
        middle = 0.5 * (low[t] + high[t])
        if above:
            low[t] = middle
        else:
            high[t] = middle


@kernel
def forces_along(gradients: Vector, points: Vector, penalty: float, forces: Vector) -> None:
    r"""Forces that balance the gradients: λ towards the next point where it moves, else the sum of
    what came before.

    Where the boundary holds a comparator, the clipped sum leaves to the boundary what it can carry,
    and nothing else.
    """
    force = 0.0
    for t in range(len(forces)):
        force = min(max(force + gradients[t], -penalty), penalty)
        if points[t + 1] > points[t]:
            force = penalty
        elif points[t + 1] < points[t]:
            force = -penalty
        forces[t] = force
