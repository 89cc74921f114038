"""Running centres and spreads of columns, robust to outliers (``Scaler``, ``Locator``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, final

import numpy as np

from swordplay.core import state
from swordplay.core.state import MAX_ROUNDS, array, ranges
from swordplay.core.types import Matrix, State, Vector
from swordplay.parts.experts.step_sizes import SMALLEST_SUM

FARTHEST = 1e63
"""Largest centre and spread: values have magnitudes up to 1e60, and lengths of rows of differences,
which the aggregator scales, somewhat more.
"""
SLACK = 1e-6
"""Relative rounding of a spread, compared with the distance between two values."""


class ScalerState(NamedTuple):
    """Centres and spreads of d columns, and the first values that they were made of."""

    centers: Annotated[Vector, array("columns", low=-FARTHEST, high=FARTHEST)]
    spreads: Annotated[Vector, array("spreads", low=0.0, high=FARTHEST)]
    counts: Annotated[Vector, array("columns", low=0.0, high=MAX_ROUNDS, whole=True)]
    """Rows seen by each column; small counts are indices of ``first``."""
    first: Annotated[Matrix, array("first values", "columns")]
    """The first values of each column, sorted, shape ``(WARM_UP, d)``.

    ``SETTLED`` in the middle row marks a column that no longer needs them.
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
        settled = (self.counts >= kernels.WARM_UP) & (self.first[middle_row] == kernels.SETTLED)
        values = self.first.copy()
        values[middle_row, settled] = 0.0
        state.check("first", values, ranges(ScalerState)["centers"])
        warming_up = (self.counts > 0) & (self.counts <= kernels.WARM_UP) & ~settled
        for j in np.flatnonzero(warming_up).tolist():
            known = values[: int(self.counts[j]), j]
            median = 0.5 * (known[(len(known) - 1) // 2] + known[len(known) // 2])
            apart = (known[-1] - known[0]) * (1.0 + SLACK)
            if (
                (np.diff(known) < 0).any()
                or median != self.centers[j]
                or not self.spreads[j] <= apart
            ):
                raise ValueError(
                    f"state['first'] has values in column {j} that do not lead to its centre and "
                    f"spread. {state.DAMAGED}"
                )


def _load(saved: Mapping[str, Any], columns: int, spreads: int) -> ScalerState:
    """Check and make the saved state of a scaler or locator of this size."""
    sizes = {"columns": columns, "spreads": spreads, "first values": _kernels().WARM_UP}
    found = state.load(ScalerState, saved, sizes)
    found.check()
    return found


def _kernels() -> Any:
    """The compiled functions: imported when first used, as numba is slow to import.

    They are looked up each time, as a module cannot be pickled with the objects that use it.
    """
    from swordplay.engine import column_stats

    return column_stats


@final
class Scaler:
    """Follows the centre and spread of columns robustly, and scales rows (``engine.column_stats``).

    Parameters
    ----------
    dim
        Number of columns d.
    clip
        Scaled entries beyond this are clipped, and pull no harder.
    intercept
        Whether to put a column of ones behind the scaled ones.
    follow
        False to leave every column as it is: centre 0, spread 1, no clipping.
    """

    def __init__(
        self, dim: int, *, clip: float = 5.0, intercept: bool = True, follow: bool = True
    ) -> None:
        self.clip = clip if follow else np.inf
        self.intercept, self.follow = intercept, follow
        self._hold(self._fresh(dim))

    def _fresh(self, dim: int) -> ScalerState:
        """State of columns before their first row."""
        spreads = np.zeros(dim) if self.follow else np.ones(dim)
        return ScalerState(
            np.zeros(dim), spreads, np.zeros(dim), np.zeros((_kernels().WARM_UP, dim))
        )

    def _hold(self, known: ScalerState, room: int = 1) -> None:
        """Store a state in larger arrays, with room for more columns.

        There is always room for one: as a view, ``first`` then has the same layout whatever its
        width, and no kernel is compiled twice.
        """
        dim = len(known.centers)
        room = max(room, 2 - dim)
        self._room = ScalerState(
            *(np.concatenate(pair, axis=-1) for pair in zip(known, self._fresh(room), strict=True))
        )
        self._use(dim)

    def _use(self, dim: int) -> None:
        """Use the first ``dim`` columns of the larger arrays."""
        self._dim = dim
        self._state = ScalerState(*(array[..., :dim] for array in self._room))

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

    def scale_and_follow(self, rows: Matrix) -> tuple[Matrix, Vector]:
        """Scale each row by the rows before it, then learn it; also the squared norms."""
        answer, norms = np.empty((len(rows), self.width)), np.empty(len(rows))
        if self.follow:
            _kernels().scale_and_follow(rows, *self.arrays, self.clip, answer, norms)
            return answer, norms
        answer = self.scale(rows)
        return answer, np.einsum("ij,ij->i", answer, answer)

    def middles(self, rows: Matrix, lags: int) -> Matrix:
        """Centres, before each row, of the columns after the lags; nothing is learned.

        NaN for a column before its first value; 0 if columns are not scaled.
        """
        answer = np.zeros((len(rows), self.dim - lags))
        if self.follow:
            copies = (array[..., lags:].copy() for array in self._state)
            _kernels().middles_of_rows(
                np.ascontiguousarray(rows[:, lags:]), *copies, self.clip, answer
            )
        return answer

    def middle(self, lags: int) -> Vector:
        """Present centres of the columns after the lags; NaN before a first value."""
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

    def copy_columns(self, other: Scaler, first: int) -> None:
        """Copy the state of columns from ``first`` on from another scaler of the same width."""
        for mine, theirs in zip(self._state, other._state, strict=True):
            mine[..., first:] = theirs[..., first:]

    @property
    def arrays(self) -> ScalerState:
        """Arrays for the kernels.

        Without columns ``first`` still has one: an empty array would have another layout, for which
        the kernels would be compiled again.
        """
        return self._state if self._dim else self._state._replace(first=self._room.first[:, :1])

    def state(self) -> State:
        """State to continue from, as named arrays."""
        return state.save(self._state)

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Continue from a saved state."""
        self._hold(_load(saved, self.dim, self.dim))


@final
class Locator:
    """Follows the centre and spread of a target robustly, and keeps its largest spread.

    Parameters
    ----------
    clip
        Values are clipped at this many spreads from the centre.
    """

    def __init__(self, clip: float) -> None:
        self.clip = clip
        # Two spreads: the present one and the largest so far.
        self._state = ScalerState(
            np.zeros(1), np.zeros(2), np.zeros(1), np.zeros((_kernels().WARM_UP, 1))
        )

    @property
    def widest(self) -> float:
        """A bound on all spreads so far; 0 before the first spread.

        While few values are known a spread may fall; it is at most the distance between two of the
        first values.
        """
        kernels, known = _kernels(), self._state
        if known.counts[0] < kernels.TRUSTED or not known.spreads[1] > 0.0:
            return 0.0
        first = known.first[: int(min(known.counts[0], kernels.WARM_UP))]
        first = first[first != kernels.SETTLED]
        return float(max(known.spreads[1], first.max() - first.min()))

    @property
    def is_measurable(self) -> bool:
        """Whether the squares of the values do not underflow; certificates are made of them."""
        known = self._state
        first = known.first[known.first != _kernels().SETTLED]
        largest = max(np.abs(first).max(initial=0.0), abs(self.center), float(known.spreads[1]))
        return bool(largest == 0.0 or largest**2 >= SMALLEST_SUM)

    @property
    def center(self) -> float:
        """Centre of the values so far."""
        return float(self._state.centers[0])

    def locate_and_follow(self, values: Vector) -> Matrix:
        """Centre, spread and largest spread before each value, then learned; ``(T, 3)``."""
        where = np.empty((len(values), 3))
        _kernels().locate_and_follow(values, *self._state, self.clip, where)
        return where

    @property
    def arrays(self) -> ScalerState:
        """Arrays for the kernels."""
        return self._state

    def state(self) -> State:
        """State to continue from, as named arrays."""
        return state.save(self._state)

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Continue from a saved state."""
        self._state = _load(saved, 1, 2)
