"""Both steps of experts on a ball whose steps adapt, for a squared loss: one pass, where
``ball_steps`` takes several.

Experts whose steps adapt live at the wall: in every second round or so somebody leaves the ball,
and nobody can tell which. So everybody is projected, most of them by the factor 1: a root and two
quotients cost less than a wrong guess of the processor. The root is also what the certificate needs
of the distance from the centre (``adapting.keep_pull``).
"""

from __future__ import annotations

import math

from swordplay.compile import expert_loop, inline, larger, smaller
from swordplay.core.types import Vector
from swordplay.engine.adapting import rounding_of, strain
from swordplay.engine.blocks import columns_of
from swordplay.engine.heading import is_kept
from swordplay.engine.layout import CONFIG, EXPERT, LIVE, SQUARED, Arrays, Products


@inline
def is_at_once(me: Arrays) -> bool:
    """Whether both steps of a round are one pass: not if the certificate keeps S, which needs to
    know who was projected.
    """
    config = me.config
    return bool(
        config[CONFIG.adaptive] == 1.0
        and config[CONFIG.loss] == SQUARED
        and not is_kept(me.numbers)
    )


@inline
def strain_apart(me: Arrays) -> None:
    """How hard steps that change have pulled, unless that was noted on the way."""
    if not is_at_once(me):
        strain(me)


@inline
def stride_all(me: Arrays, of: Products, target: float) -> tuple[float, float]:
    """Both steps of every expert, the second one before it is projected: the smallest scale, and
    the largest norm(x)^2.
    """
    numbers, live = me.numbers, me.live
    return stride(
        columns_of(numbers),
        me.config[CONFIG.size],
        of.norm,
        live[LIVE.weight],
        of.offset - target,
        numbers[EXPERT.eta],
        numbers[EXPERT.slope],
        numbers[EXPERT.unscale],
        numbers[EXPERT.scale],
        numbers[EXPERT.coefficient],
        numbers[EXPERT.at_base],
        numbers[EXPERT.norm],
        numbers[EXPERT.extra],
        numbers[EXPERT.coming],
        numbers[EXPERT.replay],
        numbers[EXPERT.alpha],
        numbers[EXPERT.gamma],
        numbers[EXPERT.ahead],
        numbers[EXPERT.lead],
        numbers[EXPERT.farthest],
        numbers[EXPERT.inverse],
        numbers[EXPERT.turning],
        numbers[EXPERT.away],
        numbers[EXPERT.pull],
    )


@expert_loop
def stride(
    n: int,
    radius: float,
    norm: float,
    weight: float,
    lift: float,
    eta: Vector,
    slope: Vector,
    unscale: Vector,
    scale: Vector,
    change: Vector,
    at_base: Vector,
    base_norm: Vector,
    extra: Vector,
    coming: Vector,
    replay: Vector,
    alpha: Vector,
    gamma: Vector,
    ahead: Vector,
    lead: Vector,
    farthest_base: Vector,
    inverse: Vector,
    turning: Vector,
    away: Vector,
    pull: Vector,
) -> tuple[float, float]:
    """``step_base``, ``shrink_base``, ``replays``, ``step_ahead`` and ``keep_pull`` of one
    expert after the other.
    """
    limit = radius * radius
    smallest, farthest = math.inf, 0.0
    for i in range(n):
        k = eta[i] * slope[i] if eta[i] < math.inf else 0.0
        square = larger(base_norm[i] - 2.0 * k * at_base[i] + k * k * norm, 0.0)
        change[i] = -k * unscale[i]
        root = math.sqrt(square)
        # Whoever is inside stays: where the radius is 0 or its square underflows, a quotient would
        # be no number.
        shrink = radius / root if square > limit else 1.0
        size = scale[i] * shrink
        scale[i] = size
        unscale[i] = 1.0 / size
        smallest = smaller(smallest, size)
        at = shrink * (at_base[i] - k * norm)
        inside = smaller(square, limit)
        at_base[i], base_norm[i] = at, inside
        m = extra[i] * weight * (at + lift)
        replay[i] = m
        stride = coming[i] * m if coming[i] < math.inf else 0.0
        moved = stride * stride * norm
        # A base point on the sphere may lie outside it by rounding; where nothing moved, nothing is
        # to be projected.
        reached = inside - 2.0 * stride * at + moved if stride != 0.0 else 0.0
        farthest = larger(farthest, reached)
        alpha[i], gamma[i], lead[i] = 1.0, stride, moved
        ahead[i] = at - stride * norm
        far = larger(farthest_base[i], inside)
        farthest_base[i] = far
        distance = smaller(root, radius) if inside > rounding_of(far) else 0.0
        away[i] = distance
        pull[i] = larger(pull[i], inverse[i] * distance + turning[i])
    return smallest, farthest
