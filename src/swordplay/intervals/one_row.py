"""One row at a time: what the compiled call needs, made once, as making it costs more than the
arithmetic.
"""

from __future__ import annotations

import functools
from typing import Any, final

import numpy as np

from swordplay.core.types import Array, Matrix, Vector
from swordplay.intervals import layout
from swordplay.intervals.memory import Memory


@final
class OneRow:
    """A place for a row, and the calls that say and learn its intervals.

    Parameters
    ----------
    memory, alphas, scratch
        What the kernel takes; they stay where they are.
    """

    def __init__(self, memory: Memory, alphas: Vector, scratch: tuple[Vector, Array]) -> None:
        from swordplay.compile import bound_call  # numba is imported with the first row
        from swordplay.intervals.rounds import play

        self.memory = memory
        self._columns, self._forecast, self._truth = (
            np.empty((1, memory.columns)),
            np.empty(1),
            np.empty(1),
        )
        self._bounds: Any = np.empty((1, len(alphas), 2))
        given = alphas, *memory, self._columns, self._forecast, self._truth, *scratch, self._bounds
        modes = layout.GIVE, layout.LEARN, layout.BOTH
        self._calls = {mode: bound_call(functools.partial(play, mode, *given)) for mode in modes}

    def play(
        self, mode: int, columns: Matrix, forecasts: Vector, truths: Vector, bounds: Array
    ) -> None:
        """What ``rounds.play`` does, of one row; the bounds are read or written."""
        self._columns[0], self._forecast[0], self._truth[0] = columns[0], forecasts[0], truths[0]
        if mode == layout.LEARN:
            self._bounds[:] = bounds
        self._calls[mode]()
        if mode != layout.LEARN:
            bounds[:] = self._bounds
