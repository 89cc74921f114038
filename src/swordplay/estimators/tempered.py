"""Probabilities of three classes or more, made as sure as they are right (see
``engine.second_order.class_calibration``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, final

import numpy as np

from swordplay.core.state import DAMAGED, Field, add_prefix, check, part_of, split_parts
from swordplay.core.types import Matrix, State, Vector
from swordplay.estimators.class_layers import ClassLayers
from swordplay.estimators.scratch import NONE_MISSING, writable

NOTHING: Vector = np.empty(0)
NOT_ASKED: Matrix = np.empty((0, 2))
NO_ROWS: Matrix = np.empty((0, 0))
NOTED = 2
"""Numbers that are noted of a row that is asked: 1, and the last label then."""
VAST = 1e12


def _kernels() -> Any:
    """Looked up and never kept: numba is imported with the first row."""
    from swordplay.engine.second_order import class_calibration

    return class_calibration


@final
class Tempered:
    """One temperature for all classes, and how likely the last label stays; nothing to set.

    Parameters
    ----------
    layers
        Second-order experts of each class, which see its log-odds first; None where there are none.
    """

    layers: ClassLayers | None = None

    noted = NOTED

    def __init__(self, layers: ClassLayers | None = None) -> None:
        calibration, self.layers = _kernels(), layers
        self._numbers = np.zeros(calibration.NUMBERS)
        self._numbers[calibration.LAST] = -1.0
        self._numbers[[calibration.SHARP, calibration.STAY]] = 1.0
        self._numbers[[calibration.SHARP + 1, calibration.STAY + 2, calibration.STAY + 4]] = (
            calibration.RIDGE
        )

    @property
    def temperature(self) -> float:
        """By which logarithms of probabilities are divided."""
        return float(1.0 / self._numbers[_kernels().SHARP])

    def learn(
        self,
        scores: Matrix,
        labels: Any,
        weights: Vector | None,
        rows: Matrix = NO_ROWS,
        middles: Matrix = NONE_MISSING,
        notes: Matrix | None = None,
    ) -> Matrix:
        """Probabilities of rows from the log-odds of every class, ``(T, K)``, each made before
        its own label is learned.

        ``notes`` are those of rows that were asked earlier (see :meth:`notes`), 0 for the others.
        """
        if self.layers is not None:
            scores = self.layers.learn(rows, labels, weights, scores, middles)
        answer, asked = np.empty(scores.shape), NOT_ASKED if notes is None else writable(notes)
        shares = NOTHING if weights is None else writable(weights)
        _kernels().learn_rows(
            writable(scores),
            writable(labels),
            shares,
            asked,
            self._numbers,
            self._scratch(scores),
            answer,
        )
        return answer

    def predict(
        self, scores: Matrix, following: int, rows: Matrix = NO_ROWS, middles: Matrix = NONE_MISSING
    ) -> Matrix:
        """The same of rows that are not learned; so many of them follow the last one learned."""
        if self.layers is not None:
            scores = self.layers.predict(rows, scores, middles)
        answer = np.empty(scores.shape)
        _kernels().predict_rows(
            writable(scores), following, self._numbers, self._scratch(scores), answer
        )
        return answer

    def notes(self, count: int) -> Matrix:
        """What has to be kept of so many rows whose labels come late."""
        return np.tile([1.0, self._numbers[_kernels().LAST]], (count, 1))

    def state(self) -> State:
        """All that the next row needs."""
        flat: State = {"numbers": self._numbers.copy()}
        return (
            flat
            if self.layers is None
            else flat | {"layers": self.layers.count} | add_prefix("layer", self.layers.state())
        )

    def widen(self, dim: int) -> None:
        """Make room for columns that appear late."""
        if self.layers is not None:
            self.layers = self.layers.widened(dim)

    def load_state(self, saved: Mapping[str, Any], classes: int) -> None:
        """Go on from a saved state, bit by bit."""
        found, calibration = np.array(saved["numbers"], dtype=np.float64), _kernels()
        if found.shape != self._numbers.shape:
            raise ValueError(
                f"state['tempered.numbers'] must have shape {self._numbers.shape}, got "
                f"{found.shape}. {DAMAGED}"
            )
        check("tempered.numbers", found, Field(-VAST, VAST))
        check("tempered.numbers", found[calibration.LAST], Field(-1.0, classes - 1.0, whole=True))
        check("tempered.numbers", found[calibration.BEHIND : calibration.SHARP], Field(0.0, 14.0))
        check(
            "tempered.numbers",
            found[[calibration.SHARP, calibration.STAY]],
            Field(1.0 / calibration.SHARPEST, calibration.SHARPEST),
        )
        check(
            "tempered.numbers",
            found[[calibration.SHARP + 1, calibration.STAY + 2, calibration.STAY + 4]],
            Field(calibration.RIDGE / 2.0, VAST),
        )
        self._numbers = found

    @classmethod
    def of_parts(
        cls, parts: Mapping[str, Any], classes: int, layers: ClassLayers | None
    ) -> Self | None:
        """From the parts of a saved state, with fresh layers; None below three classes."""
        if "tempered" not in parts:
            return None
        found, saved = cls(), split_parts(part_of("tempered", parts))
        found.load_state(saved, classes)
        if layers is not None and "layers" in saved:
            layers.load_state(saved.get("layer", {}), saved["layers"], classes)
            found.layers = layers
        return found

    @staticmethod
    def _scratch(scores: Matrix) -> Matrix:
        return np.empty((5, max(3, scores.shape[1])))
