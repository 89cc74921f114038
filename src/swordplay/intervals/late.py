"""Truths that come late: intervals of rows that are asked before the truths of the last ones are
known.

What shape and scale learn holds for the next row: how large the last residual was, which of many
quick experts was right. When a hundred rows are asked before the first of their truths comes, that
is stale, and intervals by it are too narrow; misses are counted a hundred rows late, and the
balance would go from one of its limits to the other, with intervals of everything most of the time.
So rows get intervals by the plain quantile of the last residuals whose truths came late, as soon as
there are enough of them: whatever makes a forecast worse by coming early is in these. The balance
widens and narrows them as it does the others, with limits that lie as much farther apart as the
truths are late.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np

from swordplay.core.state import array, damaged, load, number
from swordplay.core.types import Array, State, Vector
from swordplay.intervals.layout import BEND, GAIN, LIMIT

MOST_SIZES = 1000
"""Residuals that are remembered."""
PACE = 0.01
"""How fast the usual lateness follows."""
LATE = 0.5
"""Truths that are later than this on average, in rows that were learned between interval and
truth, come late.
"""
NONE = 0.001
"""A usual lateness below this is none."""
ROOM = 2.0
"""How much farther off the limit of the balance is, for each row that truths are late on
average.
"""


class SavedLate(NamedTuple):
    """How late truths are, in rows, and the sizes of late residuals."""

    lateness: Annotated[float, number(0.0, 1e15)]
    sizes: Annotated[Vector, array("sizes", low=0.0, high=1e63)]


class Late:
    """How late truths come, and how large the residuals were of those that did."""

    def __init__(self, lateness: float = 0.0, sizes: Vector | None = None) -> None:
        self.lateness = lateness
        self.sizes: Vector = np.empty(0) if sizes is None else sizes
        """The oldest first."""
        self._sorted: Vector | None = None

    @property
    def limit(self) -> float:
        """Balance at which intervals become everything."""
        return float(_limit(self.lateness))

    def decides(self, alphas: Vector) -> bool:
        """Whether truths come late, and enough of them are known for the widest interval."""
        return self.lateness >= LATE and bool(
            _rank(float(alphas[-1]), len(self.sizes)) <= len(self.sizes)
        )

    def learn(
        self, late: Vector, residuals: Vector, missed: Any, alphas: Vector, balances: Vector
    ) -> Vector:
        """Truths in their order.

        Returns the balances afterwards, as in ``intervals.integrator`` with this limit.

        Parameters
        ----------
        late, residuals
            How many truths were learned since the interval of each row was given, and its residual,
            shape ``(T,)``.
        missed
            Whether the truth fell outside, shape ``(T, levels)``.
        alphas, balances
            Of the levels.
        """
        known = self._known(late)
        kept = (late > 0.0) | (known[1:] >= LATE)
        least = -_limit(known[:-1])
        outside = np.transpose(missed)
        counted = [
            _counted(*level, least)
            for level in zip(balances.tolist(), alphas.tolist(), outside, strict=True)
        ]
        new = np.abs(residuals[kept])
        self.lateness, self.sizes, self._sorted = (
            float(known[-1]),
            np.concatenate([self.sizes, new])[-MOST_SIZES:],
            None,
        )
        return np.array(counted)

    def _known(self, late: Vector) -> Vector:
        """The usual lateness before all rows and after each, shape ``(T + 1,)``."""
        # Numbers of Python, one after the other: no sum of numpy leads to the same bits.
        usual = first = self.lateness
        known = np.array(
            [first, *[usual := usual + PACE * (rows - usual) for rows in late.tolist()]]
        )
        if known[1:].min() >= NONE:
            return known
        for t, rows in enumerate(
            late.tolist()
        ):  # where it becomes none, the next ones go on from there
            usual = float(known[t])
            usual += PACE * (rows - usual)
            known[t + 1] = 0.0 if usual < NONE else usual
        return known

    def bounds(self, predictions: Vector, alphas: Vector, balances: Vector) -> Array:
        """Intervals of rows that are asked together, shape ``(T, levels, 2)``.

        Rows of everything, which cannot miss, and of the prediction alone, which hardly can hold,
        are counted when they are given: of many rows that are asked together, no more get one than
        the balance asks for.
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
                else:  # nothing is certain of this row, so the others get the same
                    radii[t:, i] = radii[t, i]
                    break
        radii = np.maximum.accumulate(radii, axis=1)  # from the narrowest level to the widest
        return np.stack([predictions[:, None] - radii, predictions[:, None] + radii], axis=2)

    def state(self) -> State:
        """Nothing where no truth was late."""
        return {"lateness": self.lateness, "sizes": self.sizes.copy()} if self.lateness else {}

    @classmethod
    def of_state(cls, saved: Mapping[str, Any]) -> Late:
        """Check and make what :meth:`state` returned.

        Raises
        ------
        ValueError
            If an entry is missing, of another shape or out of its range.
        """
        if not saved:
            return cls()
        lateness, sizes = load(SavedLate, saved, prefix="late.")
        if len(sizes) > MOST_SIZES:
            raise damaged(
                f"state['late.sizes'] must hold at most {MOST_SIZES} numbers, got {len(sizes)}"
            )
        return cls(lateness, sizes)


def _counted(balance: float, alpha: float, missed: Any, least: Vector) -> float:
    """The balance of a level after rows; a hit at or below ``least`` is free."""
    steps = np.where(missed, 1.0 - alpha, -alpha)
    before = np.add.accumulate(
        np.concatenate([[balance], steps])
    )  # one after the other, as long as no hit is free
    free = ~missed & (before[:-1] <= least)
    if not free.any():
        return float(before[-1])
    first = int(free.argmax())
    balance = float(before[first])
    for limit, outside in zip(least[first:].tolist(), missed[first:].tolist(), strict=True):
        if outside:
            balance += 1.0 - alpha
        elif balance > limit:
            balance -= alpha
    return balance


def _limit(lateness: Any) -> Any:
    return LIMIT + ROOM * lateness


def _rank(alpha: float, count: int) -> int:
    """Which of so many sorted residuals a share alpha of the next ones exceeds, as in split
    conformal prediction.
    """
    return math.ceil((1.0 - alpha) * (count + 1))


def _radius(size: float, near: float) -> float:
    """A size, wider or narrower by how near the balance is to its limit (1 or -1)."""
    if near >= 1.0:
        return math.inf
    if near <= -1.0:
        return 0.0
    return max(size * (1.0 + GAIN * LIMIT * near * (1.0 + BEND * near * near)), 0.0)
