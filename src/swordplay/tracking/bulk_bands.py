"""Intervals of many keys in bulk, each key's learned from its own rows, and how they did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import numpy as np

from swordplay.core.state import check, damaged
from swordplay.core.types import Array, State, Vector
from swordplay.keyed.bands import BandForm
from swordplay.keyed.crew import Crew
from swordplay.keyed.group import runs
from swordplay.keyed.growing import Growing
from swordplay.keyed.playing import parts
from swordplay.tracking.band import FIGURES
from swordplay.tracking.ranges import SUM


@final
class BulkBands:
    """Intervals around the predictions of many keys.

    They look at predictions and targets and not at the columns, so that a key's are a third of its
    learner and not more than all of it.

    Parameters
    ----------
    level
        What share of the truths they are to hold.
    threads
        How many.
    """

    def __init__(self, level: float, threads: int) -> None:
        self._form = BandForm(level)
        self._crew = Crew(self._form, threads)
        self._records = Growing(np.empty((0, len(self._form.fresh))))
        self.figures = Growing(np.empty((0, len(FIGURES))))
        """Of each key, summed over its rows (see ``band``)."""

    def join(self, count: int) -> None:
        """Let so many keys join."""
        self._records.join_alike(count, self._form.fresh)
        self.figures.join_alike(count, 0.0)

    def say(
        self,
        numbers: Any,
        predictions: Vector,
        targets: Vector,
        by_key: Any,
        bounds: Array,
        *,
        learn: bool,
    ) -> None:
        """Lower and upper ends for some of the rows; they are learned if that is said.

        Parameters
        ----------
        numbers, predictions, targets
            Of all rows.
        by_key
            Places of those that are meant, key by key and in their order.
        bounds
            Written at these places, shape ``(T, 2)``.
        """
        if not len(by_key):
            return
        from swordplay.tracking.bulk_kernel import (
            hold,
        )  # numba is imported with the first row

        who, edges = runs(numbers[by_key])
        records, figures = self._records.all, self.figures.all

        def work(form: BandForm, a: int, b: int) -> None:
            for first, last in parts(edges, a, b):
                of, inner = (
                    by_key[edges[first] : edges[last]],
                    edges[first : last + 1] - edges[first],
                )
                if not learn:
                    bounds[of] = form.ask(records, who[first:last], inner, predictions[of])
                    continue
                found = form.play(records, who[first:last], inner, predictions[of], targets[of])
                hold(numbers[of], targets[of], found, figures)
                bounds[of] = found

        self._crew.share(work, edges)

    def state(self) -> State:
        """All that the next row needs."""
        return {"records": self._records.all.copy(), "figures": self.figures.all.copy()}

    def load_state(self, saved: Mapping[str, Any], count: int) -> None:
        """Go on from a saved state of so many keys.

        Raises
        ------
        ValueError
            If it is not one that such a run leads to.
        """
        records, figures = (
            np.asarray(saved[name], dtype=np.float64) for name in ("records", "figures")
        )
        if records.shape != (count, len(self._form.fresh)) or figures.shape != (
            count,
            len(FIGURES),
        ):
            raise damaged(
                f"the intervals of the keys have shapes {records.shape} and {figures.shape}"
            )
        self._form.check_records(records)
        if (records[:, 0] != self._form.level).any():
            raise damaged("the intervals of a key have another level")
        check("figures", figures, SUM)
        self._records.join(records)
        self.figures.join(figures)
