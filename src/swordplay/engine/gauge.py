"""Capped experts, in numbers: twin of ``parts.experts.step_sizes``.

A growing pool that has them begins with them: column 0 is the capped extra-gradient expert, column
1 the capped descent expert. Their steps are made of the whole domain's diameter and are at most 1 /
(2 L ρ), or 1 / (2 L m) averaged over m rounds.
"""

from __future__ import annotations

import math

from swordplay.compile import expert_loop, inline
from swordplay.core.types import Vector
from swordplay.engine.blocks import columns_of
from swordplay.engine.layout import CONFIG, EXPERT, LIVE, Arrays, Products
from swordplay.engine.scalar import curvature
from swordplay.parts.experts.step_sizes import AVERAGED_ROUNDS


@inline
def is_news(me: Arrays, of: Products, h: float) -> bool:
    """Whether a round changes what steps are made of: of few rounds ``measure`` and ``prepare``
    would, and both divide.
    """
    live, L, span = me.live, me.live[LIVE.smoothness], me.live[LIVE.span]
    bend = live[LIVE.weight] * curvature(int(me.config[CONFIG.loss])) * of.norm
    known = (
        bend <= L
        and 4.0 * me.numbers[EXPERT.norm, 1] <= span * span
        and abs(h) * math.sqrt(of.norm) <= AVERAGED_ROUNDS * L * span
    )
    return not known or live[LIVE.rounds] < float(AVERAGED_ROUNDS)  # averages still get longer


@inline
def measure(me: Arrays, of: Products, h: float) -> None:
    """Take in the loss of a round, whose gradient at the decision is h a."""
    live, config = me.live, me.config
    L = max(
        live[LIVE.smoothness], live[LIVE.weight] * curvature(int(config[CONFIG.loss])) * of.norm
    )
    live[LIVE.smoothness] = L
    span, length = live[LIVE.span], abs(h) * math.sqrt(of.norm)
    if span == 0.0 and length > 0.0:
        span = 2.0 * length / L if L > 0.0 else math.inf
    # Asked first whether they are wider: a root and a quotient in every round would cost more than
    # the rest.
    reached = me.numbers[EXPERT.norm, 1]
    if 4.0 * reached > span * span:
        span = max(span, 2.0 * math.sqrt(reached))
    if length > AVERAGED_ROUNDS * L * span and L > 0.0:
        span = max(span, length / (L * AVERAGED_ROUNDS))
    live[LIVE.span] = span


@inline
def prepare(me: Arrays) -> None:
    """What the steps of every expert are made of, as far as it has been measured.

    Rows are written where it has changed.
    """
    numbers, live, config = me.numbers, me.live, me.config
    diameter, capped = config[CONFIG.diameter], config[CONFIG.capped] == 1.0
    rho = live[LIVE.caution]  # at least 1 if capped, and unused otherwise
    width = (
        min(diameter, live[LIVE.span] / (rho * rho))
        if capped and live[LIVE.span] > 0.0
        else diameter
    )
    if width != live[LIVE.width]:
        live[LIVE.width] = width
        narrow(columns_of(numbers), width, numbers[EXPERT.step], numbers[EXPERT.narrowness])
        numbers[EXPERT.floor] = 0.0
        if capped:
            numbers[EXPERT.narrowness, 0] = numbers[EXPERT.narrowness, 1] = 2.0 / diameter
    if capped:
        bend = 2.0 * live[LIVE.smoothness]
        slow = bend * min(live[LIVE.rounds] + 1.0, float(AVERAGED_ROUNDS))
        if numbers[EXPERT.floor, 0] != rho * bend or numbers[EXPERT.floor, 1] != slow:
            numbers[EXPERT.floor, 0], numbers[EXPERT.floor, 1] = rho * bend, slow


@expert_loop
def narrow(n: int, width: float, multiplier: Vector, answer: Vector) -> None:
    """1 / (c W) of every expert."""
    for i in range(n):
        answer[i] = 1.0 / (multiplier[i] * width)
