"""The coefficients by which ``predict`` answers after ``fit``: made for a block of rows to come,
not for the next row.

The decision that the stream ends with follows the last rows, and is meant for one more. Whoever
calls ``fit`` and then ``predict`` asks for a whole block. ``block_choice`` finds the coefficients
for that; here they are kept, used and saved.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np

from swordplay.core.arguments import LARGEST_INPUT
from swordplay.core.state import DAMAGED, ROUND_COUNT, Field, check
from swordplay.core.types import Matrix, State, Vector

MAD_TO_SPREAD = 1.4826
"""The standard deviation of a normal variable in units of its median absolute deviation."""
MEASURED_ROWS = 4096
"""Rows, evenly spread over the table, that tell where its columns lie."""
SAVED = "block."
"""Before the names of the arrays in a saved state."""


ALLOWED = {
    "centers": Field(-LARGEST_INPUT, LARGEST_INPUT),
    "spreads": Field(0.0, 2.0 * LARGEST_INPUT),
    "clip": Field(0.0, np.inf),
    "coefficients": Field(-1e8 * LARGEST_INPUT, 1e8 * LARGEST_INPUT),
    "level": Field(-LARGEST_INPUT, LARGEST_INPUT),
    "rows": ROUND_COUNT,
    "penalty": Field(0.0, np.finfo(np.float64).max),
}
"""What a saved block may hold.

The radius of the coefficients is a hundred spreads of the target unless somebody says more.
"""
SMALLEST_SPREAD = np.finfo(np.float64).tiny
"""Nothing can be divided by less."""


class Places(NamedTuple):
    """Where d columns lie and how far they spread, over a whole table."""

    centers: Vector
    spreads: Vector
    clip: float
    """Scaled entries beyond this are clipped."""
    intercept: bool
    """Whether a column of ones stands behind the scaled ones."""

    @property
    def width(self) -> int:
        """Number of scaled columns, with that of ones."""
        return len(self.centers) + int(self.intercept)

    def scale(self, rows: Matrix) -> Matrix:
        """Rows of shape ``(T, d)`` scaled and clipped.

        0 where a column has not spread or an entry is missing (NaN).
        """
        answer = np.ones((len(rows), self.width))
        scaled = answer[:, : len(self.centers)]
        np.subtract(rows, self.centers, out=scaled)
        scaled *= np.divide(
            1.0, self.spreads, out=np.zeros_like(self.spreads), where=self.spreads > 0.0
        )
        np.clip(scaled, -self.clip, self.clip, out=scaled)
        scaled[np.isnan(scaled)] = 0.0
        return answer


def measure(columns: Matrix, clip: float) -> tuple[Vector, Vector]:
    """Median and clipped deviation of each column over many rows, as in ``engine.column_stats``.

    No value counts for more than ``clip`` robust spreads, each of which is the upper median of the
    distances from the centre; where more than half of a column is one value, the lower median of
    the others' distances. Entries that are missing (NaN) are left out; a column without any other
    lies at 0 and does not spread.
    """
    if np.isnan(columns).any():
        present = [column[~np.isnan(column)] for column in columns.T]
        found = [
            measure(column[:, None], clip) if len(column) else (np.zeros(1), np.zeros(1))
            for column in present
        ]
        return np.concatenate([center for center, _ in found]), np.concatenate(
            [spread for _, spread in found]
        )
    centers = np.median(columns, axis=0)
    far = np.abs(columns - centers)
    usual = MAD_TO_SPREAD * np.partition(far, len(far) // 2, axis=0)[len(far) // 2]
    for j in np.flatnonzero(usual == 0.0):
        others = np.sort(far[far[:, j] > 0.0, j])
        usual[j] = others[(len(others) - 1) // 2] if len(others) else 0.0
    return centers, np.sqrt(np.mean(np.minimum(far, clip * usual) ** 2, axis=0))


class Block(NamedTuple):
    """Scores of raw rows by fixed coefficients: level + <scaled row, coefficients>, for each of
    K models.
    """

    places: Places
    coefficients: Matrix
    """Of the scaled columns, shape ``(K, width)``."""
    level: float
    """Where the target lies; 0 for log-odds."""
    rows: int
    """How many of the last rows they were solved from."""
    penalty: float
    """What the squared coefficients cost a row."""

    def scores(self, rows: Matrix) -> Matrix:
        """Shape ``(T, K)``."""
        return np.asarray(
            np.einsum("ti,ki->tk", self.places.scale(rows), self.coefficients) + self.level
        )

    def in_raw_units(self) -> tuple[Matrix, Vector]:
        """Coefficients of the raw columns, shape ``(K, d)``, and intercepts, shape ``(K,)``, of
        rows that are not clipped.
        """
        centers, spreads, dim = self.places.centers, self.places.spreads, len(self.places.centers)
        raw = np.divide(
            self.coefficients[:, :dim],
            spreads,
            out=np.zeros((len(self.coefficients), dim)),
            where=spreads > 0.0,
        )
        return raw, self.level + self.coefficients[:, dim:].sum(axis=1) - raw @ centers

    def state(self) -> State:
        """All of it as named arrays."""
        return {
            f"{SAVED}centers": self.places.centers,
            f"{SAVED}spreads": self.places.spreads,
            f"{SAVED}clip": self.places.clip,
            f"{SAVED}coefficients": self.coefficients,
            f"{SAVED}level": self.level,
            f"{SAVED}rows": self.rows,
            f"{SAVED}penalty": self.penalty,
        }

    @classmethod
    def load(
        cls, saved: Mapping[str, Any], *, dim: int, models: int, intercept: bool
    ) -> Self | None:
        """The block in a saved state; None for a model that is not asked for a block."""
        if f"{SAVED}coefficients" not in saved:
            return None
        dims = {
            "centers": (dim,),
            "spreads": (dim,),
            "coefficients": (models, dim + int(intercept)),
        }
        wanted: dict[str, tuple[int, ...]] = dims | dict.fromkeys(
            ("clip", "level", "rows", "penalty"), ()
        )
        found = {name: np.array(saved[SAVED + name], dtype=np.float64) for name in wanted}
        for name, shape in wanted.items():
            if found[name].shape != shape:
                raise ValueError(
                    f"state[{SAVED + name!r}] must have shape {shape}, got {found[name].shape}."
                )
            check(SAVED + name, found[name], ALLOWED[name])
        if np.any((found["spreads"] > 0.0) & (found["spreads"] < SMALLEST_SPREAD)):
            raise ValueError(
                f"state[{SAVED + 'spreads'!r}] holds a number that is nearly 0. {DAMAGED}"
            )
        places = Places(found["centers"], found["spreads"], float(found["clip"]), intercept)
        return cls(
            places,
            found["coefficients"],
            float(found["level"]),
            int(found["rows"]),
            float(found["penalty"]),
        )
