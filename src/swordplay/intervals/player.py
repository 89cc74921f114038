"""Rows through the kernel, and around it where truths come late."""

from __future__ import annotations

from typing import Any

import numpy as np

from swordplay.core.model_lock import LockedModel
from swordplay.core.types import Array, Matrix, Vector
from swordplay.intervals import layout
from swordplay.intervals.late import Late
from swordplay.intervals.memory import Memory
from swordplay.intervals.one_row import OneRow


class Player(LockedModel):
    """Clean rows in, intervals of all levels out, from the narrowest to the widest."""

    _one: OneRow | None = None

    def __init__(self, alphas: Vector) -> None:
        self._alphas = alphas
        self._memory: Memory | None = None
        self._scratch: tuple[Vector, Array] | None = None
        self._late = Late()

    def _copied_attributes(self) -> dict[str, Any]:
        return vars(self) | {"_scratch": None, "_one": None}

    def _renew(self, memory: Memory | None) -> None:
        """Go on with other arrays."""
        self._memory, self._scratch, self._one = memory, None, None

    def _known(self, columns: int) -> Memory:
        """The arrays to learn into, made with the first row."""
        if self._memory is None:
            self._memory = Memory.fresh(len(self._alphas), columns)
        return self._memory

    def _give(self, forecasts: Vector, rows: Matrix) -> Array:
        """The intervals of rows to come, shape ``(T, levels, 2)``."""
        if self._memory is not None and self._late.decides(self._alphas):
            return self._late.bounds(forecasts, self._alphas, self._memory.balances)
        bounds = np.empty((len(forecasts), len(self._alphas), 2))
        bounds[..., 0], bounds[..., 1] = -np.inf, np.inf
        if self._memory is not None:
            self._play(layout.GIVE, self._memory, rows, forecasts, forecasts, bounds)
        return bounds

    def _learn(
        self, forecasts: Vector, truths: Vector, rows: Matrix, bounds: Array, late: Vector
    ) -> None:
        """Learn rows by the intervals that were given for them, when so many truths fewer were
        known.
        """
        memory = self._known(rows.shape[1])
        before = memory.balances.copy()
        self._play(layout.LEARN, memory, rows, forecasts, truths, bounds)
        if self._late.lateness or late.any():
            missed = (truths[:, None] < bounds[..., 0]) | (truths[:, None] > bounds[..., 1])
            memory.balances[:] = self._late.learn(
                late, truths - forecasts, missed, self._alphas, before
            )

    def _give_and_learn(self, forecasts: Vector, truths: Vector, rows: Matrix) -> Array:
        """Say the interval of each row, then learn it: in one compiled call, but while truths
        have come late.
        """
        bounds = np.empty((len(forecasts), len(self._alphas), 2))
        t = 0
        while t < len(forecasts):
            if not self._late.lateness:
                rest = slice(t, None)
                memory = self._known(rows.shape[1])
                self._play(
                    layout.BOTH, memory, rows[rest], forecasts[rest], truths[rest], bounds[rest]
                )
                break
            row = slice(t, t + 1)
            bounds[row] = self._give(forecasts[row], rows[row])
            self._learn(forecasts[row], truths[row], rows[row], bounds[row], np.zeros(1))
            t += 1
        return bounds

    def _play(
        self,
        mode: int,
        memory: Memory,
        rows: Matrix,
        forecasts: Vector,
        truths: Vector,
        bounds: Array,
    ) -> None:
        from swordplay.intervals.rounds import play  # numba is imported with the first row

        if self._scratch is None:
            self._scratch = (
                np.empty(layout.OWN + 2 * memory.columns),
                np.empty((3, layout.SETS + 1, layout.STEPS)),
            )
        if len(forecasts) == 1:
            if self._one is None or self._one.memory is not memory:
                self._one = OneRow(memory, self._alphas, self._scratch)
            return self._one.play(mode, rows, forecasts, truths, bounds)
        # Arrays that may be written, as others would have the kernel compiled once more; an Arrow
        # column may not.
        rows, forecasts, truths = (
            np.require(array, np.float64, ["C", "W"]) for array in (rows, forecasts, truths)
        )
        play(mode, self._alphas, *memory, rows, forecasts, truths, *self._scratch, bounds)
