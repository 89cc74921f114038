"""Probabilities of classes: from scores, calibrated, with a second-order layer for each class."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Self, final

import numpy as np

from swordplay.core.state import DAMAGED, Field, add_prefix, check, part_of, split_parts
from swordplay.core.types import Matrix, State, Vector
from swordplay.estimators.second_order_layer import (
    MAX_COLUMNS,
    NO_CENTERS,
    SecondOrderLayer,
)
from swordplay.estimators.workspace import NO_NOTES, NO_WEIGHTS, writable

MAX_CLASSES = 16
"""Classes up to which each has a second-order layer, which costs what that of two classes costs."""
NO_ROWS: Matrix = np.empty((0, 0))
NOTE_COUNT = 2
"""Numbers that the calibration notes of a late row: 1, and the last label before it."""
MAX_NUMBER = 1e12


def probabilities_of(scores: Matrix, classes: int) -> Matrix:
    """Return the logistic of each score; divided by their sum if each class has its own score.

    Parameters
    ----------
    scores
        Log-odds of each class, shape ``(T, K)``; of the second of two classes, or of a class that
        is alone, ``(T, 1)``.
    classes
        K.

    Examples
    --------
    >>> probabilities_of(np.array([[0.0], [np.log(3.0)]]), 2).round(2).tolist()
    [[0.5, 0.5], [0.25, 0.75]]
    """
    if scores.shape[1] == 1:
        answer = np.ones((len(scores), classes))
        if classes == 2:
            # Odds of the less likely class: they cannot overflow.
            odds = np.exp(-np.abs(scores[:, 0]))
            answer[:, 1] = np.where(scores[:, 0] > 0.0, 1.0, odds) / (1.0 + odds)
            answer[:, 0] -= answer[:, 1]
        return answer
    logs = -np.logaddexp(0.0, -scores)  # without overflow
    # The most probable class keeps a share even if all are improbable. As ufuncs: for one row,
    # methods cost more than the arithmetic.
    odds = np.exp(logs - np.maximum.reduce(logs, axis=1, keepdims=True))
    return np.asarray(odds / np.add.reduce(odds, axis=1, keepdims=True))


def probability_of_second(score: float) -> float:
    """Return the probability of the second of two classes from its log-odds, for one row.

    >>> probability_of_second(0.0)
    0.5
    """
    odds = math.exp(-abs(score))
    return (1.0 if score > 0.0 else odds) / (1.0 + odds)


def probability_above(probabilities: Matrix) -> Matrix:
    """Return for each label the total probability of those that are more probable, ``(T, K)``.

    Equal ones do not count. It is 0 for the most probable label. The entry of the true label is
    the score of prediction sets: a set holds the labels above which not too much probability lies.

    >>> probability_above(np.array([[0.2, 0.5, 0.3], [0.4, 0.4, 0.2]])).round(1)
    array([[0.8, 0. , 0.5],
           [0. , 0. , 0.8]])
    """
    if probabilities.shape[1] == 2:  # identical results without sorting
        others = probabilities[:, ::-1]
        return np.where(probabilities < others, probabilities + others - probabilities, 0.0)
    order = np.argsort(-probabilities, axis=1, kind="stable")
    ranked = np.take_along_axis(probabilities, order, axis=1)
    before = np.cumsum(ranked, axis=1) - ranked
    is_first = np.concatenate(
        [np.ones((len(ranked), 1), dtype=bool), ranked[:, 1:] < ranked[:, :-1]], axis=1
    )
    # Equal probabilities all get the sum before the first of them.
    above = np.maximum.accumulate(np.where(is_first, before, 0.0), axis=1)
    answer = np.empty_like(above)
    np.put_along_axis(answer, order, above, axis=1)
    return answer


def of_true_labels(above: Matrix, labels: Any) -> Vector:
    """Return the entry of the true label in each row, shape ``(T,)``."""
    return np.asarray(above[np.arange(len(labels)), labels])


@final
class ClassLayers:
    """A second-order layer for each of three or more classes; a class has it from its first row on.

    They take the log-odds of the heads and return better ones. They have no lags: the calibration
    uses the last label.

    Parameters
    ----------
    dim
        Number of columns.
    intercept
        Whether experts have an intercept.
    curves
        Number of curves of the columns.
    """

    def __init__(self, dim: int, *, intercept: bool, curves: int) -> None:
        self.dim, self.intercept, self.curves = dim, intercept, curves
        self.by_class: dict[int, SecondOrderLayer] = {}

    @classmethod
    def like(cls, layer: SecondOrderLayer | None) -> Self | None:
        """Return layers for the columns of the layer of two classes; None if there is none."""
        if layer is None:
            return None
        return cls(layer.dim, intercept=layer.intercept, curves=layer.curves)

    def _make_layer(self) -> SecondOrderLayer:
        return SecondOrderLayer(
            self.dim, logistic=True, intercept=self.intercept, lags=0, curves=self.curves
        )

    def learn(
        self,
        rows: Matrix,
        labels: Any,
        weights: Vector | None,
        scores: Matrix,
        column_centers: Matrix,
    ) -> Matrix:
        """Return log-odds of rows, each made before its own label is learned, shape ``(T, K)``.

        ``scores`` are those of the heads.
        """
        answer, classes = scores.copy(), np.asarray(labels)
        for k in range(scores.shape[1]):
            truths, first = (classes == k).astype(np.float64), 0
            if k not in self.by_class:
                if not truths.any():
                    continue
                first, self.by_class[k] = int(truths.argmax()), self._make_layer()
            here = slice(first, len(rows))
            answer[here, k] = self.by_class[k].learn(
                rows[here, : self.dim],
                truths[here],
                None if weights is None else weights[here],
                scores[here, k].copy(),
                np.ones((len(rows) - first, 2)),
                column_centers[here] if len(column_centers) else column_centers,
            )
        return answer

    def predict(self, rows: Matrix, scores: Matrix, column_centers: Matrix = NO_CENTERS) -> Matrix:
        """Return log-odds of rows that are not learned, shape ``(T, K)``."""
        answer = scores.copy()
        for k, layer in self.by_class.items():
            first = scores[:, k].copy()
            known = rows[:, : self.dim]
            answer[:, k] = layer.predict(known, first, len(rows), column_centers)
        return answer

    def widened(self, dim: int) -> Self | None:
        """Return the layers with columns up to ``dim``; None if there are too many columns."""
        if dim > MAX_COLUMNS:
            return None
        self.dim = max(dim, self.dim)
        for layer in self.by_class.values():
            layer.widened(dim)
        return self

    def state(self) -> State:
        """Return all that the next row needs, by class."""
        flat: State = {}
        for k, layer in self.by_class.items():
            flat |= add_prefix(f"{k}", layer.state())
        return flat

    @property
    def count(self) -> int:
        """Number of classes that have been seen."""
        return len(self.by_class)

    def load_state(self, saved: Mapping[str, Any], count: Any, classes: int) -> None:
        """Continue from a saved state of ``count`` layers, for ``classes`` classes."""
        parts = split_parts(saved)
        if (
            np.shape(count) != ()
            or count != len(parts)
            or not all(name.isdecimal() and int(name) < classes for name in parts)
        ):
            raise ValueError(
                f"state has second-order layers of the classes {', '.join(parts)}, and {classes} "
                f"classes. {DAMAGED}"
            )
        for name in parts:
            layer = self._make_layer().loaded(part_of(name, parts), self.dim)
            assert layer is not None  # as wide as before
            self.by_class[int(name)] = layer


def _kernels() -> Any:
    """Return the compiled functions, imported with the first row, as numba is slow to import."""
    from swordplay.engine.second_order import class_calibration

    return class_calibration


@final
class ClassCalibration:
    """Calibrated probabilities of three or more classes (``engine.second_order``).

    They have one temperature for all classes and learn how likely the last label stays.

    Parameters
    ----------
    layers
        Second-order experts of each class, which see its log-odds first; None if there are none.
    """

    note_count = NOTE_COUNT

    def __init__(self, layers: ClassLayers | None = None) -> None:
        kernels, self.layers = _kernels(), layers
        place = kernels.PLACE
        self._numbers = np.zeros(kernels.NUMBERS)
        self._numbers[place.last_label] = -1.0
        self._numbers[[place.tau, place.stay_tau]] = 1.0
        curvatures = [place.tau_curvature, place.stay_tau_curvature, place.stay_curvature]
        self._numbers[curvatures] = kernels.RIDGE

    @property
    def temperature(self) -> float:
        """The number by which logarithms of probabilities are divided, 1/tau."""
        return float(1.0 / self._numbers[_kernels().PLACE.tau])

    def learn(
        self,
        scores: Matrix,
        labels: Any,
        weights: Vector | None,
        rows: Matrix = NO_ROWS,
        column_centers: Matrix = NO_CENTERS,
        notes: Matrix | None = None,
    ) -> Matrix:
        """Return probabilities of rows, each made before its own label is learned, ``(T, K)``.

        Parameters
        ----------
        scores
            Log-odds of each class, shape ``(T, K)``.
        labels, weights
            Classes 0..K-1 and weights of the losses, shape ``(T,)``.
        rows, column_centers
            Raw rows, and centres of missing entries (see :class:`SecondOrderLayer`).
        notes
            What was noted of late rows (see :meth:`notes`), 0 for the others.
        """
        if self.layers is not None:
            scores = self.layers.learn(rows, labels, weights, scores, column_centers)
        answer = np.empty(scores.shape)
        _kernels().learn_rows(
            writable(scores),
            writable(labels),
            NO_WEIGHTS if weights is None else writable(weights),
            NO_NOTES if notes is None else writable(notes),
            self._numbers,
            _scratch(scores),
            answer,
        )
        return answer

    def predict(
        self,
        scores: Matrix,
        following: int,
        rows: Matrix = NO_ROWS,
        column_centers: Matrix = NO_CENTERS,
    ) -> Matrix:
        """Return probabilities of rows, of which ``following`` follow the last one learned."""
        if self.layers is not None:
            scores = self.layers.predict(rows, scores, column_centers)
        answer = np.empty(scores.shape)
        kernels = _kernels()
        kernels.predict_rows(writable(scores), following, self._numbers, _scratch(scores), answer)
        return answer

    def notes(self, count: int) -> Matrix:
        """Return what to note of rows whose labels come later, ``(count, NOTE_COUNT)``."""
        return np.tile([1.0, self._numbers[_kernels().PLACE.last_label]], (count, 1))

    def widen(self, dim: int) -> None:
        """Add columns behind the others, up to ``dim``."""
        if self.layers is not None:
            self.layers = self.layers.widened(dim)

    def state(self) -> State:
        """Return all that the next row needs."""
        flat: State = {"numbers": self._numbers.copy()}
        if self.layers is None:
            return flat
        return flat | {"layers": self.layers.count} | add_prefix("layer", self.layers.state())

    @classmethod
    def from_parts(
        cls, parts: Mapping[str, Any], classes: int, layers: ClassLayers | None
    ) -> Self | None:
        """Return the calibration of a saved state, with fresh layers; None below three classes."""
        if "calibration" not in parts:
            return None
        found, saved = cls(), split_parts(part_of("calibration", parts))
        found._load_numbers(saved["numbers"], classes)
        if layers is not None and "layers" in saved:
            layers.load_state(saved.get("layer", {}), saved["layers"], classes)
            found.layers = layers
        return found

    def _load_numbers(self, saved: Any, classes: int) -> None:
        found, kernels = np.array(saved, dtype=np.float64), _kernels()
        name, place = "calibration.numbers", kernels.PLACE
        if found.shape != self._numbers.shape:
            raise ValueError(
                f"state[{name!r}] must have shape {self._numbers.shape}, got {found.shape}. "
                f"{DAMAGED}"
            )
        check(name, found, Field(-MAX_NUMBER, MAX_NUMBER))
        check(name, found[place.last_label], Field(-1.0, classes - 1.0, whole=True))
        check(name, found[place.lag_behind : place.tau], Field(0.0, 14.0))
        taus = Field(1.0 / kernels.MAX_TAU, kernels.MAX_TAU)
        check(name, found[[place.tau, place.stay_tau]], taus)
        curvatures = [place.tau_curvature, place.stay_tau_curvature, place.stay_curvature]
        check(name, found[curvatures], Field(kernels.RIDGE / 2.0, MAX_NUMBER))
        self._numbers = found


def _scratch(scores: Matrix) -> Matrix:
    return np.empty((5, max(3, scores.shape[1])))
