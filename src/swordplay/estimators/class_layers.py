"""Second-order experts of three classes or more: a layer for each class, beside its head."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, final

import numpy as np

from swordplay.core.state import DAMAGED, add_prefix, part_of, split_parts
from swordplay.core.types import Matrix, State, Vector
from swordplay.estimators.scratch import NONE_MISSING
from swordplay.estimators.second_order import WIDEST_SECOND_ORDER, SecondOrder

MOST_CLASSES = 16
"""Classes that have layers.

Each costs what that of two classes costs, and where there are more, nobody has one.
"""


@final
class ClassLayers:
    """Log-odds of each class in, better ones out; a class has its layer from its first row on.

    They know nothing of the last labels: of these ``Tempered`` knows.

    Parameters
    ----------
    dim
        Number of columns.
    intercept
        Whether experts have an intercept.
    bends
        How many curves are made of the columns.
    """

    def __init__(self, dim: int, *, intercept: bool, bends: int) -> None:
        self.dim, self.intercept, self.bends = dim, intercept, bends
        self.by_class: dict[int, SecondOrder] = {}

    @classmethod
    def like(cls, layer: SecondOrder | None) -> Self | None:
        """For the columns of a layer of two classes; None where there is none."""
        return (
            None if layer is None else cls(layer.dim, intercept=layer.intercept, bends=layer.bends)
        )

    def _made(self) -> SecondOrder:
        return SecondOrder(
            self.dim, logistic=True, intercept=self.intercept, lags=0, bends=self.bends
        )

    def learn(
        self, rows: Matrix, labels: Any, weights: Vector | None, scores: Matrix, middles: Matrix
    ) -> Matrix:
        """Log-odds of rows, each made before its own label is learned, from those of the heads,
        shape ``(T, K)``.
        """
        answer, places = scores.copy(), np.asarray(labels)
        for k in range(scores.shape[1]):
            truths, first = (places == k).astype(np.float64), 0
            if k not in self.by_class:
                if not truths.any():
                    continue
                first, self.by_class[k] = int(truths.argmax()), self._made()
            part = slice(first, len(rows))
            answer[part, k] = self.by_class[k].learn(
                rows[part, : self.dim],
                truths[part],
                None if weights is None else weights[part],
                scores[part, k].copy(),
                np.ones((len(rows) - first, 2)),
                middles[part] if len(middles) else middles,
            )
        return answer

    def predict(self, rows: Matrix, scores: Matrix, middles: Matrix = NONE_MISSING) -> Matrix:
        """The same for rows that are not learned."""
        answer = scores.copy()
        for k, layer in self.by_class.items():
            answer[:, k] = layer.predict(
                rows[:, : self.dim], scores[:, k].copy(), len(rows), middles
            )
        return answer

    def widened(self, dim: int) -> Self | None:
        """With room for more columns; None once there are too many."""
        if dim > WIDEST_SECOND_ORDER:
            return None
        self.dim = max(dim, self.dim)
        for layer in self.by_class.values():
            if dim > layer.dim:
                layer.widen(dim)
        return self

    def state(self) -> State:
        """All that the next row needs, by class."""
        flat: State = {}
        for k, layer in self.by_class.items():
            flat |= add_prefix(f"{k}", layer.state())
        return flat

    @property
    def count(self) -> int:
        """Classes that have been seen."""
        return len(self.by_class)

    def load_state(self, saved: Mapping[str, Any], count: Any, classes: int) -> None:
        """Go on from a saved state of so many layers, bit by bit."""
        parts = split_parts(saved)
        if (
            np.shape(count) != ()
            or count != len(parts)
            or not all(n.isdecimal() and int(n) < classes for n in parts)
        ):
            raise ValueError(
                f"state has second-order layers of the classes {', '.join(parts)}, and {classes} "
                f"classes. {DAMAGED}"
            )
        for name in parts:
            layer = self._made()
            known = part_of(name, parts)
            layer = layer if np.size(known["shapes"]) else layer.unbent()
            layer.load_state(known)
            self.by_class[int(name)] = layer
