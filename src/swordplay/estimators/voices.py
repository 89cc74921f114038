"""What decision and experts said of rows when they were asked: the meta is judged by it once the
answers are there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from swordplay.core.types import Array, Matrix, Vector
from swordplay.estimators.scratch import Bench, Scratch, quick

if TYPE_CHECKING:
    from swordplay.estimators.heads import Heads


OVERFLOW = "would overflow: its features or target are too large for the loss. Rescale or drop it."


def said_now(heads: Heads, rows: Matrix) -> Array:
    """What the decision and every expert of each head say of rows now, shape ``(T, H, 1 + N)``.

    Nothing is learned.
    """
    raw = heads.with_lags(rows)
    answer = np.empty((len(raw), len(heads), 1 + heads.stack.expert_count))
    _asking(heads, raw, answer)()
    return answer if heads.loss == "logistic" else answer + heads.target.center


def ask_heads(heads: Heads, rows: Matrix) -> tuple[Matrix, Array]:
    """Scores of rows by what is known now, ``(T, H)``, and what decision and experts say of
    them, as in :func:`said_now`.
    """
    if len(rows) != 1:
        return heads.predict(rows), said_now(heads, rows)
    scores, late = heads.predict_row(rows[0, : heads.dim]).copy(), _bench(heads)
    late.ask()
    return (
        scores,
        late.voices.copy() if heads.loss == "logistic" else late.voices + heads.target.center,
    )


def learn_late_row(heads: Heads, asked: Array, row: Vector, target: float) -> Scratch:
    """:meth:`Heads.learn_row` of one that was asked earlier."""
    late = _bench(heads)
    late.bench.raw[0, len(heads.recent) :], late.bench.target[0] = row, target
    late.asked[:] = asked
    if not heads.columns.follow:
        heads.leave_unscaled(late.bench.raw, late.bench.target, late.bench.scratch)
    if not late.learn():
        raise ValueError(f"the row {OVERFLOW}")
    return late.bench.scratch


class LateBench(NamedTuple):
    """What a row needs that is learned late.

    Made once for each :class:`Bench`, as making it costs more than the arithmetic.
    """

    bench: Bench
    voices: Array
    ask: Callable[[], None]
    """Writes ``voices`` of the row that is in ``bench.raw``."""
    asked: Array
    learn: Callable[[], int]
    """Learns the row, of which ``asked`` was said; returns 0 if it would overflow."""


def _bench(heads: Heads) -> LateBench:
    bench = heads.bench
    if heads.late_bench is None or heads.late_bench.bench is not bench:
        voices = np.empty((1, len(heads), 1 + heads.stack.expert_count))
        asked = np.empty((len(heads), 1, 2 + heads.stack.expert_count))
        learn = heads.learning(bench.raw, bench.target, asked, bench.scratch, late=True)
        heads.late_bench = LateBench(
            bench, voices, quick(_asking(heads, bench.raw, voices)), asked, quick(learn)
        )
    return heads.late_bench


def _asking(heads: Heads, raw: Matrix, answer: Array) -> functools.partial[None]:
    from swordplay.engine.row_rounds import (
        ask_experts,  # numba is imported with the first prediction
    )

    columns = heads.columns
    return functools.partial(
        ask_experts,
        *heads.stack.arrays[:4],
        raw,
        *columns.places,
        columns.clip,
        np.empty(columns.width),
        answer,
    )
