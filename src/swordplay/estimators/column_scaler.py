"""Running centres and spreads of columns and of a target, robust to outliers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, final

import numpy as np

from swordplay.core import state
from swordplay.core.state import MAX_ROUNDS, array, ranges
from swordplay.core.types import Matrix, State, Vector
from swordplay.parts.experts.step_sizes import SMALLEST_SUM

MAX_CENTER = 1e63
"""Largest centre and spread.

Values have magnitudes up to 1e60; lengths of rows of differences, which the aggregator scales, are
somewhat larger.
"""
SPREAD_TOLERANCE = 1e-6
"""Relative rounding of a spread, compared with the distance between two values."""


class ColumnState(NamedTuple):
    """Centres and spreads of d columns, and the first values that they were computed from."""

    centers: Annotated[Vector, array("columns", low=-MAX_CENTER, high=MAX_CENTER)]
    spreads: Annotated[Vector, array("spreads", low=0.0, high=MAX_CENTER)]
    counts: Annotated[Vector, array("columns", low=0.0, high=MAX_ROUNDS, whole=True)]
    """Rows seen by each column; small counts are indices of ``first_values``."""
    first_values: Annotated[Matrix, array("first values", "columns")]
    """The first values of each column, sorted, shape ``(WARM_UP, d)``.

    ``WARMED_UP`` in the middle row marks a column that no longer needs them.
    """

    def check(self) -> None:
        """Refuse first values that do not lead to the centres and spreads.

        Raises
        ------
        ValueError
            Names the column.
        """
        kernels = _kernels()
        middle_row = kernels.WARM_UP // 2
        is_warm = (self.counts >= kernels.WARM_UP) & (
            self.first_values[middle_row] == kernels.WARMED_UP
        )
        values = self.first_values.copy()
        values[middle_row, is_warm] = 0.0
        state.check("first_values", values, ranges(ColumnState)["centers"])
        warming_up = (self.counts > 0) & (self.counts <= kernels.WARM_UP) & ~is_warm
        for j in np.flatnonzero(warming_up).tolist():
            known = values[: int(self.counts[j]), j]
            median = 0.5 * (known[(len(known) - 1) // 2] + known[len(known) // 2])
            width = (known[-1] - known[0]) * (1.0 + SPREAD_TOLERANCE)
            if (
                (np.diff(known) < 0).any()
                or median != self.centers[j]
                or not self.spreads[j] <= width
            ):
                raise ValueError(
                    f"state['first_values'] has values in column {j} that do not lead to its "
                    f"centre and spread. {state.DAMAGED}"
                )


def _load(saved: Mapping[str, Any], columns: int, spreads: int) -> ColumnState:
    """Check a saved state for so many columns and spreads, and return its arrays."""
    sizes = {"columns": columns, "spreads": spreads, "first values": _kernels().WARM_UP}
    found = state.load(ColumnState, saved, sizes)
    found.check()
    return found


def _kernels() -> Any:
    """Return the compiled functions, imported when first used, as numba is slow to import.

    They are looked up each time, as a module cannot be pickled with the objects that use it.
    """
    from swordplay.engine import column_stats

    return column_stats


@final
class ColumnStats:
    """Centre and spread of columns, and rows scaled by them (see ``engine.column_stats``).

    Parameters
    ----------
    dim
        Number of columns d.
    clip
        Scaled entries are clipped here, and values move the statistics no more than from here.
    intercept
        Whether scaled rows have a column of ones behind the others.
    follow
        False to leave every column as it is: centre 0, spread 1, no clipping.
    """

    def __init__(
        self, dim: int, *, clip: float = 5.0, intercept: bool = True, follow: bool = True
    ) -> None:
        self.clip = clip if follow else np.inf
        self.intercept, self.follow = intercept, follow
        self._hold(self._fresh(dim))

    def _fresh(self, dim: int) -> ColumnState:
        """Return the state of columns before their first row."""
        spreads = np.zeros(dim) if self.follow else np.ones(dim)
        return ColumnState(
            np.zeros(dim), spreads, np.zeros(dim), np.zeros((_kernels().WARM_UP, dim))
        )

    def _hold(self, known: ColumnState, room: int = 1) -> None:
        """Store a state in larger arrays, with room for more columns.

        There is always room for one: ``first_values`` is then a view with the same layout whatever
        its width, and no kernel is compiled twice.
        """
        dim = len(known.centers)
        room = max(room, 2 - dim)
        self._room = ColumnState(
            *(np.concatenate(pair, axis=-1) for pair in zip(known, self._fresh(room), strict=True))
        )
        self._use(dim)

    def _use(self, dim: int) -> None:
        """Use the first ``dim`` columns of the larger arrays."""
        self._dim = dim
        self._state = ColumnState(*(array[..., :dim] for array in self._room))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_state"}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        vars(self).update(kept)
        self._use(self._dim)

    @property
    def dim(self) -> int:
        """Number of columns of the rows to be scaled."""
        return self._dim

    @property
    def width(self) -> int:
        """Number of columns of scaled rows."""
        return self.dim + int(self.intercept)

    def scale(self, rows: Matrix) -> Matrix:
        """Scale rows by the present centres and spreads, which do not change."""
        now, answer = self._state, np.empty((len(rows), self.width))
        _kernels().scale_rows(rows, now.centers, now.spreads, self.clip, answer)
        return answer

    def scale_and_update(self, rows: Matrix) -> tuple[Matrix, Vector]:
        """Scale each row by the rows before it, then learn from it; also the squared norms."""
        if not self.follow:
            answer = self.scale(rows)
            return answer, np.einsum("ij,ij->i", answer, answer)
        answer, norms = np.empty((len(rows), self.width)), np.empty(len(rows))
        _kernels().scale_and_update(rows, self.arrays, self.clip, answer, norms)
        return answer, norms

    def present_centers(self, lags: int) -> Vector:
        """Return the centres of the columns after the lags, NaN before a first value."""
        now = self._state
        return np.where((now.counts > 0.0) | (not self.follow), now.centers, np.nan)[lags:]

    @property
    def places(self) -> tuple[Vector, Vector]:
        """Centre and spread of each column."""
        return self._state.centers, self._state.spreads

    def widen(self, dim: int) -> None:
        """Add columns up to ``dim``."""
        if dim >= len(self._room.centers):
            self._hold(self._state, room=2 * dim - self.dim)
        self._use(dim)

    def copy_columns(self, other: ColumnStats, first: int) -> None:
        """Copy the state of columns from ``first`` on from other statistics of the same width."""
        for mine, theirs in zip(self._state, other._state, strict=True):
            mine[..., first:] = theirs[..., first:]

    @property
    def arrays(self) -> Any:
        """The arrays as ``ColumnArrays`` for the kernels.

        Without columns ``first_values`` still has one: an empty array would have another layout,
        for which the kernels would be compiled again.
        """
        now = self._state
        if not self._dim:
            now = now._replace(first_values=self._room.first_values[:, :1])
        return _kernels().ColumnArrays(*now)

    def state(self) -> State:
        """Return the state to continue from, as named arrays."""
        return state.save(self._state)

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Continue from a saved state."""
        self._hold(_load(saved, self.dim, self.dim))


@final
class TargetStats:
    """Centre and spread of a target, and its largest spread so far.

    Parameters
    ----------
    clip
        Values move the statistics no more than from this many spreads from the centre.
    """

    def __init__(self, clip: float) -> None:
        self.clip = clip
        # Two spreads: the present one and the largest so far.
        self._state = ColumnState(
            np.zeros(1), np.zeros(2), np.zeros(1), np.zeros((_kernels().WARM_UP, 1))
        )

    @property
    def max_spread(self) -> float:
        """A bound on all spreads so far; 0 before the first spread.

        While few values are known a spread may fall; it is at most the distance between two of the
        first values.
        """
        kernels, known = _kernels(), self._state
        if known.counts[0] < kernels.MIN_TARGETS or not known.spreads[1] > 0.0:
            return 0.0
        first = known.first_values[: int(min(known.counts[0], kernels.WARM_UP))]
        first = first[first != kernels.WARMED_UP]
        return float(max(known.spreads[1], first.max() - first.min()))

    @property
    def is_measurable(self) -> bool:
        """Whether the squares of the values do not underflow; certificates are made of them."""
        known = self._state
        first = known.first_values[known.first_values != _kernels().WARMED_UP]
        largest = max(np.abs(first).max(initial=0.0), abs(self.center), float(known.spreads[1]))
        return bool(largest == 0.0 or largest**2 >= SMALLEST_SUM)

    @property
    def center(self) -> float:
        """Centre of the values so far."""
        return float(self._state.centers[0])

    def track(self, values: Vector) -> Matrix:
        """Return centre, spread and largest spread before each value, then learn it; ``(T, 3)``."""
        places = np.empty((len(values), 3))
        _kernels().track_target(values, self.arrays, self.clip, places)
        return places

    @property
    def arrays(self) -> Any:
        """The arrays as ``ColumnArrays`` for the kernels."""
        return _kernels().ColumnArrays(*self._state)

    def state(self) -> State:
        """Return the state to continue from, as named arrays."""
        return state.save(self._state)

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Continue from a saved state."""
        self._state = _load(saved, 1, 2)
