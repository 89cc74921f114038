"""Pools that grow: the fastest experts are forked as rounds go by."""

from __future__ import annotations

import math

from swordplay.compile import inline
from swordplay.core.types import Matrix, Vector
from swordplay.engine.layout import CONFIG, EXPERT, LIVE
from swordplay.parts.experts.step_sizes import WIDE_DOMAIN_RATIO


@inline
def is_growing(live: Vector, config: Vector) -> bool:
    """Whether the fastest multiplier is too slow for a comparator that moved in every round."""
    # 4 ** (n - 1) = 2 ** (experts - 2), as there are two experts for every multiplier.
    return bool(
        config[CONFIG.grows] == 1.0
        and 1.0 + 2.0 * live[LIVE.rounds] > 2.0 ** (live[LIVE.experts] - 2.0)
    )


@inline
def fork_numbers(numbers: Matrix, live: Vector, config: Vector) -> None:
    """Copy the last expert of either kind, double the copies' multipliers and share the weight by
    the new priors.

    Columns take turns: extra-gradient, descent, extra-gradient, ... so that a fork appends two
    columns.
    """
    experts = int(live[LIVE.experts])
    count = experts // 2
    for kind in range(2):
        parent, child = experts - 2 + kind, experts + kind
        for row in range(numbers.shape[0]):
            numbers[row, child] = numbers[row, parent]
        numbers[EXPERT.step, child] = 2.0 * numbers[EXPERT.step, parent]
        for steps in (EXPERT.eta, EXPERT.coming):
            numbers[steps, child] = 2.0 * numbers[steps, parent]
        for inverses in (EXPERT.coming_inverse, EXPERT.narrowness):
            numbers[inverses, child] = 0.5 * numbers[inverses, parent]
        tame(numbers, live, config, child)
        # The last prior 1/n splits into 1/(n (n + 1)) and 1/(n + 1), half of each for either kind.
        numbers[EXPERT.log_prior, parent] = -math.log(2.0 * count * (count + 1.0))
        numbers[EXPERT.log_prior, child] = -math.log(2.0 * (count + 1.0))
        numbers[EXPERT.weight, child] = numbers[EXPERT.weight, parent] * (count / (count + 1.0))
        numbers[EXPERT.weight, parent] /= count + 1.0
    for column in range(experts + 2, numbers.shape[1]):
        for row in range(numbers.shape[0]):
            numbers[row, column] = numbers[row, experts + 1]
        numbers[EXPERT.log_prior, column], numbers[EXPERT.weight, column] = -math.inf, 0.0
    live[LIVE.experts] = experts + 2.0
    live[LIVE.entropy] = math.log(2.0 * count * (count + 1.0))  # the smallest prior is the parent's


@inline
def tame(numbers: Matrix, live: Vector, config: Vector, child: int) -> None:
    """Leave a copy a step of 1/L at the most where no wall is near: twin of
    ``CappedAdaGrad.sum_of_copy``.
    """
    energy, span = numbers[EXPERT.energy, child], live[LIVE.span]
    if not (
        config[CONFIG.capped] == 1.0
        and energy > 0.0
        and span > 0.0
        and config[CONFIG.diameter] > WIDE_DOMAIN_RATIO * span
    ):
        return
    least = numbers[EXPERT.step, child] * live[LIVE.width] * live[LIVE.smoothness]
    if least * least > energy:
        numbers[EXPERT.energy, child] = least * least
        numbers[EXPERT.coming_inverse, child] = least * numbers[EXPERT.narrowness, child]
        numbers[EXPERT.coming, child] = 1.0 / numbers[EXPERT.coming_inverse, child]
