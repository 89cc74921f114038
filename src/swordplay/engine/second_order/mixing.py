r"""Forecasts mixed by weights that follow their losses, in units of the best one's mean loss.

.. math:: w_i \propto \pi_i e^{-L_i}, \qquad
    L_i \leftarrow \min\{(1 - \tfrac1M) L_i + \eta\, \ell_i/m - \min_j (\cdot)_j,\; \Lambda\},

m the discounted mean loss of the best forecaster. A forecaster that is worse than the best by a
share x loses weight like :math:`e^{-\eta x}` a row. No weight falls below :math:`e^{-\Lambda}` of
the largest, so that a forecaster regains its weight some :math:`\Lambda/(\eta x)` rows after it has
become the best by a share x. No number here has a unit, and no single forecast moves the mixture
farther than the usual range of the target.

The same weights, with a longer memory, mix the forecasts of other models (``mix_rows``): none of
them can ruin that mixture.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from swordplay.compile import inline_ordered, kernel
from swordplay.core.types import Matrix, Vector
from swordplay.engine.second_order.approximations import add_log_losses, put_powers

MEMORY = 500.0
"""M: rounds that losses are remembered for."""
RATE = 0.1
"""eta for squared errors, in mean losses of the best."""
LABEL_RATE = 0.3
"""eta for log losses, in nats: with 1 the mixture would be that of Bayes."""
FARTHEST_BEHIND = 14.0
"""Lambda: e^14 is a million."""
WILDEST = 100.0
"""Losses beyond this many mean losses of the best count as so many: a single outlier decides
nothing.
"""
KNOWN = 20.0
"""Discounted rounds after which losses are cut like that."""
ROOM = 0.5
"""Forecasts may lie outside the usual range of the target by this share of it."""
SHRINK = 1.0 / 4096.0
"""How fast the usual range forgets its ends, a share of it a round."""
FARTHEST = 1e62
"""No target counts as farther out, in spreads: where the first ones were of 1e-300, squares of
later ones would pass all
numbers, and no state that holds them could be loaded."""
SMALLEST_SHARE = 1e-18
"""Mean losses below this share of the squared range are rounding."""
SURE = 15.0
"""Log-odds beyond this are no surer: their losses are e^-15."""


class Cut(NamedTuple):
    """How losses are counted."""

    memory: float
    wildest: float
    width: float
    """Of the usual range."""


@inline_ordered
def tamed(target: float, ends: Vector) -> float:
    """A target that leaves the usual range by no more than the range, as which an outlier counts.

    Nor does it pass FARTHEST.
    """
    width = ends[1] - ends[0]
    return float(min(max(target, ends[0] - width, -FARTHEST), ends[1] + width, FARTHEST))


@inline_ordered
def follow_range(ends: Vector, target: float) -> None:
    """Let the usual range, ``ends``, learn from a target that is tamed.

    So it never becomes more than twice as wide at once.
    """
    width = ends[1] - ends[0]
    ends[0] = min(target, ends[0] + SHRINK * width)
    ends[1] = max(target, ends[1] - SHRINK * width)


@inline_ordered
def cut(forecast: float, ends: Vector) -> float:
    """A forecast that does not leave the usual range by more than ROOM of it."""
    room = ROOM * (ends[1] - ends[0])
    return float(min(max(forecast, ends[0] - room), ends[1] + room))


@inline_ordered
def weigh(behind: Vector, prior: float, weights: Vector) -> None:
    """w of every forecaster: the first has ``prior`` in the beginning, the others share what is
    left.
    """
    count = len(behind)
    other = (1.0 - prior) / max(count - 1, 1)
    put_powers(behind, weights)
    total = 0.0
    for i in range(count):
        weights[i] *= prior if i == 0 else other
        total += weights[i]
    share = 1.0 / total
    for i in range(count):
        weights[i] *= share


@inline_ordered
def judge_numbers(
    behind: Vector, sums: Vector, forecasts: Vector, target: float, weight: float, cut_at: Cut
) -> None:
    """Take in squared errors.

    ``sums`` holds the discounted losses of each (and maybe of others who are not asked), and last
    the discounted rounds. Losses beyond ``cut_at.wildest`` mean losses of the best count as so
    many.
    """
    memory, wildest, width = cut_at
    count = len(behind)
    fade = 1.0 - 1.0 / memory
    most = math.inf
    rounds = len(sums) - 1
    if sums[rounds] >= KNOWN:
        most = wildest * max(least(sums, count), SMALLEST_SHARE * width * width)
    sums[rounds] = fade * sums[rounds] + 1.0
    for i in range(count):
        miss = target - forecasts[i]
        sums[i] = fade * sums[i] + min(miss * miss, most)
    scale = max(least(sums, count), SMALLEST_SHARE * width * width)
    if scale > 0.0:
        per = 1.0 / max(scale, 1e-300)
        for i in range(count):
            miss = target - forecasts[i]
            behind[i] = fade * behind[i] + RATE * weight * min(min(miss * miss, most) * per, 1e6)
    catch_up(behind)


@inline_ordered
def judge_labels(behind: Vector, forecasts: Vector, target: float, weight: float) -> None:
    """Take in log losses of log-odds; the target is 0 or 1."""
    sign = 1.0 if target > 0.5 else -1.0
    add_log_losses(behind, forecasts, sign, SURE, 1.0 - 1.0 / MEMORY, LABEL_RATE * weight)
    catch_up(behind)


@inline_ordered
def least(sums: Vector, count: int) -> float:
    """Mean loss of the best."""
    best = sums[0]
    for i in range(1, count):
        best = min(best, sums[i])
    return float(best / sums[len(sums) - 1])


@inline_ordered
def leader(behind: Vector) -> float:
    """How far behind the best of some is."""
    best = behind[0]
    for i in range(1, len(behind)):
        best = min(best, behind[i])
    return float(best)


@inline_ordered
def catch_up(behind: Vector) -> None:
    """The leader at 0, nobody farther behind than FARTHEST_BEHIND."""
    best = leader(behind)
    for i in range(len(behind)):
        behind[i] = min(behind[i] - best, FARTHEST_BEHIND)


@inline_ordered
def keep_distance(behind: Vector, count: int, before: float) -> None:
    """After a round in which only the first of all were judged: the others stay where they were,
    seen from the best of these.

    ``before`` is how far behind that one was before the round; now it is at 0.
    """
    for i in range(count, len(behind)):
        behind[i] -= before
    catch_up(behind)


LONG_MEMORY = 8000.0
"""Rounds that losses of other models are remembered for: outliers may occur once in 1,000 rows."""
LARGEST_RATIO = 1e4
"""Losses of other models count in full up to so many mean losses of the best."""


@kernel
def cut_rows(said: Matrix, targets: Vector, known: Vector, widths: Vector) -> None:
    """Cut the forecasts of each row to the usual range of the target, which then learns from its
    target; tame the targets.

    ``known`` holds the two ends of the range and the rows learned; how wide it was before each row
    goes to ``widths``.
    """
    ends = known[:2]
    for t in range(len(targets)):
        widths[t] = ends[1] - ends[0]
        if known[2] > 0.0:
            for i in range(said.shape[1]):
                said[t, i] = cut(said[t, i], ends)
        targets[t] = tamed(targets[t], ends) if known[2] > 1.0 else targets[t]
        if known[2] == 0.0:
            ends[0] = ends[1] = targets[t]
        follow_range(ends, targets[t])
        known[2] += 1.0


@kernel
def mix_rows(
    said: Matrix,
    targets: Vector,
    weights: Vector,
    widths: Vector,
    prior: float,
    numbers: Vector,
    shares: Vector,
    answer: Vector,
) -> None:
    """Mix the N forecasts of each row before its target is learned.

    The first of them has ``prior`` in the beginning.

    ``numbers`` holds how far behind each is, N, their discounted losses and the rounds of these, N
    + 1; ``shares`` is scratch.
    """
    count = said.shape[1]
    behind, sums = numbers[:count], numbers[count : 2 * count + 1]
    for t in range(len(targets)):
        weigh(behind, prior, shares)
        total = 0.0
        for i in range(count):
            total += shares[i] * said[t, i]
        answer[t] = total
        weight = weights[t] if len(weights) > 0 else 1.0
        judge_numbers(
            behind, sums, said[t], targets[t], weight, Cut(LONG_MEMORY, LARGEST_RATIO, widths[t])
        )
