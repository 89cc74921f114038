"""Errors of a whole run in bounded memory: how many had which size, to within a few per cent.

Sizes are counted in buckets: each power of two is cut into equal parts. Counts can be added, and do
not depend on the order of the errors or on how they came in batches.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from swordplay.core.state import DAMAGED, ROW_COUNT_RANGE, Field, check
from swordplay.core.types import State, Vector

PARTS = 16
"""Buckets between two powers of two: a size is known to a sixteenth, and a quantile within half
of that.
"""
LOWEST, HIGHEST = -160, 210
"""Powers of two: smaller sizes count as 0, and none is larger (targets pass 1e60 nowhere)."""
COUNT = PARTS * (HIGHEST - LOWEST)
EDGES: Vector = np.concatenate(
    [
        [0.0],
        *(
            np.ldexp(0.5 + np.arange(PARTS) / (2.0 * PARTS), power)
            for power in range(LOWEST, HIGHEST)
        ),
        [2.0 ** (HIGHEST - 1)],
    ]
)
"""Where buckets begin: the first one holds what counts as 0; shape ``(COUNT + 2,)``."""


@final
class Sketch:
    """Counts of signed errors by their sizes."""

    def __init__(self) -> None:
        self.below: NDArray[np.int64] = np.zeros(COUNT + 1, dtype=np.int64)
        self.above: NDArray[np.int64] = np.zeros(COUNT + 1, dtype=np.int64)
        """Counts of errors below and above zero by the size's bucket.

        Those that count as 0 are above.
        """

    @property
    def total(self) -> int:
        """Errors counted."""
        return int(self.below.sum() + self.above.sum())

    def add(self, errors: Vector) -> None:
        """Count errors, shape ``(n,)``."""
        places = buckets(errors)
        down = errors < 0.0
        self.below += np.bincount(places[down], minlength=COUNT + 1)
        self.above += np.bincount(places[~down], minlength=COUNT + 1)

    def quantile(self, share: float) -> float:
        """The size that this share of all errors stays below; NaN where there are none."""
        counts = self.below + self.above
        sums = np.cumsum(counts)
        if not sums[-1]:
            return float("nan")
        wanted = share * sums[-1]
        k = int(np.argmax(sums >= max(wanted, 1.0)))
        inside = (wanted - (sums[k] - counts[k])) / counts[k]
        return (
            float(EDGES[k] + min(max(inside, 0.0), 1.0) * (EDGES[k + 1] - EDGES[k])) if k else 0.0
        )

    def histogram(self, edges: Vector) -> Vector:
        """About how many errors lie between ascending edges.

        Those of a bucket are spread evenly over it.

        Parameters
        ----------
        edges
            Shape ``(n + 1,)``.
        """
        up = np.concatenate([[0.0], np.cumsum(self.above)])
        down = np.concatenate([[0.0], np.cumsum(self.below)])
        sums = np.where(edges >= 0.0, np.interp(edges, EDGES, up), -np.interp(-edges, EDGES, down))
        return np.asarray(np.diff(sums))

    def state(self) -> State:
        """The counts that are not 0."""
        both = np.concatenate([self.below, self.above])
        places = np.flatnonzero(both)
        return {"places": places.astype(np.int64), "counts": both[places]}

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        both = np.zeros(2 * (COUNT + 1), dtype=np.int64)
        places, counts = np.asarray(saved["places"]), np.asarray(saved["counts"])
        check("errors.places", places, Field(0, len(both) - 1, whole=True))
        check("errors.counts", counts, ROW_COUNT_RANGE)
        if places.ndim != 1 or places.shape != counts.shape:
            raise ValueError(
                f"errors.places and errors.counts have shapes {places.shape} and {counts.shape}. "
                f"{DAMAGED}"
            )
        both[places.astype(np.int64)] = counts
        self.below, self.above = both[: COUNT + 1].copy(), both[COUNT + 1 :].copy()


def buckets(errors: Vector) -> NDArray[np.int64]:
    """The bucket of each size: exact arithmetic, so that equal errors always meet."""
    mantissas, powers = np.frexp(np.abs(errors))
    parts = ((mantissas - 0.5) * (2.0 * PARTS)).astype(np.int64)
    places = (powers.astype(np.int64) - LOWEST) * PARTS + parts + 1
    return np.asarray(np.where((errors == 0.0) | (places < 1), 0, np.minimum(places, COUNT)))
