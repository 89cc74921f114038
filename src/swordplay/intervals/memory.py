"""The state of intervals: a named tuple of arrays for the kernel, and the ranges of saved ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np

from swordplay.core import arguments, state
from swordplay.core.state import MAX_ROUNDS, ROUND_COUNT, Field, array, check
from swordplay.core.types import Array, Matrix, State, Vector
from swordplay.intervals import layout
from swordplay.intervals.given import MOST

FARTHEST = 1e63
"""Residuals are differences of numbers up to 1e60; coefficients are sums of shares of residuals."""
MAX_RADIUS = 1e200
"""Radii are scores, up to 1e12; debts are sums of multiples of radii."""
LIMIT = layout.LIMIT + 1.0 + MOST
"""Largest balance of a level, while up to ``MOST`` truths are late."""
SIZE, PLACE = Field(0.0, FARTHEST), Field(-FARTHEST, FARTHEST)
LIVE_RANGES = (
    ("rows", slice(layout.ROWS, layout.ROWS + 1), ROUND_COUNT),
    ("last residual", slice(layout.LAST, layout.LAST + 1), PLACE),
    ("usual size", slice(layout.TYPICAL, layout.TYPICAL + 1), SIZE),
    ("sizes of late", slice(layout.LATE, layout.SCORE), SIZE),
    ("scores", slice(layout.SCORE, layout.LARGEST), Field(0.0, layout.LARGEST_RAW_SCORE)),
    ("largest residual", slice(layout.LARGEST, layout.TRUTH), SIZE),
    ("last truth", slice(layout.TRUTH, layout.HASTE), PLACE),
    ("haste", slice(layout.HASTE, layout.LIVE), Field(0.0, 100.0)),
)
"""Names, places and ranges of the numbers in ``live``."""


class Memory(NamedTuple):
    """The state of intervals: arrays of ``layout``, then those of a scaler (``column_stats``)."""

    live: Annotated[Vector, array(layout.LIVE)]
    location: Annotated[
        Array, array(layout.SETS, "width", layout.STEPS, low=-FARTHEST, high=FARTHEST)
    ]
    spread: Annotated[
        Array, array(layout.SETS, "width", layout.STEPS, low=-FARTHEST, high=FARTHEST)
    ]
    bins: Annotated[
        Array, array(2, "columns", layout.BINS, layout.STEPS, low=-FARTHEST, high=FARTHEST)
    ]
    losses: Annotated[
        Array,
        array(
            2,
            layout.SETS + 1,
            layout.STEPS,
            low=0.0,
            high=layout.LARGEST_LOSS * layout.MEMORY * (1.0 + 1e-9),  # with rounding
        ),
    ]
    radii: Annotated[Matrix, array("levels", layout.STEPS, low=0.0, high=MAX_RADIUS)]
    debts: Annotated[Matrix, array("levels", layout.STEPS, low=0.0)]
    balances: Annotated[Vector, array("levels", low=-LIMIT, high=LIMIT)]
    centers: Annotated[Vector, array("scaled", low=-FARTHEST, high=FARTHEST)]
    """Of the forecasts, then of the caller's columns."""
    spreads: Annotated[Vector, array("scaled", low=0.0, high=FARTHEST)]
    counts: Annotated[Vector, array("scaled", low=0.0, high=MAX_ROUNDS, whole=True)]
    first: Annotated[Matrix, array("first values", "scaled")]
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
        """Number of the caller's columns."""
        return len(self.centers) - 1

    def widened(self, columns: int) -> Memory:
        """A copy with more columns, behind the others."""
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
        """A copy with arrays of its own."""
        return Memory(*(each.copy() for each in self))

    def state(self) -> State:
        """Copies of all arrays by name."""
        return state.save(self)

    @classmethod
    def of_state(cls, saved: Mapping[str, Any], levels: int) -> Memory:
        """Check and make a saved state: kernels trust its numbers.

        Raises
        ------
        ValueError
            If an entry is missing, of another shape, or out of its range.
        """
        from swordplay.engine.column_stats import WARM_UP  # imports numba, which is slow

        columns = state.axis_length("centers", saved) - 1
        sizes = {
            "levels": levels,
            "columns": columns,
            "width": layout.OWN + columns,
            "scaled": 1 + columns,
            "first values": WARM_UP,
        }
        memory = state.load(cls, saved, sizes)
        check_live("live", memory.live)
        check_first("first", memory.first, memory.counts)
        return memory


def check_live(name: str, live: Array) -> None:
    """Check numbers about residuals, shape ``(..., LIVE)``."""
    for which, where, allowed in LIVE_RANGES:
        check(f"{name}: {which}", live[..., where], allowed)
    usual = live[..., layout.SCORE]
    check(
        f"{name}: usual score",
        usual[usual != 0.0],
        Field(layout.SMALLEST_SCORE, layout.LARGEST_RAW_SCORE),
    )


def check_first(name: str, first: Array, counts: Array) -> None:
    """Check the first values of columns, of which ``counts`` were seen.

    ``SETTLED`` marks a column that no longer needs them.
    """
    from swordplay.engine.column_stats import (  # numba is imported with the first row
        SETTLED,
        WARM_UP,
    )

    marked = (first == SETTLED) & (counts >= WARM_UP)
    check(
        name, np.where(marked, 0.0, first), Field(-arguments.LARGEST_INPUT, arguments.LARGEST_INPUT)
    )
