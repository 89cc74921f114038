"""Intervals for rows that are asked before the targets of earlier rows are known.

What the kernel learns holds for the next row: how large the last residual was, which of many quick
experts was right. If a hundred rows are asked before the first of their targets arrives, intervals
made of it are too narrow. And as misses are counted a hundred rows late, the balance would swing
between its limits, with infinite intervals most of the time.

So once targets arrive late, and enough of them are known, the interval of a row is the plain
quantile of the last residuals whose targets arrived late: these contain all that makes an early
prediction worse. The balance of misses widens and narrows it as in the kernel, with limits that are
farther apart by LIMIT_PER_ROW for each row that targets are late on average.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np

from swordplay.core.state import array, damaged, load, number
from swordplay.core.types import Array, State, Vector
from swordplay.intervals.layout import BALANCE_CURVATURE, BALANCE_GAIN, BALANCE_LIMIT

MAX_SIZES = 1000
"""Sizes of late residuals that are kept."""
LATENESS_PACE = 0.01
"""Weight of the newest delay in the mean lateness."""
LATE_ROWS = 0.5
"""Targets count as late from this mean lateness on."""
MIN_LATENESS = 0.001
"""A mean lateness below this becomes 0."""
LIMIT_PER_ROW = 2.0
"""Growth of the limit of the balance for each row of mean lateness."""


class SavedLateTruths(NamedTuple):
    """Saved form of :class:`LateTruths`."""

    lateness: Annotated[float, number(0.0, 1e15)]
    sizes: Annotated[Vector, array("sizes", low=0.0, high=1e63)]


class LateTruths:
    """Mean lateness of targets, and the sizes of residuals whose targets arrived late.

    The lateness of a row is the number of targets that were learned between its interval and its
    own target.
    """

    def __init__(self, lateness: float = 0.0, sizes: Vector | None = None) -> None:
        self.lateness = lateness
        """Exponential mean of the lateness of rows."""
        self.sizes: Vector = np.empty(0) if sizes is None else sizes
        """Sizes of late residuals, the oldest first."""
        self._sorted: Vector | None = None

    @property
    def limit(self) -> float:
        """Balance at which intervals become infinite."""
        return float(_limit(self.lateness))

    def is_active(self, alphas: Vector) -> bool:
        """Whether targets are late, and enough sizes are known for the widest interval."""
        widest = float(alphas[-1])
        return self.lateness >= LATE_ROWS and _rank(widest, len(self.sizes)) <= len(self.sizes)

    def learn(
        self, late: Vector, residuals: Vector, missed: Any, alphas: Vector, balances: Vector
    ) -> Vector:
        """Learn rows in the order of their targets.

        Parameters
        ----------
        late
            Lateness of each row, shape ``(T,)``.
        residuals
            Target minus prediction, shape ``(T,)``.
        missed
            Whether the target is outside each interval, shape ``(T, levels)``.
        alphas
            Share of misses that each level allows.
        balances
            Balance of each level before these rows.

        Returns
        -------
        Vector
            The balances after these rows, by the rule of the kernel with the limit of each row.
        """
        means = self._means(late)
        is_late = (late > 0.0) | (means[1:] >= LATE_ROWS)
        lower_limits = -_limit(means[:-1])
        after = [
            _balance_after(balance, alpha, outside, lower_limits)
            for balance, alpha, outside in zip(
                balances.tolist(), alphas.tolist(), np.transpose(missed), strict=True
            )
        ]
        self.lateness = float(means[-1])
        self.sizes = np.concatenate([self.sizes, np.abs(residuals[is_late])])[-MAX_SIZES:]
        self._sorted = None
        return np.array(after)

    def _means(self, late: Vector) -> Vector:
        """Mean lateness before all rows and after each, shape ``(T + 1,)``."""
        mean = self.lateness
        means = [mean]
        # In Python, one after the other: numpy has no sum with the same rounding.
        for rows in late.tolist():
            mean += LATENESS_PACE * (rows - mean)
            if mean < MIN_LATENESS:
                mean = 0.0
            means.append(mean)
        return np.array(means)

    def bounds(self, predictions: Vector, alphas: Vector, balances: Vector) -> Array:
        """Return intervals of rows that are asked together, shape ``(T, levels, 2)``.

        An infinite interval cannot be missed, and a point hardly ever contains its target, so
        both are counted here as soon as they are given: of many rows that are asked together, only
        as many get one as the balance requires.
        """
        if self._sorted is None:
            self._sorted = np.sort(self.sizes)
        radii = np.empty((len(predictions), len(alphas)))
        for i, (alpha, balance) in enumerate(zip(alphas.tolist(), balances.tolist(), strict=True)):
            size = float(self._sorted[_rank(alpha, len(self._sorted)) - 1])
            for t in range(len(predictions)):
                radii[t, i] = _radius(size, balance / self.limit)
                if radii[t, i] == math.inf:
                    balance -= alpha
                elif balance <= -self.limit:
                    balance += 1.0 - alpha
                else:  # the outcome of this row is open, so the rest get the same radius
                    radii[t:, i] = radii[t, i]
                    break
        radii = np.maximum.accumulate(radii, axis=1)  # wider levels contain narrower ones
        return np.stack([predictions[:, None] - radii, predictions[:, None] + radii], axis=2)

    def state(self) -> State:
        """Return lateness and sizes; nothing if no target was late."""
        return {"lateness": self.lateness, "sizes": self.sizes.copy()} if self.lateness else {}

    @classmethod
    def from_state(cls, saved: Mapping[str, Any]) -> LateTruths:
        """Check what :meth:`state` returned, and make the object again.

        Raises
        ------
        ValueError
            If an entry is missing, of another shape or out of its range.
        """
        if not saved:
            return cls()
        lateness, sizes = load(SavedLateTruths, saved, prefix="late.")
        if len(sizes) > MAX_SIZES:
            raise damaged(
                f"state['late.sizes'] must hold at most {MAX_SIZES} numbers, got {len(sizes)}"
            )
        return cls(lateness, sizes)


def _balance_after(balance: float, alpha: float, missed: Any, lower_limits: Vector) -> float:
    """Balance of a level after rows; a hit at or below the lower limit of its row changes nothing.

    The array code below computes this loop up to the first such hit::

        for outside, limit in zip(missed, lower_limits):
            if outside:
                balance += 1.0 - alpha
            elif balance > limit:
                balance -= alpha
    """
    steps = np.where(missed, 1.0 - alpha, -alpha)
    # accumulate adds one number after the other, as the loop does; a sum would round differently
    balances = np.add.accumulate(np.concatenate([[balance], steps]))
    is_free = ~missed & (balances[:-1] <= lower_limits)
    if not is_free.any():
        return float(balances[-1])
    first = int(is_free.argmax())
    balance = float(balances[first])
    for outside, limit in zip(missed[first:].tolist(), lower_limits[first:].tolist(), strict=True):
        if outside:
            balance += 1.0 - alpha
        elif balance > limit:
            balance -= alpha
    return balance


def _limit(lateness: Any) -> Any:
    """Limit of the balance at a mean lateness, a number or an array."""
    return BALANCE_LIMIT + LIMIT_PER_ROW * lateness


def _rank(alpha: float, count: int) -> int:
    """Rank (from 1) of the sorted size that a share alpha of the next ones exceeds.

    It is that of split conformal prediction; above ``count`` there is no such size yet.
    """
    return math.ceil((1.0 - alpha) * (count + 1))


def _radius(size: float, near: float) -> float:
    """Half the width of an interval, for a balance of ``near`` times its limit."""
    if near >= 1.0:
        return math.inf
    if near <= -1.0:
        return 0.0
    response = BALANCE_GAIN * BALANCE_LIMIT * near * (1.0 + BALANCE_CURVATURE * near * near)
    return max(size * (1.0 + response), 0.0)
