"""A scaler that follows its columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, final

import numpy as np

from swordplay.core import state
from swordplay.core.state import COUNT, Field
from swordplay.core.types import Matrix, State, Vector

FARTHEST = 1e63
"""Values have magnitudes of 1e60 at the most.

Lengths of rows of differences, as the aggregator has them, somewhat more.
"""
RANGES = {"centers": Field(-FARTHEST, FARTHEST), "spreads": Field(0.0, FARTHEST), "counts": COUNT}
"""What a saved state may hold. Counts are places in ``first`` as long as they are small."""

SLACK = 1e-6
"""How far a spread may lie beyond the distance between two values, relatively: rounding."""


class ScalerState(NamedTuple):
    """What the scaler knows of d columns."""

    centers: Vector
    spreads: Vector
    counts: Vector
    """Rows seen by each column."""
    first: Matrix
    """The first values of each column, sorted, shape ``(WARM_UP, d)``."""


def _kernels() -> Any:
    """Looked up and never kept: a module cannot be pickled, and numba is imported with the first
    estimator only.
    """
    from swordplay.engine import scaling

    return scaling


def _sane(saved: ScalerState) -> ScalerState:
    """Refuse numbers that no rows lead to."""
    for name, allowed in RANGES.items():
        state.check(name, getattr(saved, name), allowed)
    kernels = _kernels()
    # In a column that is past its first values, the middle one may be a mark that is no value.
    settled = (saved.counts >= kernels.WARM_UP) & (
        saved.first[kernels.WARM_UP // 2] == kernels.SETTLED
    )
    values = saved.first.copy()
    values[kernels.WARM_UP // 2, settled] = 0.0
    state.check("first", values, RANGES["centers"])
    for j in np.flatnonzero(
        (saved.counts > 0) & (saved.counts <= kernels.WARM_UP) & ~settled
    ).tolist():
        known = values[: int(saved.counts[j]), j]
        middle = 0.5 * (known[(len(known) - 1) // 2] + known[len(known) // 2])
        apart = (known[-1] - known[0]) * (1.0 + SLACK)
        if (
            (np.diff(known) < 0).any()
            or middle != saved.centers[j]
            or not saved.spreads[j] <= apart
        ):
            raise ValueError(
                f"state['first'] has values in column {j} that do not lead to its centre and "
                f"spread. {state.DAMAGED}"
            )
    return saved


@final
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

    def __init__(
        self, dim: int, *, clip: float = 5.0, intercept: bool = True, follow: bool = True
    ) -> None:
        self.clip = clip if follow else np.inf
        self.intercept, self.follow = intercept, follow
        self._hold(self._fresh(dim))

    def _fresh(self, dim: int) -> ScalerState:
        """What is known of columns before their first row."""
        spreads = np.zeros(dim) if self.follow else np.ones(dim)
        return ScalerState(
            np.zeros(dim), spreads, np.zeros(dim), np.zeros((_kernels().WARM_UP, dim))
        )

    def _hold(self, known: ScalerState, room: int = 1) -> None:
        """Keep what is known, with room for more columns.

        There is always some: as a view, ``first`` then has the same layout whatever its width, and
        no kernel is compiled twice.
        """
        dim = len(known.centers)
        room = max(room, 2 - dim)
        self._room = ScalerState(
            *(np.concatenate(pair, axis=-1) for pair in zip(known, self._fresh(room), strict=True))
        )
        self._look(dim)

    def _look(self, dim: int) -> None:
        """Let so many columns be seen."""
        self._dim = dim
        self._state = ScalerState(*(array[..., :dim] for array in self._room))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_state"}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        vars(self).update(kept)
        self._look(self._dim)

    @property
    def dim(self) -> int:
        """Number of columns that come in."""
        return self._dim

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
        """Each row scaled by what was known before it, then learned from.

        And their squared norms.
        """
        answer, norms = np.empty((len(rows), self.width)), np.empty(len(rows))
        if self.follow:
            _kernels().scale_and_follow(rows, *self.arrays, self.clip, answer, norms)
            return answer, norms
        answer = self.scale(rows)
        return answer, np.einsum("ij,ij->i", answer, answer)

    def middles(self, rows: Matrix, lags: int) -> Matrix:
        """Where the columns behind the lags lie before each of some rows that are about to be
        followed; nothing is learned.

        NaN for a column before its first value; 0 throughout where columns are left as they are.
        """
        answer = np.zeros((len(rows), self.dim - lags))
        if self.follow:
            copies = (array[..., lags:].copy() for array in self._state)
            _kernels().middles_of_rows(
                np.ascontiguousarray(rows[:, lags:]), *copies, self.clip, answer
            )
        return answer

    def middle(self, lags: int) -> Vector:
        """Where they lie now."""
        now = self._state
        return np.where((now.counts > 0.0) | (not self.follow), now.centers, np.nan)[lags:]

    @property
    def places(self) -> tuple[Vector, Vector]:
        """Centre and spread of each column."""
        return self._state.centers, self._state.spreads

    def widen(self, dim: int) -> None:
        """Make room for more columns."""
        if dim >= len(self._room.centers):
            self._hold(self._state, room=2 * dim - self.dim)
        self._look(dim)

    def copy_columns(self, other: Scaler, first: int) -> None:
        """Take over what another scaler of the same width knows of the columns from the first
        one on.
        """
        for mine, theirs in zip(self._state, other._state, strict=True):
            mine[..., first:] = theirs[..., first:]

    @property
    def arrays(self) -> ScalerState:
        """What kernels take.

        They look at ``first`` column by column; an array without columns would count as another
        type.
        """
        return self._state if self._dim else self._state._replace(first=self._room.first[:, :1])

    def state(self) -> State:
        """All that the next row needs."""
        return state.save(self._state)

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        self._hold(_sane(state.load(self._state, saved)))


@final
class Locator:
    """Where a target usually lies and how far it spreads, followed robustly.

    The largest spread is remembered.

    Parameters
    ----------
    clip
        No value pulls harder than so many spreads.
    """

    def __init__(self, clip: float) -> None:
        self.clip = clip
        # The second spread is the largest so far.
        self._state = ScalerState(
            np.zeros(1), np.zeros(2), np.zeros(1), np.zeros((_kernels().WARM_UP, 1))
        )

    @property
    def widest(self) -> float:
        """A bound on all spreads so far; 0 if the next value meets none.

        A spread may fall as long as few values are known. It is never larger than what lies between
        two of the first ones.
        """
        kernels, known = _kernels(), self._state
        if known.counts[0] < kernels.TRUSTED or not known.spreads[1] > 0.0:
            return 0.0
        first = known.first[: int(min(known.counts[0], kernels.WARM_UP))]
        first = first[first != kernels.SETTLED]
        return float(max(known.spreads[1], first.max() - first.min()))

    @property
    def center(self) -> float:
        """Where the next value is expected."""
        return float(self._state.centers[0])

    def locate_and_follow(self, values: Vector) -> Matrix:
        """Centre, spread and largest spread before each value, which is then learned from.

        Shape ``(T, 3)``.
        """
        where = np.empty((len(values), 3))
        _kernels().locate_and_follow(values, *self._state, self.clip, where)
        return where

    @property
    def arrays(self) -> ScalerState:
        """What kernels take."""
        return self._state

    def state(self) -> State:
        """All that the next value needs."""
        return state.save(self._state)

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        self._state = _sane(state.load(self._state, saved))
