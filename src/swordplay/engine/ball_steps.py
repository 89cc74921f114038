"""The steps of experts on a ball, where a projection is a scaling: everything in numbers, no pass
over the coordinates.

norm(x - k a)^2 = norm(x)^2 - 2 k <a, x> + k^2 norm(a)^2, so that no projection needs a pass of its
own.
"""

from __future__ import annotations

import math
from typing import Any

from swordplay.compile import expert_loop, inline, larger
from swordplay.core.types import Vector
from swordplay.engine.blocks import columns_of, least
from swordplay.engine.layout import CONFIG, EXPERT, LIVE, Arrays, Products
from swordplay.engine.scalar import slope


@inline
def move(me: Arrays, of: Products, features: Any, target: float) -> float:
    """Both projected steps of every expert, in numbers. Returns the smallest scale."""
    numbers, radius = me.numbers, me.config[CONFIG.size]
    n = columns_of(numbers)
    farthest = step_base(
        n,
        of.norm,
        numbers[EXPERT.eta],
        numbers[EXPERT.slope],
        numbers[EXPERT.unscale],
        numbers[EXPERT.coefficient],
        numbers[EXPERT.at_base],
        numbers[EXPERT.norm],
    )
    smallest = math.inf
    if farthest > radius * radius:
        shrink_base(
            n,
            radius,
            numbers[EXPERT.scale],
            numbers[EXPERT.unscale],
            numbers[EXPERT.at_base],
            numbers[EXPERT.norm],
            numbers[EXPERT.push],
        )
        smallest = least(n, numbers[EXPERT.scale])
    look_ahead(me, of, target)
    return smallest


@inline
def fork(me: Arrays, of: Products, features: Any, target: float) -> None:
    """Put the two experts that have just joined, and the padding behind them, where the fastest
    of their kind are.
    """
    coords, experts = me.coords, int(me.live[LIVE.experts])
    for j in range(coords.shape[0]):
        coords[j, experts - 2] = coords[j, experts - 4]
        for column in range(experts - 1, coords.shape[1]):
            coords[j, column] = coords[j, experts - 3]
    look_ahead(me, of, target)


@expert_loop
def step_base(
    n: int,
    norm: float,
    eta: Vector,
    slope_: Vector,
    unscale: Vector,
    change: Vector,
    at_base: Vector,
    base_norm: Vector,
) -> float:
    """xhat - eta k a, before it is projected; returns the largest squared norm."""
    farthest = 0.0
    for i in range(n):
        stride = eta[i] * slope_[i] if eta[i] < math.inf else 0.0
        square = larger(base_norm[i] - 2.0 * stride * at_base[i] + stride * stride * norm, 0.0)
        base_norm[i] = square
        farthest = larger(farthest, square)
        change[i] = -stride * unscale[i]
        at_base[i] -= stride * norm
    return farthest


@expert_loop
def shrink_base(
    n: int,
    radius: float,
    scale: Vector,
    unscale: Vector,
    at_base: Vector,
    base_norm: Vector,
    push: Vector,
) -> None:
    """Project on the ball whoever left it: a scaling."""
    limit = radius * radius
    for i in range(n):
        # Whoever is inside stays: where the radius is 0 or its square underflows, a quotient would
        # be no number.
        shrink = radius / math.sqrt(base_norm[i]) if base_norm[i] > limit else 1.0
        before = scale[i]
        scale[i] = before * shrink
        unscale[i] = 1.0 / scale[i]
        push[i] = before * unscale[i] - 1.0 if shrink < 1.0 else 0.0
        at_base[i] *= shrink
        base_norm[i] = min(base_norm[i], limit)


@inline
def look_ahead(me: Arrays, of: Products, target: float) -> None:
    """x = Proj[xhat - eta m a] of every expert, for the field m a replayed at xhat.

    Gradient descent stays at xhat.
    """
    numbers, config = me.numbers, me.config
    n, loss, threshold = columns_of(numbers), int(config[CONFIG.loss]), config[CONFIG.threshold]
    replays(
        n,
        loss,
        threshold,
        me.live[LIVE.weight],
        numbers[EXPERT.extra],
        numbers[EXPERT.at_base],
        of.offset,
        target,
        numbers[EXPERT.replay],
    )
    farthest = step_ahead(
        n,
        of.norm,
        numbers[EXPERT.coming],
        numbers[EXPERT.replay],
        numbers[EXPERT.at_base],
        numbers[EXPERT.norm],
        numbers[EXPERT.alpha],
        numbers[EXPERT.gamma],
        numbers[EXPERT.ahead],
        numbers[EXPERT.lead],
        numbers[EXPERT.farthest],
    )
    come_back(me, of, farthest)


@inline
def come_back(me: Arrays, of: Products, farthest: float) -> None:
    """Project whoever looked beyond the ball, given how far out the farthest is, as a square."""
    numbers, radius = me.numbers, me.config[CONFIG.size]
    if farthest > radius * radius:
        shrink_ahead(
            columns_of(numbers),
            radius,
            of.norm,
            numbers[EXPERT.at_base],
            numbers[EXPERT.norm],
            numbers[EXPERT.alpha],
            numbers[EXPERT.gamma],
            numbers[EXPERT.ahead],
            numbers[EXPERT.lead],
        )


@expert_loop
def replays(
    n: int,
    loss: int,
    threshold: float,
    weight: float,
    extra: Vector,
    at: Vector,
    offset: float,
    target: float,
    answer: Vector,
) -> None:
    """Slope of the loss at every extra-gradient expert's base point, 0 for the others."""
    for i in range(n):
        answer[i] = extra[i] * weight * slope(loss, threshold, at[i] + offset, target)


@expert_loop
def step_ahead(
    n: int,
    norm: float,
    eta: Vector,
    replay: Vector,
    at_base: Vector,
    base_norm: Vector,
    alpha: Vector,
    gamma: Vector,
    ahead: Vector,
    lead: Vector,
    farthest_base: Vector,
) -> float:
    """alpha, gamma, <a, x> and norm(x - xhat)^2 for x = xhat - eta m a, before it is projected.

    Returns the largest norm(x)^2.

    How far xhat has been is noted on the way.
    """
    farthest = 0.0
    for i in range(n):
        stride = eta[i] * replay[i] if eta[i] < math.inf else 0.0
        moved = stride * stride * norm
        # A base point on the sphere may lie outside it by rounding; where nothing moved, nothing is
        # to be projected.
        reached = base_norm[i] - 2.0 * stride * at_base[i] + moved if stride != 0.0 else 0.0
        farthest = larger(farthest, reached)
        alpha[i] = 1.0
        gamma[i] = stride
        ahead[i] = at_base[i] - stride * norm
        lead[i] = moved
        farthest_base[i] = larger(farthest_base[i], base_norm[i])
    return farthest


@expert_loop
def shrink_ahead(
    n: int,
    radius: float,
    norm: float,
    at_base: Vector,
    base_norm: Vector,
    alpha: Vector,
    gamma: Vector,
    ahead: Vector,
    lead: Vector,
) -> None:
    """Project on the ball whoever left it.

    norm(x - xhat)^2 = norm((alpha - 1) xhat - gamma a)^2.
    """
    limit = radius * radius
    for i in range(n):
        stride = gamma[i]
        reached = base_norm[i] - 2.0 * stride * at_base[i] + stride * stride * norm
        shrink = radius / math.sqrt(reached) if reached > limit and stride != 0.0 else 1.0
        gone, back = shrink * stride, shrink - 1.0
        alpha[i] = shrink
        gamma[i] = gone
        ahead[i] = shrink * at_base[i] - gone * norm
        lead[i] = max(
            back * back * base_norm[i] - 2.0 * back * gone * at_base[i] + gone * gone * norm, 0.0
        )
