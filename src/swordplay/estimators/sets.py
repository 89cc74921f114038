"""Prediction sets of a classifier: labels that together hold the truth as often as a level says.

The score of a row (``estimators.mass``) is an interval's residual
(:class:`swordplay.intervals.SwordIntervals` around a forecast of 0), and the upper end says how
much probability may lie above a label that is still in the set. So the promise for every window is
the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from swordplay.core.types import Array, Matrix, State, Vector
from swordplay.estimators.bands import MOST_PAIRS, Bands
from swordplay.estimators.chunks import play
from swordplay.estimators.coat import Coat
from swordplay.estimators.mass import mass_above, of_truths
from swordplay.intervals import SwordIntervals


class WithSets(Coat):
    """Prediction sets for the classifier of scikit-learn's clothes."""

    def predict_set(self, X: Any, level: float = 0.9) -> Any:
        """Which labels are in each row's set by what is known now: truths, shape ``(T, K)``, in the
        order of ``classes_``.

        After :meth:`fit` for a block of rows to come, else for the next row, as
        :meth:`predict_set_then_learn` would give them. Every set holds the most probable label;
        before enough is known, all labels.

        Parameters
        ----------
        X
            Rows, as in :meth:`predict`.
        level
            What share of the truths a set is to hold, in (0, 1).
        """
        SwordIntervals((level,))  # refuses what is no level
        probabilities = self.predict_proba(X)
        nothing = np.zeros(len(probabilities))
        bands = self._bands
        bounds = (
            bands.of_block(level, nothing)
            if self._block is not None
            else bands.intervals(level, nothing, None)
        )
        return mass_above(probabilities) <= bounds[:, 1:]

    def predict_set_then_learn(self, X: Any, y: Any, level: float = 0.9) -> tuple[Any, Any]:
        """Labels of rows and their sets, each made before its own label is learned.

        On every window of n rows, a level of 0.9 has at most 0.1 n + 20 sets without the truth,
        whatever happens. Labels that are new join the classes first.

        Parameters
        ----------
        X, y
            As in :meth:`predict_then_learn`.
        level
            As in :meth:`predict_set`.

        Returns
        -------
        labels, sets
            Shapes ``(T,)`` and ``(T, K)``, K the number of labels known after the last row.
        """
        SwordIntervals((level,))  # refuses what is no level, before anything is learned
        rows, labels, _ = self._prepared(X, y, None, None, open_=True)
        probabilities = np.asarray(play(self.model_, rows, labels, None))
        above = mass_above(probabilities)
        bounds: Array = self._bands.interval_then_learn(
            level, np.zeros(len(labels)), of_truths(above, labels), None
        )
        return self.classes_[probabilities.argmax(axis=1)], above <= bounds[:, 1:]

    def _followed(self, probabilities: Matrix, labels: Any, weights: Vector | None) -> Matrix:
        """Let the sets learn from rows that were predicted, each before it was learned.

        Returns the predictions.
        """
        told, truths = probabilities, labels
        if weights is not None and not weights.all():
            told, truths = probabilities[weights != 0], labels[weights != 0]
        if not self._bands.by_level:
            told, truths = told[-MOST_PAIRS:], truths[-MOST_PAIRS:]
        if len(truths):
            self._bands.learn(np.zeros(len(truths)), of_truths(mass_above(told), truths), None)
        return probabilities

    def _study(self, rows: Any, targets: Any) -> None:
        self._followed(np.asarray(play(self.model_, rows, targets, None)), targets, None)

    @property
    def _bands(self) -> Bands:
        """Intervals of the scores, made with the model."""
        return self._own_bands

    def _learned(self) -> tuple[Any, State] | None:
        learned = super()._learned()
        return learned and (learned[0], learned[1] | self._bands.state())

    def _resume(self, saved: Mapping[str, Any]) -> Any:
        self._own_bands = Bands.of_state(saved)
        return super()._resume(saved)
