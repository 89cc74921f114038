"""The state of intervals: a named tuple of arrays for the kernel, and the ranges of saved ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from swordplay.core import arguments, state
from swordplay.core.state import COUNT, Field, check
from swordplay.core.types import Array, Matrix, State, Vector
from swordplay.intervals import layout
from swordplay.intervals.given import MOST

FARTHEST = 1e63
"""Residuals are differences of numbers of 1e60 at the most.

Coefficients are sums of some of their shares.
"""
VAST = 1e300
STEEP = 1e200
"""Radii are scores, of 1e12 at the most; what is owed is a sum of some of their multiples."""
SIZE, PLACE = Field(0.0, FARTHEST), Field(-FARTHEST, FARTHEST)
RANGES = {
    "location": PLACE,
    "spread": PLACE,
    "bins": PLACE,
    "losses": Field(0.0, layout.LARGEST_LOSS * layout.MEMORY * (1.0 + 1e-9)),
    "radii": Field(0.0, STEEP),
    "debts": Field(0.0, VAST),
    "balances": Field(-layout.LIMIT - 1.0 - MOST, layout.LIMIT + 1.0 + MOST),
    "centers": PLACE,
    "spreads": SIZE,
    "counts": COUNT,
}
"""What the entries of a saved state may hold."""
LIVE_RANGES = (
    ("rows", slice(layout.ROWS, layout.ROWS + 1), COUNT),
    ("last residual", slice(layout.LAST, layout.LAST + 1), PLACE),
    ("usual size", slice(layout.TYPICAL, layout.TYPICAL + 1), SIZE),
    ("sizes of late", slice(layout.LATE, layout.SCORE), SIZE),
    ("scores", slice(layout.SCORE, layout.LARGEST), Field(0.0, layout.LARGEST_RAW_SCORE)),
    ("largest residual", slice(layout.LARGEST, layout.TRUTH), SIZE),
    ("last truth", slice(layout.TRUTH, layout.HASTE), PLACE),
    ("haste", slice(layout.HASTE, layout.LIVE), Field(0.0, 100.0)),
)


class Memory(NamedTuple):
    """The arrays of the layout, then what is known of the forecasts and of the caller's columns
    (see ``engine.column_stats``).
    """

    live: Vector
    location: Array
    spread: Array
    bins: Array
    losses: Array
    radii: Matrix
    debts: Matrix
    balances: Vector
    centers: Vector
    spreads: Vector
    counts: Vector
    first: Matrix
    """The first values of each column, sorted."""

    @classmethod
    def fresh(cls, levels: int, columns: int) -> Memory:
        """The arrays before the first row."""
        from swordplay.engine.column_stats import WARM_UP  # numba is imported with the first row

        shape = layout.SETS, layout.OWN + columns, layout.STEPS
        numbers = np.zeros(layout.LIVE)
        numbers[layout.HASTE] = layout.NARROWING
        return cls(
            live=numbers,
            location=np.zeros(shape),
            spread=np.zeros(shape),
            bins=np.zeros((2, columns, layout.BINS, layout.STEPS)),
            losses=np.zeros((2, layout.SETS + 1, layout.STEPS)),
            radii=np.zeros((levels, layout.STEPS)),
            debts=np.zeros((levels, layout.STEPS)),
            balances=np.zeros(levels),
            centers=np.zeros(1 + columns),
            spreads=np.zeros(1 + columns),
            counts=np.zeros(1 + columns),
            first=np.zeros((WARM_UP, 1 + columns)),
        )

    @property
    def columns(self) -> int:
        """How many columns the caller gives."""
        return len(self.centers) - 1

    def widened(self, columns: int) -> Memory:
        """The same knowledge with room for more columns, behind the others."""
        new = Memory.fresh(len(self.balances), columns)
        for name in ("centers", "spreads", "counts"):
            getattr(new, name)[: len(self.centers)] = getattr(self, name)
        new.first[:, : len(self.centers)] = self.first
        for name in ("location", "spread"):
            getattr(new, name)[:, : layout.OWN + self.columns] = getattr(self, name)
        new.bins[:, : self.columns] = self.bins
        return new._replace(
            live=self.live,
            losses=self.losses,
            radii=self.radii,
            debts=self.debts,
            balances=self.balances,
        )

    def copied(self) -> Memory:
        """Arrays of its own."""
        return Memory(*(array.copy() for array in self))

    def state(self) -> State:
        """All of it by name; copies."""
        return state.save(self)

    @classmethod
    def of_state(cls, saved: Mapping[str, Any], levels: int) -> Memory:
        """What was saved, checked: kernels trust their numbers.

        Raises
        ------
        ValueError
            If an entry is missing, of another shape, or holds a number that no rows lead to.
        """
        columns = state.length("centers", saved) - 1
        if not 0 <= columns <= np.size(saved.get("location", ())):  # room is made for so many
            raise ValueError(
                f"state['centers'] has {columns} columns, and there are coefficients for others. "
                f"{state.DAMAGED}"
            )
        memory = state.load(cls.fresh(levels, columns), saved)
        for name, allowed in RANGES.items():
            check(name, getattr(memory, name), allowed)
        require_live("live", memory.live)
        require_first("first", memory.first, memory.counts)
        return memory


def require_live(name: str, live: Array) -> None:
    """Refuse numbers about residuals, shape ``(..., LIVE)``, that no rows lead to."""
    for which, where, allowed in LIVE_RANGES:
        check(f"{name}: {which}", live[..., where], allowed)
    usual = live[..., layout.SCORE]
    check(
        f"{name}: usual score",
        usual[usual != 0.0],
        Field(layout.SMALLEST_SCORE, layout.LARGEST_RAW_SCORE),
    )


def require_first(name: str, first: Array, counts: Array) -> None:
    """The same of the first values of columns, of which so many were seen.

    A mark says that a column is past them.
    """
    from swordplay.engine.column_stats import (  # numba is imported with the first row
        SETTLED,
        WARM_UP,
    )

    marked = (first == SETTLED) & (counts >= WARM_UP)
    check(name, np.where(marked, 0.0, first), Field(-arguments.LARGEST, arguments.LARGEST))
