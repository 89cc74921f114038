"""Rows that a model learns some at a time, while somebody looks at it in between: arrays for all of
them are made once.

For a few rows the arrays of a call, and whatever else is done around it, cost more than learning
them.
"""

from __future__ import annotations

from typing import Any, Self, final

import numpy as np

from swordplay.core.types import Matrix, Vector
from swordplay.estimators.heads import NO_WEIGHTS, Heads
from swordplay.estimators.model import LinearModel
from swordplay.estimators.scratch import NONE_MISSING, Scratch, writable
from swordplay.estimators.second_order import NOT_ASKED, SecondOrder
from swordplay.estimators.voices import OVERFLOW


@final
class InParts:
    """Rows of the usual kind: for one head, as wide as it knows, no entry missing, no lags of its
    own, nothing asked earlier.

    Parameters
    ----------
    heads, second
        Those of the model.
    rows, targets
        Shapes ``(T, d)`` and ``(T,)``, without NaN.
    """

    def __init__(
        self, heads: Heads, second: SecondOrder | None, rows: Matrix, targets: Vector
    ) -> None:
        self._heads, self._second = heads, second
        self._rows, self._targets = writable(rows), writable(targets)
        self.scratch = Scratch.make(len(rows), heads.columns.width, heads.stack)
        """What was written for the rows that are learned."""
        self.plan: Matrix = np.empty((len(rows), 2))
        """Weight and threshold of their losses."""
        self.scores: Vector = self.scratch.predictions[0] if second is None else np.empty(len(rows))
        """What was said of each before it was learned."""

    @classmethod
    def of(cls, model: LinearModel, rows: Matrix, targets: Vector) -> Self | None:
        """Rows for a model; None if they are not of the usual kind."""
        heads, second = model.heads, model.second
        usual = (
            len(heads) == 1
            and heads.dim == rows.shape[1]
            and not len(heads.recent)
            and heads.columns.follow
        )
        free = second is None or second.dim == heads.dim
        if (
            not usual
            or not free
            or len(rows) > heads.at_once
            or np.isnan(rows).any()
            or np.isnan(targets).any()
        ):
            return None
        return cls(heads, second, rows, targets)

    def learn(self, first: int, stop: int) -> None:
        """Predict and learn some rows, those before them being learned: the same bits as
        ``predict_then_learn``.
        """
        rows, targets, part = (
            self._rows[first:stop],
            self._targets[first:stop],
            self.scratch.part(first, stop),
        )
        call = self._heads.learning(rows, targets, NO_WEIGHTS, part)
        done: Any = call.func(*call.args)
        if done < len(rows):
            raise ValueError(
                f"row {first + done} {OVERFLOW} The {first + done} row(s) before it are learned."
            )
        plan = self.plan[first:stop]
        plan[:] = part.rounds[:, 3:5]
        if self._second is not None:
            from swordplay.engine.second_order import layer  # numba is imported with the first row

            learn: Any = layer.learn_rows
            given = rows, NONE_MISSING, targets, NO_WEIGHTS, part.predictions[0], plan, NOT_ASKED
            learn(*given, *self._second.arrays, self.scores[first:stop])
