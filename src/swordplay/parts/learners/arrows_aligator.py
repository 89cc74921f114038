r"""Arrows and Aligator: forecasters of sequences of small total variation, from noisy targets.

The losses are :math:`f_t(x) = \tfrac12 \|x - y_t\|^2`. The targets :math:`y_t` are a sequence plus
noise; decisions are compared with that sequence. Coordinates are handled one by one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.arguments import explain_overflow
from swordplay.core.state import OBSERVED_ROUNDS_RANGE, array, damaged
from swordplay.core.types import Array, Domain, Matrix, Vector
from swordplay.parts.domains import enclosing_box
from swordplay.parts.learners.assumptions import ObservedLoss
from swordplay.parts.learners.learner import UncertifiedLearner

LEVELS = 53
"""Number of block lengths 2^k, enough for fewer than 2^53 targets."""
DEFAULT_BETA = 2.0
"""Default of beta. The threshold of the coefficients is sigma sqrt(beta ln T).

Coefficients of pure noise rarely exceed it. The proof needs a beta of at least 24.
"""
LOSS_TOLERANCE = 1e-6
"""Relative error up to which a gradient counts as x - y, the gradient of the forecasters' loss."""


def target_of(loss: ObservedLoss, decision: Vector, domain: Domain) -> Vector:
    """Return y of a loss 0.5 norm(x - y)^2, and refuse any other loss."""
    # x - gradient is y at every point if the loss is 0.5 norm(x - y)^2; three points are compared.
    boundary_point = domain.project(domain.center + domain.diameter)
    points = np.stack([decision, domain.center, boundary_point])
    gradients = loss.gradient(points)
    targets = points - gradients
    magnitude = float(np.abs(points).max() + np.abs(gradients).max())
    if np.abs(targets - targets[0]).max() > LOSS_TOLERANCE * magnitude:
        raise ValueError(
            "loss must be 0.5 norm(x - y)^2, whose gradient is x - y: forecasters take the target "
            "y from it. Give sp.QuadraticLoss(numpy.eye(d), y), or in one dimension "
            "sp.SquaredLoss([1.0], y)."
        )
    return np.asarray(targets[0])


class ArrowsState(NamedTuple):
    """State between two rounds: sums of the targets of each coordinate since its last restart.

    The targets since a restart form a bin, divided into blocks of 2^k targets.
    """

    rounds: Annotated[int, OBSERVED_ROUNDS_RANGE]
    last_target: Annotated[Vector, array("dim")]
    """The last target, shape ``(d,)``."""
    counts: Annotated[Vector, array("dim", low=0.0, high=OBSERVED_ROUNDS_RANGE.high, whole=True)]
    """Number of targets in the bin, shape ``(d,)``."""
    totals: Annotated[Vector, array("dim")]
    """Sum of the targets in the bin, shape ``(d,)``."""
    waiting_sums: Annotated[Matrix, array("dim", LEVELS)]
    """Shape ``(d, LEVELS)``: sums of the targets in the blocks that wait.

    Column k: the sum of the block of 2^k targets that waits for a second block of its length, 0 if
    none waits.
    """
    coefficient_sums: Annotated[Matrix, array("dim", LEVELS, low=0.0)]
    """Shape ``(d, LEVELS)``: sums of the shrunken Haar coefficients of complete blocks.

    Column k belongs to the blocks of 2^(k+1) targets.
    """


@final
class Arrows(UncertifiedLearner):
    r"""The mean of the targets since the last restart; restarts if Haar coefficients show a change.

    The targets since the last restart form a bin. Their mean is subtracted, and zeros are appended
    up to a power of two. Let :math:`\hat\alpha` be the Haar coefficients of the result, each moved
    towards 0 by :math:`\sigma \sqrt{\beta \ln T}`. The bin restarts if :math:`\sum_l 2^{l/2}
    \|\hat\alpha[l]\|_1 > \sigma`, with the levels l counted from the coarsest. The decision in the
    first round of a bin is the last target. The total squared error is of order :math:`T^{1/3}
    C^{2/3} \sigma^{4/3}` for targets around a sequence of total variation C.

    Parameters
    ----------
    domain
        X, the set of decisions.
    noise
        :math:`\sigma`, standard deviation of the targets around the sequence.
    horizon
        T, the number of rounds that will be played.
    threshold
        Factor :math:`\beta` in the threshold :math:`\sigma \sqrt{\beta \ln T}`. The order above
        is proved for :math:`\beta \ge 24`; with the default of 2 the bin restarts more readily, and
        the order is not proved.

    References
    ----------
    Baby and Wang (2019), "Online forecasting of total-variation-bounded sequences".
    """

    guarantee = "of order T^(1/3) C^(2/3) sigma^(4/3)"

    @explain_overflow
    def __init__(
        self, domain: Domain, *, noise: float, horizon: int, threshold: float = DEFAULT_BETA
    ) -> None:
        self.noise = arguments.positive("noise", noise)
        beta = arguments.positive("threshold", threshold)
        self.coefficient_threshold = self.noise * math.sqrt(
            beta * math.log(max(arguments.integer("horizon", horizon), 2))
        )
        """sigma sqrt(beta ln T), by which every coefficient is moved towards 0."""
        super().__init__(arguments.domain(domain))

    def settings(self) -> Mapping[str, Any]:
        """Return the settings that are saved with a state and compared when it is loaded."""
        return {
            **super().settings(),
            "noise": self.noise,
            "coefficient_threshold": self.coefficient_threshold,
        }

    def _start(self) -> ArrowsState:
        d = self.domain.dim
        return ArrowsState(
            0,
            np.array(self.domain.center),
            counts=np.zeros(d),
            totals=np.zeros(d),
            waiting_sums=np.zeros((d, LEVELS)),
            coefficient_sums=np.zeros((d, LEVELS)),
        )

    def _decide(self, state: ArrowsState) -> Vector:
        mean = state.totals / np.maximum(state.counts, 1)
        return np.array(self.domain.project(np.where(state.counts > 0, mean, state.last_target)))

    def _advance(self, state: ArrowsState, loss: ObservedLoss) -> ArrowsState:
        targets = target_of(loss, self._decide(state), self.domain)
        bins = [self._with_target(state, j, float(y)) for j, y in enumerate(targets)]
        # from one tuple per coordinate to one array per field
        fields = (np.array(field) for field in zip(*bins, strict=True))
        return ArrowsState(state.rounds + 1, targets, *fields)

    def _with_target(
        self, state: ArrowsState, j: int, y: float
    ) -> tuple[float, float, Vector, Vector]:
        """Return the bin of coordinate j with the target y added, or an empty bin at a restart.

        A bin is its entries of counts, totals, waiting_sums and coefficient_sums in
        :class:`ArrowsState`.
        """
        count, total = int(state.counts[j]) + 1, float(state.totals[j]) + y
        waiting_sums = state.waiting_sums[j].copy()
        coefficient_sums = state.coefficient_sums[j].copy()
        # As a binary counter carries, two blocks of 2^level targets are merged to 2^(level+1).
        merged_sum, level = y, 0
        while ((count - 1) >> level) & 1:
            coefficient_sums[level] += self._shrunken(waiting_sums[level] - merged_sum, level)
            merged_sum, waiting_sums[level] = merged_sum + waiting_sums[level], 0.0
            level += 1
        waiting_sums[level] = merged_sum
        if self._shows_change(count, total / count, waiting_sums, coefficient_sums):
            return 0.0, 0.0, np.zeros(LEVELS), np.zeros(LEVELS)
        return float(count), total, waiting_sums, coefficient_sums

    def _shows_change(
        self, count: int, mean: float, waiting_sums: Vector, coefficient_sums: Vector
    ) -> bool:
        """Return whether sum_l 2^(l/2) norm(alpha-hat[l])_1 > sigma for a bin of ``count`` targets.

        ``coefficient_sums`` has the coefficients of complete blocks, which do not change when the
        mean is subtracted. At each level at most one further block is incomplete, that is, padded
        with zeros:

        - if a block waits at this level, it is the left half, and the right half has the targets of
          finer levels, then zeros;
        - otherwise the left half has the targets of finer levels, then zeros, and the right half is
          0.
        """
        depth = (count - 1).bit_length()  # the padded bin has 2^depth entries
        weighted_sum = 0.0
        tail_sum, tail_count = 0.0, 0  # of the targets in waiting blocks of finer levels
        for level in range(depth):
            coefficient_sum = coefficient_sums[level]  # norm(alpha-hat[l])_1, l = depth - 1 - level
            has_waiting_block = bool((count >> level) & 1)
            centered_tail = tail_sum - tail_count * mean
            if has_waiting_block:
                centered_block = waiting_sums[level] - 2.0**level * mean
                coefficient_sum += self._shrunken(centered_block - centered_tail, level)
                tail_sum, tail_count = tail_sum + waiting_sums[level], tail_count + 2**level
            elif tail_count:
                coefficient_sum += self._shrunken(centered_tail, level)
            weighted_sum += 2.0 ** ((depth - 1 - level) / 2) * coefficient_sum
        return weighted_sum > self.noise

    def _shrunken(self, difference: float, level: int) -> float:
        """Return the magnitude of the Haar coefficient of a block of 2^(level+1) targets, shrunken.

        ``difference`` is the sum of its left half minus that of its right half.
        """
        return max(
            abs(difference) / math.sqrt(2.0 ** (level + 1)) - self.coefficient_threshold, 0.0
        )

    def _points_to_check(self, state: ArrowsState) -> Array:
        return self._decide(state)

    def _check_state(self, new_state: ArrowsState) -> None:
        super()._check_state(new_state)
        if (new_state.counts > new_state.rounds).any():
            raise damaged("state['counts'] must not exceed the rounds")


class AligatorState(NamedTuple):
    """State between two rounds; row k belongs to the interval of 2^k rounds."""

    rounds: Annotated[int, OBSERVED_ROUNDS_RANGE]
    totals: Annotated[Matrix, array("intervals", "dim")]
    """Sum of the targets so far in each interval, shape ``(K, d)``."""
    log_weights: Annotated[Matrix, array("intervals", "dim")]
    """ln w_k of each coordinate, shape ``(K, d)``; 0 for an interval that begins."""


@final
class Aligator(UncertifiedLearner):
    r"""Running means on the intervals of a geometric cover, under a sleeping-experts average.

    .. math:: x_t = \sum_k p_k \bar y_k, \qquad w_k \leftarrow w_k\, e^{-\alpha (\bar y_k - y_t)^2}
        \frac{\sum_j w_j}{\sum_j w_j e^{-\alpha (\bar y_j - y_t)^2}}, \qquad \alpha = \frac{1}{2
        b^2}

    in each coordinate, over the intervals k that contain round t. :math:`\bar y_k` is the mean of
    the targets in interval k before round t, :math:`p_k = w_k / \sum_j w_j`, and b the width of the
    domain in that coordinate. An interval begins with a weight of 1 and with the domain's centre as
    its mean. No constant has to be given. The total squared error is of order :math:`T^{1/3}
    C^{2/3}` for targets around a sequence of total variation C.

    Parameters
    ----------
    domain
        X, the set of decisions, in which targets are expected.

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

    def _check_state(self, new_state: AligatorState) -> None:
        super()._check_state(new_state)
        if len(new_state.totals) != (new_state.rounds + 1).bit_length():
            raise damaged(
                f"state has {len(new_state.totals)} intervals after {new_state.rounds} rounds"
            )

    def _with_new_intervals(self, state: AligatorState) -> AligatorState:
        """Return the state with empty rows for the intervals that begin with the coming round."""
        t = state.rounds + 1
        rows = t.bit_length()
        added_rows = np.zeros((rows - len(state.totals), self.domain.dim))
        totals = np.vstack([state.totals, added_rows])
        log_weights = np.vstack([state.log_weights, added_rows])
        starting_rows = [k for k in range(rows) if t % 2**k == 0]
        totals[starting_rows], log_weights[starting_rows] = 0.0, 0.0
        return AligatorState(state.rounds, totals, log_weights)

    def _means(self, state: AligatorState) -> Matrix:
        """Return the mean of the targets so far in each interval, shape ``(K, d)``."""
        t = state.rounds + 1
        ages = np.array([t % 2**k for k in range(len(state.totals))])[:, None]
        return np.asarray(
            np.where(ages > 0, state.totals / np.maximum(ages, 1), self.domain.center)
        )

    def _weights(self, log_weights: Matrix) -> Matrix:
        """Return p_k = w_k / sum_j w_j of each coordinate, shape ``(K, d)``."""
        weights = np.exp(log_weights - log_weights.max(axis=0))
        return np.asarray(weights / weights.sum(axis=0))

    def _decide(self, state: AligatorState) -> Vector:
        return np.array(
            self.domain.project((self._weights(state.log_weights) * self._means(state)).sum(axis=0))
        )

    def _advance(self, state: AligatorState, loss: ObservedLoss) -> AligatorState:
        targets = target_of(loss, self._decide(state), self.domain)
        losses = self.rate * (self._means(state) - targets) ** 2
        least = losses.min(axis=0)
        # sum_j p_j e^(least - loss_j): dividing by it keeps the sum of the weights unchanged.
        normalizer = (self._weights(state.log_weights) * np.exp(least - losses)).sum(axis=0)
        log_weights = state.log_weights + least - losses - np.log(normalizer)
        return self._with_new_intervals(
            AligatorState(state.rounds + 1, state.totals + targets, log_weights)
        )

    def _points_to_check(self, state: AligatorState) -> Array:
        return self._decide(state)
