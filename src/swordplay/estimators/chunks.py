"""Rows a chunk at a time, in their order: sparse ones are made dense on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from swordplay.core.types import Matrix, Vector

CHUNK_NUMBERS = 1 << 21
"""Entries of a chunk: 16 MB."""


def dense_chunks(rows: Any) -> Iterator[tuple[slice, Matrix]]:
    """Rows as arrays: at once if they are one already, a chunk of sparse ones at a time."""
    count = rows.shape[0]
    size = count if isinstance(rows, np.ndarray) else max(1, CHUNK_NUMBERS // max(1, rows.shape[1]))
    for first in range(0, count, max(1, size)):
        part = slice(first, min(first + size, count))
        yield part, rows[part] if isinstance(rows, np.ndarray) else rows[part].toarray()


def in_chunks(answer: Callable[[Matrix], Any], rows: Any) -> Any:
    """Answers for all rows, put together."""
    return np.concatenate([answer(part) for _, part in dense_chunks(rows)])


def play(model: Any, rows: Any, targets: Any, weights: Vector | None) -> Any:
    """Predictions of rows, each made before it is learned.

    Rows of weight 0 are predicted and not learned.
    """
    answers = []
    for part, dense in dense_chunks(rows):
        if weights is None or weights[part].all():
            answers.append(
                model.predict_then_learn(
                    dense, targets[part], None if weights is None else weights[part]
                )
            )
            continue
        share = weights[part]
        turns = np.flatnonzero(np.diff(share != 0)) + 1
        for run in np.split(np.arange(len(share)), turns):
            here = slice(run[0], run[-1] + 1)
            learned = share[run[0]] != 0
            answers.append(
                model.predict_then_learn(dense[here], targets[part][here], share[here])
                if learned
                else model.predict(dense[here])
            )
    return np.concatenate(answers)


def in_order(answer: Callable[[Matrix, int], Any], following: int) -> Callable[[Matrix], Any]:
    """What answers for one chunk after the other: so many rows of the first follow the last one
    learned, and none behind.
    """
    left = [following]

    def chunk(part: Matrix) -> Any:
        return answer(part, left.pop() if left else 0)

    return chunk
