"""State of prediction intervals: arrays of the kernel, and intervals that await their targets."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, get_type_hints

import numpy as np

from swordplay.core import state as schema
from swordplay.core.arguments import LARGEST_INPUT
from swordplay.core.state import MAX_ROUNDS, Field, array, check, damaged
from swordplay.core.types import Array, Matrix, State, Vector
from swordplay.intervals.layout import (
    BALANCE_LIMIT,
    BINS,
    EXPERT_SETS,
    FIRST_ROWS,
    MAX_LOSS,
    MAX_RESIDUAL,
    MAX_SCORE,
    MEMORY_ROWS,
    MIN_SCORE,
    OWN_FEATURES,
    RECENT_PACES,
    SCALAR,
    STEPS,
    Scratch,
)

MAX_PENDING = 4096
"""Intervals that are remembered until their targets are learned; older ones are forgotten."""
MAX_QUANTILE = 1e200
"""Quantiles are scores, up to MAX_SCORE, plus steps; their losses are sums of their multiples."""
MAX_BALANCE = BALANCE_LIMIT + 1.0 + MAX_PENDING
"""Largest balance of a level while up to MAX_PENDING targets are late."""
MAX_TOTAL_LOSS = MAX_LOSS * MEMORY_ROWS * (1.0 + 1e-9)
"""Largest discounted sum of losses, with rounding."""


class IntervalState(NamedTuple):
    """Arrays that the kernel reads and changes; the annotations are the ranges of saved values.

    ``width`` is OWN_FEATURES plus the number of the caller's columns; ``inputs`` are the
    predictions followed by these columns.
    """

    scalars: Annotated[Vector, array(len(SCALAR))]
    """Single numbers, by the indices in ``layout.SCALAR``."""
    recent_sizes: Annotated[Vector, array(len(RECENT_PACES), low=0.0, high=MAX_RESIDUAL)]
    """Exponential means of the sizes of clipped residuals, one for each of RECENT_PACES."""
    newest_sizes: Annotated[Vector, array(FIRST_ROWS, low=0.0, high=MAX_RESIDUAL)]
    """Sizes of the last residuals; that of row t is at t % FIRST_ROWS."""
    location: Annotated[
        Array, array(EXPERT_SETS, "width", STEPS, low=-MAX_RESIDUAL, high=MAX_RESIDUAL)
    ]
    """Coefficients of the experts that predict the residual."""
    spread: Annotated[
        Array, array(EXPERT_SETS, "width", STEPS, low=-MAX_RESIDUAL, high=MAX_RESIDUAL)
    ]
    """Coefficients of the experts that predict the distance of the residual from the location."""
    location_bins: Annotated[
        Array, array("columns", BINS, STEPS, low=-MAX_RESIDUAL, high=MAX_RESIDUAL)
    ]
    """Coefficients of the bins of each column, added to the location experts of all features."""
    spread_bins: Annotated[
        Array, array("columns", BINS, STEPS, low=-MAX_RESIDUAL, high=MAX_RESIDUAL)
    ]
    """Coefficients of the bins of each column, added to the spread experts of all features."""
    location_losses: Annotated[Matrix, array(EXPERT_SETS + 1, STEPS, low=0.0, high=MAX_TOTAL_LOSS)]
    """Discounted losses of the location experts; the last set are those that never move."""
    spread_losses: Annotated[Matrix, array(EXPERT_SETS + 1, STEPS, low=0.0, high=MAX_TOTAL_LOSS)]
    """Discounted losses of the spread experts; the last set are those that never move."""
    quantiles: Annotated[Matrix, array("levels", STEPS, low=0.0, high=MAX_QUANTILE)]
    """Estimates of each level's quantile of the scores, one for each step size."""
    quantile_losses: Annotated[Matrix, array("levels", STEPS, low=0.0)]
    """Discounted pinball losses of these estimates."""
    balances: Annotated[Vector, array("levels", low=-MAX_BALANCE, high=MAX_BALANCE)]
    """Misses so far minus those that each level allows."""
    centers: Annotated[Vector, array("inputs", low=-MAX_RESIDUAL, high=MAX_RESIDUAL)]
    """Running centre of each input (``engine.column_stats``)."""
    spreads: Annotated[Vector, array("inputs", low=0.0, high=MAX_RESIDUAL)]
    """Running spread of each input."""
    counts: Annotated[Vector, array("inputs", low=0.0, high=MAX_ROUNDS, whole=True)]
    """Number of known values of each input."""
    first_values: Annotated[Matrix, array("first values", "inputs")]
    """The first values of each input, sorted; WARMED_UP marks those that are no longer needed."""

    @classmethod
    def new(cls, levels: int, columns: int) -> IntervalState:
        """Return the state before the first row."""
        from swordplay.engine.column_stats import WARM_UP  # imports numba, which is slow

        inputs = 1 + columns
        experts = EXPERT_SETS, OWN_FEATURES + columns, STEPS
        return cls(
            scalars=np.zeros(len(SCALAR)),
            recent_sizes=np.zeros(len(RECENT_PACES)),
            newest_sizes=np.zeros(FIRST_ROWS),
            location=np.zeros(experts),
            spread=np.zeros(experts),
            location_bins=np.zeros((columns, BINS, STEPS)),
            spread_bins=np.zeros((columns, BINS, STEPS)),
            location_losses=np.zeros((EXPERT_SETS + 1, STEPS)),
            spread_losses=np.zeros((EXPERT_SETS + 1, STEPS)),
            quantiles=np.zeros((levels, STEPS)),
            quantile_losses=np.zeros((levels, STEPS)),
            balances=np.zeros(levels),
            centers=np.zeros(inputs),
            spreads=np.zeros(inputs),
            counts=np.zeros(inputs),
            first_values=np.zeros((WARM_UP, inputs)),
        )

    @property
    def columns(self) -> int:
        """Number of the caller's columns."""
        return len(self.centers) - 1

    def widened(self, columns: int) -> IntervalState:
        """Return a state with more columns; the new ones are behind the others."""
        inputs, width = len(self.centers), OWN_FEATURES + self.columns
        wide = IntervalState.new(len(self.balances), columns)
        wide.location[:, :width] = self.location
        wide.spread[:, :width] = self.spread
        wide.location_bins[: self.columns] = self.location_bins
        wide.spread_bins[: self.columns] = self.spread_bins
        wide.centers[:inputs] = self.centers
        wide.spreads[:inputs] = self.spreads
        wide.counts[:inputs] = self.counts
        wide.first_values[:, :inputs] = self.first_values
        return self._replace(
            location=wide.location,
            spread=wide.spread,
            location_bins=wide.location_bins,
            spread_bins=wide.spread_bins,
            centers=wide.centers,
            spreads=wide.spreads,
            counts=wide.counts,
            first_values=wide.first_values,
        )

    def state(self) -> State:
        """Return copies of all arrays by name."""
        return schema.save(self)

    @classmethod
    def from_state(cls, saved: Mapping[str, Any], levels: int) -> IntervalState:
        """Check the arrays that :meth:`state` returned, and make the state again.

        Raises
        ------
        ValueError
            If an entry is missing, of another shape, or out of its range.
        """
        from swordplay.engine.column_stats import WARM_UP  # imports numba, which is slow

        columns = schema.axis_length("centers", saved) - 1
        sizes = {
            "levels": levels,
            "columns": columns,
            "width": OWN_FEATURES + columns,
            "inputs": 1 + columns,
            "first values": WARM_UP,
        }
        state = schema.load(cls, saved, sizes)
        check_scalars("scalars", state.scalars)
        check_first_values("first_values", state.first_values, state.counts)
        return state


def new_scratch(columns: int) -> Scratch:
    """Return scratch arrays of the kernel for rows of so many columns."""
    return Scratch(
        row=np.empty(OWN_FEATURES + columns),
        bins=np.empty(columns),
        location_predictions=np.empty((EXPERT_SETS + 1, STEPS)),
        spread_predictions=np.empty((EXPERT_SETS + 1, STEPS)),
        weights=np.empty(STEPS),
    )


SCALAR_FIELDS = {
    name: Field(*hint.__metadata__[0])
    for name, hint in get_type_hints(type(SCALAR), include_extras=True).items()
}
"""Range of each of the scalars, from its declaration in ``layout``."""


def check_scalars(name: str, scalars: Array) -> None:
    """Raise a ValueError unless saved scalars, shape ``(..., len(SCALAR))``, are in range."""
    for place, field in SCALAR_FIELDS.items():
        check(f"{name}: {place}", scalars[..., getattr(SCALAR, place)], field)
    means = scalars[..., SCALAR.mean_score]  # the kernel divides by it unless it is 0
    check(f"{name}: mean_score", means[means != 0.0], Field(MIN_SCORE, MAX_SCORE))


def check_first_values(name: str, first_values: Array, counts: Array) -> None:
    """Raise a ValueError unless saved first values are inputs, or WARMED_UP after enough of them.

    ``counts`` is the number of known values of each input.
    """
    from swordplay.engine.column_stats import WARM_UP, WARMED_UP  # imports numba, which is slow

    is_settled = (first_values == WARMED_UP) & (counts >= WARM_UP)
    check(name, np.where(is_settled, 0.0, first_values), Field(-LARGEST_INPUT, LARGEST_INPUT))


# ------------------------------------------------------------------- pending intervals


class PendingInterval(NamedTuple):
    """An interval that was given and whose target has not been learned yet."""

    prediction: float
    bounds: Array
    """Lower and upper end of each level, shape ``(levels, 2)``."""
    rows: int
    """Number of rows that were learned before it was given."""


class SavedPendingIntervals(NamedTuple):
    """Saved form of pending intervals, the oldest first."""

    predictions: Annotated[Vector, array("intervals", low=-LARGEST_INPUT, high=LARGEST_INPUT)]
    bounds: Annotated[Array, array("intervals", "levels", 2, low=-np.inf, high=np.inf)]
    rows: Annotated[Vector, array("intervals", low=0.0, high=MAX_ROUNDS, whole=True)]


class PendingIntervals:
    """The last MAX_PENDING intervals that were given, found by their predictions.

    Of several for one prediction the newest is taken first: if the targets of some rows never
    arrive, their intervals are not mistaken for those of later rows.
    """

    def __init__(self) -> None:
        self._by_number: dict[int, PendingInterval] = {}
        """Intervals by serial number, the oldest first."""
        self._numbers: dict[float, deque[int]] = {}
        """Serial numbers of the intervals of each prediction, the oldest first."""
        self._next_number = 0

    def __len__(self) -> int:
        return len(self._by_number)

    def put(self, interval: PendingInterval) -> None:
        """Add an interval; beyond MAX_PENDING, forget the oldest."""
        self._by_number[self._next_number] = interval
        self._numbers.setdefault(interval.prediction, deque()).append(self._next_number)
        self._next_number += 1
        if len(self._by_number) > MAX_PENDING:
            oldest = self._by_number.pop(next(iter(self._by_number)))
            self._numbers[oldest.prediction].popleft()
            self._delete_if_empty(oldest.prediction)

    def take(self, prediction: float) -> PendingInterval | None:
        """Remove and return the newest interval of a prediction; None if there is none."""
        if prediction not in self._numbers:
            return None
        number = self._numbers[prediction].pop()
        self._delete_if_empty(prediction)
        return self._by_number.pop(number)

    def _delete_if_empty(self, prediction: float) -> None:
        if not self._numbers[prediction]:
            del self._numbers[prediction]

    def state(self, levels: int) -> State:
        """Return predictions, bounds and rows as arrays, the oldest first."""
        pending = list(self._by_number.values())
        bounds = np.array([interval.bounds for interval in pending])
        return {
            "predictions": np.array([interval.prediction for interval in pending], np.float64),
            "bounds": bounds.reshape(len(pending), levels, 2),
            "rows": np.array([interval.rows for interval in pending], dtype=np.int64),
        }

    @classmethod
    def from_state(cls, saved: Mapping[str, Any], levels: int) -> PendingIntervals:
        """Check what :meth:`state` returned for so many levels, and make the intervals again.

        Raises
        ------
        ValueError
            If an entry is missing, of another shape or out of its range, or if an interval does not
            contain its prediction.
        """
        predictions, bounds, rows = schema.load(
            SavedPendingIntervals, saved, {"levels": levels}, prefix="pending."
        )
        if len(predictions) > MAX_PENDING:
            raise damaged(
                f"state['pending.predictions'] must hold at most {MAX_PENDING} numbers, "
                f"got {len(predictions)}"
            )
        lower, upper = bounds[..., 0], bounds[..., 1]
        if not ((lower <= predictions[:, None]) & (predictions[:, None] <= upper)).all():
            raise damaged("state['pending.bounds'] has an interval that lacks its prediction")
        pending = cls()
        for prediction, ends, count in zip(
            predictions.tolist(), bounds, rows.tolist(), strict=True
        ):
            pending.put(PendingInterval(prediction, ends, int(count)))
        return pending
