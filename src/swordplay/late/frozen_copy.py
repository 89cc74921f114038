"""A frozen copy of a model, made when targets first arrive late; predictions mix both.

A model that is trained once and deployed is such a copy. If the stream has drifted by the time a
target arrives, learning from it may be worse than not learning. So both predictions of a row are
mixed. The share of the model that goes on learning starts at 0 and follows the slope of the loss of
the mixed prediction in that share (docs/theory.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple, Self, final

import numpy as np

from swordplay.core.state import add_prefix, damaged, load, number, save, strip_prefix
from swordplay.core.types import Matrix, State, Vector
from swordplay.estimators.deferred_rows import DeferredRows
from swordplay.late.tickets import PREDICTION, TicketBlock

MIN_TOLD = 1_000
"""Targets that a model has learned before a copy of it is worth keeping."""
SHARE_RATE = 0.25
"""Factor epsilon of the share of the model that goes on learning."""
PRIOR = 0.1
"""Prior weight of that model when both are compared by exponential weights."""
MIN_WEIGHT = 0.001
"""The copy is dropped once exponential weights would give it less than this."""
SQUARED_RATE = 2.0 * math.log(1.0 / PRIOR)
"""Squared learning rate of these weights, times the sum of squared differences."""
DROP_EXPONENT = math.log((1.0 - MIN_WEIGHT) / MIN_WEIGHT * (1.0 - PRIOR) / PRIOR)
"""Minus the exponent at which the copy is dropped."""
MAX_EXPONENT = 50.0
"""Largest exponent in a share."""
MAX_SUM = 1e300
"""Sums over all targets are clipped here."""


class FrozenSums(NamedTuple):
    """Sums over all targets that compare a model with its frozen copy; a change makes new ones.

    Per target: d is the loss of the model minus that of the copy, s minus half the slope of the
    loss of the mixed prediction in the share of the model, m the number of other targets that
    arrived between prediction and target.
    """

    told: Annotated[int, number(0.0, 2.0**50, whole=True)]
    """Targets that the copy had learned."""
    loss_difference: Annotated[float, number(-MAX_SUM, MAX_SUM)] = 0.0
    """Sum of d."""
    squared_differences: Annotated[float, number(0.0, MAX_SUM)] = 0.0
    """Sum of (1/2 + m) d^2: what exponential weights lose to losses that arrive late."""
    slope_sum: Annotated[float, number(-MAX_SUM, MAX_SUM)] = 0.0
    """Sum of s."""
    slope_squares: Annotated[float, number(0.0, MAX_SUM)] = 0.0
    """Sum of (1 + 2 m) s^2."""

    @property
    def share(self) -> float:
        """Share of the copy, 1 - min(1, epsilon x exp(x^2 / 2)) with epsilon = SHARE_RATE.

        x is slope_sum / sqrt(slope_squares); the share is 1 where the slope sum is not positive.
        """
        if self.slope_sum <= 0.0 or not self.slope_squares:
            return 1.0
        x = self.slope_sum / math.sqrt(self.slope_squares)
        growth = math.exp(min(0.5 * x * x, MAX_EXPONENT))
        return 1.0 - min(1.0, SHARE_RATE * x * growth)

    def add(self, differences: Vector, slopes: Vector, late: Vector) -> FrozenSums | None:
        """Return the sums after more targets, one after the other; None if the copy is dropped.

        Parameters
        ----------
        differences, slopes, late
            d, s and m of each target, shape ``(T,)``.
        """
        d, s = differences, slopes
        sums = _running_sum(self.loss_difference, d)
        squares = _running_sum(self.squared_differences, (0.5 + late) * d * d)
        # The weight is below MIN_WEIGHT where rate * abs(sums) > DROP_EXPONENT, with
        # rate^2 = SQUARED_RATE / squares.
        is_far_ahead = sums * sums * SQUARED_RATE > DROP_EXPONENT * DROP_EXPONENT * squares
        if ((sums < 0.0) & is_far_ahead).any():
            return None
        return FrozenSums(
            self.told,
            _clip(sums[-1]),
            _clip(squares[-1]),
            _clip(_running_sum(self.slope_sum, s)[-1]),
            _clip(_running_sum(self.slope_squares, (1.0 + 2.0 * late) * s * s)[-1]),
        )


@final
class FrozenCopy:
    """A copy of a model, and the sums that decide about its share of the predictions.

    Parameters
    ----------
    deferred
        The copy.
    sums
        Comparison with the model that goes on learning.
    """

    def __init__(self, deferred: DeferredRows, sums: FrozenSums) -> None:
        self.deferred = deferred
        self.sums = sums

    @classmethod
    def of(cls, live: DeferredRows, told: int) -> Self:
        """Copy a model as it is now, after ``told`` targets."""
        return cls(_copy(live, live.estimator.state()), FrozenSums(told))

    @staticmethod
    def first_late(late: Vector, told: int) -> int | None:
        """Index of the first target that is late and follows MIN_TOLD others, or None.

        ``told`` is the number of targets before these.
        """
        return next((k for k, m in enumerate(late.tolist()) if m and told + k >= MIN_TOLD), None)

    def scores(
        self, live: DeferredRows, rows: Sequence[Any], table: Matrix, live_scores: Matrix
    ) -> Matrix:
        """Return the scores of rows by the copy, shape ``(T, K)``.

        Labels that it does not know get the probabilities of the live model, ``live_scores``.
        """
        found = self.deferred.frozen_scores(live, rows, table)
        if not live.predicts_labels:
            return found
        places = {label: place for place, label in enumerate(live.labels)}
        scores = live_scores.copy()
        scores[:, [places[label] for label in self.deferred.labels]] = found
        return scores

    def mix(self, live_scores: Matrix, frozen_scores: Matrix) -> Matrix:
        """Return the weighted mean of both predictions; probabilities are normalised."""
        share = self.sums.share
        mixed = (1.0 - share) * live_scores + share * frozen_scores
        if self.deferred.predicts_labels:
            mixed = mixed / mixed.sum(axis=1, keepdims=True)
        return mixed

    def learn(self, block: TicketBlock, answers: Sequence[Any], late: Vector) -> FrozenCopy | None:
        """Compare both by targets; return this copy, or None if it is dropped."""
        sums = self.sums.add(*compare(block, answers), late)
        if sums is None:
            return None
        self.sums = sums
        return self

    def summary_line(self) -> str:
        """Return the line of a summary."""
        return (
            f"  frozen      itself as of answer {self.sums.told:,} has "
            f"{100 * self.sums.share:.0f} % of the say"
        )

    def state(self) -> State:
        """Return the copy and its sums, as named arrays and numbers."""
        return save(self.sums) | add_prefix("model", self.deferred.estimator.state())

    @classmethod
    def from_state(cls, saved: Mapping[str, Any], live: DeferredRows) -> Self:
        """Check what :meth:`state` returned, and make the copy of ``live`` again."""
        model = strip_prefix("model", saved)
        sums = {name: value for name, value in saved.items() if not name.startswith("model.")}
        copy = _copy(live, model)
        if not set(copy.labels) <= set(live.labels):
            raise damaged("the frozen copy knows labels that the model does not know")
        return cls(copy, load(FrozenSums, sums, prefix="frozen."))


def compare(block: TicketBlock, answers: Sequence[Any]) -> tuple[Vector, Vector]:
    """Return d and s of :class:`FrozenSums` for targets of tickets, shape ``(T,)``.

    With targets y, mixed predictions p, live predictions o and frozen ones f:
    d = (y - o)^2 - (y - f)^2 and s = (y - p) (o - f); for labels the sums of these over the
    probabilities, y being 1 for the true label. Both are 0 for a ticket without a frozen copy, and
    for a label that was not known.
    """
    if not block.frozen.shape[2]:
        return np.zeros(len(block)), np.zeros(len(block))
    live, frozen = block.frozen[:, 0], block.frozen[:, 1]
    if block.labels is None:
        y = np.array(answers, dtype=np.float64)
        o, f = live[:, 0], frozen[:, 0]
        d = (y - o) ** 2 - (y - f) ** 2
        s = (y - block.predictions[:, PREDICTION]) * (o - f)
        is_compared = ~np.isnan(o)
    else:
        places = {label: place for place, label in enumerate(block.labels)}
        true = np.array([places.get(answer, -1) for answer in answers])
        is_true = true[:, None] == np.arange(live.shape[1])
        y_of_labels = is_true.astype(np.float64)
        mixed = block.predictions[:, : live.shape[1]]
        d = _sum_of_known((y_of_labels - live) ** 2) - _sum_of_known((y_of_labels - frozen) ** 2)
        s = _sum_of_known((y_of_labels - mixed) * (live - frozen))
        is_compared = (is_true & ~np.isnan(live)).any(axis=1)
    return np.where(is_compared, d, 0.0), np.where(is_compared, s, 0.0)


def _sum_of_known(values: Matrix) -> Vector:
    """Sum of each row without NaN, shape ``(T,)``.

    It is summed one label after the other, so that unknown labels behind the others change no bit.
    """
    return np.asarray(np.add.accumulate(np.where(np.isnan(values), 0.0, values), axis=1)[:, -1])


def _running_sum(start: float, terms: Vector) -> Vector:
    """``start`` plus the first one, two, ... terms, added one after the other.

    The results do not depend on how many terms are added by one call.
    """
    return np.asarray(np.add.accumulate(np.concatenate([[start], terms]))[1:])


def _clip(value: float) -> float:
    return max(-MAX_SUM, min(float(value), MAX_SUM))


def _copy(live: DeferredRows, state: Mapping[str, Any]) -> DeferredRows:
    """Return an estimator of the class of ``live`` with another state."""
    copy: DeferredRows = type(live.estimator).from_state(state).deferred_rows()
    return copy
