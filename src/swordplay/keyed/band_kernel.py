"""Intervals of many keys, one after the other, in one compiled call: unpack a key's record, play
its rows, pack it again.
"""

from __future__ import annotations

from typing import Any

from swordplay.compile import kernel
from swordplay.core.types import Matrix, Vector
from swordplay.intervals.kernel import play_rows
from swordplay.intervals.layout import INTERVAL, INTERVAL_THEN_LEARN


@kernel
def play_bands(
    records: Matrix,
    runs: Any,
    kept: Any,
    copies: Any,
    flat: Vector,
    state: Any,
    alphas: Vector,
    columns: Matrix,
    predictions: Vector,
    targets: Vector,
    scratch: Any,
    bounds: Any,
) -> None:
    """A run is a record and the rows of its key, from the first to that behind the last.

    ``bounds`` has shape ``(T, 1, 2)``.

    The arrays of ``state`` are views of ``flat``, into which records are copied. Without
    ``targets`` nothing is learned, and records stay as they are.
    """
    mode = INTERVAL_THEN_LEARN if len(targets) else INTERVAL
    for k in range(len(runs)):
        a, b = runs[k, 1], runs[k, 2]
        record = records[runs[k, 0]]
        for i in range(len(kept)):
            flat[kept[i]] = record[1 + i]
        for i in range(copies.shape[1]):
            flat[copies[0, i]] = flat[copies[1, i]]
        play_rows(
            mode,
            state,
            alphas,
            columns[a:b],
            predictions[a:b],
            targets[a:b],
            scratch,
            bounds[a:b],
        )
        if mode != INTERVAL:
            for i in range(len(kept)):
                record[1 + i] = flat[kept[i]]
