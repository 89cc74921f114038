"""The meta's rate and the trust in its guesses, in numbers: twin of ``parts.rates`` and
``parts.metas.optimism``.
"""

from __future__ import annotations

import math

from swordplay.compile import inline
from swordplay.core.types import Vector
from swordplay.engine.layout import CONFIG, DOUBLING, FIXED, LEARNED, LIVE, Products
from swordplay.engine.scalar import fading
from swordplay.parts.metas.optimism import TIED
from swordplay.parts.rates import TIE


@inline
def update_learning_rate(live: Vector, config: Vector, mismatch: float, surprise: float) -> bool:
    """One step of ``rates.Fixed``, ``SelfConfident`` or ``Doubling``.

    True if the meta has to start afresh.
    """
    if config[CONFIG.rate] == FIXED:
        return False
    lam = live[LIVE.entropy]
    diameter = config[CONFIG.diameter]
    if config[CONFIG.rate] == DOUBLING:
        live[LIVE.total] += surprise
        if live[LIVE.total] <= live[LIVE.level] * (1.0 + TIE):
            return False
        doublings = math.ceil(math.log2(live[LIVE.total]) - math.log2(live[LIVE.level]) - TIE)
        live[LIVE.level] = math.ldexp(live[LIVE.level], int(doublings))
        live[LIVE.rate] = min(
            config[CONFIG.cap], math.sqrt((2.0 + lam) / (diameter * diameter * live[LIVE.level]))
        )
        return True
    retention = config[CONFIG.retention]
    live[LIVE.total] = retention * live[LIVE.total] + mismatch
    live[LIVE.level] = max(retention * live[LIVE.level], surprise)
    blur = config[CONFIG.floor] * diameter
    denominator = config[CONFIG.offset] + live[LIVE.total] + blur * blur * live[LIVE.level]
    if denominator > 0.0:
        ceiling = live[LIVE.rate] if retention == 1.0 else config[CONFIG.cap]
        live[LIVE.rate] = min(ceiling, math.sqrt(config[CONFIG.factor] * lam / denominator))
    return False


@inline
def update_trust(live: Vector, config: Vector, of: Products, h: float) -> None:
    """Judge the replayed gradient v a' against a guess of 0, and set the trust for the next one."""
    if config[CONFIG.optimism] == LEARNED:
        v, by_zero = live[LIVE.candidate], h * h * of.norm
        change = v * v * of.last_norm - 2.0 * h * v * of.cross  # norm(h a - v a')^2 - norm(h a)^2
        live[LIVE.difference] += change
        live[LIVE.magnitude] += change + 2.0 * by_zero
        live[LIVE.trust] = trust(config[CONFIG.kappa], live[LIVE.difference], live[LIVE.magnitude])


@inline
def trust(kappa: float, difference: float, magnitude: float) -> float:
    """1 / (1 + exp(kappa * difference)), 1/2 on a tie, as in ``metas.optimism``."""
    if abs(difference) <= TIE * magnitude:
        return TIED
    score = kappa * difference
    small = fading(-abs(score))
    return (small if score >= 0.0 else 1.0) / (1.0 + small)
