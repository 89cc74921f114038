"""The weights of the experts, in numbers: twin of ``parts.metas.optimistic_hedge``."""

from __future__ import annotations

import math

from swordplay.compile import expert_loop, inline, larger, smaller
from swordplay.core.types import Vector
from swordplay.engine.blocks import columns_of, dot
from swordplay.engine.layout import CONFIG, EXPERT, LIVE, NO_OPTIMISM, Arrays, Products
from swordplay.engine.scalar import fading, slope
from swordplay.parts.metas.optimistic_hedge import SMALLEST_WEIGHT

STEADY = 100.0
"""Guesses that change no exponent by more: it may be positive then, and still no exponential is
large.
"""


@inline
def weigh(me: Arrays, of: Products, target: float) -> None:
    """Replay the field at old weights and new points, then weigh the experts for the coming
    round.
    """
    numbers, live, config = me.numbers, me.live, me.config
    n = columns_of(numbers)
    guess = 0.0
    if config[CONFIG.optimism] != NO_OPTIMISM:
        mean = dot(n, numbers[EXPERT.weight], numbers[EXPERT.ahead])
        loss, threshold = int(config[CONFIG.loss]), config[CONFIG.threshold]
        live[LIVE.candidate] = live[LIVE.weight] * slope(loss, threshold, mean + of.offset, target)
        guess = live[LIVE.trust] * live[LIVE.candidate]
    ahead, cumulative, guesses, rate = (
        numbers[EXPERT.ahead],
        numbers[EXPERT.cumulative],
        numbers[EXPERT.guess],
        live[LIVE.rate],
    )
    # No guess is farther from 0 than the farthest point says.
    if rate < math.inf and rate * abs(guess) * config[CONFIG.size] * math.sqrt(of.norm) < STEADY:
        prior, weights, pull = numbers[EXPERT.log_prior], numbers[EXPERT.weight], rate * guess
        live[LIVE.share] = 1.0 / fade(
            n, rate, pull, guess, live[LIVE.smallest], prior, cumulative, ahead, guesses, weights
        )
    else:
        share(me, expect(n, guess, ahead, cumulative, guesses), rate)


@expert_loop
def fade(
    n: int,
    rate: float,
    pull: float,
    guess: float,
    smallest: float,
    log_prior: Vector,
    cumulative: Vector,
    ahead: Vector,
    guesses: Vector,
    answer: Vector,
) -> float:
    """``expect`` and ``exponentials`` in one pass, where guesses move no exponent far: less the
    least loss so far will do.

    That is known long before the guess is, and any number may be taken off as long as no exponent
    gets large. ``pull`` is rate times guess.
    """
    total = 0.0
    for i in range(n):
        guesses[i] = guess * ahead[i]
        answer[i] = fading((log_prior[i] - rate * (cumulative[i] - smallest)) - pull * ahead[i])
        total += answer[i]
    return total


@expert_loop
def expect(n: int, guess: float, ahead: Vector, cumulative: Vector, guesses: Vector) -> float:
    """m_i = <M, x_i> = w <a, x_i> of every expert; returns the least of loss so far + guess."""
    least = math.inf
    for i in range(n):
        m = guess * ahead[i]
        guesses[i] = m
        least = smaller(least, cumulative[i] + m)
    return least


@inline
def share(me: Arrays, least: float, rate: float) -> None:
    """p_i in proportion to prior times exp(-rate (loss so far + guess)), given the least of
    these sums; to be normalised.
    """
    numbers = me.numbers
    n = columns_of(numbers)
    prior, cumulative, guesses, weights = (
        numbers[EXPERT.log_prior],
        numbers[EXPERT.cumulative],
        numbers[EXPERT.guess],
        numbers[EXPERT.weight],
    )
    if rate < math.inf:
        total = exponentials(n, rate, least, prior, cumulative, guesses, weights)
    else:
        total = follow_the_leader(n, prior, cumulative, guesses, weights)
    me.live[LIVE.share] = 1.0 / total


@inline
def normalise_weights(me: Arrays) -> None:
    """Normalise the weights, unless a prediction has done so since they were computed."""
    if me.live[LIVE.share] > 0.0:
        normalise(columns_of(me.numbers), me.numbers[EXPERT.weight], me.live[LIVE.share])
        me.live[LIVE.share] = 0.0


@inline
def take_weight_factor(live: Vector) -> float:
    """Return the factor that normalises the weights; the caller applies it now."""
    share = live[LIVE.share] if live[LIVE.share] > 0.0 else 1.0
    live[LIVE.share] = 0.0
    return float(share)


@expert_loop
def exponentials(
    n: int,
    rate: float,
    least: float,
    log_prior: Vector,
    cumulative: Vector,
    guesses: Vector,
    answer: Vector,
) -> float:
    """prior * exp(-rate * (loss so far + guess, less the least)); returns their sum.

    No prior is above 1, so no exponent is positive; the expert with the least sum keeps its prior,
    so the total does not vanish. The least is known before the rate is.
    """
    total = 0.0
    for i in range(n):
        answer[i] = fading(log_prior[i] - rate * (cumulative[i] + guesses[i] - least))
        total += answer[i]
    return total


@expert_loop
def follow_the_leader(
    n: int, log_prior: Vector, cumulative: Vector, guesses: Vector, answer: Vector
) -> float:
    """The limit of an infinite rate: the prior for experts with the least sum, 0 for the others.

    Returns their sum.
    """
    least, total = math.inf, 0.0
    for i in range(n):
        least = smaller(least, cumulative[i] + guesses[i])
    for i in range(n):
        answer[i] = fading(log_prior[i] if cumulative[i] + guesses[i] <= least else -math.inf)
        total += answer[i]
    return total


@inline
def normalised(weight: float, share: float) -> float:
    """One weight."""
    return float(larger(weight * share, SMALLEST_WEIGHT))


@expert_loop
def normalise(n: int, weights: Vector, share: float) -> None:
    """Weights with a sum of 1, none of them 0.

    ``share`` is given, as a quotient in here would be formed for every expert.
    """
    for i in range(n):
        weights[i] = normalised(weights[i], share)
