"""Tables that drift, with everything that a table may hold."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa

from swordplay.tracking import Settings, Tracker

TASKS = ("regression", "binary", "multi-class")
COLOURS = np.array(["red", "green", "blue", 'a, "b"'])


def world(task: str, rows: int, seed: int, *, missing: float = 0.1) -> pa.RecordBatch:
    """Numbers, a truth, a date, categories that appear late, and a target that is sometimes
    missing.
    """
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=rows), 1e4 * rng.normal(size=rows)
    flag = rng.random(rows) < 0.3
    late = np.minimum(rng.integers(0, len(COLOURS), rows), np.arange(rows) * len(COLOURS) // rows)
    turn = np.arange(rows) / 100
    score = (
        np.cos(turn) * x + np.sin(turn) * z / 1e4 + flag + 0.5 * late + 0.1 * rng.normal(size=rows)
    )
    target = {
        "regression": lambda: pa.array(1000.0 + score, mask=rng.random(rows) < missing),
        "binary": lambda: pa.array(score > 0.8, mask=rng.random(rows) < missing),
        # The third class appears half-way.
        "multi-class": lambda: pa.array(
            np.array(["low", "middle", "high"])[
                np.minimum((score > 0.3).astype(int) + (score > 1.2), 1 + (turn > turn[-1] / 2))
            ],
            mask=rng.random(rows) < missing,
        ),
    }[task]()
    begin = datetime.datetime(2024, 2, 27)
    return pa.record_batch(
        {
            "x": pa.array(x, mask=rng.random(rows) < missing),
            "z": z,
            "flag": pa.array(flag, mask=rng.random(rows) < missing),
            "when": pa.array(
                [begin + datetime.timedelta(hours=5 * k) for k in range(rows)],
                type=pa.timestamp("us"),
            ),
            "colour": pa.array(COLOURS[late], mask=rng.random(rows) < missing),
            "name": [f"row {k}" for k in range(rows)],
            "y": target,
        }
    )


def tracked(
    batch: pa.RecordBatch, settings: Settings, sizes: list[int], *, save: bool = False
) -> tuple[Tracker, pa.Table]:
    """Track a table in batches of these sizes, the last one as often as needed.

    Saved and loaded between them if asked.
    """
    tracker, parts, first = Tracker.begin(settings, batch), [], 0
    numbers = np.arange(1, len(batch) + 1)
    while first < len(batch):
        size = sizes[min(len(parts), len(sizes) - 1)]
        part = slice(first, min(first + size, len(batch)))
        parts.append(
            tracker.track(batch.slice(first, part.stop - first), numbers[part]).predictions
        )
        first = part.stop
        if save:
            tracker = Tracker.resumed(tracker.state())
    return tracker, pa.Table.from_batches(parts)


def column(table: pa.Table, name: str) -> np.ndarray:
    """A column as numbers, NaN where missing."""
    return table[name].combine_chunks().cast(pa.float64()).to_numpy(zero_copy_only=False)
