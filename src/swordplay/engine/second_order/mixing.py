r"""Forecasts mixed by weights that follow their losses, in units of the best one's mean loss.

.. math:: w_i \propto \pi_i e^{-L_i}, \qquad
    L_i \leftarrow \min\{(1 - \tfrac1M) L_i + \eta\, \ell_i/m - \min_j (\cdot)_j,\; \Lambda\},

m the discounted mean loss of the best forecaster. A forecaster that is worse than the best by a
share x loses weight like :math:`e^{-\eta x}` a row. No weight falls below :math:`e^{-\Lambda}` of
the largest, so that a forecaster regains its weight some :math:`\Lambda/(\eta x)` rows after it has
become the best by a share x. No number here has a unit, and no single forecast moves the mixture
farther than the usual range of the target.

The same weights, with a longer memory, mix the forecasts of other models (``robust_mix``): none of
them can ruin that mixture.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from swordplay.compile import inline_ordered, kernel
from swordplay.core.types import Matrix, Vector
from swordplay.engine.second_order.approximations import add_log_losses, exp_negative_all

MEMORY = 500.0
"""M: rounds that losses are remembered for."""
RATE = 0.1
"""eta for squared errors, in mean losses of the best forecaster."""
LOG_LOSS_RATE = 0.3
"""eta for log losses, in nats: 1 would give the mixture of Bayes."""
MAX_LAG_BEHIND = 14.0
"""Lambda: e^14 is a million."""
MAX_LOSS_RATIO = 100.0
"""Losses are clipped at this many mean losses of the best forecaster, so that no single outlier
decides.
"""
MIN_ROUNDS = 20.0
"""Discounted rounds before losses are clipped."""
RANGE_MARGIN = 0.5
"""Forecasts may lie outside the usual range of the target by this share of its width."""
RANGE_SHRINKAGE = 1.0 / 4096.0
"""Share of its width by which the usual range shrinks at both ends each round."""
MAX_TARGET = 1e62
"""Scaled targets are clipped here.

If the first targets are of size 1e-300, squares of later ones would overflow otherwise, and the
state could not be loaded.
"""
MIN_RELATIVE_LOSS = 1e-18
"""Mean losses below this share of the squared range are rounding."""
MAX_LOG_ODDS = 15.0
"""Log-odds are clipped here: their losses are e^-15."""


class LossLimits(NamedTuple):
    """How squared errors are remembered and clipped."""

    memory: float
    """Rounds, M."""
    max_ratio: float
    """See ``MAX_LOSS_RATIO``."""
    range_width: float
    """Width of the usual range of the target."""


@inline_ordered
def clip_target(target: float, target_range: Vector) -> float:
    """Clip a target to the usual range, widened by its own width at both ends, and MAX_TARGET."""
    low, high = target_range[0], target_range[1]
    width = high - low
    return float(min(max(target, low - width, -MAX_TARGET), high + width, MAX_TARGET))


@inline_ordered
def update_range(target_range: Vector, target: float) -> None:
    """Let the usual range shrink and then include a clipped target.

    It never becomes more than three times as wide at once, as targets are clipped.
    """
    width = target_range[1] - target_range[0]
    target_range[0] = min(target, target_range[0] + RANGE_SHRINKAGE * width)
    target_range[1] = max(target, target_range[1] - RANGE_SHRINKAGE * width)


@inline_ordered
def clip_forecast(forecast: float, target_range: Vector) -> float:
    """Clip a forecast to the usual range, widened by RANGE_MARGIN of its width at both ends."""
    margin = RANGE_MARGIN * (target_range[1] - target_range[0])
    return float(min(max(forecast, target_range[0] - margin), target_range[1] + margin))


@inline_ordered
def write_weights(lag_behind: Vector, prior: float, weights: Vector) -> None:
    """Write w_i = pi_i e^-L_i / sum, with pi_0 = ``prior`` and equal priors of the others."""
    count = len(lag_behind)
    other = (1.0 - prior) / max(count - 1, 1)
    exp_negative_all(lag_behind, weights)
    total = 0.0
    for i in range(count):
        weights[i] *= prior if i == 0 else other
        total += weights[i]
    factor = 1.0 / total
    for i in range(count):
        weights[i] *= factor


@inline_ordered
def score_numbers(
    lag_behind: Vector,
    loss_sums: Vector,
    forecasts: Vector,
    target: float,
    weight: float,
    limits: LossLimits,
) -> None:
    """Add the squared errors of forecasts to L.

    ``loss_sums`` holds the discounted losses of each forecaster (and maybe of some that made no
    forecast now), and last the discounted rounds.
    """
    memory, max_ratio, width = limits
    count = len(lag_behind)
    decay = 1.0 - 1.0 / memory
    max_loss = math.inf
    rounds = len(loss_sums) - 1
    if loss_sums[rounds] >= MIN_ROUNDS:
        mean = max(least_mean(loss_sums, count), MIN_RELATIVE_LOSS * width * width)
        max_loss = max_ratio * mean
    loss_sums[rounds] = decay * loss_sums[rounds] + 1.0
    for i in range(count):
        error = target - forecasts[i]
        loss_sums[i] = decay * loss_sums[i] + min(error * error, max_loss)
    mean = max(least_mean(loss_sums, count), MIN_RELATIVE_LOSS * width * width)
    if mean > 0.0:
        factor = 1.0 / max(mean, 1e-300)
        for i in range(count):
            error = target - forecasts[i]
            loss = min(min(error * error, max_loss) * factor, 1e6)
            lag_behind[i] = decay * lag_behind[i] + RATE * weight * loss
    recenter(lag_behind)


@inline_ordered
def score_labels(lag_behind: Vector, forecasts: Vector, target: float, weight: float) -> None:
    """Add the log losses of log-odds to L; the target is 0 or 1."""
    sign = 1.0 if target > 0.5 else -1.0
    decay, rate = 1.0 - 1.0 / MEMORY, LOG_LOSS_RATE * weight
    add_log_losses(lag_behind, forecasts, sign, MAX_LOG_ODDS, decay, rate)
    recenter(lag_behind)


@inline_ordered
def least_mean(loss_sums: Vector, count: int) -> float:
    """Return the least of the first ``count`` discounted mean losses."""
    least = loss_sums[0]
    for i in range(1, count):
        least = min(least, loss_sums[i])
    return float(least / loss_sums[len(loss_sums) - 1])


@inline_ordered
def smallest(values: Vector) -> float:
    """Return the smallest number."""
    least = values[0]
    for i in range(1, len(values)):
        least = min(least, values[i])
    return float(least)


@inline_ordered
def recenter(lag_behind: Vector) -> None:
    """L_i = min(L_i - min_j L_j, Lambda)."""
    least = smallest(lag_behind)
    for i in range(len(lag_behind)):
        lag_behind[i] = min(lag_behind[i] - least, MAX_LAG_BEHIND)


@inline_ordered
def keep_unscored(lag_behind: Vector, count: int, before: float) -> None:
    """Keep the distances of forecasters that made no forecast, all but the first ``count``.

    ``before`` is the smallest L of the others before the round; it is 0 now.
    """
    for i in range(count, len(lag_behind)):
        lag_behind[i] -= before
    recenter(lag_behind)


LONG_MEMORY = 8000.0
"""Rounds that losses of other models are remembered for: outliers may occur once in 1,000 rows."""
LONG_MAX_LOSS_RATIO = 1e4
"""``MAX_LOSS_RATIO`` of other models."""


@kernel
def clip_rows(forecasts: Matrix, targets: Vector, known: Vector, range_widths: Vector) -> None:
    """Clip forecasts and targets of each row to the usual range, which then includes the target.

    ``known`` holds the two ends of the range and the number of rows learned. ``range_widths`` takes
    the width of the range before each row.
    """
    target_range = known[:2]
    for t in range(len(targets)):
        range_widths[t] = target_range[1] - target_range[0]
        if known[2] > 0.0:
            for i in range(forecasts.shape[1]):
                forecasts[t, i] = clip_forecast(forecasts[t, i], target_range)
        targets[t] = clip_target(targets[t], target_range) if known[2] > 1.0 else targets[t]
        if known[2] == 0.0:
            target_range[0] = target_range[1] = targets[t]
        update_range(target_range, targets[t])
        known[2] += 1.0


@kernel
def robust_mix(
    forecasts: Matrix,
    targets: Vector,
    weights: Vector,
    range_widths: Vector,
    prior: float,
    numbers: Vector,
    scratch: Vector,
    answer: Vector,
) -> None:
    """Mix the N forecasts of each row before its target is learned.

    ``prior`` is the initial weight of the first one. ``numbers`` holds L of each, then their
    discounted losses and rounds, 2 N + 1 in all; ``scratch`` has N.
    """
    count = forecasts.shape[1]
    lag_behind, loss_sums = numbers[:count], numbers[count : 2 * count + 1]
    for t in range(len(targets)):
        write_weights(lag_behind, prior, scratch)
        total = 0.0
        for i in range(count):
            total += scratch[i] * forecasts[t, i]
        answer[t] = total
        weight = weights[t] if len(weights) > 0 else 1.0
        limits = LossLimits(LONG_MEMORY, LONG_MAX_LOSS_RATIO, range_widths[t])
        score_numbers(lag_behind, loss_sums, forecasts[t], targets[t], weight, limits)
