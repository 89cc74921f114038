"""What decision and experts said of rows when they were asked: the meta is judged by it once the answers are there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from swordplay.base.types import Array, Matrix

if TYPE_CHECKING:
    from swordplay.estimators.heads import Heads


class Voices:
    """What was said of the rows that are learned next, used up by them.

    Parameters
    ----------
    said
        Shape ``(H, T, 1 + N)``: the decision's score and that of every expert of a head; NaN for rows that are learned as soon
        as they were asked.
    """

    def __init__(self, said: Array) -> None:
        self._said = said

    def take(self, rows: Matrix, heads: int) -> Array:
        """What was said of the next rows, a copy; heads that have joined on the way said nothing."""
        now, self._said = self._said[:, : len(rows)], self._said[:, len(rows) :]
        joined = np.full((heads - len(now), *now.shape[1:]), np.nan)
        return np.ascontiguousarray(np.concatenate([now, joined]))


def said_now(heads: Heads, rows: Matrix) -> Array:
    """What the decision and every expert of each head say of rows now, shape ``(T, H, 1 + N)``; nothing is learned."""
    from swordplay.engine.preview import ask_experts  # numba is imported with the first prediction

    raw, stack, columns = heads.with_lags(rows), heads.stack, heads.columns
    answer = np.empty((len(raw), len(heads), 1 + stack.experts))
    known = stack.arrays[:4]
    ask_experts(*known, raw, *columns.places, columns.clip, np.empty(columns.width), answer)
    return answer if heads.loss == "logistic" else answer + heads.target.center
