r"""Arrows and Aligator: forecasters of sequences of small total variation, from noisy targets.

They play losses :math:`f_t(x) = \tfrac12 \|x - y_t\|^2`, coordinate by coordinate, and are compared
with the sequence that :math:`y_t` equals up to noise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.arguments import checked
from swordplay.core.state import OBSERVED, array, damaged
from swordplay.core.types import Array, Domain, Matrix, Vector
from swordplay.parts.domains import enclosing_box
from swordplay.parts.learners.assumptions import ObservedLoss
from swordplay.parts.learners.learner import UncertifiedLearner

LEVELS = 53
"""Number of block lengths 2^l: a bin of 2^53 targets cannot be played."""
THRESHOLD = 2.0
"""Default of beta, in units of sigma^2 ln T; the proof needs 24 and more.

Coefficients of pure noise rarely exceed the threshold that it gives.
"""
SAME_LOSS = 1e-6
"""Relative error up to which a gradient counts as x - y, the gradient of the forecasters' loss."""


def target_of(loss: ObservedLoss, decision: Vector, domain: Domain) -> Vector:
    """Return y of a loss 0.5 norm(x - y)^2, and refuse any other loss."""
    far = domain.project(domain.center + domain.diameter)
    at = np.stack([decision, domain.center, far])
    gradients = loss.gradient(at)
    targets = at - gradients
    size = float(np.abs(at).max() + np.abs(gradients).max())
    if np.abs(targets - targets[0]).max() > SAME_LOSS * size:
        raise ValueError(
            "loss must be 0.5 norm(x - y)^2, whose gradient is x - y: forecasters take the "
            "target y from it. "
            "Give sp.QuadraticLoss(numpy.eye(d), y), or in one dimension sp.SquaredLoss([1.0], y)."
        )
    return np.asarray(targets[0])


class ArrowsState(NamedTuple):
    """The bin of each coordinate: the targets since its last restart, in blocks of 2^l."""

    rounds: Annotated[int, OBSERVED]
    last: Annotated[Vector, array("dim")]
    """The last target, shape ``(d,)``."""
    members: Annotated[Vector, array("dim", low=0.0, high=OBSERVED.high, whole=True)]
    """Number of targets in the bin, shape ``(d,)``."""
    summed: Annotated[Vector, array("dim")]
    """Their sum, shape ``(d,)``."""
    blocks: Annotated[Matrix, array("dim", LEVELS)]
    """Sums of blocks of 2^l targets whose other half is not complete, shape ``(d, LEVELS)``."""
    passed: Annotated[Matrix, array("dim", LEVELS, low=0.0)]
    """Sum of the shrunken coefficients of blocks of 2^(l+1) targets, shape ``(d, LEVELS)``."""


@final
class Arrows(UncertifiedLearner):
    r"""The mean since the last restart, which follows when Haar coefficients show a change.

    With n the next power of two above the targets of the bin, these less their mean and followed by
    zeros, and :math:`\hat\alpha` its Haar coefficients, each shrunk by :math:`\sigma \sqrt{\beta
    \ln T}`: restart if :math:`\sum_l 2^{l/2} \|\hat\alpha[l]\|_1 > \sigma`, l counted from the
    coarsest. In the first round of a bin the last target is repeated. Total squared error of order
    :math:`T^{1/3} C^{2/3} \sigma^{4/3}` for targets around a sequence of total variation C.

    Parameters
    ----------
    domain
        Where decisions live.
    noise
        :math:`\sigma`, standard deviation of the targets around the sequence.
    horizon
        T, how many rounds will be played.
    threshold
        :math:`\beta`.

    References
    ----------
    Baby and Wang (2019), "Online forecasting of total-variation-bounded sequences".
    """

    guarantee = "of order T^(1/3) C^(2/3) sigma^(4/3)"

    @checked
    def __init__(
        self, domain: Domain, *, noise: float, horizon: int, threshold: float = THRESHOLD
    ) -> None:
        self.noise = arguments.positive("noise", noise)
        beta = arguments.positive("threshold", threshold)
        self.shrink = self.noise * math.sqrt(
            beta * math.log(max(arguments.integer("horizon", horizon), 2))
        )
        """Threshold by which every coefficient is shrunk."""
        super().__init__(arguments.domain(domain))

    def settings(self) -> Mapping[str, Any]:
        """Return what a saved state and the learner that loads it must have in common."""
        return {**super().settings(), "noise": self.noise, "shrink": self.shrink}

    def _start(self) -> ArrowsState:
        d = self.domain.dim
        nothing = np.zeros(d)
        return ArrowsState(
            0,
            np.array(self.domain.center),
            nothing,
            nothing,
            np.zeros((d, LEVELS)),
            np.zeros((d, LEVELS)),
        )

    def _decide(self, now: ArrowsState) -> Vector:
        mean = now.summed / np.maximum(now.members, 1)
        return np.array(self.domain.project(np.where(now.members > 0, mean, now.last)))

    def _advance(self, now: ArrowsState, loss: ObservedLoss) -> ArrowsState:
        targets = target_of(loss, self._decide(now), self.domain)
        columns = [self._binned(now, j, float(y)) for j, y in enumerate(targets)]
        count, total, blocks, passed = (np.array(part) for part in zip(*columns, strict=True))
        return ArrowsState(now.rounds + 1, targets, count, total, blocks, passed)

    def _binned(self, now: ArrowsState, j: int, y: float) -> tuple[float, float, Vector, Vector]:
        """Return one coordinate's bin with one more target, or an empty one after a restart."""
        count, total = int(now.members[j]) + 1, float(now.summed[j]) + y
        blocks, passed = now.blocks[j].copy(), now.passed[j].copy()
        carry, level = y, 0
        while (count - 1) >> level & 1:  # two blocks of this level make one of the next
            passed[level] += self._shrunken(blocks[level] - carry, level)
            carry, blocks[level] = carry + blocks[level], 0.0
            level += 1
        blocks[level] = carry
        if self._has_moved(count, total / count, blocks, passed):
            return 0.0, 0.0, np.zeros(LEVELS), np.zeros(LEVELS)
        return float(count), total, blocks, passed

    def _has_moved(self, count: int, mean: float, blocks: Vector, passed: Vector) -> bool:
        depth = (count - 1).bit_length()  # the padded bin has 2^depth entries
        found, tail, inside = 0.0, 0.0, 0
        for level in range(depth):
            beyond = passed[level]
            waits = bool(count >> level & 1)
            rest = tail - inside * mean
            if waits:
                beyond += self._shrunken(blocks[level] - 2.0**level * mean - rest, level)
                tail, inside = tail + blocks[level], inside + 2**level
            elif inside:
                beyond += self._shrunken(rest, level)
            found += 2.0 ** ((depth - 1 - level) / 2) * beyond
        return found > self.noise

    def _shrunken(self, difference: float, level: int) -> float:
        """Return a coefficient of 2^(level+1) targets, shrunken, from the difference of halves."""
        return max(abs(difference) / math.sqrt(2.0 ** (level + 1)) - self.shrink, 0.0)

    def _feasible(self, now: ArrowsState) -> Array:
        return self._decide(now)

    def _check_state(self, new: ArrowsState) -> None:
        super()._check_state(new)
        if (new.members > new.rounds).any():
            raise ValueError(
                "state['members'] must not exceed the rounds. The state is damaged: load an "
                "earlier one."
            )


class AligatorState(NamedTuple):
    """The sum and the weight of each interval; row k is that of the interval of 2^k rounds."""

    rounds: Annotated[int, OBSERVED]
    totals: Annotated[Matrix, array("intervals", "dim")]
    """Sums of the targets so far in each interval, shape ``(K, d)``."""
    log_weights: Annotated[Matrix, array("intervals", "dim")]
    """Shape ``(K, d)``; 0 for an interval that begins."""


@final
class Aligator(UncertifiedLearner):
    r"""Running means on the intervals of a geometric cover, under a sleeping-experts average.

    .. math:: x_t = \sum_k p_k \bar y_k, \qquad w_k \leftarrow w_k\, e^{-\alpha (\bar y_k - y_t)^2}
        \frac{\sum_j w_j}{\sum_j w_j e^{-\alpha (\bar y_j - y_t)^2}}, \qquad \alpha = \frac{1}{2
        b^2}

    over the intervals that hold round t, with b the width of the domain in that coordinate; every
    interval begins with a weight of 1 and with the domain's centre as its mean. No constant has
    to be given. Total squared error of order :math:`T^{1/3} C^{2/3}` for targets around a sequence
    of total variation C.

    Parameters
    ----------
    domain
        Where decisions live and targets are expected.

    References
    ----------
    Baby, Zhao, Wang (2021), "An optimal reduction of TV-denoising to adaptive online learning".
    """

    _growing_axes = ("intervals",)

    guarantee = "sp.bounds.aligator, on every interval of the cover"

    def __init__(self, domain: Domain) -> None:
        box = enclosing_box(arguments.domain(domain))
        width = box.upper - box.lower
        self.rate = 1 / (2 * np.where(width > 0, width, np.inf) ** 2)
        """alpha of each coordinate, shape ``(d,)``."""
        super().__init__(domain)

    def _start(self) -> AligatorState:
        return self._with_new_intervals(
            AligatorState(0, np.zeros((0, self.domain.dim)), np.zeros((0, self.domain.dim)))
        )

    def _check_state(self, new: AligatorState) -> None:
        super()._check_state(new)
        if len(new.totals) != (new.rounds + 1).bit_length():
            raise damaged(f"state has {len(new.totals)} intervals after {new.rounds} rounds")

    def _with_new_intervals(self, now: AligatorState) -> AligatorState:
        """Return the state with empty rows for the intervals that begin with the coming round."""
        t = now.rounds + 1
        rows = t.bit_length()
        grown = np.zeros((rows - len(now.totals), self.domain.dim))
        totals, log_weights = (
            np.vstack([now.totals, grown]),
            np.vstack([now.log_weights, grown]),
        )
        begins = [k for k in range(rows) if t % 2**k == 0]
        totals[begins], log_weights[begins] = 0.0, 0.0
        return AligatorState(now.rounds, totals, log_weights)

    def _means(self, now: AligatorState) -> Matrix:
        t = now.rounds + 1
        ages = np.array([t % 2**k for k in range(len(now.totals))])[:, None]
        return np.asarray(np.where(ages > 0, now.totals / np.maximum(ages, 1), self.domain.center))

    def _weights(self, log_weights: Matrix) -> Matrix:
        raw = np.exp(log_weights - log_weights.max(axis=0))
        return np.asarray(raw / raw.sum(axis=0))

    def _decide(self, now: AligatorState) -> Vector:
        return np.array(
            self.domain.project((self._weights(now.log_weights) * self._means(now)).sum(axis=0))
        )

    def _advance(self, now: AligatorState, loss: ObservedLoss) -> AligatorState:
        targets = target_of(loss, self._decide(now), self.domain)
        losses = self.rate * (self._means(now) - targets) ** 2
        least = losses.min(axis=0)
        kept = (self._weights(now.log_weights) * np.exp(least - losses)).sum(axis=0)
        log_weights = (
            now.log_weights + least - losses - np.log(kept)
        )  # the sum of the weights stays
        return self._with_new_intervals(
            AligatorState(now.rounds + 1, now.totals + targets, log_weights)
        )

    def _feasible(self, now: AligatorState) -> Array:
        return self._decide(now)
