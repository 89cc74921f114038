"""A scaler that follows its columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from swordplay.base import state
from swordplay.base.state import COUNT, Range
from swordplay.base.types import Matrix, State, Vector

FARTHEST = 1e63
"""Values have magnitudes of 1e60 at the most; lengths of rows of differences, as the aggregator has them, somewhat more."""
RANGES = {"centers": Range(-FARTHEST, FARTHEST), "spreads": Range(0.0, FARTHEST), "counts": COUNT}
"""What a saved state may hold. Counts are places in ``first`` as long as they are small."""


class ScalerState(NamedTuple):
    """What the scaler knows of d columns."""

    centers: Vector
    spreads: Vector
    counts: Vector
    """Rows seen by each column."""
    first: Matrix
    """The first values of each column, sorted, shape ``(WARM_UP, d)``."""


def _kernels() -> Any:
    """Looked up and never kept: a module cannot be pickled, and numba is imported with the first estimator only."""
    from swordplay.engine import scaling

    return scaling


def _sane(saved: ScalerState) -> ScalerState:
    """Refuse numbers that no rows lead to."""
    for name, allowed in RANGES.items():
        state.require(name, getattr(saved, name), allowed)
    kernels = _kernels()
    # In a column that is past its first values, the middle one may be a mark that is no value.
    settled = (saved.counts >= kernels.WARM_UP) & (saved.first[kernels.WARM_UP // 2] == kernels.SETTLED)
    values = saved.first.copy()
    values[kernels.WARM_UP // 2, settled] = 0.0
    state.require("first", values, RANGES["centers"])
    return saved


class Scaler:
    """Centre and spread of columns, followed robustly (see ``engine.scaling``).

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

    def __init__(self, dim: int, *, clip: float = 5.0, intercept: bool = True, follow: bool = True) -> None:
        self.clip = clip if follow else np.inf
        self.intercept, self.follow = intercept, follow
        spreads = np.zeros(dim) if follow else np.ones(dim)
        self._state = ScalerState(np.zeros(dim), spreads, np.zeros(dim), np.zeros((_kernels().WARM_UP, dim)))

    @property
    def dim(self) -> int:
        """Number of columns that come in."""
        return len(self._state.centers)

    @property
    def width(self) -> int:
        """Number of columns that go out."""
        return self.dim + int(self.intercept)

    def scale(self, rows: Matrix) -> Matrix:
        """Rows scaled by what is known; nothing is learned."""
        now, answer = self._state, np.empty((len(rows), self.width))
        _kernels().scale_rows(rows, now.centers, now.spreads, self.clip, answer)
        return answer

    def scale_and_follow(self, rows: Matrix) -> tuple[Matrix, Vector]:
        """Each row scaled by what was known before it, then learned from; and their squared norms."""
        answer, norms = np.empty((len(rows), self.width)), np.empty(len(rows))
        if self.follow:
            _kernels().scale_and_follow(rows, *self._state, self.clip, answer, norms)
            return answer, norms
        answer = self.scale(rows)
        return answer, np.einsum("ij,ij->i", answer, answer)

    def scale_and_follow_row(self, row: Matrix, answer: Matrix, norm: Vector) -> float:
        """The same for one row of shape ``(1, d)``, into arrays of the caller's; returns its squared norm."""
        if self.follow:
            _kernels().scale_and_follow(row, *self._state, self.clip, answer, norm)
            return float(norm[0])
        answer[:] = self.scale(row)
        return float(np.einsum("ij,ij->i", answer, answer)[0])

    @property
    def places(self) -> tuple[Vector, Vector]:
        """Centre and spread of each column."""
        return self._state.centers, self._state.spreads

    def widen(self, dim: int) -> None:
        """Make room for more columns."""
        more = dim - self.dim
        old = self._state
        self._state = ScalerState(
            np.append(old.centers, np.zeros(more)),
            np.append(old.spreads, np.zeros(more) if self.follow else np.ones(more)),
            np.append(old.counts, np.zeros(more)),
            np.hstack([old.first, np.zeros((len(old.first), more))]),
        )

    def state(self) -> State:
        """All that the next row needs."""
        return state.flatten(self._state)

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        self._state = _sane(state.restore(self._state, saved))


class Locator:
    """Where a target usually lies and how far it spreads, followed robustly; the largest spread is remembered.

    Parameters
    ----------
    clip
        No value pulls harder than so many spreads.
    """

    def __init__(self, clip: float) -> None:
        self.clip = clip
        # The second spread is the largest so far.
        self._state = ScalerState(np.zeros(1), np.zeros(2), np.zeros(1), np.zeros((_kernels().WARM_UP, 1)))

    @property
    def widest(self) -> float:
        """A bound on all spreads so far; 0 if the next value meets none.

        A spread may fall as long as few values are known. It is never larger than what lies between two of the first ones.
        """
        kernels, known = _kernels(), self._state
        if known.counts[0] < kernels.TRUSTED or not known.spreads[1] > 0.0:
            return 0.0
        first = known.first[known.first != kernels.SETTLED]
        return float(max(known.spreads[1], first.max() - first.min()))

    @property
    def center(self) -> float:
        """Where the next value is expected."""
        return float(self._state.centers[0])

    def locate_and_follow(self, values: Vector) -> Matrix:
        """Centre, spread and largest spread before each value, which is then learned from; shape ``(T, 3)``."""
        where = np.empty((len(values), 3))
        _kernels().locate_and_follow(values, *self._state, self.clip, where)
        return where

    def locate_and_follow_value(self, value: Vector, where: Matrix) -> tuple[float, float, float]:
        """The same for one value, into an array of the caller's of shape ``(1, 3)``."""
        _kernels().locate_and_follow(value, *self._state, self.clip, where)
        return tuple(where[0].tolist())

    def state(self) -> State:
        """All that the next value needs."""
        return state.flatten(self._state)

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        self._state = _sane(state.restore(self._state, saved))
