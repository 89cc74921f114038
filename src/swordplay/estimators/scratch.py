"""Arrays that compiled calls write into on their way from rows to scores."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from swordplay.core.types import Matrix, Vector
from swordplay.estimators.scaler import Locator, Scaler
from swordplay.estimators.tuning import CURVATURES, REACH, SMALLEST_NORM, THRESHOLDS, LossName

if TYPE_CHECKING:
    from swordplay.engine.stack import LearnerStack

NONE_MISSING: Matrix = np.empty((0, 0))
"""Where columns lie, for rows of which no entry is missing: nobody asks."""


LINE = 8
"""Doubles of a line of the cache."""


class Scratch(NamedTuple):
    """Arrays that a compiled call writes on its way from rows to predictions.

    Those of one row are made once and kept.
    """

    scaled: Matrix
    norms: Vector
    rounds: Matrix
    """Where the target lies and what is planned, ``(T, 6)`` (see ``engine.row_rounds``)."""
    goals: Matrix
    stack: Any
    """The arrays of all heads."""
    predictions: Matrix
    middles: Matrix = NONE_MISSING
    """Where each column lay before each row, ``(T, d)``, if any entry was missing."""

    @property
    def where(self) -> Matrix:
        """Centre, spread and largest spread so far of the target before each row, ``(T, 3)``."""
        return self.rounds[:, :3]

    def part(self, first: int, stop: int) -> Self:
        """Some of the rows; where columns lay is left out."""
        rows = slice(first, stop)
        return type(self)(
            scaled=self.scaled[rows],
            norms=self.norms[rows],
            rounds=self.rounds[rows],
            goals=self.goals[:, rows],
            stack=self.stack,
            predictions=self.predictions[:, rows],
        )

    @classmethod
    def make(cls, count: int, width: int, stack: LearnerStack) -> Self:
        """For so many rows of this width, once scaled, and all heads of a stack."""
        return cls(
            scaled=np.empty((count, width)),
            norms=np.empty(count),
            rounds=np.empty((count, 6)),
            goals=np.empty((len(stack), count)),
            stack=stack.arrays,
            predictions=np.empty((len(stack), count)),
        )


Beside = Callable[[Scratch, Vector], None]
"""Somebody who learns from the same scaled rows as the heads: is handed what was written for
some rows, and their targets.
"""


class Plans:
    """Weights and thresholds of the losses of rows that heads learn, in their order."""

    def __init__(self, beside: Beside | None) -> None:
        self._beside, self._parts = beside, list[Matrix]()
        self._middles: list[tuple[int, Matrix]] = []

    def __call__(self, scratch: Scratch, targets: Vector) -> None:
        """Take note of some rows."""
        self._parts.append(scratch.rounds[:, 3:5].copy())
        self._middles.append((len(targets), scratch.middles))
        if self._beside is not None:
            self._beside(scratch, targets)

    @property
    def plan(self) -> Matrix:
        """Of all rows, shape ``(T, 2)``."""
        return (
            self._parts[0]
            if len(self._parts) == 1
            else np.concatenate([np.empty((0, 2)), *self._parts])
        )

    def middles(self, dim: int) -> Matrix:
        """Where each of so many columns lay before each row, shape ``(T, d)``.

        No rows if no entry was missing.
        """
        if not any(len(part) for _, part in self._middles):
            return NONE_MISSING
        answer, start = np.full((sum(count for count, _ in self._middles), dim), np.nan), 0
        for count, part in self._middles:
            wide = min(dim, part.shape[1])
            answer[start : start + len(part), :wide], start = part[:, :wide], start + count
        return answer


class Bench(NamedTuple):
    """What learning or predicting one row needs.

    Made once: making it costs more than the arithmetic.
    """

    raw: Matrix
    """Where the row is written, behind its lags."""
    target: Vector
    scratch: Scratch
    learn: Callable[[], int]
    """The compiled call that learns the row; returns 0 if it would overflow."""
    ask: Callable[[], None]
    """The compiled call that predicts it."""
    answer: Matrix
    """Its scores, shape ``(1, H)``."""


class SecondBench(NamedTuple):
    """What learning or asking one row needs in a second-order layer; made once, too."""

    row: Matrix
    target: Vector
    first: Vector
    """What the first-order model said of a row that is learned,"""
    asked: Vector
    """and of one that is not."""
    plan: Matrix
    answer: Vector
    notes: Matrix
    """What is noted when it is asked,"""
    noted: Matrix
    """and what was, when it is learned late."""
    learn: Any
    learn_late: Any
    ask: Any


def quick(call: functools.partial[Any]) -> Callable[[], Any]:
    """A compiled call whose arguments stay what they are (see ``fixed``).

    Numba is imported with the first one.
    """
    from swordplay.compile import bound_call

    return bound_call(call)


def setting(loss: LossName, radius: float, columns: Scaler, target: Locator) -> Vector:
    """What the compiled plan is told once (see ``engine.row_rounds``)."""
    from swordplay.engine.row_rounds import SETTING

    answer = np.zeros(len(SETTING))
    answer[SETTING.logistic], answer[SETTING.unscaled] = loss == "logistic", not columns.follow
    answer[SETTING.curvature], answer[SETTING.threshold] = CURVATURES[loss], THRESHOLDS[loss]
    answer[SETTING.reach], answer[SETTING.smallest_norm], answer[SETTING.radius] = (
        REACH,
        SMALLEST_NORM,
        radius,
    )
    answer[SETTING.clip], answer[SETTING.clip_target] = columns.clip, target.clip
    return answer


def writable(array: Any) -> Any:
    """Doubles in order that may be written: kernels are compiled for these, and once more for
    any others.
    """
    if (
        type(array) is np.ndarray and array.dtype == np.float64
    ):  # the usual cases; what is asked for below takes ten times as long
        return array if array.flags.carray else array.copy()
    return np.require(array, dtype=np.float64, requirements=["C", "W"])


def aligned(shape: tuple[int, int]) -> Matrix:
    """An array that begins where a line of the cache begins: a vector register is then never
    filled from two lines.
    """
    size = shape[0] * shape[1]
    room = np.empty(size + LINE)
    first = -room.ctypes.data // room.itemsize % LINE
    return room[first : first + size].reshape(shape)
