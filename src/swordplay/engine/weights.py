"""The weights of the experts, in numbers: twin of ``parts.metas.hedge``."""

from __future__ import annotations

import math

from swordplay.base.compiling import expert_loop, part
from swordplay.base.types import Vector
from swordplay.engine.blocks import columns_of, dot, largest
from swordplay.engine.layout import CONFIG, EXPERT, LIVE, NO_OPTIMISM, Arrays, Products
from swordplay.engine.scalar import fading, slope
from swordplay.parts.metas.hedge import SMALLEST_WEIGHT


@part
def weigh(me: Arrays, of: Products, target: float) -> None:
    """Replay the field at old weights and new points, then weigh the experts for the coming round."""
    numbers, live, config = me.numbers, me.live, me.config
    n = columns_of(numbers)
    guess = 0.0
    if config[CONFIG.optimism] != NO_OPTIMISM:
        mean = dot(n, numbers[EXPERT.weight], numbers[EXPERT.ahead])
        loss, threshold = int(config[CONFIG.loss]), config[CONFIG.threshold]
        live[LIVE.candidate] = live[LIVE.weight] * slope(loss, threshold, mean + of.offset, target)
        guess = live[LIVE.trust] * live[LIVE.candidate]
    rate = live[LIVE.rate]
    ahead, prior, weights = numbers[EXPERT.ahead], numbers[EXPERT.log_prior], numbers[EXPERT.weight]
    if rate < math.inf:
        score(n, guess, rate, ahead, prior, numbers[EXPERT.cumulative], numbers[EXPERT.guess], weights)
    else:
        score_leaders(n, guess, ahead, prior, numbers[EXPERT.cumulative], numbers[EXPERT.guess], weights)
    normalise(n, weights, exponentials(n, largest(n, weights), weights))


@expert_loop
def score(
    n: int, guess: float, rate: float, ahead: Vector, log_prior: Vector, cumulative: Vector, guesses: Vector, answer: Vector
) -> None:
    """ln prior - rate * (loss so far + guess), the guess being m_i = <M, x_i> = w <a, x_i>."""
    for i in range(n):
        m = guess * ahead[i]
        guesses[i] = m
        answer[i] = log_prior[i] - rate * (cumulative[i] + m)


@expert_loop
def score_leaders(
    n: int, guess: float, ahead: Vector, log_prior: Vector, cumulative: Vector, guesses: Vector, answer: Vector
) -> None:
    """The limit of an infinite rate: ln prior for those who lead, nothing for the rest."""
    smallest = math.inf
    for i in range(n):
        guesses[i] = guess * ahead[i]
        smallest = min(smallest, cumulative[i] + guesses[i])
    for i in range(n):
        answer[i] = log_prior[i] if cumulative[i] + guesses[i] <= smallest else -math.inf


@expert_loop
def exponentials(n: int, highest: float, values: Vector) -> float:
    """exp(v - highest) in place; returns their sum."""
    total = 0.0
    for i in range(n):
        values[i] = fading(values[i] - highest)
        total += values[i]
    return total


@expert_loop
def normalise(n: int, weights: Vector, total: float) -> None:
    """Weights with a sum of 1, none of them 0."""
    share = 1.0 / total
    for i in range(n):
        weights[i] = max(weights[i] * share, SMALLEST_WEIGHT)
