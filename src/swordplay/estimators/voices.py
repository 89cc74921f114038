"""What decision and experts said of rows when they were asked: the meta is judged by it once the answers are there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from swordplay.base.types import Array, Matrix, Vector

if TYPE_CHECKING:
    from swordplay.estimators.heads import Heads


class Voices:
    """What was said of the rows that are learned next, used up by them.

    Parameters
    ----------
    late
        How many rounds ago each row was asked, shape ``(T,)``; 0 for one that is learned as soon as it was asked.
    said
        The decision's score then and that of every expert of a head, shape ``(H, T, 1 + N)``.
    """

    def __init__(self, late: Vector, said: Array) -> None:
        self._late, self._said = late, said

    def take(self, rows: Matrix, heads: int) -> Array:
        """What is known of the next rows, shape ``(H, T, 2 + N)``; experts of heads that joined since then said the same."""
        late, self._late = self._late[: len(rows)], self._late[len(rows) :]
        said, self._said = self._said[:, : len(rows)], self._said[:, len(rows) :]
        answer = np.zeros((heads, len(rows), 1 + said.shape[2]))
        answer[:, :, 0], answer[: len(said), :, 1:] = late, said
        return answer


def said_now(heads: Heads, rows: Matrix) -> Array:
    """What the decision and every expert of each head say of rows now, shape ``(T, H, 1 + N)``; nothing is learned."""
    from swordplay.engine.preview import ask_experts  # numba is imported with the first prediction

    raw, stack, columns = heads.with_lags(rows), heads.stack, heads.columns
    answer = np.empty((len(raw), len(heads), 1 + stack.experts))
    known = stack.arrays[:4]
    ask_experts(*known, raw, *columns.places, columns.clip, np.empty(columns.width), answer)
    return answer if heads.loss == "logistic" else answer + heads.target.center
