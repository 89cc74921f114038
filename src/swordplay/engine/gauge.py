"""Capped experts, in numbers: twin of ``parts.experts.gauge``.

A growing pool that has them begins with them: column 0 is the capped extra-gradient expert, column 1 the capped descent
expert. What the gauge knew before the round stays at hand until extra-gradient experts have stepped as they looked ahead.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from swordplay.base.compiling import part
from swordplay.base.types import Vector
from swordplay.engine.layout import CONFIG, EXPERT, LIVE, Arrays, Products
from swordplay.engine.scalar import curvature
from swordplay.parts.experts.gauge import PATIENCE


class Known(NamedTuple):
    """What steps are made of."""

    width: float
    """D, or the span where that is less and the pool has capped experts."""
    ceiling: float
    """1 / (2 L): of the steps of capped experts."""


@part
def adaptive_step(multiplier: float, diameter: float, energy: float) -> float:
    """c D / sqrt(energy), infinite as long as no gradient was met."""
    return multiplier * diameter / math.sqrt(energy) if energy > 0.0 else math.inf


@part
def capped_step(diameter: float, energy: float, ceiling: float) -> float:
    """The smallest multiplier's step in the whole domain, but not above the ceiling; infinite as long as nothing was met."""
    return min(0.5 * diameter / math.sqrt(energy), ceiling) if energy > 0.0 else math.inf


@part
def known(live: Vector, config: Vector) -> Known:
    """What steps are made of, as far as it has been measured."""
    diameter, smoothness, span = config[CONFIG.diameter], live[LIVE.smoothness], live[LIVE.span]
    width = min(diameter, span) if config[CONFIG.capped] == 1.0 and span > 0.0 else diameter
    return Known(width, 0.5 / smoothness if smoothness > 0.0 else math.inf)


@part
def measure(me: Arrays, of: Products, h: float) -> None:
    """Take in the loss of a round, whose gradient at the decision is h a."""
    live, config = me.live, me.config
    L = max(live[LIVE.smoothness], live[LIVE.weight] * curvature(int(config[CONFIG.loss])) * of.norm)
    span, length = live[LIVE.span], abs(h) * math.sqrt(of.norm)
    if span == 0.0 and length > 0.0:
        span = 2.0 * length / L if L > 0.0 else math.inf
    step = length / (2.0 * L * PATIENCE) if L > 0.0 else 0.0
    live[LIVE.smoothness] = L
    live[LIVE.span] = max(span, 2.0 * math.sqrt(me.numbers[EXPERT.norm, 1]), 2.0 * step)


@part
def cap(me: Arrays, before: Known, now: Known, extra_surprise: float, surprise: float) -> None:
    """Steps of the two capped experts in this round."""
    eta, energy, diameter = me.numbers[EXPERT.eta], me.numbers[EXPERT.energy], me.config[CONFIG.diameter]
    average = min(me.live[LIVE.rounds] + 1.0, float(PATIENCE))
    if energy[0] > 0.0:
        eta[0] = capped_step(diameter, energy[0], before.ceiling)
    else:
        eta[0] = capped_step(diameter, extra_surprise, now.ceiling)
    eta[1] = capped_step(diameter, energy[1] + surprise, now.ceiling / average)
