"""Forecast: predictions of rows whose targets come later, and what learning them late needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from swordplay.core.types import Array, Matrix, Vector


class Forecast(NamedTuple):
    """Predictions of T rows, and what the model knew when it made them.

    When a row's target arrives after those of other rows, the model learns the row with the last
    targets of that earlier time, and every forecast is scored as it was made then.
    """

    scores: Matrix
    """Predictions, shape ``(T, 1)``, or probabilities of K classes, shape ``(T, K)``.

    K is 0 before anything was learned.
    """
    expert_scores: Array
    """Score of the decision and of each of N experts of H heads, shape ``(T, H, 1 + N)``."""
    lags: Matrix
    """Last targets of the first-order model, the newest first, shape ``(T, L)``."""
    notes: Matrix
    """Last targets and forecasts of the second-order layer, shape ``(T, n)``."""
    rounds: Vector
    """Number of rows that the model had learned, shape ``(T,)``."""

    @classmethod
    def empty(cls, count: int) -> Self:
        """Return the forecast of rows by a model that has learned nothing."""
        nothing = np.zeros((count, 0))
        return cls(nothing, np.zeros((count, 0, 0)), nothing, nothing, np.zeros(count))

    def rows(self, places: Any) -> Self:
        """Return the forecast of some rows, given by a slice or by indices."""
        return type(self)(*(array[places] for array in self))

    @classmethod
    def join(cls, parts: Sequence[Self]) -> Self:
        """Return the forecasts of several calls as one.

        Heads that a part did not have yet get scores of 0, which tell no expert from another.
        Classes and lags that it did not have are 0 and NaN. Notes of a layer that was replaced
        since are left out.
        """
        if len(parts) == 1:
            return parts[0]
        scores, expert_scores, lags, notes, rounds = map(list, zip(*parts, strict=True))
        newest = max(parts, key=lambda part: part.rounds.max(initial=-1.0)).notes.shape[1]
        notes = [one if one.shape[1] == newest else np.zeros((len(one), newest)) for one in notes]
        return cls(
            _stack(scores, 0.0),
            _stack(expert_scores, 0.0),
            _stack(lags, np.nan),
            np.concatenate(notes),
            np.concatenate(rounds),
        )

    def ages(self, rounds: int) -> Vector:
        """Return how many rows are learned between each forecast and its row, shape ``(T,)``.

        Rows are learned in this order by a model that has learned ``rounds`` rows.
        """
        return rounds + np.arange(len(self.rounds)) - self.rounds

    def late_scores(self, ages: Vector, heads: slice, experts: int) -> Array:
        """Return what the kernel needs of some heads, shape ``(H, T, 2 + N)``.

        It is the age of each row, then the scores of the decision and of the N experts.
        """
        count = heads.stop - heads.start
        answer = np.zeros((count, len(ages), 2 + experts))
        answer[:, :, 0] = ages
        known = self.expert_scores[:, heads]
        if known.shape[1]:  # else the heads joined since
            answer[: known.shape[1], :, 1:] = known.transpose(1, 0, 2)
        return answer

    def notes_of(self, ages: Vector, width: int) -> Matrix:
        """Return the notes of rows for a layer that keeps so many numbers, 0 for rows of age 0."""
        if self.notes.shape[1] != width:
            return np.zeros((len(ages), width))
        return np.where(ages[:, None] > 0.0, self.notes, 0.0)


def _stack(arrays: Sequence[Array], fill: float) -> Array:
    """Return arrays one behind the other, padded to the largest length of every other axis."""
    shape = np.max([array.shape[1:] for array in arrays], axis=0).astype(int).tolist()
    if all(list(array.shape[1:]) == shape for array in arrays):
        return np.concatenate(arrays)
    answer = np.full((sum(map(len, arrays)), *shape), fill)
    first = 0
    for array in arrays:
        corner = (slice(first, first + len(array)), *map(slice, array.shape[1:]))
        answer[corner], first = array, first + len(array)
    return answer
