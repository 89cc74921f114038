"""Intervals of many keys, one after the other, in one compiled call: unpack a key's record, play
its rows, pack it again.
"""

from __future__ import annotations

from typing import Any

from swordplay.compile import kernel
from swordplay.core.types import Matrix, Vector
from swordplay.intervals.layout import BOTH, GIVE
from swordplay.intervals.rounds import play_within


@kernel
def play_bands(
    records: Matrix,
    runs: Any,
    kept: Any,
    copies: Any,
    flat: Vector,
    alphas: Vector,
    live: Vector,
    places: Any,
    spreads: Any,
    steps: Any,
    losses: Any,
    radii: Matrix,
    debts: Matrix,
    balances: Vector,
    column_centers: Vector,
    column_spreads: Vector,
    column_counts: Vector,
    column_first: Matrix,
    columns: Matrix,
    predictions: Vector,
    targets: Vector,
    row: Vector,
    answers: Any,
    bounds: Any,
) -> None:
    """A run is a record and the rows of its key, from the first to that behind the last.

    ``bounds`` has shape ``(T, 1, 2)``.

    The arrays from ``live`` to ``column_first`` are views of ``flat``, into which records are
    copied. Without ``targets`` nothing is learned, and records stay as they are.
    """
    mode = BOTH if len(targets) else GIVE
    for k in range(len(runs)):
        a, b = runs[k, 1], runs[k, 2]
        record = records[runs[k, 0]]
        for i in range(len(kept)):
            flat[kept[i]] = record[1 + i]
        for i in range(copies.shape[1]):
            flat[copies[0, i]] = flat[copies[1, i]]
        play_within(
            mode, alphas, live, places, spreads, steps, losses, radii, debts, balances, column_centers, column_spreads,  # noqa: E501
            column_counts, column_first, columns[a:b], predictions[a:b], targets[a:b], row, answers, bounds[a:b],  # noqa: E501
        )  # fmt: skip
        if mode != GIVE:
            for i in range(len(kept)):
                record[1 + i] = flat[kept[i]]
