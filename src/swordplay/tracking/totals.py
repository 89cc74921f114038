"""Sums of losses over all rows of one key, in place of a ``Recorder``, which keeps a history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, final

import numpy as np

from swordplay.core.state import ROW_COUNT_RANGE, array, check
from swordplay.core.types import State, Vector
from swordplay.tracking.contestants import BEST_STEP, Played
from swordplay.tracking.ranges import SUM
from swordplay.tracking.rungs import COUNT, STEP_SIZES, Places


@final
class Totals:
    """Sums of the losses of the learner and the baselines, with the interface of a ``Recorder``.

    Parameters
    ----------
    names
        The learner and the baselines.
    figures
        Names of the last figures of each row, those of intervals, which are summed too.
    """

    def __init__(self, names: Sequence[str], figures: Sequence[str] = ()) -> None:
        self.names, self.figure_names = tuple(names), tuple(figures)
        self.figures: Vector = np.zeros(len(self.figure_names))
        self.errors: Vector = np.zeros(len(self.names))
        self.open_rungs: Vector = np.zeros(COUNT)
        """Where losses of single step sizes are added."""
        self.rows = 0
        """Rows on record."""

    def together(self, rows: int) -> int:
        """Return all rows: no window ends among them."""
        return rows

    def rungs_of(self, rows: int) -> Places:
        """Where losses of single step sizes are added."""
        return Places(self.open_rungs[None])

    def add(self, played: Played, *more: Any) -> None:
        """Add the losses of rows; further arguments of a ``Recorder`` are ignored."""
        # Row by row: the result of np.sum would depend on where a batch ends.
        self.errors = np.cumsum(np.vstack([self.errors, played.errors]), axis=0)[-1]
        if count := len(self.figure_names):
            self.figures = np.cumsum(np.vstack([self.figures, played.figures[:, -count:]]), axis=0)[
                -1
            ]
        self.rows += len(played.losses)

    def close(self, *more: Any) -> None:
        """Do nothing: there are no windows."""

    def tell(self, *more: Any) -> None:
        """Do nothing: single rows are not kept."""

    def totals(self) -> tuple[dict[str, float], float]:
        """Return the sums of losses by name, and the single step size with the smallest loss."""
        best = int(self.open_rungs.argmin())
        sums = dict(zip(self.names, self.errors.tolist(), strict=True))
        return {**sums, BEST_STEP: float(self.open_rungs[best])}, float(STEP_SIZES[best])

    def state(self) -> State:
        """All that the next row needs."""
        figures = {"figures": self.figures.copy()} if self.figure_names else {}
        return {
            "errors": self.errors.copy(),
            "rungs": self.open_rungs.copy(),
            "rows": self.rows,
        } | figures

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        # Doubles, whatever is in the file: further sums are added to them where they stand.
        self.errors, self.open_rungs = (
            np.array(saved[name], dtype=np.float64) for name in ("errors", "rungs")
        )
        self.rows = int(saved["rows"])
        if self.figure_names:
            self.figures = np.array(saved["figures"], dtype=np.float64)

    def check(self) -> None:
        """Check saved sums over the rows of one key.

        Raises
        ------
        ValueError
            Names what is wrong.
        """
        check("recorder.rows", self.rows, ROW_COUNT_RANGE)
        for name, sums, count in (
            ("errors", self.errors, len(self.names)),
            ("rungs", self.open_rungs, COUNT),
            ("figures", self.figures, len(self.figure_names)),
        ):
            check(f"recorder.{name}", sums, array(count, low=SUM.low, high=SUM.high))
