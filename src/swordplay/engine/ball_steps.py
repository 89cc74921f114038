"""Projected steps of experts on a ball, from inner products: no pass over the coordinates.

A projection is a scaling, and norm(x - k a)^2 = norm(x)^2 - 2 k <a, x> + k^2 norm(a)^2.
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
    """Take both projected steps of every expert; return the smallest scale."""
    numbers, radius = me.numbers, me.config[CONFIG.size]
    n = columns_of(numbers)
    farthest = base_step(
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
        project_base(
            n,
            radius,
            numbers[EXPERT.scale],
            numbers[EXPERT.unscale],
            numbers[EXPERT.at_base],
            numbers[EXPERT.norm],
            numbers[EXPERT.push],
        )
        smallest = least(n, numbers[EXPERT.scale])
    lookahead_step(me, of, target)
    return smallest


@inline
def fork(me: Arrays, of: Products, features: Any, target: float) -> None:
    """Copy the points of the fastest expert of each kind to the two that have joined."""
    coords, experts = me.coords, int(me.live[LIVE.experts])
    for j in range(coords.shape[0]):
        coords[j, experts - 2] = coords[j, experts - 4]
        for column in range(experts - 1, coords.shape[1]):
            coords[j, column] = coords[j, experts - 3]
    lookahead_step(me, of, target)


@expert_loop
def base_step(
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
def project_base(
    n: int,
    radius: float,
    scale: Vector,
    unscale: Vector,
    at_base: Vector,
    base_norm: Vector,
    push: Vector,
) -> None:
    """Project base points on the ball: a scaling."""
    limit = radius * radius
    for i in range(n):
        # A point inside stays: with a radius of 0, or one whose square underflows, the quotient
        # would be NaN.
        shrink = radius / math.sqrt(base_norm[i]) if base_norm[i] > limit else 1.0
        before = scale[i]
        scale[i] = before * shrink
        unscale[i] = 1.0 / scale[i]
        push[i] = before * unscale[i] - 1.0 if shrink < 1.0 else 0.0
        at_base[i] *= shrink
        base_norm[i] = min(base_norm[i], limit)


@inline
def lookahead_step(me: Arrays, of: Products, target: float) -> None:
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
    project_lookahead(me, of, farthest)


@inline
def project_lookahead(me: Arrays, of: Products, farthest: float) -> None:
    """Project lookahead points on the ball, given the largest squared norm among them."""
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
    """Project lookahead points on the ball.

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
